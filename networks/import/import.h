/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room import: a file of ONNX becomes a graph. It uses graph. protobuf-c reads the file by Debian's
 * onnx.proto; since it recurses, the nesting of messages is checked first.
 */
#ifndef UK_IMPORT_H
#define UK_IMPORT_H

#include "graph/graph.h"

/* Folders of a model, below which external data is read. `real` is a real path. NULL: no folder. */
struct uk_folders {
    const char *given, *real;
};

/* Reads the model: nodes, each after the producers of its inputs; initializers as constants; inputs with the
 * shapes of the file and of the options. */
enum uk_status uk_import(struct uk_graph *g, const void *bytes, size_t length,
                         const struct uk_folders *folders, const struct uk_network_options *o);

/* ---- guard.c ---- */

struct ProtobufCMessageDescriptor;
/* Returns the reason if messages are nested too deep or do not end where the bytes do; else NULL. */
const char *uk_import_check(const struct ProtobufCMessageDescriptor *d, const void *bytes, size_t length);

/* ---- file.c ---- */

/* A regular file, mapped read-only. */
struct uk_mapped {
    const void *bytes;
    size_t length;
};
/* Call uk_file_unmap() if it succeeds. */
enum uk_status uk_file_map(struct uk_graph *g, const char *path, struct uk_mapped *m);
void uk_file_unmap(struct uk_mapped *m);
/* Gives the value the elements of a .npy or .pb file. */
enum uk_status uk_file_tensor(struct uk_graph *g, const char *path, struct uk_graph_value *v);

#endif
