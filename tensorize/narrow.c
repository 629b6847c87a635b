/* Kernels that take sizes as integers narrower than 64 bits: what is passed to them must fit, at entry or always. */
#include "schedule.h"

static int64_t largest_of(int ctype) {
    static const int64_t largest[UK_TYPES] = {[UK_I64] = INT64_MAX,
                                              [UK_I32] = INT32_MAX,
                                              [UK_I16] = INT16_MAX,
                                              [UK_I8] = INT8_MAX,
                                              [UK_U8] = UINT8_MAX};

    return largest[ctype];
}

/* (upper - rest + c - 1) / c: how many values a loop has at most, by a bound on c times it and more. */
static struct uk_index *count(struct uk_arena *a, const struct uk_bound *b, int64_t c) {
    struct uk_index *n = b->upper;

    if (b->form.rest)
        n = uk_index_op(a, UK_I_SUB, n, b->form.rest);
    n = uk_index_op(a, UK_I_ADD, n, uk_index_int(a, c - 1));
    return uk_index_op(a, UK_I_DIV, n, uk_index_int(a, c));
}

/* What the size may be at most, over sizes only, unless a constant says that it fits; NULL: out of memory. */
static struct uk_index *most(struct uk_schedule *s, const struct uk_stage *st, int size, int64_t limit,
                             bool *fits) {
    const struct uk_match *m = st->match;
    struct uk_index *least = NULL, *constant = NULL;
    int64_t c;

    *fits = false;
    if (m->size[size].role == UK_SIZE_STRIDE) {
        struct uk_index *e = uk_poly_index(s->arena, &m->size[size].value);

        *fits = e && uk_index_is_int(e, &c) && c <= limit;
        return e;
    }
    for (int b = 0; b < st->bounds && !*fits; b++) {
        int64_t times = st->bound[b].form.coefficient[m->axis[m->size[size].axis]->id];
        struct uk_index *n =
            times > 0 && !st->bound[b].is_guard ? count(s->arena, &st->bound[b], times) : NULL;

        if (!n)
            continue;
        if (uk_index_is_int(n, &c)) {
            *fits = c <= limit;
            constant = n;
        } else {
            least = least ? uk_index_op(s->arena, UK_I_MIN, least, n) : n;
        }
    }
    return least ? least : constant;
}

/* The condition under which the argument holds its size; *condition is NULL where it always does. */
static enum uk_status condition_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_form *f,
                                   const struct uk_argument *a, struct uk_index **condition) {
    const int64_t limit = largest_of(a->ctype);
    bool fits;
    struct uk_index *n = most(s, st, a->size->number, limit, &fits);
    int64_t c;

    *condition = NULL;
    if (fits)
        return UK_OK;
    if (n && uk_index_is_int(n, &c))
        return uk_fail(
            s->context, UK_REFUSED, st->statement->at,
            "stage %s: %s is called with %s = %lld, but takes it as %s, which ends at %lld; declare a wider "
            "argument, or split the loop",
            st->name, f->symbol, a->size->name, (long long)c, uk_type_names[a->ctype], (long long)limit);
    *condition = uk_index_op(s->arena, UK_I_LE, n, uk_index_int(s->arena, limit));
    return *condition ? UK_OK : uk_out_of_memory(s->context);
}

static bool is_repeated(const struct uk_function *f, const struct uk_index *condition) {
    for (const struct uk_entry_check *c = f->checks; c; c = c->next)
        if (uk_index_equal(c->condition, condition))
            return true;
    return false;
}

enum uk_status uk_check_arguments(struct uk_schedule *s, const struct uk_stage *st, struct uk_function *f) {
    for (int k = 0; st->match && k < UK_FORMS; k++) {
        const struct uk_form *form = &st->match->intrinsic->form[k];

        for (int i = 0; form->given && i < form->arguments; i++) {
            struct uk_index *condition = NULL;
            enum uk_status status = UK_OK;

            if (form->argument[i].size && form->argument[i].ctype != UK_I64)
                status = condition_of(s, st, form, &form->argument[i], &condition);
            if (!status && condition && !is_repeated(f, condition))
                status = uk_add_check(s, f, condition);
            if (status)
                return status;
        }
    }
    return UK_OK;
}
