/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes programs of the tensor language from the statements of nodes. Statements subscript elements in
 * ONNX's order; here they get the tensors' names and the order of dimensions in memory. A value that is
 * computed element by element and read once is not stored: its expression is inlined where it is read.
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "layers/layers.h"

/* Characters of an expression that is inlined, at most. */
enum { LONGEST_EXPRESSION = 2000 };

const char *uk_iterators(int n) {
    static _Thread_local char text[4][UK_RANK * 5];
    static _Thread_local int turn;
    char *t = text[turn++ % 4];
    size_t used = 0;

    *t = 0;
    for (int i = 0; i < n; i++)
        used += (size_t)snprintf(t + used, sizeof text[0] - used, "%si%d", i ? ", " : "", i);
    return t;
}

void uk_subscripts(char *out, size_t room, int rank, int axis, const char *text) {
    size_t used = 0;

    *out = 0;
    for (int d = 0; d < rank; d++) {
        used += (size_t)snprintf(out + used, room - used, d ? ", " : "");
        used += d == axis ? (size_t)snprintf(out + used, room - used, "%s", text)
                          : (size_t)snprintf(out + used, room - used, "i%d", d);
    }
}

const char *uk_number_text(double v, bool single) {
    static _Thread_local char text[4][40];
    static _Thread_local int turn;
    char *t = text[turn++ % 4];

    if (isinf(v))
        snprintf(t, sizeof text[0], v < 0 ? "(-inf)" : "inf");
    else if (v < 0 || (v == 0 && signbit(v)))
        snprintf(t, sizeof text[0], single ? "(%.9g)" : "(%.17g)", v);
    else
        snprintf(t, sizeof text[0], single ? "%.9g" : "%.17g", v);
    return t;
}

/* ---- tensors of the program ---- */

static struct uk_written *add(struct uk_writer *w, const struct uk_written *t) {
    if (w->tensors == w->room) {
        const int room = w->room ? 2 * w->room : 16;
        struct uk_written *larger = realloc(w->tensor, (size_t)room * sizeof *larger);
        if (!larger) {
            w->failed = true;
            return NULL;
        }
        w->tensor = larger;
        w->room = room;
    }
    w->tensor[w->tensors] = *t;
    return &w->tensor[w->tensors++];
}

static bool is_computed_here(const struct uk_writer *w, const struct uk_graph_value *v) {
    for (int i = 0; i < w->nodes; i++)
        for (int j = 0; j < w->node[i]->outputs; j++)
            if (w->node[i]->output[j] == v)
                return true;
    return false;
}

/* Returns the value's entry, which its first use makes. NULL: no memory. */
static struct uk_written *tensor_of(struct uk_writer *w, const struct uk_graph_value *v) {
    struct uk_written t = {.value = v, .type = v->type, .rank = v->rank};
    int inputs = 0;

    for (int i = 0; i < w->tensors; i++) {
        if (w->tensor[i].value == v)
            return &w->tensor[i];
        inputs += w->tensor[i].value && !w->tensor[i].is_temp && w->tensor[i].value != w->result;
    }
    memcpy(t.extent, v->extent, sizeof t.extent);
    if (v->is_block || uk_is_strided(v))
        uk_value_strides(v, t.stride);
    for (int i = 0; i < v->rank; i++)
        t.order[i] = v->is_laid_out ? v->order[i] : i;
    t.is_temp = v != w->result && is_computed_here(w, v);
    if (v == w->result)
        snprintf(t.name, sizeof t.name, "y");
    else if (t.is_temp)
        snprintf(t.name, sizeof t.name, "t%d", w->temps++);
    else
        snprintf(t.name, sizeof t.name, "x%d", inputs);
    return add(w, &t);
}

bool uk_write_shaped(struct uk_writer *w, const struct uk_graph_value *v, int rank, const int64_t *extent) {
    struct uk_written *t = is_computed_here(w, v) ? NULL : tensor_of(w, v);

    if (!t)
        return false;
    t->rank = rank;
    memcpy(t->extent, extent, (size_t)rank * sizeof *extent);
    for (int i = 0; i < rank; i++)
        t->order[i] = i;
    return true;
}

void uk_write_temp(struct uk_writer *w, const struct uk_graph_node *n, const char *name, enum uk_type type,
                   int rank, const int64_t *extent, const int *order) {
    struct uk_written t = {.node = n, .local = name, .type = type, .rank = rank, .is_temp = true};

    memcpy(t.extent, extent, (size_t)rank * sizeof *extent);
    for (int i = 0; i < rank; i++)
        t.order[i] = order ? order[i] : i;
    snprintf(t.name, sizeof t.name, "t%d", w->temps++);
    add(w, &t);
}

void uk_write_temp_like(struct uk_writer *w, const struct uk_graph_node *n, const char *name,
                        enum uk_type type) {
    const struct uk_graph_value *v = n->output[0];

    uk_write_temp(w, n, name, type, v->rank, v->extent, v->is_laid_out ? v->order : NULL);
}

static struct uk_written *temp_of(struct uk_writer *w, const struct uk_graph_node *n, const char *name,
                                  size_t length) {
    for (int i = 0; i < w->tensors; i++) {
        const struct uk_written *t = &w->tensor[i];
        if (t->node == n && strlen(t->local) == length && !strncmp(t->local, name, length))
            return &w->tensor[i];
    }
    return NULL;
}

/* ---- statements ---- */

static void translate(struct uk_writer *w, const struct uk_graph_node *n, struct uk_text *out,
                      const char *from, size_t length);

/* Splits subscripts. at: after the opening bracket; *end: after the closing one. Returns the number of
 * subscripts. */
static int subscripts(const char *at, const char *part[], size_t length[], const char **end) {
    int depth = 0, count = 0;
    const char *from = at;

    for (;; at++) {
        if (!*at || (!depth && (*at == ']' || *at == ','))) {
            while (*from == ' ')
                from++;
            if (count < UK_RANK && (at > from || *at == ',')) {
                part[count] = from;
                length[count++] = (size_t)(at - from);
            }
            from = at + 1;
            if (*at != ',')
                break;
        }
        depth += *at == '(' || *at == '[';
        depth -= *at == ')' || *at == ']';
    }
    *end = *at ? at + 1 : at;
    return count;
}

/* Writes an access. t is a copy, because subscripts may add tensors, which moves the array. */
static const char *access(struct uk_writer *w, const struct uk_graph_node *n, struct uk_text *out,
                          struct uk_written t, const char *at) {
    const char *part[UK_RANK], *end;
    size_t length[UK_RANK];
    const int count = subscripts(at, part, length, &end);

    uk_put(out, "%s[", t.name);
    for (int i = 0; i < count; i++) {
        const int d = count == t.rank ? t.order[i] : i;
        uk_put(out, "%s", i ? ", " : "");
        translate(w, n, out, part[d], length[d]);
    }
    uk_put(out, "]");
    return end;
}

/* Returns the node's value that the character after $ denotes. */
static const struct uk_graph_value *value_of_letter(const struct uk_writer *w, const struct uk_graph_node *n,
                                                    char c) {
    if (c != 'y')
        return uk_node_input(n, c - '0');
    for (int i = 0; i < n->outputs; i++)
        if (n->output[i] == w->result)
            return n->output[i];
    return n->output[0];
}

static void translate(struct uk_writer *w, const struct uk_graph_node *n, struct uk_text *out,
                      const char *from, size_t length) {
    const char *const end = from + length;

    while (from < end) {
        const struct uk_written *t = NULL;
        const char *name = from + 1;
        if (*from == '$') {
            t = tensor_of(w, value_of_letter(w, n, *name));
            name++;
        } else if (*from == '@') {
            while (isalnum((unsigned char)*name))
                name++;
            t = temp_of(w, n, from + 1, (size_t)(name - from - 1));
        }
        if (t && *name == '[') {
            from = access(w, n, out, *t, name + 1);
        } else if (*from == '$' || *from == '@') {
            w->failed = true; /* no memory for the tensor */
            return;
        } else {
            uk_put(out, "%c", *from++);
        }
    }
}

static char *formatted(struct uk_writer *w, const char *format, va_list ap, va_list again) {
    const int length = vsnprintf(NULL, 0, format, ap);
    char *text = length < 0 ? NULL : malloc((size_t)length + 1);

    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    else
        w->failed = true;
    return text;
}

#define FORMATTED(w, format, text)                  \
    do {                                            \
        va_list ap_, again_;                        \
        va_start(ap_, format);                      \
        va_start(again_, format);                   \
        (text) = formatted(w, format, ap_, again_); \
        va_end(again_);                             \
        va_end(ap_);                                \
    } while (0)

void uk_write(struct uk_writer *w, const struct uk_graph_node *n, const char *format, ...) {
    char *text;

    FORMATTED(w, format, text);
    if (text) {
        translate(w, n, &w->statements, text, strlen(text));
        uk_put(&w->statements, "\n");
    }
    free(text);
}

/* ---- results that may be inlined ---- */

/* Counts the reads of `v` in the node's expression, e. */
static int mentions(const struct uk_graph_node *n, const char *e, const struct uk_graph_value *v) {
    int count = 0;

    for (; (e = strchr(e, '$')); e++)
        count += uk_node_input(n, e[1] - '0') == v;
    return count;
}

static int accesses(const char *expression) {
    int count = 0;

    for (const char *e = expression; (e = strchr(e, '[')); e++)
        count++;
    return count;
}

static const char *expression_at(const struct uk_writer *w, const struct uk_graph_value *v) {
    for (int k = 0; k < w->tensors; k++)
        if (w->tensor[k].value == v && w->tensor[k].expression)
            return w->tensor[k].expression;
    return NULL;
}

/* Upper bound of the accesses in the node's statement with what is inlined so far, its result included. e:
 * the node's expression. */
static int accesses_of(const struct uk_writer *w, const struct uk_graph_node *n, const char *e) {
    int count = 1;

    for (; (e = strchr(e, '$')); e++) {
        const char *read = expression_at(w, uk_node_input(n, e[1] - '0'));

        count += read ? accesses(read) : 1;
    }
    return count;
}

/* True if the node's statement may contain the expression of its input v. */
static bool may_contain(struct uk_writer *w, const struct uk_graph_node *n, const struct uk_graph_value *v,
                        const char *expression) {
    const char *e = uk_expression_of(w->g, n);

    w->failed |= !e;
    return e && mentions(n, e, v) == 1 && accesses_of(w, n, e) - 1 + accesses(expression) <= UK_MAX_ACCESSES;
}

static bool stands_where_read(struct uk_writer *w, const struct uk_graph_value *v, const char *expression) {
    if (v == w->result || v->uses != 1 || strlen(expression) > LONGEST_EXPRESSION)
        return false;
    for (int i = 0; i < w->nodes; i++) {
        const struct uk_graph_node *n = w->node[i];
        for (int j = 0; j < n->inputs; j++)
            if (n->input[j] == v)
                return uk_node_is_elementwise(n) && uk_same_extents(w->g, v, n->output[0]) &&
                       may_contain(w, n, v, expression);
    }
    return false;
}

static void result(struct uk_writer *w, const struct uk_graph_node *n, struct uk_text *expression) {
    const struct uk_graph_value *v = n->output[0];

    if (!expression->text) {
        w->failed = true;
    } else if (stands_where_read(w, v, expression->text)) {
        struct uk_written t = {.value = v, .is_temp = true};
        t.expression = uk_strdup(&w->g->arena, expression->text);
        if (!t.expression || !add(w, &t))
            w->failed = true;
    } else {
        uk_write(w, n, "$y[%s] = ", uk_iterators(v->rank));
        uk_text_cut(&w->statements, w->statements.length - 1); /* continue the line */
        uk_put(&w->statements, "%s\n", expression->text);
    }
}

void uk_write_result(struct uk_writer *w, const struct uk_graph_node *n, const char *format, ...) {
    struct uk_text expression = {0};
    char *text;

    FORMATTED(w, format, text);
    if (text) {
        translate(w, n, &expression, text, strlen(text));
        result(w, n, &expression);
    }
    free(text);
    free(expression.text);
}

/* ---- element by element ---- */

static bool put_literal(struct uk_text *out, const struct uk_graph_value *v) {
    if (!v->data || v->is_block || uk_value_elements(v) != 1)
        return false;
    if (v->type == UK_F32 || v->type == UK_F64) {
        const double d = uk_constant_real(v, 0);
        if (isnan(d))
            return false;
        uk_put(out, "%s", uk_number_text(d, v->type == UK_F32));
        return true;
    }
    if (v->type == UK_F16 || v->type == UK_BF16 || uk_constant_int(v, 0) == INT64_MIN)
        return false;
    uk_put(out, uk_constant_int(v, 0) < 0 ? "(%" PRId64 ")" : "%" PRId64, uk_constant_int(v, 0));
    return true;
}

/* Returns the result's dimension to which dimension 0 of input i corresponds. Broadcasting aligns last
 * dimensions, except: a one-dimensional input of a channelwise operator goes along `axis`, by default the
 * channels; so does input 1 in early operator sets with `broadcast`. */
static int first_dimension(const struct uk_graph_node *n, int i) {
    const int rank = n->output[0]->rank, back = rank - n->input[i]->rank;
    const int64_t axis = uk_attribute_int(n, "axis", n->op->is_channelwise ? 1 : back);

    if (n->op->is_channelwise && i && n->input[i]->rank == 1 && n->input[i]->extent[0] != 1 && rank > 1)
        return (int)(axis < 0 ? axis + rank : axis);
    return i == 1 && uk_attribute_find(n, "axis") && uk_attribute_int(n, "broadcast", 0) && axis >= 0 &&
                   axis <= back
               ? (int)axis
               : back;
}

static void put_operand(struct uk_writer *w, const struct uk_graph_node *n, struct uk_text *out, int i) {
    const struct uk_graph_value *v = n->input[i];
    char subscripts_text[UK_RANK * 6 + 32];
    const int64_t block = i ? uk_attribute_int(n, "block_size", 0) : 0, axis = uk_attribute_int(n, "axis", 1);
    size_t used = 0;

    const char *expression = expression_at(w, v);
    if (expression)
        uk_put(out, "(%s)", expression);
    if (expression || put_literal(out, v))
        return;
    used += (size_t)snprintf(subscripts_text, sizeof subscripts_text, "$%c[", '0' + i);
    for (int d = 0; d < v->rank; d++) {
        const int at = first_dimension(n, i) + d;
        const bool broadcast = uk_is_broadcast(w->g, v, d, n->output[0], at);
        used += (size_t)snprintf(subscripts_text + used, sizeof subscripts_text - used,
                                 broadcast ? "%s0" : "%si%d", d ? ", " : "", at);
        if (!broadcast && block && d == (axis < 0 ? axis + v->rank : axis))
            used +=
                (size_t)snprintf(subscripts_text + used, sizeof subscripts_text - used, " / %" PRId64, block);
    }
    snprintf(subscripts_text + used, sizeof subscripts_text - used, "]");
    translate(w, n, out, subscripts_text, strlen(subscripts_text));
}

/* Returns an attribute's number, or the default in the operator's row. */
static double attribute_or_default(const struct uk_graph_node *n, const char *name, size_t length) {
    char copy[32];
    const char *spec = n->op->attributes;

    snprintf(copy, sizeof copy, "%.*s", (int)length, name);
    while (spec && (spec = strstr(spec, copy)) && spec[length] != '=')
        spec += length;
    const double otherwise = spec ? strtod(spec + length + 1, NULL) : 0;
    const struct uk_attribute *a = uk_attribute_find(n, copy);
    return a && a->kind == UK_A_INT ? (double)a->i : uk_attribute_float(n, copy, otherwise);
}

static const char *put_brace(const struct uk_graph_node *n, struct uk_text *out, const char *at) {
    const char *name = at + 1, *end = strchr(at, '}');
    const size_t length = (size_t)(end - name);

    if (length == 1 && *name == 'y')
        uk_put(out, "%s", uk_type_name(n->output[0]->type));
    else if (length == 1 && *name == 'x')
        uk_put(out, "%s", uk_type_name(n->input[0]->type));
    else
        uk_put(out, "%s", uk_number_text(attribute_or_default(n, name, length), true));
    return end + 1;
}

static void elementwise(struct uk_writer *w, const struct uk_graph_node *n) {
    const char *e = uk_expression_of(w->g, n);
    struct uk_text out = {0};

    if (!e)
        w->failed = true;
    while (e && *e) {
        if (*e == '$') {
            put_operand(w, n, &out, e[1] - '0');
            e += 2;
        } else if (*e == '{') {
            e = put_brace(n, &out, e);
        } else {
            uk_put(&out, "%c", *e++);
        }
    }
    if (e)
        result(w, n, &out);
    free(out.text);
}

/* ---- the whole program ---- */

static void declare(const struct uk_writer *w, struct uk_text *out, const struct uk_written *t) {
    uk_put(out, "%s %s %s [", t->is_temp ? "temp" : "tensor", t->name, uk_type_name(t->type));
    for (int i = 0; i < t->rank; i++)
        uk_put(out, "%s%" PRId64, i ? ", " : "", t->extent[t->order[i]]);
    uk_put(out, "]");
    if (t->value && (t->value->is_block || uk_is_strided(t->value)))
        for (int i = 0; i < t->rank; i++)
            uk_put(out, "%s%" PRId64 "%s", i ? ", " : " stride [", t->stride[t->order[i]],
                   i == t->rank - 1 ? "]" : "");
    if (t->value && uk_constant_is_finite(w->g, (struct uk_graph_value *)t->value))
        uk_put(out, " finite");
    if (w->marks_constants && t->value && t->value->data && !t->value->is_block && t->rank > 1)
        uk_put(out, UK_CONSTANT_MARK);
    uk_put(out, "\n");
}

/* Sort key of a declaration: arguments, the result, temps. */
static int rank_of_declaration(const struct uk_writer *w, const struct uk_written *t) {
    return t->is_temp ? 2 : t->value == w->result;
}

static void order_tensors(struct uk_writer *w) {
    for (int i = 1; i < w->tensors; i++) {
        const struct uk_written t = w->tensor[i];
        int j = i;
        for (; j > 0 && rank_of_declaration(w, &w->tensor[j - 1]) > rank_of_declaration(w, &t); j--)
            w->tensor[j] = w->tensor[j - 1];
        w->tensor[j] = t;
    }
}

enum uk_status uk_write_program(struct uk_writer *w, const char **text) {
    struct uk_text out = {0};

    for (int i = 0; i < w->nodes && !w->g->status && !w->failed; i++) {
        const struct uk_graph_node *n = w->node[i];
        int output = 0;
        for (int j = 0; j < n->outputs; j++)
            output = n->output[j] == w->result ? j : output;
        if (uk_node_is_elementwise(n))
            elementwise(w, n);
        else if (n->op->write(w, n, output))
            break;
    }
    if (w->g->status)
        return w->g->status;
    order_tensors(w);
    for (int i = 0; i < w->tensors; i++)
        if (!w->tensor[i].expression)
            declare(w, &out, &w->tensor[i]);
    w->failed |= w->statements.failed;
    if (!w->failed && !w->statements.text && w->g->points.count) {
        *text = uk_strdup(&w->g->arena, ""); /* at this point nothing is to be computed */
    } else if (!w->failed && w->statements.text && out.text) {
        uk_put(&out, "%s", w->statements.text);
        *text = out.text ? uk_strdup(&w->g->arena, out.text) : NULL;
    } else {
        *text = NULL;
    }
    free(out.text);
    return *text ? UK_OK : uk_graph_no_memory(w->g);
}

void uk_writer_end(struct uk_writer *w) {
    free(w->statements.text);
    free(w->tensor);
}
