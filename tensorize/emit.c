/* One stage of a compilation as bytes, the C header among them. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "backend.h"

/* ---- the header ---- */

static const char *c_type(enum uk_type t) {
    static const char *const name[UK_TYPES] = {
        [UK_F64] = "double",    [UK_F32] = "float",   [UK_F16] = "uint16_t",
        [UK_BF16] = "uint16_t", [UK_I64] = "int64_t", [UK_I32] = "int32_t",
        [UK_I16] = "int16_t",   [UK_I8] = "int8_t",   [UK_U8] = "uint8_t",
    };
    return name[t];
}

static bool uses(const struct uk_index *e, const struct uk_var *v) {
    return e && ((e->op == UK_I_VAR && e->var == v) || uses(e->a, v) || uses(e->b, v) || uses(e->c, v));
}

/* Where a size stands: "rows 0 of A" is what a reader of the program would look for. */
static void describe_size(const struct uk_program *p, const struct uk_var *v, struct uk_text *t) {
    const char *between = "";

    uk_put(t, " *   %s: ", v->name);
    for (const struct uk_tensor *x = p->tensors; x; x = x->next) {
        if (x->kind != UK_TENSOR_ARGUMENT)
            continue;
        for (int d = 0; d < x->dims; d++)
            if (uses(x->shape[d], v)) {
                uk_put(t, "%sin the extent of dimension %d of %s", between, d, x->name);
                between = ", ";
            }
        for (int d = 0; x->has_strides && d < x->stored_dims; d++)
            if (uses(x->stride[d], v)) {
                uk_put(t, "%sin the stride (in elements) of dimension %d of %s", between, d, x->name);
                between = ", ";
            }
    }
    uk_put(t, "%s\n", *between ? "" : "a number of the program");
}

static void describe_tensor(const struct uk_tensor *x, struct uk_text *t) {
    uk_put(t, " *   %s: ", x->name);
    for (int d = 0; d < x->dims; d++) {
        uk_put(t, "%s", d ? " x " : "");
        uk_print_index(t, x->shape[d]);
    }
    uk_put(t, "%s%s%s\n", x->dims ? " " : "one ", c_type(x->type),
           x->is_written ? x->is_read ? ", read and written" : ", written" : "");
    if (x->type == UK_F16 || x->type == UK_BF16)
        uk_put(t, " *     (the bits of %s)\n", x->type == UK_F16 ? "IEEE half precision" : "bfloat16");
}

static void prototype(const struct uk_function *f, struct uk_text *t) {
    const struct uk_program *p = f->program;
    const char *between = "";

    uk_put(t, "int %s(", f->name);
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined) {
            uk_put(t, "%sint64_t %s", between, v->name);
            between = ", ";
        }
    for (const struct uk_scalar *s = p->scalars; s; s = s->next) {
        uk_put(t, "%s%s %s", between, c_type(s->type), s->name);
        between = ", ";
    }
    for (const struct uk_tensor *x = p->tensors; x; x = x->next)
        if (x->kind == UK_TENSOR_ARGUMENT) {
            uk_put(t, "%s%s%s *%s", between, x->is_written ? "" : "const ", c_type(x->type), x->name);
            between = ", ";
        }
    uk_put(t, "%s);\n", *between ? "" : "void");
}

static void put_guard(const struct uk_function *f, struct uk_text *t) {
    for (const char *s = f->name; *s; s++)
        uk_put(t, "%c", isalnum((unsigned char)*s) ? toupper((unsigned char)*s) : '_');
    uk_put(t, "_H\n");
}

enum uk_status uk_emit_header(const struct uk_function *f, struct uk_text *t) {
    const struct uk_program *p = f->program;

    uk_put(t, "/* %s: made by libuktensorize.%s */\n#ifndef ", f->name,
           f->is_parallel ? " Link with -lukernels, which has its threads." : "");
    put_guard(f, t);
    uk_put(t, "#define ");
    put_guard(f, t);
    uk_put(t,
           "\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
           "#ifndef UKERNELS_H\n/* What it returns; nothing is written unless that is UK_OK. */\nenum "
           "uk_status {\n"
           "    UK_OK = %d,\n    UK_INVALID_ARGUMENT = %d, /* a pointer is null or not aligned */\n"
           "    UK_INVALID_SIZE = %d,     /* negative or overflowing sizes, strides smaller than extents */\n"
           "    UK_OVERLAP = %d,          /* an output overlaps another operand */\n"
           "    UK_OUT_OF_MEMORY = %d,\n};\n#endif\n\n/*\n",
           UK_OK, UK_INVALID_ARGUMENT, UK_INVALID_SIZE, UK_OVERLAP, UK_OUT_OF_MEMORY);
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined)
            describe_size(p, v, t);
    for (const struct uk_scalar *s = p->scalars; s; s = s->next)
        uk_put(t, " *   %s: a scalar\n", s->name);
    for (const struct uk_tensor *x = p->tensors; x; x = x->next)
        if (x->kind == UK_TENSOR_ARGUMENT)
            describe_tensor(x, t);
    uk_put(t, " */\n");
    prototype(f, t);
    uk_put(t, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
    return t->failed ? uk_out_of_memory(p->context) : UK_OK;
}

/* ---- stages ---- */

static enum uk_status copy_out(struct uk_context *c, const char *from, size_t n, char **bytes,
                               size_t *length) {
    *bytes = malloc(n + 1);
    if (!*bytes)
        return uk_out_of_memory(c);
    memcpy(*bytes, from, n);
    (*bytes)[n] = 0;
    *length = n;
    return UK_OK;
}

static enum uk_status print_module(struct uk_build *b, char **bytes, size_t *length) {
    char *text = LLVMPrintModuleToString(b->module);
    enum uk_status s = copy_out(b->context, text, strlen(text), bytes, length);

    LLVMDisposeMessage(text);
    return s;
}

static enum uk_status assemble(struct uk_build *b, enum uk_emit what, char **bytes, size_t *length) {
    LLVMMemoryBufferRef buffer;
    enum uk_status s = uk_build_assemble(b, what == UK_EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile, &buffer);

    if (s)
        return s;
    s = copy_out(b->context, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer), bytes, length);
    LLVMDisposeMemoryBuffer(buffer);
    return s;
}

enum uk_status uk_emit_code(struct uk_context *c, const struct uk_function *f, const struct uk_target *t,
                            enum uk_emit what, char **bytes, size_t *length) {
    struct uk_build b;

    if (t->interpreted)
        return uk_fail(c, UK_UNSUPPORTED, (struct uk_position){0, 0},
                       "target interp has no code to emit; name a machine, for instance x86_64-avx2");
    enum uk_status s = uk_build_begin(&b, c, f, t);
    if (s)
        return s;
    s = uk_codegen(&b);
    if (!s && what > UK_EMIT_LLVM)
        s = uk_link(&b);
    if (!s && what > UK_EMIT_LINKED)
        s = uk_optimize(&b);
    if (!s)
        s = what > UK_EMIT_OPTIMIZED ? assemble(&b, what, bytes, length) : print_module(&b, bytes, length);
    uk_build_end(&b);
    return s;
}

/* Hands the text over; it is never NULL then. */
static enum uk_status give_text(struct uk_context *c, enum uk_status s, struct uk_text *t, char **bytes,
                                size_t *length) {
    uk_put(t, "%s", "");
    if (s || t->failed) {
        free(t->text);
        return s ? s : uk_out_of_memory(c);
    }
    *bytes = t->text;
    *length = t->length;
    return UK_OK;
}

static enum uk_status emit(struct uk_program *p, const struct uk_options *options, enum uk_emit what,
                           char **bytes, size_t *length) {
    static const struct uk_options none;
    const struct uk_options *o = options ? options : &none;
    struct uk_context *c = p->context;
    struct uk_text text = {0}, steps = {0};
    const struct uk_target *t;
    struct uk_function *f;

    *bytes = NULL;
    *length = 0;
    uk_context_enter(c, p->file);
    enum uk_status s = uk_target_find(c, o->target ? o->target : "native", &t);
    if (!s)
        s = uk_lower(p, t, o, NULL, what == UK_EMIT_SCHEDULE ? &steps : NULL, &f);
    if (what == UK_EMIT_SCHEDULE)
        return give_text(c, s, &steps, bytes, length);
    if (!s && what == UK_EMIT_LOOPS)
        uk_print_loops(&text, f);
    if (!s && what == UK_EMIT_HEADER)
        s = uk_emit_header(f, &text);
    if (s || what == UK_EMIT_LOOPS || what == UK_EMIT_HEADER)
        return give_text(c, s, &text, bytes, length);
    return uk_emit_code(c, f, t, what, bytes, length);
}

enum uk_status uk_emit(struct uk_program *p, const struct uk_options *options, enum uk_emit what,
                       char **bytes, size_t *length) {
    struct uk_mark before = uk_arena_mark(&p->arena);
    enum uk_status s = emit(p, options, what, bytes, length);

    uk_arena_release(&p->arena, before);
    return s;
}

enum uk_status uk_explain(struct uk_program *p, const struct uk_options *options, char **text) {
    static const struct uk_options none;
    struct uk_context *c = p->context;
    struct uk_text report = {0};
    struct uk_mark before = uk_arena_mark(&p->arena);
    const struct uk_target *t;
    struct uk_function *f;

    *text = NULL;
    uk_context_enter(c, p->file);
    enum uk_status s = uk_target_find(c, options && options->target ? options->target : "native", &t);
    if (!s)
        s = uk_lower(p, t, options ? options : &none, &report, NULL, &f);
    uk_arena_release(&p->arena, before);
    /* Where nothing matched, the report is the answer; the status says so too. */
    if ((!s || s == UK_NO_MATCH) && report.length) {
        *text = report.text;
        return s;
    }
    size_t length;
    return give_text(c, s, &report, text, &length);
}
