/*
 * libuktensorize: tensor expression -> schedule -> proven micro-kernel calls -> machine code.
 *
 * A program is written as text (the .uk language) or built by the calls below; both make the same object. Steps
 * change its schedule; each is checked when the program is compiled, and the first one that is refused is the
 * error. uk_compile() turns a program into a module: machine code in this process, or object, header, assembly.
 *
 *     struct uk_context *c = uk_context_create();
 *     struct uk_program *p;
 *     struct uk_module *m;
 *     if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p) || uk_compile(p, NULL, &m))
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     int (*matmul)(int64_t, int64_t, int64_t, const float *, const float *, float *) = uk_module_function(m);
 *
 * Threads: a context and all that was made with it belong to one thread at a time; different contexts are
 * independent. The generated function may be called from many threads at once.
 * Ownership: a program and a module hold on to their context; destroy them first.
 * Errors: functions return enum uk_status; the text is in uk_context_message() until the next call with the same
 * context. Calls that build a program are sticky: after the first failure the later ones do nothing, and the
 * failure comes back from uk_program_status() and from every use of the program.
 */
#ifndef UK_TENSORIZE_H
#define UK_TENSORIZE_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif

struct uk_context;
struct uk_program;
struct uk_module;

enum uk_type { UK_F64, UK_F32, UK_F16, UK_BF16, UK_I64, UK_I32, UK_I16, UK_I8, UK_U8, UK_TYPES };

/* ---- context ---- */

/* NULL only when memory is exhausted. */
struct uk_context *uk_context_create(void);
void uk_context_destroy(struct uk_context *c);
/* The last error, "FILE:LINE:COLUMN: error: what; what to do", or "". Valid until the next call with c. */
const char *uk_context_message(const struct uk_context *c);
/* Frees a text that the library returned. */
void uk_text_free(char *text);

/* ---- programs from text ---- */

/* Parses and checks a whole program. `file` names it in messages and gives the function's name (its stem). The text
 * need not end in a NUL; it is copied. On failure *out is NULL. */
enum uk_status uk_program_parse(struct uk_context *c, const char *file, const char *text, size_t length,
                                struct uk_program **out);
/* Replaces the program's steps by those of a text that holds a `schedule` section or just its steps. */
enum uk_status uk_program_schedule(struct uk_program *p, const char *file, const char *text, size_t length);
void uk_program_destroy(struct uk_program *p);
/* The program as text that parses to the same program; free with uk_text_free. */
enum uk_status uk_program_print(struct uk_program *p, char **text);
/* Makes a size a constant: it is then no argument of the function. */
enum uk_status uk_program_define(struct uk_program *p, const char *size, int64_t value);
enum uk_status uk_program_status(const struct uk_program *p);

/* What the generated function takes, in order: sizes, scalars, tensors. */
int uk_program_sizes(const struct uk_program *p);
const char *uk_program_size_name(const struct uk_program *p, int i);
/* The `size` item's value, or -1. */
int64_t uk_program_size_default(const struct uk_program *p, int i);
int uk_program_scalars(const struct uk_program *p);
const char *uk_program_scalar_name(const struct uk_program *p, int i);
int uk_program_tensors(const struct uk_program *p); /* temps are not counted */
const char *uk_program_tensor_name(const struct uk_program *p, int i);
enum uk_type uk_program_tensor_type(const struct uk_program *p, int i);
bool uk_program_tensor_written(const struct uk_program *p, int i);
/* Elements from the origin to the last one, for the sizes given (all of them, fixed ones too, in order). -1:
 * overflow. */
int64_t uk_program_tensor_elements(const struct uk_program *p, int i, const int64_t *sizes);

/* Runs the program as written, statement by statement, without any schedule: the definition of what is right.
 * sizes: all sizes by uk_program_sizes order. Not fast. */
enum uk_status uk_program_interpret(struct uk_program *p, const int64_t *sizes, const double *scalars,
                                    void *const *tensors);

/* ---- compiling ---- */

/* Zero-initialize; every zero means the default. */
struct uk_options {
    const char *target; /* "native" (default), "x86_64-avx2", "x86_64-avx512", "interp" */
    bool allow_loops;   /* plain loops where no kernel fits; otherwise that is UK_NO_MATCH */
    int threads;        /* auto schedules make a loop parallel only if this is > 1 */
};

enum uk_emit {
    UK_EMIT_SCHEDULE,  /* the steps as text, those that auto chose included */
    UK_EMIT_LOOPS,     /* our loop IR */
    UK_EMIT_LLVM,      /* LLVM IR before linking: the kernels are declarations */
    UK_EMIT_LINKED,    /* with the kernels' bodies, still called */
    UK_EMIT_OPTIMIZED, /* after inlining: no call to a kernel is left */
    UK_EMIT_ASM,
    UK_EMIT_OBJECT,
    UK_EMIT_HEADER,
};

/* Schedules, lowers, links, inlines, and compiles for this process. On failure *out is NULL. options may be NULL. */
enum uk_status uk_compile(struct uk_program *p, const struct uk_options *options, struct uk_module **out);
void uk_module_destroy(struct uk_module *m);
/* The generated function; cast it to the type that UK_EMIT_HEADER prints. Lives as long as the module. */
void *uk_module_function(const struct uk_module *m);
/* Calls it with arguments in arrays: sizes that are not defined, scalars, tensors, each in order; returns its status. */
int uk_module_call(const struct uk_module *m, const int64_t *sizes, const double *scalars, void *const *tensors);
/* Milliseconds by stage, for i = 0, 1, ... until the name is NULL. */
const char *uk_module_time(const struct uk_module *m, int i, double *milliseconds);
/* Kernels that were linked in and inlined, for i = 0, 1, ... until NULL. */
const char *uk_module_kernel(const struct uk_module *m, int i);

/* One stage of the compilation as bytes (text but for UK_EMIT_OBJECT), for any target; free with uk_text_free. */
enum uk_status uk_emit(struct uk_program *p, const struct uk_options *options, enum uk_emit what, char **bytes,
                       size_t *length);
/* Every kernel that was considered for every tensorize step, the first difference of each, and the one taken. */
enum uk_status uk_explain(struct uk_program *p, const struct uk_options *options, char **text);

#ifdef __cplusplus
}
#endif
#endif
