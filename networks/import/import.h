/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room import: a file of ONNX becomes a graph. It uses graph. The schema is Debian's onnx.proto, read by
 * protobuf-c; how deep messages are nested is checked before, since protobuf-c recurses.
 */
#ifndef UK_IMPORT_H
#define UK_IMPORT_H

#include "graph/graph.h"

/* Reads the model: nodes in an order in which each comes after those that it reads, values, initializers as
 * constants, inputs with the shapes of the file and of the options. folder: of external data, or NULL. */
enum uk_status uk_import(struct uk_graph *g, const void *bytes, size_t length, const char *folder,
                         const struct uk_network_options *o);

/* ---- guard.c ---- */

struct ProtobufCMessageDescriptor;
/* Whether messages are nested too deep, or end where the bytes do not: a reason, or NULL. */
const char *uk_import_check(const struct ProtobufCMessageDescriptor *d, const void *bytes, size_t length);

/* ---- file.c ---- */

/* A whole regular file in memory, read only. */
struct uk_mapped {
    const void *bytes;
    size_t length;
};
/* Unmap it if that succeeds. */
enum uk_status uk_file_map(struct uk_graph *g, const char *path, struct uk_mapped *m);
void uk_file_unmap(struct uk_mapped *m);
/* The value gets the elements of a .npy or .pb file. */
enum uk_status uk_file_tensor(struct uk_graph *g, const char *path, struct uk_graph_value *v);

#endif
