/* SPDX-License-Identifier: Apache-2.0 */
/* Checks whether the compiled function accepts these sizes, with messages in the program's terms. */
#include "interpret/interpret.h"
#include "lower.h"

static const struct uk_position nowhere = {0, 0};

/* The interpreter finds the first access that is outside, without accessing elements. */
static enum uk_status check_accesses(struct uk_program *p, const int64_t *size) {
    struct uk_frame f = {.context = p->context, .size = size, .only_checks = true};
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

/* Sizes, and whether an expression has used another value than theirs, or has overflowed. */
struct known {
    const int64_t *size;
    bool is_unknown, overflow;
};

static int64_t known_value(const struct uk_var *v, void *known) {
    struct known *k = known;

    if (v->definition)
        return uk_index_eval(v->definition, known_value, k, &k->overflow);
    if (v->kind == UK_VAR_SIZE)
        return v->defined ? v->value : k->size[v->number];
    k->is_unknown = true;
    return 0;
}

/* Sets *value; false: it depends on more than the sizes, or overflows. */
static bool is_known(const struct uk_index *e, const int64_t *size, int64_t *value) {
    struct known k = {.size = size};

    *value = uk_index_eval(e, known_value, &k, &k.overflow);
    return !k.overflow && !k.is_unknown;
}

/* Refuses grids that no device takes, as the function does before it launches anything. */
static enum uk_status check_grids(struct uk_program *p, const struct uk_node *n, const int64_t *size) {
    static const int64_t max_blocks[UK_AXES] = UK_MAX_BLOCKS;
    enum uk_status status = UK_OK;
    int64_t a, b;

    for (; n && !status; n = n->next) {
        if (n->op == UK_N_IF && is_known(n->condition, size, &a))
            status = check_grids(p, a ? n->body : n->other, size);
        if (n->op == UK_N_FOR && is_known(n->lower, size, &a) && is_known(n->upper, size, &b) && a < b)
            status = check_grids(p, n->body, size);
        for (int axis = 0; axis < UK_AXES && n->op == UK_N_LAUNCH && !status; axis++)
            if (is_known(n->grid[axis], size, &a) && a > max_blocks[axis])
                status = uk_fail(
                    p->context, UK_INVALID_SIZE, nowhere,
                    "the kernel of %s has %lld blocks along block.%c, and GPUs take at most %lld; %suse "
                    "smaller sizes",
                    n->stage ? n->stage : "this program", (long long)a, "xyz"[axis],
                    (long long)max_blocks[axis], axis ? "bind its longest loops to block.x, or " : "");
    }
    return status;
}

/* Checks the conditions of the compiled function: on the sizes that its kernels are passed, and on grids. */
static enum uk_status check_function(struct uk_program *p, const struct uk_target *target,
                                     const struct uk_options *o, const int64_t *size) {
    struct uk_mark before = uk_arena_mark(&p->arena);
    struct uk_function *f;
    enum uk_status status = uk_lower(p, target, o, NULL, NULL, &f);

    const struct uk_function *taken = status ? NULL : uk_version_for(f, size);

    for (const struct uk_entry_check *c = taken ? taken->checks : NULL; c && !status; c = c->next)
        status = uk_check_relation(p, c->condition, size, nowhere, "the schedule requires ",
                                   ", which does not hold");
    if (taken && !status && target->arch && target->arch->is_device)
        status = check_grids(p, taken->body, size);
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
