/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room plan: nodes become calls. It uses graph, layers and ranges. Passes add nodes for padding and borders,
 * choose each tensor's order of dimensions, fuse nodes that one program computes into a layer, and give
 * values their places in one block of memory. Data: struct uk_plan, which owns its layers; they are in the
 * graph's arena.
 */
#ifndef UK_PLAN_H
#define UK_PLAN_H

#include "layers/layers.h"
#include "ranges/ranges.h"

/* A tensor program; layers with equal text share one. */
struct uk_layer_function {
    struct uk_layer_function *next;
    int number;
    const char *name, *text;
    const char *plain_text; /* the same without `constant`, for GPUs, which do not pack */
    const char *key;        /* hash of the text, by which schedules name it */
    const char *steps;      /* NULL: automatic */
    int64_t work;           /* maximum of its layers' `work` */
    /* The code for which the network is compiled has a second program, NAME_single, for runs in which the
     * size of that number is 1; -1: it has none. */
    int single;
};

struct uk_layer {
    struct uk_layer *next;
    int number;
    const struct uk_graph_node **node; /* in order of computation */
    int nodes;
    struct uk_graph_region *region; /* NULL: it runs once */
    struct uk_graph_value *result;
    const struct uk_graph_value **argument; /* the function's arguments, the result last */
    int arguments;
    int sizes; /* the function's first arguments, as forms of the open sizes */
    const struct uk_size_form *size;
    struct uk_layer_function *function;
    int64_t work;      /* offset of its workspace in bytes: after all values that are live then */
    double true_terms; /* share of its multiply-adds whose channels are not padding */
    struct uk_network_layer shown;
};

struct uk_plan {
    struct uk_graph *g;
    struct uk_layer *layers, **layer; /* as a list and as an array */
    int count;
    struct uk_layer_function *functions;
    int function_count;
    int64_t bytes, bound; /* bytes of the block without workspaces; largest sum of live bytes */
};

enum { UK_PLACE_ALIGNMENT = 64 };

/* Plans a graph whose shapes are known. stem: prefix of the functions' names. context: parses programs of
 * networks with open sizes. */
enum uk_status uk_plan(struct uk_plan *p, struct uk_graph *g, const char *stem, struct uk_context *context);

/* ---- node.c: nodes that a plan adds ---- */

/* Returns a new node with one output, which the caller links in; NULL: no memory. */
struct uk_graph_node *uk_node_new(struct uk_graph *g, const struct uk_operator *op, const char *name,
                                  int inputs);
/* Gives the value the type and shape of `like`. */
void uk_copy_type_and_shape(struct uk_graph_value *v, const struct uk_graph_value *like);

/* ---- channels.c: pads channels to the kernels' group size ---- */

enum uk_status uk_plan_channels(struct uk_graph *g);
/* Inserts a node of this operator before the convolution, which is at `place`: its inputs are the
 * convolution's input and zero point, its output, which the caller enlarges, is what the convolution then
 * reads. NULL: no memory. */
struct uk_graph_node *uk_enlarge_input(struct uk_graph *g, const struct uk_operator *op,
                                       struct uk_graph_node *conv, struct uk_graph_node **place);
/* Returns the value before its channels were padded; NULL: they were not. */
const struct uk_graph_value *uk_padded_channels_of(const struct uk_graph_value *v);

/* ---- border.c: images with a border of padding, for convolutions ---- */

enum uk_status uk_plan_borders(struct uk_graph *g);
bool uk_is_border(const struct uk_graph_node *n);
/* Offset of a border node's input in its image, in dimension d. */
int64_t uk_border_before(const struct uk_graph_node *border, int d);
/* Returns the value inside the border; a value without one itself. */
const struct uk_graph_value *uk_value_inside_border(const struct uk_graph_value *v);
/* Fills an image that has a border with the padding's value. memory: the image's place. */
void uk_border_fill(const struct uk_graph_value *v, void *memory);

/* ---- order.c: orders of dimensions in memory; copies for views that need another order ---- */

enum uk_status uk_plan_orders(struct uk_graph *g);
/* Returns the value whose memory holds the elements of v. */
struct uk_graph_value *uk_storage(struct uk_graph_value *v);
void uk_set_row_major(struct uk_graph_value *v);
/* Inserts a node of the region before `place` that copies the value into row-major order; NULL: no memory. */
struct uk_graph_value *uk_copy_row_major(struct uk_graph *g, struct uk_graph_value *v,
                                         struct uk_graph_node **place, struct uk_graph_region *region);

/* ---- loops.c: values that go into loops and out of them ---- */

/* True for a node whose output has a place that the loop decides, or no place. */
bool uk_has_loop_place(const struct uk_graph_node *n);
/* Sets the order and the storage of the output of such a node. It may insert a copy before the node, or
 * before its region. */
enum uk_status uk_place_loop_part(struct uk_graph *g, struct uk_graph_node *n);
/* Finds the trip counts, and their forms. */
enum uk_status uk_plan_trips(struct uk_graph *g);

/* True if elements are in memory as in ONNX's order; dimensions of extent 1 do not matter. */
bool uk_is_row_major(const struct uk_graph *g, const struct uk_graph_value *v);
/* True if v, with its order, can be a view of the strided value, at all points. */
bool uk_has_view(struct uk_graph *g, const struct uk_graph_value *of, const struct uk_graph_value *v);

/* ---- states.c: tensors that stay in memory from run to run ---- */

/* Gives each state a buffer, in which its input and output have their places. They are none of the graph's
 * inputs and outputs afterwards. Refuses states that are not written in place. */
enum uk_status uk_plan_states(struct uk_graph *g);
/* Refuses states whose old elements a run would have to move. Call it once all slices have their places. */
enum uk_status uk_check_states(struct uk_graph *g);

/* ---- slices.c: concatenation, splits and borders without copies ---- */

void uk_plan_slices(struct uk_graph *g);
/* Sets each slice's place in its storage, for the extents that the graph has now. */
void uk_move_slices(struct uk_graph *g);

/* ---- fuse.c: groups nodes into layers ---- */

enum uk_status uk_plan_layers(struct uk_plan *p);

/* ---- layer.c: programs of layers ---- */

/* stem: prefix of the function's name. */
enum uk_status uk_layer_write(struct uk_plan *p, struct uk_layer *l, const char *stem);
/* Notes the arguments of the layer, whose program w has written. */
enum uk_status uk_layer_take_arguments(struct uk_plan *p, struct uk_layer *l, const struct uk_writer *w);
/* Gives the layer the function with that text. */
enum uk_status uk_layer_take_text(struct uk_plan *p, struct uk_layer *l, const char *stem, const char *text);

/* ---- ranges.c: programs of layers with open sizes ---- */

/* Writes the programs of all layers at all points and unites them. */
enum uk_status uk_layers_write_open(struct uk_plan *p, const char *stem, struct uk_context *c);

/* ---- kind.c: classification of layers, for users ---- */

enum uk_status uk_layer_classify(struct uk_graph *g, struct uk_layer *l);

/* ---- memory.c: places in the block ---- */

enum uk_status uk_plan_memory(struct uk_plan *p);

#endif
