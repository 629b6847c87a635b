/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stages: statements as stages, and how instances, addresses and bounds depend on their loops; which
 * part of a tensor is accessed, and how a buffer of it is laid out. It uses language and target, and not isl.
 *
 * A stage works in the space of its own loops. A statement iterator is a sum of loops times constants: `split
 * m 14 -> mo mi` replaces m by 14*mo + mi everywhere, so no floor or remainder ever appears and isl sees
 * plain polyhedra. All loops start at 0. What restricts them are bounds: a sum of loops times constants < an
 * expression of the sizes. Data: struct uk_schedule, uk_stage, uk_loop, uk_affine, uk_bound, uk_operand,
 * uk_poly; uk_region, uk_buffer_layout.
 */
#ifndef UK_STAGES_H
#define UK_STAGES_H

#include "language/language.h"
#include "target/target.h"

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
    int axis;       /* of blocks or threads: 0 to 2 for x to z; 3: of threads, whatever their axes */
    int64_t weight; /* of threads: an iteration's part of the thread's number, once all steps are applied */
    int slots;      /* of a pipeline; else 0 */
    bool is_made;   /* lowering: the part of the AST that is looked at has it as a loop */
    const int64_t *block;  /* of blocks: the kernel's threads by axis, likewise */
    struct uk_position at; /* of the step that made it parallel, unrolled, vectorized or bound it */
    struct uk_stage *stage;
};

/* Is it over blocks or threads? */
static inline bool uk_is_bound(const struct uk_loop *l) {
    return l->kind == UK_LOOP_BLOCK || l->kind == UK_LOOP_THREAD;
}

/* sum of coefficient[l] * loop l, + rest (over sizes; NULL is 0). general != NULL: not of that form; it holds
 * all. */
struct uk_affine {
    int64_t coefficient[UK_MAX_LOOPS];
    struct uk_index *rest;
    struct uk_index *general;
};

/* form < upper, for the stage's instances; upper is over sizes. Coefficients of ranges are >= 0; a guard (of
 * a `where`, or of a pad whose outside adds nothing to the sum) may have negative ones, and only leaves out
 * what is added: the element is still initialized. */
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
    bool is_subscript; /* an element that is a subscript of the operand before */
    int valid;         /* a copy's pad: bounds inside which the element exists (lower ones are all 0) */
    struct uk_bound *within;
};

struct uk_stage {
    const char *name;
    struct uk_stage *next; /* in order of execution; copies of one place in the order of their steps */
    struct uk_statement *statement;    /* of the program, or made for a copy */
    const struct uk_statement *source; /* ... before a step changed its iterators; NULL: a copy's */
    struct uk_stage *parent; /* attached: runs inside parent's loops [0, prefix); NULL at the root */
    int prefix;              /* leading loops that belong to the parent */
    bool after;              /* attached: after the parent's inner loops, else before them */
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
    bool is_filtered;        /* its `where` has relations that are no bounds: each instance tests them */
    bool is_copy;
    const struct uk_copied *copied; /* a copy of a tensor: what it holds (region.h) */
    bool is_reset;                  /* the separate initialization of a reduction */
    bool stores_part;               /* cache_write's: a part of the tensor, which its iterators do not say */
    const char *plain_why;          /* the automatic schedule found no kernel: why; or NULL */
    const struct uk_draft_name *draft; /* of an automatic schedule: what made the stage's nest; or NULL */
    bool is_gone; /* left out of the program: inlined, or stored by another stage's kernel */
    int attached; /* how many stages have it as their parent */
    int tile;     /* tensorized: position of the nest's first loop; else = loops */
    struct uk_match *match;
    struct uk_packing *packing; /* the tiles that another kernel computes; or NULL */
    struct uk_stage *in_group;  /* automatic schedules: the next one that follows the same tiles */
    struct uk_stage *in_nest;   /* lowering: the next one of its nest; of a root, the first one after it, */
    struct uk_stage *last_in_nest; /* and the last one */
};

/* A stage's part of an automatic schedule: by a kernel, or in one of the forms without. */
struct uk_draft_name {
    const char *stage, *name;
};

struct uk_refused {
    struct uk_draft_name draft;
    const char *why;
    struct uk_refused *next;
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
        *wanted_kernel;            /* automatic schedules: no other kernel for this stage; or NULL */
    bool is_automatic, as_written; /* nobody wrote the steps; there are none, but for what a GPU needs */
    struct uk_refused *refused;    /* drafts that are not taken again, the last one first */
    struct uk_stage *at; /* what is scheduled or lowered: a refusal is its draft's; NULL: anyone's */
    bool is_final;       /* a refusal is the program's, whatever its schedule */
};

/* Whether a stage that no kernel computes may run as plain loops. */
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

/* A polynomial over sizes: addresses' coefficients. An expression that is no sum or product is an atom. */
enum { UK_MAX_TERMS = 8, UK_MAX_FACTORS = 4 };
struct uk_term {
    int64_t factor;
    int atoms;
    const struct uk_index *atom[UK_MAX_FACTORS]; /* sorted */
};
struct uk_poly {
    int terms; /* -1: too many terms */
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

/* Is an element of a tensor a subscript of the operand? */
bool uk_is_gathered(const struct uk_operand *o);

/* ---- stages.c ---- */

enum uk_status uk_stages_create(struct uk_schedule *s);
/* Appends an operand at *end; t stays the caller's. */
enum uk_status uk_stage_create(struct uk_schedule *s, struct uk_statement *t, struct uk_stage ***end);
/* The operands as the statement has them, and the guards that follow from pad and where. */
enum uk_status uk_stage_operands(struct uk_schedule *s, struct uk_stage *st);
/* Every access of e, which is no factor of a sum, becomes an operand. */
enum uk_status uk_add_operands(struct uk_schedule *s, struct uk_stage *st, const struct uk_expr *e);

/* ---- loops.c: a stage's loops and their extents ---- */

/* The stage itself, or the one that it is attached to, directly or not. */
const struct uk_stage *uk_root_of(const struct uk_stage *st);
int uk_loop_position(const struct uk_stage *st, const struct uk_loop *l);
/* Of the stage's own loop of that name; -1: it has none. */
int uk_own_position(const struct uk_stage *st, const char *name);
/* Does the loop belong to the stage (not to its parent), and to an iterator that it sums over? */
bool uk_is_reduced(const struct uk_stage *st, const struct uk_loop *l);
/* Its id is none that the stage's loops have. */
struct uk_loop *uk_loop_create(struct uk_schedule *s, struct uk_stage *st, const char *name, int iterator);
/* Replaces one loop by two; false: refused, or no memory, and the stage is unchanged. The caller changes the
 * forms. */
bool uk_loop_divide(struct uk_schedule *s, struct uk_stage *st, int position, const char *outer,
                    const char *inner);
/* Gives the loops of a stage that is at the root, and has nothing attached, ids that the others do not have.
 * */
void uk_loops_apart(struct uk_stage *st, struct uk_loop *const *other, int n);
/* Counts a new stage of that name: refused beyond UK_MAX_STAGES. */
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
/* Does the loop begin at another value than 0, in some tile? */
bool uk_starts_late(const struct uk_stage *st, const struct uk_loop *l);
/* The same two over another list of bounds, those of a pad. */
struct uk_index *uk_first_within(struct uk_schedule *s, const struct uk_stage *st, const struct uk_bound *b,
                                 int bounds, const struct uk_loop *l, struct uk_index *const *value);
struct uk_index *uk_extent_within(struct uk_schedule *s, const struct uk_stage *st, const struct uk_bound *b,
                                  int bounds, const struct uk_loop *l, struct uk_index *const *value);
/* The least constant that bounds the loop's number of values, or -1; guards of pads do not count, since
 * copies drop them. */
int64_t uk_constant_extent(const struct uk_stage *st, const struct uk_loop *l);
/* A constant extent is 0: there is nothing to compute. */
bool uk_is_empty(const struct uk_stage *st);
/* The same of what it writes: there is nothing to initialize either. */
bool uk_has_no_output(const struct uk_stage *st);
bool uk_is_prefix_of_copy(const struct uk_schedule *s, const struct uk_stage *st, int position);
enum uk_status uk_add_bound(struct uk_schedule *s, struct uk_stage *st, const struct uk_affine *f,
                            struct uk_index *upper);
/* How many of the stage's first loops are around all accesses to the tensor that it writes, and outside of
 * the sum that grows there. */
int uk_home_prefix(const struct uk_schedule *s, const struct uk_stage *st);
/* How many of the n loops the stage has too, up to the first one of a sum that grows in the tensor, or of a
 * scan. */
int uk_shared_loops(const struct uk_stage *st, bool is_written, struct uk_loop *const *loop, int n);

/* ---- estimates.c: estimates of sizes ---- */

/* The value of a size expression; 0: it is not known. */
int64_t uk_size_guess(const struct uk_schedule *s, const struct uk_index *e);
/* The same, by constants, assumptions and the defaults of `size` items; else a guess. */
double uk_size_estimate(const struct uk_schedule *s, const struct uk_index *e);
/* The same without regard to --define. */
double uk_size_of_argument(const struct uk_schedule *s, const struct uk_index *e);
/* The extent of the loop's iterator, estimated likewise. */
double uk_extent_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l);
/* The loop's number of values, likewise: fewer than the iterator's where the loop is a part of it of constant
 * length. */
double uk_values_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l);

/* ---- split_statement.c ---- */

/* The statement as those that stages are made of: one (a copy of it), or two in a row. NULL: no memory. */
struct uk_statement *uk_statement_parts(struct uk_schedule *s, struct uk_statement *t);

/* ---- names.c ---- */

enum uk_status uk_names_begin(struct uk_schedule *s);
enum uk_status uk_name_add(struct uk_schedule *s, const char *name);
enum uk_status uk_name_add_stage(struct uk_schedule *s, struct uk_stage *st, const char *name);
/* Has any object had the name so far? */
bool uk_name_is_known(const struct uk_schedule *s, const char *name);
/* Is it a tensor's, a size's or a stage's? */
bool uk_name_taken(const struct uk_schedule *s, const char *name);
struct uk_stage *uk_stage_find(const struct uk_schedule *s, const char *name);
/* "<iterator><suffix>", with a number behind it if that is the name of something already; NULL: no memory. */
const char *uk_fresh_name(struct uk_schedule *s, const char *iterator, const char *suffix);

bool uk_depends(const struct uk_operand *o, const struct uk_loop *l);
/* As uk_depends, of indices that are affine: a general one counts for nothing. */
bool uk_steps_along(const struct uk_operand *o, const struct uk_loop *l);
/* Does it leave out instances? */
bool uk_has_guards(const struct uk_stage *st);
/* A copy of the stage without guards, which leave out instances, not elements. NULL: no memory. */
const struct uk_stage *uk_without_guards(struct uk_schedule *s, const struct uk_stage *st);

/* ---- footprint.c, room.c: which part of a tensor is accessed ---- */

enum { UK_MAX_PART_BOUNDS = 16 };

/* One dimension: the indices are offset + x with 0 <= x and, for every bound, x + form < upper. */
struct uk_part {
    struct uk_affine offset; /* over the prefix loops and sizes */
    int bounds;
    struct uk_bound bound[UK_MAX_PART_BOUNDS]; /* forms over the prefix loops */
    bool begins_before; /* offset may be below 0: the extents of loops that run backwards add up to more */
    bool is_whole;      /* nothing is known: all of the dimension, more than may be touched */
};

/* The part of a tensor that is accessed inside a stage's first `prefix` loops. */
struct uk_region {
    int prefix, dims;
    struct uk_part part[UK_MAX_DIMS];
};

/* UK_NO_MATCH: there is no such region; *why says the reason. */
enum uk_status uk_region_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o,
                            int prefix, struct uk_region *out, const char **why);
/* Makes `to` cover both. shape: what all indices are less than; NULL: they may be outside of the tensor. */
enum uk_status uk_region_join(struct uk_schedule *s, struct uk_region *to, const struct uk_region *other,
                              struct uk_index *const *shape, const char **why);
/* More than x can be, whatever the prefix loops are; over sizes only. */
struct uk_index *uk_part_room(struct uk_schedule *s, const struct uk_part *part);
/* The least of that which is a constant, for a tile that is full if it has one for itself; -1: none is. */
int64_t uk_part_most(const struct uk_part *part);
bool uk_part_equal(const struct uk_part *a, const struct uk_part *b);
bool uk_affine_equal(const struct uk_affine *a, const struct uk_affine *b);
/* x = f - offset, an expression over the stage's loops. */
struct uk_index *uk_part_position(struct uk_schedule *s, const struct uk_stage *st,
                                  const struct uk_part *part, const struct uk_affine *f);
/* Adds the stage's bounds on the first `prefix` loops to those of `to`. */
enum uk_status uk_inherit_bounds(struct uk_schedule *s, const struct uk_stage *st, int prefix,
                                 struct uk_stage *to);

/* ---- layout.c: how a buffer stores a region ---- */

/* One stored dimension: x[dim] / divisor % modulus. modulus 0: the coarsest of its dimension, which takes
 * what is left. */
struct uk_digit {
    int dim;
    int64_t divisor, modulus;
};

struct uk_buffer_layout {
    int stored;
    struct uk_digit digit[UK_MAX_DIMS];
    int64_t stride[UK_MAX_DIMS]; /* of a layout that was given some; else 0: what lies inside fills it */
};

struct uk_buffer_layout uk_layout_plain(int dims);
/* [d/w, the other dimensions, d%w] */
struct uk_buffer_layout uk_layout_panel(int dims, int along, int64_t width);
/* NULL, or why the map is none that a buffer can have. */
const char *uk_layout_of_map(const struct uk_map *map, struct uk_buffer_layout *out);
bool uk_layout_is_split(const struct uk_buffer_layout *l, int dim);
/* A buffer for the region of `of`, in the schedule's list; NULL: no memory. Other scopes than global have
 * constant extents. */
struct uk_tensor *uk_layout_buffer(struct uk_schedule *s, const struct uk_region *r,
                                   const struct uk_buffer_layout *l, const struct uk_tensor *of,
                                   enum uk_scope scope, const char *name, struct uk_position at);
/* The operand accesses the buffer instead, inside the region. */
enum uk_status uk_layout_redirect(struct uk_schedule *s, const struct uk_stage *st, struct uk_operand *o,
                                  const struct uk_region *r, const struct uk_buffer_layout *l,
                                  struct uk_tensor *buffer);

/* What a copy holds of a tensor, and how. */
struct uk_copied {
    const struct uk_region *region;
    struct uk_buffer_layout layout;
    const struct uk_expr *outside; /* in the place of what is outside of the tensor; NULL: that is not read */
};

#endif
