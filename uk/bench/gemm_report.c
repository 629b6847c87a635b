/* SPDX-License-Identifier: Apache-2.0 */
/* The report of uk bench gemm: the table, its summary and the JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "gemm.h"

static const char *form_text(const struct bench_shape *s) {
    static const char *const forms[] = {"NN", "NT", "TN", "TT"};
    return forms[2 * s->a_transposed + s->b_transposed];
}

void uk_bench_shape_text(const struct bench_shape *s, char *text, size_t size) {
    snprintf(text, size, "%lldx%lldx%lld %s%s", (long long)s->m, (long long)s->n, (long long)s->k,
             form_text(s), s->beta != 0 ? "+" : "");
}

/* The first library that has a column of its own: the first peer, or ours after the compared one. */
static int others(const struct gemm_session *s) {
    return bench_elements[s->type].is_packed ? 1 : s->ours;
}

static void print_header(struct gemm_session *s, const struct bench_shape *shape) {
    fprintf(s->table, "\n### %s, %s, %s, %d thread%s%s\n\n", shape->set, bench_elements[s->type].name,
            bench_isas[s->isa].name, s->threads, s->threads > 1 ? "s" : "",
            shape->form == BENCH_RESOLVED ? ", resolved calls" : "");
    fprintf(s->table, "| %-22s | %s | %% of peak | ", "m x n x k",
            bench_is_bytes(s->type) ? "GOP/s" : "GFLOP/s");
    if (bench_elements[s->type].is_packed)
        fprintf(s->table, "us | peak of | %% of bound | ");
    fprintf(s->table, "x best | %-18s ", "best peer");
    for (int i = others(s); i < s->libraries; i++)
        if (!s->library[i].missing && s->library[i].forms[shape->form])
            fprintf(s->table, "| %s ", s->library[i].name);
    fprintf(s->table, "|\n|---|---:|---:%s|---:|---",
            bench_elements[s->type].is_packed ? "|---:|---|---:" : "");
    for (int i = others(s); i < s->libraries; i++)
        if (!s->library[i].missing && s->library[i].forms[shape->form])
            fprintf(s->table, "|---:");
    fprintf(s->table, "|\n");
}

static void print_line(struct gemm_session *s, const struct gemm_line *l) {
    char text[64], name[64 + BENCH_NAME];
    const struct bench_contender *ours = &l->contender[0];
    const double seconds = l->plan.whole_process ? ours->fastest : ours->seconds;
    uk_bench_shape_text(l->shape, text, sizeof text);
    snprintf(name, sizeof name, "%s%s%s", text, *l->shape->label ? " " : "", l->shape->label);
    fprintf(s->table, "| %-22s | %7.1f | %9.1f | ", name, 1e-9 * l->plan.flops / seconds, ours->percent);
    if (l->bound > 0)
        fprintf(s->table, "%.1f | %s | %.1f | ", 1e6 * seconds, l->plan.loop ? l->plan.loop->name : "FMA",
                100 * l->bound / seconds);
    if (l->best.name)
        fprintf(s->table, "%6.3f | %-18s ", l->best.ratio, l->best.name);
    else
        fprintf(s->table, "%6s | %-18s ", "-", "-");
    for (int i = others(s), at = 1; i < s->libraries; i++) {
        const struct bench_library *library = &s->library[i];
        int width = (int)strlen(library->name);
        if (library->missing || !library->forms[l->shape->form])
            continue;
        if (at < l->count && l->call[at].library == library)
            fprintf(s->table, "| %*.3f ", width, l->contender[at++].ratio);
        else
            fprintf(s->table, "| %*s ", width, "-");
    }
    fprintf(s->table, "|\n");
    fflush(s->table);
}

static void record(struct gemm_session *s, const struct gemm_line *l, const struct bench_product *p) {
    const struct bench_shape *shape = l->shape;
    for (int i = 0; i < l->count; i++) {
        const struct bench_contender *c = &l->contender[i];
        char name[256];
        snprintf(name, sizeof name, "gemm/%s/%lldx%lldx%lld/%s%s/%s/%s/t%d/%s", shape->set,
                 (long long)shape->m, (long long)shape->n, (long long)shape->k, form_text(shape),
                 shape->beta != 0 ? "+" : "", bench_elements[s->type].name, bench_isas[s->isa].name,
                 s->threads, c->name);
        cJSON *b = uk_bench_record(s->json, name, c, s->threads);
        cJSON_AddStringToObject(b, "library", c->name);
        cJSON_AddStringToObject(b, "set", shape->set);
        cJSON_AddStringToObject(b, "label", l->call[i].library->detail);
        cJSON_AddNumberToObject(b, "m", (double)shape->m);
        cJSON_AddNumberToObject(b, "n", (double)shape->n);
        cJSON_AddNumberToObject(b, "k", (double)shape->k);
        cJSON_AddNumberToObject(b, "FLOPS", l->plan.flops / c->seconds);
        cJSON_AddNumberToObject(b, "bytes", bench_product_bytes(p));
        cJSON_AddNumberToObject(b, "peak_flops", l->plan.peak);
        cJSON_AddNumberToObject(b, "ours_over_this", c->ratio);
        cJSON_AddNumberToObject(b, "wrong_elements", (double)l->wrong[i]);
        cJSON_AddNumberToObject(b, "compared_elements", (double)l->compared);
        if (l->bound > 0 && !i)
            cJSON_AddNumberToObject(b, "percent_of_bound", 100 * l->bound / c->fastest);
        if (l->bound > 0 && !i)
            cJSON_AddStringToObject(b, "kernels", uk_bench_own_kernels(&l->call[i]));
        cJSON_AddNumberToObject(b, "ours_over_this_low", c->ratio_low);
        cJSON_AddNumberToObject(b, "ours_over_this_high", c->ratio_high);
        if (l->best.name && !strcmp(c->name, l->best.name))
            cJSON_AddNumberToObject(b, "ours_over_best", l->best.ratio);
    }
}

static struct gemm_set *summary_of(struct gemm_session *s, const struct bench_shape *shape) {
    if (!s->sets || strcmp(s->set[s->sets - 1].name, shape->set)) {
        struct gemm_set *new = &s->set[s->sets++];
        *new = (struct gemm_set){.form = shape->form, .start = s->done};
        memcpy(new->name, shape->set, sizeof new->name);
        print_header(s, shape);
    }
    return &s->set[s->sets - 1];
}

static void sum_up(struct gemm_session *s, const struct gemm_line *l) {
    struct gemm_set *set = summary_of(s, l->shape);
    const struct bench_contender *best = &l->best;
    set->shapes++;
    set->percent += l->contender[0].percent;
    if (!best->name)
        return;
    set->log_ratio += log(best->ratio);
    s->ratios[set->start + set->compared++] = best->ratio;
    set->losses += best->ratio < 0.97;
    if (!set->worst_peer || best->ratio < set->worst) {
        set->worst = best->ratio;
        set->worst_peer = best->name;
        uk_bench_shape_text(l->shape, set->worst_shape, sizeof set->worst_shape);
    }
}

/* Keeps what the comparison of each library needs. */
static void keep_libraries(struct gemm_session *s, const struct gemm_line *l) {
    for (int i = 0; i < l->count; i++) {
        const int library = (int)(l->call[i].library - s->library);
        s->seconds[s->done][library] = l->contender[i].fastest;
        s->errors[library].shapes += l->wrong[i] > 0;
        s->errors[library].wrong += l->wrong[i];
        s->errors[library].compared += l->compared;
    }
}

void uk_bench_keep_line(struct gemm_session *s, const struct gemm_line *l, const struct bench_product *p) {
    sum_up(s, l);
    keep_libraries(s, l);
    s->peaks[s->done++] = l->plan.peak;
    print_line(s, l);
    record(s, l, p);
}

/* Prints the speed of one of ours relative to a library, or to the fastest of all peers (`library` 0). */
static void print_ratios(const struct gemm_session *s, const struct gemm_set *set, int ours, int library,
                         double *ratio) {
    const int first = library ? library : s->ours, end = library ? library + 1 : s->libraries;
    char text[2 * BENCH_NAME + 8];
    int count = 0;
    for (int shape = set->start; shape < set->start + set->shapes; shape++) {
        const double *seconds = s->seconds[shape];
        double least = 0;
        for (int i = first; i < end; i++)
            if (seconds[i] > 0 && (least <= 0 || seconds[i] < least))
                least = seconds[i];
        if (least > 0 && seconds[ours] > 0)
            ratio[count++] = least / seconds[ours];
    }
    snprintf(text, sizeof text, "%s / %s", s->library[ours].name,
             library ? s->library[library].name : "best peer");
    uk_bench_print_ratios(s->table, set->name, text, ratio, count);
}

/* Prints the speed of the program and of the function relative to each peer, and how many elements of each
 * peer's results are wrong. */
static void print_libraries(const struct gemm_session *s) {
    const int own[] = {0, 2}; /* in uk_bench_own_packed() */
    double *ratio = calloc((size_t)s->done + 1, sizeof *ratio);
    uk_bench_print_ratios_header(s->table);
    for (int set = 0; ratio && set < s->sets; set++)
        for (int i = 0; i < 2; i++) {
            print_ratios(s, &s->set[set], own[i], 0, ratio);
            for (int library = s->ours; library < s->libraries; library++)
                print_ratios(s, &s->set[set], own[i], library, ratio);
        }
    free(ratio);
    fprintf(s->table, "\n");
    for (int i = 0; i < s->libraries; i++)
        if (s->errors[i].wrong)
            fprintf(s->table, "%s: wrong in %d shape%s, %.1f %% of all compared elements\n",
                    s->library[i].name, s->errors[i].shapes, s->errors[i].shapes > 1 ? "s" : "",
                    100 * (double)s->errors[i].wrong / (double)s->errors[i].compared);
}

void uk_bench_print_summary(struct gemm_session *s) {
    fprintf(s->table, "\n### summary\n\n| set | shapes | mean %% of peak | geometric mean x best peer | "
                      "below 0.97 | median | "
                      "lowest 5 %% | worst |\n|---|---:|---:|---:|---:|---:|---:|---|\n");
    for (int i = 0; i < s->sets; i++) {
        const struct gemm_set *set = &s->set[i];
        fprintf(s->table, "| %s | %d | %.1f | ", set->name, set->shapes, set->percent / set->shapes);
        double *ratios = s->ratios + set->start;
        const double median = bench_median(ratios, set->compared);
        if (set->worst_peer)
            fprintf(s->table, "%.3f | %d | %.3f | %.3f | %.3f: %s, %s |\n",
                    exp(set->log_ratio / set->compared), set->losses, median,
                    ratios[(set->compared + 19) / 20 - 1], set->worst, set->worst_shape, set->worst_peer);
        else
            fprintf(s->table, "- | - | - | - | - |\n");
    }
    if (bench_elements[s->type].is_packed)
        print_libraries(s);
    fprintf(s->table, "\nPeak, measured between the samples: %.1f %s, the median of the shapes.\n",
            1e-9 * s->peak, bench_is_bytes(s->type) ? "GOP/s" : "GFLOP/s");
}

void uk_bench_add_context(struct gemm_session *s) {
    cJSON *context = cJSON_GetObjectItem(s->json, "context"),
          *peers = cJSON_AddObjectToObject(context, "peers");
    for (int i = others(s); i < s->libraries; i++)
        cJSON_AddStringToObject(peers, s->library[i].name, s->library[i].detail);
    cJSON_AddStringToObject(context, "isa", bench_isas[s->isa].name);
    cJSON_AddNumberToObject(context, "threads", s->threads);
    if (s->a->sweep)
        cJSON_AddNumberToObject(context, "seed", (double)s->a->seed);
    cJSON_AddNumberToObject(context, "bandwidth_bytes_per_second", s->bandwidth);
    cJSON_AddNumberToObject(context, "l1_bytes_per_second", s->l1);
    cJSON_AddNumberToObject(context, "l2_bytes_per_second", s->l2);
}

void uk_bench_print_conditions(struct gemm_session *s) {
    const cJSON *context = cJSON_GetObjectItem(s->json, "context");
    fprintf(s->table, "%s, %s; %s, one thread reads L1 at %.0f, L2 at %.0f, memory at %.0f GB/s\n\n",
            cJSON_GetStringValue(cJSON_GetObjectItem(context, "cpu")),
            cJSON_GetStringValue(cJSON_GetObjectItem(context, "date")), s->library[0].detail, 1e-9 * s->l1,
            1e-9 * s->l2, 1e-9 * s->bandwidth);
    for (int i = others(s); i < s->libraries; i++)
        fprintf(s->table, "- %s: %s\n", s->library[i].name, s->library[i].detail);
}
