/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: a program with its schedule is lowered to loops, or refused with a reason. With small
 * sizes the loops are interpreted, and if all types are integers the results are compared with the program's.
 * A schedule that was applied is printed, and the printed one applies again.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "language/language.h"
#include "random.h"
#include "target/target.h"
#include "interpret/interpret.h"
#include "lower/lower.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TENSORS = 8, SIZES = 12, SCALARS = 8, ELEMENTS = 4096, STATEMENTS = 6, WORK = 20000 };

static void must(bool good) {
    if (!good)
        abort();
}

struct run {
    int64_t size[SIZES];
    double scalar[SCALARS];
    void *start[TENSORS], *wanted[TENSORS], *got[TENSORS];
    size_t bytes[TENSORS];
    /* true if a tensor has floats: then only runs */
    bool is_float;
};

static int64_t value(const struct uk_var *v, void *run) {
    return ((const struct run *)run)->size[v->number];
}

/* True if the statements are small enough to be interpreted many times a second. */
static bool is_small(const struct uk_program *p, struct run *r) {
    int n = 0;

    for (const struct uk_statement *s = p->statements; s; s = s->next, n++) {
        int64_t work = 1;
        bool overflow = false;

        for (int i = 0; i < s->iterators; i++) {
            int64_t e = uk_index_eval(s->extent[i], value, r, &overflow);

            if (overflow || e < 0 || e > WORK || (work *= e > 0 ? e : 1) > WORK)
                return false;
        }
    }
    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        int64_t e = uk_tensor_elements(t, value, r);

        if (e < 0 || e > ELEMENTS)
            return false;
    }
    return n <= STATEMENTS;
}

static bool begin(struct run *r, struct uk_program *p) {
    uint64_t x = 1;

    if (uk_program_tensors(p) > TENSORS || p->size_count > SIZES || uk_program_scalars(p) > SCALARS)
        return false;
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        r->size[v->number] = v->defined ? v->value : v->is_extent ? 2 + v->number % 4 : 40;
    for (int i = 0; i < SCALARS; i++)
        r->scalar[i] = i;
    if (!is_small(p, r))
        return false;
    for (int i = 0; i < uk_program_tensors(p); i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);

        r->bytes[i] = (size_t)uk_program_tensor_elements(p, i, r->size) * uk_type_bytes(type);
        r->is_float |= uk_type_is_float(type);
        r->start[i] = malloc(r->bytes[i] + 1);
        r->wanted[i] = malloc(r->bytes[i] + 1);
        r->got[i] = malloc(r->bytes[i] + 1);
        must(r->start[i] && r->wanted[i] && r->got[i]);
        /* read as floats, such bytes are small or large, never NaN */
        for (size_t e = 0; e < r->bytes[i]; e++)
            ((unsigned char *)r->start[i])[e] = (unsigned char)random_below(&x, 64);
        memcpy(r->wanted[i], r->start[i], r->bytes[i]);
        memcpy(r->got[i], r->start[i], r->bytes[i]);
    }
    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        r->is_float |= uk_type_is_float(t->type);
    return true;
}

static void end(struct run *r) {
    for (int i = 0; i < TENSORS; i++) {
        free(r->start[i]);
        free(r->wanted[i]);
        free(r->got[i]);
    }
}

static void run_loops(struct uk_context *c, struct uk_program *p, struct uk_function *f, struct run *r) {
    void *tensor[4 * TENSORS] = {NULL};
    int n = 0, given = 0;

    /* takes packed forms of constant tensors: see tests/link/packed.c */
    if (f->packed)
        return;
    for (const struct uk_tensor *t = p->tensors; t; t = t->next) {
        if (n == 4 * TENSORS)
            return;
        tensor[n++] = t->kind == UK_TENSOR_ARGUMENT ? r->got[given++] : NULL;
    }
    enum uk_status wanted = uk_program_interpret(p, r->size, r->scalar, r->wanted);

    uk_context_enter(c, "fuzz.uk");
    /* Elements of temporaries that no statement writes are 0 in both. */
    enum uk_status got = uk_interpret_function(f, &(struct uk_values){r->size, r->scalar, tensor}, 0);
    must(!wanted == !got);
    for (int i = 0; i < TENSORS && !r->is_float && !got; i++)
        must(!r->bytes[i] || !memcmp(r->wanted[i], r->got[i], r->bytes[i]));
}

static enum uk_status lower(struct uk_context *c, struct uk_program *p, struct uk_text *steps,
                            struct uk_function **f) {
    const struct uk_target *target;
    const struct uk_options o = {.target = "interp", .threads = 2};

    uk_context_enter(c, "fuzz.uk");
    must(!uk_target_find(c, "interp", &target));
    enum uk_status status = uk_lower(p, target, &o, NULL, steps, f);
    must(!status || *uk_context_message(c));
    must(status != UK_INTERNAL && status != UK_OUT_OF_MEMORY);
    return status;
}

static void apply_again(struct uk_context *c, struct uk_program *p, const struct uk_text *steps,
                        struct uk_function *f) {
    struct uk_text loops = {0}, again = {0};
    struct uk_function *g;

    uk_print_loops(&loops, f);
    must(!uk_program_schedule(p, "steps", steps->text, steps->length) && !lower(c, p, NULL, &g));
    uk_print_loops(&again, g);
    must(loops.text && again.text && !strcmp(loops.text, again.text));
    uk_text_free(loops.text);
    uk_text_free(again.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p;
    struct uk_function *f;
    struct uk_text steps = {0};
    struct run r = {.is_float = false};

    must(c);
    if (!uk_program_parse(c, "fuzz.uk", (const char *)data, size, &p)) {
        if (begin(&r, p) && !uk_program_check(p) && !lower(c, p, &steps, &f)) {
            run_loops(c, p, f, &r);
            if (steps.length)
                apply_again(c, p, &steps, f);
        }
        end(&r);
        uk_text_free(steps.text);
        uk_program_destroy(p);
    }
    uk_context_destroy(c);
    return 0;
}
