/* SPDX-License-Identifier: Apache-2.0 */
/* The report of uk bench conv: the table, its summary and the JSON. Times are those of the fastest samples,
 * which other processes of a busy machine disturbed least; shares of the peak are medians. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "conv.h"

static const char *type_text(const struct conv_session *s) {
    return s->how.type == BENCH_CONV_F32 ? "f32" : "u8i8";
}

/* ---- results of a shape ---- */

/* Seconds that a call took besides computing, as far as that is known. */
static double cost_of(const struct conv_line *l, int i) {
    const struct bench_library *library = l->call[i].library;
    const long calls = l->contender[i].calls;
    return library->call_cost + library->repeat_cost / (double)(calls > 0 ? calls : 1);
}

/* Seconds of a call of the contender; `without`: without that cost. */
static double seconds_of(const struct conv_line *l, int i, bool without) {
    const double seconds = l->contender[i].fastest - (without ? cost_of(l, i) : 0);
    return seconds > 0 ? seconds : 0;
}

/* The fastest peer; 0: there is none. */
static int best_of(const struct conv_line *l, bool without) {
    int best = 0;
    for (int i = CONV_OURS; i < CONV_OURS + l->peers; i++)
        if (!best || seconds_of(l, i, without) < seconds_of(l, best, without))
            best = i;
    return best;
}

static double ratio_of(const struct conv_line *l, int i, bool without) {
    return i ? seconds_of(l, i, without) / l->contender[0].fastest : 0;
}

static struct conv_result result_of(const struct conv_line *l) {
    return (struct conv_result){
        .percent = l->contender[0].percent,
        .x = ratio_of(l, best_of(l, false), false),
        .x_without = ratio_of(l, best_of(l, true), true),
        .x_called = l->has_called ? ratio_of(l, CONV_OURS + l->peers, false) : 0,
        .x_copy = l->has_copy ? ratio_of(l, CONV_OURS + l->peers + l->has_called, false) : 0,
        .x_plain = l->has_plain ? l->contender[l->count - 1].ratio : 0};
}

/* ---- the table ---- */

static void print_header(const struct conv_session *s, const struct bench_conv_shape *shape) {
    fprintf(s->table, "\n### %s, %s, %s, %d thread%s\n\n", shape->set, type_text(s),
            bench_isas[s->how.isa].name, s->how.threads, s->how.threads > 1 ? "s" : "");
    fprintf(s->table, "| %-28s | us | GOP/s | %% of %speak | x best | without calls | %-20s ", "shape",
            s->how.type == BENCH_CONV_F32 ? "" : "f32 ", "best peer");
    for (int i = CONV_OURS; i < CONV_LIBRARIES; i++)
        if (!s->library[i].missing)
            fprintf(s->table, "| %s ", s->library[i].name);
    fprintf(s->table, "|\n|---|---:|---:|---:|---:|---:|---");
    for (int i = CONV_OURS; i < CONV_LIBRARIES; i++)
        if (!s->library[i].missing)
            fprintf(s->table, "|---:");
    fprintf(s->table, "|\n");
}

static void print_ratio(FILE *table, int width, double ratio) {
    if (ratio > 0)
        fprintf(table, "| %*.3f ", width, ratio);
    else
        fprintf(table, "| %*s ", width, "-");
}

static void print_line(const struct conv_session *s, const struct conv_line *l) {
    char text[BENCH_CONV_TEXT + BENCH_CONV_NAME + 1];
    const struct bench_contender *ours = &l->contender[0];
    const struct conv_result r = result_of(l);
    bench_conv_text(l->shape, text, sizeof text);
    if (*l->shape->label) {
        strcat(text, " ");
        strcat(text, l->shape->label);
    }
    fprintf(s->table, "| %-28s | %.1f | %.1f | %.1f ", text, 1e6 * ours->fastest,
            1e-9 * l->flops / ours->fastest, ours->percent);
    print_ratio(s->table, 6, r.x);
    print_ratio(s->table, 13, r.x_without);
    fprintf(s->table, "| %-20s ", r.x > 0 ? l->contender[best_of(l, false)].name : "-");
    for (int i = CONV_OURS, at = 1; i < CONV_LIBRARIES; i++) {
        const struct bench_library *library = &s->library[i];
        if (library->missing)
            continue;
        const bool measured = at < l->count && l->call[at].library == library;
        print_ratio(s->table, (int)strlen(library->name), measured ? ratio_of(l, at, false) : 0);
        at += measured;
    }
    fprintf(s->table, "|\n");
    fflush(s->table);
}

/* ---- the JSON ---- */

static void add_sizes(cJSON *b, const struct bench_conv_shape *s) {
    const struct {
        const char *name;
        int64_t value;
    } sizes[] = {{"n", s->n},          {"h", s->h},           {"w", s->w},
                 {"c", s->c},          {"r", s->r},           {"s", s->s},
                 {"o", s->o},          {"stride", s->stride}, {"dilation", s->dilation},
                 {"groups", s->groups}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        cJSON_AddNumberToObject(b, sizes[i].name, (double)sizes[i].value);
}

/* Bytes that a call reads and writes at least. */
static double bytes_of(const struct bench_convolution *v) {
    return (double)v->x_bytes + (double)v->f_bytes + (double)v->y_bytes;
}

static void record(struct conv_session *s, const struct conv_line *l) {
    char text[BENCH_CONV_TEXT];
    bench_conv_text(l->shape, text, sizeof text);
    for (int i = 0; i < l->count; i++) {
        const struct bench_contender *c = &l->contender[i];
        char name[256];
        snprintf(name, sizeof name, "conv/%s/%s/%s/%s/t%d/%s", l->shape->set, text, type_text(s),
                 bench_isas[s->how.isa].name, s->how.threads, c->name);
        cJSON *b = uk_bench_record(s->json, name, c, s->how.threads);
        cJSON_AddStringToObject(b, "library", c->name);
        cJSON_AddStringToObject(b, "set", l->shape->set);
        cJSON_AddStringToObject(b, "label", l->call[i].library->detail);
        add_sizes(b, l->shape);
        cJSON_AddNumberToObject(b, "FLOPS", l->flops / c->seconds);
        cJSON_AddNumberToObject(b, "bytes", bytes_of(l->call[i].convolution));
        cJSON_AddNumberToObject(b, "peak_flops", l->plan.peak);
        cJSON_AddNumberToObject(b, "call_cost", 1e9 * cost_of(l, i));
        cJSON_AddNumberToObject(b, "ours_over_this", i ? ratio_of(l, i, false) : 1);
        cJSON_AddNumberToObject(b, "ours_over_this_without_calls", i ? ratio_of(l, i, true) : 1);
        if (!i)
            cJSON_AddStringToObject(b, "kernels", uk_bench_own_kernels(&l->call[i]));
    }
}

void uk_bench_keep_conv(struct conv_session *s, const struct conv_line *l) {
    if (!s->done || strcmp(l->shape->set, s->shapes.shape[s->done - 1].set))
        print_header(s, l->shape);
    s->peaks[s->done] = l->plan.peak;
    s->result[s->done++] = result_of(l);
    print_line(s, l);
    record(s, l);
}

/* ---- the summary ---- */

/* Prints the rows of the set that begins at `first`. Returns its end. */
static int print_set(const struct conv_session *s, int first, double *ratio) {
    static const char *const names[] = {"best peer", "best peer, without calls", "called", "copy",
                                        "plain loops"};
    const char *set = s->shapes.shape[first].set;
    int end = first;
    while (end < s->done && !strcmp(s->shapes.shape[end].set, set))
        end++;
    for (int kind = 0; kind < 5; kind++) {
        int count = 0;
        for (int i = first; i < end; i++) {
            const struct conv_result *r = &s->result[i];
            const double of[] = {r->x, r->x_without, r->x_called, r->x_copy, r->x_plain}, x = of[kind];
            /* Without the cost of a call nothing may remain of a time, but there is a peer. */
            if (kind > 1 ? x > 0 : r->x > 0)
                ratio[count++] = x;
        }
        uk_bench_print_ratios(s->table, set, names[kind], ratio, count);
    }
    return end;
}

static void print_percents(const struct conv_session *s) {
    for (int i = 0; i < s->done;) {
        const char *set = s->shapes.shape[i].set;
        double percent = 0;
        int count = 0;
        for (; i < s->done && !strcmp(s->shapes.shape[i].set, set); i++, count++)
            percent += s->result[i].percent;
        fprintf(s->table, "%s: %d shape%s, mean %.1f %% of the %speak\n", set, count, count > 1 ? "s" : "",
                percent / count, s->how.type == BENCH_CONV_F32 ? "" : "f32 ");
    }
}

void uk_bench_print_conv_summary(const struct conv_session *s) {
    double *ratio = calloc((size_t)s->done + 1, sizeof *ratio);
    fprintf(s->table, "\n### summary\n");
    uk_bench_print_ratios_header(s->table);
    for (int i = 0; ratio && i < s->done;)
        i = print_set(s, i, ratio);
    free(ratio);
    fprintf(s->table, "\n");
    print_percents(s);
    fprintf(s->table, "Peak, measured between the samples: %.1f GFLOP/s, the median of the shapes.\n",
            1e-9 * s->peak);
}

/* ---- conditions ---- */

void uk_bench_add_conv_context(struct conv_session *s) {
    cJSON *context = cJSON_GetObjectItem(s->json, "context"),
          *peers = cJSON_AddObjectToObject(context, "peers");
    for (int i = CONV_OURS; i < CONV_LIBRARIES; i++)
        cJSON_AddStringToObject(peers, s->library[i].name, s->library[i].detail);
    cJSON_AddStringToObject(context, "isa", bench_isas[s->how.isa].name);
    cJSON_AddNumberToObject(context, "threads", s->how.threads);
    cJSON_AddStringToObject(context, "weights", s->how.weights_are_arguments ? "argument" : "constant");
    if (s->a->sweep)
        cJSON_AddNumberToObject(context, "seed", (double)s->a->seed);
}

void uk_bench_print_conv_conditions(const struct conv_session *s) {
    const cJSON *context = cJSON_GetObjectItem(s->json, "context");
    fprintf(s->table, "%s, %s; %s\n\n", cJSON_GetStringValue(cJSON_GetObjectItem(context, "cpu")),
            cJSON_GetStringValue(cJSON_GetObjectItem(context, "date")), s->library[0].detail);
    for (int i = CONV_OURS; i < CONV_LIBRARIES; i++)
        fprintf(s->table, "- %s: %s\n", s->library[i].name, s->library[i].detail);
}
