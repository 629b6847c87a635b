/* SPDX-License-Identifier: Apache-2.0 */
/* Reads schedules of layers from a text, to replace automatic ones. */
#include <string.h>
#include "emit/emit.h"

/* A line of the text without leading blanks. */
struct line {
    const char *begin, *end; /* from its first word to before the newline */
    const char *next;
    int number;
};

static bool next_line(struct line *l, const char *end) {
    if (l->next >= end)
        return false;
    const char *newline = memchr(l->next, '\n', (size_t)(end - l->next));

    l->begin = l->next;
    l->end = newline ? newline : end;
    l->next = newline ? newline + 1 : end;
    l->number++;
    while (l->begin < l->end && (*l->begin == ' ' || *l->begin == '\t'))
        l->begin++;
    return true;
}

static bool is_empty(const struct line *l) {
    return l->begin == l->end || *l->begin == '#' || *l->begin == '\r';
}

/* Returns the key of a line "layer KEY" and its length; NULL: another line. */
static const char *key_of(const struct line *l, size_t *length) {
    static const char word[] = "layer";
    const char *at = l->begin + strlen(word);

    if ((size_t)(l->end - l->begin) <= strlen(word) || strncmp(l->begin, word, strlen(word)) != 0 ||
        (*at != ' ' && *at != '\t'))
        return NULL;
    while (at < l->end && (*at == ' ' || *at == '\t'))
        at++;
    *length = 0;
    while (at + *length < l->end && !strchr(" \t\r#", at[*length]))
        ++*length;
    return at;
}

static struct uk_layer_function *find(const struct uk_network *n, const char *key, size_t length) {
    struct uk_layer_function *f = n->plan.functions;

    while (f && (strlen(f->key) != length || strncmp(f->key, key, length) != 0))
        f = f->next;
    return f;
}

/* A text that is being read. The network changes only when all of it is right. */
struct taking {
    struct uk_network *n;
    const char *file, *end;
    const char **steps; /* by function number */
    int sections, unused;
};

/* Returns the lines up to the next section. They follow as many empty lines as precede them in the text, so
 * that line numbers in messages are right. */
static const char *steps_at(struct taking *t, struct line *l) {
    const char *begin = l->next;
    const size_t before = (size_t)l->number;
    struct line at = *l;
    size_t length;

    while (next_line(&at, t->end) && !key_of(&at, &length))
        *l = at;
    length = (size_t)(l->next - begin);
    char *steps = uk_alloc(&t->n->graph.arena, before + length + 1);
    if (steps) {
        memset(steps, '\n', before);
        memcpy(steps + before, begin, length);
        steps[before + length] = 0;
    }
    return steps;
}

static enum uk_status check(struct taking *t, const struct uk_layer_function *f, const char *steps) {
    struct uk_program *p = NULL;
    struct uk_network *n = t->n;
    enum uk_status s = uk_program_parse(n->context, "layer.uk", f->text, strlen(f->text), &p);

    if (!s)
        s = uk_program_schedule(p, t->file, steps, strlen(steps));
    uk_program_destroy(p);
    return s ? uk_graph_fail(&n->graph, s, NULL, "%s", uk_context_message(n->context)) : UK_OK;
}

static enum uk_status take_section(struct taking *t, struct line *l, const char *key, size_t length) {
    struct uk_graph *g = &t->n->graph;
    const struct uk_layer_function *f = find(t->n, key, length);
    const int number = l->number;
    const char *steps = steps_at(t, l);

    t->sections++;
    if (!steps)
        return uk_graph_no_memory(g);
    if (!f) {
        t->unused++;
        return UK_OK;
    }
    if (t->steps[f->number])
        return uk_graph_fail(g, UK_SYNTAX, NULL, "%s:%d: layer '%s' already has a schedule; leave one out",
                             t->file, number, f->key);
    t->steps[f->number] = steps;
    return check(t, f, steps);
}

static enum uk_status take(struct taking *t, const char *text) {
    struct line l = {.next = text};
    enum uk_status s = UK_OK;

    while (!s && next_line(&l, t->end)) {
        size_t length;
        const char *key = key_of(&l, &length);

        if (key)
            s = take_section(t, &l, key, length);
        else if (!is_empty(&l))
            s = uk_graph_fail(
                &t->n->graph, UK_SYNTAX, NULL,
                "%s:%d: expected 'layer' and a layer's key; uk tune of a network writes such texts", t->file,
                l.number);
    }
    if (!s && t->unused && t->unused == t->sections)
        s = uk_graph_fail(&t->n->graph, UK_REFUSED, NULL,
                          "%s: none of its %d schedules matches a layer of this network; tune it, as layers "
                          "of other shapes need other schedules",
                          t->file, t->sections);
    return s;
}

enum uk_status uk_layer_schedule(const struct uk_network *n, const struct uk_layer_function *f,
                                 struct uk_program *p) {
    return f->steps ? uk_program_schedule(p, n->schedule_file, f->steps, strlen(f->steps)) : UK_OK;
}

enum uk_status uk_network_schedule(struct uk_network *n, const char *file, const char *text, size_t length,
                                   int *unused) {
    enum uk_status s = uk_network_enter(n, true);

    if (s)
        return s;
    struct uk_graph *g = &n->graph;
    if (!file || !text)
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "%s is NULL", file ? "text" : "file");
    struct taking t = {.n = n,
                       .file = uk_strdup(&g->arena, file),
                       .end = text + length,
                       .steps = uk_alloc(&g->arena, ((size_t)n->plan.function_count + 1) * sizeof *t.steps)};
    if (!t.file || !t.steps)
        return uk_graph_no_memory(g);
    s = take(&t, text);
    if (s)
        return s;
    for (struct uk_layer_function *f = n->plan.functions; f; f = f->next)
        f->steps = t.steps[f->number];
    for (struct uk_layer *l = n->plan.layers; l; l = l->next) {
        const char *steps = l->function->steps;
        l->shown.schedule = steps ? steps + strspn(steps, "\n") : NULL;
    }
    n->schedule_file = t.file;
    if (unused)
        *unused = t.unused;
    return UK_OK;
}
