/* SPDX-License-Identifier: Apache-2.0 */
#include "random_parts.h"
#include <stdio.h>
#include <string.h>

enum { LEFT_OUT = -1, MOST_DEPTH = 2 };

static const char *extent(struct drawing *d) {
    static const char *const extents[] = {"1", "2", "3", "N", "2", "1", "M", "0"};

    return extents[drawn_byte(d) % (d->depth ? 3 : 8)]; /* values of bodies are constants */
}

/* Puts a tensor, an input if it may be one, and returns its number. */
static int tensor(struct drawing *d, bool is_input, const char *type, const char *shape) {
    const int number = drawn_result(d);

    is_input = !d->depth && (is_input || strpbrk(shape, "NM"));
    uk_put(&d->text, "%s %c%d %s ", is_input ? "input" : "init", drawn_letter(d), number, type);
    if (drawn_one_in(d, 64))
        drawn_shape(d, is_input);
    else
        put_shape(d, shape);
    if (!is_input)
        uk_put(&d->text, " ~ %u", drawn_byte(d) % 4);
    uk_put(&d->text, "\n");
    return number;
}

static void put_inputs(struct drawing *d, int count, const int *in) {
    for (int i = 0; i < count; i++)
        if (in[i] == LEFT_OUT)
            uk_put(&d->text, " _");
        else
            uk_put(&d->text, " %c%d", drawn_letter(d), in[i]);
    uk_put(&d->text, " ->");
}

static void put_outputs(struct drawing *d, int count) {
    for (int i = 0; i < count; i++)
        if (drawn_one_in(d, 8))
            uk_put(&d->text, " _");
        else
            uk_put(&d->text, " %c%d", drawn_letter(d), drawn_result(d));
}

/* ---- recurrent operators ---- */

static const struct recurrent {
    const char *name;
    int gates, inputs, outputs, activations;
} recurrents[] = {{"RNN", 1, 6, 2, 1}, {"GRU", 3, 6, 2, 2}, {"LSTM", 4, 8, 3, 3}};

static void put_activations(struct drawing *d, int count) {
    static const char *const names[] = {"Tanh",     "Sigmoid",    "Relu",       "Affine",
                                        "Elu",      "ScaledTanh", "Softplus",   "ThresholdedRelu",
                                        "Softsign", "LeakyRelu",  "hardsigmoid"};
    static const char *const lists[] = {"activation_alpha", "activation_beta"};

    uk_put(&d->text, " activations=S:");
    for (int i = 0; i < count; i++)
        uk_put(&d->text, "%s%s", i ? "," : "", names[drawn_byte(d) % 11]);
    for (int k = 0; k < 2; k++) {
        uk_put(&d->text, " %s=F:", lists[k]);
        for (int i = 0, listed = (int)(drawn_byte(d) % 8); i < listed; i++) {
            uk_put(&d->text, "%s", i ? "," : "");
            drawn_real(d);
        }
    }
}

static void put_attributes(struct drawing *d, const struct recurrent *r, int hidden, int ways, int layout) {
    const char *one = drawn_one_in(d, 4) ? "reverse" : "forward";

    uk_put(&d->text, " direction=s:%s", ways == 2 ? "bidirectional" : one);
    if (!drawn_one_in(d, 8))
        uk_put(&d->text, " hidden_size=i:%d", hidden);
    if (layout)
        uk_put(&d->text, " layout=i:1");
    if (drawn_one_in(d, 4))
        put_activations(d, ways * r->activations);
    if (drawn_one_in(d, 6)) {
        uk_put(&d->text, " clip=f:");
        drawn_real(d);
    }
    if (drawn_one_in(d, 3))
        uk_put(&d->text, r->gates == 4   ? " input_forget=i:1"
                         : r->gates == 3 ? " linear_before_reset=i:1"
                                         : "");
}

static void recurrent(struct drawing *d) {
    const struct recurrent *r = &recurrents[drawn_byte(d) % 3];
    const char *steps = extent(d), *batch = extent(d);
    const int inputs = 1 + (int)(drawn_byte(d) % 3), hidden = 1 + (int)(drawn_byte(d) % 3),
              ways = 1 + drawn_one_in(d, 3), layout = drawn_one_in(d, 4), all = r->gates * hidden;
    char shape[8][64];
    int in[8];

    snprintf(shape[0], sizeof *shape, "%s,%s,%d", layout ? batch : steps, layout ? steps : batch, inputs);
    snprintf(shape[1], sizeof *shape, "%d,%d,%d", ways, all, inputs);
    snprintf(shape[2], sizeof *shape, "%d,%d,%d", ways, all, hidden);
    snprintf(shape[3], sizeof *shape, "%d,%d", ways, 2 * all);
    snprintf(shape[4], sizeof *shape, "%s", batch);
    for (int i = 5; i < 7; i++)
        if (layout)
            snprintf(shape[i], sizeof *shape, "%s,%d,%d", batch, ways, hidden);
        else
            snprintf(shape[i], sizeof *shape, "%d,%s,%d", ways, batch, hidden);
    snprintf(shape[7], sizeof *shape, "%d,%d", ways, 3 * hidden);
    for (int i = 0; i < r->inputs; i++)
        in[i] = drawn_one_in(d, i < 3 ? 64 : 2)
                    ? LEFT_OUT
                    : tensor(d, !i || drawn_one_in(d, 3), i == 4 ? "i32" : d->real, shape[i]);
    uk_put(&d->text, "%s", r->name);
    put_inputs(d, r->inputs, in);
    put_outputs(d, 1 + (int)(drawn_byte(d) % (unsigned)r->outputs));
    put_attributes(d, r, hidden, ways, layout);
    uk_put(&d->text, "\n");
}

/* ---- loops and branches ---- */

struct body {
    int inputs, leading, states, collected; /* leading: inputs before the states */
};

/* Puts a node that keeps the shape of value `from`, and returns its result. */
static int put_step(struct drawing *d, int from, int other) {
    static const char *const one[] = {"Relu", "Tanh", "Neg", "Identity"}, *const two[] = {"Add", "Mul",
                                                                                          "Sub"};
    const unsigned b = drawn_byte(d) % 8;
    const int result = drawn_result(d);

    if (b < 4)
        uk_put(&d->text, "%s b%d -> b%d\n", one[b], from, result);
    else
        uk_put(&d->text, "%s b%d b%d -> b%d\n", two[b % 3], from, drawn_one_in(d, 4) ? from : other, result);
    return result;
}

/* Puts a graph with these inputs, and returns its number. Its outputs are first `conditions` conditions, then
 * the next values of states, then results. */
static int put_body(struct drawing *d, const struct body *shape, int conditions) {
    const int number = d->graphs++, before = d->inner;
    int out[8], count = 0;

    d->depth++;
    uk_put(&d->text, "graph g%d\n", number);
    for (int i = 0; i < shape->inputs; i++)
        uk_put(&d->text, "input b%d %s ?\n", drawn_result(d), d->real);
    for (unsigned i = drawn_byte(d) % 3; i; i--)
        if (drawn_one_in(d, 4))
            draw_part(d);
        else
            drawn_node(d);
    if (!shape->inputs) {
        out[count++] = drawn_result(d);
        uk_put(&d->text, "%s v0 -> b%d\n", drawn_one_in(d, 2) ? "Relu" : "Identity", out[0]);
    }
    if (conditions) {
        out[count++] = drawn_result(d);
        if (drawn_one_in(d, 2))
            uk_put(&d->text, "Identity b%d -> b%d\n", before + 1, out[0]);
        else
            uk_put(&d->text, "init b%d bool - = %u\n", out[0], drawn_byte(d) % 2);
    }
    for (int i = 0; i < shape->states + shape->collected; i++)
        out[count++] = drawn_one_in(d, 8) ? before + shape->leading
                                          : put_step(d, before + shape->leading + (i < shape->states ? i : 0),
                                                     before + shape->inputs - 1);
    for (int i = 0; i < count; i++)
        uk_put(&d->text, "output b%d\n", out[i]);
    uk_put(&d->text, "end\n");
    d->depth--;
    d->inner = before;
    return number;
}

static void scan(struct drawing *d) {
    const int states = (int)(drawn_byte(d) % 3), scanned = 1 + drawn_one_in(d, 3),
              collected = (int)(drawn_byte(d) % 3);
    const struct body shape = {.inputs = states + scanned, .states = states, .collected = collected};
    const char *steps = extent(d), *width = drawn_one_in(d, 4) ? extent(d) : "2";
    char each[32];
    int in[8];

    snprintf(each, sizeof each, "%s,%s", steps, width);
    for (int i = 0; i < states; i++)
        in[i] = tensor(d, drawn_one_in(d, 2), d->real, width);
    for (int i = states; i < shape.inputs; i++)
        in[i] = tensor(d, true, d->real, each);
    const int body = put_body(d, &shape, 0);
    uk_put(&d->text, "Scan");
    put_inputs(d, shape.inputs, in);
    put_outputs(d, states + collected);
    uk_put(&d->text, " body=g:g%d num_scan_inputs=i:%d", body, scanned);
    if (drawn_one_in(d, 4))
        uk_put(&d->text, " scan_input_directions=I:1%s", scanned > 1 ? ",0" : "");
    if (drawn_one_in(d, 4) && collected)
        uk_put(&d->text, " scan_output_axes=I:1%s", collected > 1 ? ",-1" : "");
    if (drawn_one_in(d, 4) && collected)
        uk_put(&d->text, " scan_output_directions=I:1%s", collected > 1 ? ",1" : "");
    uk_put(&d->text, "\n");
}

static void loop(struct drawing *d) {
    const int states = (int)(drawn_byte(d) % 3), collected = (int)(drawn_byte(d) % 3);
    const struct body shape = {
        .inputs = 2 + states, .leading = 2 - !states, .states = states, .collected = collected};
    const char *width = extent(d);
    int in[8];

    in[0] = drawn_one_in(d, 4) ? LEFT_OUT : tensor(d, drawn_one_in(d, 3), "i64", "-");
    in[1] = drawn_one_in(d, 2) ? LEFT_OUT : tensor(d, drawn_one_in(d, 2), "bool", "-");
    for (int i = 0; i < states; i++)
        in[2 + i] = tensor(d, drawn_one_in(d, 2), d->real, width);
    const int body = put_body(d, &shape, 1);
    uk_put(&d->text, "Loop");
    put_inputs(d, shape.inputs, in);
    put_outputs(d, states + collected);
    uk_put(&d->text, " body=g:g%d\n", body);
}

static void branch(struct drawing *d) {
    const struct body shape = {.inputs = 0};
    const int condition = tensor(d, drawn_one_in(d, 2), "bool", "-"), yes = put_body(d, &shape, 0),
              no = put_body(d, &shape, 0);

    uk_put(&d->text, "If");
    put_inputs(d, 1, &condition);
    put_outputs(d, 1);
    uk_put(&d->text, " then_branch=g:g%d else_branch=g:g%d\n", yes, no);
}

/* ---- states ---- */

static void state(struct drawing *d) {
    struct random_options *o = d->options;
    const bool is_scattered = drawn_one_in(d, 3), is_flat = !is_scattered && drawn_one_in(d, 3);
    const int past = tensor(d, true, d->real, is_flat ? "M,4" : "1,M,4");
    const char *const added[] = {"1,1,4", "1,N,4", "1,4", "N,4"};
    const int rows =
        tensor(d, true, d->real, is_scattered ? "1,2,4" : added[2 * is_flat + drawn_one_in(d, 2)]);

    if (is_scattered) {
        const int place = tensor(d, true, "i64", "1");
        uk_put(&d->text, "TensorScatter v%d v%d v%d -> v%d axis=i:1\n", past, rows, place, drawn_result(d));
    } else {
        uk_put(&d->text, "Concat v%d v%d -> v%d axis=i:%d\n", past, rows, drawn_result(d), !is_flat);
    }
    uk_put(&d->text, "output v%d\n", d->values - 1);
    if (o->states < RANDOM_STATES && !drawn_one_in(d, 8)) {
        snprintf(o->past[o->states], RANDOM_NAME, "v%d", past);
        snprintf(o->present[o->states++], RANDOM_NAME, "v%d", d->values - 1);
    }
}

void draw_options(struct drawing *d) {
    static const char *const names[RANDOM_SIZES] = {"N", "M"};
    struct random_options *o = d->options;

    o->find_states = drawn_one_in(d, 16);
    for (int i = 0; i < RANDOM_SIZES; i++) {
        const int64_t step = 1 + drawn_one_in(d, 4), lower = step * (drawn_byte(d) % 3);
        if ((i ? d->has_m : d->has_n) != drawn_one_in(d, 16))
            o->size[o->sizes++] =
                (struct uk_network_size){names[i], lower, lower + step * (1 + drawn_byte(d) % 5), step};
    }
}

void draw_part(struct drawing *d) {
    static void (*const parts[])(struct drawing *) = {recurrent, recurrent, scan, loop, branch, state};
    const unsigned b = drawn_byte(d) % 6;

    if (d->values > MOST_VALUES - 16 || d->inner > MOST_VALUES || d->graphs > MOST_GRAPHS - 2 ||
        d->depth >= MOST_DEPTH || (b == 5 && d->depth))
        drawn_node(d);
    else
        parts[b](d);
}
