/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the scheduler: stages, their loops, and how instances, addresses and bounds depend on the loops.
 *
 * A stage works in the space of its own loops. A statement iterator is a sum of loops times constants: `split
 * m 14
 * -> mo mi` replaces m by 14*mo + mi everywhere, so no floor or remainder ever appears and isl sees plain
 * polyhedra. All loops start at 0. What restricts them are bounds: a sum of loops times constants < an
 * expression of the sizes.
 */
#ifndef UK_SCHEDULE_H
#define UK_SCHEDULE_H

#include <isl/aff.h>
#include <isl/ctx.h>
#include <isl/set.h>
#include "context.h"
#include "target.h"

enum {
    UK_MAX_LOOPS = 64, /* of a stage, with those of other stages that it is attached inside */
    UK_MAX_BOUNDS = 64,
    UK_MAX_OPERANDS = 16,
    UK_MAX_SIZES = 24, /* of an intrinsic, as the scalars */
    UK_MAX_SCALARS = 8,
    /* Of a program, made by all steps: none of them sizes a structure. */
    UK_MAX_STAGES = 1024,
    UK_MAX_ALL_LOOPS = 8192,
    UK_NAMES = 4096 /* lists in the table of names */
};

struct uk_loop {
    int id;             /* index of its coefficient in the forms of the stages around which it is */
    struct uk_var *var; /* its name, and its value in general expressions */
    int iterator;       /* of the stage that it belongs to */
    enum uk_loop_kind kind;
    struct uk_position at; /* of the step that made it parallel, unrolled or vectorized */
    struct uk_stage *stage;
};

/* sum of coefficient[l] * loop l, + rest (over sizes; NULL is 0). general != NULL: not of that form; it holds
 * all. */
struct uk_affine {
    int64_t coefficient[UK_MAX_LOOPS];
    struct uk_index *rest;
    struct uk_index *general;
};

/* form < upper, for the stage's instances; upper is over sizes. Coefficients of ranges are >= 0; a guard (of a
 * `where`, or of a pad whose outside adds nothing to the sum) may have negative ones, and only leaves out what
 * is added: the element is still initialized. */
struct uk_bound {
    struct uk_affine form;
    struct uk_index *upper;
    bool is_guard;
    int operand; /* a guard: of the operand that is read under pad; 0: of a `where` */
};

/* How an access under pad is treated: PAD_VALUE reads the other value outside; PAD_GUARD has guards among the
 * stage's bounds, so that outside nothing is added. In both, inside is where all indices are in the shape. */
enum uk_pad { UK_PAD_NONE, UK_PAD_VALUE, UK_PAD_GUARD };

struct uk_operand {
    struct uk_tensor *tensor;
    const struct uk_expr *expr;          /* the access in the right side, NULL for the left side */
    struct uk_affine index[UK_MAX_DIMS]; /* of the stored dimensions */
    enum uk_pad pad;
    int valid; /* a copy's pad: bounds inside which the element exists (lower ones are all 0) */
    struct uk_bound *within;
};

struct uk_stage {
    const char *name;
    struct uk_stage *next; /* in order of execution; copies of one place in the order of their steps */
    struct uk_statement *statement; /* of the program, or made for a copy */
    struct uk_stage *parent;        /* attached: runs inside parent's loops [0, prefix); NULL at the root */
    int prefix;                     /* leading loops that belong to the parent */
    bool after;                     /* attached: after the parent's inner loops, else before them */
    int loops;
    struct uk_loop
        *loop[UK_MAX_LOOPS]; /* outermost first; the first `prefix` are the parent's; no two with one id */
    uint64_t
        kept_ids; /* bit i: the id i is none of its loops', but of another view of them (the matcher's) */
    int iterators;
    struct uk_affine iterator[2 * UK_MAX_DIMS];
    bool reduced[2 * UK_MAX_DIMS]; /* iterator is summed over */
    int bounds;
    struct uk_bound bound[UK_MAX_BOUNDS];
    int operands; /* operand[0] is the left side */
    struct uk_operand operand[UK_MAX_OPERANDS];
    const struct uk_expr *previous; /* a scan: the output's element before this one */
    int scanned;                    /* ... and the iterator along which */
    struct uk_index *needs;         /* conditions on the sizes, of accesses that were inlined away; or NULL */
    struct uk_index *inside; /* loops were fused by a change of view: uk_inside_condition before that */
    bool is_filtered; /* its `where` has relations that are no bounds: they are asked at every instance */
    bool is_copy;
    const struct uk_copied *copied; /* a copy of a tensor: what it holds (region.h) */
    bool is_reset;         /* the separate initialization of a reduction */
    const char *plain_why; /* the automatic schedule found no kernel: why; or NULL */
    bool is_gone;          /* left out of the program: inlined, or stored by another stage's kernel */
    int attached;          /* how many stages have it as their parent */
    int tile;              /* tensorized: position of the nest's first loop; else = loops */
    struct uk_match *match;
    struct uk_packing *packing; /* the tiles that another kernel computes; or NULL */
    struct uk_stage *in_group;  /* automatic schedules: the next one that follows the same tiles */
    struct uk_stage *in_nest;   /* lowering: the next one of its nest; of a root, the first one after it, */
    struct uk_stage *last_in_nest; /* and the last one */
};

struct uk_schedule {
    struct uk_program *program;
    struct uk_context *context;
    struct uk_arena *arena;
    const struct uk_target *target;
    const struct uk_options *options;
    struct uk_text *report;
    struct uk_stage *stages;
    int all_loops, all_stages;              /* made so far */
    int scope;                              /* sizes with this number are parameters of what isl is asked */
    struct uk_name **names;                 /* a table of UK_NAMES lists */
    struct uk_step *applied, **applied_end; /* the steps as they can be printed and applied again */
    struct uk_stage *last;                  /* of the last qualified name (rule 4) */
    struct uk_buffer *buffers;
    struct uk_alias *aliases;
    struct uk_var *products; /* sizes that stand for products of sizes */
    /* lowering a nest: sizes that count as at least 1 there */
    int raised;
    const struct uk_var *raised_size[UK_MAX_SIZES];
    struct uk_stage *declared; /* the matcher's: the declaration that it is at */
    int reached;               /* how far the last attempt to match got, where it failed */
    const char *wanted_stage,
        *wanted_kernel; /* automatic schedules: no other kernel for this stage; or NULL */
};

/* Whether what no kernel computes may run as plain loops. */
static inline bool uk_may_loop(const struct uk_schedule *s) {
    return !s->options->require_kernels || s->target->interpreted;
}

/* ---- linear.c: forms and polynomials ---- */

struct uk_index *uk_sum(struct uk_schedule *s, struct uk_index *a, struct uk_index *b);
/* e over iterators of the stage and sizes -> form. */
enum uk_status uk_affine_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_index *e,
                            struct uk_affine *out);
/* a + times * b, both linear. */
enum uk_status uk_affine_add(struct uk_schedule *s, struct uk_affine *a, const struct uk_affine *b,
                             int64_t times);
/* The form with loop l replaced by factor * outer + inner (general expressions too). */
bool uk_affine_split(struct uk_schedule *s, struct uk_affine *f, const struct uk_loop *l, int64_t factor,
                     const struct uk_loop *outer, const struct uk_loop *inner);
/* The form's value, with value[id] for the loops that have one and 0 for those whose value is NULL. */
struct uk_index *uk_affine_value(struct uk_schedule *s, const struct uk_stage *st, const struct uk_affine *f,
                                 struct uk_index *const *value);
struct uk_index *uk_substitute(struct uk_arena *a, const struct uk_index *e, const struct uk_var *v,
                               struct uk_index *by);

/* A polynomial over sizes: addresses' coefficients. Anything that is no sum or product is an atom. */
enum { UK_MAX_TERMS = 8, UK_MAX_FACTORS = 4 };
struct uk_term {
    int64_t factor;
    int atoms;
    const struct uk_index *atom[UK_MAX_FACTORS]; /* sorted */
};
struct uk_poly {
    int terms; /* -1: too large to say */
    struct uk_term term[UK_MAX_TERMS];
};
struct uk_poly uk_poly_of(const struct uk_index *e);
struct uk_poly uk_poly_add(struct uk_poly a, const struct uk_poly *b, int64_t times);
struct uk_poly uk_poly_multiply(const struct uk_poly *a, const struct uk_poly *b);
bool uk_poly_equal(const struct uk_poly *a, const struct uk_poly *b);
/* Equal, or made equal by what the program assumes of sizes. */
bool uk_poly_same(const struct uk_program *p, const struct uk_poly *a, const struct uk_poly *b);
bool uk_poly_is_int(const struct uk_poly *p, int64_t *value);
struct uk_index *uk_poly_index(struct uk_arena *a, const struct uk_poly *p);
/* Extent of a stored dimension. */
struct uk_index *uk_stored_extent(const struct uk_tensor *t, int d);
/* An access' index of a stored dimension: of logical indices, through the tensor's layout. */
struct uk_index *uk_stored_index(struct uk_arena *arena, const struct uk_access *a, int d);
/* Address coefficient, in elements, of a loop: sum over the stored dimensions of coefficient * stride. */
struct uk_poly uk_coefficient(const struct uk_operand *o, int loop_id);

/* ---- parameters.c: the sizes of a problem that is put to isl ---- */

/* Begins a scope without sizes; adds a stage's, an expression's, and what assumptions connect with them. */
void uk_scope_begin(struct uk_schedule *s);
void uk_scope_stage(struct uk_schedule *s, const struct uk_stage *st);
void uk_scope_index(struct uk_schedule *s, const struct uk_index *e);
/* A scope of all sizes. */
void uk_scope_all(struct uk_schedule *s);
bool uk_is_in_scope(const struct uk_schedule *s, const struct uk_index *relation);
isl_space *uk_parameters(struct uk_schedule *s);

/* ---- polyhedra.c: everything that asks isl ---- */

/* The context's isl, made on first use, with its error and its operation count reset. */
isl_ctx *uk_isl(struct uk_schedule *s);
void uk_context_isl_destroy(struct isl_ctx *ctx);

/* The stage without guards: they leave instances out, not elements. NULL: no memory. (region.c) */
const struct uk_stage *uk_without_guards(struct uk_schedule *s, const struct uk_stage *st);
bool uk_mentions(const struct uk_index *e, const struct uk_var *v);
/* Values of the first `loops` loops of the stage for which an instance exists: a set named `name`. */
isl_set *uk_outer_set(struct uk_schedule *s, const struct uk_stage *st, int loops, const char *name);
isl_set *uk_context_set(struct uk_schedule *s);
isl_set *uk_relation_params(struct uk_schedule *s, const struct uk_index *relation);
/* The sizes for which the stage has an instance. */
isl_set *uk_instance_sizes(struct uk_schedule *s, const struct uk_stage *st);
/* Is `relation` (over the stage's first `loops` loops and sizes) true wherever an instance exists? */
bool uk_proves(struct uk_schedule *s, const struct uk_stage *st, int loops, struct uk_index *relation);
/* Does any order of execution given by the loops break a dependence? On a refusal `why` tells which. */
enum uk_status uk_check_order(struct uk_schedule *s, struct uk_stage *st, struct uk_position at,
                              const char *step);
/* Are the loop's iterations independent? relax: but for what only the stage's own reduction connects. */
enum uk_status uk_check_parallel(struct uk_schedule *s, struct uk_stage *st, int position, bool relax,
                                 struct uk_position at, const char *step);
/* Sizes for which, at some instance, the access leaves its tensor's shape in dimension d. NULL: at none, plainly. */
isl_set *uk_leaving(struct uk_schedule *s, const struct uk_stage *st, const struct uk_access *a, int d);
enum uk_status uk_isl_status(struct uk_schedule *s);

/* ---- inside.c ---- */

/* The condition on the sizes under which every access of the statement is inside its tensor's shape (1:
 * always). UK_REFUSED: it holds only where there is nothing to compute. */
enum uk_status uk_inside_condition(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **out);
/* Refuses the conditions of several stages if they hold together only where there is nothing to compute. */
enum uk_status uk_check_together(struct uk_schedule *s, struct uk_index *conditions);

/* ---- partial.c ---- */

/* The statement as those that stages are made of: one (a copy of it), or two in a row. NULL: no memory. */
struct uk_statement *uk_statement_parts(struct uk_schedule *s, struct uk_statement *t);

/* ---- names.c ---- */

enum uk_status uk_names_begin(struct uk_schedule *s);
enum uk_status uk_name_add(struct uk_schedule *s, const char *name);
enum uk_status uk_name_add_stage(struct uk_schedule *s, struct uk_stage *st, const char *name);
/* Has anything had the name so far? */
bool uk_name_is_known(const struct uk_schedule *s, const char *name);
/* Is it a tensor's, a size's or a stage's? */
bool uk_name_taken(const struct uk_schedule *s, const char *name);
struct uk_stage *uk_stage_find(const struct uk_schedule *s, const char *name);
/* "<iterator><suffix>", with a number behind it if that is the name of something already; NULL: no memory. */
const char *uk_fresh_name(struct uk_schedule *s, const char *iterator, const char *suffix);

/* ---- schedule.c, pack.c: the primitives ---- */

enum uk_status uk_stages_create(struct uk_schedule *s);
/* One more at *end, which moves on; t stays the caller's own. */
enum uk_status uk_stage_create(struct uk_schedule *s, struct uk_statement *t, struct uk_stage ***end);
enum uk_status uk_apply_steps(struct uk_schedule *s, struct uk_step *steps);
/* The operands as the statement has them, and the guards that follow from pad and where. */
enum uk_status uk_stage_operands(struct uk_schedule *s, struct uk_stage *st);
enum uk_status uk_apply_pack(struct uk_schedule *s, struct uk_step *step);
/* pack_share.c: has the access these subscripts, but for spelling? The first stage that reads a copy; or NULL. */
bool uk_same_access(const struct uk_access *a, struct uk_index *const *subscript, int subscripts);
const struct uk_stage *uk_first_reader(const struct uk_stage *copy);
/* storage.c: decides where temps live, once all steps are applied. */
enum uk_status uk_place_temps(struct uk_schedule *s);
/* The name of the stage that is probably meant by a word that names none, or NULL. */
const char *uk_near_stage(const struct uk_schedule *s, const char *word);
/* How many of the stage's first loops are around all accesses to the tensor that it writes, and outside of the
 * sum that grows there. */
int uk_home_prefix(const struct uk_schedule *s, const struct uk_stage *st);
enum uk_status uk_apply_cache_write(struct uk_schedule *s, struct uk_step *step);
enum uk_status uk_apply_attach(struct uk_schedule *s, struct uk_step *step);
enum uk_status uk_find_loop(struct uk_schedule *s, const struct uk_loop_name *name, struct uk_stage **st,
                            int *position);
int uk_loop_position(const struct uk_stage *st, const struct uk_loop *l);
/* Does the loop belong to the stage (not to its parent), and to an iterator that it sums over? */
bool uk_is_reduced(const struct uk_stage *st, const struct uk_loop *l);
/* Refuses to change a loop of a stage that is tensorized, or inside which a copy is attached. */
enum uk_status uk_may_change(struct uk_schedule *s, const struct uk_stage *st, int position,
                             struct uk_position at, const char *step);
enum uk_status uk_name_is_new(struct uk_schedule *s, const char *name, struct uk_position at);
/* Its id is none that the stage's loops have. */
struct uk_loop *uk_loop_create(struct uk_schedule *s, struct uk_stage *st, const char *name, int iterator);
/* Two loops in the place of one; false: refused, or no memory, and the stage is as it was. The forms are the caller's. */
bool uk_loop_divide(struct uk_schedule *s, struct uk_stage *st, int position, const char *outer,
                    const char *inner);
/* Gives the loops of a stage that is at the root, and has nothing attached, ids that the others do not have. */
void uk_loops_apart(struct uk_stage *st, struct uk_loop *const *other, int n);
/* One more stage is made, of that name: refused beyond UK_MAX_STAGES. */
enum uk_status uk_count_stage(struct uk_schedule *s, struct uk_stage *st, const char *name,
                              struct uk_position at);
/* The end of loop l's values where the loops with a value[] have that value and the inner ones are at 0: min
 * over the bounds of ceil((upper - others) / coefficient). NULL: nothing bounds it, or no memory. A guard in
 * which an inner loop has a negative coefficient bounds that loop, not this one. */
struct uk_index *uk_extent(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                           struct uk_index *const *value);
/* The first value of the loop for which the guards hold: 0, or max(0, ..). */
struct uk_index *uk_first(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                          struct uk_index *const *value);
/* Has the loop a first value other than 0, in some tile? */
bool uk_starts_late(const struct uk_stage *st, const struct uk_loop *l);
/* uk_extent over another list of bounds, those of a pad. */
struct uk_index *uk_extent_within(struct uk_schedule *s, const struct uk_stage *st, const struct uk_bound *b,
                                  int bounds, const struct uk_loop *l, struct uk_index *const *value);
/* The least constant that bounds the loop's number of values, or -1. */
int64_t uk_constant_extent(const struct uk_stage *st, const struct uk_loop *l);
/* A constant extent is 0: there is nothing to compute. */
bool uk_is_empty(const struct uk_stage *st);
bool uk_is_prefix_of_copy(const struct uk_schedule *s, const struct uk_stage *st, int position);
enum uk_status uk_add_bound(struct uk_schedule *s, struct uk_stage *st, const struct uk_affine *f,
                            struct uk_index *upper);
enum uk_status uk_split_loop(struct uk_schedule *s, struct uk_stage *st, int position, int64_t factor,
                             const char *outer, const char *inner, struct uk_position at);

/* ---- rfactor.c, inline.c, fuse.c ---- */

/* Every access of e, which is no factor of a sum, becomes an operand. */
enum uk_status uk_add_operands(struct uk_schedule *s, struct uk_stage *st, const struct uk_expr *e);
/* Are loops `position` and the next one of the stage one loop over all that it accesses? */
bool uk_fuse_is_view(struct uk_schedule *s, struct uk_stage *st, int position);
enum uk_status uk_apply_fuse(struct uk_schedule *s, const struct uk_step *step);
enum uk_status uk_apply_inline(struct uk_schedule *s, const struct uk_step *step);
enum uk_status uk_apply_rfactor(struct uk_schedule *s, const struct uk_step *step);

/* ---- loop_kind.c ---- */

enum uk_status uk_apply_kind(struct uk_schedule *s, const struct uk_step *step, enum uk_loop_kind kind);
/* In another order, may all of the stage's loops still run as they are to? */
enum uk_status uk_check_kinds(struct uk_schedule *s, struct uk_stage *st, struct uk_position at);
/* Has nothing been attached inside the stage's vector loop since? */
enum uk_status uk_check_vectors(struct uk_schedule *s, struct uk_stage *st);
/* How the loop IR's loop runs. */
void uk_set_kind(struct uk_node *n, const struct uk_loop *l);
/* Refuses to change a loop that is unrolled or vectorized. */
enum uk_status uk_check_plain(struct uk_schedule *s, const struct uk_loop *l, struct uk_position at,
                              const char *step);

/* ---- match.c ---- */

/* What a size of the declaration stands for in a call. */
enum uk_size_role {
    UK_SIZE_EXTENT,
    UK_SIZE_VALID,
    UK_SIZE_STRIDE,
    UK_SIZE_LOOSE,
    UK_SIZE_ELSEWHERE, /* only other statements of the declaration have it */
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
    struct {
        enum uk_size_role role;
        int axis;    /* EXTENT: of this axis; VALID: its part inside the pad of operand */
        int operand; /* LOOSE: the declaration's tensor, whose dimension `axis` has this stride, never used */
        bool bound;
        struct uk_poly value; /* STRIDE */
    } size[UK_MAX_SIZES];     /* the declaration's size, by number */
    bool partial;             /* some tiles do not have a fixed extent: those run as plain loops */
    bool first;               /* the nest starts the sums: compute where the outer reductions are at 0 */
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
    const struct uk_map *turned; /* the layout of a buffer that holds the output's tiles; or NULL */
};
enum uk_status uk_fits(struct uk_schedule *s, struct uk_stage *st, struct uk_intrinsic *i, struct uk_fit *out,
                       struct uk_text *why);

/* ---- first_tile.c ---- */

/* A kernel that makes the copy while it computes the first of the tiles that read it; NULL: there is none. */
enum uk_status uk_find_packing(struct uk_schedule *s, struct uk_stage *copy, struct uk_stage **reader,
                               struct uk_packing **out);
/* Before anything is packed: is there such a kernel, of the fit's tile? */
enum uk_status uk_has_packing(struct uk_schedule *s, const struct uk_fit *fit, bool *has);
/* Gives the copy to a kernel that makes it while it computes, and drops the stage, if there is such a kernel. */
enum uk_status uk_fuse_copy(struct uk_schedule *s, struct uk_stage *copy);

/* ---- candidates.c, auto.c ---- */

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

void uk_reason_add(struct uk_schedule *s, struct uk_reasons *r, const char *kernel, const char *text, bool fits,
                   double cycles);
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
/* The next one that the target can run, of the name `only` if that is not NULL. The others are added to the reasons. */
enum uk_status uk_next_candidate(struct uk_schedule *s, const char *only, struct uk_candidate *c);
/* The first feature that the target lacks, or NULL. */
const char *uk_lacking(const struct uk_schedule *s, const struct uk_intrinsic *i);
enum uk_status uk_apply_tensorize(struct uk_schedule *s, struct uk_stage *st, int tile, const char *kernel,
                                  struct uk_position at);
enum uk_status uk_auto_schedule(struct uk_schedule *s);
/* A size expression as far as constants, assumptions and `size` items tell, else a guess. */
double uk_size_told(const struct uk_schedule *s, const struct uk_index *e);
/* The same as if it held no size that --define made a constant. */
double uk_size_of_argument(const struct uk_schedule *s, const struct uk_index *e);
/* The extent of the loop's iterator, likewise. */
double uk_extent_told(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l);
/* The loop's own values, likewise: fewer where it is a part of its iterator, by a constant. */
double uk_values_told(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l);
enum { UK_CHEAP_REUSE = 32 };
/* Is copying so many elements, one by one, little beside what the stage computes? */
bool uk_is_cheap(const struct uk_schedule *s, const struct uk_stage *st, double copied);
/* ---- tiling.c ---- */
bool uk_depends(const struct uk_operand *o, const struct uk_loop *l);
/* Do the second-level caches of Intel's servers, twice as large as others and further from the first, decide? */
bool uk_has_big_l2(const struct uk_schedule *s);
/* Does a tile use B faster than it streams from the second-level cache? */
bool uk_is_flat(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_fit *f);
enum uk_status uk_schedule_stage(struct uk_schedule *s, struct uk_stage *st, const struct uk_fit *fit);
/* ---- cost (candidates.c) ---- */
/* Cycles of the inner loop per step of k, of groups a part (per call, if there is no k), and the flop/cycle that follow. */
double uk_kernel_cycles(const struct uk_target *t, const struct uk_kernel *k);
double uk_kernel_bound(const struct uk_target *t, const struct uk_kernel *k);
/* Bytes of the second-level cache for each of the threads. */
int64_t uk_l2_share(const struct uk_schedule *s);

/* ---- lower.c, leaf.c ---- */

bool uk_is_raised(const struct uk_schedule *s, const struct uk_var *v);
/* A set of sizes as a condition on them; takes the set. */
struct uk_index *uk_condition_index(struct uk_schedule *s, isl_set *set);
enum uk_status uk_lower_stages(struct uk_schedule *s, struct uk_node **out);
/* The instances of a stage at one point of its loops before `tile`: calls, or plain loops. value by loop id.
 */
struct uk_node *uk_lower_leaf(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value);
/* What an empty reduction gives; NULL: no memory. */
struct uk_expr *uk_identity(struct uk_schedule *s, const struct uk_stage *st);
struct uk_stage *uk_reset_stage(struct uk_schedule *s, const struct uk_stage *st);

/* finish.c: a condition on the sizes, tested at entry. */
enum uk_status uk_add_check(struct uk_schedule *s, struct uk_function *f, struct uk_index *condition);
/* narrow.c: adds the conditions under which the stage's kernel can be passed its sizes, or refuses. */
enum uk_status uk_check_arguments(struct uk_schedule *s, const struct uk_stage *st, struct uk_function *f);

#endif
