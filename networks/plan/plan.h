/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room plan: from nodes to calls. It uses graph and layers. Tensors get an order of dimensions in memory,
 * nodes that one program computes become a layer, and values get their places in one block of memory. Data:
 * struct uk_plan, which owns its layers; they lie in the graph's arena.
 */
#ifndef UK_PLAN_H
#define UK_PLAN_H

#include "layers/layers.h"

/* A tensor program, which layers of equal text share. */
struct uk_layer_function {
    struct uk_layer_function *next;
    int number;
    const char *name, *text;
    const char *plain_text; /* the same without `constant`, which GPUs have no use for */
    const char *key;        /* the text's hash, which schedules are found by */
    const char *steps;      /* NULL: automatic ones */
    int64_t work;           /* the last place where a layer's workspace begins */
};

struct uk_layer {
    struct uk_layer *next;
    int number;
    const struct uk_graph_node **node; /* in order; the last one makes the result */
    int nodes;
    struct uk_graph_value *result;
    const struct uk_graph_value **argument; /* of the function, the result last */
    int arguments;
    struct uk_layer_function *function;
    int64_t work;      /* where its workspace begins: behind all that is live then */
    double true_terms; /* of the products that its program sums, the share whose channels are not padding */
    struct uk_network_layer shown;
};

struct uk_plan {
    struct uk_graph *g;
    struct uk_layer *layers, **layer; /* in a list and as an array */
    int count;
    struct uk_layer_function *functions;
    int function_count;
    int64_t bytes, bound; /* of the block, without workspaces; and the largest sum of what is live */
};

enum { UK_PLACE_ALIGNMENT = 64 };

/* Plans a graph whose shapes are known. stem: what names of functions begin with. */
enum uk_status uk_plan(struct uk_plan *p, struct uk_graph *g, const char *stem);

/* ---- node.c: nodes that a plan adds ---- */

/* A node of one output; NULL: no memory. */
struct uk_graph_node *uk_node_new(struct uk_graph *g, const struct uk_operator *op, const char *name,
                                  int inputs);
/* The type and shape of another value. */
void uk_value_like(struct uk_graph_value *v, const struct uk_graph_value *like);

/* ---- channels.c: filters and inputs of as many channels as kernels take at once ---- */

enum uk_status uk_plan_channels(struct uk_graph *g);
/* A node of this operator in front of the convolution, which is at `place`: of its input and its zero point
 * it makes what the convolution then reads, whose extents the caller makes larger. NULL: no memory. */
struct uk_graph_node *uk_enlarge_input(struct uk_graph *g, const struct uk_operator *op,
                                       struct uk_graph_node *conv, struct uk_graph_node **place);
/* The value before it got some more channels; NULL: it has none. */
const struct uk_graph_value *uk_padded_channels_of(const struct uk_graph_value *v);

/* ---- border.c: images with a border, which convolutions with padding read ---- */

enum uk_status uk_plan_borders(struct uk_graph *g);
bool uk_is_border(const struct uk_graph_node *n);
/* Where the input of such a node begins in dimension d of its image. */
int64_t uk_border_before(const struct uk_graph_node *border, int d);
/* The value without a border: itself, or what lies inside of it. */
const struct uk_graph_value *uk_inside_of(const struct uk_graph_value *v);
/* Writes what padding stands for into all of an image that has a border; `memory`: where the image lies. */
void uk_border_fill(const struct uk_graph_value *v, void *memory);

/* ---- order.c: the order of dimensions in memory; copies where a view cannot be one ---- */

enum uk_status uk_plan_orders(struct uk_graph *g);
/* The value in whose memory the elements lie. */
struct uk_graph_value *uk_storage(struct uk_graph_value *v);

/* ---- slices.c: unions and parts ---- */

void uk_plan_slices(struct uk_graph *g);

/* ---- fuse.c: layers ---- */

enum uk_status uk_plan_layers(struct uk_plan *p);

/* ---- layer.c: the program of a layer ---- */

/* stem: what its function's name begins with. */
enum uk_status uk_layer_write(struct uk_plan *p, struct uk_layer *l, const char *stem);

/* ---- kind.c: what kind of work a layer is ---- */

enum uk_status uk_layer_classify(struct uk_graph *g, struct uk_layer *l);

/* ---- memory.c: places ---- */

enum uk_status uk_plan_memory(struct uk_plan *p);

#endif
