/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room link: kernels' bitcode in, checked and inlined; optimization, assembly, objects, headers, and code in
 * this process. It uses codegen, lower, LLVM, what generated code calls of runtime and gpu, and the names
 * that simulate/rvp has for words. Data: struct uk_backend (what a context keeps), uk_source, uk_batch,
 * uk_cached.
 */
#ifndef UK_LINK_H
#define UK_LINK_H

#include <llvm-c/LLJIT.h>
#include <sys/types.h>
#include "codegen/codegen.h"
#include "lower/lower.h"

/* C source of an import and the bitcode that clang made of it. */
struct uk_compiled {
    char *source, *target;
    size_t source_length;
    char *bitcode;
    size_t bitcode_length;
    struct uk_compiled *next;
};

/* An import that has been compiled for the target, so that LLVM has instructions for it. */
struct uk_tried {
    char *bytes, *target;
    size_t length;
    struct uk_tried *next;
};

/* The object of a module that was compiled before (cache.c); the last one first. */
struct uk_cached {
    char *key, *object;
    size_t length;
    struct uk_cached *next;
};

struct uk_backend {
    struct uk_compiled *compiled;
    struct uk_tried *tried;
    struct uk_cached *cached;
};

/* The context's back end, made on first use; NULL: out of memory (recorded). */
struct uk_backend *uk_backend(struct uk_context *c);
/* Registers LLVM's targets, once in the process: all threads share its list. */
void uk_initialize_llvm(void);
enum uk_status uk_target_machine(struct uk_context *c, const struct uk_target *t, LLVMTargetMachineRef *out);

/* llvm.c: b must stay where it is until the end, LLVM keeps its address. On failure nothing is left to end.
 */
enum uk_status uk_build_begin(struct uk_build *b, struct uk_context *c, const struct uk_function *f,
                              const struct uk_target *t);
void uk_build_end(struct uk_build *b);
/* Fails with LLVM's diagnostics as the reason, and empties them. */
enum uk_status uk_build_fail(struct uk_build *b, enum uk_status status, const char *what, const char *error);
/* What LLVM said so far is of no concern. */
void uk_build_forget(struct uk_build *b);

/* device.c: the host's module of a build for a GPU, with nothing in it yet. */
enum uk_status uk_host_begin(struct uk_build *b);
/* device.c: the optimized kernels as what the driver loads; free(*bytes). The module is spent. */
enum uk_status uk_build_image(struct uk_build *b, char **bytes, size_t *length);
/* device.c: the same into the host's module, which takes the place of the kernels': from here on b is for the
 * host. */
enum uk_status uk_build_to_host(struct uk_build *b);
/* device.c: whether the stage of a program for a GPU is one of its host's part. */
bool uk_is_of_host(enum uk_emit what);

/* link.c: gates, and the kernels' bodies as internal functions that must be inlined. */
enum uk_status uk_link(struct uk_build *b);
/* build.c: an attribute without a value. */
LLVMAttributeRef uk_enum_attribute(LLVMContextRef llvm, const char *name);
/* optimize.c: LLVM's passes of that text over the module. */
enum uk_status uk_run_passes(struct uk_build *b, const char *passes);
/* optimize.c: inlines and optimizes, then makes sure that no kernel is left. */
enum uk_status uk_optimize(struct uk_build *b);
/* llvm.c: assembly, or object code with the imported objects in it; the module is spent. */
enum uk_status uk_build_assemble(struct uk_build *b, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out);

/* cache.c: the key of the object of b's module, which is not linked yet; free it. NULL: the object is not
 * kept. */
char *uk_cache_key(struct uk_build *b);
/* Does the program import code of its own? */
bool uk_has_imports(const struct uk_program *p);
/* A copy of the object kept under key, or NULL. */
LLVMMemoryBufferRef uk_cache_find(struct uk_context *c, const char *key);
/* Keeps a copy of the object, in place of the oldest one; takes the key. */
void uk_cache_keep(struct uk_context *c, char *key, LLVMMemoryBufferRef object);
void uk_cache_clear(struct uk_backend *b);

/* import.c: reads the files of all imports of the program, used or not, each once; and frees what was read of
 * them. */
enum uk_status uk_imports_open(const struct uk_program *p);
void uk_imports_close(const struct uk_program *p);
/* import.c: the bytes of an import, compiled to bitcode if it is C. Free them. */
enum uk_status uk_import_read(struct uk_build *b, struct uk_import *i, char **bytes, size_t *length);
/* link.c: refuses an import that is no code for the target, as uk_link does, where nothing is linked. */
enum uk_status uk_imports_check(struct uk_context *c, struct uk_program *p, const struct uk_target *t);

/* import.c: compiles bitcode in a process of its own; refuses an import on which LLVM ends the process. */
enum uk_status uk_import_try(struct uk_build *b, const char *name, struct uk_position at, const char *bitcode,
                             size_t length);

/* import.c: C that is no import, of that name in messages, as bitcode; free(*bytes). */
enum uk_status uk_source_compile(struct uk_build *b, const char *name, const struct uk_text *text,
                                 char **bytes, size_t *length);

/* object.c: whether an imported object has the function; all objects of a build in one, in place of its own;
 * the objects of one build to another that it becomes part of. */
bool uk_objects_define(const struct uk_build *b, const char *symbol);
enum uk_status uk_objects_merge(struct uk_build *b, LLVMMemoryBufferRef *object);
/* object.c: where in the object's bytes that local variable of so many bytes lies; NULL: nowhere. */
char *uk_object_variable(char *bytes, size_t length, const char *name, size_t size);
void uk_objects_move(struct uk_build *to, struct uk_build *from);
void uk_objects_free(struct uk_build *b);

/* subprocess.c: starts a program, whose path is argv[0], with fd as its standard input, output and error.
 * errno is set if it was not started. */
enum { UK_TOOL_SECONDS = 60 };
enum uk_tool_end { UK_TOOL_DONE, UK_TOOL_FAILED, UK_TOOL_NOT_STARTED, UK_TOOL_TOO_LONG };
enum uk_tool_end uk_run_tool(char *const argv[], const int fd[3]);
/* Files in memory for a tool: its input, holding this, its output and its messages. Close them also where
 * this fails. */
enum uk_status uk_tool_files(struct uk_context *c, const char *input, size_t size, int fd[3]);
void uk_tool_files_close(const int fd[3]);
/* Waits for a child; false if it had to be killed. */
bool uk_wait_for(pid_t pid, int seconds, int *result);
/* All of an open file, if that is at most so many bytes; free it. NULL with errno set. */
char *uk_read_all(int fd, size_t most, size_t *length);
bool uk_write_all(int fd, const char *bytes, size_t n);

/* module.c: an empty module, and f's machine code in it. f is not needed afterwards. */
struct uk_module *uk_module_create(void);
enum uk_status uk_module_build(struct uk_context *c, const struct uk_function *f, const struct uk_target *t,
                               struct uk_module *m);

/* module.c: an object (taken over) in a JIT of its own, and what lies where in it. */
enum uk_status uk_jit_load(struct uk_context *c, const char *name, LLVMMemoryBufferRef object,
                           LLVMOrcLLJITRef *jit);
enum uk_status uk_jit_find(struct uk_context *c, LLVMOrcLLJITRef jit, const char *name,
                           LLVMOrcExecutorAddress *at);
void uk_jit_destroy(LLVMOrcLLJITRef jit);

/* batch.c: programs of one context, lowered for one target. End it in any case. */
struct uk_batch {
    struct uk_context *context;
    struct uk_program *const *program;
    const struct uk_bundle *bundle; /* that the programs are part of; NULL: there are only programs */
    int count, lowered;
    const struct uk_target *target;
    const struct uk_options *options;
    size_t notes; /* the length of the context's before they were lowered */
    const struct uk_function **function;
    struct uk_mark *before; /* of each program's arena */
    struct uk_text *steps;  /* as applied */
};
/* Whether there are programs, of which none is NULL. */
enum uk_status uk_batch_check(const struct uk_bundle *bundle);
enum uk_status uk_batch_begin(struct uk_batch *b, const struct uk_bundle *bundle,
                              const struct uk_options *options);
/* What is emitted without linking needs whole imports, too. */
enum uk_status uk_batch_check_imports(const struct uk_batch *b);
/* After building failed with status *s: whether the code of an automatic schedule was refused, and all have
 * been lowered again, with another one in its place. If that fails, *s says so. */
bool uk_batch_again(struct uk_batch *b, enum uk_status *s);
void uk_batch_end(struct uk_batch *b);
/* batch.c: the functions in one module, each as far as `what`, and the rest of the bundle; build as for
 * uk_build_begin. */
enum uk_status uk_build_all(struct uk_build *build, const struct uk_batch *b, enum uk_emit what,
                            bool trampoline);

/* bundle.c: names, lengths and so on of what is not a program; then this added to the module of all programs;
 * the constants' bytes into the object. */
enum uk_status uk_bundle_check(const struct uk_batch *b);
enum uk_status uk_bundle_join(struct uk_build *build, const struct uk_batch *b, enum uk_emit what);
enum uk_status uk_bundle_fill(struct uk_build *build, LLVMMemoryBufferRef object);

/* emit_header.c: the C header of the functions. */
enum uk_status uk_emit_header(const struct uk_batch *b, struct uk_text *t);
/* runtime_symbols.c: the functions that generated code may call. */
enum { UK_SYMBOLS = 18 };
struct uk_symbol {
    const char *name;
    void (*address)(void);
};
extern const struct uk_symbol uk_symbols[];
bool uk_is_runtime_symbol(const char *name);

/* emit.c: whether there is code for the target, else a message. */
enum uk_status uk_has_code(struct uk_context *c, const struct uk_target *t);
/* emit.c: a stage from UK_EMIT_LLVM to UK_EMIT_SHARED; free(*bytes). */
enum uk_status uk_emit_code(const struct uk_batch *b, enum uk_emit what, char **bytes, size_t *length);
/* ptx.c: takes the text of a module for NVIDIA's GPUs, and gives it without what their assembler computes
 * wrong; NULL if it fails. */
enum uk_status uk_mend_ptx(struct uk_context *c, LLVMMemoryBufferRef *ptx);

/* name_words.c: a copy of assembly in which words that LLVM has no names for have theirs, as comments;
 * uk_text_free(*bytes). */
enum uk_status uk_name_words(struct uk_context *c, const struct uk_arch *arch, const char *text, size_t n,
                             char **bytes, size_t *length);
/* emit_shared.c: the object as a shared object; free(*bytes). */
enum uk_status uk_link_shared(struct uk_build *b, const char *object, size_t size, char **bytes,
                              size_t *length);

/* code_object.c: an object for a device as a code object that its driver loads; free(*bytes). */
enum uk_status uk_link_code_object(struct uk_context *c, const struct uk_target *t, const char *object,
                                   size_t size, char **bytes, size_t *length);

/* ---- sources of kernels ---- */

/* An import or a built-in kernel's bitcode, parsed. */
struct uk_source {
    const char *name; /* for messages */
    struct uk_position at;
    const struct uk_import *import; /* NULL: it is one of the library's own */
    bool built_in;
    const char *bytes; /* of an import */
    size_t length;
    bool is_object;       /* machine code: called, not inlined; has no module */
    LLVMModuleRef module; /* NULL once it is linked */
    struct uk_source *next;
};

struct uk_sources {
    struct uk_arena arena;
    struct uk_source *first;
};

/* A symbol that the loops call. */
struct uk_wanted {
    const char *symbol;
    const struct uk_intrinsic *intrinsic;
    LLVMTypeRef type; /* what the declaration's form says */
    struct uk_source *source;
};

bool uk_is_wanted(LLVMValueRef f, const struct uk_wanted *w, int count);

/* validate_import.c: bitcode or LLVM's text, into s->module. */
enum uk_status uk_parse_source(struct uk_build *b, struct uk_source *s, const char *data, size_t size);
/* validate_import.c: refuses functions that cannot be inlined, that call others, or that keep state; w: the
 * kernels of all sources.
 */
enum uk_status uk_gate(struct uk_build *b, const struct uk_source *s, const struct uk_wanted *w, int count);
/* contract.c: takes from the imported functions that kernels are made of the leave to add products unrounded,
 * where the declaration does not give it. */
void uk_forbid_contraction(struct uk_build *b, const struct uk_source *s, const struct uk_wanted *w,
                           int count);
/* validate_asm.c: of a call of inline asm in f, whether the target has what its text, constraints and
 * clobbers name. */
enum uk_status uk_gate_asm(struct uk_build *b, const struct uk_source *s, LLVMValueRef f, LLVMValueRef code);
/* validate_words.c: refuses machine code, or a module that becomes it, with instructions of RISC-V P that the
 * target lacks. */
enum uk_status uk_gate_words(struct uk_build *b, const struct uk_source *s);
/* validate_insn.c: refuses an asm statement of the function that begins with .insn, which the target has not.
 * */
enum uk_status uk_gate_insn(struct uk_build *b, const struct uk_source *s, const char *function,
                            const char *statement, size_t length);
/* validate_insn.c: whether the compiler refused a .insn in the text, or the registers beside it; where, and
 * the statement. */
bool uk_said_insn(const char *said, const char *text, const char **where, size_t *where_length,
                  const char **statement);
enum uk_status uk_refuse_insn(struct uk_build *b, struct uk_position at, const char *where,
                              const char *statement, size_t length);
/* validate_words.c: the first such instruction in code of RISC-V: its offset, and what it is. */
enum { UK_WORD_TEXT = 64 };
bool uk_find_word(const char *code, size_t size, size_t *at, char text[UK_WORD_TEXT]);
/* object.c: the same gate for an object's sections of code. */
enum uk_status uk_object_gate_words(struct uk_build *b, const struct uk_source *s, const char *bytes,
                                    size_t length);
/* trial_codegen.c: refuses an import that LLVM has no instructions for on the target. */
enum uk_status uk_try(struct uk_build *b, const struct uk_source *s);
/* object.c: ELF's mark; whether it can be read and is for the target; whether it has that function for
 * others; that it needs nothing, keeps no state and takes no name; that it becomes part of the build's
 * object. */
bool uk_is_object(const char *bytes, size_t length);
enum uk_status uk_object_parse(struct uk_build *b, const struct uk_source *s);
bool uk_object_defines(const char *bytes, size_t length, const char *symbol);
enum uk_status uk_object_gate(struct uk_build *b, const struct uk_source *s);
enum uk_status uk_object_use(struct uk_build *b, const struct uk_source *s);
/* bitcode_id.c: which LLVM wrote this bitcode ("LLVM21.1.0"), and for which epoch; false where that cannot be
 * read. */
bool uk_bitcode_producer(const char *data, size_t size, char producer[64], unsigned *epoch);

#endif
