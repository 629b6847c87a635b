/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant tensors. Copies of one that are made once for the whole program are made by a separate function,
 * into a block that holds the tensor itself (if a stage reads it directly) followed by the copies. The
 * program's function takes the block as its argument instead of the tensor.
 */
#include "lower.h"

/* Alignment of the block and of its parts, as in the workspace. */
enum { ALIGN = 64 };

/* True if a scalar of the program occurs in e. */
static bool reads_scalar(const struct uk_expr *e) {
    bool reads = e->op == UK_E_SCALAR;

    for (int i = 0; i < 3 && e->arg[i]; i++)
        reads |= reads_scalar(e->arg[i]);
    return reads;
}

bool uk_is_constant_conversion(const struct uk_stage *st) {
    return st->is_conversion && st->operand[0].tensor->is_constant;
}

bool uk_is_constant_pack(const struct uk_stage *st) {
    return st->copied && !st->prefix && st->operand[1].tensor->is_constant &&
           !(st->copied->outside && reads_scalar(st->copied->outside));
}

static bool reads(const struct uk_stage *st, const struct uk_tensor *t) {
    bool any = false;

    for (int o = 0; o < st->operands; o++)
        any |= uk_memory_of(&st->operand[o]) == t;
    for (int o = 0; st->packing && st->packing->match->at && o < st->packing->match->tensors; o++)
        any |= st->packing->match->at[o].tensor == t;
    return any;
}

/* ---- the block ---- */

struct packing {
    struct uk_schedule *s;
    struct uk_function *f;    /* the program's function */
    struct uk_stage *copies;  /* copies of constant tensors not yet laid out, in order */
    struct uk_stage **packed; /* end of the list of those laid out */
    struct uk_packed *k;
    struct uk_tensor *form; /* the output of the function k->pack */
};

/* The size rounded up to a multiple of ALIGN. */
static struct uk_index *rounded(struct uk_arena *a, struct uk_index *bytes) {
    struct uk_index *unit = uk_index_int(a, ALIGN);

    bytes = uk_index_op(a, UK_I_ADD, bytes, uk_index_int(a, ALIGN - 1));
    return uk_index_op(a, UK_I_MUL, uk_index_op(a, UK_I_DIV, bytes, unit), unit);
}

static struct uk_index *bytes_of(struct uk_arena *a, const struct uk_tensor *t, struct uk_index *elements) {
    return uk_index_op(a, UK_I_MUL, elements, uk_index_int(a, (int64_t)uk_type_bytes(t->type)));
}

static bool add_section(struct packing *p, struct uk_function *to, const struct uk_tensor *t,
                        const struct uk_tensor *home, struct uk_index *offset) {
    struct uk_section *c = uk_alloc(p->s->arena, sizeof *c), **end = &to->sections;

    while (*end)
        end = &(*end)->next;
    if (!c || !offset)
        return uk_out_of_memory(p->s->context), false;
    *c = (struct uk_section){.tensor = t, .home = home, .offset = offset};
    *end = c;
    return true;
}

/* A tensor that is a row of bytes. */
static struct uk_tensor *make_bytes(struct uk_schedule *s, const char *name, int align) {
    struct uk_tensor *t = uk_alloc(s->arena, sizeof *t);

    if (t)
        *t = (struct uk_tensor){.name = name,
                                .type = UK_U8,
                                .dims = 1,
                                .stored_dims = 1,
                                .stride = {uk_index_int(s->arena, 1)},
                                .align = align};
    return t;
}

static void set_bytes(struct uk_tensor *t, struct uk_index *bytes) {
    t->shape[0] = t->stored[0] = bytes;
}

/* The bytes of the tensor; 0 if it is empty, in any dimension. */
static struct uk_index *bytes_in_place(struct uk_schedule *s, const struct uk_tensor *t) {
    struct uk_index *zero = uk_index_int(s->arena, 0),
                    *n = bytes_of(s->arena, t, uk_elements_of(s->arena, t));

    for (int d = 0; d < t->dims && t->has_strides; d++)
        n = uk_index_select(s->arena, uk_index_op(s->arena, UK_I_GT, t->shape[d], zero), n, zero);
    return n;
}

/* Creates the loop form[i] = tensor[i] over the bytes. */
static struct uk_node *copy_in_place(struct packing *p, struct uk_index *bytes) {
    struct uk_schedule *s = p->s;
    struct uk_tensor *from = make_bytes(s, p->k->tensor->name, 1), *to = make_bytes(s, p->form->name, 1);
    struct uk_node *loop = uk_alloc(s->arena, sizeof *loop), *store = uk_alloc(s->arena, sizeof *store);
    struct uk_expr *read = uk_alloc(s->arena, sizeof *read);
    struct uk_var *v = uk_alloc(s->arena, sizeof *v);
    struct uk_index *i, *zero = uk_index_int(s->arena, 0);

    if (!from || !to || !loop || !store || !read || !v || !bytes || !zero)
        return uk_out_of_memory(s->context), NULL;
    set_bytes(from, bytes);
    set_bytes(to, bytes);
    *v = (struct uk_var){.name = "i", .kind = UK_VAR_LOOP};
    i = uk_index_var(s->arena, v);
    *read = (struct uk_expr){
        .op = UK_E_ACCESS, .type = UK_U8, .access = {.tensor = from, .index = {i}}, .depth = 1};
    *store = (struct uk_node){
        .op = UK_N_STORE, .target = {.tensor = to, .index = {i}}, .expr = read, .stage = to->name};
    *loop = (struct uk_node){
        .op = UK_N_FOR, .var = v, .lower = zero, .upper = bytes, .step = 1, .body = store, .stage = to->name};
    return i && add_section(p, p->k->pack, from, p->k->tensor, zero) &&
                   add_section(p, p->k->pack, to, p->form, zero)
               ? loop
               : NULL;
}

struct uk_buffer *uk_take_buffer(struct uk_schedule *s, const struct uk_tensor *t) {
    struct uk_buffer **at = &s->buffers, *b;

    while ((b = *at) && b->tensor != t)
        at = &b->next;
    if (b)
        *at = b->next;
    return b;
}

/* Appends the copies of the tensor to the block, whose size so far is *bytes; moves them from p->copies to
 * p->packed. */
static bool lay_out_copies(struct packing *p, struct uk_index **bytes) {
    struct uk_arena *a = p->s->arena;

    for (struct uk_stage **at = &p->copies, *st; (st = *at);) {
        const struct uk_tensor *t = st->operand[0].tensor;
        struct uk_buffer *b;

        if (st->operand[1].tensor != p->k->tensor) {
            at = &st->next;
            continue;
        }
        *at = st->next;
        st->next = NULL;
        if (!st->is_gone) {
            *p->packed = st;
            p->packed = &st->next;
        }
        if (!(b = uk_take_buffer(p->s, t)) || !add_section(p, p->f, t, p->k->form, *bytes) ||
            !add_section(p, p->k->pack, t, p->form, *bytes))
            return false;
        *bytes = uk_index_op(a, UK_I_ADD, *bytes, rounded(a, bytes_of(a, t, b->elements)));
    }
    return *bytes;
}

/* ---- the functions ---- */

/* Starts a packed tensor: the block replaces it among f's tensors. */
static bool begin(struct packing *p, const struct uk_tensor **place) {
    struct uk_schedule *s = p->s;
    const struct uk_tensor *t = *place;
    struct uk_packed *k = p->k = uk_alloc(s->arena, sizeof *k), **end = &p->f->packed;
    const int align = t->align > ALIGN ? t->align : ALIGN;
    struct uk_function *pack = uk_alloc(s->arena, sizeof *pack);
    struct uk_tensor *form = make_bytes(s, t->name, align);
    const struct uk_tensor **tensors = uk_alloc(s->arena, 2 * sizeof *tensors);

    p->form = make_bytes(s, "packed", align);
    if (!k || !pack || !form || !p->form || !tensors)
        return false;
    form->is_read = p->form->is_written = true;
    tensors[0] = t;
    tensors[1] = p->form;
    *pack = (struct uk_function){.program = s->program,
                                 .name = uk_format(s->arena, "%s_pack_%s", p->f->name, t->name),
                                 .tensors = 2,
                                 .tensor = tensors,
                                 .schedule = s};
    *k = (struct uk_packed){.tensor = t,
                            .form = form,
                            .pack = pack,
                            .size_name = uk_format(s->arena, "%s_packed_%s", p->f->name, t->name)};
    while (*end)
        end = &(*end)->next;
    *end = k;
    *place = form;
    return pack->name && k->size_name;
}

static enum uk_status pack_tensor(struct packing *p, const struct uk_tensor **place) {
    struct uk_schedule *s = p->s;
    struct uk_stage *stages = s->stages, **first = p->packed;
    struct uk_node *in_place = NULL, **end;
    struct uk_index *bytes = uk_index_int(s->arena, 0);
    bool is_read = false, is_copied = false;

    for (const struct uk_stage *st = s->stages; st; st = st->next)
        is_read |= reads(st, *place);
    for (const struct uk_stage *st = p->copies; st; st = st->next)
        is_copied |= st->operand[1].tensor == *place;
    if (!begin(p, place))
        return uk_out_of_memory(s->context);
    if (is_read || !is_copied) {
        struct uk_index *own = bytes_in_place(s, p->k->tensor);

        if (!(in_place = copy_in_place(p, own)) || !add_section(p, p->f, p->k->tensor, p->k->form, bytes))
            return uk_out_of_memory(s->context);
        bytes = rounded(s->arena, own);
    }
    if (!lay_out_copies(p, &bytes))
        return uk_out_of_memory(s->context);
    p->k->bytes = bytes;
    p->k->copies = is_copied;
    set_bytes((struct uk_tensor *)p->k->form, bytes);
    set_bytes(p->form, bytes);
    s->stages = *first;
    enum uk_status status = uk_lower_stages(s, &p->k->pack->body);
    if (!status)
        status = uk_make_launches(s, &p->k->pack->body);
    s->stages = stages;
    for (end = &p->k->pack->body; *end;)
        end = &(*end)->next;
    *end = in_place;
    return status;
}

/* True if the stage is not run by the program's function: a copy, or a conversion that is no copy's. */
static bool is_made_before(const struct uk_stage *st) {
    return uk_is_constant_pack(st) || (uk_is_constant_conversion(st) && !st->parent && !st->attached);
}

/* Removes the copies and conversions of constants from s->stages; they run once, in one thread. */
static struct uk_stage *take_copies(struct uk_schedule *s) {
    struct uk_stage *copies = NULL, **end = &copies;

    for (struct uk_stage **at = &s->stages, *st; (st = *at);) {
        if (!is_made_before(st)) {
            at = &st->next;
            continue;
        }
        *at = st->next;
        st->next = NULL;
        *end = st;
        end = &st->next;
        if (st->parent) {
            st->parent->attached--;
            /* an empty nest never reads the copy */
            st->is_gone = uk_is_empty(st->parent);
        }
        st->parent = NULL;
        for (int i = 0; i < st->loops; i++)
            if (st->loop[i]->kind == UK_LOOP_PARALLEL)
                st->loop[i]->kind = UK_LOOP_SERIAL;
    }
    return copies;
}

enum uk_status uk_pack_constants(struct uk_schedule *s, struct uk_function *f, struct uk_stage **packed) {
    struct packing *p = uk_alloc(s->arena, sizeof *p);
    enum uk_status status = p ? UK_OK : uk_out_of_memory(s->context);

    *packed = NULL;
    if (status)
        return status;
    *p = (struct packing){.s = s, .f = f, .copies = take_copies(s), .packed = packed};
    for (int i = 0; i < f->tensors && !status; i++)
        if (f->tensor[i]->is_constant)
            status = pack_tensor(p, &f->tensor[i]);
    return status;
}
