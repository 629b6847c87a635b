/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a program with its schedule is lowered to loops, or refused with a reason. With small
 * sizes the loops are interpreted, and if all types are integers the results are compared with the program's.
 * A schedule that was applied is printed, and the printed one applies again.
 */
#include <stdlib.h>
#include <string.h>
#include "run_program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TENSORS = 8, SIZES = 12, SCALARS = 8, ELEMENTS = 4096, STATEMENTS = 6, WORK = 20000 };

static void must(bool good) {
    if (!good)
        abort();
}

static int64_t value(const struct uk_var *v, void *data) {
    return ((const struct random_data *)data)->size[v->number];
}

/* True if the statements are small enough to be interpreted many times a second. */
static bool is_small(const struct uk_program *p, struct random_data *d) {
    int n = 0;

    if (uk_program_tensors(p) > TENSORS || p->size_count > SIZES || uk_program_scalars(p) > SCALARS)
        return false;
    for (const struct uk_statement *s = p->statements; s; s = s->next, n++) {
        int64_t work = 1;
        bool overflow = false;

        for (int i = 0; i < s->iterators; i++) {
            int64_t e = uk_index_eval(s->extent[i], value, d, &overflow);

            if (overflow || e < 0 || e > WORK || (work *= e > 0 ? e : 1) > WORK)
                return false;
        }
    }
    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        int64_t e = uk_tensor_elements(t, value, d);

        if (e < 0 || e > ELEMENTS)
            return false;
    }
    return n <= STATEMENTS;
}

static bool has_floats(const struct uk_program *p) {
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        if (uk_type_is_float(t->type))
            return true;
    return false;
}

/* Interprets the loops; packed operands are made by code, in tests/link/packed.c. */
static void run_small(struct run *r) {
    struct random_data d = {0};

    for (const struct uk_var *v = r->program->sizes; v; v = v->next)
        d.size[v->number] = v->defined ? v->value : v->is_extent ? 2 + v->number % 4 : 40;
    if (r->loops->packed || !is_small(r->program, &d))
        return;
    random_data_fill(&d, r->program, 1);
    must(has_floats(r->program) ? !run_call(r, &d) == !d.status : run_is_right(r, &d));
    random_data_free(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct run r = {.context = uk_context_create(), .options = {.target = "interp", .threads = 2}};
    struct uk_text steps = {0};

    must(r.context);
    if (!uk_program_parse(r.context, "fuzz.uk", (const char *)data, size, &r.program)) {
        const enum uk_status status = run_loops(&r, &steps);

        must(!status || *uk_context_message(r.context));
        must(status != UK_INTERNAL && status != UK_OUT_OF_MEMORY);
        if (!status)
            run_small(&r);
        if (!status && steps.length)
            must(run_gives_loops(r.program, &r.options, steps.text, r.loops));
        uk_text_free(steps.text);
        run_end(&r);
    }
    uk_context_destroy(r.context);
    return 0;
}
