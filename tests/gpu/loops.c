/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mutation test of the loops of GPU programs: in loops of products an edge guard is dropped, an access to
 * shared memory uses the other slot of the pipeline, or a digit of its index is increased by one; one change
 * at a time. The simulator must report each, or the result must be wrong.
 *
 *     loops STEP PROGRAM.uk...
 *
 * Tries every STEP-th change of each kind.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiled.h"
#include "driver.h"
#include "link/link.h"
#include "lower/lower.h"
#include "target/target.h"

enum { CALLS = 4, PROGRAMS = 16 };

static int step = 1;

/* Values of M, N and K: edges of all kinds, and full blocks. */
static const int64_t values[CALLS][3] = {{70, 135, 5}, {129, 130, 23}, {128, 256, 24}, {200, 199, 31}};

/* ---- the changes ---- */

enum kind { GUARD, SLOT, DIGIT, KINDS };
static const char *const kind_name[KINDS] = {"guards", "slots", "digits"};

/* The change to make: the `number`-th of its kind; `number` is counted down on the way. */
struct change {
    enum kind kind;
    int number;
    bool done;
    struct uk_arena *arena;
    char where[160];
};

static bool is_next(struct change *c) {
    return !c->done && c->number-- == 0 && (c->done = true);
}

static void note(struct change *c, const char *what, const char *name, int dimension) {
    snprintf(c->where, sizeof c->where, "%s %s, dimension %d", what, name, dimension);
}

/* Dimension 0 of a pipelined buffer is the slot: the remainder of the iteration's number, or 0 before the
 * loop. */
static void change_access(struct change *c, struct uk_access *x, const char *what) {
    struct uk_arena *a = c->arena;
    struct uk_index **slot = &x->index[0], *one = uk_index_int(a, 1);
    int64_t number;

    if (x->tensor->scope != UK_SCOPE_SHARED)
        return;
    if (c->kind == SLOT && is_next(c)) {
        assert_true((*slot)->op == UK_I_MOD || (uk_index_is_int(*slot, &number) && !number));
        *slot = (*slot)->op == UK_I_MOD
                    ? uk_index_op(a, UK_I_MOD, uk_index_op(a, UK_I_ADD, (*slot)->a, one), (*slot)->b)
                    : one;
        note(c, what, x->tensor->name, 0);
    }
    for (int d = 1; c->kind == DIGIT && d < x->tensor->stored_dims; d++)
        if (is_next(c)) {
            x->index[d] = uk_index_op(a, UK_I_ADD, x->index[d], one);
            note(c, what, x->tensor->name, d);
        }
}

static void change_nodes(struct change *c, struct uk_node *n, bool in_kernel) {
    for (; n && !c->done; n = n->next) {
        if (c->kind == GUARD && n->op == UK_N_IF && in_kernel && n->other && is_next(c)) {
            struct uk_text t = {0};

            uk_print_index(&t, n->condition);
            snprintf(c->where, sizeof c->where, "if %s", t.text ? t.text : "");
            uk_text_free(t.text);
            n->condition =
                uk_index_op(c->arena, UK_I_LT, uk_index_int(c->arena, 0), uk_index_int(c->arena, 1));
        }
        if (n->op == UK_N_STORE)
            change_access(c, &n->target, "store to");
        if (n->op == UK_N_CALL) {
            int i = 0;

            for (const struct uk_tensor *t = n->intrinsic->declaration->tensors; t; t = t->next)
                change_access(c, &n->operand[i++], "operand");
        }
        change_nodes(c, n->body, in_kernel || n->op == UK_N_LAUNCH);
        change_nodes(c, n->other, in_kernel);
    }
}

/* ---- one program ---- */

struct trial {
    struct run run;
    const struct uk_target *target;
    struct random_data data[CALLS];
};

/* Lowers and builds the program with the change; false: there is none of that number. */
static bool build(struct trial *t, struct change *c) {
    struct run *r = &t->run;
    struct uk_function *f;

    uk_module_destroy(r->module);
    r->module = NULL;
    if (run_lower(r->program, &r->options, NULL, NULL, &f))
        fail_msg("%s", uk_context_message(r->context));
    c->arena = &r->program->arena;
    change_nodes(c, f->body, false);
    if (!c->done)
        return false;
    assert_non_null(r->module = uk_module_create());
    if (uk_module_build(r->context, f, t->target, r->module))
        fail_msg("%s: %s", c->where, uk_context_message(r->context));
    return true;
}

static bool is_caught(struct trial *t) {
    bool caught = false;
    char where[64];

    for (int i = 0; i < CALLS && !caught; i++)
        caught = run_call(&t->run, &t->data[i]) || !random_data_matches(&t->data[i], t->run.program, where);
    return caught;
}

/* Tries the changes of one kind; returns the number that were not caught. */
static int try_all(struct trial *t, enum kind kind) {
    int tried = 0, missed = 0;

    for (;; tried++) {
        struct change c = {.kind = kind, .number = step * tried};

        if (!build(t, &c))
            break;
        if (is_caught(t))
            continue;
        print_error("%s on %s: %s: not caught\n", t->run.repeat_arguments, t->run.options.target, c.where);
        missed++;
    }
    print_message("%s on %s: %d %s\n", t->run.repeat_arguments, t->run.options.target, tried,
                  kind_name[kind]);
    assert_true(tried > 0);
    return missed;
}

static int run_on(const char *path, int ordinal) {
    struct trial t = {0};
    int missed = 0;

    if (compile_file(&t.run, path, ordinal)) {
        t.run.device = open_gpu("sim", ordinal);
        assert_int_equal(uk_target_find(t.run.context, targets[ordinal], &t.target), UK_OK);
        for (int i = 0; i < CALLS; i++)
            product_data(&t.data[i], t.run.program, values[i], 260);
        assert_false(is_caught(&t));
        for (int kind = 0; kind < KINDS; kind++)
            missed += try_all(&t, (enum kind)kind);
        for (int i = 0; i < CALLS; i++)
            random_data_free(&t.data[i]);
        uk_gpu_close(t.run.device);
    }
    compiled_end(&t.run);
    return missed;
}

static void run(void **state) {
    int missed = 0;

    for (int i = 0; i < TARGETS; i++)
        missed += run_on(*state, i);
    assert_int_equal(missed, 0);
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[PROGRAMS];

    if (argc < 3 || argc > PROGRAMS || (step = atoi(argv[1])) < 1) {
        fprintf(stderr, "usage: loops STEP PROGRAM.uk...\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        tests[i - 2] = (struct CMUnitTest){.name = argv[i], .test_func = run, .initial_state = argv[i]};
    return _cmocka_run_group_tests("loops", tests, (size_t)argc - 2, NULL, NULL);
}
