/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench ops: compares operators that no kernel computes with a copy of as many bytes, ONNX Runtime and
 * NumPy, on the shapes of bench/ops/operators.txt or on drawn ones. */
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>
#include <string.h>
#include "base/base.h"
#include "file.h"
#include "machine/machine.h"
#include "ops.h"

enum { DRAWN = 20 /* shapes of an operator */ };

/* ---- selection ---- */

static int check_options(const struct uk_arguments *a) {
    if (a->positionals > 1)
        return uk_complain(UK_EXIT_USAGE, "uk bench ops takes no '%s'; --set chooses operators",
                           a->positional[1]);
    if (a->plot)
        return uk_complain(UK_EXIT_USAGE, "--plot is for uk bench gemm and conv; leave it out");
    if (!a->sweep && uk_repeated_option(a, "--seed", 0))
        return uk_complain(UK_EXIT_USAGE, "--seed is only for --sweep, which draws shapes; leave it out");
    return UK_EXIT_OK;
}

static int read_table(struct ops_session *s) {
    const char *path = s->a->shapes;
    char message[256] = "", *text = NULL;
    size_t length;
    if (path && !(text = uk_read_file(path, &length)))
        return UK_EXIT_WRONG;
    const enum uk_status status =
        bench_ops_parse(text ? text : bench_operators_text, &s->ops, message, sizeof message);
    free(text);
    if (status)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", path ? path : "operators",
                           *message ? message : uk_status_text(status));
    return s->ops.count ? UK_EXIT_OK
                        : uk_complain(UK_EXIT_USAGE, "the file has no operator; add lines as in "
                                                     "bench/ops/operators.txt");
}

/* Complains of a name of --set that no operator has. */
static int check_set(const struct ops_session *s) {
    const char *list = s->a->set;
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
        char word[BENCH_OP_NAME];
        bool known = false;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(p, ","), p);
        struct uk_closest_name near = {.word = word};
        for (int i = 0; i < s->ops.count; i++) {
            known |= !strcmp(s->ops.op[i].name, word);
            uk_consider_name(&near, s->ops.op[i].name);
        }
        if (!known)
            return uk_complain(
                UK_EXIT_USAGE,
                "--set: unknown operator '%s'%s%s%s the lines `operator` of bench/ops/operators.txt "
                "name all",
                word, near.name ? "; did you mean '" : ";", near.name ? near.name : "",
                near.name ? "'?" : "");
    }
    return UK_EXIT_OK;
}

static struct op_shape *add_shape(struct ops_session *s) {
    if (s->count == s->room) {
        struct op_shape *more = realloc(s->shape, (size_t)(2 * s->room + 64) * sizeof *more);
        if (!more)
            return NULL;
        s->shape = more;
        s->room = 2 * s->room + 64;
    }
    return &s->shape[s->count++];
}

/* True if a shape before has the same type and sizes. */
static bool is_repeated(const struct ops_session *s, const struct op_shape *last) {
    char text[2][BENCH_OP_TEXT];
    bench_op_text(&last->shape, text[0], sizeof text[0]);
    for (const struct op_shape *p = s->shape; p < last; p++) {
        bench_op_text(&p->shape, text[1], sizeof text[1]);
        if (p->op == last->op && !strcmp(text[0], text[1]) && !strcmp(p->shape.type, last->shape.type))
            return true;
    }
    return false;
}

/* Adds the cases of the operator; with --type all of them have that type. */
static int add_cases(struct ops_session *s, const struct bench_op *op) {
    for (int i = 0; i < op->cases; i++) {
        struct op_shape *shape = add_shape(s);
        if (!shape)
            return uk_complain(UK_EXIT_WRONG, "out of memory");
        *shape = (struct op_shape){op, op->shape_case[i]};
        if (s->a->type)
            snprintf(shape->shape.type, sizeof shape->shape.type, "%s", s->a->type);
        if (is_repeated(s, shape))
            s->count--;
    }
    return UK_EXIT_OK;
}

/* The shape whose drawn sizes are replaced: the operator's first case, with these sizes. */
static struct bench_op_case first_of(const struct ops_session *s, const struct bench_op *op) {
    struct bench_op_case c = op->cases ? op->shape_case[0] : (struct bench_op_case){0};
    snprintf(c.type, sizeof c.type, "%s", s->a->type ? s->a->type : op->type[0]);
    for (int i = 0; i < op->draws && c.count < BENCH_OP_SIZES; i++) {
        if (bench_op_size_value(&c, op->draw[i].name) >= 0)
            continue;
        struct bench_op_size *size = &c.size[c.count++];
        memcpy(size->name, op->draw[i].name, sizeof size->name);
        size->value = op->draw[i].least;
    }
    return c;
}

/* Draws shapes whose operands have 8 KiB to four times L2. */
static int add_drawn(struct ops_session *s, const struct bench_op *op) {
    const double least = 8192, most = 4 * (double)uk_machine()->core.l2.size;
    uint64_t state = bench_op_draw_begin(op, (uint64_t)s->a->seed);
    struct bench_op_case first = first_of(s, op), all = first;
    int status = UK_EXIT_OK;
    if (!op->draws)
        return UK_EXIT_OK;
    struct uk_own_operator *own = uk_own_operator_parse(op, &all);
    if (!own)
        return UK_EXIT_WRONG;
    for (int i = 0; i < (s->a->drawn ? (int)s->a->drawn : DRAWN) && !status; i++) {
        struct op_shape *shape = add_shape(s);
        if (!shape) {
            status = uk_complain(UK_EXIT_WRONG, "out of memory");
            break;
        }
        *shape = (struct op_shape){op, first};
        if (!bench_op_draw_sizes(op, &shape->shape, least, most, uk_own_operator_bytes, own, &state))
            status = uk_complain(
                UK_EXIT_WRONG,
                "operator %s: no sizes within its lines `draw` have operands of %.0f to %.0f bytes; "
                "correct these lines",
                op->name, least, most);
    }
    uk_own_operator_free(own);
    return status;
}

static int choose_shapes(struct ops_session *s) {
    int status = check_set(s);
    for (int i = 0; i < s->ops.count && !status; i++) {
        const struct bench_op *op = &s->ops.op[i];
        if (uk_bench_listed(s->a->set, op->name) && (!s->a->type || bench_op_has_type(op, s->a->type)))
            status = (s->a->sweep ? add_drawn : add_cases)(s, op);
    }
    if (!status && !s->count)
        status = uk_complain(UK_EXIT_USAGE, "none of these operators has %s%s; leave out --type or --set",
                             s->a->type ? "the type " : "a shape", s->a->type ? s->a->type : "");
    return status;
}

/* ---- the command ---- */

static int open_peers(struct ops_session *s) {
    struct bench_library *copy = &s->peer[OPS_COPY], *numpy = &s->peer[OPS_NUMPY];
    bench_op_peer_open(&s->peer[OPS_ONNXRUNTIME], bench_peers_directory(), s->threads);
    *numpy = (struct bench_library){.name = "NumPy"};
    *copy = (struct bench_library){.name = "copy", .missing = s->threads > 1};
    snprintf(copy->detail, sizeof copy->detail, "%s",
             copy->missing ? "one thread only" : "memcpy of half as many bytes as operands and results have");
    const int status = uk_bench_choose_libraries(s->a->peers, s->peer, OPS_PEERS, "ONNX, NumPy, copy");
    if (status || numpy->missing)
        return status;
    uk_numpy_begin(&s->numpy);
    numpy->missing = s->numpy.missing;
    memcpy(numpy->detail, s->numpy.detail, sizeof numpy->detail);
    return UK_EXIT_OK;
}

static void tell_progress(struct ops_session *s, const struct op_shape *shape) {
    char text[BENCH_OP_TEXT];
    if (s->done && bench_seconds() - s->printed < 1)
        return;
    s->printed = bench_seconds();
    bench_op_text(&shape->shape, text, sizeof text);
    fprintf(stderr, "uk bench: %d of %d, %s %s %s\n", s->done + 1, s->count, shape->op->name,
            shape->shape.type, text);
}

static int measure_all(struct ops_session *s) {
    int status = UK_EXIT_OK, before = -1;
    if (s->a->time_limit)
        s->deadline = bench_seconds() + (double)s->a->time_limit;
    while (s->done < s->count && s->done > before && !status &&
           !(s->deadline > 0 && bench_seconds() >= s->deadline)) {
        const struct op_shape *shape = &s->shape[s->done];
        tell_progress(s, shape);
        before = s->done;
        status = uk_bench_op_line(s, shape);
    }
    if (!status && s->done < s->count)
        fprintf(stderr,
                "uk bench: time limit reached: %d of %d shapes were not measured, from %s on; give a longer "
                "--time-limit\n",
                s->count - s->done, s->count, s->shape[s->done].op->name);
    return status;
}

/* Selects shapes and peers. Exit status. */
static int prepare(struct ops_session *s) {
    int status = check_options(s->a);
    if (!status)
        status = uk_bench_choose_target(s->a, s->threads, &s->isa);
    if (!status)
        status = read_table(s);
    if (!status)
        status = choose_shapes(s);
    if (!status)
        status = uk_bench_bind_to_cpus(s->threads);
    return status ? status : open_peers(s);
}

int uk_bench_ops(const struct uk_arguments *a) {
    struct ops_session s = {.a = a,
                            .threads = a->threads ? (int)a->threads : 1,
                            .table = a->json && !a->json_file ? stderr : stdout};
    int status = prepare(&s);
    s.result = calloc((size_t)s.count + 1, sizeof *s.result);
    s.json = uk_bench_json();
    if (!status && (!s.result || !s.json))
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    if (!status) {
        uk_bench_add_ops_context(&s);
        uk_bench_print_ops_conditions(&s);
        status = measure_all(&s);
    }
    if (!status) {
        uk_bench_print_ops_summary(&s);
        status = uk_bench_finish(a, s.json);
    }
    uk_numpy_end(&s.numpy);
    cJSON_Delete(s.json);
    free(s.result);
    free(s.shape);
    bench_ops_free(&s.ops);
    return status;
}
