/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages of bytes: QLinearAveragePool and QLinearGlobalAveragePool of ONNX Runtime (com.microsoft). Inputs:
 * x, scale, zero, y scale, zero.
 *
 * ONNX Runtime sums in f32, in the window's order, and adds the zero point before it rounds. If a mean lies
 * halfway between two bytes, only that order gives the same result. Sums in i32 are several times faster, and
 * give the same result unless a mean is so close to the middle that roundings could move it past. With nine
 * elements and equal scales no mean is; with four or six, as at a border, many are. So the outputs are split
 * into parts with windows of one shape, and each part is summed in the type that suits it.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "layers/bytes/quantized.h"

static const int at_scales[] = {1, 3};

enum uk_status uk_infer_qlinear_pool(struct uk_graph *g, struct uk_graph_node *n) {
    struct uk_quantization scale[2];
    enum uk_status s = uk_byte_scales(g, n, 2, at_scales, scale);

    if (!s && uk_attribute_int(n, "channels_last", 0))
        s = uk_graph_fail(g, UK_REFUSED, n, "channels_last=1 is not supported");
    if (s)
        return s;
    const bool windows = !strcmp(n->type, "QLinearAveragePool");
    double terms = 1;
    if ((s = windows ? uk_infer_pool(g, n) : uk_infer_global_pool(g, n)))
        return s;
    for (int d = 2; d < n->input[0]->rank; d++)
        terms *=
            (double)(windows ? uk_attribute_find(n, "kernel_shape")->ints[d - 2] : n->input[0]->extent[d]);
    return terms > UK_MAX_BYTE_TERMS
               ? uk_graph_fail(g, UK_REFUSED, n, "sums of %g bytes may overflow 32 bits", terms)
               : UK_OK;
}

/* Returns the expression of a result from a sum in i32 of `terms` bytes, averaged over `count`, in a static
 * buffer that later calls reuse. */
static const char *rounded(const struct uk_quantization scale[2], enum uk_type type, const char *sum,
                           double terms, double count) {
    static _Thread_local char text[256];
    const double zeros = (double)uk_zero_at(&scale[0], 0) * terms;
    char less[32] = "";

    if (uk_zero_at(&scale[0], 0))
        snprintf(less, sizeof less, " - (%.0f)", zeros);
    snprintf(text, sizeof text, "%s(round(f32(%s%s) * %s) + (%" PRId64 "))", uk_type_name(type), sum, less,
             uk_number_text(
                 (float)uk_scale_at(&scale[0], 0) / ((float)count * (float)uk_scale_at(&scale[1], 0)), true),
             uk_zero_at(&scale[1], 0));
    return text;
}

/* The number of elements is an integer in the statement: it may depend on open sizes. */
static void write_global_average(struct uk_writer *w, const struct uk_graph_node *n,
                                 const struct uk_quantization scale[2]) {
    static const char *const over[] = {"", "", "", "r0", "r0, r1", "r0, r1, r2"};
    const struct uk_graph_value *x = n->input[0];
    const char *all = uk_iterators(x->rank);
    int64_t terms = 1;

    for (int d = 2; d < x->rank; d++)
        terms *= x->extent[d];
    uk_write_temp_like(w, n, "t", UK_I32);
    uk_write(w, n, "@t[%s] = sum(%s) i32($0[i0, i1, %s])", all, over[x->rank], over[x->rank]);
    uk_write_result(w, n,
                    "%1$s(round(f32(@t[%2$s] - (%3$" PRId64 ") * i32(%4$" PRId64
                    ")) * (%5$s / (f32(%4$" PRId64 ") * %6$s))) + (%7$" PRId64 "))",
                    uk_type_name(x->type), all, uk_zero_at(&scale[0], 0), terms,
                    uk_number_text(uk_scale_at(&scale[0], 0), true),
                    uk_number_text(uk_scale_at(&scale[1], 0), true), uk_zero_at(&scale[1], 0));
}

/* ---- partition of the outputs ---- */

/* Consecutive outputs along one dimension, `size` from `first` on, with the same window: the `taps` elements
 * from number `tap` on are inside the image, and the average is over `count`. */
struct run {
    int64_t first, size, tap, taps, count;
};
enum { MOST_RUNS = 9, MOST_PARTS = 9 };

static struct run run_at(const struct uk_window *p, int d, bool include, int64_t q) {
    const int64_t begin = q * p->stride[d] - p->before[d], step = p->dilation[d];
    const int64_t padded = p->in[d] + p->after[d] - begin, left = p->in[d] - begin;
    struct run r = {.first = q, .size = 1, .tap = begin < 0 ? (-begin + step - 1) / step : 0};
    const int64_t end = left <= 0 ? 0 : (left + step - 1) / step, all = (padded + step - 1) / step;

    r.taps = (end < p->kernel[d] ? end : p->kernel[d]) - r.tap;
    r.count = include ? (all < p->kernel[d] ? all : p->kernel[d]) : r.taps;
    return r;
}

/* Splits a dimension into runs. Returns their number; 0: too many, or a window has no element. */
static int runs_of(const struct uk_window *p, int d, bool include, struct run run[MOST_RUNS]) {
    int runs = 0;

    for (int64_t q = 0; q < p->out[d]; q++) {
        const struct run r = run_at(p, d, include, q);
        if (r.taps < 1)
            return 0;
        if (runs && run[runs - 1].tap == r.tap && run[runs - 1].taps == r.taps &&
            run[runs - 1].count == r.count)
            run[runs - 1].size++;
        else if (runs < MOST_RUNS)
            run[runs++] = r;
        else
            return 0;
    }
    return runs;
}

/* A part of the outputs: its window, without padding, terms per window, and the divisor. */
struct part {
    struct uk_window p;
    int64_t first[UK_WINDOW_DIMENSIONS];
    double terms, count;
};

/* Splits the outputs into parts. Returns their number; 0: too many. */
static int parts_of(const struct uk_window *p, bool include, struct part part[MOST_PARTS]) {
    struct run run[UK_WINDOW_DIMENSIONS][MOST_RUNS];
    int runs[UK_WINDOW_DIMENSIONS], parts = 1;

    for (int d = 0; d < p->dimensions; d++) {
        runs[d] = runs_of(p, d, include, run[d]);
        parts *= runs[d];
    }
    for (int i = 0; i < parts && parts <= MOST_PARTS; i++) {
        part[i] = (struct part){.p = *p, .terms = 1, .count = 1};
        for (int d = p->dimensions - 1, k = i; d >= 0; k /= runs[d--]) {
            const struct run *r = &run[d][k % runs[d]];
            part[i].first[d] = r->first;
            part[i].p.out[d] = r->size;
            part[i].p.kernel[d] = r->taps;
            part[i].p.before[d] = p->before[d] - r->first * p->stride[d] - r->tap * p->dilation[d];
            part[i].terms *= (double)r->taps;
            part[i].count *= (double)r->count;
        }
    }
    return parts <= MOST_PARTS ? parts : 0;
}

/* True if an exact sum suffices: ONNX Runtime's roundings could change the byte for at most one in FEW of all
 * possible sums. Each of its additions in f32 has an error proportional to the largest sum. */
static bool is_sum_enough(const struct uk_quantization scale[2], enum uk_type type, const struct part *part) {
    enum { MOST_TERMS = 1024, FEW = 200 };
    const int64_t zero = uk_zero_at(&scale[0], 0), least = (type == UK_I8 ? -128 : 0) - zero,
                  most = least + 255;
    const double factor = uk_scale_at(&scale[0], 0) / part->count / uk_scale_at(&scale[1], 0);
    const double largest = part->terms * (double)(most > -least ? most : -least) * factor;
    const double error = largest * (part->terms + 4) * FLT_EPSILON / 2;
    int64_t close = 0;

    if (part->terms > MOST_TERMS)
        return false;
    const int64_t from = least * (int64_t)part->terms, to = most * (int64_t)part->terms;
    for (int64_t sum = from; sum <= to; sum++) {
        const double mean = (double)sum * factor;
        close += fabs(mean - floor(mean) - 0.5) <= error;
    }
    return close * FEW <= to - from + 1;
}

/* ---- statements ---- */

/* Writes the sum of the windows in f32, with each term rounded before it is added, as in ONNX Runtime: max()
 * with -FLT_MAX leaves a term as it is, but keeps its product from being fused with the addition. */
static void write_real_sum(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_window *p,
                           const struct uk_quantization scale[2], const char *temp) {
    const bool any = *uk_window_iterators(p), pads = uk_window_pads(p);
    const int64_t zero = uk_zero_at(&scale[0], 0);
    char of_pad[32];

    snprintf(of_pad, sizeof of_pad, ", %" PRId64 ")", zero);
    uk_write(w, n, "@%s[%s] = %s%s%s%s%smax(f32(i32(%s$0[i0, i1%s]%s) - (%" PRId64 ")) * %s, %s)", temp,
             uk_iterators(n->output[0]->rank), any ? "sum(" : "", uk_window_iterators(p),
             any ? " where " : "", uk_window_ranges(p), any ? ") " : "", pads ? "pad(" : "",
             uk_window_subscripts(p), pads ? of_pad : "", zero,
             uk_number_text(uk_scale_at(&scale[0], 0), true), uk_number_text(-FLT_MAX, true));
}

static const char *real_result(const struct uk_graph_node *n, const struct uk_quantization scale[2],
                               const char *sum, const char *count) {
    static _Thread_local char text[256];

    snprintf(text, sizeof text, "%s(round(%s / %s / %s + (%" PRId64 ")))", uk_type_name(n->output[0]->type),
             sum, count, uk_number_text(uk_scale_at(&scale[1], 0), true), uk_zero_at(&scale[1], 0));
    return text;
}

static void write_part(struct uk_writer *w, const struct uk_graph_node *n, const struct part *part,
                       int number, const struct uk_quantization scale[2]) {
    const struct uk_graph_value *y = n->output[0];
    const bool whole = is_sum_enough(scale, y->type, part), any = *uk_window_iterators(&part->p);
    const char *temp = uk_format(&w->g->arena, "t%d", number), *all = uk_iterators(y->rank), *value;
    int64_t extent[UK_RANK];
    char sum[64], count[32], left[128];
    size_t used = (size_t)snprintf(left, sizeof left, "i0, i1");

    if (!temp) {
        w->failed = true;
        return;
    }
    memcpy(extent, y->extent, 2 * sizeof *extent);
    for (int d = 0; d < part->p.dimensions; d++) {
        extent[d + 2] = part->p.out[d];
        used += (size_t)snprintf(left + used, sizeof left - used,
                                 part->first[d] ? ", i%d + %" PRId64 : ", i%d", d + 2, part->first[d]);
    }
    uk_write_temp(w, n, temp, whole ? UK_I32 : UK_F32, y->rank, extent, y->is_laid_out ? y->order : NULL);
    if (whole)
        uk_write(w, n, "@%s[%s] = %s%s%s%s%si32($0[i0, i1%s])", temp, all, any ? "sum(" : "",
                 uk_window_iterators(&part->p), any ? " where " : "", uk_window_ranges(&part->p),
                 any ? ") " : "", uk_window_subscripts(&part->p));
    else
        write_real_sum(w, n, &part->p, scale, temp);
    snprintf(sum, sizeof sum, "@%s[%s]", temp, all);
    snprintf(count, sizeof count, "%.0f", part->count);
    value =
        whole ? rounded(scale, y->type, sum, part->terms, part->count) : real_result(n, scale, sum, count);
    if (!memcmp(extent, y->extent, (size_t)y->rank * sizeof *extent))
        uk_write_result(w, n, "%s", value);
    else
        uk_write(w, n, "part%d: $y[%s] = %s", number, left, value);
}

static enum uk_status write_average(struct uk_writer *w, const struct uk_graph_node *n,
                                    const struct uk_quantization scale[2]) {
    struct part part[MOST_PARTS];
    struct uk_window p;
    char count[96], sum[64];
    enum uk_status s = uk_window_of(w->g, n, NULL, &p);

    if (s)
        return s;
    const int parts = parts_of(&p, uk_attribute_int(n, "count_include_pad", 0), part);
    for (int i = 0; i < parts; i++)
        write_part(w, n, &part[i], i, scale);
    if (parts)
        return UK_OK;
    uk_write_window_count(w, n, &p, UK_F32, count, sizeof count);
    uk_write_temp_like(w, n, "t", UK_F32);
    write_real_sum(w, n, &p, scale, "t");
    snprintf(sum, sizeof sum, "@t[%s]", uk_iterators(n->output[0]->rank));
    uk_write_result(w, n, "%s", real_result(n, scale, sum, count));
    return UK_OK;
}

enum uk_status uk_write_qlinear_pool(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    struct uk_quantization scale[2];
    enum uk_status s = uk_byte_scales(w->g, n, 2, at_scales, scale);

    (void)output;
    if (s)
        return s;
    if (!strcmp(n->type, "QLinearAveragePool"))
        return write_average(w, n, scale);
    write_global_average(w, n, scale);
    return UK_OK;
}
