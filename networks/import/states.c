/* SPDX-License-Identifier: Apache-2.0 */
/* States: inputs and outputs that the options pair, or whose names exporters do. */
#include <string.h>
#include "import/scope.h"

/* ---- names ---- */

/* How exporters change the name of an input to that of the output: the first occurrence of `from`, or with ""
 * the end of the name. Those with longer texts come first. */
static const struct {
    const char *from, *to;
} changes[] = {
    {"past_key_values", "present"},
    {"past_key_values", "present_key_values"},
    {"past", "present"},
    {"cache_in", "cache_out"},
    {"in_cache", "out_cache"},
    {"input_cache", "output_cache"},
    {"old_", "new_"},
    {"", "_out"},
    {"", "_new"},
    {"", "_present"},
};
static const char *const prefixes[] = {"new_", "out_", "updated_", "present_"};

/* True if the name is `input` with the change. */
static bool is_changed(const char *input, const char *name, const char *from, const char *to) {
    const char *at = *from ? strstr(input, from) : input + strlen(input);
    const size_t before = at ? (size_t)(at - input) : 0, added = strlen(to);

    return at && !strncmp(name, input, before) && !strncmp(name + before, to, added) &&
           !strcmp(name + before + added, at + strlen(from));
}

static struct uk_graph_value *find(struct uk_graph_value *const *value, int count, const char *name) {
    for (int i = 0; i < count; i++)
        if (!strcmp(value[i]->name, name))
            return value[i];
    return NULL;
}

static struct uk_graph_value *partner_of(const struct uk_graph *g, const char *input) {
    for (size_t k = 0; k < sizeof changes / sizeof *changes; k++)
        for (int i = 0; i < g->outputs; i++)
            if (is_changed(input, g->output[i]->name, changes[k].from, changes[k].to))
                return g->output[i];
    for (size_t k = 0; k < sizeof prefixes / sizeof *prefixes; k++)
        for (int i = 0; i < g->outputs; i++) {
            const char *name = g->output[i]->name;
            if (!strncmp(name, prefixes[k], strlen(prefixes[k])) &&
                !strcmp(name + strlen(prefixes[k]), input))
                return g->output[i];
        }
    return NULL;
}

/* ---- pairs ---- */

static enum uk_status refuse(struct uk_graph *g, const char *what, const char *name,
                             struct uk_graph_value *const *value, int count) {
    struct uk_closest_name near = {.word = name};
    struct uk_list known = {.count = 0};

    for (int i = 0; i < count; i++) {
        uk_consider_name(&near, value[i]->name);
        uk_list_put(&known, ", ", "%s", value[i]->name);
    }
    return uk_import_refuse_name(g, what, &near, &known);
}

static bool is_used(const struct uk_graph *g, const struct uk_graph_value *v) {
    for (int i = 0; i < g->states; i++)
        if (g->state[i].past == v || g->state[i].present == v)
            return true;
    return false;
}

static void add(struct uk_graph *g, struct uk_graph_value *past, struct uk_graph_value *present) {
    g->state[g->states++] = (struct uk_graph_state){.past = past, .present = present, .axis = -1};
}

static enum uk_status add_given(struct uk_graph *g, const char *input, const char *output) {
    if (!input || !output)
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "a state has no name of an input or of an output");
    struct uk_graph_value *past = find(g->input, g->inputs, input),
                          *present = find(g->output, g->outputs, output);

    if (!past)
        return refuse(g, "input", input, g->input, g->inputs);
    if (!present)
        return refuse(g, "output", output, g->output, g->outputs);
    if (is_used(g, past) || is_used(g, present))
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL, "'%s' is given for two states; give it for one",
                             is_used(g, past) ? input : output);
    add(g, past, present);
    return UK_OK;
}

/* Finds pairs by the names of inputs. */
static enum uk_status add_found(struct uk_graph *g) {
    for (int i = 0; i < g->inputs; i++) {
        struct uk_graph_value *present = is_used(g, g->input[i]) ? NULL : partner_of(g, g->input[i]->name);
        if (present && !is_used(g, present))
            add(g, g->input[i], present);
    }
    return g->states ? UK_OK
                     : uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                                     "no output has the name of an input's next value, as 'present.0.key' is "
                                     "that of 'past.0.key'; give states by their names");
}

/* Sorts the states in the order of inputs. */
static void sort(struct uk_graph *g) {
    int sorted = 0;

    for (int i = 0; i < g->inputs; i++)
        for (int k = sorted; k < g->states; k++)
            if (g->state[k].past == g->input[i]) {
                const struct uk_graph_state found = g->state[k];
                g->state[k] = g->state[sorted];
                g->state[sorted++] = found;
            }
}

enum uk_status uk_import_states(struct uk_graph *g, const struct uk_network_options *o) {
    enum uk_status s = UK_OK;

    if (!o->state_count && !o->find_states)
        return UK_OK;
    if (o->state_count < 0 || (o->state_count && (!o->state_inputs || !o->state_outputs)))
        return uk_graph_fail(g, UK_INVALID_ARGUMENT, NULL,
                             "%d states are given, or the arrays of their names are NULL", o->state_count);
    g->state = uk_alloc(&g->arena, ((size_t)g->inputs + 1) * sizeof *g->state);
    if (!g->state)
        return uk_graph_no_memory(g);
    for (int i = 0; i < o->state_count && !s; i++)
        s = add_given(g, o->state_inputs[i], o->state_outputs[i]);
    if (!s && o->find_states)
        s = add_found(g);
    sort(g);
    return s;
}
