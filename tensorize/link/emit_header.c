/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the C header of generated functions. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "link.h"

static const char *c_type(enum uk_type t) {
    static const char *const name[UK_TYPES] = {
        [UK_F64] = "double",  [UK_F32] = "float",    [UK_F16] = "uint16_t", [UK_BF16] = "uint16_t",
        [UK_I64] = "int64_t", [UK_I32] = "int32_t",  [UK_I16] = "int16_t",  [UK_I8] = "int8_t",
        [UK_U8] = "uint8_t",  [UK_U16] = "uint16_t", [UK_U32] = "uint32_t", [UK_U64] = "uint64_t",
    };
    return name[t];
}

/* Describes a size by its uses: "rows 0 of A" is what a reader of the program looks for. */
static void describe_size(const struct uk_program *p, const struct uk_var *v, struct uk_text *t) {
    const char *between = "";

    uk_put(t, " *   %s: ", v->name);
    for (const struct uk_tensor *x = p->tensors; x; x = x->next) {
        if (x->kind != UK_TENSOR_ARGUMENT)
            continue;
        for (int d = 0; d < x->dims; d++)
            if (uk_mentions(x->shape[d], v)) {
                uk_put(t, "%sin the extent of dimension %d of %s", between, d, x->name);
                between = ", ";
            }
        for (int d = 0; x->has_strides && d < x->stored_dims; d++)
            if (uk_mentions(x->stride[d], v)) {
                uk_put(t, "%sin the stride (in elements) of dimension %d of %s", between, d, x->name);
                between = ", ";
            }
    }
    uk_put(t, "%s\n", *between ? "" : "a number of the program");
}

static void describe_tensor(const struct uk_function *f, const struct uk_tensor *x, struct uk_text *t) {
    uk_put(t, " *   %s: ", x->name);
    for (int d = 0; d < x->dims; d++) {
        uk_put(t, "%s", d ? " x " : "");
        uk_print_index(t, x->shape[d]);
    }
    uk_put(t, "%s%s%s\n", x->dims ? " " : "one ", c_type(x->type),
           x->is_written ? x->is_read ? ", read and written" : ", written" : "");
    if (x->is_constant)
        uk_put(t, " *     packed by %s_pack_%s, %s_packed_%s(...) bytes at a multiple of %d\n", f->name,
               x->name, f->name, x->name, x->align > 64 ? x->align : 64);
    if (x->type == UK_F16 || x->type == UK_BF16)
        uk_put(t, " *     (the bits of %s)\n", x->type == UK_F16 ? "IEEE half precision" : "bfloat16");
}

/* Appends a parameter's name, in a comment if compilers reserve it. */
static void put_name(struct uk_text *t, const char *name) {
    if (uk_is_c_word(name))
        uk_put(t, "%s/* %s */", t->length && t->text[t->length - 1] == '*' ? " " : "", name);
    else
        uk_put(t, "%s", name);
}

/* Appends the size arguments after `between`; returns the separator for the next argument. */
static const char *put_sizes(const struct uk_program *p, const char *between, struct uk_text *t) {

    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined) {
            uk_put(t, "%sint64_t ", between);
            put_name(t, v->name);
            between = ", ";
        }
    return between;
}

/* Appends a parameter's name that the program does not use: the word and as many _ as necessary. */
static void put_free_name(const struct uk_program *p, const char *word, struct uk_text *t) {
    const size_t before = t->length;

    uk_put(t, "%s", word);
    while (t->text && (uk_find_var(p->sizes, t->text + before) || uk_find_tensor(p, t->text + before) ||
                       uk_find_scalar(p, t->text + before)))
        uk_put(t, "_");
}

/* Prints the functions that make a constant tensor's packed form. */
static void put_packing(const struct uk_packed *k, struct uk_text *t) {
    const struct uk_program *p = k->pack->program;

    uk_put(t, "/* Bytes of %s when packed; -1: the sizes are refused. */\nint64_t %s(", k->tensor->name,
           k->size_name);
    const char *between = put_sizes(p, "", t);
    uk_put(t, "%s);\n/* Packs %s for calls with the same sizes. */\nint %s(", *between ? "" : "void",
           k->tensor->name, k->pack->name);
    between = put_sizes(p, "", t);
    uk_put(t, "%sconst %s *", between, c_type(k->tensor->type));
    put_name(t, k->tensor->name);
    uk_put(t, ", void *");
    put_free_name(p, "packed", t);
    uk_put(t, ");\n");
}

static void put_tensors(const struct uk_function *f, bool on_device, const char **between,
                        struct uk_text *t) {
    for (int i = 0; i < f->tensors; i++) {
        const struct uk_tensor *x = f->tensor[i];
        const struct uk_packed *k = f->packed;

        if (x->kind != UK_TENSOR_ARGUMENT)
            continue;
        while (k && k->form != x)
            k = k->next;
        uk_put(t, "%s", *between);
        if (on_device)
            uk_put(t, "uk_gpu_address ");
        else
            uk_put(t, "%s%s *", x->is_written ? "" : "const ", k ? "void" : c_type(x->type));
        put_name(t, x->name);
        *between = ", ";
    }
}

static void prototype(const struct uk_function *f, bool on_device, struct uk_text *t) {
    const struct uk_program *p = f->program;

    uk_put(t, "int %s(%s", f->name, on_device ? "struct uk_gpu *" : "");
    if (on_device)
        put_free_name(p, "gpu", t);
    const char *between = put_sizes(p, on_device ? ", " : "", t);
    for (const struct uk_scalar *s = p->scalars; s; s = s->next) {
        uk_put(t, "%s%s ", between, c_type(s->type));
        put_name(t, s->name);
        between = ", ";
    }
    put_tensors(f, on_device, &between, t);
    if (f->work_argument) {
        uk_put(t, "%s%s", between, on_device ? "uk_gpu_address " : "void *");
        put_free_name(p, "work", t);
        between = ", ";
    }
    uk_put(t, "%s);\n", *between ? "" : "void");
    for (const struct uk_packed *k = f->packed; k; k = k->next)
        put_packing(k, t);
    if (!f->work_argument)
        return;
    uk_put(t, "/* Bytes of its workspace; -1: %s refuses the sizes. */\nint64_t %s_workspace(", f->name,
           f->name);
    between = put_sizes(p, "", t);
    uk_put(t, "%s);\n", *between ? "" : "void");
}

/* ---- constants ---- */

static bool is_function(const struct uk_batch *b, const char *name) {
    bool found = false;

    for (int i = 0; i < b->count; i++) {
        const struct uk_function *f = b->function[i];
        const size_t n = strlen(f->name);

        found |= !strcmp(name, f->name);
        found |= f->work_argument && !strncmp(name, f->name, n) && !strcmp(name + n, "_workspace");
        for (const struct uk_packed *k = f->packed; k; k = k->next)
            found |= !strcmp(name, k->size_name) || !strcmp(name, k->pack->name);
    }
    return found;
}

/* True if `taken` contains the name. Each name is a line of its own, with a newline on both sides. */
static bool is_listed_name(const struct uk_batch *b, const char *name, const struct uk_text *taken) {
    const size_t n = strlen(name);

    for (const char *at = taken->text; at && (at = strstr(at, name)); at++)
        if (at[-1] == '\n' && at[n] == '\n')
            return true;
    return uk_is_c_word(name) || is_function(b, name);
}

/* Makes a unique name: FUNCTION_SIZE, then _ as necessary; or of_FUNCTION_SIZE if compilers or this library
 * reserve names that begin so. */
static const char *constant_name(const struct uk_batch *b, const struct uk_function *f,
                                 const struct uk_var *v, struct uk_text *taken) {
    struct uk_arena *arena = &f->program->arena;
    char *name = uk_format(arena, "%s_%s", f->name, v->name),
         *longer = uk_format(arena, "%s_%s_", f->name, v->name);

    if (longer && uk_is_c_word(longer))
        name = uk_format(arena, "of_%s_%s", f->name, v->name);
    while (name && is_listed_name(b, name, taken))
        name = uk_format(arena, "%s_", name);
    uk_put(taken, "%s\n", name ? name : "");
    taken->failed |= !name;
    return name ? name : "";
}

/* Prints sizes that were defined. They are not arguments, but a caller needs them to lay out its data. */
static void put_constants(const struct uk_batch *b, const struct uk_function *f, struct uk_text *taken,
                          struct uk_text *t) {
    const char *before = "/* What was defined when it was compiled. */\n";

    for (const struct uk_var *v = f->program->sizes; v; v = v->next) {
        if (!v->defined)
            continue;
        const char *name = constant_name(b, f, v, taken);

        uk_put(t, "%s", before);
        before = "";
        if (v->value <= INT32_MAX)
            uk_put(t, "enum { %s = %" PRId64 " };\n", name, v->value);
        else
            uk_put(t, "#define %s INT64_C(%" PRId64 ")\n", name, v->value);
    }
}

static void describe(const struct uk_function *f, bool on_device, struct uk_text *t) {
    const struct uk_program *p = f->program;

    uk_put(t, "\n/* %s%s\n", f->name,
           on_device ? ": link with -lukernels, which launches its kernels; tensors are device addresses"
           : f->is_parallel ? ": link with -lukernels, which has its threads"
                            : "");
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined)
            describe_size(p, v, t);
    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        uk_put(t, " *   %s: a scalar\n", s->name);
    for (const struct uk_tensor *x = p->tensors; x; x = x->next)
        if (x->kind == UK_TENSOR_ARGUMENT)
            describe_tensor(f, x, t);
    if (f->work_argument)
        uk_put(t,
               " *   work: %s_workspace(...) bytes at a multiple of 64 (NULL if that is 0), for this call "
               "alone\n",
               f->name);
    uk_put(t, " */\n");
    prototype(f, on_device, t);
}

static void put_status(struct uk_text *t) {
    uk_put(t,
           "#if !defined UKERNELS_H && !defined UK_STATUS\n#define UK_STATUS\n"
           "/* What the functions return; nothing is written unless that is UK_OK. */\nenum uk_status {\n"
           "    UK_OK = %d,\n    UK_INVALID_ARGUMENT = %d, /* a pointer is null or not aligned */\n"
           "    UK_INVALID_SIZE = %d,     /* negative or overflowing sizes, strides smaller than extents */\n"
           "    UK_OVERLAP = %d,          /* an output overlaps another operand */\n"
           "    UK_OUT_OF_MEMORY = %d,\n};\n#endif\n",
           UK_OK, UK_INVALID_ARGUMENT, UK_INVALID_SIZE, UK_OVERLAP, UK_OUT_OF_MEMORY);
}

enum uk_status uk_emit_header(const struct uk_batch *b, struct uk_text *t) {
    const bool on_device = b->target->arch->is_device;
    struct uk_text taken = {0};

    uk_put(&taken, "\n");
    uk_put(t, "/* Made by libuktensorize. */\n#ifndef UK_HEADER_%s\n#define UK_HEADER_%s\n",
           b->function[0]->name, b->function[0]->name);
    uk_put(t, "\n#include <stdint.h>\n%s\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
           on_device ? "#include <ukernels/gpu.h>\n" : "");
    if (!on_device)
        put_status(t);
    for (int i = 0; i < b->count; i++) {
        describe(b->function[i], on_device, t);
        put_constants(b, b->function[i], &taken, t);
    }
    uk_put(t, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    t->failed |= taken.failed;
    free(taken.text);
    return t->failed ? uk_out_of_memory(b->context) : UK_OK;
}
