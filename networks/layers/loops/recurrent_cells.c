/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of LSTM, GRU and RNN, and their activation functions. */
#include <inttypes.h>
#include <string.h>
#include <strings.h>
#include "layers/bytes/quantized.h"
#include "layers/loops/recurrent.h"

/* ---- activations ---- */

/* Names, and the numbers that the functions have: their defaults, which NAN lacks. */
static const struct function {
    const char *name;
    bool has_alpha, has_beta, has_defaults;
    double alpha, beta;
} functions[] = {
    {"Affine", true, true, false, 0, 0},
    {"Elu", true, false, true, 1, 0},
    {"HardSigmoid", true, true, true, 0.2, 0.5},
    {"LeakyRelu", true, false, true, 0.01, 0},
    {"Relu", .has_defaults = true},
    {"ScaledTanh", true, true, false, 0, 0},
    {"Sigmoid", .has_defaults = true},
    {"Softplus", .has_defaults = true},
    {"Softsign", .has_defaults = true},
    {"Tanh", .has_defaults = true},
    {"ThresholdedRelu", true, false, true, 1, 0},
};

enum { FUNCTIONS = sizeof functions / sizeof functions[0] };

/* Activations of a direction, by cell. */
static const struct {
    int count;
    const char *standard[UK_MAX_ACTIVATIONS];
} defaults[] = {
    [UK_CELL_RNN] = {1, {"Tanh"}},
    [UK_CELL_GRU] = {2, {"Sigmoid", "Tanh"}},
    [UK_CELL_LSTM] = {3, {"Sigmoid", "Tanh", "Tanh"}},
};

/* A list of numbers that functions take in turn. */
struct numbers {
    const struct uk_attribute *list;
    int taken;
};

/* Sets *number to the next of the list, or to the default. False: there is neither. */
static bool take(struct numbers *from, bool has_default, double standard, double *number) {
    const bool is_listed = from->list && from->taken < from->list->count;

    *number = is_listed ? from->list->floats[from->taken++] : standard;
    return is_listed || has_default;
}

static enum uk_status read_activation(struct uk_expansion *e, enum uk_type type, const char *name,
                                      struct numbers *alphas, struct numbers *betas,
                                      struct uk_activation *a) {
    const struct function *f = functions;

    while (f < functions + FUNCTIONS && strcasecmp(f->name, name) != 0)
        f++;
    if (f == functions + FUNCTIONS)
        return uk_graph_fail(e->g, UK_REFUSED, e->n, "activation '%s' is not supported", name);
    a->type = f->name;
    if ((f->has_alpha && !take(alphas, f->has_defaults, f->alpha, &a->alpha_number)) ||
        (f->has_beta && !take(betas, f->has_defaults, f->beta, &a->beta_number)))
        return uk_graph_fail(e->g, UK_REFUSED, e->n,
                             "activation %s needs a number each in activation_alpha and activation_beta",
                             f->name);
    if (!f->has_defaults) { /* its numbers are operands */
        a->alpha = uk_expand_real(e, type, a->alpha_number);
        a->beta = uk_expand_real(e, type, a->beta_number);
    }
    return UK_OK;
}

enum uk_status uk_read_activations(struct uk_expansion *e, enum uk_type type, enum uk_cell cell,
                                   struct uk_direction *d, int directions) {
    const struct uk_attribute *names = uk_attribute_find(e->n, "activations");
    const int each = defaults[cell].count;
    struct numbers alphas = {uk_attribute_find(e->n, "activation_alpha"), 0},
                   betas = {uk_attribute_find(e->n, "activation_beta"), 0};
    enum uk_status s = UK_OK;

    if (names && names->count != directions * each)
        return uk_graph_fail(e->g, UK_REFUSED, e->n,
                             "it has %d activations; %d are needed: %d for each of %d", names->count,
                             directions * each, each, directions);
    for (int i = 0; i < directions * each && !s; i++)
        s = read_activation(e, type, names ? names->strings[i] : defaults[cell].standard[i % each], &alphas,
                            &betas, &d[i / each].activation[i % each]);
    return s;
}

static struct uk_graph_value *activate(struct uk_expansion *e, const struct uk_activation *a,
                                       struct uk_graph_value *x) {
    const char *type = a->type;

    if (!strcmp(type, "Affine"))
        return uk_expand_to(e, NULL, "Add", 2, uk_expand_to(e, NULL, "Mul", 2, x, a->alpha), a->beta);
    if (!strcmp(type, "ScaledTanh")) {
        x = uk_expand_to(e, NULL, "Mul", 2, x, a->beta);
        return uk_expand_to(e, NULL, "Mul", 2, uk_expand_to(e, NULL, "Tanh", 1, x), a->alpha);
    }
    x = uk_expand_to(e, NULL, type, 1, x);
    for (const struct function *f = functions; f < functions + FUNCTIONS; f++)
        if (!strcmp(f->name, type) && f->has_alpha)
            uk_expand_float(e, "alpha", a->alpha_number);
    if (!strcmp(type, "HardSigmoid"))
        uk_expand_float(e, "beta", a->beta_number);
    return x;
}

/* ---- steps ---- */

struct uk_graph_value *uk_expand_gates(struct uk_expansion *e, struct uk_graph_value *x,
                                       const struct uk_gate_weights *w, struct uk_graph_value *addend) {
    if (w->scale)
        return uk_expand_dynamic_product(e, NULL, x, w->matrix, w->scale, w->zero, addend);
    x = uk_expand_to(e, NULL, "Gemm", 3, x, w->matrix, addend);
    uk_expand_int(e, "transB", 1);
    return x;
}

static struct uk_graph_value *add(struct uk_expansion *e, struct uk_graph_value *a,
                                  struct uk_graph_value *b) {
    return uk_expand_to(e, NULL, "Add", 2, a, b);
}

static struct uk_graph_value *multiply(struct uk_expansion *e, struct uk_graph_value *a,
                                       struct uk_graph_value *b) {
    return uk_expand_to(e, NULL, "Mul", 2, a, b);
}

/* Bounds what the activation reads by the clip, and applies it. */
static struct uk_graph_value *clipped(struct uk_expansion *e, const struct uk_direction *d, int activation,
                                      struct uk_graph_value *x) {
    if (d->low)
        x = uk_expand_to(e, NULL, "Clip", 3, x, d->low, d->high);
    return activate(e, &d->activation[activation], x);
}

/* Columns of a gate. */
static struct uk_graph_value *gate(struct uk_expansion *e, const struct uk_direction *d,
                                   struct uk_graph_value *all, int number) {
    return uk_expand_slice(e, all, 1, number * d->hidden, (number + 1) * d->hidden);
}

/* The columns of a gate of an LSTM, to which its peephole adds. number: 0 to 2. */
static struct uk_graph_value *peeped(struct uk_expansion *e, const struct uk_direction *d,
                                     struct uk_graph_value *all, int number, struct uk_graph_value *c) {
    struct uk_graph_value *x = gate(e, d, all, number);

    return d->peephole[number] ? add(e, x, multiply(e, d->peephole[number], c)) : x;
}

static struct uk_graph_value *lstm(struct uk_expansion *e, const struct uk_direction *d,
                                   struct uk_graph_value *x, struct uk_graph_value *h,
                                   struct uk_graph_value **c) {
    struct uk_graph_value *all = uk_expand_gates(e, h, &d->r, x),
                          *in = clipped(e, d, 0, peeped(e, d, all, 0, *c)), *forget, *fresh, *out;

    if (d->couples_gates)
        forget = uk_expand_to(e, NULL, "Sub", 2, d->one, in);
    else
        forget = clipped(e, d, 0, peeped(e, d, all, 2, *c));
    fresh = multiply(e, in, clipped(e, d, 1, gate(e, d, all, 3)));
    *c = add(e, multiply(e, forget, *c), fresh);
    out = clipped(e, d, 0, peeped(e, d, all, 1, *c));
    return multiply(e, out, activate(e, &d->activation[2], *c)); /* ONNX Runtime does not clip the state */
}

static struct uk_graph_value *gru(struct uk_expansion *e, const struct uk_direction *d,
                                  struct uk_graph_value *x, struct uk_graph_value *h) {
    struct uk_graph_value *all, *update, *reset, *fresh;

    if (d->resets_product) {
        all = uk_expand_gates(e, h, &d->r, d->addend);
        reset = clipped(e, d, 0, add(e, gate(e, d, all, 1), gate(e, d, x, 1)));
        fresh = add(e, multiply(e, reset, gate(e, d, all, 2)), gate(e, d, x, 2));
        update = add(e, gate(e, d, all, 0), gate(e, d, x, 0));
    } else {
        all = uk_expand_gates(e, h, &d->r, uk_expand_slice(e, x, 1, 0, 2 * d->hidden));
        reset = clipped(e, d, 0, gate(e, d, all, 1));
        fresh = uk_expand_gates(e, multiply(e, reset, h), &d->last_r, gate(e, d, x, 2));
        update = gate(e, d, all, 0);
    }
    update = uk_expand_to(e, NULL, "Sub", 2, d->one, clipped(e, d, 0, update));
    fresh = uk_expand_to(e, NULL, "Sub", 2, clipped(e, d, 1, fresh), h);
    return add(e, h, multiply(e, update, fresh)); /* exactly h if the gate is 1 */
}

struct uk_graph_value *uk_expand_cell(struct uk_expansion *e, const struct uk_direction *d,
                                      struct uk_graph_value *x, struct uk_graph_value *h,
                                      struct uk_graph_value **c) {
    if (d->cell == UK_CELL_LSTM)
        return lstm(e, d, x, h, c);
    if (d->cell == UK_CELL_GRU)
        return gru(e, d, x, h);
    return clipped(e, d, 0, uk_expand_gates(e, h, &d->r, x));
}
