/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the compiled function accepts these sizes, with messages in the program's terms. */
#include "interpret/interpret.h"
#include "lower.h"

static const struct uk_position nowhere = {0, 0};

/* The interpreter finds the first access that is outside, without accessing elements. */
static enum uk_status check_accesses(struct uk_program *p, const int64_t *size) {
    struct uk_frame f = {.context = p->context, .size = size};
    static char nothing;
    const size_t scalars = (size_t)uk_scalar_number(p->scalars, NULL);
    size_t n = 0;

    for (const struct uk_tensor *t = p->tensors; t; t = t->next)
        n++;
    void **tensor = uk_alloc(&f.arena, (n + 1) * sizeof *tensor);
    double *scalar = uk_alloc(&f.arena, (scalars + 1) * sizeof *scalar); /* no address depends on scalars */
    enum uk_status status = tensor && scalar ? UK_OK : uk_out_of_memory(p->context);
    f.scalar = scalar;
    for (size_t i = 0; i < n && tensor; i++)
        tensor[i] = &nothing;
    if (!status)
        status = uk_prepare(&f, p, tensor, UK_INVALID_SIZE);
    uk_arena_free(&f.arena);
    return status;
}

/* Checks the conditions of the compiled function: on the sizes that its kernels are passed. */
static enum uk_status check_function(struct uk_program *p, const struct uk_target *target,
                                     const struct uk_options *o, const int64_t *size) {
    struct uk_mark before = uk_arena_mark(&p->arena);
    struct uk_function *f;
    enum uk_status status = uk_lower(p, target, o, NULL, NULL, &f);

    const struct uk_function *taken = status ? NULL : uk_version_for(f, size);

    for (const struct uk_entry_check *c = taken ? taken->checks : NULL; c && !status; c = c->next)
        status = uk_check_relation(p, c->condition, size, nowhere, "the schedule requires ",
                                   ", which does not hold");
    uk_arena_release(&p->arena, before);
    return status;
}

enum uk_status uk_program_check_sizes(struct uk_program *p, const struct uk_options *options,
                                      const int64_t *sizes) {
    static const struct uk_options none;
    const struct uk_options *o = options ? options : &none;
    const struct uk_target *target;
    enum uk_status status = uk_program_check(p);

    if (status)
        return status;
    uk_context_enter(p->context, p->file);
    if (!sizes && p->size_count)
        return uk_fail(p->context, UK_INVALID_ARGUMENT, nowhere,
                       "the sizes are NULL; pass an array of all of them");
    if ((status = uk_target_chosen(p->context, o, &target)) ||
        (status = uk_check_has_statement(p, nowhere)) ||
        (status = uk_check_sizes(p, sizes, uk_target_max_bytes(target))) ||
        (status = check_accesses(p, sizes)))
        return status;
    return check_function(p, target, o, sizes);
}
