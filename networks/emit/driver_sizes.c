/* SPDX-License-Identifier: Apache-2.0 */
/* Open sizes in the driver: arguments of a run, forms, and workspaces at the sizes that need most. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "emit/emit.h"

void uk_driver_put_sizes(struct uk_text *t, const struct uk_network *n) {
    for (int i = 0; i < n->graph.open_count; i++) {
        const struct uk_graph_size *z = n->graph.open[i];

        uk_put(t,
               "  %%at%1$d = getelementptr i64, ptr %%sizes, i64 %1$d\n"
               "  %%size%1$d = load i64, ptr %%at%1$d\n"
               "  %%low%1$d = icmp sge i64 %%size%1$d, %2$" PRId64 "\n"
               "  %%high%1$d = icmp sle i64 %%size%1$d, %3$" PRId64 "\n"
               "  %%rest%1$d = srem i64 %%size%1$d, %4$" PRId64 "\n"
               "  %%whole%1$d = icmp eq i64 %%rest%1$d, 0\n"
               "  %%in%1$d = and i1 %%low%1$d, %%high%1$d\n"
               "  %%right%1$d = and i1 %%in%1$d, %%whole%1$d\n"
               "  br i1 %%right%1$d, label %%take%1$d, label %%outside%1$d\n"
               "outside%1$d:\n  ret i32 %5$d\n"
               "take%1$d:\n"
               "  %%z%1$d = sdiv i64 %%size%1$d, %4$" PRId64 "\n",
               i, z->lower, z->upper, z->step, UK_INVALID_SIZE);
    }
}

void uk_driver_put_form(struct uk_text *t, const struct uk_size_form *f, int64_t factor, const char *name) {
    char sum[24] = "0";

    for (int i = 0; i < f->terms; i++) {
        const struct uk_size_term *m = &f->term[i];

        if (m->a < 0)
            uk_put(t, "  %%%s.t%d = add i64 0, %" PRId64 "\n", name, i, m->factor * factor);
        else
            uk_put(t, "  %%%s.t%d = mul i64 %%z%d, %" PRId64 "\n", name, i, m->a, m->factor * factor);
        if (m->b >= 0)
            uk_put(t, "  %%%1$s.p%2$d = mul i64 %%%1$s.t%2$d, %%z%3$d\n", name, i, m->b);
        uk_put(t, "  %%%1$s.s%2$d = add i64 %3$s%4$s%5$s, %%%1$s.%6$c%2$d\n", name, i, i ? "%" : "",
               i ? name : "", sum, m->b >= 0 ? 'p' : 't');
        snprintf(sum, sizeof sum, ".s%d", i);
    }
    uk_put(t, "  %%%s = add i64 0, %s%s%s\n", name, f->terms ? "%" : "", f->terms ? name : "", sum);
}

/* suffix: of the functions' names; sizes: number of their sizes. */
static void declare(struct uk_text *t, const struct uk_layer *l, const char *suffix, int sizes) {
    uk_put(t, "declare i64 @%s%s_workspace(", l->function->name, suffix);
    for (int i = 0; i < sizes; i++)
        uk_put(t, "%si64", i ? ", " : "");
    uk_put(t, ")\ndeclare i32 @%s%s(", l->function->name, suffix);
    for (int i = 0; i < sizes; i++)
        uk_put(t, "i64, ");
    for (int i = 0; i < l->arguments; i++)
        uk_put(t, "ptr, ");
    uk_put(t, "ptr)\n");
}

void uk_driver_declare(struct uk_text *t, const struct uk_layer *l) {
    declare(t, l, "", l->sizes);
    if (l->function->single >= 0)
        declare(t, l, "_single", l->sizes - 1);
}

/* ---- workspaces ---- */

/* True if the layer's sizes are largest where the open ones are: then its workspace is. */
static bool grows(const struct uk_layer *l) {
    bool grow = true;

    for (int i = 0; i < l->sizes; i++)
        for (int k = 0; k < l->size[i].terms; k++)
            grow &= l->size[i].term[k].a < 0 || l->size[i].term[k].factor > 0;
    return grow;
}

/* Writes a call of the layer's NAME_workspace at the point, or if is_single of NAME_single_workspace. */
static void put_workspace(struct uk_text *t, const struct uk_network *n, const struct uk_layer *l, int point,
                          bool is_single, int *count) {
    const int k = (*count)++, single = is_single ? l->function->single : -1;
    const char *before = "";
    int64_t steps[UK_MAX_OPEN] = {0};

    if (n->graph.open_count)
        memcpy(steps, n->graph.points.size[point], sizeof steps);
    if (is_single)
        steps[l->size[single].term[0].a] = 1;
    uk_put(t, "  %%work%d = call i64 @%s%s_workspace(", k, l->function->name, is_single ? "_single" : "");
    for (int i = 0; i < l->sizes; i++) {
        if (i == single)
            continue;
        uk_put(t, "%si64 %" PRId64, before, uk_form_value(&l->size[i], steps));
        before = ", ";
    }
    uk_put(t,
           ")\n"
           "  %%bytes%1$d = add i64 %%work%1$d, %2$" PRId64 "\n"
           "  %%most%3$d = call i64 @llvm.smax.i64(i64 %%most%1$d, i64 %%bytes%1$d)\n",
           k, l->sizes ? l->work : l->function->work, k + 1);
}

/* True if an earlier layer has the same function and takes the same sizes. */
static bool is_covered(const struct uk_network *n, const struct uk_layer *l) {
    for (const struct uk_layer *e = n->plan.layers; e != l; e = e->next) {
        bool same = e->function == l->function && (!l->sizes || e->work >= l->work);
        for (int i = 0; i < l->sizes && same; i++)
            same = uk_form_equal(&e->size[i], &l->size[i]);
        if (same)
            return true;
    }
    return false;
}

int uk_driver_put_memory(struct uk_text *t, const struct uk_network *n) {
    int count = 0;

    for (const struct uk_layer *l = n->plan.layers; l; l = l->next) {
        if (is_covered(n, l))
            continue;
        for (int p = 0; p < (grows(l) ? 1 : n->graph.points.count); p++) {
            put_workspace(t, n, l, p, false, &count);
            if (l->function->single >= 0)
                put_workspace(t, n, l, p, true, &count);
        }
    }
    return count;
}
