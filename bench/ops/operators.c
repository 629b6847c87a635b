/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the table of operators. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lines.h"
#include "operators.h"

/* A kind of line whose words are kept as they are: its name, words after it at least, lines at most, and
 * where they are in the operator. */
struct kind {
    const char *name;
    int least, most;
    size_t count, first;
};

#define KIND(name, least, most, count, first) \
    {name, least, most, offsetof(struct bench_op, count), offsetof(struct bench_op, first)}
static const struct kind kinds[] = {
    KIND("node", 4, BENCH_OP_NODES, nodes, node),
    KIND("constant", 3, BENCH_OP_LINES, constants, constant),
    KIND("values", 3, BENCH_OP_LINES, values, value),
    KIND("order", 2, BENCH_OP_LINES, orders, order),
    KIND("shape", 2, BENCH_OP_LINES, shapes, shape),
    KIND("touches", 2, BENCH_OP_LINES, touches, touch),
};

static bool copy(char to[BENCH_OP_NAME], const char *word) {
    return snprintf(to, BENCH_OP_NAME, "%s", word) < BENCH_OP_NAME;
}

static enum uk_status add_words(struct bench_lines *r, struct bench_op *op, const struct kind *k, char **word,
                                int words) {
    int *count = (int *)(void *)((char *)op + k->count);
    if (*count >= k->most)
        return bench_refuse_line(r, "an operator has at most %d lines that begin with %s", k->most, k->name);
    if (words - 1 < k->least || words - 1 > BENCH_OP_WORDS)
        return bench_refuse_line(r, "%s needs %d to %d words; operators.txt explains them", k->name, k->least,
                                 BENCH_OP_WORDS);
    struct bench_op_words *to = (struct bench_op_words *)(void *)((char *)op + k->first) + (*count)++;
    for (to->count = 0; to->count < words - 1; to->count++)
        if (!copy(to->word[to->count], word[to->count + 1]))
            return bench_refuse_line(r, "'%s' is longer than %d letters", word[to->count + 1],
                                     BENCH_OP_NAME - 1);
    return UK_OK;
}

static enum uk_status add_case(struct bench_lines *r, struct bench_op *op, char **word, int words) {
    if (op->cases >= BENCH_OP_LINES || words < 2 || words - 2 > BENCH_OP_SIZES)
        return bench_refuse_line(r, "case needs a type and at most %d sizes, at most %d times",
                                 BENCH_OP_SIZES, BENCH_OP_LINES);
    if (!bench_op_has_type(op, word[1]))
        return bench_refuse_line(
            r, "%s is not among the types of %s; a line `types` lists them, before any case", word[1],
            op->name);
    struct bench_op_case *c = &op->shape_case[op->cases++];
    *c = (struct bench_op_case){.count = words - 2};
    copy(c->type, word[1]);
    for (int i = 0; i < c->count; i++) {
        char *equals = strchr(word[i + 2], '=');
        if (!equals || !bench_parse_size(equals + 1, &c->size[i].value))
            return bench_refuse_line(r, "'%s' is no size; write NAME=NUMBER, the number from 1 to %d",
                                     word[i + 2], BENCH_LARGEST_SIZE);
        *equals = 0;
        if (!copy(c->size[i].name, word[i + 2]))
            return bench_refuse_line(r, "'%s' is longer than %d letters", word[i + 2], BENCH_OP_NAME - 1);
    }
    return UK_OK;
}

static enum uk_status add_draw(struct bench_lines *r, struct bench_op *op, char **word, int words) {
    struct bench_op_draw d;
    if (op->draws >= BENCH_OP_LINES || words != 4 || !copy(d.name, word[1]) ||
        !bench_parse_size(word[2], &d.least) || !bench_parse_size(word[3], &d.most) || d.least > d.most)
        return bench_refuse_line(r, "draw needs a size, its least and its largest value, at most %d times",
                                 BENCH_OP_LINES);
    op->draw[op->draws++] = d;
    return UK_OK;
}

static enum uk_status add_types(struct bench_lines *r, struct bench_op *op, char **word, int words) {
    if (op->cases || words < 2 || words - 1 > BENCH_OP_LINES)
        return bench_refuse_line(r, "types needs 1 to %d types, before any case", BENCH_OP_LINES);
    for (op->types = 0; op->types < words - 1; op->types++)
        if (!copy(op->type[op->types], word[op->types + 1]))
            return bench_refuse_line(r, "'%s' is no type", word[op->types + 1]);
    return UK_OK;
}

/* Joins the words after the first one again. */
static enum uk_status set_numpy(struct bench_lines *r, struct bench_op *op, char **word, int words) {
    size_t used = 0;
    for (int i = 1; i < words && used < sizeof op->numpy; i++)
        used +=
            (size_t)snprintf(op->numpy + used, sizeof op->numpy - used, "%s%s", i > 1 ? " " : "", word[i]);
    return used < sizeof op->numpy
               ? UK_OK
               : bench_refuse_line(r, "numpy is longer than %d letters", BENCH_OP_CODE - 1);
}

static enum uk_status begin_operator(struct bench_lines *r, struct bench_ops *ops, char **word, int words) {
    if (words != 2 || strlen(word[1]) + sizeof ".uk" > BENCH_OP_NAME)
        return bench_refuse_line(r, "operator needs a name of at most %d letters", BENCH_OP_NAME - 4);
    for (int i = 0; i < ops->count; i++)
        if (!strcmp(ops->op[i].name, word[1]))
            return bench_refuse_line(r, "there is another operator %s", word[1]);
    if (ops->count == ops->room) {
        struct bench_op *more = realloc(ops->op, (size_t)(2 * ops->room + 16) * sizeof *more);
        if (!more)
            return UK_OUT_OF_MEMORY;
        ops->op = more;
        ops->room = 2 * ops->room + 16;
    }
    struct bench_op *op = &ops->op[ops->count++];
    *op = (struct bench_op){.types = 1, .type = {"f32"}};
    copy(op->name, word[1]);
    snprintf(op->program, sizeof op->program, "%s.uk", word[1]);
    return UK_OK;
}

static enum uk_status read_line(struct bench_lines *r, char **word, int words) {
    struct bench_ops *ops = r->user;
    if (!strcmp(word[0], "operator"))
        return begin_operator(r, ops, word, words);
    if (!ops->count)
        return bench_refuse_line(r, "%s before any operator; begin with a line `operator NAME`", word[0]);
    struct bench_op *op = &ops->op[ops->count - 1];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (!strcmp(word[0], kinds[i].name))
            return add_words(r, op, &kinds[i], word, words);
    if (!strcmp(word[0], "case"))
        return add_case(r, op, word, words);
    if (!strcmp(word[0], "draw"))
        return add_draw(r, op, word, words);
    if (!strcmp(word[0], "types"))
        return add_types(r, op, word, words);
    if (!strcmp(word[0], "numpy"))
        return set_numpy(r, op, word, words);
    if (!strcmp(word[0], "program") && words == 2 && copy(op->program, word[1]))
        return UK_OK;
    return bench_refuse_line(
        r,
        "'%s' is unknown; lines begin with operator, program, types, case, draw, values, touches, node, "
        "constant, order, shape or numpy",
        word[0]);
}

enum uk_status bench_ops_parse(const char *text, struct bench_ops *ops, char *message, size_t size) {
    struct bench_lines r = {.read = read_line, .user = ops, .message = message, .size = size};
    *ops = (struct bench_ops){0};
    return bench_read_lines(&r, text);
}

void bench_ops_free(struct bench_ops *ops) {
    free(ops->op);
    *ops = (struct bench_ops){0};
}

bool bench_op_has_type(const struct bench_op *op, const char *type) {
    for (int i = 0; i < op->types; i++)
        if (!strcmp(op->type[i], type))
            return true;
    return false;
}

int64_t bench_op_size_value(const struct bench_op_case *c, const char *name) {
    for (int i = 0; i < c->count; i++)
        if (!strcmp(c->size[i].name, name))
            return c->size[i].value;
    return -1;
}

bool bench_op_number(const struct bench_op_case *c, const char *text, int64_t *value) {
    *value = 1;
    for (const char *p = text; *p; p += *p == '*') {
        char word[BENCH_OP_NAME], *end;
        const size_t length = strcspn(p, "*");
        if (!length || length >= sizeof word)
            return false;
        memcpy(word, p, length);
        word[length] = 0;
        int64_t factor = bench_op_size_value(c, word);
        if (factor < 0) {
            factor = strtoll(word, &end, 10);
            if (*end || end == word)
                return false;
        }
        *value *= factor;
        p += length;
    }
    return *text;
}

int64_t bench_op_touched(const struct bench_op *op, const struct bench_op_case *c, const char *tensor,
                         int64_t elements) {
    for (int i = 0; i < op->touches; i++)
        if (!strcmp(op->touch[i].word[0], tensor))
            return bench_op_number(c, op->touch[i].word[1], &elements) ? elements : -1;
    return elements;
}

void bench_op_text(const struct bench_op_case *c, char *text, size_t size) {
    size_t used = 0;
    *text = 0;
    for (int i = 0; i < c->count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s=%lld", i ? " " : "", c->size[i].name,
                                 (long long)c->size[i].value);
}
