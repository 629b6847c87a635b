/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN: what the steps of one direction read, and the nodes that compute a step. */
#ifndef UK_RECURRENT_H
#define UK_RECURRENT_H

#include "layers/layers.h"

enum { UK_MAX_ACTIVATIONS = 3 };

enum uk_cell { UK_CELL_RNN, UK_CELL_GRU, UK_CELL_LSTM };

/* The activation function f(alpha, beta, x). type: its name among activations; the constants are NULL if it
 * has none. */
struct uk_activation {
    const char *type;
    struct uk_graph_value *alpha, *beta;
    double alpha_number, beta_number;
};

/* Weights of gates, as they multiply rows of inputs or states. */
struct uk_gate_weights {
    /* [gates * hidden, terms]; or bytes [terms, gates * hidden], by which a product of bytes is computed: it
     * quantizes the rows */
    struct uk_graph_value *matrix;
    struct uk_graph_value *scale, *zero; /* of bytes, one or [gates * hidden]; NULL: no bytes, or 0 */
};

/* One direction. Gates are in ONNX's order: i, o, f, c of LSTM; z, r, h of GRU. */
struct uk_direction {
    enum uk_cell cell;
    int64_t hidden;
    bool couples_gates;            /* LSTM: the forget gate is 1 - the input gate */
    bool resets_product;           /* GRU: the reset gate multiplies the recurrent product, not the state */
    struct uk_gate_weights r;      /* of a GRU that resets the state without the last gate */
    struct uk_gate_weights last_r; /* then the last gate's */
    struct uk_graph_value *addend; /* to the recurrent product, [gates * hidden]; NULL: none */
    struct uk_graph_value *peephole[3]; /* of i, o, f, [hidden]; NULL: none */
    struct uk_graph_value *low, *high;  /* bounds of what activations read; NULL: none */
    struct uk_graph_value *one;
    struct uk_activation activation[UK_MAX_ACTIVATIONS];
};

/* Reads `activations`, `activation_alpha` and `activation_beta` into those of all directions; or the
 * defaults. */
enum uk_status uk_read_activations(struct uk_expansion *e, enum uk_type type, enum uk_cell cell,
                                   struct uk_direction *d, int directions);

/* Returns the product of rows x [rows, terms] and the weights, plus the addend unless it is NULL. */
struct uk_graph_value *uk_expand_gates(struct uk_expansion *e, struct uk_graph_value *x,
                                       const struct uk_gate_weights *w, struct uk_graph_value *addend);
/* Adds the nodes of one step: returns h [batch, hidden] from the earlier one and the input's product
 * x [batch, gates * hidden]. *c: the cell's state, of an LSTM. */
struct uk_graph_value *uk_expand_cell(struct uk_expansion *e, const struct uk_direction *d,
                                      struct uk_graph_value *x, struct uk_graph_value *h,
                                      struct uk_graph_value **c);

#endif
