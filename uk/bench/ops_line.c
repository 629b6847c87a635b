/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench ops: measures one shape of an operator, in turns with a copy and with ONNX Runtime. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "ops.h"

/* A call of ONNX Runtime costs up to 30 us in addition to its nodes. From these seconds on it is below 2 %:
 * one node is timed, and no difference of two graphs. */
static const double LONG_CALL = 2e-3;

/* Operands of more bytes need several calls until those of the contender before have left the caches; short
 * samples are seldom interrupted by other processes. */
static const double BIG = 8e6, LONG_SAMPLE = 40e-3, SHORT_SAMPLE = 1e-3;

/* Rounds; fewer if a call of the larger graph takes this long, which varies less than a short one. */
enum { ROUNDS = 21, FEW_ROUNDS = 9 };
static const double LONG_GRAPH = 5e-3;

/* Buffers of the copy. */
struct copy {
    void *from, *to;
    size_t bytes;
};

/* ONNX Runtime's two graphs as contenders. */
struct graph {
    struct bench_op_peer *peer;
    bool all;
};

/* What takes turns. */
struct turns {
    struct copy copy;
    struct graph graph[2];
    struct bench_contender contender[4];
    int count, copy_at, graph_at; /* 0: absent */
    bool is_difference;           /* both graphs are timed */
    int rounds;
};

/* ---- calls ---- */

static void repeat_ours(void *user, long calls) {
    uk_own_operator_repeat(user, calls);
}

static void repeat_copy(void *user, long calls) {
    const struct copy *c = user;
    for (long i = 0; i < calls; i++) {
        memcpy(c->to, c->from, c->bytes);
        __asm__ volatile("" ::: "memory"); /* the compiler keeps every copy */
    }
}

static void repeat_graph(void *user, long calls) {
    const struct graph *g = user;
    for (long i = 0; i < calls; i++)
        bench_op_peer_run(g->peer, g->all);
}

/* ---- the check of the peer's results ---- */

/* Largest difference, relative to the largest magnitude of a result: some roundings of long sums and
 * approximate functions. Whole numbers must be equal. */
static double tolerance_of(const struct bench_op_tensor *t) {
    static const struct {
        const char *type;
        double relative;
    } types[] = {{"f32", 0x1p-15}, {"f64", 0x1p-36}, {"f16", 0x1p-8}, {"bf16", 0x1p-5}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(t->type, types[i].type))
            return types[i].relative;
    return 0;
}

static int compare_tensor(const struct op_line *l, struct bench_op_peer *p, int tensor) {
    const struct bench_op_tensor *t = &l->call.tensor[tensor];
    const void *theirs = bench_op_peer_result(p, tensor);
    double largest = 0;
    if (!theirs)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int64_t i = 0; i < t->elements; i++) {
        const double size = fabs(bench_op_value(t, theirs, i));
        largest = isfinite(size) && size > largest ? size : largest;
    }
    for (int64_t i = 0; i < t->elements; i++) {
        const double a = bench_op_value(t, t->data, i), b = bench_op_value(t, theirs, i);
        if (a == b || fabs(a - b) <= tolerance_of(t) * largest || (isnan(a) && isnan(b)))
            continue;
        char text[BENCH_OP_TEXT];
        bench_op_text(l->call.shape, text, sizeof text);
        return uk_complain(UK_EXIT_WRONG,
                           "operator %s, %s: element %" PRId64
                           " of %s is %g, but ONNX Runtime has %g; correct the "
                           "program or the nodes",
                           l->call.op->name, text, i, t->name, a, b);
    }
    return UK_EXIT_OK;
}

/* Runs both graphs once, and compares the results. Exit status. */
static int check_peer(const struct op_line *l, struct bench_op_peer *p, struct turns *turns) {
    int status = UK_EXIT_OK;
    if (!bench_op_peer_run(p, true) || !bench_op_peer_run(p, false))
        return uk_complain(UK_EXIT_WRONG, "operator %s: ONNX Runtime refuses its nodes; correct them",
                           l->call.op->name);
    const double start = bench_seconds();
    bench_op_peer_run(p, false);
    const double seconds = bench_seconds() - start;
    turns->is_difference = seconds < LONG_CALL;
    if (seconds * BENCH_OP_COPIES > LONG_GRAPH)
        turns->rounds = FEW_ROUNDS;
    for (int t = 0; t < l->call.tensors && !status; t++)
        if (l->call.tensor[t].is_written)
            status = compare_tensor(l, p, t);
    return status;
}

/* ---- turns ---- */

static void add(struct turns *t, const char *name, void (*repeat)(void *, long), void *user) {
    t->contender[t->count++] = (struct bench_contender){.name = name, .repeat = repeat, .user = user};
}

/* Exit status. */
static int add_copy(const struct ops_session *s, const struct op_line *l, struct turns *t) {
    struct copy *c = &t->copy;
    if (s->peer[OPS_COPY].missing)
        return UK_EXIT_OK;
    c->bytes = (size_t)((bench_op_bytes_in(&l->call) + bench_op_bytes_out(&l->call)) / 2);
    c->from = bench_op_allocate(c->bytes, 0);
    c->to = bench_op_allocate(c->bytes, 1);
    if (!c->from || !c->to)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    memset(c->from, 0, c->bytes);
    t->copy_at = t->count;
    add(t, "copy", repeat_copy, c);
    return UK_EXIT_OK;
}

/* Exit status. */
static int add_peer(struct ops_session *s, const struct op_line *l, struct turns *t) {
    const struct bench_library *library = &s->peer[OPS_ONNXRUNTIME];
    char message[BENCH_OP_TEXT];
    if (library->missing || !l->call.op->nodes)
        return UK_EXIT_OK;
    struct bench_op_peer *p = bench_op_peer_begin(library, &l->call, message, sizeof message);
    if (!p && *message)
        return uk_complain(UK_EXIT_WRONG, "operator %s: %s", l->call.op->name, message);
    if (!p) {
        fprintf(stderr, "ONNX Runtime: does not compute %s of %s\n", l->call.op->name, l->call.shape->type);
        return UK_EXIT_OK;
    }
    t->graph[0] = (struct graph){p, false};
    t->graph[1] = (struct graph){p, true};
    const int status = check_peer(l, p, t);
    t->graph_at = t->count;
    for (int i = 0; i <= t->is_difference; i++)
        add(t, "ONNX Runtime", repeat_graph, &t->graph[i]);
    return status;
}

/* One node's time: that of the only graph, or the difference of both over the nodes that one has in addition.
 */
static struct bench_contender node_of(const struct turns *t) {
    const double more = BENCH_OP_COPIES - 1;
    struct bench_contender one = t->contender[t->graph_at];
    const struct bench_contender *all = &t->contender[t->graph_at + 1];
    if (!t->is_difference)
        return one;
    one.calls = all->calls;
    one.seconds = fmax(all->seconds - one.seconds, 1e-12) / more;
    one.fastest = fmax(all->fastest - one.fastest, 1e-12) / more;
    one.slowest = fmax(all->slowest - one.slowest, 1e-12) / more;
    one.ratio = (all->ratio - one.ratio) / more;
    return one;
}

static void take_results(struct op_line *l, const struct turns *t) {
    struct op_result *r = &l->result;
    r->ours = t->contender[0];
    if (t->copy_at) {
        r->copy = t->contender[t->copy_at];
        r->share = r->copy.ratio;
    }
    if (t->graph_at) {
        r->onnxruntime = node_of(t);
        r->x_onnxruntime = r->onnxruntime.ratio;
    }
}

/* Exit status; *measured: the time was not up before. */
static int take_turns(struct ops_session *s, struct op_line *l, bool *measured) {
    struct turns t = {.rounds = ROUNDS};
    add(&t, "ukernels", repeat_ours, l->own);
    int status = add_copy(s, l, &t);
    if (!status)
        status = add_peer(s, l, &t);
    const double bytes = bench_op_bytes_in(&l->call) + bench_op_bytes_out(&l->call);
    struct bench_plan plan = {.isa = s->isa,
                              .threads = s->threads,
                              .deadline = s->deadline,
                              .rounds = t.rounds,
                              .sample_time = bytes > BIG ? LONG_SAMPLE : SHORT_SAMPLE};
    if (!status) {
        const enum uk_status failed = bench_paired(&plan, t.contender, t.count);
        if (failed)
            status = uk_complain(UK_EXIT_WRONG, "measuring failed: %s", uk_status_text(failed));
        *measured = !failed && plan.rounds;
    }
    if (*measured)
        take_results(l, &t);
    bench_op_deallocate(t.copy.from, 0);
    bench_op_deallocate(t.copy.to, 1);
    if (t.graph[0].peer)
        bench_op_peer_end(t.graph[0].peer);
    return status;
}

/* ---- the line ---- */

/* NumPy's time relative to ours; where a copy takes turns with both, relative to the copy next to each. */
static double x_numpy(const struct op_result *r) {
    if (r->numpy.seconds <= 0)
        return 0;
    return r->share > 0 && r->numpy.copy > 0 ? r->share * r->numpy.seconds / r->numpy.copy
                                             : r->numpy.seconds / r->ours.seconds;
}

/* Makes the operands and ours, and checks its result. Exit status. */
static int prepare(struct ops_session *s, struct op_line *l) {
    char message[BENCH_OP_TEXT];
    if (!uk_own_operator_describe(l->own, &l->call))
        return UK_EXIT_WRONG;
    if (!bench_op_data_create(&l->call, message, sizeof message))
        return uk_complain(UK_EXIT_WRONG, "operator %s: %s", l->call.op->name,
                           *message ? message : "out of memory");
    if (!uk_own_operator_compile(l->own, &l->call, s->a))
        return UK_EXIT_WRONG;
    bench_op_spoil(&l->call);
    uk_own_operator_repeat(l->own, 1);
    return uk_own_operator_check(l->own, &l->call, s->a) ? UK_EXIT_OK : UK_EXIT_WRONG;
}

int uk_bench_op_line(struct ops_session *s, const struct op_shape *shape) {
    struct bench_op_case sizes = shape->shape;
    struct op_line l = {.shape = shape, .call = {.op = shape->op, .shape = &sizes}};
    bool measured = false;
    l.own = uk_own_operator_parse(shape->op, &sizes);
    int status = l.own ? prepare(s, &l) : UK_EXIT_WRONG;
    if (!status)
        status = take_turns(s, &l, &measured);
    if (measured && !s->peer[OPS_NUMPY].missing)
        l.result.numpy = uk_numpy_measure(&s->numpy, &l.call);
    l.result.x_numpy = x_numpy(&l.result);
    if (!status && measured)
        uk_bench_keep_op(s, &l);
    bench_op_data_free(&l.call);
    uk_own_operator_free(l.own);
    return status;
}
