/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares two programs whose sizes have numbers. Expressions are evaluated to hashes at some values of the
 * iterators: integers are computed, elements and operations are mixed. Programs with equal hashes of all
 * statements compute the same.
 */
#include <math.h>
#include <string.h>
#include "language/language.h"
#include "ranges/words.h"

enum { TRIALS = 6 };

struct hashing {
    const struct uk_comparand *of;
    const struct uk_statement *statement;
    int64_t value[2 * UK_MAX_DIMS]; /* of the statement's iterators */
    bool failed;                    /* an integer overflowed */
};

static uint64_t mix(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static uint64_t mix_word(uint64_t h, const char *word) {
    for (; *word; word++)
        h = mix(h, (unsigned char)*word);
    return h;
}

/* A tensor by its value; a temp by its name. */
static uint64_t tensor_hash(const struct hashing *h, const struct uk_tensor *t) {
    for (int i = 0; i < h->of->tensors; i++)
        if (!strcmp(h->of->tensor[i].name, t->name))
            return (uint64_t)h->of->tensor[i].value + 2;
    return mix_word(1, t->name);
}

/* ---- integers ---- */

static int64_t value_of(const struct uk_var *v, void *user) {
    const struct hashing *h = user;
    const int i = v->kind == UK_VAR_SIZE ? -1 : h->statement ? uk_iterator_number(h->statement, v) : -1;

    return v->kind == UK_VAR_SIZE ? h->of->size[v->number] : i < 0 ? 0 : h->value[i];
}

static int64_t evaluate(struct hashing *h, const struct uk_index *e) {
    bool overflow = false;
    const int64_t value = uk_index_eval(e, value_of, h, &overflow);

    h->failed |= overflow;
    return value;
}

static uint64_t index_hash(struct hashing *h, const struct uk_index *e) {
    if (!uk_has_element(e))
        return (uint64_t)evaluate(h, e);
    uint64_t all = mix(e->op, e->wraps);
    all = mix(all, e->op == UK_I_INT ? (uint64_t)e->value : 0);
    if (e->tensor)
        all = mix(all, tensor_hash(h, e->tensor));
    all = e->a ? mix(all, index_hash(h, e->a)) : all;
    all = e->b ? mix(all, index_hash(h, e->b)) : all;
    return e->c ? mix(all, index_hash(h, e->c)) : all;
}

/* ---- values ---- */

static uint64_t access_hash(struct hashing *h, const struct uk_access *a) {
    uint64_t all = tensor_hash(h, a->tensor);

    for (int d = 0; d < a->tensor->dims; d++)
        all = mix(all, index_hash(h, a->index[d]));
    return all;
}

static uint64_t number_hash(double v) {
    uint64_t bits;

    memcpy(&bits, &v, sizeof bits);
    return mix(3, bits);
}

/* True for a number that is written as such, or as an integer of sizes; *v is it. */
static bool is_number(struct hashing *h, const struct uk_expr *e, double *v) {
    if (e->op == UK_E_CAST)
        return is_number(h, e->arg[0], v);
    if (e->op == UK_E_NUMBER)
        *v = e->is_integer ? (double)e->integer : e->number;
    else if (e->op == UK_E_INDEX && !uk_has_element(e->index))
        *v = (double)evaluate(h, e->index);
    return e->op == UK_E_NUMBER || e->op == UK_E_INDEX;
}

static uint64_t value_hash(struct hashing *h, const struct uk_expr *e) {
    double number;
    uint64_t all = mix(e->op, e->op == UK_E_CAST ? e->type : 0);

    if (is_number(h, e, &number))
        return number_hash(number);
    if (e->op == UK_E_ACCESS)
        return mix(all, access_hash(h, &e->access));
    for (int i = 0; i < 3 && e->arg[i]; i++)
        all = mix(all, value_hash(h, e->arg[i]));
    return all;
}

/* ---- statements ---- */

static bool is_empty(struct hashing *h) {
    const struct uk_statement *s = h->statement;
    bool empty = false;

    for (int i = 0; i < s->left_iterators; i++)
        empty |= evaluate(h, s->extent[i]) <= 0;
    return empty;
}

static uint64_t statement_hash(struct hashing *h) {
    const struct uk_statement *s = h->statement;
    uint64_t all = mix(mix(s->assign, s->reduce), s->scan);

    for (int i = 0; i < s->iterators; i++) {
        const int64_t extent = evaluate(h, s->extent[i]);
        if (extent != 1)
            all = mix(mix_word(all, s->iterator[i]->name), (uint64_t)extent);
    }
    for (int trial = 0; trial < TRIALS; trial++) {
        for (int i = 0; i < s->iterators; i++) {
            const int64_t extent = evaluate(h, s->extent[i]);
            const uint64_t drawn = mix_word((uint64_t)trial, s->iterator[i]->name);
            h->value[i] = trial == 0 || extent <= 1 ? 0
                          : trial == 1              ? extent - 1
                                                    : (int64_t)(drawn % (uint64_t)extent);
        }
        all = mix(all, access_hash(h, &s->left));
        all = mix(all, s->where ? index_hash(h, s->where) : 1);
        all = mix(all, value_hash(h, s->right));
    }
    return all;
}

/* ---- programs ---- */

/* Extents and strides of the arguments, and the statements. *statements: how many compute something. */
static uint64_t program_hash(struct hashing *h, int *statements) {
    uint64_t all = 1;

    *statements = 0;
    for (const struct uk_statement *s = h->of->program ? h->of->program->statements : NULL; s; s = s->next) {
        h->statement = s;
        if (is_empty(h))
            continue;
        all = mix(all, statement_hash(h));
        ++*statements;
    }
    h->statement = NULL;
    for (const struct uk_tensor *t = h->of->program && *statements ? h->of->program->tensors : NULL; t;
         t = t->next) {
        uint64_t shape = tensor_hash(h, t);
        bool empty = false;
        for (int d = 0; d < t->dims; d++) {
            const int64_t extent = evaluate(h, t->shape[d]);
            empty |= extent == 0;
            shape = mix(shape, (uint64_t)extent);
            if (extent > 1)
                shape = mix(shape, (uint64_t)evaluate(h, t->stride[d]));
        }
        all += empty ? 0 : shape; /* in any order */
    }
    return all;
}

bool uk_programs_equal(const struct uk_comparand *a, const struct uk_comparand *b) {
    struct hashing of_a = {.of = a}, of_b = {.of = b};
    int count_a, count_b;
    const uint64_t hash_a = program_hash(&of_a, &count_a), hash_b = program_hash(&of_b, &count_b);

    return !of_a.failed && !of_b.failed && count_a == count_b && (!count_a || hash_a == hash_b);
}
