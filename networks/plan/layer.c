/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the program of a layer, finds or makes its function, and describes the layer for the API. */
#include <inttypes.h>
#include <string.h>
#include "plan/plan.h"

/* Returns the text without marks of constants, or the text itself if it has none. NULL: no memory. */
static const char *remove_marks(struct uk_plan *p, const char *text) {
    const char *mark = strstr(text, UK_CONSTANT_MARK "\n");
    char *copy = mark ? uk_strdup(&p->g->arena, text) : NULL, *to = copy;

    if (!mark || !copy)
        return mark ? NULL : text;
    for (const char *from = text; *from;) {
        if (!strncmp(from, UK_CONSTANT_MARK "\n", sizeof UK_CONSTANT_MARK))
            from += sizeof UK_CONSTANT_MARK - 1;
        *to++ = *from++;
    }
    *to = 0;
    return copy;
}

/* 64-bit FNV-1a hash, 16 hexadecimal digits. */
static const char *key_of(struct uk_plan *p, const char *text) {
    uint64_t h = 0xcbf29ce484222325u;

    for (; *text; text++)
        h = (h ^ (unsigned char)*text) * 0x100000001b3u;
    return uk_format(&p->g->arena, "%016" PRIx64, h);
}

static struct uk_layer_function *function_of(struct uk_plan *p, const char *stem, const char *text) {
    struct uk_layer_function **at = &p->functions;

    for (; *at; at = &(*at)->next)
        if (!strcmp((*at)->text, text))
            return *at;
    struct uk_layer_function *f = uk_alloc(&p->g->arena, sizeof *f);
    if (!f || !(f->name = uk_format(&p->g->arena, "%s_layer_%d", stem, p->function_count)))
        return NULL;
    f->text = text;
    if (!(f->plain_text = remove_marks(p, text)) || !(f->key = key_of(p, text)))
        return NULL;
    f->number = p->function_count++;
    *at = f;
    return f;
}

enum uk_status uk_layer_take_arguments(struct uk_plan *p, struct uk_layer *l, const struct uk_writer *w) {
    l->arguments = 0;
    l->argument = uk_alloc(&p->g->arena, ((size_t)w->tensors + 1) * sizeof *l->argument);
    if (!l->argument)
        return uk_graph_no_memory(p->g);
    for (int i = 0; i < w->tensors; i++)
        if (!w->tensor[i].is_temp)
            l->argument[l->arguments++] = w->tensor[i].value;
    return UK_OK;
}

static const char *operators_of(struct uk_plan *p, const struct uk_layer *l) {
    const char *text = l->node[0]->type;

    for (int i = 1; i < l->nodes && text; i++)
        text = uk_format(&p->g->arena, "%s+%s", text, l->node[i]->type);
    return text;
}

static enum uk_status show(struct uk_plan *p, struct uk_layer *l) {
    const struct uk_graph_value *v = l->result;
    struct uk_network_layer *s = &l->shown;

    s->name = l->node[l->nodes - 1]->name;
    s->operators = operators_of(p, l);
    s->function = l->function->name;
    s->text = l->function->text;
    s->plain_text = l->function->plain_text;
    s->key = l->function->key;
    s->arguments = l->arguments;
    s->output = (struct uk_network_tensor){
        .name = v->name, .type = v->type, .rank = v->rank, .is_boolean = v->is_boolean};
    memcpy(s->output.shape, v->extent, sizeof s->output.shape);
    s->output.elements = (size_t)uk_value_elements(v);
    s->output.bytes = s->output.elements * uk_type_bytes(v->type);
    return s->operators ? uk_layer_classify(p->g, l) : uk_graph_no_memory(p->g);
}

enum uk_status uk_layer_take_text(struct uk_plan *p, struct uk_layer *l, const char *stem, const char *text) {
    l->function = function_of(p, stem, text);
    return l->function ? show(p, l) : uk_graph_no_memory(p->g);
}

enum uk_status uk_layer_write(struct uk_plan *p, struct uk_layer *l, const char *stem) {
    struct uk_writer w = {
        .g = p->g, .result = l->result, .node = l->node, .nodes = l->nodes, .marks_constants = true};
    const char *text;
    enum uk_status s = uk_write_program(&w, &text);

    if (!s)
        s = uk_layer_take_arguments(p, l, &w);
    uk_writer_end(&w);
    return s ? s : uk_layer_take_text(p, l, stem, text);
}
