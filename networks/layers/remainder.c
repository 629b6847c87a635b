/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mod. The remainder of integers is an expression. That of floats is computed from absolute values, in f64,
 * in steps that subtract multiples of the divisor: the quotient, rounded down to a multiple of 2^270, 2^243
 * ... 1 for f32, 2^2080, 2^2054 ... 1 for f64. All products and differences are exact: the quotient's part
 * has at most 28 bits and a divisor of f32 24; one of f64 is split into halves. A quotient that is rounded up
 * may be one too large in its last place; the next step corrects that.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "layers/layers.h"

enum { F32_BITS = 27, F32_STEPS = 11, F64_BITS = 26, F64_STEPS = 81 };

/* ---- RemainderHigh: the upper half of the digits of a divisor of f64. That of a large one is computed from
 * a smaller number, as a product would overflow ---- */

const char *uk_express_remainder_high(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    (void)n;
    return "select($0 > 1e200, 134217729.0 * ($0 * 1.8189894035458565e-12) - (134217729.0 * ($0 * "
           "1.8189894035458565e-12) - $0 * 1.8189894035458565e-12), 134217729.0 * $0 - (134217729.0 * $0 - "
           "$0)) * "
           "select($0 > 1e200, 549755813888.0, 1.0)";
}

/* ---- RemainderStep: remainder so far, divisor, the divisor's upper half if it is split ---- */

enum uk_status uk_infer_remainder(struct uk_graph *g, struct uk_graph_node *n) {
    enum uk_status s = uk_infer_broadcast(g, n);

    if (!s)
        n->output[0]->type = UK_F64;
    return s;
}

/* $0 without the quotient's multiple of $1; high: an operand, or NULL. */
static const char *subtract(struct uk_graph *g, const char *quotient, const char *high) {
    return !quotient ? NULL
           : high    ? uk_format(&g->arena, "$0 - %1$s * %2$s - %1$s * ($1 - %2$s)", quotient, high)
                     : uk_format(&g->arena, "$0 - %s * $1", quotient);
}

const char *uk_express_remainder_step(struct uk_graph *g, const struct uk_graph_node *n) {
    const int places = (int)uk_attribute_int(n, "places", 0), some = places > 1000 ? 1000 : places,
              more = places - some > 1000 ? 1000 : places - some;
    const char *quotient;

    if (n->inputs < 3) {
        quotient = uk_format(&g->arena, "floor($0 / $1 * %s) * %s", uk_number_text(ldexp(1, -places), false),
                             uk_number_text(ldexp(1, places), false));
        return subtract(g, quotient, NULL);
    }
    /* The divisor times 2^places, in three factors, each a number of f64. If it is not finite, it is larger
     * than the remainder. */
    const char *power = uk_format(&g->arena, "%s * %s * %s", uk_number_text(ldexp(1, some), false),
                                  uk_number_text(ldexp(1, more), false),
                                  uk_number_text(ldexp(1, places - some - more), false));
    return power ? uk_format(&g->arena,
                             "select($1 * %1$s < inf, $0 - floor($0 / ($1 * %1$s)) * ($2 * %1$s) - "
                             "floor($0 / ($1 * %1$s)) * (($1 - $2) * %1$s), $0)",
                             power)
                 : NULL;
}

/* ---- RemainderEnd: remainder so far, divisor, dividend, the divisor's upper half. The remainder of a finite
 * number by an infinite one is the number ---- */

const char *uk_express_remainder_end(struct uk_graph *g, const struct uk_graph_node *n) {
    const char *rest = subtract(g, "floor($0 / $1)", n->inputs > 3 ? "$3" : NULL);

    return rest ? uk_format(&g->arena, "select($1 == inf, $2 + 0.0 * $2, %s)", rest) : NULL;
}

/* ---- SignedRemainder: dividend, divisor, remainder of the absolute values ---- */

/* With fmod=1 the sign is that of the dividend. With fmod=0 it is that of the divisor, from which a remainder
 * of the other sign is subtracted. */
const char *uk_express_signed_remainder(struct uk_graph *g, const struct uk_graph_node *n) {
    (void)g;
    return uk_attribute_int(n, "fmod", 0)
               ? "{x}($2) * select($0 < 0, -1, 1)"
               : "{x}(select(($0 < 0 and $1 > 0 or $0 > 0 and $1 < 0) and $2 != 0, abs(f64($1)) - $2, $2)) * "
                 "select($1 < 0, -1, 1)";
}

/* ---- Mod ---- */

/* The remainder of integers has the sign of the dividend with fmod=1, else of the divisor. */
const char *uk_express_mod(struct uk_graph *g, const struct uk_graph_node *n) {
    static const char remainder[] = "$0 - $0 / $1 * $1";
    const enum uk_type type = n->input[0]->type;

    return uk_attribute_int(n, "fmod", 0) || type == UK_U8 || type == UK_U16 || type == UK_U32 ||
                   type == UK_U64
               ? remainder
               : uk_format(&g->arena, "%1$s + select(($0 ^ $1) < 0 and %1$s != 0, $1, 0)", remainder);
}

/* Adds an operator of this file; inputs at the end may be left out (NULL). */
static struct uk_graph_value *internal(struct uk_expansion *e, struct uk_graph_value *to, const char *type,
                                       struct uk_graph_value *const input[4]) {
    int inputs = 4;

    while (!input[inputs - 1])
        inputs--;
    struct uk_graph_value *y = uk_expand_to(e, to, type, inputs, input[0], input[1], input[2], input[3]);
    uk_expand_domain(e, UK_INTERNAL_DOMAIN);
    return y;
}

#define INPUTS(...) ((struct uk_graph_value *const[4]){__VA_ARGS__})

enum uk_status uk_expand_mod(struct uk_graph *g, struct uk_graph_node *n, struct uk_graph_node **first) {
    enum uk_status s = uk_need_input(g, n, 0);

    if (!s)
        s = uk_need_input(g, n, 1);
    if (s || !uk_is_real(n->input[0]->type))
        return s;
    if (n->input[1]->type != n->input[0]->type)
        return uk_graph_fail(g, UK_REFUSED, n, "its inputs have types %s and %s; they need one type",
                             uk_type_name(n->input[0]->type), uk_type_name(n->input[1]->type));
    struct uk_expansion e = uk_expansion_begin(g, n, first);
    const bool is_double = n->input[0]->type == UK_F64;
    struct uk_graph_value *by = internal(&e, NULL, "RemainderSize", INPUTS(n->input[1])),
                          *size = internal(&e, NULL, "RemainderSize", INPUTS(n->input[0])),
                          *high = is_double ? internal(&e, NULL, "RemainderHigh", INPUTS(by)) : NULL,
                          *r = size;

    for (int step = is_double ? F64_STEPS : F32_STEPS; --step > 0;) {
        r = internal(&e, NULL, "RemainderStep", INPUTS(r, by, high));
        uk_expand_int(&e, "places", step * (is_double ? F64_BITS : F32_BITS));
    }
    r = internal(&e, NULL, "RemainderEnd", INPUTS(r, by, size, high));
    internal(&e, n->output[0], "SignedRemainder", INPUTS(n->input[0], n->input[1], r));
    uk_expand_same(&e, "fmod");
    return uk_expansion_end(&e);
}
