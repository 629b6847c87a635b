/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "check.h"
#include "compiled.h"

int check_wrong, check_unsimulated;
bool check_quiet, check_compile;
const char *check_again = "schedules";

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

/* ---- data ---- */

static int64_t size_value(const char *name, const int64_t mnk[3], const struct kind *k) {
    int64_t m = k->fixed[0] ? k->fixed[0] : mnk[0], n = k->fixed[1] ? k->fixed[1] : mnk[1],
            p = k->fixed[2] ? k->fixed[2] : mnk[2];

    if (name[1])
        switch (name[2]) { /* at least 1 and more than a row's elements */
        case 'a':
            return (k->shape != MATMUL ? n : k->a_transposed ? m : p) + 3;
        case 'b':
            return (k->shape == MATMUL ? k->b_transposed ? p : n : k->b_transposed ? m : n) + 1;
        default:
            return n + 2;
        }
    return name[0] == 'M' ? m : name[0] == 'N' ? n : p;
}

static const int64_t all_sizes[CHECK_SIZES][3] = {
    {0, 5, 4},   {5, 0, 4},   {5, 4, 0},   {1, 1, 1},   {2, 3, 5},   {14, 32, 16}, {15, 33, 17},
    {13, 31, 3}, {29, 65, 4}, {16, 48, 8}, {7, 17, 33}, {6, 16, 48}, {4, 24, 8},   {64, 1, 2},
    {1, 70, 7},  {3, 2, 70},  {28, 64, 3}, {17, 49, 5}, {41, 20, 6}, {7, 96, 9},
};

/* Data of one schedule, by number of the size. */
static struct random_data data[CHECK_SIZES];

static void fill(const struct kind *k, struct uk_program *p, const int *sizes, int n) {
    for (int i = 0; i < n; i++) {
        data[i] = (struct random_data){0};
        for (int s = 0; s < uk_program_sizes(p); s++)
            data[i].size[s] = size_value(uk_program_size_name(p, s), all_sizes[sizes[i]], k);
        random_data_fill(&data[i], p, 1);
        assert_int_equal(data[i].status, UK_OK);
    }
}

/* ---- GPUs ---- */

/* The simulated GPU for the target's code. It is opened at the first use and never closed. */
static struct uk_gpu *gpu_of(const char *target) {
    static struct uk_gpu *gpu[TARGETS];
    const int ordinal = !strcmp(target, targets[1]);

    if (!gpu[ordinal])
        gpu[ordinal] = open_gpu("sim", ordinal);
    return gpu[ordinal];
}

/* Calls the code on the GPU. A call that the simulator does not support counts as right. */
static int call_simulated(const struct run *r, const int64_t *sizes, struct random_data *d) {
    const int status = call_on_gpu(r, sizes, d);
    const bool unknown = status && strstr(uk_gpu_message(r->device), "is not simulated");

    if (status && !unknown && !r->is_quiet)
        print_error("status %d: %s\n", status, uk_gpu_message(r->device));
    check_unsimulated += unknown;
    for (int i = 0; i < d->tensors && unknown; i++)
        memcpy(d->origin[i], d->wanted[i] + RANDOM_DATA_MARGIN, d->bytes[i]);
    return unknown ? UK_OK : status;
}

/* ---- parallel loops ---- */

/* Reverses parallel loops: `for v in l .. u` becomes `for w in l .. u; let v = l + u - 1 - w`. */
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

static struct uk_node *parallel_loop(struct uk_node *n, int *number) {
    for (; n; n = n->next) {
        /* Only loops of C itself: copies fill buffers, whose content is not compared, and C_init is a
         * separate nest. */
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

/* Runs all loops, but of this one only the iterations [from, to), and copies the output. */
static bool run_part(const struct run *r, struct random_data *d, struct uk_node *loop, int from, int to,
                     float *out) {
    const struct uk_node saved = *loop;
    struct uk_arena *a = &r->program->arena;

    loop->lower = uk_index_op(a, UK_I_ADD, saved.lower, uk_index_int(a, from));
    loop->upper =
        uk_index_op(a, UK_I_MIN, saved.upper, uk_index_op(a, UK_I_ADD, saved.lower, uk_index_int(a, to)));
    const bool ran = !run_call(r, d);
    memcpy(out, d->origin[d->tensors - 1], d->bytes[d->tensors - 1]);
    loop->lower = saved.lower;
    loop->upper = saved.upper;
    return ran;
}

/* Runs the first iterations of each parallel loop one by one: no two change the same element. */
static bool no_race(struct run *r, struct random_data *d) {
    enum { ITERATIONS = 3 };
    const size_t bytes = d->bytes[d->tensors - 1], elements = bytes / sizeof(float);
    float *none = malloc(bytes + 1), *one = malloc(bytes + 1);
    bool *changed = calloc(elements + 1, sizeof *changed), apart = true;

    assert_true(none && one && changed);
    for (int number = 0; apart; number++) {
        int left = number;
        struct uk_node *loop = parallel_loop(r->loops->body, &left);

        if (!loop)
            break;
        memset(changed, 0, elements * sizeof *changed);
        apart = run_part(r, d, loop, 0, 0, none);
        for (int i = 0; i < ITERATIONS && apart; i++) {
            apart = run_part(r, d, loop, i, i + 1, one);
            for (size_t e = 0; e < elements; e++)
                if (memcmp(&one[e], &none[e], sizeof *one)) {
                    apart = apart && !changed[e];
                    changed[e] = true;
                }
        }
    }
    if (!apart)
        run_complain(r, d, "two iterations of a parallel loop store to one element");
    free(none);
    free(one);
    free(changed);
    return apart;
}

/* ---- one schedule ---- */

static bool all_right(struct run *r, int n) {
    bool right = true;

    for (int i = 0; i < n && right; i++)
        right = run_is_right(r, &data[i]);
    return right;
}

static bool runs_right(struct run *r, int n) {
    bool right = (!r->loops->is_parallel || no_race(r, &data[n - 1])) && all_right(r, n);

    if (right && r->loops->is_parallel) {
        reverse_parallel(&r->program->arena, r->loops->body);
        right = all_right(r, n);
    }
    if (!right || !check_compile)
        return right;
    if (run_code(r)) {
        run_complain(r, NULL, "it does not compile");
        return false;
    }
    if (!strncmp(r->options.target, "amdgcn", 6)) {
        r->device = gpu_of(r->options.target);
        r->call = call_simulated;
    }
    return all_right(r, n);
}

static enum outcome outcome_of(struct run *r, const struct kind *k, const int *sizes, int n) {
    struct uk_text steps = {0};
    const enum uk_status status = run_loops(r, &steps);
    bool right = !status;

    if (status && (status == UK_REFUSED || status == UK_NO_MATCH) && *uk_context_message(r->context)) {
        uk_text_free(steps.text);
        return REFUSED;
    }
    if (status)
        run_complain(r, NULL, "a refusal without a reason");
    if (right && steps.text && steps.length &&
        !run_gives_loops(r->program, &r->options, steps.text, r->loops)) {
        run_complain(r, NULL, "the steps as applied give other loops");
        right = false;
    }
    uk_text_free(steps.text);
    if (!right)
        return WRONG;
    fill(k, r->program, sizes, n);
    right = runs_right(r, n);
    for (int i = 0; i < n; i++)
        random_data_free(&data[i]);
    return right ? RIGHT : WRONG;
}

static bool any_fixed(const struct kind *k) {
    return k->fixed[0] || k->fixed[1] || k->fixed[2];
}

enum outcome check_schedule(struct uk_context *c, const struct kind *k, const char *target, int threads,
                            const char *steps, const int *sizes, int n) {
    struct uk_text text = {0};
    struct run r = {.context = c,
                    .options = {.target = target, .threads = threads},
                    .repeat_arguments = check_again,
                    .is_quiet = check_quiet};

    put_program(&text, k);
    assert_non_null(text.text);
    r.program = run_parse(c, "program.uk", text.text, steps);
    uk_text_free(text.text);
    const enum outcome o = outcome_of(&r, k, sizes, any_fixed(k) ? 1 : n);
    check_wrong += r.wrong;
    run_end(&r);
    return o;
}
