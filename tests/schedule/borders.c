/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pad(X[..], 0) leaves terms out of a sum: a weight that is infinite or NaN does not reach elements whose
 * term for it is outside of X. Sums with borders, each with `auto` and with copies of X, for every target:
 * one tap of the weights at a time is infinite or NaN, and results are compared with the interpreter's. Code
 * for this machine is run; loops for other targets are interpreted, with kernels as their declarations say.
 * Weights declared `finite` allow zeros in place of the terms outside; they are finite here.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "run_program.h"
#include "test_context.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* The weights F are declared first; F is [taps, columns], row-major. */
static const struct layer {
    const char *name, *text;
    int taps, columns;
    const char *copies[4]; /* schedules besides `auto` */
} layers[] = {
    {"rows",
     "tensor F f32 [3]%s\ntensor X f32 [9]\ntensor Y f32 [9]\nY[i] = sum(r) pad(X[i + r - 1], 0) * F[r]\n",
     3,
     1,
     {"  cache_read X at root\n", "  split i 4 -> io ii\n  cache_read X at io\n"}},
    {"channels_last",
     "tensor F f32 [3, 3, 8, 40]%s\ntensor X f32 [2, 6, 17, 8]\ntensor Y f32 [2, 6, 17, 40]\n"
     "Y[n, p, q, o] = sum(r, s, c) pad(X[n, p + r - 1, q + s - 1, c], 0) * F[r, s, c, o]\n",
     9,
     320,
     {"  cache_read X at root\n", "  cache_read X at p\n",
      "  cache_read X at root\n  split q 6 -> qo qi\n  split o 16 -> oo oi\n  reorder n p qo oo r s qi oi c\n"
      "  tensorize qi auto\n"}}, /* a tile that kernels of AVX2 and of AVX-512 have */
    {"strided",
     "tensor F f32 [3, 3, 8, 40]%s\ntensor X f32 [9, 11, 8]\ntensor Y f32 [5, 6, 40]\n"
     "Y[p, q, o] = sum(r, s, c) pad(X[2*p + r - 1, 2*q + s - 1, c], 0) * F[r, s, c, o]\n",
     9,
     320,
     {"  cache_read X at root\n", "  cache_read X at p\n"}},
    {"dilated",
     "tensor F f32 [3, 3, 4, 16]%s\ntensor X f32 [7, 9, 4]\ntensor Y f32 [7, 9, 16]\n"
     "Y[p, q, o] = sum(r, s, c) pad(X[p + 2*r - 2, q + 2*s - 2, c], 0) * F[r, s, c, o]\n",
     9,
     64,
     {"  cache_read X at root\n"}},
    {"channels_first",
     "tensor F f32 [3, 3, 4, 6]%s\ntensor X f32 [6, 8, 20]\ntensor Y f32 [4, 8, 20]\n"
     "Y[o, p, q] = sum(c, r, s) pad(X[c, p + r - 1, q + s - 1], 0) * F[r, s, o, c]\n",
     9,
     24,
     {"  cache_read X at root\n", "  cache_read X at o\n"}},
    {"depthwise",
     "tensor F f32 [3, 3, 40]%s\ntensor X f32 [6, 18, 40]\ntensor Y f32 [6, 18, 40]\n"
     "Y[p, q, c] = sum(r, s) pad(X[p + r - 1, q + s - 1, c], 0) * F[r, s, c]\n",
     9,
     40,
     {"  cache_read X at root\n", "  cache_read X at p\n"}},
    {"few_channels", /* pixels become the columns, through a transposed copy and a buffer */
     "tensor F f32 [3, 3, 8, 3]%s\ntensor X f32 [6, 50, 8]\ntensor Y f32 [6, 50, 3]\n"
     "Y[p, q, o] = sum(r, s, c) pad(X[p + r - 1, q + s - 1, c], 0) * F[r, s, c, o]\n",
     9,
     24,
     {"  cache_read X at root layout (p, q, c) -> [p, c, q]\n"}},
    {"few_channels_first",
     "tensor F f32 [3, 3, 8, 3]%s\ntensor X f32 [6, 50, 8]\ntensor Y f32 [3, 6, 50]\n"
     "Y[o, p, q] = sum(r, s, c) pad(X[p + r - 1, q + s - 1, c], 0) * F[r, s, c, o]\n",
     9,
     24,
     {"  cache_read X at root layout (p, q, c) -> [p, c, q]\n"}},
    {"halves",
     "tensor F bf16 [3, 3, 8, 16]%s\ntensor X bf16 [5, 9, 8]\ntensor Y f32 [5, 9, 16]\n"
     "Y[p, q, o] = sum(r, s, c) f32(pad(X[p + r - 1, q + s - 1, c], 0)) * f32(F[r, s, c, o])\n",
     9,
     128,
     {"  cache_read X at root\n"}},
};

/* Compiled and run where this CPU can, else interpreted. */
static const char *const targets[] = {"native",        "x86_64-avx2", "x86_64-generic", "aarch64-neon",
                                      "armv7-neon",    "riscv64",     "riscv64-p",      "amdgcn-gfx90a",
                                      "amdgcn-gfx906", "nvptx-sm80"};

static bool is_x86_64(const char *target) {
    return !strcmp(target, "native") || !strncmp(target, "x86_64", 6);
}

/* Sets the tap's weights to the value; the others keep theirs. */
static void set_tap(struct random_data *d, const struct layer *l, int tap, float value) {
    char *weights = d->start[0] + RANDOM_DATA_MARGIN;
    const uint16_t half = isnan(value) ? 0x7fc0 : 0x7f80;

    for (int i = tap * l->columns; i < (tap + 1) * l->columns; i++)
        if (d->bytes[0] == (size_t)(l->taps * l->columns) * sizeof half)
            memcpy(weights + (size_t)i * sizeof half, &half, sizeof half);
        else
            memcpy(weights + (size_t)i * sizeof value, &value, sizeof value);
}

static int right_with_tap(struct run *r, const struct layer *l, int tap, float value) {
    struct random_data d = {.small = true};

    random_data_fill(&d, r->program, 7);
    if (tap >= 0)
        set_tap(&d, l, tap, value);
    random_data_interpret(&d, r->program);
    const bool right = run_is_right(r, &d);
    random_data_free(&d);
    return right;
}

/* Runs the layer for the target. `finite`: weights are declared so, and no tap is infinite. */
static void try_layer(const struct layer *l, const char *target, const char *steps, bool finite) {
    char text[512];
    const bool here = is_x86_64(target);
    const int step = here ? 1 : 4; /* elsewhere: corners and centre of a window */
    struct run r = {.context = context, .options = {.target = target, .threads = 1}};

    snprintf(text, sizeof text, l->text, finite ? " finite" : "");
    r.program = run_parse(context, l->name, text, steps);
    if (here && !run_is_possible(target) && strcmp(target, "x86_64-generic") != 0)
        return;
    const enum uk_status status = here ? run_compile(&r) : run_loops(&r, NULL);
    if (status)
        fail_msg("%s for %s, %s: %s", l->name, target, steps ? steps : "auto", uk_context_message(context));
    for (int tap = finite ? -1 : 0; tap < (finite ? 0 : l->taps); tap += step)
        if (!right_with_tap(&r, l, tap, INFINITY) || (here && !right_with_tap(&r, l, tap, NAN)))
            fail_msg("%s for %s, tap %d, %s%s", l->name, target, tap, finite ? "finite, " : "",
                     steps ? steps : "auto");
    run_end(&r);
}

static void weights_that_are_not_finite(void **state) {
    (void)state;
    for (int t = 0; t < COUNT(targets); t++)
        for (int i = 0; i < COUNT(layers); i++) {
            try_layer(&layers[i], targets[t], NULL, false);
            try_layer(&layers[i], targets[t], NULL, true);
        }
}

static void copies_with_borders(void **state) {
    (void)state;
    for (int i = 0; i < COUNT(layers); i++)
        for (int c = 0; c < COUNT(layers[i].copies) && layers[i].copies[c]; c++) {
            try_layer(&layers[i], "native", layers[i].copies[c], false);
            try_layer(&layers[i], "native", layers[i].copies[c], true);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_that_are_not_finite),
        cmocka_unit_test(copies_with_borders),
    };

    return cmocka_run_group_tests_name("borders", tests, make_context, destroy_context);
}
