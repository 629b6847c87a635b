/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the loop IR: parallel loops sequentially, calls by running the declaration of the callee. */
#include <inttypes.h>
#include <string.h>
#include "interpret.h"

/* A node prepared for running: expressions are compiled once, the loop IR is not changed. */
struct ready {
    const struct uk_node *node;
    struct ready *next, *body, *other;
    struct uk_flat target;      /* STORE; CHECK: the value */
    struct uk_storage *storage; /* STORE */
    struct uk_code *value;      /* STORE */
    struct uk_flat *operand;    /* CALL: the address of each operand's origin */
    struct uk_storage **operand_storage;
    struct uk_code **scalar; /* CALL: the values of the declaration's scalars */
};

static struct ready *prepare_nodes(struct uk_frame *f, const struct uk_node *n);

static bool prepare_call(struct uk_frame *f, const struct uk_node *n, struct ready *r) {
    size_t k = 0, scalars = 0;

    for (const struct uk_tensor *t = n->intrinsic->declaration->tensors; t; t = t->next)
        k++;
    for (const struct uk_scalar *s = n->intrinsic->declaration->scalars; s; s = s->next)
        scalars++;
    r->scalar = uk_alloc(&f->arena, (scalars + 1) * sizeof(struct uk_code *));
    r->operand = uk_alloc(&f->arena, (k + 1) * sizeof *r->operand);
    r->operand_storage = uk_alloc(&f->arena, (k + 1) * sizeof(struct uk_storage *));
    if (!r->operand || !r->operand_storage || !r->scalar) {
        f->status = uk_out_of_memory(f->context);
        return false;
    }
    for (size_t i = 0; i < k; i++)
        if (!uk_flatten_access(f, &n->operand[i], true, &r->operand[i]) ||
            !(r->operand_storage[i] = uk_find_storage(f, n->operand[i].tensor)))
            return false;
    for (size_t i = 0; i < scalars; i++)
        if (!(r->scalar[i] = uk_compile_value(f, n->scalar[i], true)))
            return false;
    return true;
}

static bool prepare_node(struct uk_frame *f, const struct uk_node *n, struct ready *r) {
    r->node = n;
    if (n->op == UK_N_STORE)
        return uk_flatten_access(f, &n->target, true, &r->target) &&
               (r->storage = uk_find_storage(f, n->target.tensor)) &&
               (r->value = uk_compile_value(f, n->expr, true));
    if (n->op == UK_N_CALL)
        return prepare_call(f, n, r);
    if (n->op == UK_N_CHECK)
        return uk_flatten(f, n->value, 1, &r->target) || f->status;
    if (n->var && n->var->slot < 0) {
        if (f->slots == 4096) {
            f->status =
                uk_fail(f->context, UK_REFUSED, (struct uk_position){0, 0},
                        "the function has more than 4096 loops, too many to be interpreted; compile it for "
                        "a machine, or split the program");
            return false;
        }
        n->var->slot = f->slots++;
    }
    r->body = prepare_nodes(f, n->body);
    r->other = prepare_nodes(f, n->other);
    return !f->status;
}

/* Copies of a nest share variables: each has one slot, whichever nest runs. */
static void forget_slots(const struct uk_node *n) {
    for (; n; n = n->next) {
        if (n->op != UK_N_STORE && n->op != UK_N_CALL && n->var)
            n->var->slot = -1;
        forget_slots(n->body);
        forget_slots(n->other);
    }
}

static struct ready *prepare_nodes(struct uk_frame *f, const struct uk_node *n) {
    struct ready *first = NULL, **link = &first;

    for (; n && !f->status; n = n->next) {
        if (!(*link = uk_alloc(&f->arena, sizeof **link))) {
            f->status = uk_out_of_memory(f->context);
            break;
        }
        if (!prepare_node(f, n, *link))
            break;
        link = &(*link)->next;
    }
    return first;
}

static int64_t value_of(struct uk_frame *f, const struct uk_index *e) {
    return uk_index_eval(e, uk_frame_value, f, &f->overflow);
}

static void outside(struct uk_frame *f, const char *name, int64_t at, int64_t elements) {
    if (!f->status)
        f->status = uk_fail(f->context, UK_INTERNAL, (struct uk_position){0, 0},
                            "%s is accessed at element %" PRId64 " of %" PRId64 "; please report this", name,
                            at, elements);
}

/* Checks that each operand of a call, in the extent that the declaration lets the kernel access, lies in its
 * storage. */
static bool check_operands(struct uk_frame *f, struct uk_frame *callee, const struct ready *r,
                           const int64_t *origin) {
    for (int i = 0; i < callee->storages; i++) {
        const struct uk_storage *whole = r->operand_storage[i];
        int64_t at = origin[i];

        if (callee->storage[i].elements > 0 &&
            (at < 0 || at > whole->elements || callee->storage[i].elements > whole->elements - at)) {
            outside(f, whole->tensor->name, at + callee->storage[i].elements, whole->elements);
            return false;
        }
    }
    return true;
}

/* Converts the scalars' values to the declaration's frame, in its arena. */
static bool pass_scalars(struct uk_frame *f, struct uk_frame *callee, const struct ready *r) {
    size_t n = 0;

    for (const struct uk_scalar *s = r->node->intrinsic->declaration->scalars; s; s = s->next)
        n++;
    double *value = uk_alloc(&callee->arena, (n + 1) * sizeof *value);
    if (!value)
        return false;
    for (size_t i = 0; i < n; i++)
        value[i] = uk_convert(r->scalar[i]->type, UK_F64, uk_run_value(f, r->scalar[i])).d;
    callee->scalar = value;
    return true;
}

/* Makes the callee record its accesses in the caller's shadows. Its registers are already at the thread's
 * place. */
static bool pass_shadows(struct uk_frame *f, struct uk_frame *callee, const struct ready *r,
                         const int64_t *origin) {
    callee->races = f->races;
    callee->in_kernel = f->in_kernel;
    for (int i = 0; i < callee->storages && f->races; i++)
        if (callee->storage[i].elements > 0) {
            callee->storage[i].shadow = uk_shadow_at(r->operand_storage[i], origin[i]);
            callee->storage[i].scope = r->operand_storage[i]->scope;
        }
    callee->thread = f->thread;
    return true;
}

static void run_call(struct uk_frame *f, const struct ready *r) {
    struct uk_program *d = r->node->intrinsic->declaration;
    struct uk_frame callee = {.context = f->context};
    int64_t *size = uk_alloc(&callee.arena, ((size_t)d->size_count + 1) * sizeof *size);
    size_t k = 0;

    for (const struct uk_tensor *t = d->tensors; t; t = t->next)
        k++;
    void **tensor = uk_alloc(&callee.arena, (k + 1) * sizeof *tensor);
    int64_t *origin = uk_alloc(&callee.arena, (k + 1) * sizeof *origin);

    if (!size || !tensor || !origin || !pass_scalars(f, &callee, r)) {
        f->status = uk_out_of_memory(f->context);
        goto end;
    }
    for (int i = 0; i < d->size_count; i++)
        size[i] = value_of(f, r->node->bind[i]);
    for (size_t i = 0; i < k; i++) {
        const struct uk_storage *s = r->operand_storage[i];
        int64_t at = origin[i] = uk_flat_value(f, &r->operand[i]);

        if (at < 0 || at > s->elements)
            at = 0; /* valid only if the operand is empty, which check_operands checks */
        if (s->is_private)
            at += f->thread * s->elements;
        tensor[i] = s->base + at * (int64_t)uk_type_bytes(s->tensor->type);
    }
    callee.size = size;
    if (uk_prepare(&callee, d, tensor, UK_INTERNAL) || !check_operands(f, &callee, r, origin) ||
        !pass_shadows(f, &callee, r, origin) || uk_run_form(&callee, r->node->intrinsic, r->node->form))
        f->status = f->status ? f->status : callee.status;
end:
    uk_arena_free(&callee.arena);
}

static void run_store(struct uk_frame *f, const struct ready *r) {
    int64_t at = uk_flat_value(f, &r->target);

    if (at < 0 || at >= r->storage->elements)
        outside(f, r->storage->tensor->name, at, r->storage->elements);
    else {
        union uk_value v = uk_run_value(f, r->value);

        uk_assign_value(r->node->assign, r->storage, uk_record_access(f, r->storage, at, true), v);
    }
}

static void run_nodes(struct uk_frame *f, const struct ready *r);

static size_t buffer_bytes(const struct uk_frame *f, const struct uk_buffer *b, int64_t elements) {
    const size_t n = (size_t)elements * uk_type_bytes(b->tensor->type);

    return b->tensor->scope == UK_SCOPE_REGISTER ? n * (size_t)f->threads : n;
}

/* The buffers to refill: all; those of a thread that takes another iteration; those of a new block. */
enum fill { FILL_ALL, FILL_THREAD, FILL_BLOCK };

static void fill_buffers(struct uk_frame *f, enum fill what) {
    const struct uk_storage *to = f->storage;

    for (const struct uk_buffer *b = f->buffers; b; b = b->next, to++)
        if (what == FILL_ALL || (what == FILL_THREAD && b->per_thread) ||
            (what == FILL_BLOCK && b->tensor->scope != UK_SCOPE_GLOBAL))
            memset(to->base, f->fill, buffer_bytes(f, b, to->elements));
}

static void begin_block(struct uk_frame *f) {
    uk_races_block(f);
    fill_buffers(f, FILL_BLOCK);
}

/* Any thread may run an iteration of a parallel loop, so the contents of per-thread buffers are unknown
 * before each. */
static void run_loop(struct uk_frame *f, const struct ready *r) {
    const struct uk_node *n = r->node;
    const bool parallel = n->loop == UK_LOOP_PARALLEL && !f->in_parallel;
    const int64_t upper = value_of(f, n->upper), outer = f->thread;

    f->in_parallel |= parallel;
    for (int64_t i = value_of(f, n->lower); i < upper && !f->status; i += n->step) {
        if (parallel)
            fill_buffers(f, FILL_THREAD);
        if (n->loop == UK_LOOP_BLOCK)
            begin_block(f);
        f->thread = outer + i * n->weight;
        f->slot[n->var->slot] = i;
        run_nodes(f, r->body);
    }
    f->thread = outer;
    if (parallel)
        f->in_parallel = false;
}

static void run_launch(struct uk_frame *f, const struct ready *r) {
    uk_races_launch(f, r->node);
    f->in_kernel = true;
    run_nodes(f, r->body);
    f->in_kernel = false;
}

static void run_nodes(struct uk_frame *f, const struct ready *r) {
    for (; r && !f->status; r = r->next) {
        const struct uk_node *n = r->node;

        switch (n->op) {
        case UK_N_FOR:
            run_loop(f, r);
            break;
        case UK_N_BARRIER:
            uk_races_barrier(f);
            break;
        case UK_N_CHECK:
            uk_check_element(f, n->value, uk_flat_value(f, &r->target), value_of(f, n->lower),
                             value_of(f, n->upper), n->at);
            break;
        case UK_N_LAUNCH:
            run_launch(f, r);
            break;
        case UK_N_LET:
            f->slot[n->var->slot] = value_of(f, n->value);
            run_nodes(f, r->body);
            break;
        case UK_N_IF:
            run_nodes(f, value_of(f, n->condition) ? r->body : r->other);
            break;
        case UK_N_STORE:
            run_store(f, r);
            break;
        case UK_N_CALL:
            run_call(f, r);
            break;
        }
        if (f->overflow && !f->status)
            f->status = uk_fail(f->context, UK_INVALID_SIZE, (struct uk_position){0, 0},
                                "an integer of the loops overflows; use smaller sizes");
    }
}

/* The maximum number of threads of a block over all kernels; 0: there is no kernel. */
static int64_t max_threads(const struct uk_node *n) {
    int64_t maximum = 0;

    for (; n; n = n->next) {
        int64_t k = n->op == UK_N_LAUNCH ? n->block[0] * n->block[1] * n->block[2] : max_threads(n->body);

        maximum = k > maximum ? k : maximum;
        k = max_threads(n->other);
        maximum = k > maximum ? k : maximum;
    }
    return maximum;
}

/* Adds a section of the home tensor's storage, checked to lie inside. */
static bool add_section(struct uk_frame *f, const struct uk_section *c) {
    const struct uk_storage *home = uk_find_storage(f, c->home);
    const int64_t elements = uk_tensor_elements(c->tensor, uk_frame_value, f), at = value_of(f, c->offset),
                  bytes = elements * (int64_t)uk_type_bytes(c->tensor->type);

    if (!home)
        return false;
    const int64_t room = home->elements * (int64_t)uk_type_bytes(home->tensor->type);
    if (elements < 0 || f->overflow || at > room || bytes > room - at)
        return uk_frame_fail(f, UK_INTERNAL, c->tensor->at, c->tensor->name,
                             "is outside of its enclosing tensor; please report this");
    f->storage[f->storages++] =
        (struct uk_storage){.tensor = c->tensor, .base = home->base + at, .elements = elements};
    return true;
}

/* Allocates buffers and sets the storage of all arguments; temps that are not buffers are sections. */
static bool prepare_storage(struct uk_frame *f, const struct uk_function *fn, const struct uk_values *v,
                            int fill) {
    size_t n = (size_t)fn->tensors;

    for (const struct uk_buffer *b = fn->buffers; b; b = b->next)
        n++;
    for (const struct uk_section *c = fn->sections; c; c = c->next)
        n++;
    f->storage = uk_alloc(&f->arena, (n + 1) * sizeof *f->storage);
    f->slot = uk_alloc(&f->arena, 4096 * sizeof *f->slot);
    if (!f->storage || !f->slot)
        goto memory;
    for (const struct uk_buffer *b = fn->buffers; b; b = b->next) {
        int64_t elements = value_of(f, b->elements);

        if (elements < 0 || elements > INT64_MAX / 16 || f->overflow) {
            f->status = uk_fail(f->context, UK_INVALID_SIZE, (struct uk_position){0, 0},
                                "buffer %s overflows; use smaller sizes", b->tensor->name);
            return false;
        }
        char *base = uk_alloc(&f->arena, buffer_bytes(f, b, elements) + 1);

        if (!base)
            goto memory;
        f->storage[f->storages++] = (struct uk_storage){.tensor = b->tensor,
                                                        .base = base,
                                                        .elements = elements,
                                                        .scope = b->tensor->scope,
                                                        .is_private = b->tensor->scope == UK_SCOPE_REGISTER};
    }
    for (int i = 0; i < fn->tensors; i++) {
        const struct uk_tensor *t = fn->tensor[i];
        struct uk_storage s = {
            .tensor = t, .base = v->tensor[i], .elements = uk_tensor_elements(t, uk_frame_value, f)};

        if (s.elements < 0) {
            f->status = uk_fail(f->context, UK_INVALID_SIZE, t->at,
                                "%s has sizes that are negative or overflow", t->name);
            return false;
        }
        if (t->kind == UK_TENSOR_ARGUMENT)
            f->storage[f->storages++] = s;
    }
    for (const struct uk_section *c = fn->sections; c; c = c->next)
        if (!add_section(f, c))
            return false;
    f->buffers = fn->buffers;
    f->fill = fill;
    fill_buffers(f, FILL_ALL);
    if (!f->threads || uk_races_begin(f))
        return true;
memory:
    f->status = uk_out_of_memory(f->context);
    return false;
}

enum uk_status uk_interpret_function(struct uk_function *of, const struct uk_values *v, int workspace_fill) {
    const struct uk_function *fn = uk_version_for(of, v->size);
    struct uk_program *p = fn->program;
    struct uk_frame f = {.context = p->context,
                         .size = v->size,
                         .scalar = v->scalar,
                         .scalars = fn->scalars,
                         .threads = max_threads(fn->body)};

    for (const struct uk_entry_check *c = fn->checks; c && !f.status; c = c->next)
        if (!value_of(&f, c->condition) || f.overflow)
            f.status = uk_fail(f.context, UK_INVALID_SIZE, (struct uk_position){0, 0},
                               "%s does not hold; use other sizes", c->text);
    if (!f.status)
        f.status = uk_check_overlap(p, v->size);
    if (!f.status && prepare_storage(&f, fn, v, workspace_fill)) {
        forget_slots(fn->body);
        struct ready *body = prepare_nodes(&f, fn->body);

        if (!f.status)
            run_nodes(&f, body);
    }
    uk_arena_free(&f.arena);
    return f.status;
}
