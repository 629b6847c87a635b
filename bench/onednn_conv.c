/* SPDX-License-Identifier: Apache-2.0 */
/*
 * oneDNN's convolution, by the direct algorithm: the primitive and its operands are made beforehand, weights
 * in the layout that the primitive prefers. If weights are arguments, each call first brings them from the
 * plain layout into that one, by a reorder that is made beforehand. Images and results are NHWC, or in blocks
 * of as many channels as a vector has; an image of few channels stays in the layout that the primitive
 * prefers.
 *
 * A call's own cost is measured by a convolution of one pixel. A sample's calls are queued, and it ends when
 * the last one has been computed.
 */
#include "onednn.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of dnnl_types.h: format tags, kinds of propagation and algorithms. */
enum { IN_BLOCKS_OF_16 = 78, IN_BLOCKS_OF_8 = 102 };
enum { INFERENCE = 96, DIRECT = 1 };
enum { X, F, Y, SCALE, OPERANDS };

typedef int convolution(void **kind, void *engine, int propagation, int algorithm, const void *source,
                        const void *weights, const void *bias, const void *destination,
                        const int64_t *strides, const int64_t *dilations, const int64_t *before,
                        const int64_t *after, const void *attributes);
typedef int desc_equal(const void *a, const void *b);
typedef int make_attributes(void **attributes);
typedef int set_scales(void *attributes, int argument, int mask);

/* A call's operands: `plain` describes ours, `own` the primitive's. */
struct operands {
    void *plain[3];
    const void *own[3]; /* belong to `kind` */
    void *data[OPERANDS], *memory[OPERANDS];
    void *kind, *primitive, *attributes;
    struct onednn_copy weights; /* made if weights are arguments in another layout than the primitive's */
};

static bool is_grouped(const struct bench_conv_shape *s) {
    return s->groups > 1;
}

/* ---- descriptions ---- */

/* NCHW sizes, with the strides of NHWC. */
static void *image_desc(const struct bench_library *l, int type, int64_t n, int64_t c, int64_t h, int64_t w) {
    int64_t sizes[12] = {n, c, h, w}, strides[12] = {h * w * c, 1, w * c, c};
    void *desc = NULL;
    return ((onednn_desc *)l->function[ONEDNN_DESC])(&desc, 4, sizes, type, strides) ? NULL : desc;
}

static int weight_sizes(const struct bench_conv_shape *s, int64_t sizes[12]) {
    const int64_t grouped[] = {s->groups, s->o / s->groups, s->c / s->groups, s->r, s->s};
    const int skipped = !is_grouped(s);
    memcpy(sizes, grouped + skipped, (size_t)(5 - skipped) * sizeof *sizes);
    return 5 - skipped;
}

static void *weights_desc(const struct bench_library *l, int type, const struct bench_conv_shape *s) {
    const int64_t channels = s->c / s->groups;
    const int64_t grouped[] = {s->o / s->groups, 1, s->o, s->s * channels * s->o, channels * s->o};
    int64_t sizes[12];
    const int dimensions = weight_sizes(s, sizes);
    void *desc = NULL;
    return ((onednn_desc *)l->function[ONEDNN_DESC])(&desc, dimensions, sizes, type, grouped + 5 - dimensions)
               ? NULL
               : desc;
}

/* As `plain`, in blocks of channels or in any layout. */
static void *desc_with_tag(const struct bench_library *l, int type, int dimensions, const int64_t *sizes,
                           int tag) {
    void *desc = NULL;
    return ((onednn_desc_by_tag *)l->function[ONEDNN_DESC_BY_TAG])(&desc, dimensions, sizes, type, tag)
               ? NULL
               : desc;
}

static int block_tag(const struct bench_call *call) {
    return call->convolution->type == BENCH_CONV_U8I8                 ? ONEDNN_ANY
           : strstr(bench_isas[call->library->isa].kernels, "avx512") ? IN_BLOCKS_OF_16
                                                                      : IN_BLOCKS_OF_8;
}

static void free_desc(const struct bench_library *l, void *desc) {
    if (desc)
        ((onednn_destroy *)l->function[ONEDNN_FREE_DESC])(desc);
}

/* ---- the primitive ---- */

/* Scales of the weights per channel of the result. */
static bool add_scales(const struct bench_call *call, struct operands *o) {
    bench_function *const *f = call->library->function;
    const int mask = is_grouped(call->convolution->shape) ? 3 : 1;
    return !((make_attributes *)f[ONEDNN_ATTRIBUTES])(&o->attributes) &&
           !((set_scales *)f[ONEDNN_SET_SCALES])(o->attributes, ONEDNN_WEIGHTS, mask);
}

static bool make_kind(const struct bench_call *call, struct operands *o, void *const wanted[3]) {
    const struct bench_library *l = call->library;
    const struct bench_conv_shape *s = call->convolution->shape;
    const int64_t strides[12] = {s->stride, s->stride}, dilations[12] = {s->dilation - 1, s->dilation - 1},
                  before[12] = {bench_conv_above(s), bench_conv_left(s)};
    /* The windows of the last row and column end there, which may be before the border does. */
    const int64_t after[12] = {
        (bench_conv_rows(s) - 1) * s->stride + s->dilation * (s->r - 1) + 1 - s->h - before[0],
        (bench_conv_columns(s) - 1) * s->stride + s->dilation * (s->s - 1) + 1 - s->w - before[1]};
    if (call->convolution->type == BENCH_CONV_U8I8 && !add_scales(call, o))
        return false;
    return !((convolution *)l->function[ONEDNN_CONVOLUTION])(&o->kind, l->handle[0], INFERENCE, DIRECT,
                                                             wanted[X], wanted[F], NULL, wanted[Y], strides,
                                                             dilations, before, after, o->attributes);
}

static bool make_primitive(const struct bench_call *call, struct operands *o) {
    const struct bench_library *l = call->library;
    const struct bench_convolution *v = call->convolution;
    const struct bench_conv_shape *s = v->shape;
    const bool bytes = v->type == BENCH_CONV_U8I8;
    const int image = bytes ? ONEDNN_U8 : ONEDNN_F32, weight = bytes ? ONEDNN_S8 : ONEDNN_F32;
    const int64_t rows = bench_conv_rows(s), columns = bench_conv_columns(s);
    const int64_t x[12] = {s->n, s->c, s->h, s->w}, y[12] = {s->n, s->o, rows, columns};
    int64_t f[12];
    const int dimensions = weight_sizes(s, f), tag = block_tag(call);
    o->plain[X] = image_desc(l, image, s->n, s->c, s->h, s->w);
    o->plain[F] = weights_desc(l, weight, s);
    o->plain[Y] = image_desc(l, image, s->n, s->o, rows, columns);
    void *wanted[3] = {o->plain[X], desc_with_tag(l, weight, dimensions, f, ONEDNN_ANY), o->plain[Y]};
    if (l->is_blocked) {
        wanted[X] = desc_with_tag(l, image, 4, x, s->c < 16 ? ONEDNN_ANY : tag);
        wanted[Y] = desc_with_tag(l, image, 4, y, tag);
    }
    bool made = o->plain[X] && o->plain[F] && o->plain[Y] && wanted[X] && wanted[F] && wanted[Y] &&
                make_kind(call, o, wanted) && bench_onednn_has_kernel(l, o->kind) &&
                !((onednn_primitive *)l->function[ONEDNN_PRIMITIVE])(&o->primitive, o->kind);
    free_desc(l, wanted[F]);
    if (l->is_blocked) {
        free_desc(l, wanted[X]);
        free_desc(l, wanted[Y]);
    }
    return made;
}

/* ---- operands ---- */

/* Allocates the primitive's operands, and copies image and weights into them. */
static bool fill_operands(const struct bench_call *call, struct operands *o) {
    static const int queries[] = {ONEDNN_QUERY_SOURCE, ONEDNN_QUERY_WEIGHTS, ONEDNN_QUERY_DESTINATION};
    const struct bench_library *l = call->library;
    const struct bench_convolution *v = call->convolution;
    void *const ours[] = {v->x, v->f, v->y};
    for (int i = X; i <= Y; i++) {
        o->own[i] = ((onednn_query_desc *)l->function[ONEDNN_QUERY_DESC])(o->kind, queries[i], 0);
        const size_t bytes = o->own[i] ? ((onednn_desc_size *)l->function[ONEDNN_DESC_SIZE])(o->own[i]) : 0;
        o->data[i] = bytes ? aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : NULL;
        if (!o->data[i] || !bench_onednn_make_memory(l, o->own[i], o->data[i], &o->memory[i]))
            return false;
        memset(o->data[i], 0, bytes);
        if (i != Y && !bench_onednn_copy(l, o->plain[i], ours[i], o->own[i], o->data[i]))
            return false;
    }
    if (l->weights_are_arguments && !((desc_equal *)l->function[ONEDNN_DESC_EQUAL])(o->plain[F], o->own[F]) &&
        !bench_onednn_make_copy(l, &o->weights, o->plain[F], ours[F], o->own[F], o->data[F]))
        return false;
    if (!v->scale)
        return true;
    const int64_t sizes[12] = {v->shape->o}, strides[12] = {1};
    void *desc = NULL;
    const bool made = !((onednn_desc *)l->function[ONEDNN_DESC])(&desc, 1, sizes, ONEDNN_F32, strides) &&
                      bench_onednn_make_memory(l, desc, v->scale, &o->memory[SCALE]);
    free_desc(l, desc);
    return made;
}

static void end_convolution(struct bench_call *call) {
    const struct bench_library *l = call->library;
    bench_function *const *f = l->function;
    struct operands *o = call->state[0];
    for (int i = 0; i < OPERANDS; i++) {
        bench_onednn_free_memory(l, o->memory[i]);
        free(o->data[i]);
        if (i <= Y)
            free_desc(l, o->plain[i]);
    }
    bench_onednn_free_copy(l, &o->weights);
    if (o->primitive)
        ((onednn_destroy *)f[ONEDNN_FREE_PRIMITIVE])(o->primitive);
    if (o->kind)
        ((onednn_destroy *)f[ONEDNN_FREE_KIND])(o->kind);
    if (o->attributes)
        ((onednn_destroy *)f[ONEDNN_FREE_ATTRIBUTES])(o->attributes);
    free(o);
    call->state[0] = NULL;
}

static bool begin_convolution(struct bench_call *call) {
    struct operands *o = call->state[0] = calloc(1, sizeof *o);
    if (!o)
        return false;
    if (make_primitive(call, o) && fill_operands(call, o))
        return true;
    end_convolution(call);
    return false;
}

static void repeat_convolution(struct bench_call *call, long calls) {
    const struct bench_library *l = call->library;
    const struct operands *o = call->state[0];
    const struct onednn_argument arguments[] = {{ONEDNN_SOURCE, o->memory[X]},
                                                {ONEDNN_WEIGHTS, o->memory[F]},
                                                {ONEDNN_DESTINATION, o->memory[Y]},
                                                {ONEDNN_SCALES | ONEDNN_WEIGHTS, o->memory[SCALE]}};
    onednn_execute *run = (onednn_execute *)l->function[ONEDNN_EXECUTE];
    const int count = o->memory[SCALE] ? 4 : 3;
    for (long i = 0; i < calls; i++) {
        if (o->weights.primitive)
            bench_onednn_run_copy(l, &o->weights);
        run(o->primitive, l->handle[1], count, arguments);
    }
    ((onednn_wait *)l->function[ONEDNN_WAIT])(l->handle[1]);
}

static void take_result(struct bench_call *call) {
    const struct operands *o = call->state[0];
    bench_onednn_copy(call->library, o->own[Y], o->data[Y], o->plain[Y], call->convolution->y);
}

/* ---- the library ---- */

/* The least seconds of `calls` calls, of several samples. */
static double least_seconds(struct bench_call *call, long calls) {
    enum { SAMPLES = 30 };
    double (*const clock_now)(void) = call->library->threads > 1 ? bench_seconds : bench_process_seconds;
    double least = 0;
    for (int i = 0; i <= SAMPLES; i++) {
        const double start = clock_now();
        call->library->repeat(call, calls);
        const double seconds = clock_now() - start;
        least = i == 1 || (i && seconds < least) ? seconds : least;
    }
    return least;
}

/* Measures the costs by a convolution that computes next to nothing. */
static void measure_costs(struct bench_library *l) {
    enum { CALLS = 200 };
    const struct bench_conv_shape pixel = {
        .n = 1, .h = 1, .w = 1, .c = 16, .r = 1, .s = 1, .o = 16, .stride = 1, .dilation = 1, .groups = 1};
    struct bench_convolution v;
    if (!bench_convolution_create(&v, &pixel, BENCH_CONV_F32)) {
        struct bench_call call = {.library = l, .convolution = &v};
        if (l->begin(&call)) {
            const double one = least_seconds(&call, 1), all = least_seconds(&call, CALLS);
            l->call_cost = (all - one) / (CALLS - 1);
            l->repeat_cost = one > l->call_cost ? one - l->call_cost : 0;
            l->end(&call);
        }
    }
    bench_convolution_free(&v);
}

void bench_onednn_conv_open(struct bench_library *two, const char *directory, int version,
                            const struct bench_conv_options *how) {
    static char name[BENCH_ONEDNN_VERSIONS][2][32];
    static const char prefix[] = "libdnnl.so.3.";
    char path[4096];
    const bool found = bench_find_nth_library(directory, prefix, version, path, sizeof path);
    struct bench_library l = {.missing = true,
                              .begin = begin_convolution,
                              .repeat = repeat_convolution,
                              .end = end_convolution,
                              .take_result = take_result,
                              .isa = how->isa,
                              .threads = how->threads,
                              .weights_are_arguments = how->weights_are_arguments};
    const char *number = found ? strrchr(path, '/') + sizeof prefix - 2 : version ? "(second)" : "(first)";
    for (int i = 0; i < 2; i++)
        snprintf(name[version][i], sizeof name[version][i], "oneDNN %.12s %s", number,
                 i ? "blocked" : "nhwc");
    l.name = name[version][0];
    if (!found) {
        snprintf(l.detail, sizeof l.detail, "not installed; ./uk-setup peers installs it");
    } else if (bench_onednn_load(&l, directory, path, "")) {
        const size_t used = strlen(l.detail);
        measure_costs(&l);
        snprintf(l.detail + used, sizeof l.detail - used, "%s, %.2f us a call and %.2f us a sample",
                 how->weights_are_arguments ? ", weights reordered in each call" : "", 1e6 * l.call_cost,
                 1e6 * l.repeat_cost);
    }
    two[0] = two[1] = l;
    two[1].name = name[version][1];
    two[1].is_blocked = true;
}
