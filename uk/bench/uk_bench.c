/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench: every kernel alone: on operands in the cache, beside the peak of its instruction set; or, where an element is
 * used once, on a matrix beyond the caches, beside a loop that only moves as many bytes. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emulate/emulate.h"
#include "kernels.h"
#include "registry/operation.h"
#include "uk_bench.h"

/* The panels lie in the first two levels of cache, and the loop is so long that little but its speed counts.
 */
enum { K = 512, LD = K + 16 };
/* The matrix of those that read every element once, in bytes, and half of it; and its columns. */
enum { WIDTH = 4096, MATRIX = 64 << 20, VECTOR = MATRIX / 2 };

struct operands {
    const struct uk_kernel *kernel;
    uk_function *function; /* what a row says, read beforehand */
    int mr, nr, kr;
    void *a, *b, *c;
    int64_t ldc;
};

#define real float
#define RUN(op) run_s##op
#define FUNCTION(op) uk_s##op##_function
#include "uk_bench_real.h"
#undef real
#undef RUN
#undef FUNCTION
#define real double
#define RUN(op) run_d##op
#define FUNCTION(op) uk_d##op##_function
#include "uk_bench_real.h"

/* The same few rows for all k: they stay in the first cache. sdw_r has the same parameters. */
static void run_sdw(void *user) {
    const struct operands *o = user;
    ((uk_sdw_function *)o->function)(K, o->a, o->nr, 0, o->b, 0, o->c, o->ldc, 1, o->mr, o->nr);
}

/* A window over rows that stay in the first cache. All have the same parameters but for the type of x. */
static void run_u8dw(void *user) {
    const struct operands *o = user;
    const int64_t step = uk_kernel_operation(o->kernel)->stride;
    ((uk_u8dw3_function *)o->function)((const uint8_t *)o->a, step * LD, LD, (const int8_t *)o->b, 5, 1,
                                       (int32_t *)o->c, o->ldc, 1, o->mr, o->nr);
}

static void run_i8dw(void *user) {
    const struct operands *o = user;
    const int64_t step = uk_kernel_operation(o->kernel)->stride;
    ((uk_i8dw3_function *)o->function)((const int8_t *)o->a, step * LD, LD, (const int8_t *)o->b, 5, 1,
                                       (int32_t *)o->c, o->ldc, 1, o->mr, o->nr);
}

/* 3 x 3 windows over neighbouring pixels of rows that stay in the first cache. */
static void run_u8dwc(void *user) {
    const struct operands *o = user;
    ((uk_u8dwc_function *)o->function)(3, 3, (const uint8_t *)o->a, o->nr, LD, o->nr, (const int8_t *)o->b,
                                       3 * o->nr, o->nr, (int32_t *)o->c, o->ldc, 0, o->mr, o->nr);
}

static void run_i8dwc(void *user) {
    const struct operands *o = user;
    ((uk_i8dwc_function *)o->function)(3, 3, (const int8_t *)o->a, o->nr, LD, o->nr, (const int8_t *)o->b,
                                       3 * o->nr, o->nr, (int32_t *)o->c, o->ldc, 0, o->mr, o->nr);
}

static void run_spack_s(void *user) {
    const struct operands *o = user;
    ((uk_spack_s_function *)o->function)(K, o->a, 1, LD, o->b, o->nr);
}

/* Panels of groups, whatever their types. */
#define RUN_GROUPS(op)                                                                     \
    static void run_##op(void *user) {                                                     \
        const struct operands *o = user;                                                   \
        ((uk_##op##_function *)o->function)(K, o->a, o->b, o->c, o->ldc, 1, o->mr, o->nr); \
    }
RUN_GROUPS(igemm)
RUN_GROUPS(i8gemm)
RUN_GROUPS(u8gemm)
RUN_GROUPS(bgemm)
RUN_GROUPS(hgemm)
#undef RUN_GROUPS
#define RUN_GROUPS_RA(op)                                                                      \
    static void run_##op(void *user) {                                                         \
        const struct operands *o = user;                                                       \
        ((uk_##op##_function *)o->function)(K, o->a, LD, o->b, o->c, o->ldc, 1, o->mr, o->nr); \
    }
RUN_GROUPS_RA(igemm_ra)
RUN_GROUPS_RA(i8gemm_ra)
RUN_GROUPS_RA(u8gemm_ra)
RUN_GROUPS_RA(bgemm_ra)
#undef RUN_GROUPS_RA
/* All of K in 4 runs. */
#define RUN_GROUPS_RUNS(op)                                                                                 \
    static void run_##op(void *user) {                                                                      \
        const struct operands *o = user;                                                                    \
        ((uk_##op##_function *)o->function)(4, K / 4, o->a, LD, K / 4, o->b, o->nr * (K / 4), o->c, o->ldc, \
                                            1, o->mr, o->nr);                                               \
    }
RUN_GROUPS_RUNS(igemm_runs)
RUN_GROUPS_RUNS(i8gemm_runs)
RUN_GROUPS_RUNS(u8gemm_runs)
#undef RUN_GROUPS_RUNS

static void run_hpack(void *user) {
    const struct operands *o = user;
    ((uk_hpack_t_function *)o->function)(
        K, o->a, LD, o->b, uk_kernel_operation(o->kernel)->form == UK_OP_PACK_T ? o->mr : o->nr);
}

/* A group of each of 64 rows or columns. */
enum { GROUPS = 64 };
static void run_u8pack_t(void *user) {
    const struct operands *o = user;
    ((uk_u8pack_t_function *)o->function)(o->kr, (const uint8_t *)o->a, LD, (uint8_t *)o->b, GROUPS, GROUPS);
}

static void run_i8pack_t(void *user) {
    const struct operands *o = user;
    ((uk_i8pack_t_function *)o->function)(o->kr, (const int8_t *)o->a, LD, (int8_t *)o->b, GROUPS, GROUPS);
}

/* A panel of K / 8 groups of 8 rows or columns; bytes of either sign. */
static void run_u8panel(void *user) {
    const struct operands *o = user;
    ((uk_u8panel_t_function *)o->function)(K, (const uint8_t *)o->a, LD, (uint8_t *)o->b, 64, 8, 8, K / 8);
}

static void run_i8panel(void *user) {
    const struct operands *o = user;
    ((uk_i8panel_t_function *)o->function)(K, (const int8_t *)o->a, LD, (int8_t *)o->b, 64, 8, 8, K / 8);
}

static void run_bpack(void *user) {
    const struct operands *o = user;
    ((uk_bpack_t_function *)o->function)(o->kr, o->a, LD, o->b, GROUPS, GROUPS);
}

/* Rows that are longer than a block. */
static void run_u8transpose(void *user) {
    const struct operands *o = user;
    ((uk_u8transpose_function *)o->function)(K, (const uint8_t *)o->a, LD, (uint8_t *)o->b, o->mr, o->mr);
}

static void run_i8transpose(void *user) {
    const struct operands *o = user;
    ((uk_i8transpose_function *)o->function)(K, (const int8_t *)o->a, LD, (int8_t *)o->b, o->mr, o->mr);
}

/* 3 x 3 windows of a pixel. */
#define RUN_WINDOW(op, element, result)                                                                 \
    static void run_##op(void *user) {                                                                  \
        const struct operands *o = user;                                                                \
        ((uk_##op##_function *)o->function)(3, 3, (const element *)o->a, LD, LD, o->nr, (result *)o->c, \
                                            o->ldc, 0, o->mr, o->nr);                                   \
    }
RUN_WINDOW(u8max, uint8_t, uint8_t)
RUN_WINDOW(i8max, int8_t, int8_t)
RUN_WINDOW(u8sum, uint8_t, int32_t)
RUN_WINDOW(i8sum, int8_t, int32_t)
#undef RUN_WINDOW

static void run_vadd(void *user) {
    const struct operands *o = user;
    ((uk_vadd_function *)o->function)(o->a, o->b, o->c, o->nr);
}

static void run_i32add(void *user) {
    const struct operands *o = user;
    ((uk_i32add_function *)o->function)((const int32_t *)o->a, (const int32_t *)o->b, (int32_t *)o->c, o->nr);
}

/* How an operation is called, and what one call computes or moves. */
static const struct operation {
    const char *name;
    void (*run)(void *);
    enum { MULTIPLIES, COPIES, STREAMS } kind; /* MULTIPLIES: 2 MR NR K operations */
    int rows, columns, k;                      /* COPIES: bytes read and written: (rows MR + columns NR) k */
    bool stores;                               /* STREAMS: the matrix; and its second half is written */
    bool f64;                                  /* doubles, not floats */
    int rate; /* of other types: how many of their products an instruction makes where it makes one of floats */
} operations[] = {
    {"sgemm", run_sgemm, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sgemm_ra", run_sgemm_ra, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sgemm_rab", run_sgemm_rab, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sgemm_small", run_sgemm_small, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sgemm_small_ta", run_sgemm_small_ta, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sgemm_nt", run_sgemm_nt, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sgemm_rap", run_sgemm_rap, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sgemm_sab", run_sgemm_sab, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sdw_r", run_sdw, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"sdw", run_sdw, MULTIPLIES, 0, 0, 0, false, false, 0},
    {"u8dw3", run_u8dw, COPIES, 0, 4, 1, false, false, 0},
    {"u8dw3_s2", run_u8dw, COPIES, 0, 4, 1, false, false, 0},
    {"u8dw5", run_u8dw, COPIES, 0, 4, 1, false, false, 0},
    {"u8dw5_s2", run_u8dw, COPIES, 0, 4, 1, false, false, 0},
    {"i8dw3", run_i8dw, COPIES, 0, 4, 1, false, false, 0},
    {"i8dw3_s2", run_i8dw, COPIES, 0, 4, 1, false, false, 0},
    {"i8dw5", run_i8dw, COPIES, 0, 4, 1, false, false, 0},
    {"i8dw5_s2", run_i8dw, COPIES, 0, 4, 1, false, false, 0},
    {"u8dwc", run_u8dwc, COPIES, 0, 7, 1, false, false, 0},
    {"i8dwc", run_i8dwc, COPIES, 0, 7, 1, false, false, 0},
    {"igemm", run_igemm, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"igemm_ra", run_igemm_ra, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"igemm_runs", run_igemm_runs, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"i8gemm", run_i8gemm, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"i8gemm_ra", run_i8gemm_ra, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"i8gemm_runs", run_i8gemm_runs, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"u8gemm", run_u8gemm, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"u8gemm_ra", run_u8gemm_ra, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"u8gemm_runs", run_u8gemm_runs, MULTIPLIES, 0, 0, 0, false, false, 4},
    {"bgemm", run_bgemm, MULTIPLIES, 0, 0, 0, false, false, 2},
    {"bgemm_ra", run_bgemm_ra, MULTIPLIES, 0, 0, 0, false, false, 2},
    {"hgemm", run_hgemm, MULTIPLIES, 0, 0, 0, false, false, 2},
    {"hpack_t", run_hpack, COPIES, 4, 0, K, false, false, 0},
    {"hpack_n", run_hpack, COPIES, 0, 4, K, false, false, 0},
    {"bpack_t", run_bpack, COPIES, 0, 4 * GROUPS, 1, false, false, 0},
    {"bpack_n", run_bpack, COPIES, 4 * GROUPS, 0, 1, false, false, 0},
    {"spack_s", run_spack_s, COPIES, 0, 8, K, false, false, 0},
    {"spack_t", run_spack_t, COPIES, 8, 0, K, false, false, 0},
    {"stranspose", run_stranspose, COPIES, 8, 0, K, false, false, 0},
    {"spack_n", run_spack_n, COPIES, 0, 8, K, false, false, 0},
    {"u8pack_t", run_u8pack_t, COPIES, 0, 2 * GROUPS, 1, false, false, 0},
    {"i8pack_t", run_i8pack_t, COPIES, 0, 2 * GROUPS, 1, false, false, 0},
    {"u8pack_n", run_u8pack_t, COPIES, 2 * GROUPS, 0, 1, false, false, 0}, /* the same parameters */
    {"i8pack_n", run_i8pack_t, COPIES, 2 * GROUPS, 0, 1, false, false, 0},
    {"u8panel_t", run_u8panel, COPIES, 0, 2, K, false, false, 0},
    {"i8panel_t", run_i8panel, COPIES, 0, 2, K, false, false, 0},
    {"u8panel_n", run_u8panel, COPIES, 2, 0, K, false, false, 0},
    {"i8panel_n", run_i8panel, COPIES, 2, 0, K, false, false, 0},
    {"u8transpose", run_u8transpose, COPIES, 2, 0, K, false, false, 0},
    {"i8transpose", run_i8transpose, COPIES, 2, 0, K, false, false, 0},
    {"u8max", run_u8max, COPIES, 0, 10, 1, false, false, 0},
    {"i8max", run_i8max, COPIES, 0, 10, 1, false, false, 0},
    {"u8sum", run_u8sum, COPIES, 0, 13, 1, false, false, 0},
    {"i8sum", run_i8sum, COPIES, 0, 13, 1, false, false, 0},
    {"vadd", run_vadd, COPIES, 0, 12, 1, false, false, 0},
    {"i32add", run_i32add, COPIES, 0, 12, 1, false, false, 0},
    {"i32kadd", run_i32add, COPIES, 0, 12, 1, false, false, 0}, /* the same parameters */
    {"sdot", run_sdot, STREAMS, 0, 0, 0, false, false, 0},
    {"saxpy", run_saxpy, STREAMS, 0, 0, 0, true, false, 0},
    {"sgemv_n", run_sgemv_n, STREAMS, 0, 0, 0, false, false, 0},
    {"sgemv_t", run_sgemv_t, STREAMS, 0, 0, 0, false, false, 0},
    {"dgemm", run_dgemm, MULTIPLIES, 0, 0, 0, false, true, 0},
    {"dgemm_ra", run_dgemm_ra, MULTIPLIES, 0, 0, 0, false, true, 0},
    {"dgemm_rab", run_dgemm_rab, MULTIPLIES, 0, 0, 0, false, true, 0},
    {"dgemm_rap", run_dgemm_rap, MULTIPLIES, 0, 0, 0, false, true, 0},
    {"dgemm_sab", run_dgemm_sab, MULTIPLIES, 0, 0, 0, false, true, 0},
    {"dgemm_small", run_dgemm_small, MULTIPLIES, 0, 0, 0, false, true, 0},
    {"dgemm_small_ta", run_dgemm_small_ta, MULTIPLIES, 0, 0, 0, false, true, 0},
    {"dgemm_nt", run_dgemm_nt, MULTIPLIES, 0, 0, 0, false, true, 0},
    {"dpack_t", run_dpack_t, COPIES, 16, 0, K, false, true, 0},
    {"dtranspose", run_dtranspose, COPIES, 16, 0, K, false, true, 0},
    {"dpack_n", run_dpack_n, COPIES, 0, 16, K, false, true, 0},
    {"ddot", run_ddot, STREAMS, 0, 0, 0, false, true, 0},
    {"daxpy", run_daxpy, STREAMS, 0, 0, 0, true, true, 0},
    {"dgemv_n", run_dgemv_n, STREAMS, 0, 0, 0, false, true, 0},
    {"dgemv_t", run_dgemv_t, STREAMS, 0, 0, 0, false, true, 0},
};

static const struct operation *operation_of(const struct uk_kernel *k) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(operations[i].name, uk_kernel_op(k)))
            return &operations[i];
    return NULL;
}

/* What a kernel that streams is held against. */
struct stream {
    int isa;
    float *matrix;
    bool stores;
};

static void run_stream(void *user) {
    const struct stream *s = user;
    if (s->stores)
        bench_isas[s->isa].load_and_store(s->matrix, s->matrix + VECTOR / sizeof(float), VECTOR);
    else
        bench_isas[s->isa].load(s->matrix, MATRIX);
}

struct result {
    const struct uk_kernel *kernel;
    struct bench_contender time,
        stream; /* `stream` in second place, if there is one: its ratio is the share */
    struct bench_plan plan;
    double bytes;
};

static void *operand(size_t count, bool f64, uint32_t seed) {
    size_t bytes = (count * (f64 ? sizeof(double) : sizeof(float)) + 63) / 64 * 64;
    float *p = aligned_alloc(64, bytes);
    if (p)
        bench_random(p, f64 ? count : bytes / sizeof *p, seed);
    for (size_t i = count; p && f64 && i-- > 0;)
        ((double *)(void *)p)[i] = (double)p[i];
    return p;
}

/* Operands of so many elements, and the measurement. */
static enum uk_status measure_on(struct result *r, size_t a, size_t b, size_t c, const struct operation *op) {
    struct operands o = {.kernel = r->kernel,
                         .function = uk_kernel_function(r->kernel),
                         .mr = uk_kernel_mr(r->kernel),
                         .nr = uk_kernel_nr(r->kernel),
                         .kr = uk_kernel_kr(r->kernel),
                         .ldc = uk_kernel_nr(r->kernel)};
    bool streams = r->stream.run;

    o.a = operand(a, op->f64, 1);
    o.b = operand(2 * b, op->f64, 2); /* the second half: a panel that is written */
    o.c = operand(c, op->f64, 3);
    struct stream stream = {r->plan.isa, o.a, op->stores};
    struct bench_contender both[] = {r->time, r->stream};
    both[0].user = &o;
    both[1].user = &stream;
    enum uk_status s = o.a && o.b && o.c ? bench_paired(&r->plan, both, streams ? 2 : 1) : UK_OUT_OF_MEMORY;
    r->time = both[0];
    r->stream = both[1];
    const double rate = op->f64 ? 0.5 : op->rate ? op->rate : 1; /* the peak is that of floats */
    r->plan.peak *= rate;
    r->time.percent /= rate;
    free(o.a);
    free(o.b);
    free(o.c);
    return s;
}

static enum uk_status measure(const struct uk_kernel *k, const struct operation *op, struct result *r) {
    const int mr = uk_kernel_mr(k), nr = uk_kernel_nr(k);
    size_t widest = (size_t)(mr > nr ? mr : nr), rows = (size_t)(mr > K ? mr : K);

    *r = (struct result){
        .kernel = k,
        .time = {.name = uk_kernel_symbol(k), .run = op->run},
        .plan = {.isa = bench_isa_of(uk_kernel_isa(k)), .threads = 1, .sample_time = 2e-3, .rounds = 15}};
    if (op->kind == STREAMS) {
        r->stream = (struct bench_contender){.name = "stream", .run = run_stream};
        r->bytes = (op->stores ? 1.5 : 1) * MATRIX;
        return measure_on(r, MATRIX / (op->f64 ? sizeof(double) : sizeof(float)), WIDTH, WIDTH, op);
    }
    if (op->kind == MULTIPLIES)
        r->plan.flops = 2.0 * mr * nr * K;
    r->bytes = ((double)op->rows * mr + (double)op->columns * nr) * op->k;
    return measure_on(r, (rows > widest ? rows : widest) * LD, widest * K, (size_t)mr * (size_t)nr, op);
}

static void print_result(const struct result *r) {
    const struct bench_contender *t = &r->time;
    printf("%-34s %10.1f ns (%.1f..%.1f)", uk_kernel_symbol(r->kernel), 1e9 * t->seconds, 1e9 * t->fastest,
           1e9 * t->slowest);
    if (r->plan.flops > 0)
        printf("  %7.1f GFLOP/s  %5.1f %% of the %s peak beside it (%.1f)\n",
               1e-9 * r->plan.flops / t->seconds, t->percent, bench_isas[r->plan.isa].name,
               1e-9 * r->plan.peak);
    else if (r->stream.run)
        printf("  %7.1f GB/s  %5.1f %% of a loop that only moves the bytes (%.1f)\n",
               1e-9 * r->bytes / t->seconds, 100 * r->stream.ratio, 1e-9 * r->bytes / r->stream.seconds);
    else
        printf("  %7.1f GB/s\n", 1e-9 * r->bytes / t->seconds);
}

static void add_record(cJSON *all, const struct result *r) {
    cJSON *b = uk_bench_record(all, uk_kernel_symbol(r->kernel), &r->time, 1);
    if (r->plan.flops > 0) {
        cJSON_AddNumberToObject(b, "FLOPS", r->plan.flops / r->time.seconds);
    } else {
        cJSON_AddNumberToObject(b, "bytes_per_second", r->bytes / r->time.seconds);
        if (r->stream.run)
            cJSON_AddNumberToObject(b, "percent_of_stream", 100 * r->stream.ratio);
    }
}

/* Measures one row. *count grows if there is a result. */
static int bench_kernel(const struct uk_kernel *k, const struct uk_arguments *a, struct result *results,
                        int *count) {
    char lacking[32];
    const struct operation *op = operation_of(k);
    if (!uk_kernel_function(k))
        return uk_complain(UK_EXIT_WRONG, "%s is a kernel for %s, and this CPU is of another architecture",
                           uk_kernel_symbol(k), uk_kernel_arch(k));
    if (uk_cpu_lacks(uk_kernel_features(k), lacking, sizeof lacking)) {
        fprintf(stderr, "%s: skipped, this CPU has no %s\n", uk_kernel_symbol(k), lacking);
        return UK_EXIT_OK;
    }
    if (!op)
        return uk_complain(UK_EXIT_WRONG, "%s: operation %s has no benchmark; add one to uk_bench.c",
                           uk_kernel_symbol(k), uk_kernel_op(k));
    enum uk_status s = measure(k, op, &results[*count]);
    if (s)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", uk_kernel_symbol(k), uk_status_text(s));
    if (!a->json || a->json_file)
        print_result(&results[*count]);
    ++*count;
    return UK_EXIT_OK;
}

static int bench_kernels(const struct uk_arguments *a) {
    int count = 0, foreign = 0, status = UK_EXIT_OK;
    int wanted = a->positionals ? a->positionals : uk_kernel_count();
    struct result *results = calloc((size_t)wanted + 1, sizeof *results);
    if (!results)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; i < a->positionals && !status; i++)
        if (!uk_kernel_named(a->positional[i]))
            status = UK_EXIT_USAGE;
    for (int i = 0; i < wanted && !status; i++) {
        const struct uk_kernel *k = a->positionals ? uk_kernel_find(a->positional[i]) : uk_kernel_at(i);
        if (a->positionals || uk_kernel_function(k))
            status = bench_kernel(k, a, results, &count);
        else
            foreign++;
    }
    if (foreign)
        fprintf(stderr, "%d kernels of other architectures left out\n", foreign);
    cJSON *json = uk_bench_json();
    for (int i = 0; i < count; i++)
        add_record(json, &results[i]);
    if (!status)
        status = uk_bench_finish(a, json);
    cJSON_Delete(json);
    free(results);
    return status;
}

int uk_command_bench(const struct uk_arguments *a) {
    int status = uk_bench_check(a);
    if (status)
        return status;
    const bool is_gemm = a->positionals && !strcmp(a->positional[0], "gemm");
    const bool is_networks = a->positionals && !strcmp(a->positional[0], "networks");
    if (a->remote && (is_gemm || is_networks || a->is_static))
        return uk_complain(UK_EXIT_USAGE,
                           "--remote: kernels alone are timed there; leave out %s, or --remote",
                           a->is_static ? "--static" : a->positional[0]);
    if (is_networks)
        return uk_bench_networks(a);
    if (a->sweep || uk_given(a, "--seed", 0))
        return uk_complain(UK_EXIT_USAGE, "%s is for uk bench networks --sweep; leave it out",
                           a->sweep ? "--sweep" : "--seed");
    if ((a->histogram || a->cycles) && (a->is_static || is_gemm || !uk_is_emulated(a->target)))
        return uk_complain(
            UK_EXIT_USAGE,
            "%s: the emulator of another architecture counts; take kernels and a --target of one, "
            "as riscv64-p",
            a->histogram ? "--histogram" : "--cycles");
    if (a->bindings && !(a->is_static && uk_gpu_kind_of(a->target)))
        return uk_complain(UK_EXIT_USAGE,
                           "--size and --define are for uk bench --static with a GPU's --target, as "
                           "amdgcn-gfx90a; leave them out");
    if (a->is_static) {
        if (a->set || a->shapes || a->type || a->peers || a->threads || a->time_limit || a->json ||
            a->compare || a->plot)
            return uk_complain(UK_EXIT_USAGE,
                               "uk bench --static takes kernels and --target only: nothing is measured");
        return uk_bench_static(a);
    }
    if (is_gemm)
        return a->positionals > 1
                   ? uk_complain(UK_EXIT_USAGE, "uk bench gemm takes no '%s'; --set chooses shapes",
                                 a->positional[1])
                   : uk_bench_gemm(a);
    if (uk_is_emulated(a->target) && !(a->set || a->shapes || a->type || a->peers || a->threads ||
                                       a->time_limit || a->json || a->compare || a->plot))
        return uk_bench_count(a);
    if (a->set || a->shapes || a->type || a->peers || a->threads || a->time_limit || a->target || a->plot)
        return uk_complain(UK_EXIT_USAGE,
                           "--set, --shapes, --type, --peers, --threads, --time-limit, --plot and "
                           "--target are for uk bench gemm; leave them out for kernels");
    return bench_kernels(a);
}
