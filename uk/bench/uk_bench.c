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

/* A window over rows that stay in the first cache; and 3 x 3 windows over neighbouring pixels of such rows. Windows of all sizes have the
 * same parameters. */
#define RUN_DEPTHWISE(name, element, weight)                                                                 \
    static void run_##name##dw(void *user) {                                                                 \
        const struct operands *o = user;                                                                     \
        const int64_t step = uk_kernel_operation(o->kernel)->stride;                                         \
        ((uk_##name##dw3_function *)o->function)((const element *)o->a, step * LD, LD, (const weight *)o->b, \
                                                 5, 1, (int32_t *)o->c, o->ldc, 1, o->mr, o->nr);            \
    }                                                                                                        \
    static void run_##name##dwc(void *user) {                                                                \
        const struct operands *o = user;                                                                     \
        ((uk_##name##dwc_function *)o->function)(3, 3, (const element *)o->a, o->nr, LD, o->nr,              \
                                                 (const weight *)o->b, 3 * o->nr, o->nr, (int32_t *)o->c,    \
                                                 o->ldc, 0, o->mr, o->nr);                                   \
    }
RUN_DEPTHWISE(u8, uint8_t, int8_t)
RUN_DEPTHWISE(i8, int8_t, int8_t)
RUN_DEPTHWISE(u8u8, uint8_t, uint8_t)
RUN_DEPTHWISE(i8u8, int8_t, uint8_t)
#undef RUN_DEPTHWISE

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
RUN_GROUPS(i8u8gemm)
RUN_GROUPS(bgemm)
RUN_GROUPS(i16gemm)
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
RUN_GROUPS_RA(i8u8gemm_ra)
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
RUN_GROUPS_RUNS(i8u8gemm_runs)
#undef RUN_GROUPS_RUNS

/* A matrix beyond the caches, as of floats. */
#define RUN_GEMV(op, left, right)                                                                  \
    static void run_##op(void *user) {                                                             \
        const struct operands *o = user;                                                           \
        ((uk_##op##_function *)o->function)(WIDTH, (const left *)o->a, WIDTH, (const right *)o->b, \
                                            (int32_t *)o->c, 0, 0, MATRIX / WIDTH);                \
    }
RUN_GEMV(igemv_n, uint8_t, int8_t)
RUN_GEMV(i8gemv_n, int8_t, int8_t)
RUN_GEMV(u8gemv_n, uint8_t, uint8_t)
RUN_GEMV(i8u8gemv_n, int8_t, uint8_t)
#undef RUN_GEMV

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

static void run_i16pack(void *user) {
    const struct operands *o = user;
    ((uk_i16pack_t_function *)o->function)(o->kr, (const int16_t *)o->a, LD, (int16_t *)o->b, GROUPS, GROUPS);
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

enum { ELEMENTS = UK_ELEMENT_I32 + 1 };

/* How operations of a form are called, by the type of their elements, and what one call computes or moves; of two of a form the first whose
 * declaration has the word, if there is one, and that has a call for the type. */
static const struct form {
    enum uk_op_form form;
    const char *word;
    enum { MULTIPLIES, COPIES, STREAMS } kind; /* MULTIPLIES: 2 MR NR K operations */
    int rows, columns, k; /* COPIES: elements read and written: (rows MR + columns NR) k */
    int results;          /* and i32, NR of each */
    bool stores;          /* STREAMS: the matrix; and its second half is written */
    void (*run[ELEMENTS])(void *);
} forms[] = {
#define REAL(op) [UK_ELEMENT_F32] = run_s##op, [UK_ELEMENT_F64] = run_d##op
#define BYTES(op) [UK_ELEMENT_U8] = run_u8##op, [UK_ELEMENT_I8] = run_i8##op
#define GROUPS_OF(op) [UK_ELEMENT_U8_I8] = run_i##op, [UK_ELEMENT_I8_U8] = run_i8u8##op, BYTES(op)
#define DEPTHWISE(op)                                                                              \
    [UK_ELEMENT_U8_I8] = run_u8##op, [UK_ELEMENT_I8] = run_i8##op, [UK_ELEMENT_U8] = run_u8u8##op, \
    [UK_ELEMENT_I8_U8] = run_i8u8##op
    {UK_OP_PANELS, NULL, MULTIPLIES,
     .run = {REAL(gemm), GROUPS_OF(gemm), [UK_ELEMENT_BF16] = run_bgemm, [UK_ELEMENT_F16] = run_hgemm,
             [UK_ELEMENT_I16] = run_i16gemm}},
    {UK_OP_RA, NULL, MULTIPLIES,
     .run = {REAL(gemm_ra), GROUPS_OF(gemm_ra), [UK_ELEMENT_BF16] = run_bgemm_ra}},
    {UK_OP_RUNS, NULL, MULTIPLIES, .run = {GROUPS_OF(gemm_runs)}},
    {UK_OP_RAB, NULL, MULTIPLIES, .run = {REAL(gemm_rab)}},
    {UK_OP_SMALL, NULL, MULTIPLIES, .run = {REAL(gemm_small)}},
    {UK_OP_SMALL_TA, NULL, MULTIPLIES, .run = {REAL(gemm_small_ta)}},
    {UK_OP_NT, NULL, MULTIPLIES, .run = {REAL(gemm_nt)}},
    {UK_OP_RAP, NULL, MULTIPLIES, .run = {REAL(gemm_rap)}},
    {UK_OP_SAB, NULL, MULTIPLIES, .run = {REAL(gemm_sab)}},
    {UK_OP_DEPTHWISE, NULL, MULTIPLIES, .run = {[UK_ELEMENT_F32] = run_sdw}},
    {UK_OP_DEPTHWISE_ROW, NULL, MULTIPLIES, .run = {[UK_ELEMENT_F32] = run_sdw}},
    {UK_OP_DEPTHWISE_WINDOW, NULL, COPIES, 0, 0, 1, 1, .run = {DEPTHWISE(dw)}},
    {UK_OP_DEPTHWISE_CHANNELS, NULL, COPIES, 0, 3, 1, 1, .run = {DEPTHWISE(dwc)}},
    {UK_OP_WINDOW, "tensor y i32", COPIES, 0, 9, 1, 1, .run = {BYTES(sum)}},
    {UK_OP_WINDOW, NULL, COPIES, 0, 10, 1, .run = {BYTES(max)}},
    {UK_OP_PACK_T, "i64 W", COPIES, 0, 2 * GROUPS, 1,
     .run = {BYTES(pack_t), [UK_ELEMENT_BF16] = run_bpack, [UK_ELEMENT_I16] = run_i16pack}},
    {UK_OP_PACK_T, NULL, COPIES, 2, 0, K, .run = {REAL(pack_t), [UK_ELEMENT_F16] = run_hpack}},
    /* The same parameters. */
    {UK_OP_PACK_N, "i64 W", COPIES, 2 * GROUPS, 0, 1,
     .run = {BYTES(pack_t), [UK_ELEMENT_BF16] = run_bpack, [UK_ELEMENT_I16] = run_i16pack}},
    {UK_OP_PACK_N, NULL, COPIES, 0, 2, K, .run = {REAL(pack_n), [UK_ELEMENT_F16] = run_hpack}},
    {UK_OP_PACK_S, NULL, COPIES, 0, 2, K, .run = {[UK_ELEMENT_F32] = run_spack_s}},
    {UK_OP_PANEL_T, NULL, COPIES, 0, 2, K, .run = {BYTES(panel)}},
    {UK_OP_PANEL_N, NULL, COPIES, 2, 0, K, .run = {BYTES(panel)}},
    {UK_OP_TRANSPOSE, NULL, COPIES, 2, 0, K, .run = {REAL(transpose), BYTES(transpose)}},
    {UK_OP_ADD_VECTOR, NULL, COPIES, 0, 3, 1, .run = {[UK_ELEMENT_F32] = run_vadd}},
    {UK_OP_ADD, NULL, COPIES, 0, 3, 1, .run = {[UK_ELEMENT_I32] = run_i32add}},
    {UK_OP_DOT, NULL, STREAMS, .run = {REAL(dot)}},
    {UK_OP_AXPY, NULL, STREAMS, .stores = true, .run = {REAL(axpy)}},
    {UK_OP_GEMV_N, NULL, STREAMS, .run = {REAL(gemv_n), GROUPS_OF(gemv_n)}},
    {UK_OP_GEMV_T, NULL, STREAMS, .run = {REAL(gemv_t)}},
#undef REAL
#undef BYTES
#undef GROUPS_OF
#undef DEPTHWISE
};

/* Of each type, and how many of its products an instruction makes where it makes one of floats. */
static const struct {
    int bytes;
    double rate;
} elements[ELEMENTS] = {
    [UK_ELEMENT_F16] = {2, 2},   [UK_ELEMENT_BF16] = {2, 2},  [UK_ELEMENT_F32] = {4, 1},
    [UK_ELEMENT_F64] = {8, 0.5}, [UK_ELEMENT_I8] = {1, 4},    [UK_ELEMENT_U8] = {1, 4},
    [UK_ELEMENT_U8_I8] = {1, 4}, [UK_ELEMENT_I8_U8] = {1, 4}, [UK_ELEMENT_I32] = {4, 1},
    [UK_ELEMENT_I16] = {2, 2},
};

/* NULL: there is none. */
static const struct form *form_of(const struct uk_kernel *k) {
    const struct uk_operation *o = uk_kernel_operation(k);
    char declaration[2048];

    uk_kernel_declaration(k, declaration, sizeof declaration);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (forms[i].form == o->form && forms[i].run[o->element] &&
            (!forms[i].word || strstr(declaration, forms[i].word)))
            return &forms[i];
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
static enum uk_status measure_on(struct result *r, size_t a, size_t b, size_t c, const struct form *form) {
    struct operands o = {.kernel = r->kernel,
                         .function = uk_kernel_function(r->kernel),
                         .mr = uk_kernel_mr(r->kernel),
                         .nr = uk_kernel_nr(r->kernel),
                         .kr = uk_kernel_kr(r->kernel),
                         .ldc = uk_kernel_nr(r->kernel)};
    const enum uk_element element = uk_kernel_operation(r->kernel)->element;
    const bool streams = r->stream.run, f64 = element == UK_ELEMENT_F64;

    o.a = operand(a, f64, 1);
    o.b = operand(2 * b, f64, 2); /* the second half: a panel that is written */
    o.c = operand(c, f64, 3);
    struct stream stream = {r->plan.isa, o.a, form->stores};
    struct bench_contender both[] = {r->time, r->stream};
    both[0].user = &o;
    both[1].user = &stream;
    enum uk_status s = o.a && o.b && o.c ? bench_paired(&r->plan, both, streams ? 2 : 1) : UK_OUT_OF_MEMORY;
    r->time = both[0];
    r->stream = both[1];
    /* The peak is that of floats. */
    r->plan.peak *= elements[element].rate;
    r->time.percent /= elements[element].rate;
    free(o.a);
    free(o.b);
    free(o.c);
    return s;
}

static enum uk_status measure(const struct uk_kernel *k, const struct form *form, struct result *r) {
    const int mr = uk_kernel_mr(k), nr = uk_kernel_nr(k);
    const enum uk_element element = uk_kernel_operation(k)->element;
    const int bytes = elements[element].bytes;
    size_t widest = (size_t)(mr > nr ? mr : nr), rows = (size_t)(mr > K ? mr : K);

    *r = (struct result){
        .kernel = k,
        .time = {.name = uk_kernel_symbol(k), .run = form->run[element]},
        .plan = {.isa = bench_isa_of(uk_kernel_isa(k)), .threads = 1, .sample_time = 2e-3, .rounds = 15}};
    if (form->kind == STREAMS) {
        r->stream = (struct bench_contender){.name = "stream", .run = run_stream};
        r->bytes = (form->stores ? 1.5 : 1) * MATRIX;
        return measure_on(r, MATRIX / (size_t)bytes, WIDTH, MATRIX / WIDTH, form);
    }
    if (form->kind == MULTIPLIES)
        r->plan.flops = 2.0 * mr * nr * K;
    r->bytes = ((double)form->rows * mr + (double)form->columns * nr) * form->k * bytes +
               (double)form->results * nr * (double)sizeof(int32_t);
    return measure_on(r, (rows > widest ? rows : widest) * LD, widest * K, (size_t)mr * (size_t)nr, form);
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
    const struct form *form = form_of(k);
    if (!uk_kernel_function(k))
        return uk_complain(UK_EXIT_WRONG, "%s is a kernel for %s, and this CPU is of another architecture",
                           uk_kernel_symbol(k), uk_kernel_arch(k));
    if (uk_cpu_lacks(uk_kernel_features(k), lacking, sizeof lacking)) {
        fprintf(stderr, "%s: skipped, this CPU has no %s\n", uk_kernel_symbol(k), lacking);
        return UK_EXIT_OK;
    }
    if (!form)
        return uk_complain(UK_EXIT_WRONG, "%s: operation %s has no benchmark; add its form to uk_bench.c",
                           uk_kernel_symbol(k), uk_kernel_op(k));
    enum uk_status s = measure(k, form, &results[*count]);
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
