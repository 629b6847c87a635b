/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_IMPORTING_H
#define UK_IMPORTING_H

#include "import/names.h"
#include "import/tensor.h"

/* A model that is being read. */
struct uk_importing {
    struct uk_graph *g;
    const Onnx__ModelProto *model;
    const char *folder;
    const struct uk_network_options *options;
    struct uk_names names;
};

static inline const char *uk_or_empty(const char *s) {
    return s ? s : "";
}

/* ---- import.c ---- */

/* Creates a value under a new name. NULL: a failure is recorded. */
struct uk_graph_value *uk_import_define(struct uk_importing *im, const char *name,
                                        const struct uk_graph_node *by);

/* ---- inputs.c ---- */

enum uk_status uk_import_check_options(struct uk_graph *g, const struct uk_network_options *o);
/* Reads initializers and inputs. If inputs have dimensions that neither the file nor the options state,
 * g->open says which, and these inputs have no shape. */
enum uk_status uk_import_inputs(struct uk_importing *im, const Onnx__GraphProto *graph);

#endif
