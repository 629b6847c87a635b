/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libuktensorize: tensor expression -> schedule -> proven micro-kernel calls -> machine code.
 *
 * A program is written as text (the .uk language) or built by the calls below; both make the same object.
 * Steps change its schedule. They are checked when the program is compiled; the first step that is not legal
 * is the error. uk_compile() turns a program into machine code in this process, uk_emit() into an object, a
 * header or assembly.
 *
 *     static const char text[] = "tensor A f32 [M, K]\n"
 *                                "tensor B f32 [K, N]\n"
 *                                "tensor C f32 [M, N]\n"
 *                                "C[m, n] = sum(k) A[m, k] * B[k, n]\n";
 *     int (*matmul)(int64_t M, int64_t K, int64_t N, const float *A, const float *B, float *C);
 *     struct uk_context *c = uk_context_create();
 *     struct uk_program *p = NULL;
 *     struct uk_module *m = NULL;
 *     if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p) || uk_compile(p, NULL, &m)) {
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     } else {
 *         void *address = uk_module_function(m);
 *         memcpy(&matmul, &address, sizeof matmul);
 *         status = matmul(2, 3, 2, a, b, result); // a: 2 x 3, b: 3 x 2, result: 2 x 2, all row-major
 *     }
 *     uk_module_destroy(m);
 *     uk_program_destroy(p);
 *     uk_context_destroy(c);
 *
 * Rules that hold for all functions below:
 *
 * - Units: sizes, strides and offsets count elements; alignments and workspaces count bytes.
 * - Layout: row-major unless a tensor has strides or a layout. A tensor's address is that of its origin, the
 *   element whose indices are all 0. f16 and bf16 elements and scalars are passed as their bits, in uint16_t.
 * - Threads: a context, and all that was made with it, may be used by one thread at a time; different
 *   contexts are independent. The generated function may be called from many threads at once.
 * - Ownership: the caller destroys programs and modules before their context, in any order among themselves.
 *   A module of the target "interp" is destroyed before its program, whose loops it runs. Destroying NULL
 *   does nothing. The caller owns texts and bytes returned through a char ** and frees them with
 *   uk_text_free(). Names and messages returned as const char * belong to the object that was asked.
 *   Arguments are copied, or not needed after the call.
 * - Errors: functions return enum uk_status. The text is in uk_context_message() until the next call with the
 *   same context. After a failure outputs are NULL and the program is unchanged.
 * - Calls that build a program are sticky instead: after the first failure the later ones do nothing.
 *   uk_program_status() returns the failure, and so does every use of the program, with its message.
 * - The library prints nothing and does not end the process; but LLVM and GMP end it if their own allocations
 *   fail.
 *
 * GPUs: the function of a program that is compiled for a GPU launches kernels. Its first argument is the
 * device, opened by uk_gpu_open() of gpu.h; it takes device addresses in place of pointers, the workspace's
 * included:
 *
 *     int matmul(struct uk_gpu *gpu, int64_t M, int64_t K, int64_t N, uk_gpu_address A, uk_gpu_address B,
 *     uk_gpu_address C);
 *
 * It may return before the kernels have run; uk_gpu_wait() and downloads wait for them. The first call with a
 * device loads the image.
 */
#ifndef UK_TENSORIZE_H
#define UK_TENSORIZE_H

#include "ukernels.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct uk_context;
struct uk_program;
struct uk_module;
struct uk_options;

enum uk_type {
    UK_F64,
    UK_F32,
    UK_F16,
    UK_BF16,
    UK_I64,
    UK_I32,
    UK_I16,
    UK_I8,
    UK_U8,
    UK_U16,
    UK_U32,
    UK_U64,
    UK_TYPES /* their number, and no type */
};

/* The type's name in texts, such as "f32", and the size of an element in bytes. For values that are not a
 * type: "no type" and 0. */
const char *uk_type_name(enum uk_type t);
size_t uk_type_bytes(enum uk_type t);

/* The version of the loaded library, such as "0.2.0"; compare uk_version() of libukernels. */
const char *uk_tensorize_version(void);

/* ---- context ---- */

/* Makes a context. Returns NULL if memory runs out. */
struct uk_context *uk_context_create(void);
/* Frees the context. Everything made with it must have been destroyed before. */
void uk_context_destroy(struct uk_context *c);
/* The last error, "FILE:LINE:COLUMN: error: what; what to do", or "". Valid until the next call with c. For a
 * program made by calls, the message has the function's name in place of the file, and in place of the line
 * the item that the call makes: "matmul: step 2: error: ...". Items are counted from 1 by kind (statement,
 * step, schedule, tensor, scalar, assumption, intrinsic, import); "before statement 2" denotes an expression
 * made before that statement. */
const char *uk_context_message(const struct uk_context *c);
/* Notes and warnings of the last successful call with c, each ended by a newline; "" if there are none. Valid
 * until the next call with c. Notes, "FILE:LINE:COLUMN: note: ...", tell for instance that a stage runs as
 * plain loops, or that the kernel of an imported object is called and not inlined. Warnings,
 * "FILE:LINE:COLUMN: warning: ...", report probable mistakes. */
const char *uk_context_notes(const struct uk_context *c);
/* Frees a text that the library returned; NULL is allowed. */
void uk_text_free(char *text);

/* ---- programs from text ---- */

/* Parses and checks a whole program of `length` bytes; the text need not end in a NUL. `file` names it in
 * messages and determines the function's name, which is the file's stem made a C identifier: _ replaces each
 * character that is not a letter or digit of ASCII, precedes a leading digit, and follows a word of C, C++ or
 * their libraries (if_); "program" precedes a name whose beginning C reserves (program__x).
 * On failure *out is NULL: UK_SYNTAX, UK_REFUSED (a rule of the language), UK_INVALID_ARGUMENT,
 * UK_OUT_OF_MEMORY. */
enum uk_status uk_program_parse(struct uk_context *c, const char *file, const char *text, size_t length,
                                struct uk_program **out);
/* Replaces the program's steps by those of a text: a `schedule` section, or the steps alone. `file` is the
 * text's name in messages. If the text does not parse, the steps stay as they were. The steps' legality is
 * checked when the program is compiled. */
enum uk_status uk_program_schedule(struct uk_program *p, const char *file, const char *text, size_t length);
/* Frees the program. Modules compiled from it stay valid, except those of the target "interp". */
void uk_program_destroy(struct uk_program *p);
/* Prints the program; the text parses to the same program. Free it with uk_text_free(). */
enum uk_status uk_program_print(struct uk_program *p, char **text);
/* Makes the size a constant, which the function then does not take as an argument. Fails with UK_INVALID_SIZE
 * if value < 0, and with UK_INVALID_ARGUMENT if the program has no size of that name. */
enum uk_status uk_program_define(struct uk_program *p, const char *size, int64_t value);
/* Returns UK_OK, or the first failure among the calls that built the program. */
enum uk_status uk_program_status(const struct uk_program *p);

/* The name of the generated function; NULL for a program with an error. */
const char *uk_program_name(const struct uk_program *p);
/* The generated function's arguments, in order: sizes, scalars, tensors; temps are not arguments. The
 * functions below return the number of each kind and the properties of the i-th one, from 0. Defined sizes
 * are still counted. If there is no i-th one, or the program has an error, they return NULL, -1, UK_TYPES or
 * false; numbers are 0 for a program with an error. */
int uk_program_sizes(const struct uk_program *p);
const char *uk_program_size_name(const struct uk_program *p, int i);
/* The default that a `size` item gives, or -1. */
int64_t uk_program_size_default(const struct uk_program *p, int i);
/* Scalars: their number; the name and type of the i-th one. */
int uk_program_scalars(const struct uk_program *p);
const char *uk_program_scalar_name(const struct uk_program *p, int i);
enum uk_type uk_program_scalar_type(const struct uk_program *p, int i);
/* Tensors, temps not counted: their number; the name and element type of the i-th one. */
int uk_program_tensors(const struct uk_program *p);
const char *uk_program_tensor_name(const struct uk_program *p, int i);
enum uk_type uk_program_tensor_type(const struct uk_program *p, int i);
/* Returns whether a statement writes the tensor. */
bool uk_program_tensor_written(const struct uk_program *p, int i);
/* Returns whether a statement reads the tensor; `+=` and the like read what they add to. */
bool uk_program_tensor_read(const struct uk_program *p, int i);
/* Returns whether the tensor is `constant`: passed in its packed form (see "constant tensors" below). */
bool uk_program_tensor_constant(const struct uk_program *p, int i);
/* The alignment in bytes that the origin's address must have: the one that the program states, or that of an
 * element. 0 if there is no such tensor. */
int uk_program_tensor_alignment(const struct uk_program *p, int i);
/* The tensor's form in memory. Its dimensions are those of its layout, if it has one. For these sizes (all
 * uk_program_sizes(), in order), extent returns the number of elements of dimension d, those of `over`
 * included, and stride their distance in elements. -1: no such tensor or dimension, or overflow. */
int uk_program_tensor_dims(const struct uk_program *p, int i);
int64_t uk_program_tensor_extent(const struct uk_program *p, int i, int d, const int64_t *sizes);
int64_t uk_program_tensor_stride(const struct uk_program *p, int i, int d, const int64_t *sizes);
/* The number of elements that the tensor's memory must have, from the origin to the last one, for these sizes
 * (all uk_program_sizes(), in order). -1: no such tensor, or overflow. */
int64_t uk_program_tensor_elements(const struct uk_program *p, int i, const int64_t *sizes);

/*
 * Finds the sizes for which the caller's arrays are the program's tensors.
 *
 * - extents[i] has one value per dimension of tensor i in memory; NULL: unknown.
 * - strides[i] likewise has the distances of the elements. If strides, or one of its elements, is NULL, the
 *   program's strides hold.
 * - sizes has all sizes, in order. Negative ones are unknown; they are found if an extent, a stride or an
 *   assumption with == is linear in them. A stride that nothing determines becomes the least possible one.
 *
 * Fails with UK_INVALID_SIZE if a size cannot be found, an array does not fit the program, or an assumption
 * does not hold; the message names it. `sizes` may have changed then.
 */
enum uk_status uk_program_solve_sizes(struct uk_program *p, const int64_t *const extents[],
                                      const int64_t *const strides[], int64_t *sizes);
/* Explains why the generated function returns UK_INVALID_SIZE for these sizes (all uk_program_sizes(), in
 * order). The message names the first condition that does not hold, in the program's terms: a negative size,
 * a stride that is too small, an assumption, an access outside its tensor; then a condition of the schedule
 * for these options (NULL: all defaults). Returns UK_OK if the function accepts the sizes. Slow: interprets
 * the program's accesses. */
enum uk_status uk_program_check_sizes(struct uk_program *p, const struct uk_options *options,
                                      const int64_t *sizes);
/* Interprets the program as written, statement by statement, without a schedule: this defines the right
 * result. Slow. sizes: all uk_program_sizes(), in order. scalars: one double each, in order; NULL if there
 * are none. tensors: the addresses of the origins, in order; tensors must not overlap, which is not checked.
 * Returns UK_INVALID_SIZE and UK_INVALID_ARGUMENT as the function does, with nothing written;
 * UK_INVALID_INDEX as the function does, after earlier statements have written their results. */
enum uk_status uk_program_interpret(struct uk_program *p, const int64_t *sizes, const double *scalars,
                                    void *const *tensors);
/*
 * Interprets what `count` elements (at most 2^30) of one tensor need. `tensor` is the tensor's number among
 * uk_program_tensors(). element[i] is an element's offset from the origin; its value becomes element i of
 * `result`, which has the tensor's type. Nothing else is written. A read outside a tensor is an error only if
 * these elements need it.
 *
 * error[i] is the error bound of code for the target of the options (NULL: this CPU), as an absolute
 * difference:
 *
 * - 0 if each operation has one right result.
 * - More where it has not, as far as that can change the element: sums of floats in any order, products added
 *   unrounded, approximate functions (4 units in the last place), integers rounded from floats near a tie,
 *   and subnormal numbers taken as 0: f32 on ARMv7, products of f16 and bf16 on gfx90a.
 * - Infinite if no bound is known.
 */
enum uk_status uk_program_interpret_elements(struct uk_program *p, const struct uk_options *options,
                                             const int64_t *sizes, const double *scalars,
                                             void *const *tensors, int tensor, int64_t count,
                                             const int64_t *element, void *result, double *error);

/* ---- compiling ----
 *
 * A program becomes a module, which is machine code in this process, or any stage of the compilation as
 * bytes, for any target. An object for a server with AVX2, for instance, and its header:
 *
 *     struct uk_options options = {.target = "x86_64-avx2"};
 *     char *object = NULL, *header = NULL;
 *     size_t object_bytes, header_bytes;
 *     if (uk_emit(p, &options, UK_EMIT_OBJECT, &object, &object_bytes) ||
 *         uk_emit(p, &options, UK_EMIT_HEADER, &header, &header_bytes))
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 */

/* Options of a compilation. Zero-initialize; every zero means the default. NULL in place of the options means
 * all defaults. */
struct uk_options {
    /*
     * The target; NULL: "native".
     *
     * - "native": this CPU
     * - a name that uk_target_name() lists: an instruction set ("x86_64-avx2"), a core ("cortex-a53") or a
     *   GPU ("amdgcn-gfx90a"), optionally with "+feature..." in LLVM's spelling ("+f16" is "+fullfp16")
     * - "interp": modules interpret the loops
     */
    const char *target;
    /* If set, a stage that no kernel computes is UK_NO_MATCH; otherwise it runs as plain loops, and a note
     * says which and why. Cheap copies are allowed in either case, and uk_explain() names them: with 2 cycles
     * per element of the copy and 16 terms per cycle of the tensorized stage that reads it, the copy takes
     * less time than the stage, either for the sizes that are defined or if none were. */
    bool require_kernels;
    /* uk_explain() and messages list all kernels that do not fit, not only the ten closest. */
    bool all_candidates;
    /* Threads that the function will run on, at most 1024. Automatic schedules make loops parallel only if
     * this is > 1. */
    int threads;
    /* The function allocates nothing: its last argument is `void *work`, memory of NAME_workspace(sizes...)
     * bytes at a multiple of 64, which nothing else uses during the call. NAME_workspace takes the sizes that
     * NAME takes. It returns -1 if they are negative or the memory would be too large; NAME refuses these
     * sizes too. */
    bool workspace_argument;
    /* uk_compile() generates no code; uk_module_call() interprets the loops as scheduled for the target.
     * Blocks and threads of GPUs run one after the other, and races between threads are reported. */
    bool interpret;
    /* The automatic schedule consists of the statements' loops, without kernels: the baseline that kernels
     * are compared with. Steps of the program still apply. */
    bool plain_loops;
};

enum uk_emit {
    UK_EMIT_SCHEDULE,  /* the steps as text, including those that "auto" chose */
    UK_EMIT_LOOPS,     /* the loop IR as text */
    UK_EMIT_LLVM,      /* LLVM IR before linking: kernels are only declared */
    UK_EMIT_LINKED,    /* LLVM IR with the kernels' bodies, still called */
    UK_EMIT_OPTIMIZED, /* LLVM IR after inlining: no call of a kernel is left */
    UK_EMIT_ASM,
    UK_EMIT_OBJECT,
    UK_EMIT_HEADER,
    /* A shared object, linked by clang and lld. It names the libraries that it needs: libc, libm, and
     * libukernels if a loop is parallel or the target is a GPU. */
    UK_EMIT_SHARED,
    /* For GPUs. UK_EMIT_LLVM to UK_EMIT_ASM show the kernels; objects and headers are of the host's part. */
    UK_EMIT_DEVICE, /* the image that the device's driver loads: AMD's code object, NVIDIA's PTX */
    UK_EMIT_HOST,   /* optimized LLVM IR of the function that launches the kernels */
};

/*
 * Schedules, lowers, links and inlines kernels, and compiles for this process. options may be NULL. On
 * failure *out is NULL. The more likely failures:
 *
 * - UK_REFUSED: a step is not legal
 * - UK_NO_MATCH: a kernel does not compute the nest
 * - UK_UNSUPPORTED: this CPU cannot run code for the target
 * - UK_LINK, UK_IO: an import cannot be used or read
 */
enum uk_status uk_compile(struct uk_program *p, const struct uk_options *options, struct uk_module **out);
/* Frees the module. Its functions must not be running, nor be called afterwards. */
void uk_module_destroy(struct uk_module *m);
/* The generated function; cast it to the type that UK_EMIT_HEADER prints. Lives as long as the module. NULL
 * if the module interprets. */
void *uk_module_function(const struct uk_module *m);
/* Calls the function and returns its status. Arguments are in arrays, in order: sizes that are not defined;
 * scalars; tensors, then the workspace if it is an argument. An array may be NULL if it is empty. On GPUs the
 * device precedes the tensors, whose addresses are converted to pointers. */
int uk_module_call(const struct uk_module *m, const int64_t *sizes, const double *scalars,
                   void *const *tensors);
/* ---- constant tensors ----
 *
 * In place of a constant tensor TENSOR, the function NAME takes the tensor's packed form, which
 * NAME_pack_TENSOR(sizes..., tensor, packed) makes. It has NAME_packed_TENSOR(sizes...) bytes, a multiple of
 * 64. The calls below do the same:
 *
 *     static const char text[] = "tensor W f32 [N] constant\n"
 *                                "tensor Y f32 [N]\n"
 *                                "Y[i] = W[i] + W[i]\n";
 *     if (uk_program_parse(c, "twice.uk", text, strlen(text), &first) || uk_compile(first, NULL, &m)) {
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     } else {
 *         packed = aligned_alloc(64, (size_t)uk_module_packed_bytes(m, &n, 0));
 *         status = uk_module_pack(m, &n, 0, weights, packed);
 *         if (!status)
 *             status = uk_module_call(m, &n, NULL, (void *[]){packed, result});
 *     }
 *
 * A module that interprets the loops of another target (`interpret` of the options) packs for that target's
 * code; large tensors are packed by code for this process. That requires a fixed schedule, since code may
 * have another automatic one: pass what UK_EMIT_SCHEDULE prints to uk_program_schedule(). Otherwise packing
 * fails with UK_REFUSED and a message. */

/* The size in bytes of a tensor's packed form. Tensors are numbered as by uk_program_tensors(); sizes are
 * those that are not defined, in order. -1: the sizes are refused, or the tensor is not constant. Modules of
 * bundles with a source have no packed forms. */
int64_t uk_module_packed_bytes(const struct uk_module *m, const int64_t *sizes, int tensor);
/* Packs `data`, the tensor, into `packed`: memory of that many bytes, at a multiple of 64 or of the tensor's
 * alignment, whichever is larger. Returns a status as the function does. */
int uk_module_pack(struct uk_module *m, const int64_t *sizes, int tensor, const void *data, void *packed);

/* The name of the i-th phase of the compilation, from 0, and its duration in milliseconds (the pointer may be
 * NULL). NULL after the last one. */
const char *uk_module_time(const struct uk_module *m, int i, double *milliseconds);
/* The name of the i-th kernel that was linked in, from 0; NULL after the last one. Kernels are inlined unless
 * uk_context_notes() says otherwise. */
const char *uk_module_kernel(const struct uk_module *m, int i);

/* Makes one stage of the compilation, for any target. The bytes are text, except for UK_EMIT_OBJECT and
 * UK_EMIT_SHARED; free them with uk_text_free(). The same program gives the same bytes. Fails as uk_compile()
 * does, but needs no CPU that runs the target's code. */
enum uk_status uk_emit(struct uk_program *p, const struct uk_options *options, enum uk_emit what,
                       char **bytes, size_t *length);

/* ---- several programs as one ----
 *
 * Each program keeps its function; the kernels that they share are linked in once:
 *
 *     struct uk_program *both[] = {first, second};
 *     if (uk_compile_programs(both, 2, NULL, &m))
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     else
 *         address = uk_module_find(m, "second");
 */

/* Compiles `count` programs (at least 1) into one module; each function is as uk_compile() makes it. The
 * programs belong to one context and have different names. uk_module_function() and uk_module_call() use the
 * first one's function. "interp" is not supported. */
enum uk_status uk_compile_programs(struct uk_program *const programs[], int count,
                                   const struct uk_options *options, struct uk_module **out);
/* Finds a function by name, NAME_workspace and those that pack included. Returns NULL if there is none;
 * modules of the target "interp" have none. */
void *uk_module_find(const struct uk_module *m, const char *name);
/* As uk_emit(), for the functions of all programs in their order: one object, shared object, header or
 * module. Schedules and loops are printed one after the other, each under a comment with its name. */
enum uk_status uk_emit_programs(struct uk_program *const programs[], int count,
                                const struct uk_options *options, enum uk_emit what, char **bytes,
                                size_t *length);
/* As uk_module_time(), for the context's last compilation or emission, of whatever kind. */
const char *uk_context_time(const struct uk_context *c, int i, double *milliseconds);

/* ---- programs, constants and C as one ----
 *
 * Functions in C or LLVM IR that call those of programs, with read-only data. Only the exported functions are
 * visible outside:
 *
 *     struct uk_options as_argument = {.workspace_argument = true};
 *     const float one[3] = {1, 1, 1};
 *     struct uk_constant ones = {.name = "ones", .bytes = one, .length = sizeof one};
 *     struct uk_bundle bundle = {
 *         .programs = &first,
 *         .count = 1,
 *         .constants = &ones,
 *         .constant_count = 1,
 *         .source = "int add_one(const float *x, float *y) {"
 *                   "    return first(3, x, (const void *)ones, y, 0);"
 *                   "}",
 *         .exported = (const char *const[]){"add_one"},
 *         .exported_count = 1,
 *     };
 *     if (uk_compile_bundle(&bundle, &as_argument, &m))
 *         fprintf(stderr, "%s\n", uk_context_message(c));
 *     else
 *         address = uk_module_find(m, "add_one");
 */

/* Read-only data; the source sees `const unsigned char NAME[length]`. */
struct uk_constant {
    const char *name;
    const void *bytes; /* NULL: the bundle's make_constant writes them */
    size_t length;
    size_t alignment; /* a power of two, at most 4096; 0: 64 */
};

/* Programs with constants and a source. Zero-initialize. Without source, constants and exported names it
 * equals uk_emit_programs() of the programs. */
struct uk_bundle {
    struct uk_program *const *programs; /* of one context; at least one */
    int count;
    /* At most 1 GiB in all. The code contains those that the source names. */
    const struct uk_constant *constants;
    int constant_count;
    /* C, or LLVM IR as text (see source_is_llvm), or NULL. It is compiled after the header that
     * UK_EMIT_HEADER prints for the programs, and the constants; as for `pragma import c`, for the target,
     * freestanding, with only the compiler's own headers. It may call the programs' functions, their
     * NAME_workspace, and the functions of the C library and libukernels that programs' code calls: memcpy,
     * memset, memmove, expf, exp, tanhf, tanh, fmaf, fma, roundevenf, roundeven, uk_parallel_for,
     * uk_num_threads. */
    const char *source;
    /* Functions of the source and of programs that others can call. Bundles that export different names may
     * be linked into one program. */
    const char *const *exported;
    int exported_count;
    /* The source is LLVM IR, so no compiler is started. It declares the functions that it calls; the library
     * appends `@NAME = external constant [LENGTH x i8]` for each constant. */
    bool source_is_llvm;
    /* Writes the bytes of constants[i], whose `bytes` are NULL, to memory at a multiple of its alignment. It
     * is called once for each constant that the code contains, when the code is made. A status other than
     * UK_OK fails the compilation with it. user: its first argument. */
    enum uk_status (*make_constant)(void *user, int i, void *to);
    void *user;
};

/* Compiles the bundle for this process, on CPUs only. uk_module_find() finds the exported functions,
 * uk_module_function() the first of them. The constants' bytes are not needed afterwards. uk_module_call()
 * does not support a bundle with a source. */
enum uk_status uk_compile_bundle(const struct uk_bundle *bundle, const struct uk_options *options,
                                 struct uk_module **out);
/* Makes one stage of the bundle: an object, a shared object, or text; schedules and loops are the programs'.
 * UK_EMIT_HEADER is supported only for programs alone: the author of a source declares its functions. */
enum uk_status uk_emit_bundle(const struct uk_bundle *bundle, const struct uk_options *options,
                              enum uk_emit what, char **bytes, size_t *length);

/* Lists, for every stage and tensorize step, the kernels that were considered, and the chosen one. Kernels
 * that fit come first, the cheapest first; then the others with their first difference, the closest first,
 * ten of them or all_candidates. Free the text with uk_text_free(). With UK_NO_MATCH the text is returned
 * too. */
enum uk_status uk_explain(struct uk_program *p, const struct uk_options *options, char **text);
/* The i-th target's name, from 0; NULL after the last one. Targets of one architecture are adjacent; "interp"
 * is the last one. */
const char *uk_target_name(int i);
/* Returns UK_OK if this process can run code for the target (as in struct uk_options; NULL: this CPU), or
 * interpret its loops; UK_UNSUPPORTED, with a message, if the target has another architecture or features
 * that this CPU lacks. */
enum uk_status uk_target_runs(struct uk_context *c, const char *target);
/* Returns UK_OK if code for the target may call the kernel. Returns UK_UNSUPPORTED if the target lacks a
 * feature that the kernel needs, or has another architecture; `lacking`, of `size` bytes, then has the name
 * of that, truncated if necessary. */
enum uk_status uk_kernel_fits(struct uk_context *c, const struct uk_kernel *kernel, const char *target,
                              char *lacking, size_t size);
/* Sets *share to the fraction of the FMA peak that the kernel can reach on the target (NULL: this CPU), above
 * 0 and at most 1. It follows from the instruction counts in the kernel's row and from the FMAs, loads and
 * instructions that the target issues per cycle. 0 if the kernel has no FMAs. */
enum uk_status uk_kernel_peak_share(struct uk_context *c, const struct uk_kernel *kernel, const char *target,
                                    double *share);
/* Makes one kernel of the registry for the target, or with NULL for the kernel's own instruction set: its
 * bitcode (UK_EMIT_LINKED), that as text (UK_EMIT_LLVM), or its assembly (UK_EMIT_ASM). Free with
 * uk_text_free(). */
enum uk_status uk_kernel_emit(struct uk_context *c, const struct uk_kernel *kernel, const char *target,
                              enum uk_emit what, char **bytes, size_t *length);

/* ---- searching schedules: the functions that uk tune uses ----
 *
 * A search measures schedules, which are texts of steps, and keeps the best. It begins with
 * uk_schedule_start() and continues with uk_schedule_change(). Each text is applied by uk_program_schedule()
 * and then compiled. The calls below leave the program unchanged; their texts are freed with uk_text_free().
 * One draw:
 *
 *     char *steps = NULL, *other = NULL;
 *     uint64_t random = 1;
 *     int cursor = 0;
 *     status = uk_schedule_start(p, NULL, &cursor, &steps);
 *     if (!status && uk_schedule_change(p, NULL, steps, &random, &other) == UK_OK)
 *         status = uk_program_schedule(p, "drawn", other, strlen(other));
 *     uk_text_free(steps);
 *     uk_text_free(other);
 */

/* Enumerates starting points: the automatic schedule; then, per statement, the automatic schedule with each
 * kernel that fits the statement and, unless kernels are required, with none. *cursor is 0 before the first
 * call; *steps is NULL after the last schedule. The first text may be empty: plain loops. */
enum uk_status uk_schedule_start(struct uk_program *p, const struct uk_options *options, int *cursor,
                                 char **steps);
/* Draws a legal schedule that differs from `steps` by one random choice: the factor of a split, a split more
 * or less, the order of loops, the place of a copy, a kernel of the same tile, and so on. *random is the
 * generator's state; equal states give equal schedules. Fails with UK_REFUSED if none was found. */
enum uk_status uk_schedule_change(struct uk_program *p, const struct uk_options *options, const char *steps,
                                  uint64_t *random, char **changed);
/* A lower bound of the schedule's time, from the instruction counts of its kernels and the program's `size`
 * items. Unit: the number of f32 operations that the target performs at its peak in that time. 0: no bound is
 * known. */
enum uk_status uk_schedule_bound(struct uk_program *p, const struct uk_options *options, const char *steps,
                                 double *operations);
/* An estimate of the schedule's time, in the same unit: the bound, plus the likely time of float sums in
 * plain loops, whose additions are dependent. Not a bound, since short sums overlap, but it recognizes
 * schedules that are many times slower than the best. */
enum uk_status uk_schedule_cost(struct uk_program *p, const struct uk_options *options, const char *steps,
                                double *operations);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

#include "tensorize_calls.h"
#include "tensorize_verify.h"

#endif
