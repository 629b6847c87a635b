/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists that a node reads, such as the places of elements and their weights. They are constants. With open
 * sizes each has a producer, a node that computes it at run time unless it is a part of the longest list.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "layers/moves/list.h"

/* Names of a producer's attributes: the statements, the extents of its temps, the numbers in the statements.
 */
static const char *const number_name[UK_LIST_NUMBERS] = {"0", "1", "2", "3"};

/* Declares the temps that the statements have. */
static void declare(struct uk_writer *w, const struct uk_graph_node *n, const char *text) {
    const int64_t extent[] = {uk_attribute_int(n, "rows", 0), uk_attribute_int(n, "taps", 1)};

    if (strstr(text, "@x["))
        uk_write_temp(w, n, "x", UK_F64, 1, extent, NULL);
    if (strstr(text, "@d["))
        uk_write_temp(w, n, "d", UK_F64, 2, extent, NULL);
    if (strstr(text, "@t["))
        uk_write_temp(w, n, "t", UK_F64, 2, extent, NULL);
    if (strstr(text, "@s["))
        uk_write_temp(w, n, "s", UK_F64, 1, extent, NULL);
}

/* Writes the statements with the numbers in them. */
static enum uk_status write_list(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    const char *from = uk_attribute_string(n, "text", "");
    struct uk_text text = {0};

    (void)output;
    declare(w, n, from);
    for (; *from; from++)
        if (*from == '#')
            uk_put(&text, "%" PRId64, uk_attribute_int(n, number_name[*++from - '0'], 0));
        else
            uk_put(&text, "%c", *from);
    w->failed |= !text.text;
    for (char *line = text.text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        uk_write(w, n, "%s", line);
    }
    free(text.text);
    return UK_OK;
}

static const struct uk_operator list_operator = {
    .name = "List", .domain = UK_INTERNAL_DOMAIN, .write = write_list};

bool uk_is_list(const struct uk_graph_node *n) {
    return n && n->op == &list_operator;
}

/* Makes a node that computes v, as the graph's first one, outside of loops. type: of the node that reads it,
 * for messages. False: no memory. */
static bool make_producer(struct uk_graph *g, struct uk_graph_value *v, const char *type,
                          const struct uk_list_program *p) {
    struct uk_graph_node *n = uk_graph_node_new(g, type, v->name, 0, 1);
    const char *text = uk_strdup(&g->arena, p->text);
    struct uk_attribute *list = uk_alloc(&g->arena, (3 + UK_LIST_NUMBERS) * sizeof *list);

    if (!n || !text || !list)
        return false;
    list[n->attributes++] = (struct uk_attribute){.name = "text", .kind = UK_A_STRING, .s = text};
    list[n->attributes++] = (struct uk_attribute){.name = "rows", .kind = UK_A_INT, .i = p->rows};
    list[n->attributes++] = (struct uk_attribute){.name = "taps", .kind = UK_A_INT, .i = p->taps};
    for (int i = 0; i < UK_LIST_NUMBERS; i++)
        list[n->attributes++] =
            (struct uk_attribute){.name = number_name[i], .kind = UK_A_INT, .i = p->number[i]};
    n->attribute = list;
    n->op = &list_operator;
    n->is_folded = true;
    n->output[0] = v;
    v->producer = n;
    n->next = g->nodes;
    g->nodes = n;
    return true;
}

enum uk_status uk_append_list(struct uk_graph *g, struct uk_graph_node *n, enum uk_type type, int64_t count,
                              const struct uk_list_program *p, void **data) {
    const int input = uk_append_constant(g, n, type, count, data);

    if (input < 0)
        return g->status;
    return !g->open_count || make_producer(g, n->input[input], n->type, p) ? UK_OK : uk_graph_no_memory(g);
}
