/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the network's functions in C: their header, and the calls of layers. */
#include <inttypes.h>
#include <stdlib.h>
#include "emit/emit.h"

static void put_argument(struct uk_text *t, const struct uk_network *n, const struct uk_layer *l, int i) {
    const struct uk_graph_value *v = l->argument[i];
    char name[UK_CONSTANT_NAME];

    if (v->data && uk_value_elements(v)) {
        uk_constant_name(n, NULL, l, i, name);
        uk_put(t, "(const void *)%s", name);
    } else {
        uk_put(t, "(%svoid *)(m + %" PRId64 ")", i == l->arguments - 1 ? "" : "const ", uk_value_offset(v));
    }
}

char *uk_driver_calls(const struct uk_network *n) {
    struct uk_text t = {0};

    uk_put(&t,
           "int %s_run(void *memory) {\n"
           "    unsigned char *const m = memory;\n"
           "    int status = 0;\n\n"
           "    (void)m;\n",
           n->name);
    for (const struct uk_layer *l = n->plan.layers; l; l = l->next) {
        if (!uk_value_elements(l->result))
            continue;
        uk_put(&t, "    status = status ? status : %s(", l->function->name);
        for (int i = 0; i < l->arguments; i++) {
            put_argument(&t, n, l, i);
            uk_put(&t, ", ");
        }
        uk_put(&t, "m + %" PRId64 "); /* %d: %s */\n", l->work, l->number, l->shown.operators);
    }
    uk_put(&t, "    return status;\n}\n");
    return t.text;
}

static void put_tensor(struct uk_text *t, const char *what, int i, const struct uk_network_tensor *v) {
    uk_put(t, " *   %s %d: %s [", what, i, uk_type_name(v->type));
    for (int d = 0; d < v->rank; d++)
        uk_put(t, "%s%" PRId64, d ? ", " : "", v->shape[d]);
    uk_put(t, "]");
    /* A name may contain anything, even the end of a comment. */
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
