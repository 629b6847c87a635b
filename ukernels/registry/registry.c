/* SPDX-License-Identifier: Apache-2.0 */
/* The array of kernels, from kernels.def, and their declarations. */
#include <stdio.h>
#include <string.h>
#include "machine/arch.h"
#include "registry.h"

/* The attributes of a row override the defaults that UK_KERNEL gives in the same initializer. */
#pragma GCC diagnostic ignored "-Woverride-init"

#define UK_STRING(x) UK_STRING_(x)
#define UK_STRING_(x) #x

#define UK_ISA_ROW(name, arch, features, flags, private)                   \
    static const char features_##name[] = features, arch_##name[] = #arch; \
    enum { own_##name = UK_IS_HERE(arch) };
#include "machine/archs.def"

#define UK_OP_ROW(name, parameters, declaration, ...)                                                  \
    static const char parameters_##name[] = UK_STRING(parameters), declaration_##name[] = declaration; \
    static const struct uk_operation operation_##name = {__VA_ARGS__};
#include "ops.def"
#undef UK_OP_ROW

/* Only a row of this architecture refers to its kernel: the conditional is a constant. */
#define UK_SYMBOL_OF(op, mr, nr, isa, impl) uk_##op##_##mr##x##nr##_##isa##_##impl

#define UK_KERNEL(op_, mr_, nr_, isa_, impl_, ...)                                            \
    {.symbol = UK_STRING(UK_SYMBOL_OF(op_, mr_, nr_, isa_, impl_)),                           \
     .op = #op_,                                                                              \
     .operation = &operation_##op_,                                                           \
     .isa = #isa_,                                                                            \
     .impl = #impl_,                                                                          \
     .arch = arch_##isa_,                                                                     \
     .features = features_##isa_,                                                             \
     .parameters = parameters_##op_,                                                          \
     .declaration = declaration_##op_,                                                        \
     .function = own_##isa_ ? (uk_function *)UK_SYMBOL_OF(op_, mr_, nr_, isa_, impl_) : NULL, \
     .mr = mr_,                                                                               \
     .nr = nr_,                                                                               \
     .kr = 1,                                                                                 \
     .row_step = mr_,                                                                         \
     .column_step = nr_,                                                                      \
     .a_align = 1,                                                                            \
     .b_align = 1,                                                                            \
     .c_align = 1,                                                                            \
     __VA_ARGS__},
static const struct uk_kernel rows[] = {
#include "kernels.def"
};
#undef UK_KERNEL

#define UK_VARIANT(symbol, suffix, variant) void symbol##_##suffix(void);
#include "variants.def"
#undef UK_VARIANT

#define UK_VARIANT(symbol, suffix, variant) {(uk_function *)symbol, symbol##_##suffix, variant},
static const struct uk_variant variants[] = {
#include "variants.def"
    {NULL, NULL, 0}};
#undef UK_VARIANT

const struct uk_variant *uk_kernel_variant(const struct uk_kernel *kernel, int variant) {
    const struct uk_variant *v = variants;

    if (!(kernel->variants & variant))
        return NULL;
    /* The last variant has no functions: it represents the variants of other architectures' rows. */
    while (v->kernel && (v->kernel != kernel->function || v->variant != variant))
        v++;
    return v;
}

enum { ROWS = sizeof rows / sizeof *rows };

/* Indices into `rows`, sorted by rank (order.py). */
static const short order[] = {
#include "order.def"
};
_Static_assert(sizeof order / sizeof *order == ROWS, "order.def is of these rows");

int uk_kernel_count(void) {
    return ROWS;
}

const struct uk_kernel *uk_kernel_at(int i) {
    return i >= 0 && i < ROWS ? &rows[order[i]] : NULL;
}

const struct uk_kernel *uk_kernel_find(const char *symbol) {
    for (size_t i = 0; symbol && i < ROWS; i++)
        if (!strcmp(rows[i].symbol, symbol))
            return &rows[i];
    return NULL;
}

#define READ(type, field)                                    \
    type uk_kernel_##field(const struct uk_kernel *kernel) { \
        return kernel ? kernel->field : 0;                   \
    }
READ(const char *, symbol)
READ(const char *, op)
READ(const char *, isa)
READ(const char *, impl)
READ(const char *, arch)
READ(const char *, features)
READ(const char *, cores)
READ(const char *, parameters)
READ(uk_function *, function)
READ(const struct uk_operation *, operation)
READ(int, mr)
READ(int, nr)
READ(int, kr)
READ(int, row_step)
READ(int, column_step)
READ(int, least_terms)
READ(double, fma)
READ(double, loads)
READ(double, other)
READ(enum uk_exec_scope, scope)
READ(enum uk_state, state)

enum uk_space uk_kernel_space(const struct uk_kernel *kernel, int operand) {
    switch (kernel ? operand : -1) {
    case 0:
        return kernel->a_space;
    case 1:
        return kernel->b_space;
    case 2:
        return kernel->c_space;
    default:
        return UK_SPACE_GENERIC;
    }
}

bool uk_kernel_runs_here(const struct uk_kernel *kernel) {
    char lacking[32];

    return kernel && kernel->function && !uk_cpu_lacks(kernel->features, lacking, sizeof lacking);
}

/* Writes the text that replaces a word in capitals of a declaration. */
static void expand(const struct uk_kernel *k, const char *word, size_t length, char *out, size_t room) {
    bool rows_vary = k->edges == UK_EDGES_ANY || k->edges == UK_EDGES_ROWS;
    bool columns_vary = k->edges == UK_EDGES_ANY || k->edges == UK_EDGES_COLS;
    static const char *const scopes[] = {
        [UK_EXEC_THREAD] = "", [UK_EXEC_WAVE] = " scope wave", [UK_EXEC_BLOCK] = " scope block"};
    const char *f = k->features;
    size_t n;

    out[0] = 0;
    if (!strncmp(word, "SYMBOL", length)) {
        snprintf(out, room, "%s", k->symbol);
    } else if (!strncmp(word, "MR", length)) {
        snprintf(out, room, "%d", k->mr);
    } else if (!strncmp(word, "NR", length)) {
        snprintf(out, room, "%d", k->nr);
    } else if (!strncmp(word, "KR", length)) {
        snprintf(out, room, "%d", k->kr);
    } else if (!strncmp(word, "A_GROUP", length)) {
        snprintf(out, room, "%d", k->mr * k->kr);
    } else if (!strncmp(word, "B_GROUP", length)) {
        snprintf(out, room, "%d", k->nr * k->kr);
    } else if (!strncmp(word, "EDGES", length)) {
        snprintf(out, room, "%s%d and %s%d", rows_vary ? "1 <= I <= " : "I == ", k->mr,
                 columns_vary ? "1 <= J <= " : "J == ", k->nr);
    } else if (!strncmp(word, "WHOLE", length) && !k->any_k) {
        snprintf(out, room, " and P %% %d == 0", k->kr);
    } else if (!strncmp(word, "A_OVER", length) && k->a_over) {
        snprintf(out, room, " over [I, P + %d]", k->a_over);
    } else if (!strncmp(word, "REQUIRES", length)) {
        n = *f ? (size_t)snprintf(out, room, " requires ") : 0;
        for (; *f && n + 16 < room; f++) {
            out[n++] = *f;
            if (*f == ',')
                out[n++] = ' ';
        }
        snprintf(out + n, room - n, "%s%s", k->state == UK_STATE_TILES ? " state tiles" : "",
                 scopes[k->scope]);
    }
}

/* The end of the line of a tensor in a declaration: its scope. Tensors are counted from 1. */
static const char *space_of(const struct uk_kernel *k, int tensor) {
    static const char *const texts[] = {[UK_SPACE_GENERIC] = "",
                                        [UK_SPACE_GLOBAL] = "",
                                        [UK_SPACE_SHARED] = " in shared",
                                        [UK_SPACE_PRIVATE] = " in register"};

    return texts[uk_kernel_space(k, tensor - 1)];
}

/* The length of the word to be replaced that begins at s; 0: none does. A fixed list, because words may
 * follow one another without a space: SYMBOLREQUIRES. */
static size_t word_at(const char *s) {
    static const char *const words[] = {"SYMBOL",  "REQUIRES", "EDGES", "WHOLE", "A_OVER",
                                        "A_GROUP", "B_GROUP",  "MR",    "NR",    "KR"};

    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strncmp(s, words[i], strlen(words[i])))
            return strlen(words[i]);
    return 0;
}

size_t uk_kernel_declaration(const struct uk_kernel *kernel, char *buffer, size_t size) {
    static const char begin[] = "\n  tensor ";
    char value[256];
    size_t length = 0, word;

    if (!buffer)
        size = 0;
    int tensors = 0, line = 0; /* the tensor of the current line, from 1; 0: not a tensor's line */

    for (const char *s = kernel ? kernel->declaration : ""; *s; s += word ? word : 1) {
        word = word_at(s);
        if (word) {
            expand(kernel, s, word, value, sizeof value);
        } else if (*s == '\n') {
            snprintf(value, sizeof value, "%s\n", space_of(kernel, line));
            line = strncmp(s, begin, sizeof begin - 1) ? 0 : ++tensors;
        } else {
            value[0] = *s;
            value[1] = 0;
        }
        for (const char *v = value; *v; v++, length++)
            if (length + 1 < size)
                buffer[length] = *v;
    }
    if (size)
        buffer[length < size ? length : size - 1] = 0;
    return length;
}

const char *uk_version(void) {
    return UK_VERSION;
}

const char *uk_status_text(enum uk_status status) {
    static const char *const texts[] = {
        [UK_OK] = "ok",
        [UK_INVALID_ARGUMENT] = "invalid argument",
        [UK_INVALID_SIZE] = "invalid size",
        [UK_OVERLAP] = "an output overlaps another operand",
        [UK_OUT_OF_MEMORY] = "out of memory",
        [UK_SYNTAX] = "syntax error",
        [UK_REFUSED] = "refused",
        [UK_NO_MATCH] = "no kernel matches",
        [UK_UNSUPPORTED] = "not supported here",
        [UK_LINK] = "cannot be linked or inlined",
        [UK_IO] = "input or output failed",
        [UK_WRONG_RESULT] = "wrong result",
        [UK_INTERNAL] = "internal error",
        [UK_DEVICE] = "the GPU or its driver reports an error",
        [UK_INVALID_INDEX] = "an index is outside of its tensor",
    };

    return (size_t)status < sizeof texts / sizeof *texts ? texts[status] : "unknown status";
}
