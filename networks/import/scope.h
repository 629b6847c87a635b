/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of nodes that the importer reads: the model's graph, bodies of functions, graphs in attributes. */
#ifndef UK_SCOPE_H
#define UK_SCOPE_H

#include "import/names.h"
#include "import/tensor.h"

/* A call of a function of the model, whose body is being inlined. */
struct uk_function_call {
    const struct uk_function_call *outside; /* the call whose body contains this one, or NULL */
    const Onnx__FunctionProto *function;
    const struct uk_graph_node *node;
    int attributes; /* those of the call, and the function's defaults for others */
    struct uk_attribute *attribute;
    struct uk_names results; /* the function's outputs: the call's values by their names in the function */
};

/* Names that nodes refer to. */
struct uk_name_scope {
    const struct uk_name_scope
        *outside; /* of a graph in an attribute: it reads these values too; else NULL */
    struct uk_names names;
    const char *prefix; /* of new names; it ends in '/', or is empty */
    Onnx__OperatorSetIdProto **sets;
    size_t set_count;
    const struct uk_function_call *call; /* NULL outside functions */
};

struct uk_importing {
    struct uk_graph *g;
    const Onnx__ModelProto *model;
    const struct uk_folders *folders;
    const struct uk_network_options *options;
    struct uk_name_scope *scope;
    struct uk_names inputs; /* all but those that initializers make constants */
    /* Names of inputs' open dimensions, each as a value that has only a name, in the order of the file. */
    struct uk_names sizes;
    struct uk_graph_value *first_size, **end_of_sizes;
    int64_t inlined; /* nodes of functions so far */
};

static inline const char *uk_or_empty(const char *s) {
    return s ? s : "";
}

/* ---- import.c ---- */

/* Imports nodes; they are linked in at *end, which moves past them. */
enum uk_status uk_import_nodes(struct uk_importing *im, Onnx__NodeProto *const *node, size_t count,
                               struct uk_graph_node ***end);
/* Makes values of the graph's initializers. */
enum uk_status uk_import_initializers(struct uk_importing *im, const Onnx__GraphProto *graph);
/* Creates a value under a new name of the scope. NULL: a failure is recorded. */
struct uk_graph_value *uk_import_define(struct uk_importing *im, const char *name,
                                        const struct uk_graph_node *by);
/* Returns the value of that name in the scope or outside of it; NULL: not found. */
struct uk_graph_value *uk_import_find(const struct uk_importing *im, const char *name);
/* Imports an attribute of the node, or of a function as a default. */
enum uk_status uk_import_attribute(struct uk_importing *im, const Onnx__AttributeProto *from,
                                   const struct uk_graph_node *n, struct uk_attribute *a);

/* ---- inputs.c ---- */

enum uk_status uk_import_check_options(struct uk_graph *g, const struct uk_network_options *o);
/* Reads initializers and inputs. If inputs have dimensions that neither the file nor the options state,
 * g->unstated says which, and these inputs have no shape. */
enum uk_status uk_import_inputs(struct uk_importing *im, const Onnx__GraphProto *graph);
/* Refuses a name of the options: near->word is no `what`, an "input" or the like, of the network, and
 * near->name the closest one. known: the names of all. */
enum uk_status uk_import_refuse_name(struct uk_graph *g, const char *what, const struct uk_closest_name *near,
                                     struct uk_list *known);

/* ---- states.c ---- */

/* Pairs inputs and outputs to states, as the options say. */
enum uk_status uk_import_states(struct uk_graph *g, const struct uk_network_options *o);

/* ---- widen.c ---- */

/* Makes the network compute in f32 what the file computes in f16 and bf16. */
enum uk_status uk_import_widen(struct uk_graph *g, const Onnx__GraphProto *graph);

/* ---- functions.c ---- */

/* Returns the function of the model that the node calls, or NULL. */
const Onnx__FunctionProto *uk_import_function(const struct uk_importing *im, const Onnx__NodeProto *from);
/* Inlines the call `n`, a node that has been imported, as nodes at *end. */
enum uk_status uk_import_call(struct uk_importing *im, const Onnx__FunctionProto *f, struct uk_graph_node *n,
                              struct uk_graph_node ***end);
/* True if the name is an input of the function around the scope that the call leaves out. */
bool uk_import_is_omitted(const struct uk_importing *im, const char *name);
/* Sets *found to the attribute of the call around the scope to which a function's node refers; NULL: the call
 * leaves it out. */
enum uk_status uk_import_reference(struct uk_importing *im, const char *name, const struct uk_graph_node *n,
                                   const struct uk_attribute **found);
/* Imports the graph in an attribute of node n. */
enum uk_status uk_import_subgraph(struct uk_importing *im, const Onnx__GraphProto *graph,
                                  const struct uk_graph_node *n, struct uk_subgraph **out);

#endif
