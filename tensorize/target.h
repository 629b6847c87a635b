/* SPDX-License-Identifier: Apache-2.0 */
/* Inside libuktensorize: what a target is, and the back end's entry points. */
#ifndef UK_TARGET_H
#define UK_TARGET_H

#include "program.h"

/* What the scheduler's cost rule needs to know of a machine. */
struct uk_machine {
    int vector_bytes;                     /* of the widest vectors */
    double fma_per_cycle, load_per_cycle; /* of such vectors */
    double issue_width;
    int64_t l1_bytes, l2_bytes;
    int l2_cores;     /* that share it */
    bool loads_alone; /* no FMA is issued while a load of a vector is: in-order cores with a narrow path */
};

/* target_table.c: what the targets of an architecture share. Lists end with NULL. */
struct uk_arch {
    const char *name;       /* "aarch64": a row of archs.def; "none" for the interpreter */
    const char *prefix;     /* of its targets' names: "aarch64-" */
    const char *triple;     /* of archs.def */
    const char *intrinsics; /* "llvm.aarch64." */
    const char *const
        *instructions;           /* the beginnings of intrinsics after that, each with the feature it needs */
    const char *const *features; /* that a target may have */
    const char *const *others;   /* that code may ask for, and no target has */
    const char *half;            /* the feature that converts between half and single precision */
    const char *cpu_option;      /* clang's: "-mcpu=" */
    int elf_machine, bits;       /* EM_AARCH64; of addresses */
};
extern const struct uk_arch *const uk_archs[];

struct uk_target {
    const char *name; /* "x86_64-avx512" */
    const struct uk_arch *arch;
    const char *cpu, *features; /* as LLVM wants them */
    const char *const *has; /* feature names as in kernel rows ("avx2", "fma", "avx512f"), NULL-terminated */
    struct uk_machine machine;
    bool interpreted; /* "interp": no code at all */
};
/* target_table.c: those with a name; the last one's is NULL. */
extern const struct uk_target uk_targets[];

/* "native" asks this CPU. Unknown names: UK_INVALID_ARGUMENT with the list of known ones in the message, of the
 * architecture where the name begins as its targets' do. */
enum uk_status uk_target_find(struct uk_context *c, const char *name, const struct uk_target **out);
bool uk_target_has(const struct uk_target *t, const char *feature);
/* Whether the kernel is of the target's architecture, or of any. */
bool uk_target_takes(const struct uk_target *t, const struct uk_kernel *row);
/* Whether the target cannot have the kernel: its architecture is another, or it lacks a feature; the name of that, cut to
 * size. */
bool uk_target_lacks_for(const struct uk_target *t, const struct uk_kernel *row, char *name, size_t size);
/* The architecture of this process. */
const struct uk_arch *uk_own_arch(void);

/* ---- what a compilation took, stage by stage ---- */

enum { UK_MAX_TIMES = 16 };

struct uk_stage_time {
    const char *name; /* a constant */
    double milliseconds;
};

struct uk_times {
    int count;
    struct uk_stage_time stage[UK_MAX_TIMES];
};

/* Milliseconds on a clock that only goes forward. */
double uk_now(void);
/* Adds a stage that began at `since`, to the time of its name if there is one; t may be NULL (nobody asks). uk_lower() passes context->times. */
void uk_time(struct uk_times *t, const char *stage, double since);

/* ---- the scheduler and matcher (schedule.c, match.c, lower.c, auto.c) ---- */

/* Applies the steps, proves the tensorized nests, and lowers to loops. Everything in *out lives in the program's
 * arena. `report` (or NULL) receives what uk explain prints, `steps` (or NULL) the steps as applied. */
enum uk_status uk_lower(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                        struct uk_text *report, struct uk_text *steps, struct uk_function **out);

/* The registry's declarations that the target can run and whose op is in use, parsed once per context. */
enum uk_status uk_context_intrinsic(struct uk_context *c, const struct uk_kernel *row,
                                    struct uk_intrinsic **out);

#endif
