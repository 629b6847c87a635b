/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room target: architectures, targets, what their cores can do. It uses base, the rows of cores
 * (ukernels/machine) and those of kernels (ukernels/registry). Data: struct uk_arch, uk_target.
 */
#ifndef UK_TARGET_H
#define UK_TARGET_H

#include "base/base.h"
#include "machine/machine.h"

/* How programs for it run elsewhere: under an emulator, if it has one, or on a board; all NULL: not at all.
 * */
struct uk_emulator {
    const char *program, *triple; /* qemu-user's; clang's, to link with that architecture's C library */
    const char *libc, *libc_package, *libgcc,
        *libgcc_package;   /* files that linking needs, Debian's packages; libgcc NULL: clang finds its own */
    const char *lacks;     /* a private feature that programs bring a simulation of along; or NULL */
    const char *directive; /* before a kernel's assembly, which asks for no features itself */
    /* Of those that qemu 7.2 knows, targets' cores in the order in which they are tried; the last one has all
     * that qemu can do. */
    const char *const *cpus;
};

/* Its assembly; lists have beginnings of mnemonics. */
struct uk_assembly {
    const char *comment;                          /* what begins one, to the end of the line */
    const char *call;                             /* as LLVM writes that of a function by name */
    const char *const *jumps, *const *multiplies; /* multiply-adds of vectors */
    const char *const
        *cores; /* whose figures `uk bench --static` prints; all have a model of instructions in LLVM */
};

/* How kernels of a GPU are written in LLVM IR. */
struct uk_kernel_code {
    unsigned convention;                    /* LLVM's number of the calling convention of kernels */
    const char *thread_id[3], *block_id[3]; /* intrinsics, by axis */
    const char *const *attributes;          /* of kernels: key, value, ...; NULL */
    const char *block_attribute;            /* one whose value is "threads,threads" of the block; or NULL */
    const char *block_annotations[3];       /* of the module, with the threads by axis; NULL: none */
    /* A barrier with all that shared memory needs, in instructions, and declarations of what it calls. */
    const char *barrier, *barrier_declarations;
    bool is_text; /* the image is assembly, with its closing NUL; else a code object */
};

/* A row of archs.def. Lists end with NULL. */
struct uk_arch {
    const char *name;   /* "aarch64"; "none" for the interpreter */
    const char *prefix; /* of its targets' names: "aarch64-" */
    const char *triple;
    bool is_device; /* a GPU: programs have a part for the host, too; generic kernels are not for it */
    const char *const *triples;  /* how triples of code for it begin; none begins another architecture's */
    const char *flag;            /* in front of a feature's name the compiler's option, "-m"; or "" */
    const char *const *features; /* that a target may have, in LLVM's spelling */
    const char *const *others;   /* that code may require, and no target has */
    const char *intrinsics;      /* "llvm.aarch64." */
    const char *const
        *instructions; /* the beginnings of intrinsics after that, each with the feature it needs */
    const char *half;  /* the feature that converts between half and single precision */
    /* The features that add a product, and that round to an integer, in one instruction; NULL: all targets
     * have it. LLVM would call the C library's fma and floor. */
    const char *fused, *rounds;
    const char *cpu_option; /* clang's: "-mcpu=" */
    /* LLVM's for all of the process, as no call and no feature of a target says the same; or NULL. */
    const char *llvm_option;
    const char *const *c_options; /* of clang's for imports in C, or NULL */
    const char *const
        *not_in_imports;       /* intrinsics after that, and mnemonics of asm, by their beginnings; or NULL */
    enum uk_exec_scope widest; /* the widest scope of a kernel; default UK_EXEC_THREAD */
    unsigned spaces[4];        /* LLVM's number of each enum uk_space; default 0 */
    bool extends_int;          /* an int is passed and returned as one of the register's width */
    bool clamps;           /* no conversion of floats saturates: those to 8 and 16 bits are clamped before */
    bool flushes;          /* vectors of f32 take subnormal numbers for zeros */
    const char *abi;       /* the calling convention, where it must be passed to LLVM and clang; else NULL */
    int elf_machine, bits; /* EM_AARCH64; of addresses */
    const char *gpu;       /* the kind of GPU that runs it, as uk_gpu_open takes it; or NULL */
    struct uk_kernel_code kernel;
    struct uk_emulator emulator;
    struct uk_assembly assembly;
};
/* In the order of archs.def; the last one is NULL. */
extern const struct uk_arch *const uk_archs[];
/* The architecture of this process. */
const struct uk_arch *uk_own_arch(void);
/* Features that LLVM does not know, by the last column of instruction sets: rows, targets and kernels.json
 * have them, and they are passed neither to LLVM nor to a compiler. The i-th one, of *length characters;
 * NULL: there are fewer. */
const char *uk_private_feature(const struct uk_arch *arch, int index, size_t *length);
bool uk_is_private(const struct uk_arch *arch, const char *feature, size_t length);
/* The list "avx2,fma" in LLVM's form, "+avx2,+fma", without private features; cut to size. */
void uk_llvm_features(const struct uk_arch *arch, const char *features, char *out, size_t size);
/* A kernel's; of those for any, this process's. */
const struct uk_arch *uk_arch_of(const struct uk_kernel *k);

struct uk_target {
    const char *name; /* "x86_64-avx512" */
    const struct uk_arch *arch;
    const char *cpu, *features; /* as LLVM wants them */
    const char *const *has; /* feature names as in kernel rows ("avx2", "fma", "avx512f"), NULL-terminated */
    const char *row;        /* of cores.def */
    struct uk_machine
        machine; /* with that row's core, in a target that has been found; native: with this CPU's caches */
    struct uk_vectors vectors; /* the widest of them that the target's features allow */
    bool interpreted;          /* "interp": no code at all */
};
/* A target in use, and LLVM's object for it, which link makes on first use. */
struct uk_known_target {
    struct uk_target target;
    struct LLVMOpaqueTargetMachine *machine;
    struct uk_known_target *next;
};

/* target_table.c: those with a name; the last one's is NULL. */
extern const struct uk_target uk_targets[];

/* Finds a target by name; "native", or NULL, is this CPU's. Unknown names: UK_INVALID_ARGUMENT, with the
 * known ones in the message: those of one architecture, if the name begins as its targets' do. */
enum uk_status uk_target_find(struct uk_context *c, const char *name, const struct uk_target **out);
enum { UK_MAX_THREADS = 1024 }; /* as many as uk_set_num_threads takes */
/* That of a caller's options, which may be NULL, and whose number of threads is checked. */
enum uk_status uk_target_chosen(struct uk_context *c, const struct uk_options *options,
                                const struct uk_target **out);
/* The most bytes that an object may have. */
int64_t uk_target_most_bytes(const struct uk_target *t);
bool uk_target_has(const struct uk_target *t, const char *feature);
/* Whether the kernel is of the target's architecture, or of any and the target no device. */
bool uk_target_takes(const struct uk_target *t, const struct uk_kernel *row);
/* The scope that a kernel needs and the target lacks, as text; NULL: it lacks none. */
const char *uk_target_lacks_scope(const struct uk_target *t, enum uk_exec_scope scope);
/* Whether the target cannot have the kernel: its architecture is another, or it lacks a feature or the scope;
 * the name of that, cut to size. */
bool uk_target_lacks_for(const struct uk_target *t, const struct uk_kernel *row, char *name, size_t size);
/* Whether kernels that a program imports may not have the instruction: an intrinsic's name after the
 * architecture's beginning, or a mnemonic of asm. */
bool uk_arch_not_in_imports(const struct uk_arch *arch, const char *name);
/* The least GPU among the named targets that has the kernel; NULL: it is for none. */
const struct uk_target *uk_target_of_device(const struct uk_kernel *row);
/* UK_OK if this process may run code for t; else UK_UNSUPPORTED with the feature that the CPU lacks. */
enum uk_status uk_target_runnable(struct uk_context *c, const struct uk_target *t);

/* target.c: the known feature that a list "+avx2,+fma" or a name "llvm.x86.avx2.gather.." asks for and t
 * lacks, or NULL. */
const char *uk_target_lacks(const struct uk_target *t, const char *features);
const char *uk_target_lacks_intrinsic(const struct uk_target *t, const char *name);

#endif
