/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room link: checks kernels' bitcode and inlines it; optimizes; makes assembly, objects, headers, and code in
 * this process. Uses rooms codegen and lower, LLVM, the functions of runtime and gpu that generated code
 * calls, and simulate/rvp's names of instructions.
 *
 * Data structures: struct uk_backend (compiled imports and objects that a context keeps), uk_source,
 * uk_batch, uk_cached.
 */
#ifndef UK_LINK_H
#define UK_LINK_H

#include <llvm-c/LLJIT.h>
#include <sys/types.h>
#include "codegen/codegen.h"
#include "lower/lower.h"

/* C source of an import, with the bitcode that clang made of it. */
struct uk_compiled {
    char *source, *target;
    size_t source_length;
    char *bitcode;
    size_t bitcode_length;
    struct uk_compiled *next;
};

/* An import that clang could compile for the target, so that generating its code does not end the process. */
struct uk_compilable_import {
    char *bytes, *target;
    size_t length;
    struct uk_compilable_import *next;
};

/* The object of an earlier compilation (cache.c); the list begins with the newest. */
struct uk_cached {
    char *key, *object;
    size_t length;
    struct uk_cached *next;
};

/* What a context keeps from one compilation to the next. */
struct uk_backend {
    struct uk_compiled *compiled;
    struct uk_compilable_import *compilable_imports;
    struct uk_cached *cached;
};

/* Returns the context's back end, created on first use. NULL: out of memory, which the context records. */
struct uk_backend *uk_backend(struct uk_context *c);
/* Registers LLVM's targets once per process; all threads share LLVM's list. */
void uk_initialize_llvm(void);
enum uk_status uk_target_machine(struct uk_context *c, const struct uk_target *t, LLVMTargetMachineRef *out);

/* llvm.c. uk_build_begin: b must not move until uk_build_end, since LLVM keeps its address. After a failure
 * there is nothing to end. */
enum uk_status uk_build_begin(struct uk_build *b, struct uk_context *c, const struct uk_function *f,
                              const struct uk_target *t);
void uk_build_end(struct uk_build *b);
/* Fails with LLVM's diagnostics as the reason, then clears them. */
enum uk_status uk_build_fail(struct uk_build *b, enum uk_status status, const char *what, const char *error);
/* Discards LLVM's diagnostics. */
void uk_build_forget(struct uk_build *b);

/* device.c: creates the host's module, still empty, of a build for a GPU. */
enum uk_status uk_host_begin(struct uk_build *b);
/* device.c: turns the optimized kernels into the image that the driver loads; the caller frees *bytes.
 * Consumes the module. */
enum uk_status uk_build_image(struct uk_build *b, char **bytes, size_t *length);
/* device.c: puts the image into the host's module, which replaces the kernels' module: b then builds for the
 * host. */
enum uk_status uk_build_to_host(struct uk_build *b);
/* device.c: returns whether the stage, of a program for a GPU, shows its host part. */
bool uk_is_of_host(enum uk_emit what);

/* link.c: checks the kernels, then adds their bodies as internal functions that must be inlined. */
enum uk_status uk_link(struct uk_build *b);
/* build.c: makes an attribute without a value. */
LLVMAttributeRef uk_enum_attribute(LLVMContextRef llvm, const char *name);
/* optimize.c: runs a pipeline of LLVM passes, in LLVM's syntax, over the module. */
enum uk_status uk_run_passes(struct uk_build *b, const char *passes);
/* optimize.c: inlines and optimizes; fails if a call of a kernel is left. */
enum uk_status uk_optimize(struct uk_build *b);
/* llvm.c: makes assembly, or object code that includes the imported objects. Consumes the module. */
enum uk_status uk_build_assemble(struct uk_build *b, LLVMCodeGenFileType type, LLVMMemoryBufferRef *out);
/* llvm.c: the same object code, in memory that the caller frees. Large constants are not copied. */
enum uk_status uk_build_object(struct uk_build *b, char **bytes, size_t *length);

/* cache.c: the cache key of b's module, which is not linked yet; the caller frees it. NULL: the object is not
 * cached. */
char *uk_cache_key(struct uk_build *b);
/* Returns whether the program imports code of its own. */
bool uk_has_imports(const struct uk_program *p);
/* Returns a copy of the object cached under key, or NULL. */
LLVMMemoryBufferRef uk_cache_find(struct uk_context *c, const char *key);
/* Caches a copy of the object and evicts the oldest one if the cache is full. Takes ownership of key. */
void uk_cache_keep(struct uk_context *c, char *key, LLVMMemoryBufferRef object);
void uk_cache_clear(struct uk_backend *b);

/* import.c: uk_imports_open reads the files of all imports of the program, used or not, once each.
 * uk_imports_close frees them. */
enum uk_status uk_imports_open(const struct uk_program *p);
void uk_imports_close(const struct uk_program *p);
/* import.c: the bytes of an import, compiled to bitcode if it is C. The caller frees them. */
enum uk_status uk_import_read(struct uk_build *b, struct uk_import *i, char **bytes, size_t *length);
/* link.c: refuses imports that are not code for the target, as uk_link does, in compilations that do not
 * link. */
enum uk_status uk_imports_check(struct uk_context *c, struct uk_program *p, const struct uk_target *t);

/* import.c: compiles bitcode in a child process; refuses an import whose code generation ends the process. */
enum uk_status uk_import_try(struct uk_build *b, const char *name, struct uk_position at, const char *bitcode,
                             size_t length);

/* import.c: compiles C that is not an import, called `name` in messages, to bitcode; the caller frees
 * *bytes. */
enum uk_status uk_source_compile(struct uk_build *b, const char *name, const struct uk_text *text,
                                 char **bytes, size_t *length);

/* object.c. uk_objects_define: an imported object defines the function. uk_objects_move: moves the objects of
 * a build to one that it becomes part of. */
bool uk_objects_define(const struct uk_build *b, const char *symbol);
/* object_merge.c: replaces *object by one that includes all objects of the build. */
enum uk_status uk_objects_merge(struct uk_build *b, LLVMMemoryBufferRef *object);
/* object.c: offset of a local variable in its section; false: it has no such variable. */
bool uk_object_variable(const char *bytes, size_t length, const char *name, uint64_t *at);
/* object.c: size of a section without bytes in the object; 0: it has no such section. */
uint64_t uk_object_section(const char *bytes, size_t length, const char *name);
/* object.c: makes that section a read-only one whose bytes are at the offset, and takes the first `prefix`
 * characters from its name. */
void uk_object_place_section(char *bytes, size_t length, const char *name, unsigned prefix, uint64_t at);
void uk_objects_move(struct uk_build *to, struct uk_build *from);
void uk_objects_free(struct uk_build *b);

/* subprocess.c: runs a program for at most UK_TOOL_SECONDS. argv[0] is its path; fd are its standard input,
 * output and error. Sets errno if it could not be started. */
enum { UK_TOOL_SECONDS = 60 };
enum uk_tool_end { UK_TOOL_DONE, UK_TOOL_FAILED, UK_TOOL_NOT_STARTED, UK_TOOL_TOO_LONG };
enum uk_tool_end uk_run_tool(char *const argv[], const int fd[3]);
/* Creates files in memory for a tool: its input with these contents, its output and its messages. The caller
 * closes them, after a failure too. */
enum uk_status uk_tool_files(struct uk_context *c, const char *input, size_t size, int fd[3]);
void uk_tool_files_close(const int fd[3]);
/* Waits for a child; returns false if it had to be killed after `seconds`. */
bool uk_wait_for(pid_t pid, int seconds, int *result);
/* Reads a whole open file of at most `most` bytes; the caller frees the result. NULL, with errno set, after a
 * failure. */
char *uk_read_all(int fd, size_t most, size_t *length);
bool uk_write_all(int fd, const char *bytes, size_t n);

/* module.c: creates an empty module; builds f's machine code into it. f is not needed afterwards. */
struct uk_module *uk_module_create(void);
enum uk_status uk_module_build(struct uk_context *c, const struct uk_function *f, const struct uk_target *t,
                               struct uk_module *m);

/* module.c: loads an object (taking ownership) into a JIT of its own; finds addresses in it. */
enum uk_status uk_jit_load(struct uk_context *c, const char *name, LLVMMemoryBufferRef object,
                           LLVMOrcLLJITRef *jit);
enum uk_status uk_jit_find(struct uk_context *c, LLVMOrcLLJITRef jit, const char *name,
                           LLVMOrcExecutorAddress *at);
void uk_jit_destroy(LLVMOrcLLJITRef jit);

/* batch.c: programs of one context, lowered for one target. Must be ended even after a failure. */
struct uk_batch {
    struct uk_context *context;
    struct uk_program *const *program;
    const struct uk_bundle *bundle; /* bundle that the programs are part of; without a source, constants or
                                       exported names, NULL */
    int count, lowered;
    const struct uk_target *target;
    const struct uk_options *options;
    size_t notes; /* length of the context's notes before the programs were lowered */
    const struct uk_function **function;
    struct uk_mark *before; /* of each program's arena, before lowering; uk_batch_end releases it to there */
    struct uk_text *steps;  /* steps of each program, as applied */
};
/* Checks that there are programs and none of them is NULL. */
enum uk_status uk_batch_check(const struct uk_bundle *bundle);
enum uk_status uk_batch_begin(struct uk_batch *b, const struct uk_bundle *bundle,
                              const struct uk_options *options);
/* Checks imports for stages that are emitted without linking. */
enum uk_status uk_batch_check_imports(const struct uk_batch *b);
/* Call after a build failed with status *s. If the code of an automatic schedule was refused, lowers all
 * programs again, with another schedule in its place, and returns true. Returns false if none was refused,
 * or, with *s set, if lowering failed. */
bool uk_batch_reschedule(struct uk_batch *b, enum uk_status *s);
void uk_batch_end(struct uk_batch *b);
/* batch.c: builds the functions into one module, each up to stage `what`, and adds the rest of the bundle.
 * `build` is used as by uk_build_begin. */
enum uk_status uk_build_all(struct uk_build *build, const struct uk_batch *b, enum uk_emit what,
                            bool trampoline);

/* bundle.c. uk_bundle_check: checks names, lengths and counts of all but the programs. uk_bundle_join: adds
 * the source and the constants to the module of all programs. */
enum uk_status uk_bundle_check(const struct uk_batch *b);
enum uk_status uk_bundle_join(struct uk_build *build, const struct uk_batch *b, enum uk_emit what);

/* constants.c: bytes to whose multiple the constant's address is aligned. */
size_t uk_constant_alignment(const struct uk_constant *k);
/* constants.c: defines the constants that the module declares: with their values if it is printed, else as
 * variables without bytes. */
enum uk_status uk_constants_add(struct uk_build *build, const struct uk_bundle *u, bool is_printed);
/* constants.c: returns a copy of the object with the bytes of these variables; the caller frees *bytes. */
enum uk_status uk_constants_fill(struct uk_build *build, LLVMMemoryBufferRef object, char **bytes,
                                 size_t *length);

/* emit_header.c: writes the C header of the functions. */
enum uk_status uk_emit_header(const struct uk_batch *b, struct uk_text *t);
/* runtime_symbols.c: functions that generated code may call. */
enum { UK_SYMBOLS = 18 };
struct uk_symbol {
    const char *name;
    void (*address)(void);
};
extern const struct uk_symbol uk_symbols[];
bool uk_is_runtime_symbol(const char *name);

/* emit.c: fails unless code can be generated for the target. */
enum uk_status uk_has_code(struct uk_context *c, const struct uk_target *t);
/* emit.c: makes one stage, UK_EMIT_LLVM to UK_EMIT_SHARED; the caller frees *bytes. */
enum uk_status uk_emit_code(const struct uk_batch *b, enum uk_emit what, char **bytes, size_t *length);
/* ptx.c: replaces PTX text by a version without the instructions that NVIDIA's assembler miscompiles. *ptx is
 * NULL after a failure. */
enum uk_status uk_fix_ptx(struct uk_context *c, LLVMMemoryBufferRef *ptx);

/* name_words.c: copies assembly and adds names, as comments, to instructions that LLVM has no names for. Free
 * with uk_text_free(*bytes). */
enum uk_status uk_name_words(struct uk_context *c, const struct uk_arch *arch, const char *text, size_t n,
                             char **bytes, size_t *length);
/* emit_shared.c: links the object to a shared object; the caller frees *bytes. */
enum uk_status uk_link_shared(struct uk_build *b, const char *object, size_t size, char **bytes,
                              size_t *length);

/* code_object.c: links a device's object to a code object for its driver; the caller frees *bytes. */
enum uk_status uk_link_code_object(struct uk_context *c, const struct uk_target *t, const char *object,
                                   size_t size, char **bytes, size_t *length);

/* ---- sources of kernels ---- */

/* A parsed import, or the parsed bitcode of a built-in kernel. */
struct uk_source {
    const char *name; /* name in messages */
    struct uk_position at;
    const struct uk_import *import; /* NULL: a kernel of the library */
    bool built_in;
    const char *bytes; /* bytes of an import */
    size_t length;
    bool is_object;       /* machine code, without a module: called, not inlined */
    LLVMModuleRef module; /* NULL once it is linked */
    struct uk_source *next;
};

struct uk_sources {
    struct uk_arena arena;
    struct uk_source *first;
};

/* A symbol that the loops call. */
struct uk_called_symbol {
    const char *symbol;
    const struct uk_intrinsic *intrinsic;
    LLVMTypeRef type; /* type by the declaration's form */
    struct uk_source *source;
};

bool uk_is_called_symbol(LLVMValueRef f, const struct uk_called_symbol *w, int count);

/* validate/import.c: parses bitcode or LLVM IR text into s->module. */
enum uk_status uk_parse_source(struct uk_build *b, struct uk_source *s, const char *data, size_t size);
/* validate/import.c: refuses functions that cannot be inlined, that call others, or that keep state. w: the
 * kernels of all sources. */
enum uk_status uk_validate_functions(struct uk_build *b, const struct uk_source *s,
                                     const struct uk_called_symbol *w, int count);
/* contract.c: forbids imported functions used by kernels to add products unrounded, unless the declaration
 * allows it. */
void uk_forbid_contraction(struct uk_build *b, const struct uk_source *s, const struct uk_called_symbol *w,
                           int count);
/* validate/asm.c: checks, for one call of inline asm in f, that the target has what its text, constraints and
 * clobbers name. */
enum uk_status uk_validate_asm(struct uk_build *b, const struct uk_source *s, LLVMValueRef f,
                               LLVMValueRef code);
/* validate/words.c: refuses machine code, or a module whose code has it, with RISC-V P instructions that the
 * target lacks. */
enum uk_status uk_validate_words(struct uk_build *b, const struct uk_source *s);
/* validate/insn.c: refuses an asm statement of the function that begins with .insn, which the target's
 * assembler lacks. */
enum uk_status uk_validate_insn(struct uk_build *b, const struct uk_source *s, const char *function,
                                const char *statement, size_t length);
/* validate/insn.c: returns whether a compiler's message refuses an .insn in the text or its registers; sets
 * the message's location and the statement. */
bool uk_is_insn_refusal(const char *said, const char *text, const char **where, size_t *where_length,
                        const char **statement);
/* Fails with that statement, and its location, as the reason. */
enum uk_status uk_refuse_insn(struct uk_build *b, struct uk_position at, const char *where,
                              const char *statement, size_t length);
/* validate/words.c: finds the first such instruction in RISC-V code; sets its offset and its text. */
enum { UK_WORD_TEXT = 64 };
bool uk_find_word(const char *code, size_t size, size_t *at, char text[UK_WORD_TEXT]);
/* object.c: applies the same check to an object's code sections. */
enum uk_status uk_object_validate_words(struct uk_build *b, const struct uk_source *s, const char *bytes,
                                        size_t length);
/* trial_codegen.c: refuses an import that uses instructions which LLVM lacks on the target. */
enum uk_status uk_try(struct uk_build *b, const struct uk_source *s);
/* object.c. uk_is_object: the bytes begin like an ELF file. uk_object_parse: it is well-formed and for the
 * target. uk_object_defines: it has that global function. uk_object_validate: it has no undefined symbols,
 * keeps no state and defines no reserved names. uk_object_use: adds it to the build's objects. */
bool uk_is_object(const char *bytes, size_t length);
enum uk_status uk_object_parse(struct uk_build *b, const struct uk_source *s);
bool uk_object_defines(const char *bytes, size_t length, const char *symbol);
enum uk_status uk_object_validate(struct uk_build *b, const struct uk_source *s);
enum uk_status uk_object_use(struct uk_build *b, const struct uk_source *s);
/* bitcode_id.c: finds the LLVM that wrote the bitcode ("LLVM21.1.0") and its epoch; false if these cannot be
 * read. */
bool uk_bitcode_producer(const char *data, size_t size, char producer[64], unsigned *epoch);

#endif
