/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "link/link.h"
#include "gpu/gpu.h"
#include "random.h"
#include "schedule_check.h"
#include "target/target.h"
#include "interpret/interpret.h"

enum { MAX_TENSORS = 3, NAN_BYTE = 0xff };

struct uk_context *check_context;
int check_wrong, check_unsimulated;
bool check_quiet, check_compile;

/* ---- programs ---- */

static const char *extent(const struct kind *k, int i, char text[24]) {
    static const char *const name[] = {"M", "N", "K"};

    if (k->fixed[i])
        snprintf(text, 24, "%" PRId64, k->fixed[i]);
    return k->fixed[i] ? text : name[i];
}

static void matrix(struct uk_text *t, const struct kind *k, const char *name, const char *rows,
                   const char *columns, bool transposed) {
    uk_put(t, "tensor %s f32 [%s, %s]", name, transposed ? columns : rows, transposed ? rows : columns);
    if (k->strided)
        uk_put(t, " stride [ld%c, 1]", name[0] - 'A' + 'a');
    uk_put(t, "\n");
}

static void put_program(struct uk_text *t, const struct kind *k) {
    char text[3][24];
    const char *m = extent(k, 0, text[0]), *n = extent(k, 1, text[1]), *p = extent(k, 2, text[2]);
    const char *assign = k->accumulate ? "+=" : "=";
    const char *a = k->a_transposed ? "k, m" : "m, k", *b = k->b_transposed ? "n, k" : "k, n";

    switch (k->shape) {
    case MATMUL:
        matrix(t, k, "A", m, p, k->a_transposed);
        matrix(t, k, "B", p, n, k->b_transposed);
        matrix(t, k, "C", m, n, false);
        uk_put(t, "C[m, n] %s sum(k) %c[%s] * %c[%s]\n", assign, k->swapped ? 'B' : 'A', k->swapped ? b : a,
               k->swapped ? 'A' : 'B', k->swapped ? a : b);
        break;
    case MATMUL_BATCH:
        uk_put(t, "tensor A f32 [3, %s, %s]\ntensor B f32 [%s, %s]\ntensor C f32 [3, %s, %s]\n", m, p, p, n,
               m, n);
        uk_put(t, "C[q, m, n] %s sum(k) B[k, n] * A[q, m, k]\n", assign);
        break;
    case ADD:
        uk_put(t, "tensor A f32 [%s]\ntensor B f32 [%s]\ntensor C f32 [%s]\nC[m] = A[m] + B[m]\n", m, m, m);
        break;
    default:
        matrix(t, k, "A", m, n, false);
        matrix(t, k, "B", m, n, k->b_transposed);
        matrix(t, k, "C", m, n, false);
        uk_put(t, "C[m, n] %s A[m, n] + B[%s]\n", assign, k->b_transposed ? "n, m" : "m, n");
        break;
    }
}

const char *const kind_loops[SHAPES][4] = {{"m", "n", "k"}, {"q", "m", "n", "k"}, {"m"}, {"m", "n"}};

static struct uk_program *parse(const struct kind *k) {
    struct uk_text t = {0};
    struct uk_program *p;

    put_program(&t, k);
    assert_non_null(t.text);
    if (uk_program_parse(check_context, "program.uk", t.text, t.length, &p))
        fail_msg("%s\n%s", uk_context_message(check_context), t.text);
    uk_text_free(t.text);
    return p;
}

/* ---- data ---- */

static int64_t size_value(const char *name, const int64_t mnk[3], const struct kind *k) {
    int64_t m = k->fixed[0] ? k->fixed[0] : mnk[0], n = k->fixed[1] ? k->fixed[1] : mnk[1],
            p = k->fixed[2] ? k->fixed[2] : mnk[2];

    if (name[1])
        switch (name[2]) { /* more than any row needs, and 1 at least */
        case 'a':
            return (k->shape != MATMUL ? n : k->a_transposed ? m : p) + 3;
        case 'b':
            return (k->shape == MATMUL ? k->b_transposed ? p : n : k->b_transposed ? m : n) + 1;
        default:
            return n + 2;
        }
    return name[0] == 'M' ? m : name[0] == 'N' ? n : p;
}

struct data {
    int tensors;
    int64_t size[8];
    size_t bytes[MAX_TENSORS];
    float *start[MAX_TENSORS], *wanted[MAX_TENSORS], *got[MAX_TENSORS];
};

/* Integers up to 4: sums of a hundred products are exact. */
static void fill(struct data *d, struct uk_program *p, const struct kind *k, const int64_t mnk[3]) {
    uint64_t x = 1;
    int i = 0;

    for (; i < uk_program_sizes(p); i++)
        d->size[i] = size_value(uk_program_size_name(p, i), mnk, k);
    d->tensors = uk_program_tensors(p);
    assert_true(d->tensors <= MAX_TENSORS);
    for (i = 0; i < d->tensors; i++) {
        int64_t elements = uk_program_tensor_elements(p, i, d->size);

        assert_true(elements >= 0);
        d->bytes[i] = (size_t)elements * sizeof(float);
        d->start[i] = malloc(d->bytes[i] + 1);
        d->wanted[i] = malloc(d->bytes[i] + 1);
        d->got[i] = malloc(d->bytes[i] + 1);
        assert_true(d->start[i] && d->wanted[i] && d->got[i]);
        for (int64_t e = 0; e < elements; e++)
            d->start[i][e] = (float)(random_below(&x, 9) - 4);
        if (uk_program_tensor_written(p, i) && !k->accumulate)
            memset(d->start[i], NAN_BYTE, d->bytes[i]);
        memcpy(d->wanted[i], d->start[i], d->bytes[i]);
    }
    if (uk_program_interpret(p, d->size, NULL, (void *const *)d->wanted))
        fail_msg("%s", uk_context_message(check_context));
}

static void free_data(struct data *d) {
    for (int i = 0; i < d->tensors; i++) {
        free(d->start[i]);
        free(d->wanted[i]);
        free(d->got[i]);
    }
}

/* ---- one schedule ---- */

/* for v in l .. u becomes: for w in l .. u; let v = l + u - 1 - w. */
static void reverse_parallel(struct uk_arena *a, struct uk_node *n) {
    for (; n; n = n->next) {
        reverse_parallel(a, n->body);
        reverse_parallel(a, n->other);
        if (n->op != UK_N_FOR || n->loop != UK_LOOP_PARALLEL || n->step != 1)
            continue;
        struct uk_node *let = uk_alloc(a, sizeof *let);
        struct uk_var *w = uk_alloc(a, sizeof *w);

        assert_true(let && w);
        *w = (struct uk_var){.name = "backwards", .kind = UK_VAR_LOOP};
        *let = (struct uk_node){.op = UK_N_LET, .var = n->var, .body = n->body, .stage = n->stage};
        let->value = uk_index_op(a, UK_I_SUB, uk_index_op(a, UK_I_ADD, n->lower, n->upper),
                                 uk_index_op(a, UK_I_ADD, uk_index_var(a, w), uk_index_int(a, 1)));
        n->var = w;
        n->body = let;
    }
}

struct attempt {
    struct uk_program *program;
    const struct kind *kind;
    const char *target;
    int threads;
};

/* Prints the first few; the test goes on, so that one run shows all there is. */
static void complain(const struct attempt *t, const char *what, const int64_t mnk[3]) {
    char *text;

    if (check_quiet || ++check_wrong > 5)
        return;
    print_error("target %s, threads %d: %s (M=%" PRId64 " N=%" PRId64 " K=%" PRId64 ")\n", t->target,
                t->threads, what, mnk[0], mnk[1], mnk[2]);
    print_error("%s\n", uk_context_message(check_context));
    if (!uk_program_print(t->program, &text)) {
        print_error("%s", text);
        uk_text_free(text);
    }
}

/* The simulator's GPU that the target's code is for: opened when one is wanted first, and not closed. */
static struct uk_gpu *gpu_of(const char *target) {
    static struct uk_gpu *gpu[2];
    const int ordinal = !strcmp(target, "amdgcn-gfx90a");
    char why[UK_GPU_MESSAGE];

    if (!gpu[ordinal] && uk_gpu_open("sim", ordinal, &gpu[ordinal], why))
        fail_msg("%s", why);
    return gpu[ordinal];
}

/* Through device memory of just the tensors' bytes. */
static bool call_on_gpu(const struct attempt *t, const struct uk_module *code, struct data *d) {
    struct uk_gpu *gpu = gpu_of(t->target);
    uk_gpu_address at[MAX_TENSORS];
    void *argument[MAX_TENSORS + 1] = {gpu};

    for (int i = 0; i < d->tensors; i++) {
        assert_int_equal(uk_gpu_alloc(gpu, d->bytes[i], &at[i]), UK_OK);
        assert_int_equal(uk_gpu_upload(gpu, at[i], d->got[i], d->bytes[i]), UK_OK);
        argument[i + 1] = (void *)(uintptr_t)at[i];
    }
    const int status = uk_module_call(code, d->size, NULL, argument);
    const bool unknown = status && strstr(uk_gpu_message(gpu), "is not simulated");
    if (status && !unknown && !check_quiet)
        print_error("status %d: %s\n", status, uk_gpu_message(gpu));
    check_unsimulated += unknown;
    for (int i = 0; i < d->tensors; i++) {
        assert_int_equal(uk_gpu_download(gpu, d->got[i], at[i], d->bytes[i]), UK_OK);
        assert_int_equal(uk_gpu_free(gpu, at[i]), UK_OK);
    }
    for (int i = 0; i < d->tensors && unknown; i++)
        memcpy(d->got[i], d->wanted[i], d->bytes[i]);
    return !status || unknown;
}

/* The loops are interpreted, or called where they are compiled. */
static bool run_and_compare(const struct attempt *t, struct uk_function *f, const struct uk_module *code,
                            const int64_t mnk[3], const char *how) {
    struct data d;

    fill(&d, t->program, t->kind, mnk);
    for (int i = 0; i < d.tensors; i++)
        memcpy(d.got[i], d.start[i], d.bytes[i]);
    uk_context_enter(check_context, "program.uk");
    bool right = code && !strncmp(t->target, "amdgcn", 6) ? call_on_gpu(t, code, &d)
                 : code
                     ? !uk_module_call(code, d.size, NULL, (void *const *)d.got)
                     : !uk_interpret_function(
                           f, &(struct uk_values){.size = d.size, .tensor = (void *const *)d.got}, NAN_BYTE);
    for (int i = 0; i < d.tensors; i++)
        right = right && !memcmp(d.got[i], d.wanted[i], d.bytes[i]);
    if (!right)
        complain(t, how, mnk);
    free_data(&d);
    return right;
}

static enum uk_status lower(const struct attempt *t, struct uk_text *steps, struct uk_function **f) {
    const struct uk_target *target;
    const struct uk_options o = {.target = t->target, .threads = t->threads};

    uk_context_enter(check_context, "program.uk");
    if (uk_target_find(check_context, t->target, &target))
        fail_msg("%s", uk_context_message(check_context));
    return uk_lower(t->program, target, &o, NULL, steps, f);
}

static const int64_t all_sizes[CHECK_SIZES][3] = {
    {0, 5, 4},   {5, 0, 4},   {5, 4, 0},   {1, 1, 1},   {2, 3, 5},   {14, 32, 16}, {15, 33, 17},
    {13, 31, 3}, {29, 65, 4}, {16, 48, 8}, {7, 17, 33}, {6, 16, 48}, {4, 24, 8},   {64, 1, 2},
    {1, 70, 7},  {3, 2, 70},  {28, 64, 3}, {17, 49, 5}, {41, 20, 6}, {7, 96, 9},
};

static bool compiled_is_right(const struct attempt *t, struct uk_function *f, const int *sizes, int n) {
    const struct uk_target *target;
    struct uk_module *code = uk_module_create();
    const int64_t none[3] = {0};

    assert_non_null(code);
    uk_context_enter(check_context, "program.uk");
    bool right = !uk_target_find(check_context, t->target, &target) &&
                 !uk_module_build(check_context, f, target, code);
    if (!right)
        complain(t, "it does not compile", none);
    for (int i = 0; i < n && right; i++)
        right = run_and_compare(t, f, code, all_sizes[sizes[i]], "wrong when compiled");
    uk_module_destroy(code);
    return right;
}

/* The steps that were applied, as text, give the same loops. */
static bool check_printed_steps(const struct attempt *t, const char *steps, const struct uk_text *loops) {
    const int64_t none[3] = {0};
    struct uk_text again = {0};
    struct uk_function *f;

    if (uk_program_schedule(t->program, "steps", steps, strlen(steps)) || lower(t, NULL, &f)) {
        complain(t, "the printed steps are refused", none);
        return false;
    }
    uk_print_loops(&again, f);
    bool same = again.text && !strcmp(again.text, loops->text);
    if (!same)
        complain(t, "the printed steps give other loops", none);
    uk_text_free(again.text);
    return same;
}

static bool any_fixed(const struct kind *k) {
    return k->fixed[0] || k->fixed[1] || k->fixed[2];
}

/* ---- races ---- */

static struct uk_node *parallel_loop(struct uk_node *n, int *number) {
    for (; n; n = n->next) {
        /* Copies fill buffers, which do not outlive a run; C_init is a nest before. */
        if (n->op == UK_N_FOR && n->loop == UK_LOOP_PARALLEL && n->step == 1 && !strcmp(n->stage, "C") &&
            (*number)-- == 0)
            return n;
        struct uk_node *found = parallel_loop(n->body, number);
        if (!found)
            found = parallel_loop(n->other, number);
        if (found)
            return found;
    }
    return NULL;
}

/* The output after iterations [from, to) of the loop and all of the others. */
static bool run_part(const struct attempt *t, struct uk_function *f, struct uk_node *loop, int from, int to,
                     struct data *d, float *out) {
    const struct uk_node saved = *loop;
    struct uk_arena *a = &t->program->arena;
    const int c = d->tensors - 1;

    loop->lower = uk_index_op(a, UK_I_ADD, saved.lower, uk_index_int(a, from));
    loop->upper =
        uk_index_op(a, UK_I_MIN, saved.upper, uk_index_op(a, UK_I_ADD, saved.lower, uk_index_int(a, to)));
    memcpy(d->got[c], d->start[c], d->bytes[c]);
    uk_context_enter(check_context, "program.uk");
    bool ran = !uk_interpret_function(
        f, &(struct uk_values){.size = d->size, .tensor = (void *const *)d->got}, NAN_BYTE);
    memcpy(out, d->got[c], d->bytes[c]);
    loop->lower = saved.lower;
    loop->upper = saved.upper;
    return ran;
}

/* The first iterations of each parallel loop, each alone: none changes what another one does. */
static bool no_race(const struct attempt *t, struct uk_function *f, const int64_t mnk[3]) {
    enum { ITERATIONS = 3 };
    struct data d;
    bool apart = true;

    fill(&d, t->program, t->kind, mnk);
    for (int i = 0; i < d.tensors; i++)
        memcpy(d.got[i], d.start[i], d.bytes[i]);
    const size_t bytes = d.bytes[d.tensors - 1], elements = bytes / sizeof(float);
    float *none = malloc(bytes + 1), *one = malloc(bytes + 1);
    bool *changed = calloc(elements + 1, sizeof *changed);
    assert_true(none && one && changed);
    for (int number = 0; apart; number++) {
        int left = number;
        struct uk_node *loop = parallel_loop(f->body, &left);

        if (!loop)
            break;
        memset(changed, 0, elements * sizeof *changed);
        apart = run_part(t, f, loop, 0, 0, &d, none);
        for (int i = 0; i < ITERATIONS && apart; i++) {
            apart = run_part(t, f, loop, i, i + 1, &d, one);
            for (size_t e = 0; e < elements; e++)
                if (memcmp(&one[e], &none[e], sizeof *one)) {
                    apart = apart && !changed[e];
                    changed[e] = true;
                }
        }
    }
    if (!apart)
        complain(t, "two iterations of a parallel loop store to one element", mnk);
    free(none);
    free(one);
    free(changed);
    free_data(&d);
    return apart;
}

static enum outcome outcome_of(const struct attempt *t, const int *sizes, int n) {
    struct uk_text steps = {0}, loops = {0};
    struct uk_function *f;
    const int64_t none[3] = {0};
    bool right = true;

    enum uk_status status = lower(t, &steps, &f);
    if (status) {
        uk_text_free(steps.text);
        if ((status == UK_REFUSED || status == UK_NO_MATCH) && *uk_context_message(check_context))
            return REFUSED;
        complain(t, "a refusal without a reason", none);
        return WRONG;
    }
    uk_print_loops(&loops, f);
    assert_non_null(loops.text);
    if (f->is_parallel)
        right = no_race(t, f, all_sizes[sizes[n - 1]]);
    for (int backwards = 0; backwards <= f->is_parallel; backwards++) {
        if (backwards)
            reverse_parallel(&t->program->arena, f->body);
        for (int i = 0; i < n && right; i++)
            right = run_and_compare(t, f, NULL, all_sizes[sizes[i]],
                                    backwards ? "wrong, parallel loops backwards" : "wrong");
    }
    if (right && check_compile)
        right = compiled_is_right(t, f, sizes, n);
    if (right && steps.text && steps.length)
        right = check_printed_steps(t, steps.text, &loops);
    uk_text_free(steps.text);
    uk_text_free(loops.text);
    return right ? RIGHT : WRONG;
}

enum outcome check_schedule(const struct kind *k, const char *target, int threads, const char *steps,
                            const int *sizes, int n) {
    struct attempt t = {.program = parse(k), .kind = k, .target = target, .threads = threads};

    if (*steps && uk_program_schedule(t.program, "program.uk", steps, strlen(steps)))
        fail_msg("%s\n%s", uk_context_message(check_context), steps);
    enum outcome o = outcome_of(&t, sizes, any_fixed(k) ? 1 : n);
    uk_program_destroy(t.program);
    return o;
}
