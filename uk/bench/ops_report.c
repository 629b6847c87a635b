/* SPDX-License-Identifier: Apache-2.0 */
/* The report of uk bench ops: the table, its summary and the JSON. Times are medians, and ratios are those of
 * neighbouring samples. */
#include <stdlib.h>
#include <string.h>
#include "machine/machine.h"
#include "ops.h"

/* ---- the table ---- */

/* The cache that all operands fit into. */
static const char *level_of(double bytes) {
    const struct uk_core *core = &uk_machine()->core;
    return bytes <= (double)core->l1.size ? "L1" : bytes <= (double)core->l2.size ? "L2" : "beyond";
}

static double bytes_of(const struct op_line *l) {
    return bench_op_bytes_in(&l->call) + bench_op_bytes_out(&l->call);
}

static void print_ratio(FILE *table, int width, double ratio) {
    if (ratio > 0)
        fprintf(table, "| %*.3f ", width, ratio);
    else
        fprintf(table, "| %*s ", width, "-");
}

static void print_line(const struct ops_session *s, const struct op_line *l) {
    char text[BENCH_OP_TEXT];
    const struct op_result *r = &l->result;
    if (!s->done)
        fprintf(s->table,
                "| %-16s | type | %-22s | level | %9s | ns an element | copy | x ONNX Runtime | x NumPy |\n"
                "|---|---|---|---|---:|---:|---:|---:|---:|\n",
                "operator", "shape", "ns");
    bench_op_text(&l->shape->shape, text, sizeof text);
    fprintf(s->table, "| %-16s | %-4s | %-22s | %-6s | %9.0f | %13.3f ", l->call.op->name,
            l->call.shape->type, text, level_of(bytes_of(l)), 1e9 * r->ours.seconds,
            1e9 * r->ours.seconds / (double)bench_op_elements(&l->call));
    print_ratio(s->table, 4, r->share);
    print_ratio(s->table, 14, r->x_onnxruntime);
    print_ratio(s->table, 7, r->x_numpy);
    fprintf(s->table, "|\n");
    fflush(s->table);
}

/* ---- the JSON ---- */

static void record(const struct ops_session *s, const struct op_line *l, const struct bench_contender *c,
                   double ours_over_this) {
    char text[BENCH_OP_TEXT], name[2 * BENCH_OP_TEXT];
    if (c->seconds <= 0)
        return;
    bench_op_text(l->call.shape, text, sizeof text);
    snprintf(name, sizeof name, "ops/%s/%s/%s/%s/t%d/%s", l->call.op->name, l->call.shape->type, text,
             bench_isas[s->isa].name, s->threads, c->name);
    cJSON *b = uk_bench_record(s->json, name, c, s->threads);
    cJSON_AddStringToObject(b, "library", c->name);
    cJSON_AddStringToObject(b, "operator", l->call.op->name);
    cJSON_AddStringToObject(b, "type", l->call.shape->type);
    for (int i = 0; i < l->call.shape->count; i++)
        cJSON_AddNumberToObject(b, l->call.shape->size[i].name, (double)l->call.shape->size[i].value);
    cJSON_AddStringToObject(b, "level", level_of(bytes_of(l)));
    cJSON_AddNumberToObject(b, "bytes", bytes_of(l));
    cJSON_AddNumberToObject(b, "elements", (double)bench_op_elements(&l->call));
    cJSON_AddNumberToObject(b, "ours_over_this", ours_over_this);
    if (c == &l->result.ours)
        cJSON_AddStringToObject(b, "kernels", uk_own_operator_kernels(l->own));
}

void uk_bench_keep_op(struct ops_session *s, const struct op_line *l) {
    const struct op_result *r = &l->result;
    const double seconds = r->numpy.seconds;
    const struct bench_contender numpy = {
        .name = "NumPy", .seconds = seconds, .fastest = seconds, .slowest = seconds};
    print_line(s, l);
    record(s, l, &r->ours, 1);
    record(s, l, &r->copy, r->share);
    record(s, l, &r->onnxruntime, r->x_onnxruntime);
    record(s, l, &numpy, r->x_numpy);
    s->result[s->done++] = *r;
}

/* ---- the summary ---- */

/* Prints the ratios of the shapes from `first` to before `end`. */
static void print_ratios(const struct ops_session *s, const char *name, int first, int end, double *ratio) {
    static const char *const names[] = {"copy", "ONNX Runtime", "NumPy"};
    for (int kind = 0; kind < 3; kind++) {
        int count = 0;
        for (int i = first; i < end; i++) {
            const struct op_result *r = &s->result[i];
            const double x[] = {r->share, r->x_onnxruntime, r->x_numpy};
            if (x[kind] > 0)
                ratio[count++] = x[kind];
        }
        uk_bench_print_ratios(s->table, name, names[kind], ratio, count);
    }
}

void uk_bench_print_ops_summary(const struct ops_session *s) {
    double *ratio = calloc((size_t)s->done + 1, sizeof *ratio);
    fprintf(s->table, "\n### summary\n");
    uk_bench_print_ratios_header(s->table);
    for (int i = 0, end; ratio && i < s->done && s->a->sweep; i = end) {
        for (end = i; end < s->done && s->shape[end].op == s->shape[i].op;)
            end++;
        print_ratios(s, s->shape[i].op->name, i, end, ratio);
    }
    if (ratio)
        print_ratios(s, "all", 0, s->done, ratio);
    free(ratio);
}

/* ---- conditions ---- */

void uk_bench_add_ops_context(struct ops_session *s) {
    cJSON *context = cJSON_GetObjectItem(s->json, "context"),
          *peers = cJSON_AddObjectToObject(context, "peers");
    for (int i = 0; i < OPS_PEERS; i++)
        cJSON_AddStringToObject(peers, s->peer[i].name, s->peer[i].detail);
    cJSON_AddStringToObject(context, "isa", bench_isas[s->isa].name);
    cJSON_AddNumberToObject(context, "threads", s->threads);
    if (s->a->sweep)
        cJSON_AddNumberToObject(context, "seed", (double)s->a->seed);
}

void uk_bench_print_ops_conditions(const struct ops_session *s) {
    const cJSON *context = cJSON_GetObjectItem(s->json, "context");
    fprintf(s->table, "%s, %s; ukernels %s, %s, %d thread%s\n\n",
            cJSON_GetStringValue(cJSON_GetObjectItem(context, "cpu")),
            cJSON_GetStringValue(cJSON_GetObjectItem(context, "date")), uk_version(), bench_isas[s->isa].name,
            s->threads, s->threads > 1 ? "s" : "");
    for (int i = 0; i < OPS_PEERS; i++)
        fprintf(s->table, "- %s: %s\n", s->peer[i].name, s->peer[i].detail);
    fprintf(s->table, "\n");
}
