/* uk bench: every kernel alone: on operands in the cache, beside the peak of its instruction set; or, where an element is
 * used once, on a matrix beyond the caches, beside a loop that only moves as many bytes. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <cjson/cJSON.h>
#include "uk.h"

/* The panels lie in the first two levels of cache, and the loop is so long that little but its speed counts.
 */
enum { K = 512, LD = K + 16 };
/* The matrix of those that read every element once, and half of it: 64 and 32 MiB. */
enum { WIDTH = 4096, MATRIX = WIDTH * WIDTH, VECTOR = MATRIX / 2 };

struct operands {
    const struct uk_kernel *kernel;
    float *a, *b, *c;
    int64_t ldc;
};

static void run_sgemm(void *user) {
    const struct operands *o = user;
    const struct uk_kernel *k = o->kernel;
    ((uk_sgemm_function *)k->function)(K, o->a, o->b, o->c, o->ldc, 1, k->mr, k->nr);
}

static void run_sgemm_ra(void *user) {
    const struct operands *o = user;
    const struct uk_kernel *k = o->kernel;
    ((uk_sgemm_ra_function *)k->function)(K, o->a, LD, o->b, o->c, o->ldc, 1, k->mr, k->nr);
}

static void run_sgemm_rab(void *user) {
    const struct operands *o = user;
    const struct uk_kernel *k = o->kernel;
    ((uk_sgemm_rab_function *)k->function)(K, o->a, LD, o->b, k->nr, o->c, o->ldc, 1, k->mr, k->nr);
}

static void run_sgemm_sab(void *user) {
    const struct operands *o = user;
    const struct uk_kernel *k = o->kernel;
    ((uk_sgemm_sab_function *)k->function)(K, o->a, 1, k->mr, o->b, k->nr, o->c, o->ldc, 1, k->mr, k->nr);
}

/* The same few rows for all k: they stay in the first cache. */
static void run_sdw(void *user) {
    const struct operands *o = user;
    const struct uk_kernel *k = o->kernel;
    ((uk_sdw_function *)k->function)(K, o->a, k->nr, 0, o->b, 0, o->c, o->ldc, 1, k->mr, k->nr);
}

static void run_spack_s(void *user) {
    const struct operands *o = user;
    ((uk_spack_s_function *)o->kernel->function)(K, o->a, 1, LD, o->b, o->kernel->nr);
}

static void run_spack_t(void *user) {
    const struct operands *o = user;
    ((uk_spack_t_function *)o->kernel->function)(K, o->a, LD, o->b, o->kernel->mr);
}

static void run_spack_n(void *user) {
    const struct operands *o = user;
    ((uk_spack_n_function *)o->kernel->function)(K, o->a, LD, o->b, o->kernel->nr);
}

static void run_vadd(void *user) {
    const struct operands *o = user;
    ((uk_vadd_function *)o->kernel->function)(o->a, o->b, o->c, o->kernel->nr);
}

static void run_sdot(void *user) {
    const struct operands *o = user;
    ((uk_sdot_function *)o->kernel->function)(VECTOR, o->a, o->a + VECTOR, o->c, 0);
}

static void run_saxpy(void *user) {
    const struct operands *o = user;
    ((uk_saxpy_function *)o->kernel->function)(VECTOR, 0.5f, o->a, o->a + VECTOR);
}

static void run_sgemv_n(void *user) {
    const struct operands *o = user;
    for (int i = 0; i < WIDTH; i += o->kernel->mr)
        ((uk_sgemv_n_function *)o->kernel->function)(WIDTH, o->a + (size_t)i * WIDTH, WIDTH, o->b, o->c + i,
                                                     0, o->kernel->mr);
}

static void run_sgemv_t(void *user) {
    const struct operands *o = user;
    for (int j = 0; j < WIDTH; j += o->kernel->nr)
        ((uk_sgemv_t_function *)o->kernel->function)(WIDTH, o->a + j, WIDTH, o->b, o->c + j, 0,
                                                     o->kernel->nr);
}

/* How an operation is called, and what one call computes or moves. */
static const struct operation {
    const char *name;
    void (*run)(void *);
    enum { MULTIPLIES, COPIES, STREAMS } kind; /* MULTIPLIES: 2 MR NR K operations */
    int rows, columns, k;                      /* COPIES: bytes read and written: (rows MR + columns NR) k */
    bool stores;                               /* STREAMS: the matrix; and its second half is written */
} operations[] = {
    {"sgemm", run_sgemm, MULTIPLIES, 0, 0, 0, false},
    {"sgemm_ra", run_sgemm_ra, MULTIPLIES, 0, 0, 0, false},
    {"sgemm_rab", run_sgemm_rab, MULTIPLIES, 0, 0, 0, false},
    {"sgemm_sab", run_sgemm_sab, MULTIPLIES, 0, 0, 0, false},
    {"sdw", run_sdw, MULTIPLIES, 0, 0, 0, false},
    {"spack_s", run_spack_s, COPIES, 0, 8, K, false},
    {"spack_t", run_spack_t, COPIES, 8, 0, K, false},
    {"spack_n", run_spack_n, COPIES, 0, 8, K, false},
    {"vadd", run_vadd, COPIES, 0, 12, 1, false},
    {"sdot", run_sdot, STREAMS, 0, 0, 0, false},
    {"saxpy", run_saxpy, STREAMS, 0, 0, 0, true},
    {"sgemv_n", run_sgemv_n, STREAMS, 0, 0, 0, false},
    {"sgemv_t", run_sgemv_t, STREAMS, 0, 0, 0, false},
};

static const struct operation *operation_of(const struct uk_kernel *k) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(operations[i].name, k->op))
            return &operations[i];
    return NULL;
}

static enum bench_isa isa_of(const struct uk_kernel *k) {
    return !strncmp(k->isa, "avx512", 6) ? BENCH_AVX512
           : !strncmp(k->isa, "avx2", 4) ? BENCH_AVX2
                                         : BENCH_SSE2;
}

/* What a kernel that streams is held against. */
struct stream {
    enum bench_isa isa;
    float *matrix;
    bool stores;
};

static void run_stream(void *user) {
    const struct stream *s = user;
    if (s->stores)
        bench_load_and_store(s->isa, s->matrix, s->matrix + VECTOR, VECTOR * sizeof(float));
    else
        bench_load(s->isa, s->matrix, MATRIX * sizeof(float));
}

struct result {
    const struct uk_kernel *kernel;
    struct bench_contender time,
        stream; /* `stream` in second place, if there is one: its ratio is the share */
    struct bench_plan plan;
    double bytes;
};

static float *operand(size_t count, uint32_t seed) {
    size_t bytes = (count * sizeof(float) + 63) / 64 * 64;
    float *p = aligned_alloc(64, bytes);
    if (p)
        bench_random(p, bytes / sizeof *p, seed);
    return p;
}

/* Operands of so many elements, and the measurement. */
static enum uk_status measure_on(struct result *r, size_t a, size_t b, size_t c, bool stores) {
    struct operands o = {.kernel = r->kernel, .ldc = r->kernel->nr};
    bool streams = r->stream.run;

    o.a = operand(a, 1);
    o.b = operand(b, 2);
    o.c = operand(c, 3);
    struct stream stream = {r->plan.isa, o.a, stores};
    struct bench_contender both[] = {r->time, r->stream};
    both[0].user = &o;
    both[1].user = &stream;
    enum uk_status s = o.a && o.b && o.c ? bench_paired(&r->plan, both, streams ? 2 : 1) : UK_OUT_OF_MEMORY;
    r->time = both[0];
    r->stream = both[1];
    free(o.a);
    free(o.b);
    free(o.c);
    return s;
}

static enum uk_status measure(const struct uk_kernel *k, const struct operation *op, struct result *r) {
    size_t widest = (size_t)(k->mr > k->nr ? k->mr : k->nr), rows = (size_t)(k->mr > K ? k->mr : K);

    *r = (struct result){.kernel = k,
                         .time = {.name = k->symbol, .run = op->run},
                         .plan = {.isa = isa_of(k), .threads = 1, .sample_time = 2e-3, .rounds = 15}};
    if (op->kind == STREAMS) {
        r->stream = (struct bench_contender){.name = "stream", .run = run_stream};
        r->bytes = (op->stores ? 1.5 : 1) * MATRIX * sizeof(float);
        return measure_on(r, MATRIX, WIDTH, WIDTH, op->stores);
    }
    if (op->kind == MULTIPLIES)
        r->plan.flops = 2.0 * k->mr * k->nr * K;
    r->bytes = ((double)op->rows * k->mr + (double)op->columns * k->nr) * op->k;
    return measure_on(r, (rows > widest ? rows : widest) * LD, widest * K, (size_t)k->mr * (size_t)k->nr,
                      false);
}

static void print_result(const struct result *r) {
    const struct bench_contender *t = &r->time;
    printf("%-34s %10.1f ns (%.1f..%.1f)", r->kernel->symbol, 1e9 * t->seconds, 1e9 * t->fastest,
           1e9 * t->slowest);
    if (r->plan.flops > 0)
        printf("  %7.1f GFLOP/s  %5.1f %% of the %s peak beside it (%.1f)\n",
               1e-9 * r->plan.flops / t->seconds, t->percent, bench_isa_name(r->plan.isa),
               1e-9 * r->plan.peak);
    else if (r->stream.run)
        printf("  %7.1f GB/s  %5.1f %% of a loop that only moves the bytes (%.1f)\n",
               1e-9 * r->bytes / t->seconds, 100 * r->stream.ratio, 1e-9 * r->bytes / r->stream.seconds);
    else
        printf("  %7.1f GB/s\n", 1e-9 * r->bytes / t->seconds);
}

static cJSON *json_result(const struct result *r) {
    cJSON *b = cJSON_CreateObject();
    cJSON_AddStringToObject(b, "name", r->kernel->symbol);
    cJSON_AddStringToObject(b, "run_name", r->kernel->symbol);
    cJSON_AddStringToObject(b, "run_type", "iteration");
    cJSON_AddNumberToObject(b, "repetitions", 1);
    cJSON_AddNumberToObject(b, "repetition_index", 0);
    cJSON_AddNumberToObject(b, "threads", 1);
    cJSON_AddNumberToObject(b, "iterations", (double)r->time.calls);
    cJSON_AddNumberToObject(b, "real_time", 1e9 * r->time.seconds);
    cJSON_AddNumberToObject(b, "cpu_time", 1e9 * r->time.seconds);
    cJSON_AddStringToObject(b, "time_unit", "ns");
    if (r->plan.flops > 0) {
        cJSON_AddNumberToObject(b, "FLOPS", r->plan.flops / r->time.seconds);
        cJSON_AddNumberToObject(b, "percent_of_peak", r->time.percent);
    } else {
        cJSON_AddNumberToObject(b, "bytes_per_second", r->bytes / r->time.seconds);
        if (r->stream.run)
            cJSON_AddNumberToObject(b, "percent_of_stream", 100 * r->stream.ratio);
    }
    return b;
}

static cJSON *json_context(void) {
    cJSON *context = cJSON_CreateObject();
    char host[256] = "", date[64] = "";
    time_t now = time(NULL);
    struct tm local;
    gethostname(host, sizeof host - 1);
    if (localtime_r(&now, &local))
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S%z", &local);
    cJSON_AddStringToObject(context, "date", date);
    cJSON_AddStringToObject(context, "host_name", host);
    cJSON_AddStringToObject(context, "executable", "uk bench");
    cJSON_AddNumberToObject(context, "num_cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
    cJSON_AddStringToObject(context, "library_version", UK_VERSION);
    return context;
}

static int print_json(const struct result *results, int count) {
    cJSON *all = cJSON_CreateObject();
    cJSON_AddItemToObject(all, "context", json_context());
    cJSON *list = cJSON_AddArrayToObject(all, "benchmarks");
    for (int i = 0; i < count; i++)
        cJSON_AddItemToArray(list, json_result(&results[i]));
    char *text = cJSON_Print(all);
    cJSON_Delete(all);
    if (!text)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    puts(text);
    cJSON_free(text);
    return UK_EXIT_OK;
}

/* Measures one row. *count grows if there is a result. */
static int bench_kernel(const struct uk_kernel *k, const struct uk_arguments *a, struct result *results,
                        int *count) {
    char lacking[32];
    const struct operation *op = operation_of(k);
    if (uk_cpu_lacks(k->features, lacking, sizeof lacking)) {
        fprintf(stderr, "%s: skipped, this CPU has no %s\n", k->symbol, lacking);
        return UK_EXIT_OK;
    }
    if (!op)
        return uk_complain(UK_EXIT_WRONG, "%s: operation %s has no benchmark; add one to uk_bench.c",
                           k->symbol, k->op);
    enum uk_status s = measure(k, op, &results[*count]);
    if (s)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", k->symbol, uk_status_text(s));
    if (!a->json)
        print_result(&results[*count]);
    ++*count;
    return UK_EXIT_OK;
}

int uk_command_bench(const struct uk_arguments *a) {
    int rows, count = 0, status = UK_EXIT_OK;
    const struct uk_kernel *all = uk_kernels(&rows);
    int wanted = a->positionals ? a->positionals : rows;
    struct result *results = calloc((size_t)wanted + 1, sizeof *results);
    if (!results)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; i < a->positionals && !status; i++)
        if (!uk_kernel_named(a->positional[i]))
            status = UK_EXIT_USAGE;
    for (int i = 0; i < wanted && !status; i++) {
        const struct uk_kernel *k = a->positionals ? uk_kernel_find(a->positional[i]) : &all[i];
        status = bench_kernel(k, a, results, &count);
    }
    if (!status && a->json)
        status = print_json(results, count);
    free(results);
    return status;
}
