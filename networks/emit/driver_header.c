/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the network's functions in C: their header, and the calls of layers. */
#include <inttypes.h>
#include <stdlib.h>
#include "emit/emit.h"

/* Writes the form times `factor` as an expression of z[0], z[1], ..., the sizes in steps. */
static void put_form(struct uk_text *t, const struct uk_size_form *f, int64_t factor) {
    uk_put(t, f->terms ? "" : "0");
    for (int i = 0; i < f->terms; i++) {
        const struct uk_size_term *m = &f->term[i];
        const int64_t all = m->factor * factor;
        uk_put(t, "%s", i ? " + " : "");
        if (m->a < 0 || all != 1)
            uk_put(t, "%" PRId64, all);
        if (m->a >= 0)
            uk_put(t, "%sz[%d]", all == 1 ? "" : " * ", m->a);
        if (m->b >= 0)
            uk_put(t, " * z[%d]", m->b);
    }
}

/* Writes the offset in bytes of a part of the storage, the one of the loop's iteration. */
static void put_part(struct uk_text *t, const struct uk_graph_value *v) {
    const int64_t bytes = (int64_t)uk_type_bytes(v->type), elements = uk_value_elements(v);
    const struct uk_graph_value *whole = v->storage;

    if (v->is_reversed) {
        uk_put(t, "(");
        put_form(t, whole->form ? whole->form : &(struct uk_size_form){1, {{whole->extent[0], -1, -1}}}, 1);
        uk_put(t, " - 1 - t%d) * (", v->mover->number);
    } else {
        uk_put(t, "t%d * (", v->mover->number);
    }
    put_form(t, v->form ? &v->form[UK_RANK + 1] : &(struct uk_size_form){1, {{elements, -1, -1}}}, bytes);
    uk_put(t, ") + ");
}

/* Writes the value's place in the block of memory. */
static void put_place(struct uk_text *t, const struct uk_graph_value *v) {
    int64_t fixed = 0;

    uk_put(t, "m + ");
    for (; v; v = v->storage) {
        const int64_t bytes = (int64_t)uk_type_bytes(v->type);
        if (v->mover) {
            put_part(t, v);
        } else if (v->is_slice && v->form) {
            uk_put(t, "(");
            put_form(t, &v->form[UK_RANK], bytes);
            uk_put(t, ") + ");
        } else if (v->is_slice) {
            fixed += v->slice_at * bytes;
        }
        if (!v->storage)
            fixed += v->offset;
    }
    uk_put(t, "%" PRId64, fixed);
}

static void put_argument(struct uk_text *t, const struct uk_network *n, const struct uk_layer *l, int i) {
    const struct uk_graph_value *v = l->argument[i];
    char name[UK_CONSTANT_NAME];

    if (v->data && uk_value_elements(v)) {
        uk_constant_name(n, l, i, false, name);
        uk_put(t, "(const void *)%s", name);
    } else {
        uk_put(t, "(%svoid *)(", i == l->arguments - 1 ? "" : "const ");
        put_place(t, v);
        uk_put(t, ")");
    }
}

static void put_checks(struct uk_text *t, const struct uk_network *n) {
    uk_put(t, n->graph.open_count ? "    int64_t z[%d];\n\n" : "\n", n->graph.open_count);
    for (int i = 0; i < n->graph.open_count; i++) {
        const struct uk_network_size *z = &n->size[i];
        uk_put(t, "    if (sizes[%1$d] < %2$" PRId64 " || sizes[%1$d] > %3$" PRId64, i, z->lower, z->upper);
        if (z->step != 1)
            uk_put(t, " || sizes[%d] %% %" PRId64, i, z->step);
        uk_put(t, ")\n        return %d; /* UK_INVALID_SIZE */\n    z[%d] = sizes[%d]", UK_INVALID_SIZE, i,
               i);
        if (z->step != 1)
            uk_put(t, " / %" PRId64, z->step);
        uk_put(t, ";\n");
    }
}

/* ---- loops ---- */

static void put_condition(struct uk_text *t, const struct uk_graph_region *r) {
    uk_put(t, " && %s*(", r->is_negated ? "!" : "");
    put_place(t, r->condition);
    uk_put(t, ")");
}

static void put_loop(struct uk_text *t, const struct uk_graph_region *r) {
    const int k = r->number;

    if (r->is_branch) {
        uk_put(t, "    if (!status");
        put_condition(t, r);
        uk_put(t, ") {\n");
        return;
    }
    uk_put(t, "    for (int64_t t%1$d = 0; !status", k);
    if (r->trips >= 0 || r->count)
        uk_put(t, " && t%d < ", k);
    if (r->trips >= 0) {
        put_form(t, r->form ? r->form : &(struct uk_size_form){1, {{r->trips, -1, -1}}}, 1);
    } else if (r->count) {
        uk_put(t, "*(const int64_t *)(");
        put_place(t, r->count);
        uk_put(t, ")");
    }
    if (r->condition)
        put_condition(t, r);
    uk_put(t, "; t%1$d++) {\n    *(int64_t *)(m + %2$" PRId64 ") = t%1$d;\n", k, r->counter->offset);
}

static void enter(struct uk_text *t, const struct uk_graph_region *from, const struct uk_graph_region *to) {
    if (from == to)
        return;
    enter(t, from, to->outside);
    put_loop(t, to);
}

/* Writes the ends of loops that are left and the beginnings of those that are entered between two layers. */
static void change_region(struct uk_text *t, const struct uk_graph_region *from,
                          const struct uk_graph_region *to) {
    for (; from && !uk_region_contains(from, to); from = from->outside)
        uk_put(t, "    }\n");
    enter(t, from, to);
}

static void put_call(struct uk_text *t, const struct uk_network *n, const struct uk_layer *l) {
    uk_put(t, "    status = status ? status : %s(", l->function->name);
    for (int i = 0; i < l->sizes; i++) {
        put_form(t, &l->size[i], 1);
        uk_put(t, ", ");
    }
    for (int i = 0; i < l->arguments; i++) {
        put_argument(t, n, l, i);
        uk_put(t, ", ");
    }
    uk_put(t, "m + %" PRId64 "); /* %d: %s */\n", l->work, l->number, l->shown.operators);
}

char *uk_driver_calls(const struct uk_network *n) {
    const struct uk_graph_region *region = NULL;
    struct uk_text t = {0};

    uk_put(&t,
           "int %s_run(void *memory%s) {\n"
           "    unsigned char *const m = memory;\n"
           "    int status = 0;\n",
           n->name, n->graph.open_count ? ", const int64_t sizes[]" : "");
    put_checks(&t, n);
    uk_put(&t, "    (void)m;\n");
    for (const struct uk_layer *l = n->plan.layers; l; l = l->next) {
        if (!uk_value_elements(l->result))
            continue;
        change_region(&t, region, l->region);
        region = l->region;
        put_call(&t, n, l);
    }
    change_region(&t, region, NULL);
    uk_put(&t, "    return status;\n}\n");
    return t.text;
}

/* A name may contain anything, even the end of a comment. */
static void put_name(struct uk_text *t, const char *name) {
    for (const char *c = name; *c; c++)
        uk_put(t, "%c", *c == '*' || *c == '/' || (unsigned char)*c < ' ' ? '_' : *c);
}

/* Writes an extent in terms of the open sizes' names. */
static void put_extent(struct uk_text *t, const struct uk_network *n, const struct uk_size_form *f) {
    uk_put(t, f->terms ? "" : "0");
    for (int i = 0; i < f->terms; i++) {
        const struct uk_size_term *m = &f->term[i];
        const int of[] = {m->a, m->b};
        int64_t factor = m->factor < 0 ? -m->factor : m->factor, divisor = 1;
        uk_put(t, "%s", i ? m->factor < 0 ? " - " : " + " : m->factor < 0 ? "-" : "");
        for (int k = 0; k < 2 && of[k] >= 0; k++)
            divisor *= n->size[of[k]].step;
        if (factor % divisor == 0) {
            factor /= divisor;
            divisor = 1;
        }
        if (factor != 1 || m->a < 0)
            uk_put(t, "%" PRId64 "%s", factor, m->a < 0 ? "" : " ");
        for (int k = 0; k < 2 && of[k] >= 0; k++) {
            uk_put(t, k ? " " : "");
            put_name(t, n->size[of[k]].name);
        }
        if (divisor != 1)
            uk_put(t, " / %" PRId64, divisor);
    }
}

static void put_tensor(struct uk_text *t, const struct uk_network *n, const char *what, int i,
                       const struct uk_graph_value *v) {
    uk_put(t, " *   %s %d: %s%s [", what, i, v->is_boolean ? "boolean " : "", uk_type_name(v->type));
    for (int d = 0; d < v->rank; d++) {
        uk_put(t, d ? ", " : "");
        if (v->form)
            put_extent(t, n, &v->form[d]);
        else
            uk_put(t, "%" PRId64, v->extent[d]);
    }
    uk_put(t, "] ");
    put_name(t, v->name);
    uk_put(t, "\n");
}

static void put_open_sizes(struct uk_text *t, const struct uk_network *n) {
    if (!n->graph.open_count)
        return;
    uk_put(t, "/* Sizes, in the order of the array that %s_run takes:\n", n->name);
    for (int i = 0; i < n->graph.open_count; i++) {
        const struct uk_network_size *z = &n->size[i];
        uk_put(t, " *   %d: ", i);
        put_name(t, z->name);
        uk_put(t, ", %" PRId64 " to %" PRId64, z->lower, z->upper);
        if (z->step != 1)
            uk_put(t, ", multiples of %" PRId64, z->step);
        uk_put(t, "\n");
    }
    uk_put(t, " */\n");
}

/* Writes what the states are, and where. */
static void put_states(struct uk_text *t, const struct uk_network *n) {
    if (!n->graph.states)
        return;
    uk_put(t, "/* States, row-major tensors that stay in a block of memory from run to run:\n");
    for (int i = 0; i < n->graph.states; i++) {
        const struct uk_graph_state *s = &n->graph.state[i];
        put_tensor(t, n, "state", i, s->buffer);
        uk_put(t, " *     ");
        put_name(t, s->past->name);
        uk_put(t, " and ");
        put_name(t, s->present->name);
        uk_put(t, " are the parts of it that begin at its first element, with its strides");
        if (s->axis >= 0)
            uk_put(t, "; a run writes rows of dimension %d", s->axis);
        uk_put(t, "\n");
    }
    uk_put(
        t,
        " * Each block holds one sequence. A run writes the new elements and leaves the others as they are;\n"
        " * to begin another sequence, run with no elements of the past, or overwrite the states. */\n"
        "void *%s_state(void *memory, int i);\n",
        n->name);
}

/* Declares the function that takes the file of constants. */
static void put_constants(struct uk_text *t, const struct uk_network *n) {
    uk_put(t,
           "/* Takes the contents of the file of constants that was written with the object, mapped or in "
           "other\n"
           " * memory, at a multiple of %2$d; length: bytes there. All runs read them there from now on. "
           "Call it\n"
           " * before the first run, and not during one. Returns 0, or a value of enum uk_status:\n"
           " *   %3$d (UK_INVALID_ARGUMENT): the address is NULL or no multiple of %2$d\n"
           " *   %4$d (UK_INVALID_SIZE): the file is cut off\n"
           " *   %5$d (UK_REFUSED): it is no file of constants, or was written with another object */\n"
           "int %1$s_constants(const void *constants, size_t length);\n",
           n->name, UK_PLACE_ALIGNMENT, UK_INVALID_ARGUMENT, UK_INVALID_SIZE, UK_REFUSED);
}

static void put_run(struct uk_text *t, const struct uk_network *n, enum uk_home home) {
    const bool is_open = n->graph.open_count > 0;

    uk_put(t,
           "/* Any number of runs at a time, with a block of memory each. %1$sReturns 0, or a value of enum\n"
           " * uk_status. With nothing written:\n"
           " *   %2$d (UK_INVALID_ARGUMENT): an address is NULL, the block is at no multiple of %3$d%4$s\n",
           is_open ? "Runs in one block may have\n * different sizes. " : "", UK_INVALID_ARGUMENT,
           UK_PLACE_ALIGNMENT, home == UK_IN_FILE ? ", or the constants are missing" : "");
    if (is_open)
        uk_put(t, " *   %d (UK_INVALID_SIZE): a size is out of its range, or no multiple of its step\n",
               UK_INVALID_SIZE);
    uk_put(t, " */\nint %s_run(void *memory%s);\n", n->name, is_open ? ", const int64_t sizes[]" : "");
}

char *uk_driver_header(const struct uk_network *n, enum uk_home home) {
    const bool is_open = n->graph.open_count > 0;
    struct uk_text t = {0};

    uk_put(&t,
           "#ifndef UK_NETWORK_%1$s\n#define UK_NETWORK_%1$s\n#include <stddef.h>\n%2$s"
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n",
           n->name, is_open ? "#include <stdint.h>\n" : "");
    put_open_sizes(&t, n);
    uk_put(&t, "/* Row-major tensors%s:\n", is_open ? ", contiguous at the sizes of the run" : "");
    for (int i = 0; i < n->graph.inputs; i++)
        put_tensor(&t, n, "input", i, n->graph.input[i]);
    for (int i = 0; i < n->graph.outputs; i++)
        put_tensor(&t, n, "output", i, n->graph.output[i]);
    uk_put(&t,
           " */\n"
           "/* Bytes of the block of memory, at a multiple of 64, that a run uses%2$s. */\n"
           "size_t %1$s_memory(void);\n"
           "/* Where in it inputs and outputs lie. A run may overwrite inputs. NULL: the number is too "
           "large. */\n"
           "void *%1$s_input(void *memory, int i);\n"
           "void *%1$s_output(void *memory, int i);\n",
           n->name, is_open ? " at its largest sizes" : "");
    if (home == UK_IN_FILE)
        put_constants(&t, n);
    put_run(&t, n, home);
    put_states(&t, n);
    uk_put(&t, "#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return t.text;
}
