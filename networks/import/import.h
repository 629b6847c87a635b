/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room import: a file of ONNX becomes a graph. It uses graph. protobuf-c reads the file by Debian's
 * onnx.proto; since it recurses, the nesting of messages is checked first.
 */
#ifndef UK_IMPORT_H
#define UK_IMPORT_H

#include "graph/graph.h"

/* Where a model is. */
struct uk_folders {
    /* Folders below which external data is read. `real` is a real path. NULL: no folder. */
    const char *given, *real;
    /* The model's file, if that is mapped: pages are given back once elements are copied from them. */
    const struct uk_mapped *file;
};

/* Reads the model: nodes, each after the producers of its inputs; initializers as constants; inputs with the
 * shapes of the file and of the options. */
enum uk_status uk_import(struct uk_graph *g, const void *bytes, size_t length,
                         const struct uk_folders *folders, const struct uk_network_options *o);

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
