/* SPDX-License-Identifier: Apache-2.0 */
/* The network's functions in C: calls of the layers' programs on places in one block of memory. */
#include <inttypes.h>
#include <stdlib.h>
#include "emit/emit.h"

/* What calls are written for. */
struct driver {
    struct uk_text text;
    const struct uk_network *n;
    struct uk_module *const *packing;
};

static void put_argument(struct driver *d, const struct uk_layer *l, int i) {
    const struct uk_graph_value *v = l->argument[i];
    char name[UK_CONSTANT_NAME];

    if (v->data && uk_value_elements(v)) {
        uk_constant_name(d->n, d->packing, l, i, name);
        uk_put(&d->text, "(const void *)%s", name);
    } else {
        uk_put(&d->text, "(%svoid *)(m + %" PRId64 ")", i == l->arguments - 1 ? "" : "const ",
               uk_value_place(v));
    }
}

static void put_call(struct driver *d, const struct uk_layer *l) {
    uk_put(&d->text, "%s(", l->function->name);
    for (int i = 0; i < l->arguments; i++) {
        put_argument(d, l, i);
        uk_put(&d->text, ", ");
    }
    uk_put(&d->text, "m + %" PRId64 ")", l->work);
}

static bool is_empty(const struct uk_layer *l) {
    return !uk_value_elements(l->result);
}

static void put_run(struct driver *d) {
    const struct uk_network *n = d->n;
    struct uk_text *t = &d->text;

    uk_put(t,
           "int %s_run(void *memory) {\n"
           "    unsigned char *const m = memory;\n"
           "    int status = 0;\n\n"
           "    (void)m;\n",
           n->name);
    for (const struct uk_layer *l = n->plan.layers; l; l = l->next) {
        if (is_empty(l))
            continue;
        uk_put(t, "    status = status ? status : ");
        put_call(d, l);
        uk_put(t, "; /* %d: %s */\n", l->number, l->shown.operators);
    }
    uk_put(t, "    return status;\n}\n");
}

/* One layer, for who looks at what is between them. */
static void put_step(struct driver *d) {
    const struct uk_network *n = d->n;
    struct uk_text *t = &d->text;

    uk_put(t,
           "int %s_step(void *memory, int layer) {\n"
           "    unsigned char *const m = memory;\n\n"
           "    (void)m;\n"
           "    switch (layer) {\n",
           n->name);
    for (const struct uk_layer *l = n->plan.layers; l; l = l->next) {
        if (is_empty(l))
            continue;
        uk_put(t, "    case %d:\n        return ", l->number);
        put_call(d, l);
        uk_put(t, ";\n");
    }
    uk_put(t, "    default:\n        return 0;\n    }\n}\n");
}

static void put_places(struct uk_text *t, const struct uk_network *n, const char *what, int count,
                       struct uk_graph_value *const *value) {
    uk_put(t,
           "void *%s_%s(void *memory, int i) {\n    unsigned char *const m = memory;\n\n    (void)m;\n    "
           "switch (i) {\n",
           n->name, what);
    for (int i = 0; i < count; i++)
        uk_put(t, "    case %d:\n        return m + %" PRId64 ";\n", i, uk_value_place(value[i]));
    uk_put(t, "    default:\n        return (void *)0;\n    }\n}\n");
}

/* The sizes of workspaces are known to the compiler. */
static void put_memory(struct uk_text *t, const struct uk_network *n) {
    uk_put(t, "size_t %s_memory(void) {\n    int64_t most = %" PRId64 ", bytes;\n\n    (void)bytes;\n",
           n->name, n->plan.bytes ? n->plan.bytes : UK_PLACE_ALIGNMENT);
    for (const struct uk_layer_function *f = n->plan.functions; f; f = f->next)
        uk_put(t, "    bytes = %s_workspace() + %" PRId64 ";\n    most = bytes > most ? bytes : most;\n",
               f->name, f->work);
    uk_put(t, "    return (size_t)most;\n}\n");
}

char *uk_driver_text(const struct uk_network *n, struct uk_module *const *packing, bool with_step,
                     bool calls) {
    struct driver d = {.n = n, .packing = packing};

    if (!calls) {
        uk_put(&d.text, "#include <stddef.h>\n#include <stdint.h>\n");
        put_memory(&d.text, n);
        put_places(&d.text, n, "input", n->graph.inputs, n->graph.input);
        put_places(&d.text, n, "output", n->graph.outputs, n->graph.output);
    }
    put_run(&d);
    if (with_step)
        put_step(&d);
    return d.text.text;
}

static void put_tensor(struct uk_text *t, const char *what, int i, const struct uk_network_tensor *v) {
    uk_put(t, " *   %s %d: %s [", what, i, uk_type_name(v->type));
    for (int d = 0; d < v->rank; d++)
        uk_put(t, "%s%" PRId64, d ? ", " : "", v->shape[d]);
    uk_put(t, "]");
    /* Names may hold anything. */
    uk_put(t, " ");
    for (const char *c = v->name; *c; c++)
        uk_put(t, "%c", *c == '*' || *c == '/' || (unsigned char)*c < ' ' ? '_' : *c);
    uk_put(t, "\n");
}

char *uk_driver_header(const struct uk_network *n) {
    struct uk_text t = {0};

    uk_put(&t,
           "#ifndef UK_NETWORK_%1$s\n#define UK_NETWORK_%1$s\n#include <stddef.h>\n"
           "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
           "/* Row-major tensors:\n",
           n->name);
    for (int i = 0; i < n->graph.inputs; i++)
        put_tensor(&t, "input", i, &n->input[i]);
    for (int i = 0; i < n->graph.outputs; i++)
        put_tensor(&t, "output", i, &n->output[i]);
    uk_put(
        &t,
        " */\n"
        "/* Bytes of the block of memory, at a multiple of 64, that a run uses. */\n"
        "size_t %1$s_memory(void);\n"
        "/* Where in it inputs and outputs lie. A run may overwrite inputs. NULL: there is none of that "
        "number. */\n"
        "void *%1$s_input(void *memory, int i);\n"
        "void *%1$s_output(void *memory, int i);\n"
        "/* 0, or a value of enum uk_status. Any number of runs at a time, with a block of memory each. */\n"
        "int %1$s_run(void *memory);\n"
        "#ifdef __cplusplus\n}\n#endif\n#endif\n",
        n->name);
    return t.text;
}
