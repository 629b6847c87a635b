/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room target: architectures, targets, the capabilities of their cores. It uses base, the rows of cores
 * (ukernels/machine) and those of kernels (ukernels/registry). Data: struct uk_arch, uk_target.
 */
#ifndef UK_TARGET_H
#define UK_TARGET_H

#include "base/base.h"
#include "machine/machine.h"

/* How to run programs for an architecture on another one: under an emulator, or on a board. All NULL: they
 * cannot be run. */
struct uk_emulator {
    /* qemu-user's program, and clang's triple for linking with the architecture's C library. */
    const char *program, *triple;
    /* Files that linking needs, and their Debian packages; libgcc NULL: clang finds its own. */
    const char *libc, *libc_package, *libgcc, *libgcc_package;
    const char *lacks; /* a private feature that programs bring a simulation of; or NULL */
    /* Precedes a kernel's assembly, which does not request features itself. */
    const char *directive;
    /* qemu 7.2's CPUs that are cores of targets, in the order in which they are tried; the last one has
     * everything that qemu can simulate. */
    const char *const *cpus;
};

/* Syntax of the architecture's assembly; lists contain prefixes of mnemonics. */
struct uk_assembly {
    const char *comment;                          /* begins a comment up to the end of the line */
    const char *call;                             /* LLVM's call of a function by name */
    const char *const *jumps, *const *multiplies; /* multiplies: multiply-adds of vectors */
    /* Cores that `uk bench --static` prints figures for; LLVM has an instruction model of each. */
    const char *const *cores;
};

/* How LLVM IR represents kernels of a GPU. */
struct uk_kernel_code {
    unsigned convention;                    /* number of LLVM's calling convention for kernels */
    const char *thread_id[3], *block_id[3]; /* intrinsics, by axis */
    const char *const *attributes;          /* of kernels: key, value, ..., NULL */
    const char *block_attribute; /* the attribute with the value "threads,threads" of the block; or NULL */
    const char *block_annotations[3]; /* of the module, with the threads by axis; or NULL */
    /* Instructions of a barrier, with the fences that shared memory needs, and declarations of the functions
     * that they call. */
    const char *barrier, *barrier_declarations;
    bool is_text; /* the image is assembly text with its NUL; otherwise a code object */
};

/* A row of archs.def. Lists end with NULL. */
struct uk_arch {
    const char *name;   /* "aarch64"; "none" for the interpreter */
    const char *prefix; /* prefix of its targets' names: "aarch64-" */
    const char *triple;
    /* A GPU: programs also have host code, and generic kernels are not available. */
    bool is_device;
    const char *const *triples; /* prefixes of triples, disjoint from other architectures' */
    /* The compiler's option that precedes a feature's name, "-m"; or "". */
    const char *flag;
    const char *const *features; /* that a target may have, in LLVM's spelling */
    const char *const *others;   /* that code may require and no target has */
    const char *intrinsics;      /* prefix of its intrinsics: "llvm.aarch64." */
    /* Pairs: prefix of an intrinsic after `intrinsics`, the feature it needs. */
    const char *const *instructions;
    const char *half; /* the feature that converts between half and single precision */
    /* The features with a fused multiply-add, and with rounding to an integer, as one instruction; NULL: all
     * targets have it. Without it LLVM would call the C library's fma and floor. */
    const char *fused, *rounds;
    const char *cpu_option; /* clang's option: "-mcpu=" */
    /* An LLVM option for the whole process, for which LLVM has no call and no target feature; or NULL. */
    const char *llvm_option;
    const char *const *c_options; /* clang's options for imports in C, or NULL */
    /* Not allowed in imports: prefixes of intrinsics after `intrinsics`, and of asm mnemonics; or
     * NULL. */
    const char *const *not_in_imports;
    enum uk_exec_scope widest; /* of its kernels; default UK_EXEC_THREAD */
    unsigned spaces[4];        /* LLVM's address space of each enum uk_space; default 0 */
    bool extends_int;          /* an int is passed and returned sign-extended to register width */
    /* Float conversions do not saturate: values are clamped before conversion to 8 and 16 bits. */
    bool clamps;
    bool flushes;          /* f32 vectors flush subnormal numbers to zero */
    const char *abi;       /* the calling convention, if LLVM and clang need its name; else NULL */
    int elf_machine, bits; /* elf_machine: EM_AARCH64; bits: of an address */
    const char *gpu;       /* the driver of GPUs that run it, as in uk_gpu_open; or NULL */
    struct uk_kernel_code kernel;
    struct uk_emulator emulator;
    struct uk_assembly assembly;
};
/* In the order of archs.def, NULL-terminated. */
extern const struct uk_arch *const uk_archs[];
/* The architecture of this process. */
const struct uk_arch *uk_own_arch(void);
/* The i-th feature that LLVM does not know, of *length characters, from the last column of instruction sets;
 * NULL: there are fewer. Rows, targets and kernels.json contain these features; they are passed neither to
 * LLVM nor to a compiler. */
const char *uk_private_feature(const struct uk_arch *arch, int index, size_t *length);
bool uk_is_private(const struct uk_arch *arch, const char *feature, size_t length);
/* Converts the list "avx2,fma" to LLVM's form "+avx2,+fma", without private features; truncated to size. */
void uk_llvm_features(const struct uk_arch *arch, const char *features, char *out, size_t size);
/* The architecture of a kernel; this process's if the kernel is for any. */
const struct uk_arch *uk_arch_of(const struct uk_kernel *k);

struct uk_target {
    const char *name; /* "x86_64-avx512" */
    const struct uk_arch *arch;
    const char *cpu, *features; /* in LLVM's form */
    const char *const *has; /* feature names as in kernel rows ("avx2", "fma", "avx512f"), NULL-terminated */
    const char *row;        /* name of its row in cores.def */
    /* With that row's core, after uk_target_find; native: with this CPU's caches. */
    struct uk_machine machine;
    struct uk_vectors vectors; /* the widest vectors that the target's features allow */
    bool interpreted;          /* "interp": no code is generated */
};
/* A target in use, and LLVM's object for it, which link creates on first use. */
struct uk_known_target {
    struct uk_target target;
    struct LLVMOpaqueTargetMachine *machine;
    struct uk_known_target *next;
};

/* table.c: the named targets; the last one's name is NULL. */
extern const struct uk_target uk_targets[];

/* Finds a target by name; "native" or NULL is this CPU's. An unknown name is UK_INVALID_ARGUMENT; the message
 * lists the known ones, only those of one architecture if the name begins with its prefix. */
enum uk_status uk_target_find(struct uk_context *c, const char *name, const struct uk_target **out);
enum { UK_MAX_THREADS = 1024 }; /* the limit of uk_set_num_threads */
/* The target of a caller's options, which may be NULL; also checks their number of threads. */
enum uk_status uk_target_chosen(struct uk_context *c, const struct uk_options *options,
                                const struct uk_target **out);
/* Maximum size of an object in bytes. */
int64_t uk_target_most_bytes(const struct uk_target *t);
bool uk_target_has(const struct uk_target *t, const char *feature);
/* True if the kernel is for the target's architecture, or for any and the target is not a GPU. */
bool uk_target_takes(const struct uk_target *t, const struct uk_kernel *row);
/* The scope that a kernel needs and the target lacks, as text; NULL if it has the scope. */
const char *uk_target_lacks_scope(const struct uk_target *t, enum uk_exec_scope scope);
/* True if the target cannot have the kernel: another architecture, or a missing feature or scope, whose name
 * is written to `name`, truncated to size. */
bool uk_target_lacks_for(const struct uk_target *t, const struct uk_kernel *row, char *name, size_t size);
/* True if imported kernels may not contain the instruction: an intrinsic's name after the architecture's
 * prefix, or an asm mnemonic. */
bool uk_arch_not_in_imports(const struct uk_arch *arch, const char *name);
/* The least capable named GPU target that can have the kernel, or NULL. */
const struct uk_target *uk_target_of_device(const struct uk_kernel *row);
/* UK_OK if this process may run code for t; otherwise UK_UNSUPPORTED with the feature that the CPU lacks. */
enum uk_status uk_target_runnable(struct uk_context *c, const struct uk_target *t);

/* target.c: the known feature that t lacks and that a list "+avx2,+fma", or an intrinsic
 * "llvm.x86.avx2.gather..", requires; or NULL. */
const char *uk_target_lacks(const struct uk_target *t, const char *features);
const char *uk_target_lacks_intrinsic(const struct uk_target *t, const char *name);

#endif
