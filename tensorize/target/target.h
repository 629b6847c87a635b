/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room target: architectures, targets, the capabilities of their cores. It uses base, the rows of cores
 * (ukernels/machine) and those of kernels (ukernels/registry). Data: struct uk_arch, uk_target.
 */
#ifndef UK_TARGET_H
#define UK_TARGET_H

#include "base/base.h"
#include "machine/machine.h"

/* How to link programs for an architecture on a machine of another one, and how to run them there under an
 * emulator. Boards use only what linking needs. All NULL: neither is possible. */
struct uk_emulator {
    /* The executable of qemu-user, or NULL; and clang's triple for linking with the architecture's C
     * library. */
    const char *program, *triple;
    /* Files that linking needs, and their Debian packages; libgcc NULL: clang finds its own. */
    const char *libc, *libc_package, *libgcc, *libgcc_package;
    /* A private feature (uk_private_feature) that the emulator lacks: programs simulate its instructions
     * themselves. Or NULL. */
    const char *lacks;
    /* Precedes a kernel's assembly, which does not request features itself. */
    const char *directive;
    /* CPU models of qemu 7.2 that have the same features as the core of some target, in the order in which
     * they are tried; the last one has everything that qemu can simulate. */
    const char *const *cpus;
};

/* Syntax of the architecture's assembly. */
struct uk_assembly {
    const char *comment; /* begins a comment up to the end of the line */
    const char *call;    /* mnemonic with which LLVM calls a function by name */
    /* Prefixes of the mnemonics of jumps, and of multiply-adds of vectors. */
    const char *const *jumps, *const *multiplies;
    /* Names of the cores that `uk bench --static` prints figures for; LLVM has an instruction model of each.
     */
    const char *const *cores;
};

/* How LLVM IR represents the entry functions of a GPU, which this struct calls kernels. (Elsewhere in this
 * header a kernel is a microkernel, a row of kernels.def.) */
struct uk_kernel_code {
    unsigned convention;                    /* number of LLVM's calling convention for kernels */
    const char *thread_id[3], *block_id[3]; /* names of LLVM intrinsics, by axis */
    const char *const *attributes;          /* of kernels: key, value, ..., NULL */
    /* The function attribute whose value is "N,N" for a block of N threads; or NULL. */
    const char *block_attribute;
    /* Attribute of kernels that call one for a whole wave, and its value; NULL: none. */
    const char *wave_attribute[2];
    /* The module's annotations with the number of threads along each axis; or NULL. */
    const char *block_annotations[3];
    /* LLVM IR of a barrier with the fences that shared memory needs, and of the declarations of the functions
     * that it calls. */
    const char *barrier, *barrier_declarations;
    /* The same of a wait after which the results of matrix instructions can be read; or NULL. */
    const char *matrix_wait, *matrix_wait_declarations;
    /* Constraint of asm statements for a thread's own value of 32 bits, where loads add such a one to a
     * scalar base; or NULL. */
    const char *own_value;
    /* Name of the LLVM intrinsic that returns the address of the kernel's arguments, its address space, and
     * constraints of an empty asm statement for a value that all threads share; or NULL. */
    const char *arguments;
    unsigned arguments_space;
    const char *shared_value;
    /* Scalar registers of 32 bits that a kernel has; 0: values that threads share take others. */
    int scalar_registers;
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
    const char *const *features;        /* features that a target may have, in LLVM's spelling */
    const char *const *import_features; /* features that imported code may require, but no target has */
    const char *intrinsics;             /* prefix of its LLVM intrinsics: "llvm.aarch64." */
    /* Pairs: prefix of an LLVM intrinsic's name after `intrinsics`, the feature that it needs. The features
     * of successive pairs with one prefix are alternatives. */
    const char *const *instructions;
    const char *half; /* the feature that converts between half and single precision */
    /* The features that have a fused multiply-add and rounding to an integer as one instruction; NULL: all
     * targets have the instruction. Without it LLVM would call the C library's fma or floor. */
    const char *fused, *rounds;
    const char *cpu_option; /* clang's option: "-mcpu=" */
    /* A command-line option of LLVM, set for the whole process because no call and no target feature sets it;
     * or NULL. */
    const char *llvm_option;
    const char *const *c_options; /* clang's options for imports in C, or NULL */
    /* Prefixes of what imports may not contain: LLVM intrinsics (their names after `intrinsics`) and asm
     * mnemonics; or NULL. */
    const char *const *not_in_imports;
    const char *const *tiles;        /* prefixes of LLVM intrinsics that need UK_STATE_TILES; or NULL */
    enum uk_exec_scope widest_scope; /* widest execution scope of its kernels; default UK_EXEC_THREAD */
    unsigned spaces[4];              /* LLVM's address space of each enum uk_space; default 0 */
    bool extends_int;                /* an int is passed and returned sign-extended to register width */
    /* Float conversions do not saturate: values are clamped before conversion to 8 and 16 bits. */
    bool clamps;
    bool flushes;          /* f32 vectors flush subnormal numbers to zero */
    const char *abi;       /* the calling convention, if LLVM and clang need its name; else NULL */
    int elf_machine, bits; /* a constant of elf.h, such as EM_AARCH64; bits of an address */
    const char *gpu;       /* the driver of GPUs that run its code, as in uk_gpu_open; or NULL */
    struct uk_kernel_code kernel;
    struct uk_emulator emulator;
    struct uk_assembly assembly;
};
/* In the order of archs.def, NULL-terminated. */
extern const struct uk_arch *const uk_archs[];
/* The architecture of this process. */
const struct uk_arch *uk_own_arch(void);
/* The private feature number `index`, from 0; *length is its length, since no NUL ends it. NULL: there are
 * fewer. Private features are those that LLVM does not know, from the column `private` of UK_ISA_ROW: rows,
 * targets and kernels.json contain them, but they are passed neither to LLVM nor to a compiler. */
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
    /* Set by uk_target_find, and zero in uk_targets: the machine with that row's core (of "native": with this
     * CPU's caches), and the widest vectors that the target's features allow. */
    struct uk_machine machine;
    struct uk_vectors vectors;
    bool interpreted; /* "interp": no code is generated */
};
/* A target in use, and LLVM's target machine for it, which room link creates on first use. */
struct uk_known_target {
    struct uk_target target;
    struct LLVMOpaqueTargetMachine *machine;
    struct uk_known_target *next;
};

/* table.c: the named targets; the last one's name is NULL. */
extern const struct uk_target uk_targets[];

/* Finds a target by name, with its machine and vectors; NULL and "native" mean this CPU's. *out lives as long
 * as the context. Fails with UK_INVALID_ARGUMENT if the name is unknown; the message lists the known ones,
 * only those of one architecture if the name begins with its prefix. */
enum uk_status uk_target_find(struct uk_context *c, const char *name, const struct uk_target **out);
enum { UK_MAX_THREADS = 1024 }; /* the limit of uk_set_num_threads */
/* Finds the target that a caller's options name; options may be NULL. Fails if their number of threads is not
 * in 0..UK_MAX_THREADS. */
enum uk_status uk_target_chosen(struct uk_context *c, const struct uk_options *options,
                                const struct uk_target **out);
/* Maximum size of an array in memory, in bytes. */
int64_t uk_target_max_bytes(const struct uk_target *t);
bool uk_target_has(const struct uk_target *t, const char *feature);
/* True if the kernel is for the target's architecture, or for any and the target is not a GPU. */
bool uk_target_takes(const struct uk_target *t, const struct uk_kernel *row);
/* What a kernel that needs the state lacks, as text: the feature, or the system's permission, which this asks
 * for if the target is this CPU ("native"). NULL: nothing. */
const char *uk_target_lacks_state(const struct uk_target *t, enum uk_state state);
/* The execution scope `scope` as text if the target lacks it; NULL if the target has it. */
const char *uk_target_lacks_scope(const struct uk_target *t, enum uk_exec_scope scope);
/* True if the target cannot run the kernel. Then writes to `name`, truncated to size, what the kernel needs:
 * another architecture, an execution scope, or a feature. */
bool uk_target_lacks_for(const struct uk_target *t, const struct uk_kernel *row, char *name, size_t size);
/* True if imported kernels may not contain the instruction. `name`: an LLVM intrinsic's name after the
 * architecture's prefix, or an asm mnemonic. */
bool uk_arch_not_in_imports(const struct uk_arch *arch, const char *name);
/* The least capable named GPU target that can run the kernel, or NULL. */
const struct uk_target *uk_target_of_device(const struct uk_kernel *row);
/* Fails with UK_UNSUPPORTED if this process cannot run code for t; the message names the architecture, or a
 * feature that the CPU lacks. */
enum uk_status uk_target_runnable(struct uk_context *c, const struct uk_target *t);

/* target.c: a known feature that t lacks and that a list such as "+avx2,+fma", or an LLVM intrinsic such as
 * "llvm.x86.avx2.gather..", requires; or NULL. */
const char *uk_target_lacks(const struct uk_target *t, const char *features);
const char *uk_target_lacks_intrinsic(const struct uk_target *t, const char *name);

#endif
