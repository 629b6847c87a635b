/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench: measures each kernel alone. Operands are in the cache and the speed is compared with the peak of
 * the instruction set. Kernels that use each element once instead read a matrix larger than the caches and
 * are compared with a loop that only moves as many bytes. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "benchmarks.h"
#include "gpu_run.h"
#include "kernels.h"
#include "show.h"
#include "emulate/emulate.h"
#include "registry/operation.h"

/* Length of sums: operands still fit in L1 and L2, the loop dominates its prologue, and rows of this many
 * elements do not collide in cache sets. */
enum { K = 528 };
/* Terms of a 3 x 3 window. */
enum { TAPS = 9 };
/* For kernels that read each element once: columns of the matrix, its bytes, and half of them. */
enum { WIDTH = 4096, MATRIX = 64 << 20, VECTOR = MATRIX / 2 };
/* SOME: extent of sizes without an upper bound in operations that do not multiply, rounded up to a multiple
 * of the tile's. OTHERS: the tile's extent in sizes that are neither rows nor columns. PIXELS: of a row of an
 * image, at least. CHANNELS: of each pixel. */
enum { SOME = 64, OTHERS = 4, PIXELS = 28, CHANNELS = 64 };

struct call {
    uk_function *function; /* from the kernel's row, looked up before timing */
    struct bench_arguments arguments;
};

static void run_call(void *user) {
    const struct call *c = user;
    bench_call_kernel(c->function, &c->arguments, 0.5);
}

/* Products per instruction of vectors, relative to f32. */
static const double rates[] = {
    [UK_ELEMENT_F16] = 2,   [UK_ELEMENT_F16_F32] = 1, [UK_ELEMENT_BF16] = 2, [UK_ELEMENT_F32] = 1,
    [UK_ELEMENT_F64] = 0.5, [UK_ELEMENT_I8] = 4,      [UK_ELEMENT_U8] = 4,   [UK_ELEMENT_U8_I8] = 4,
    [UK_ELEMENT_I8_U8] = 4, [UK_ELEMENT_I32] = 1,     [UK_ELEMENT_I16] = 2,  [UK_ELEMENT_I64] = 0.5,
};

/* The products of a kernel per instruction, relative to f32. The unit of matrix tiles multiplies eight times
 * as many elements a cycle as two units of vectors of 512 bits. */
static double rate_of(const struct uk_kernel *k) {
    return rates[uk_kernel_operation(k)->element] * (uk_kernel_state(k) == UK_STATE_TILES ? 8 : 1);
}

/* The loop that streaming kernels are compared with. */
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
    /* time: the kernel. stream: the comparison loop, if there is one; its ratio is the kernel's share of
     * the loop's speed. */
    struct bench_contender time, stream;
    struct bench_plan plan;
    double bytes;
};

static bool has_size(const struct bench_dim *dim) {
    return bench_is_size(dim->extent.name);
}

/* True for products whose result is a vector or a number: they use each element of a matrix, or of two
 * vectors, once. The matrix is the first operand; if its extents are constants, it has the size of a tile. */
static bool is_streaming(const struct bench_declaration *d) {
    const struct bench_tensor *t = &d->tensor[0];
    int most = 0;
    if (!t->dims || !has_size(&t->dim[0]) || !has_size(&t->dim[t->dims - 1]))
        return false;
    for (int i = 0; i < d->tensors; i++)
        if (d->tensor[i].is_output && d->tensor[i].dims > most)
            most = d->tensor[i].dims;
    return d->multiplies && most < 2;
}

static size_t bytes_of(const struct bench_tensor *t) {
    const int bits = atoi(t->type + strcspn(t->type, "0123456789"));
    return (size_t)bits / 8;
}

/* n, but at most the limit that the declaration assumes for the size. */
static int64_t limit_size(const struct bench_declaration *d, char letter, int64_t n) {
    const int64_t most = d->max_size[letter - 'A'];
    return most && n > most ? most : n;
}

static int64_t up_to_multiple(int64_t n, int64_t of) {
    return (n + of - 1) / of * of;
}

/* Chooses sizes for the first operand. A matrix has rows as long as allowed, up to WIDTH, and as many as make
 * MATRIX bytes; each vector has half as many bytes. */
static void choose_stream(const struct bench_declaration *d, struct bench_sizes *s) {
    const struct bench_tensor *t = &d->tensor[0];
    const char inner = t->dim[t->dims - 1].extent.name[0];
    const int64_t elements = MATRIX / (int64_t)bytes_of(t);

    *bench_size(s, inner) = t->dims > 1 ? limit_size(d, inner, WIDTH) : elements / 2;
    if (t->dims > 1)
        *bench_size(s, t->dim[0].extent.name[0]) = elements / *bench_size(s, inner);
}

static int64_t some(const struct bench_declaration *d, char letter, int tile) {
    return d->max_size[letter - 'A'] || d->multiplies ? tile : up_to_multiple(SOME, tile);
}

void uk_bench_sizes(const struct uk_kernel *k, const struct bench_declaration *d, int64_t length,
                    struct bench_sizes *s) {
    const int kr = uk_kernel_kr(k);

    *s = (struct bench_sizes){
        .step = uk_kernel_operation(k)->stride > 1 ? 2 : 1, .reversed = true, .updates = d->updates};
    for (int i = 0; i < BENCH_LETTERS; i++) /* sizes that are peculiar to an operation */
        s->size[i] = some(d, (char)('A' + i), OTHERS);
    *bench_size(s, 'I') = some(d, 'I', uk_kernel_mr(k));
    *bench_size(s, 'J') =
        d->has_size['X' - 'A'] ? up_to_multiple(PIXELS, uk_kernel_nr(k)) : some(d, 'J', uk_kernel_nr(k));
    *bench_size(s, 'R') = *bench_size(s, 'S') = 3;
    *bench_size(s, 'T') = 4;
    *bench_size(s, 'C') = CHANNELS;
    /* An image that contains the tile. */
    *bench_size(s, 'X') = uk_kernel_operation(k)->stride * *bench_size(s, 'I') + 3;
    *bench_size(s, 'Z') = uk_kernel_operation(k)->stride * *bench_size(s, 'J') + 3;
    *bench_size(s, 'U') = *bench_size(s, 'V') = 0;
    /* G runs of kr terms cover P. */
    *bench_size(s, 'P') = up_to_multiple(d->has_size['T' - 'A'] ? length / 4 : length, kr);
    *bench_size(s, 'G') = *bench_size(s, 'P') / kr;
    *bench_size(s, 'W') = *bench_size(s, d->has_size['I' - 'A'] ? 'I' : 'J');
    /* One group per row. */
    if (d->has_size['W' - 'A'] && !d->has_size['G' - 'A'])
        *bench_size(s, 'P') = kr;
}

double uk_bench_terms(const struct uk_kernel *k, const struct bench_declaration *d,
                      const struct bench_sizes *s) {
    const int window = uk_kernel_operation(k)->window;
    double terms = window ? window * window : 1;

    for (int i = 0; i < BENCH_LETTERS; i++) /* these describe a panel's layout, or an image, not work */
        if (d->has_size[i] && !strchr("GUVWXZ", 'A' + i))
            terms *= (double)s->size[i];
    return terms;
}

static size_t operand_bytes(const struct bench_operand *o) {
    const int64_t elements = o->rows && o->length ? (o->rows - 1) * o->stride + o->length + o->over : 0;
    return up_to_multiple(elements * (int64_t)bytes_of(o->tensor), 64);
}

static bool has_extent(const struct bench_tensor *t, char letter) {
    for (int i = 0; i < t->dims; i++)
        if (t->dim[i].extent.name[0] == letter && has_size(&t->dim[i]))
            return true;
    return false;
}

/* True for products in which one operand has an element for every term, such as depthwise convolutions: they
 * sum over the taps of a window. */
static bool is_sum_of_taps(const struct bench_declaration *d) {
    for (int i = 0; i < d->tensors; i++) {
        bool all = d->multiplies && !d->tensor[i].is_output;
        for (int n = 0; n < BENCH_LETTERS; n++)
            all &= !d->has_size[n] || has_extent(&d->tensor[i], (char)('A' + n));
        if (all)
            return true;
    }
    return false;
}

/* Allocates and fills all operands, one after another, and puts their addresses into the arguments. */
static float *make_operands(struct bench_arguments *a, bool f64) {
    size_t bytes = 0, at = 0, start[BENCH_TENSORS];

    for (int i = 0; i < a->operands; i++) {
        start[i] = bytes;
        bytes += operand_bytes(&a->operand[i]);
    }
    float *memory = aligned_alloc(64, bytes + 64);
    if (!memory)
        return NULL;
    bench_random(memory, bytes / sizeof *memory, 1);
    for (at = bytes / sizeof(double); f64 && at-- > 0;)
        ((double *)(void *)memory)[at] = (double)memory[at];
    for (int i = 0; i < a->count; i++)
        if (a->operand_of[i] >= 0)
            a->word[i] = (int64_t)(intptr_t)((char *)memory + start[a->operand_of[i]]);
    return memory;
}

static enum uk_status measure(const struct uk_kernel *k, const struct bench_declaration *d,
                              struct result *r) {
    const enum uk_element element = uk_kernel_operation(k)->element;
    const bool streams = is_streaming(d);
    struct call call = {.function = uk_kernel_function(k)};
    struct bench_sizes sizes;

    *r = (struct result){
        .kernel = k,
        .time = {.name = uk_kernel_symbol(k), .run = run_call, .user = &call},
        .plan = {.isa = bench_isa_of(uk_kernel_state(k) ? uk_kernel_features(k) : uk_kernel_isa(k)),
                 .threads = 1,
                 .sample_time = 2e-3,
                 .rounds = 15}};
    uk_bench_sizes(k, d, !streams && is_sum_of_taps(d) ? TAPS : K, &sizes);
    if (streams)
        choose_stream(d, &sizes);
    bench_arguments(d, &sizes, &call.arguments);
    float *memory = make_operands(&call.arguments, element == UK_ELEMENT_F64);
    if (!memory)
        return UK_OUT_OF_MEMORY;
    struct stream stream = {r->plan.isa, memory, d->adds};
    struct bench_contender both[] = {r->time, {.name = "stream", .run = run_stream, .user = &stream}};
    for (int i = 0; i < call.arguments.operands; i++)
        r->bytes += (double)(call.arguments.operand[i].rows * call.arguments.operand[i].used) *
                    (double)bytes_of(call.arguments.operand[i].tensor);
    if (streams)
        r->bytes = (stream.stores ? 1.5 : 1) * MATRIX;
    else if (d->multiplies)
        r->plan.flops = 2 * uk_bench_terms(k, d, &sizes);
    enum uk_status s = uk_state_load(uk_kernel_state(k));
    s = s ? s : bench_paired(&r->plan, both, streams ? 2 : 1);
    uk_state_release(uk_kernel_state(k));
    r->time = both[0];
    if (streams)
        r->stream = both[1];
    /* The measured peak is that of floats. */
    r->plan.peak *= rate_of(k);
    r->time.percent /= rate_of(k);
    free(memory);
    return s;
}

static void print_result(const struct result *r) {
    const struct bench_contender *t = &r->time;
    printf("%-34s %10.1f ns (%.1f..%.1f)", uk_kernel_symbol(r->kernel), 1e9 * t->seconds, 1e9 * t->fastest,
           1e9 * t->slowest);
    if (r->plan.flops > 0)
        printf("  %7.1f GFLOP/s  %5.1f %% of the %s peak measured next to it (%.1f)\n",
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

int uk_bench_declaration(const struct uk_kernel *k, struct bench_declaration *d) {
    char text[4096];
    const char *at = text;
    if (uk_kernel_declaration(k, text, sizeof text) < sizeof text && bench_declaration_read(text, d, &at))
        return UK_EXIT_OK;
    return uk_complain(UK_EXIT_WRONG, "%s: cannot derive a call from its declaration, which has '%.*s'",
                       uk_kernel_symbol(k), (int)strcspn(at + 1, "\n"), at + 1);
}

/* Measures one row; increments *count if there is a result. */
static int bench_kernel(const struct uk_kernel *k, const struct uk_arguments *a, struct result *results,
                        int *count) {
    char lacking[32];
    struct bench_declaration declaration;
    if (!uk_kernel_function(k))
        return uk_complain(UK_EXIT_WRONG, "%s is a kernel for %s, and this CPU is of another architecture",
                           uk_kernel_symbol(k), uk_kernel_arch(k));
    if (uk_cpu_lacks(uk_kernel_features(k), lacking, sizeof lacking)) {
        fprintf(stderr, "%s: skipped, this CPU has no %s\n", uk_kernel_symbol(k), lacking);
        return UK_EXIT_OK;
    }
    int status = uk_bench_declaration(k, &declaration);
    if (status)
        return status;
    enum uk_status s = measure(k, &declaration, &results[*count]);
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
    const bool is_conv = a->positionals && !strcmp(a->positional[0], "conv");
    const bool is_ops = a->positionals && !strcmp(a->positional[0], "ops");
    const bool is_networks = a->positionals && !strcmp(a->positional[0], "networks");
    if (a->remote && (is_gemm || is_conv || is_ops || is_networks || a->is_static))
        return uk_complain(UK_EXIT_USAGE, "--remote times single kernels only; leave out %s or --remote",
                           a->is_static ? "--static" : a->positional[0]);
    if (is_networks)
        return uk_bench_networks(a);
    if (uk_repeated_option(a, "--state", 0))
        return uk_complain(UK_EXIT_USAGE, "--state is for uk bench networks; leave it out");
    if (!is_conv && a->weights)
        return uk_complain(UK_EXIT_USAGE, "--weights is for uk bench conv; leave it out");
    if (!is_gemm && !is_conv && !is_ops && (a->sweep || uk_repeated_option(a, "--seed", 0)))
        return uk_complain(UK_EXIT_USAGE, "%s is for uk bench gemm, conv, ops and networks; leave it out",
                           a->sweep ? "--sweep" : "--seed");
    if ((a->histogram || a->cycles) &&
        (a->is_static || is_gemm || is_conv || is_ops || !uk_is_emulated(a->target)))
        return uk_complain(UK_EXIT_USAGE,
                           "%s needs kernels and a --target of another architecture, whose emulator counts, "
                           "for instance --target=riscv64-p",
                           a->histogram ? "--histogram" : "--cycles");
    if (a->bindings && !(a->is_static && uk_gpu_kind_of(a->target)))
        return uk_complain(UK_EXIT_USAGE, "--size and --define are for uk bench --static with a GPU's "
                                          "--target, for instance amdgcn-gfx90a; leave them out");
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
    if (is_conv)
        return uk_bench_conv(a);
    if (is_ops)
        return uk_bench_ops(a);
    if (uk_is_emulated(a->target) && !(a->set || a->shapes || a->type || a->peers || a->threads ||
                                       a->time_limit || a->json || a->compare || a->plot))
        return uk_bench_count(a);
    if (a->set || a->shapes || a->type || a->peers || a->threads || a->time_limit || a->target || a->plot)
        return uk_complain(UK_EXIT_USAGE,
                           "--set, --shapes, --type, --peers, --threads, --time-limit, --plot and "
                           "--target are for uk bench gemm, conv and ops; leave them out for kernels");
    return bench_kernels(a);
}
