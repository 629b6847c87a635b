/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum: a sum of products whose equation names the dimensions of the operands, "bij,bjk->bik". */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/layers.h"

/* Letters, then as many dimensions of an ellipsis, which are numbered from its first one. */
enum { LETTERS = 128, ELLIPSIS = LETTERS, NAMES = LETTERS + UK_RANK };

struct equation {
    int operands;
    int name[UK_MAX_ACCESSES][UK_RANK], rank[UK_MAX_ACCESSES]; /* dimensions of operands */
    int out[UK_RANK], out_rank;
    int64_t extent[NAMES]; /* 0: not used */
    bool used[NAMES], is_output[NAMES];
    int ellipsis; /* dimensions of the largest ellipsis */
};

static enum uk_status refuse(struct uk_graph *g, const struct uk_graph_node *n) {
    return uk_graph_fail(g, UK_REFUSED, n, "its equation '%s' does not fit its inputs",
                         uk_attribute_string(n, "equation", ""));
}

/* Reads one operand's dimensions up to a comma or an arrow. rank: of the tensor; -1: of the result, whose
 * ellipsis has e->ellipsis dimensions. */
static bool read_dimensions(struct equation *e, const char **text, int rank, int *name, int *count) {
    const char *at = *text;
    int letters = 0;

    for (const char *c = at; *c && *c != ',' && *c != '-'; c++)
        letters += isalpha((unsigned char)*c) != 0;
    for (*count = 0; *at && *at != ',' && *at != '-'; at++) {
        if (*at == ' ')
            continue;
        if (!strncmp(at, "...", 3)) {
            const int more = rank < 0 ? e->ellipsis : rank - letters;
            if (more < 0 || *count + more > UK_RANK)
                return false;
            e->ellipsis = more > e->ellipsis ? more : e->ellipsis;
            /* ellipses are aligned at their last dimensions */
            for (int d = 0; d < more; d++)
                name[(*count)++] = NAMES - more + d;
            at += 2;
        } else if (!isalpha((unsigned char)*at) || *count == UK_RANK) {
            return false;
        } else {
            name[(*count)++] = *at;
        }
    }
    *text = at;
    return rank < 0 || *count == rank;
}

/* The result's dimensions if the equation has no arrow: those of the ellipsis, then the letters that occur
 * once, in alphabetical order. */
static bool default_result(struct equation *e) {
    int seen[NAMES] = {0};

    e->out_rank = 0;
    for (int i = 0; i < e->operands; i++)
        for (int d = 0; d < e->rank[i]; d++)
            seen[e->name[i][d]]++;
    for (int d = NAMES - e->ellipsis; d < NAMES; d++)
        e->out[e->out_rank++] = d;
    for (int c = 0; c < LETTERS; c++)
        if (seen[c] == 1) {
            if (e->out_rank == UK_RANK)
                return false;
            e->out[e->out_rank++] = c;
        }
    return true;
}

static enum uk_status equation_of(struct uk_graph *g, const struct uk_graph_node *n, struct equation *e) {
    const char *at = uk_attribute_string(n, "equation", "");
    bool fits = n->inputs > 0 && n->inputs < UK_MAX_ACCESSES;
    enum uk_status s = UK_OK;

    *e = (struct equation){.operands = n->inputs};
    for (int i = 0; i < n->inputs && fits && !s; i++, at += *at == ',') {
        if ((s = uk_need_input(g, n, i)))
            return s;
        fits = read_dimensions(e, &at, n->input[i]->rank, e->name[i], &e->rank[i]) &&
               (*at == ',') == (i + 1 < n->inputs);
        for (int d = 0; d < e->rank[i] && fits; d++) {
            int64_t *extent = &e->extent[e->name[i][d]];
            const int64_t own = n->input[i]->extent[d];
            fits = !e->used[e->name[i][d]] || *extent == own || *extent == 1 || own == 1;
            if (!e->used[e->name[i][d]] || *extent == 1)
                *extent = own;
            e->used[e->name[i][d]] = true;
        }
    }
    if (fits && *at == '-' && at[1] == '>') {
        at += 2;
        fits = read_dimensions(e, &at, -1, e->out, &e->out_rank) && !*at;
    } else {
        fits = fits && !*at && default_result(e);
    }
    for (int d = 0; d < e->out_rank && fits; d++) {
        fits = e->used[e->out[d]] && !e->is_output[e->out[d]];
        e->is_output[e->out[d]] = true;
    }
    return fits ? UK_OK : refuse(g, n);
}

enum uk_status uk_infer_einsum(struct uk_graph *g, struct uk_graph_node *n) {
    struct equation e;
    int64_t extent[UK_RANK];
    enum uk_status s = equation_of(g, n, &e);

    for (int i = 1; i < n->inputs && !s; i++)
        if (n->input[i]->type != n->input[0]->type)
            s = uk_graph_fail(g, UK_REFUSED, n, "inputs of types %s and %s cannot be combined",
                              uk_type_name(n->input[0]->type), uk_type_name(n->input[i]->type));
    for (int d = 0; d < e.out_rank && !s; d++)
        extent[d] = e.extent[e.out[d]];
    return s ? s : uk_set_output(g, n, 0, n->input[0]->type, e.out_rank, extent);
}

/* Iterators are named by letter, or by the place in the ellipsis. */
static size_t put_iterator(char *out, size_t room, int name, const char *before) {
    return (size_t)(name < LETTERS ? snprintf(out, room, "%sd%c", before, name)
                                   : snprintf(out, room, "%se%d", before, NAMES - name));
}

/* True if all operands have extent 1 under the name, at all points of open sizes. */
static bool is_one_everywhere(const struct uk_graph *g, const struct uk_graph_node *n,
                              const struct equation *e, int name) {
    bool is_one = true;

    for (int i = 0; i < n->inputs; i++)
        for (int d = 0; d < e->rank[i]; d++)
            is_one &= e->name[i][d] != name || uk_is_one(g, n->input[i], d);
    return is_one;
}

enum uk_status uk_write_einsum(struct uk_writer *w, const struct uk_graph_node *n, int output) {
    char left[UK_RANK * 6] = "", over[NAMES * 6] = "", right[UK_MAX_ACCESSES * (UK_RANK * 6 + 8)] = "";
    size_t used = 0;
    struct equation e;
    enum uk_status s = equation_of(w->g, n, &e);

    (void)output;
    if (s)
        return s;
    for (int d = 0; d < e.out_rank; d++)
        used += put_iterator(left + used, sizeof left - used, e.out[d], d ? ", " : "");
    used = 0;
    for (int c = 0; c < NAMES; c++)
        if (e.used[c] && !e.is_output[c])
            used += put_iterator(over + used, sizeof over - used, c, used ? ", " : "");
    used = 0;
    for (int i = 0; i < n->inputs; i++) {
        used += (size_t)snprintf(right + used, sizeof right - used, "%s$%c[", i ? " * " : "", '0' + i);
        for (int d = 0; d < e.rank[i]; d++)
            if (uk_is_one(w->g, n->input[i], d) && !is_one_everywhere(w->g, n, &e, e.name[i][d]))
                used += (size_t)snprintf(right + used, sizeof right - used, "%s0", d ? ", " : "");
            else
                used += put_iterator(right + used, sizeof right - used, e.name[i][d], d ? ", " : "");
        used += (size_t)snprintf(right + used, sizeof right - used, "]");
    }
    uk_write(w, n, "$y[%s] = %s%s%s%s", left, *over ? "sum(" : "", over, *over ? ") " : "", right);
    return UK_OK;
}
