/* SPDX-License-Identifier: Apache-2.0 */
/* Races between the threads of a kernel are reported, of each kind, and nothing else is. */
#include <string.h>
#include "interpret/interpret.h"
#include "run_program.h"
#include "test_context.h"

static struct uk_function *lower(struct uk_program *p) {
    const struct uk_options o = {.target = "interp"};
    struct uk_function *f = NULL;

    if (run_lower(p, &o, NULL, NULL, &f))
        fail_msg("%s", uk_context_message(context));
    return f;
}

static struct uk_node *find(struct uk_node *n, enum uk_node_op op, enum uk_loop_kind kind) {
    struct uk_node *found = NULL;

    for (; n && !found; n = n->next) {
        if (n->op == op && (op != UK_N_FOR || n->loop == kind))
            return n;
        if (!(found = find(n->body, op, kind)))
            found = find(n->other, op, kind);
    }
    return found;
}

static const char copy[] = "tensor X f32 [8, 8]\ntensor Y f32 [8, 8]\nY[i, j] = X[i, j] + 1\nschedule\n"
                           "bind i block.x\nsplit j 4 -> jo ji\nbind jo thread.y\nbind ji thread.x\n";

/* Runs the function; message: the expected report, or NULL. */
static void run(struct uk_function *f, const char *message) {
    float x[64] = {0}, y[64];
    struct uk_values v = {.tensor = (void *[]){x, y}};

    uk_context_enter(context, "f");
    enum uk_status status = uk_interpret_function(f, &v, 0xff);
    if (!message) {
        if (status)
            fail_msg("%s", uk_context_message(context));
        return;
    }
    assert_int_equal(status, UK_INTERNAL);
    assert_string_equal(uk_context_message(context), message);
}

static void none(void **state) {
    struct uk_program *p = parse_text(copy);

    (void)state;
    run(lower(p), NULL);
    uk_program_destroy(p);
}

/* Two threads store to one element: the store's subscripts are changed. */
static void two_writers(void **state) {
    struct uk_program *p = parse_text(copy);
    struct uk_function *f = lower(p);
    struct uk_node *store = find(f->body, UK_N_STORE, 0);
    struct uk_arena *a = &p->arena;
    const struct uk_access was = store->target;

    (void)state;
    store->target.index[1] = uk_index_op(a, UK_I_DIV, was.index[1], uk_index_int(a, 4));
    run(f, "f: error: race on Y[0, 0] between thread (0,0) and (1,0); please report this");
    store->target.index[1] = uk_index_op(a, UK_I_MOD, was.index[1], uk_index_int(a, 4));
    run(f, "f: error: race on Y[0, 0] between thread (0,0) and (0,1); please report this");
    store->target = was;
    store->target.index[0] = uk_index_int(a, 3);
    run(f, "f: error: race on Y[3, 0] between thread (0,0) of another block and (0,0); please report this");
    store->target = was;
    run(f, NULL);
    uk_program_destroy(p);
}

/* A thread reads an element that the previous thread writes, or writes one that it reads. */
static void writer_and_reader(void **state) {
    struct uk_program *p = parse_text(copy);
    struct uk_function *f = lower(p);
    struct uk_node *store = find(f->body, UK_N_STORE, 0);
    struct uk_arena *a = &p->arena;
    struct uk_expr *read = store->expr->arg[0];
    struct uk_index *j = read->access.index[1];

    (void)state;
    read->access = store->target;
    run(f, NULL);
    read->access.index[1] = uk_index_op(a, UK_I_DIV, j, uk_index_int(a, 2));
    run(f, "f: error: race on Y[0, 0] between thread (0,0) and (1,0); please report this");
    read->access.index[1] = uk_index_op(a, UK_I_SUB, uk_index_int(a, 7), j);
    run(f, "f: error: race on Y[0, 3] between thread (3,0) and (0,1); please report this");
    uk_program_destroy(p);
}

/* A launch begins after the previous one has ended: no race between them. */
static void launches(void **state) {
    struct uk_program *p = parse_text(
        "tensor X f32 [8, 8]\ntensor Y f32 [8, 8]\nS: Y[i, j] = X[i, j] + 1\n"
        "T: Y[k, l] += X[l, k]\nschedule\n"
        "bind S.i block.x\nbind S.j thread.x\nreorder T.l T.k\nbind T.l block.x\nbind T.k thread.x\n");

    (void)state;
    run(lower(p), NULL);
    uk_program_destroy(p);
}

/* Accesses of a declared kernel count as accesses of the thread that calls it. */
static void calls(void **state) {
    struct uk_program *p =
        parse_text("intrinsic k\n  tensor a f32 [4]\n  tensor c f32 [4]\n  c[i] = a[i]\n"
                   "  compute void k(ptr a, ptr c)\nend\n"
                   "tensor X f32 [8, 8]\ntensor Y f32 [8, 8]\nY[i, j] = X[i, j]\nschedule\n"
                   "bind i block.x\nsplit j 4 -> jo ji\nbind jo thread.x\ntensorize ji k\n");
    struct uk_function *f = lower(p);
    struct uk_node *call = find(f->body, UK_N_CALL, 0);

    (void)state;
    run(f, NULL);
    call->operand[1].index[1] = uk_index_int(&p->arena, 2);
    run(f, "f: error: race on c[0] between thread (0) and (1); please report this");
    uk_program_destroy(p);
}

static const char product[] =
    "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[m, n] = sum(k) A[m, k] * B[k, "
    "n]\nschedule\n"
    "split m 16 -> by m1\nsplit n 8 -> bx n1\nsplit m1 4 -> ty mi\nsplit n1 2 -> tx ni\nsplit k 4 -> ko ki\n"
    "reorder by bx ko ty tx ki mi ni\nbind by block.y\nbind bx block.x\nbind ty thread.y\nbind tx thread.x\n"
    "cache_write C at bx in register\ncache_read A at ko in shared -> AS\ncache_read B at ko in shared -> "
    "BS\n";

/* Returns the place of barrier *number, in program order; NULL: there are fewer, and *number is reduced by
 * their number. */
static struct uk_node **find_barrier(struct uk_node **at, int *number) {
    struct uk_node **found = NULL;

    for (; *at && !found; at = &(*at)->next) {
        if ((*at)->op == UK_N_BARRIER && (*number)-- == 0)
            return at;
        if (!(found = find_barrier(&(*at)->body, number)))
            found = find_barrier(&(*at)->other, number);
    }
    return found;
}

static enum uk_status run_product(struct uk_function *f) {
    enum { M = 20, N = 10, K = 9 };
    float a[M * K], b[K * N], c[M * N];
    struct uk_values v = {.size = (int64_t[]){M, K, N}, .tensor = (void *[]){a, b, c}};

    for (int i = 0; i < M * K; i++)
        a[i] = (float)(i % 7);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)(i % 5);
    uk_context_enter(context, "f");
    enum uk_status status = uk_interpret_function(f, &v, 0xff);
    for (int i = 0; i < M * N && !status; i++) {
        float sum = 0;

        for (int k = 0; k < K; k++)
            sum += a[i / N * K + k] * b[k * N + i % N];
        status = c[i] == sum ? UK_OK : UK_NO_MATCH;
    }
    return status;
}

/* Each barrier is needed: without it, a race is reported. `expected`: the number of barriers. */
static void drop_each(const char *text, int expected) {
    struct uk_program *p = parse_text(text);
    struct uk_function *f = lower(p);
    int barriers = 0;

    assert_int_equal(run_product(f), UK_OK);
    for (;; barriers++) {
        int number = barriers;
        struct uk_node **at = find_barrier(&f->body, &number), *barrier;

        if (!at)
            break;
        barrier = *at;
        *at = barrier->next;
        assert_int_equal(run_product(f), UK_INTERNAL);
        assert_non_null(strstr(uk_context_message(context), "race on "));
        *at = barrier;
    }
    assert_int_equal(barriers, expected);
    assert_int_equal(run_product(f), UK_OK);
    uk_program_destroy(p);
}

static void each_barrier(void **state) {
    (void)state;
    drop_each(product, 2);
}

static struct uk_program *pipelined(int slots, struct uk_function **f) {
    struct uk_text t = {0};

    uk_put(&t, "%spipeline ko %d\n", product, slots);
    assert_non_null(t.text);
    struct uk_program *p = parse_text(t.text);
    *f = lower(p);
    uk_text_free(t.text);
    return p;
}

/* A pipelined loop has one barrier per iteration, which is needed. Reading the slot of another iteration is
 * reported as a race, or gives a wrong result. */
static void pipelines(void **state) {
    (void)state;
    for (int slots = 2; slots <= 4; slots++) {
        struct uk_function *f;
        struct uk_program *p = pipelined(slots, &f);
        int number = 0;
        struct uk_node **at = find_barrier(&f->body, &number), *barrier, *read;

        assert_int_equal(run_product(f), UK_OK);
        assert_non_null(at);
        barrier = *at;
        *at = barrier->next;
        assert_int_equal(run_product(f), UK_INTERNAL);
        *at = barrier;
        for (read = barrier; read->op != UK_N_FOR;)
            read = read->next;
        read = find(read, UK_N_STORE, 0);
        struct uk_index **slot = &read->expr->arg[0]->access.index[0], *was = *slot;
        *slot = uk_index_op(&p->arena, UK_I_MOD,
                            uk_index_op(&p->arena, UK_I_ADD, was, uk_index_int(&p->arena, slots - 1)),
                            uk_index_int(&p->arena, slots));
        assert_int_equal(run_product(f),
                         slots < 4 ? UK_INTERNAL
                                   : UK_NO_MATCH); /* with 4 slots, 3 iterations leave one empty: no race */
        *slot = was;
        number = 1;
        assert_null(find_barrier(&f->body, &number));
        assert_int_equal(run_product(f), UK_OK);
        uk_program_destroy(p);
    }
}

/* Elements that two threads read and none writes need no barrier, nor those that only one thread uses. */
static void no_barrier(void **state) {
    struct uk_program *p =
        parse_text("tensor X f32 [M, 64]\ntemp T f32 [M, 64]\ntensor Y f32 [M, 64]\n"
                   "T[m, i] = X[m, i] + 1\nY[m, i] = T[m, i] * T[m, i]\nschedule\n"
                   "compute_at T Y.m\nbind Y.m block.x\nbind Y.i thread.x\nbind T.i thread.x\n");
    struct uk_function *f = lower(p);
    int number = 0;

    (void)state;
    assert_null(find_barrier(&f->body, &number));
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(none),       cmocka_unit_test(two_writers), cmocka_unit_test(writer_and_reader),
        cmocka_unit_test(launches),   cmocka_unit_test(calls),       cmocka_unit_test(each_barrier),
        cmocka_unit_test(no_barrier), cmocka_unit_test(pipelines),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
