/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random convolutions without a schedule: what the compiler makes of them, run and compared exactly with the
 * interpreter's result on integer-valued data.
 *
 *     convolutions [--seed N|new] [--count N] [--only N]
 *
 * Both layouts, groups, depthwise; windows of 1 to 5, strides of 1 to 3, dilations of 1 and 2, padding of 0
 * to 2 with 0 or another value, odd channels; extents as sizes or constants, images down to nothing.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "random.h"
#include "seed.h"
#include "tensorize.h"

enum { EXTENTS = 8, SHAPES = 4, TENSORS = 3, PROGRAM = 2048 };
/* Extents by number; P and Q are the output's height and width, G the groups, C and O the channels of one. */
enum { N, H, W, C, O, P, Q, G };

static uint64_t seed = 1;
static int count = 60, only = -1;

struct convolution {
    uint64_t x;
    bool nchw, padded, in_groups, depthwise;
    int window[2], stride[2], dilation[2], padding[2], border;
    bool fixed[EXTENTS];
    int64_t extent[EXTENTS];
    int sizes, size[EXTENTS]; /* those that are sizes, in the order of the text */
    char text[PROGRAM];
};

static int below(struct convolution *v, int n) {
    return random_below(&v->x, n);
}

/* ---- programs ---- */

static const char *const names[EXTENTS] = {"N", "H", "W", "C", "O", "P", "Q", "G"};

static __attribute__((format(printf, 2, 3))) void put(struct convolution *v, const char *format, ...) {
    size_t used = strlen(v->text);
    va_list ap;

    va_start(ap, format);
    assert_true(vsnprintf(v->text + used, PROGRAM - used, format, ap) < (int)(PROGRAM - used));
    va_end(ap);
}

/* `dims` letters of the extents' names, or a digit for the window's height and width. */
static void put_tensor(struct convolution *v, const char *name, const char *dims) {
    put(v, "tensor %s f32 [", name);
    for (const char *d = dims; *d; d++) {
        int e = 0;

        while (e < EXTENTS && *names[e] != *d)
            e++;
        if (e == EXTENTS)
            put(v, "%d", v->window[*d - '0']);
        else if (v->fixed[e])
            put(v, "%" PRId64, v->extent[e]);
        else
            put(v, "%s", names[e]);
        put(v, d[1] ? ", " : "]\n");
    }
}

static void put_pixel(struct convolution *v, int axis) {
    put(v, "%d*%s + %d*%s - %d", v->stride[axis], axis ? "q" : "p", v->dilation[axis], axis ? "s" : "r",
        v->padding[axis]);
}

static void put_input(struct convolution *v) {
    const char *channels = v->depthwise ? "c" : v->in_groups ? "g, c" : "c";

    put(v, v->padded ? "pad(X[n, " : "X[n, ");
    if (v->nchw)
        put(v, "%s, ", channels);
    put_pixel(v, 0);
    put(v, ", ");
    put_pixel(v, 1);
    if (!v->nchw)
        put(v, ", %s", channels);
    if (v->padded)
        put(v, "], %d)", v->border);
    else
        put(v, "]");
}

static void put_program(struct convolution *v) {
    struct {
        const char *x, *f, *y, *filter, *output, *sum;
    } form[] = {{"NHWC", "01CO", "NPQO", "r, s, c, o", "n, p, q, o", "r, s, c"},
                {"NCHW", "OC01", "NOPQ", "o, c, r, s", "n, o, p, q", "c, r, s"},
                {"NHWGC", "G01CO", "NPQGO", "g, r, s, c, o", "n, p, q, g, o", "r, s, c"},
                {"NGCHW", "GOC01", "NGOPQ", "g, o, c, r, s", "n, g, o, p, q", "c, r, s"},
                {"NHWC", "01C", "NPQC", "r, s, c", "n, p, q, c", "r, s"},
                {"NCHW", "C01", "NCPQ", "c, r, s", "n, c, p, q", "r, s"}},
      *f = &form[(v->depthwise   ? 4
                  : v->in_groups ? 2
                                 : 0) +
                 v->nchw];

    v->sizes = 0;
    *v->text = 0;
    for (int e = 0; e < EXTENTS; e++)
        if (!v->fixed[e] && (strchr(f->x, *names[e]) || strchr(f->y, *names[e]))) {
            put(v, "size %s\n", names[e]);
            v->size[v->sizes++] = e;
        }
    put_tensor(v, "X", f->x);
    put_tensor(v, "F", f->f);
    put_tensor(v, "Y", f->y);
    put(v, "Y[%s] = sum(%s) ", f->output, f->sum);
    put_input(v);
    put(v, " * F[%s]\n", f->filter);
}

/* What the input's image and the window make of the output's; without padding all of it must be inside. */
static void choose_image(struct convolution *v, int which) {
    static const int most[] = {20, 40, 3, 1};

    for (int a = 0; a < 2; a++) {
        int64_t span = (int64_t)v->dilation[a] * (v->window[a] - 1) + 1, in = below(v, most[which] + 1);

        v->extent[H + a] = v->fixed[H + a] ? v->extent[H + a] : in;
        in = v->extent[H + a] + 2 * v->padding[a];
        if (!v->fixed[P + a])
            v->extent[P + a] = in < span ? 0 : (in - span) / v->stride[a] + 1;
    }
}

static void choose(struct convolution *v) {
    bool constants = below(v, 3) == 0;

    v->nchw = below(v, 2);
    v->depthwise = below(v, 3) == 0;
    v->in_groups = below(v, 4) == 0;
    for (int a = 0; a < 2; a++) {
        v->window[a] = 1 + below(v, 5);
        v->stride[a] = below(v, 2) ? 1 : 1 + below(v, 3);
        v->dilation[a] = 1 + below(v, 4) / 3;
        v->padding[a] = below(v, 3);
    }
    v->border = below(v, 3) ? 0 : below(v, 9) - 4;
    v->padded = v->padding[0] || v->padding[1] || below(v, 2);
    v->extent[N] = 1 + below(v, 2);
    v->extent[G] = 1 + below(v, 4);
    v->extent[C] = 1 + below(v, 40);
    v->extent[O] = 1 + below(v, 40);
    choose_image(v, below(v, 2));
    for (int e = 0; e < EXTENTS; e++)
        v->fixed[e] = constants && below(v, 2);
    for (int a = 0; a < 2; a++) {
        /* A constant image that the window does not fit in is refused. */
        v->fixed[H + a] = v->fixed[H + a] && (v->padded || v->extent[P + a]);
        /* The output follows from the input. */
        v->fixed[P + a] = v->fixed[P + a] && v->fixed[H + a];
    }
    put_program(v);
}

/* ---- data ---- */

static int64_t elements(const struct convolution *v, int tensor) {
    const int64_t *e = v->extent;
    int64_t groups = v->in_groups && !v->depthwise ? e[G] : 1, outputs = v->depthwise ? e[C] : groups * e[O];

    switch (tensor) {
    case 0:
        return e[N] * e[H] * e[W] * groups * e[C];
    case 1:
        return v->window[0] * v->window[1] * e[C] * (v->depthwise ? 1 : outputs);
    default:
        return e[N] * e[P] * e[Q] * outputs;
    }
}

static void run(struct convolution *v, const char *target, struct uk_program *p, const struct uk_module *m) {
    void *data[TENSORS], *expected;
    int64_t sizes[EXTENTS];
    int64_t n = elements(v, 2);

    for (int t = 0; t < TENSORS; t++) {
        float *x = data[t] = malloc(sizeof *x * (size_t)(elements(v, t) + 1));

        assert_non_null(x);
        for (int64_t i = 0; i <= elements(v, t); i++)
            x[i] = t < 2 ? (float)(below(v, 9) - 4) : -77;
    }
    float *y = expected = malloc(sizeof *y * (size_t)(n + 1)), *out = data[2];
    assert_non_null(y);
    for (int i = 0; i < v->sizes; i++)
        sizes[i] = v->extent[v->size[i]];
    int refused = uk_module_call(m, sizes, NULL, data);
    data[2] = expected;
    y[n] = -77;
    if (uk_program_interpret(p, sizes, NULL, data))
        fail_msg("interpreter: %s\n%s", uk_program_status(p) ? "refused" : "", v->text);
    for (int64_t i = 0; i <= n && !refused; i++)
        if (y[i] != out[i])
            refused = -1;
    if (refused)
        fail_msg("seed %" PRIu64 " only: %s: %s, N=%" PRId64 " H=%" PRId64 " W=%" PRId64 " C=%" PRId64
                 " O=%" PRId64 " P=%" PRId64 " Q=%" PRId64 " G=%" PRId64 "\n%s",
                 seed, target, refused < 0 ? "another result" : "refused", v->extent[N], v->extent[H],
                 v->extent[W], v->extent[C], v->extent[O], v->extent[P], v->extent[Q], v->extent[G], v->text);
    free(data[0]);
    free(data[1]);
    free(out);
    free(expected);
}

/* A kernel runs it, or, where there is none and that is said, plain loops do. */
static bool compile(struct uk_context *c, struct uk_program *p, const char *target, struct uk_module **m) {
    struct uk_options options = {.target = target, .require_kernels = true};
    enum uk_status status = uk_compile(p, &options, m);

    if (status == UK_OK)
        return true;
    if (status != UK_NO_MATCH)
        fail_msg("%s", uk_context_message(c));
    print_message("%s: plain loops for %s\n", target, uk_context_message(c));
    options.require_kernels = false;
    if (uk_compile(p, &options, m))
        fail_msg("%s", uk_context_message(c));
    return false;
}

static bool convolve(struct convolution *v, const char *target) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p;
    struct uk_module *m;

    assert_non_null(c);
    if (uk_program_parse(c, "convolution.uk", v->text, strlen(v->text), &p))
        fail_msg("%s\n%s", uk_context_message(c), v->text);
    bool by_kernel = compile(c, p, target, &m);
    for (int i = 0; i < SHAPES; i++) {
        choose_image(v, i);
        for (int e = N; e <= O && i == 1; e += C - N)
            v->extent[e] = v->fixed[e] ? v->extent[e] : below(v, 3);
        run(v, target, p, m);
    }
    uk_module_destroy(m);
    uk_program_destroy(p);
    uk_context_destroy(c);
    return by_kernel;
}

static void random_convolutions(void **state) {
    static const char *const targets[] = {"x86_64-avx512", "x86_64-avx2"};
    int kernels = 0, all = 0;

    (void)state;
    print_message("seed %" PRIu64 "\n", seed);
    for (int i = 0; i < count; i++) {
        struct convolution v = {.x = seed + (uint64_t)i * 1000003};

        choose(&v);
        if (only >= 0 && i != only)
            continue;
        const char *target = uk_cpu_has("avx512dq") ? targets[i % 2] : targets[1];
        if (only >= 0)
            print_message("%s\n", v.text);
        kernels += convolve(&v, target);
        all++;
    }
    print_message("%d convolutions, %d of them by a kernel\n", all, kernels);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_convolutions)};

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 < argc && !strcmp(argv[i], "--seed")) {
            seed = seed_of(argv[i + 1]);
        } else if (i + 1 < argc && !strcmp(argv[i], "--count")) {
            count = atoi(argv[i + 1]);
        } else if (i + 1 < argc && !strcmp(argv[i], "--only")) {
            only = atoi(argv[i + 1]);
        } else {
            fprintf(stderr, "usage: convolutions [--seed N|new] [--count N] [--only N]\n");
            return 2;
        }
    }
    return cmocka_run_group_tests_name("convolutions", tests, NULL, NULL);
}
