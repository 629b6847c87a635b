/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room match: the proof that a nest is what a kernel computes; which kernels there are, what they cost, and
 * why one does not fit; all steps in order, tensorize among them. It uses schedule, registry and cost. Data:
 * struct uk_match, uk_fit, uk_packing, uk_candidate, uk_reason.
 */
#ifndef UK_MATCH_H
#define UK_MATCH_H

#include "schedule/schedule.h"

/* ---- apply.c ---- */

enum uk_status uk_apply_steps(struct uk_schedule *s, struct uk_step *steps);

/* ---- match.c ---- */

/* What a size of the declaration stands for in a call. */
enum uk_size_role {
    UK_SIZE_EXTENT,
    UK_SIZE_VALID,
    UK_SIZE_STRIDE,
    UK_SIZE_LOOSE,
    UK_SIZE_ELSEWHERE, /* only other statements of the declaration have it */
};

/* What a size of the declaration is bound to. */
struct uk_size_binding {
    enum uk_size_role role;
    int axis;    /* EXTENT: of this axis; VALID: its part inside the pad of operand */
    int operand; /* LOOSE: the declaration's tensor, whose dimension `axis` has this stride, never used */
    bool bound;
    const struct uk_affine
        *sum;             /* VALID: of the declaration's axes, the sum that it ends; NULL: of one axis */
    struct uk_poly value; /* STRIDE */
};

struct uk_match {
    struct uk_intrinsic *intrinsic;
    int axes;
    struct uk_loop
        *axis[2 * UK_MAX_DIMS];        /* the declaration's iterator -> loop of the nest; NULL: extent 1 */
    int64_t most[2 * UK_MAX_DIMS];     /* the axis' largest extent in one call; 0: any */
    int64_t fixed[2 * UK_MAX_DIMS];    /* the extent, where the declaration has a number; else 0 */
    bool always[2 * UK_MAX_DIMS];      /* ... and every tile has it */
    int64_t multiple[2 * UK_MAX_DIMS]; /* the extent is raised to one; 0: it is not */
    int tensors, sizes, scalars;
    int operand[UK_MAX_OPERANDS]; /* the declaration's tensor (by number) -> operand of the stage */
    struct uk_operand *at;        /* where these are general forms, the same without the tile's loops */
    const struct uk_expr *scalar[UK_MAX_SCALARS]; /* by the declaration's number: a value of the statement */
    struct uk_size_binding size[UK_MAX_SIZES];    /* the declaration's size, by number */
    bool partial;            /* some tiles do not have a fixed extent: those run as plain loops */
    bool first;              /* the nest starts the sums: compute where the outer reductions are at 0 */
    struct uk_position step; /* that asked for the kernel */
};
/* Tiles that a kernel of two statements computes: it makes the copy too that the others read. */
struct uk_packing {
    struct uk_match *match; /* as the stage's own; `at` holds all operands */
    int loops;              /* the tiles where these are at 0 */
    struct uk_loop *loop[UK_MAX_LOOPS];
};

/* Is the nest from loop position `tile` on what the intrinsic computes? `why` receives the first difference.
 */
enum uk_status uk_match(struct uk_schedule *s, struct uk_stage *st, int tile, struct uk_intrinsic *i,
                        struct uk_match **out, struct uk_text *why);
/* The same for one of the declaration's statements: operands and sizes that only others have are left out. */
enum uk_status uk_match_statement(struct uk_schedule *s, struct uk_stage *st, int tile,
                                  struct uk_intrinsic *i, struct uk_statement *ks, struct uk_match **out,
                                  struct uk_text *why);
/* The value of the declaration's size for the tile at `value`. */
struct uk_index *uk_match_size(struct uk_schedule *s, const struct uk_stage *st, const struct uk_match *m,
                               int size, struct uk_index *const *value);
/* How many values the axis has in the tile: uk_extent less uk_first. */
struct uk_index *uk_tile_extent(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                                struct uk_index *const *value);
int uk_tensor_number(const struct uk_program *p, const struct uk_tensor *t);

/* match_scope.c: turns a stage with operands in shared or in register into what one thread of a full block
 * computes; *kept is the stage as it was, to be put back, or NULL. */
enum uk_status uk_match_as_thread(struct uk_schedule *s, struct uk_stage *st, struct uk_stage **kept);
/* Once registers are each thread's own and pipelines have their slots: the matches of such stages, as they
 * are now. */
enum uk_status uk_match_locals(struct uk_schedule *s);

/* How an operand is packed for a kernel. */
struct uk_panel {
    int64_t width; /* 0: in place */
    int along;     /* dimension of the operand's tensor */
    int lane;      /* the axis along that dimension */
    int64_t group; /* elements along the axis `of` that lie side by side; 0: it is not divided */
    int of;
    struct uk_map *layout; /* in groups: the map for pack */
};

/* How a whole stage would be tiled for an intrinsic: which loop is which axis, how far each axis reaches, and
 * which operands it wants in panels. */
struct uk_fit {
    struct uk_intrinsic *intrinsic;
    int axes;
    struct uk_loop *axis[2 * UK_MAX_DIMS];
    int64_t most[2 * UK_MAX_DIMS];          /* the axis' largest extent in one call; 0: any */
    int units;                              /* axes of the kernel for which there is no loop, */
    int64_t unit[2 * UK_MAX_DIMS];          /* and their largest extents */
    struct uk_panel panel[UK_MAX_OPERANDS]; /* by operand of the stage */
    bool any_strides[UK_MAX_OPERANDS];      /* the kernel takes all strides of the operand */
    const struct uk_map *transposed; /* the layout of a buffer that holds the output's tiles; or NULL */
};
enum uk_status uk_fits(struct uk_schedule *s, struct uk_stage *st, struct uk_intrinsic *i, struct uk_fit *out,
                       struct uk_text *why);
/* Does the kernel have an axis for the loop? */
bool uk_is_axis(const struct uk_fit *f, const struct uk_loop *l);

/* ---- first_tile.c ---- */

/* A kernel that makes the copy while it computes the first of the tiles that read it; NULL: there is none. */
enum uk_status uk_find_packing(struct uk_schedule *s, struct uk_stage *copy, struct uk_stage **reader,
                               struct uk_packing **out);
/* Before anything is packed: is there such a kernel, of the fit's tile? */
enum uk_status uk_has_packing(struct uk_schedule *s, const struct uk_fit *fit, bool *has);
/* Gives the copy to a kernel that makes it while it computes, and drops the stage, if there is such a kernel.
 * */
enum uk_status uk_fuse_copy(struct uk_schedule *s, struct uk_stage *copy);

/* ---- candidates.c ---- */

/* A kernel that was considered, and what is said of it. */
struct uk_reason {
    const char *kernel, *text;
    bool fits;
    double cycles;       /* of one that fits */
    int reached, number; /* of one that does not: s->reached; place in the list */
};

/* Zero-initialize; lives in the schedule's arena. */
struct uk_reasons {
    struct uk_reason *list;
    int count, room;
};

void uk_reason_add(struct uk_schedule *s, struct uk_reasons *r, const char *kernel, const char *text,
                   bool fits, double cycles);
/* Those that fit, by their cost, then the nearest first. */
void uk_reasons_sort(struct uk_reasons *r);
/* The first ten, or all if the options say so, a line each, and how many there are besides. */
void uk_reasons_put(const struct uk_schedule *s, struct uk_reasons *r, struct uk_text *t, bool in_message);
/* Goes through the program's intrinsics, then the registry's rows; zero-initialize. */
struct uk_candidate {
    bool started;
    struct uk_intrinsic *own;
    int row, seen;
    struct uk_intrinsic *intrinsic; /* NULL: there are no more */
    char refused[256];              /* the last one that the target cannot run */
    struct uk_reasons *reasons;     /* where those are added; or NULL */
};
/* The next one that the target can run, of the name `only` if that is not NULL. The others are added to the
 * reasons. */
enum uk_status uk_next_candidate(struct uk_schedule *s, const char *only, struct uk_candidate *c);
/* The first feature that the target lacks, or NULL. */
const char *uk_lacking(const struct uk_schedule *s, const struct uk_intrinsic *i);
enum uk_status uk_apply_tensorize(struct uk_schedule *s, struct uk_stage *st, int tile, const char *kernel,
                                  struct uk_position at);
/* Cycles of the inner loop per step of k, of groups a part (per call, if there is no k), and the flop/cycle
 * that follow. */
double uk_kernel_cycles(const struct uk_target *t, const struct uk_kernel *k);
double uk_kernel_bound(const struct uk_target *t, const struct uk_kernel *k);

/* The registry's declarations that the target can run and whose op is in use, parsed once per context. */
enum uk_status uk_context_intrinsic(struct uk_context *c, const struct uk_kernel *row,
                                    struct uk_intrinsic **out);

#endif
