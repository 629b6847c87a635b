/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stages: statements as stages; how instances, addresses and bounds depend on a stage's loops; the part
 * of a tensor that is accessed, and the layout of a buffer for it. It uses language and target, and not isl.
 *
 * A stage works in the space of its own loops. A statement iterator is a sum of loops times constants: `split
 * m 14 -> mo mi` replaces m by 14*mo + mi everywhere, so no floor or remainder ever appears and isl sees
 * plain polyhedra. In this space every loop is >= 0. Bounds restrict it further: a sum of loops times
 * constants < an expression of the sizes. (The loop that is generated may begin after 0, if bounds leave out
 * its first values: uk_loop_begin.)
 *
 * Words: an *instance* is a point of this space at which all bounds hold. A *step* is an item of a schedule,
 * such as `split`. A *form*, in this header, is an affine form: struct uk_affine. The *prefix loops* of an
 * attached stage are those that it shares with its parent.
 *
 * Data: struct uk_schedule, uk_stage, uk_loop, uk_affine, uk_bound, uk_operand, uk_poly; uk_region,
 * uk_buffer_layout.
 */
#ifndef UK_STAGES_H
#define UK_STAGES_H

#include "language/language.h"
#include "target/target.h"

enum {
    UK_MAX_LOOPS = 64, /* of a stage, including the loops of the stages that it is attached to */
    UK_MAX_BOUNDS = 64,
    UK_MAX_OPERANDS = 16,
    UK_MAX_SIZES = 24, /* of an intrinsic, like UK_MAX_SCALARS */
    UK_MAX_SCALARS = 8,
    /* Limits per program, over all steps; no array has this size. */
    UK_MAX_STAGES = 1024,
    UK_MAX_ALL_LOOPS = 8192,
    UK_NAMES = 4096 /* buckets of the table of names */
};

struct uk_loop {
    /* Index of its coefficient in the affine forms of its stage and of stages attached inside it. */
    int id;
    struct uk_var *var; /* has its name; represents its value in general expressions */
    int iterator;       /* number of the iterator of `stage` that it is, or is a part of */
    enum uk_loop_kind kind;
    /* Loops over blocks and threads: 0 to 2 for x to z; 3: threads whose axes are not fixed. */
    int axis;
    /* Loops over threads: the increase of the thread's number per iteration, known after all steps. */
    int64_t weight;
    /* The same, of an axis: the number of values that this digit of the axis has. */
    int64_t threads;
    /* A pipelined loop: copies of each shared buffer, so that as many iterations are in flight; else 0. */
    int slots;
    bool is_made; /* lowering: it is a loop of the AST part being visited */
    /* Loops over blocks: the threads of a block by axis, known after all steps. */
    const int64_t *block;
    struct uk_position at;  /* of the step that made it parallel, unrolled, vectorized or bound */
    struct uk_stage *stage; /* the stage that owns it; attached stages share it */
};

/* True if the loop is over blocks or threads. */
static inline bool uk_is_bound(const struct uk_loop *l) {
    return l->kind == UK_LOOP_BLOCK || l->kind == UK_LOOP_THREAD;
}

/* An affine form: the sum of coefficient[id] * (value of the loop with this id), plus rest, an expression
 * over sizes (NULL: 0). If general is not NULL, the expression is not affine: general is the whole
 * expression, and the other members are not used. */
struct uk_affine {
    int64_t coefficient[UK_MAX_LOOPS];
    struct uk_index *rest;
    struct uk_index *general;
};

/* The condition form < upper on the instances of a stage; upper is an expression over sizes. Two kinds:
 *
 *     range  coefficients >= 0; from the extent of an iterator, or a step
 *     guard  (is_guard) coefficients of any sign; from a `where`, or from a UK_PAD_GUARD operand. It leaves
 *            out only terms of a sum: an element without any term is still initialized. */
struct uk_bound {
    struct uk_affine form;
    struct uk_index *upper;
    bool is_guard;
    int operand; /* a guard's: index of the operand that is read under pad; 0: from a `where` */
    /* A guard that the kernel of the stage's tile applies: the tile's loops run as without it. */
    bool in_kernel;
};

/* How an operand of `pad(access, value)` is computed where an index of the access is outside the tensor's
 * shape. */
enum uk_pad {
    UK_PAD_NONE,  /* the access is not under pad */
    UK_PAD_VALUE, /* `value` is used instead of the element */
    UK_PAD_GUARD  /* `value` is 0 and a factor of a sum's terms: guards of the stage leave the terms out */
};

struct uk_operand {
    struct uk_tensor *tensor;
    const struct uk_expr *expr;          /* the access on the right side; NULL for the left side */
    struct uk_affine index[UK_MAX_DIMS]; /* by stored dimension */
    enum uk_pad pad;
    bool is_subscript; /* an element that is a subscript of an earlier operand */
    /* The source of a copy: its element exists where these `valid` bounds hold; elsewhere the copy stores the
     * pad's value. A lower bound of an index is the upper bound of its negative. */
    int valid;
    struct uk_bound *within;
};

struct uk_stage {
    const char *name;
    struct uk_stage *next; /* in execution order; copies that run at one place: in the order of their steps */
    struct uk_statement *statement; /* the program's, or made by a step */
    /* The program's statement, before a step changed its iterators; NULL for a copy. */
    const struct uk_statement *source;
    /* An attached stage runs inside the loops [0, prefix) of its parent: after the parent's other loops if
     * `after`, else before them. NULL: a root. */
    struct uk_stage *parent;
    int prefix; /* number of leading loops that it shares with the parent */
    bool after;
    int loops;
    /* Outermost first; the first `prefix` are the parent's. Ids are distinct. */
    struct uk_loop *loop[UK_MAX_LOOPS];
    /* Mask of loop ids that a new loop must not get. Not 0 only in a copy of a stage in which the matcher has
     * split loops: forms of the original stage still use their ids. */
    uint64_t kept_ids;
    int iterators;
    struct uk_affine iterator[2 * UK_MAX_DIMS]; /* values of the statement's iterators */
    bool reduced[2 * UK_MAX_DIMS];              /* the iterator is summed over */
    int bounds;
    struct uk_bound bound[UK_MAX_BOUNDS];
    int operands; /* operand[0] is the left side */
    struct uk_operand operand[UK_MAX_OPERANDS];
    const struct uk_expr *previous; /* a scan: the access to the output's previous element */
    int scanned;                    /* a scan: number of the iterator along which it goes */
    /* Condition on the sizes under which accesses that `inline` removed are inside their tensors; or NULL. */
    struct uk_index *needs;
    /* Not NULL: `fuse` has replaced loops over two adjacent dimensions by one over both (fuse_view.c), so
     * that an index may exceed its own dimension. The result of uk_inside_condition before that. */
    struct uk_index *inside;
    /* Its `where` has relations that are not bounds; each instance tests them. */
    bool is_filtered;
    bool is_copy;
    /* A copy: the part of a tensor that it holds. */
    const struct uk_copied *copied;
    bool is_reset; /* the separate initialization of a reduction */
    /* Made by multiply_out: a sum of single factors, whose plain loops need no kernel, as they take little
     * time next to the products. */
    bool is_factor_sum;
    /* Made by widen: converts a factor. Its plain loops need no kernel either. */
    bool is_conversion;
    /* Made by cache_write for a statement that does not write its whole tensor: this stage writes the same
     * elements, although its iterators run over all dimensions. */
    bool stores_part;
    /* The reason for which the automatic schedule found no kernel; or NULL. */
    const char *plain_loops_reason;
    /* While kernels are tried as if borders were in memory: the cycles of copying them. */
    double border_cycles;
    /* The part of the automatic schedule that made the stage's nest; or NULL. */
    const struct uk_draft_name *draft;
    bool is_gone; /* removed: inlined, shared, or stored by another stage's kernel */
    int attached; /* number of stages whose parent it is */
    /* Position of the first loop that isl's AST does not contain. Tensorized: the outermost loop that the
     * kernel replaces. Lowering also sets it for copies and attached stages whose inner loops it generates
     * itself. Else = loops. */
    int tile;
    struct uk_match *match; /* tensorized: how the kernel computes the tile; else NULL */
    /* A kernel that packs a panel while it computes the first tile that reads it; the kernel of `match`
     * computes the other tiles. Or NULL. */
    struct uk_packing *packing;
    /* Lowering: the kernel of the last columns; NULL: that of `match`. */
    struct uk_tail *tail;
    /* Automatic schedules: a list that begins with a stage and continues with the elementwise stages that
     * read its output, directly or not, and can run tile by tile with it; NULL ends it. */
    struct uk_stage *in_group;
    /* Lowering: a list that begins with a root and continues with the stages attached to it, directly or not;
     * NULL ends it. */
    struct uk_stage *in_nest;
    struct uk_stage *last_in_nest; /* on roots only: the last attached stage of that list; or NULL */
};

/* A draft: the part of an automatic schedule for one stage. Its name is that of a kernel, or of a way to run
 * the stage without one, such as plain loops. */
struct uk_draft_name {
    const char *stage, *name;
};

/* A draft that was refused, and the reason. */
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
    int all_loops, all_stages; /* created so far */
    /* Number of the current isl problem: a size is in its parameter scope if uk_var.scope has this value. */
    int scope;
    struct uk_name **names;                 /* hash table with UK_NAMES buckets (names.c) */
    struct uk_step *applied, **applied_end; /* the steps in a form that can be printed and applied again */
    /* The stage that a step last named, as in `C.mo`; names of loops without a stage are looked up there
     * first. Or NULL. */
    struct uk_stage *last;
    struct uk_buffer *buffers;
    struct uk_alias *aliases;
    struct uk_var *products; /* sizes that represent products of sizes */
    /* Lowering: the sizes that count as at least 1 in the current nest, so that its loops initialize sums
     * even if they have no terms. */
    int raised;
    const struct uk_var *raised_size[UK_MAX_SIZES];
    struct uk_stage *declared; /* matcher: the declaration being tried, as a stage */
    /* Matcher: the score of the last failed attempt, the number of parts of the declaration that were found
     * in the nest before the first difference (attempt.h); it orders the reasons in messages. Negative: no
     * attempt was possible. INT_MAX: the attempt failed only on costs. */
    int match_score;
    /* Automatic schedules: the only kernel allowed for that stage; or NULL. */
    const char *wanted_stage, *wanted_kernel;
    /* The version of the program that this schedule is; NULL: the only one. */
    const struct uk_version *version;
    /* is_automatic: the steps are not written by the user. as_written: there are no steps, except those that
     * a GPU needs. */
    bool is_automatic, as_written;
    bool at_least;              /* estimates take sizes at the lower bounds that the program assumes */
    struct uk_refused *refused; /* drafts that are not tried again, latest first */
    /* The stage being scheduled or lowered: if something is refused, its draft is. NULL: any draft may be at
     * fault. */
    struct uk_stage *at;
    bool is_final; /* the recorded refusal would be the same under any schedule */
};

/* True if a stage without a kernel may run as plain loops. */
static inline bool uk_can_use_plain_loops(const struct uk_schedule *s) {
    return !s->options->require_kernels || s->target->interpreted;
}

/* ---- linear.c: affine forms and polynomials ---- */

struct uk_index *uk_sum(struct uk_schedule *s, struct uk_index *a, struct uk_index *b);
/* Converts e, over iterators of the stage's statement and sizes, to an affine form. */
enum uk_status uk_affine_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_index *e,
                            struct uk_affine *out);
/* a += times * b; both must be affine (general NULL). */
enum uk_status uk_affine_add(struct uk_schedule *s, struct uk_affine *a, const struct uk_affine *b,
                             int64_t times);
/* Replaces loop l in the affine form by factor * outer + inner, in a general expression too. False: refused
 * or no memory. */
bool uk_affine_split(struct uk_schedule *s, struct uk_affine *f, const struct uk_loop *l, int64_t factor,
                     const struct uk_loop *outer, const struct uk_loop *inner);
/* The value of the affine form if each loop has the value value[id], or 0 if that is NULL. */
struct uk_index *uk_affine_value(struct uk_schedule *s, const struct uk_stage *st, const struct uk_affine *f,
                                 struct uk_index *const *value);
struct uk_index *uk_substitute(struct uk_arena *a, const struct uk_index *e, const struct uk_var *v,
                               struct uk_index *by);

/* A polynomial over sizes, for coefficients of addresses. Its atoms are the subexpressions that are neither
 * sums nor products nor integers. */
enum { UK_MAX_TERMS = 8, UK_MAX_FACTORS = 4 };
struct uk_term {
    int64_t factor;
    int atoms;
    const struct uk_index *atom[UK_MAX_FACTORS]; /* sorted; a power repeats its atom */
};
struct uk_poly {
    int terms; /* -1: too many terms */
    struct uk_term term[UK_MAX_TERMS];
};
struct uk_poly uk_poly_of(const struct uk_index *e);
struct uk_poly uk_poly_add(struct uk_poly a, const struct uk_poly *b, int64_t times);
struct uk_poly uk_poly_multiply(const struct uk_poly *a, const struct uk_poly *b);
bool uk_poly_equal(const struct uk_poly *a, const struct uk_poly *b);
/* True if they are equal, or equal under the program's assumptions on sizes. */
bool uk_poly_same(const struct uk_program *p, const struct uk_poly *a, const struct uk_poly *b);
bool uk_poly_is_int(const struct uk_poly *p, int64_t *value);
struct uk_index *uk_poly_index(struct uk_arena *a, const struct uk_poly *p);
/* The extent of a stored dimension. (A stored dimension is one of the tensor's layout; without a layout they
 * are the logical ones.) */
struct uk_index *uk_stored_extent(const struct uk_tensor *t, int d);
/* The index of a stored dimension: the tensor's layout applied to the access's logical indices. */
struct uk_index *uk_stored_index(struct uk_arena *arena, const struct uk_access *a, int d);
/* The distance, in elements, by which one step along the loop moves the operand's address: the sum over the
 * stored dimensions of coefficient * stride. */
struct uk_poly uk_coefficient(const struct uk_operand *o, int loop_id);

/* True if a subscript of the operand is an element of a tensor. */
bool uk_is_gathered(const struct uk_operand *o);

/* ---- stages.c ---- */

enum uk_status uk_stages_create(struct uk_schedule *s);
/* Creates the stage of a statement, appends it at *end and moves *end past it. The stage refers to t, which
 * has to live as long. */
enum uk_status uk_stage_create(struct uk_schedule *s, struct uk_statement *t, struct uk_stage ***end);
/* Sets the operands from the statement, and the guards that pad and where imply. */
enum uk_status uk_stage_operands(struct uk_schedule *s, struct uk_stage *st);
/* Appends the accesses in e as operands; pads among them become UK_PAD_VALUE, since e is not multiplied into
 * the terms of a sum. */
enum uk_status uk_add_operands(struct uk_schedule *s, struct uk_stage *st, const struct uk_expr *e);

/* ---- zeros.c ---- */

/* For an operand with UK_PAD_GUARD: true if terms outside its tensor may be computed with zeros in place of
 * the missing elements, instead of being left out: a zero makes the term 0 because no other factor can be
 * infinite or NaN. These are integers and elements of tensors declared `finite`. */
bool uk_may_store_zeros(const struct uk_stage *st, int operand);

/* ---- loops.c: loops and extents of a stage ---- */

/* The root that st is attached to, directly or indirectly; st if it is a root. */
const struct uk_stage *uk_root_of(const struct uk_stage *st);
/* Position of the loop among the stage's, or -1. */
int uk_loop_position(const struct uk_stage *st, const struct uk_loop *l);
/* Position of the stage's own loop of that name, or -1. */
int uk_own_position(const struct uk_stage *st, const char *name);
/* True if the loop belongs to the stage itself and to an iterator that it sums over. */
bool uk_is_reduced(const struct uk_stage *st, const struct uk_loop *l);
/* Creates a loop with an id that no loop of the stage has. NULL: refused or no memory. */
struct uk_loop *uk_loop_create(struct uk_schedule *s, struct uk_stage *st, const char *name, int iterator);
/* Replaces one loop by two; the caller updates the affine forms. False: refused or no memory; the stage is
 * unchanged. */
bool uk_loop_divide(struct uk_schedule *s, struct uk_stage *st, int position, const char *outer,
                    const char *inner);
/* Changes ids of loops of a root with nothing attached, so that they differ from those of the n other loops;
 * updates its affine forms. */
void uk_separate_loop_ids(struct uk_stage *st, struct uk_loop *const *other, int n);
/* Counts and names a new stage; refused beyond UK_MAX_STAGES. */
enum uk_status uk_count_stage(struct uk_schedule *s, struct uk_stage *st, const char *name,
                              struct uk_position at);
/* The exclusive upper end of loop l, if the other loops have the given values, or 0 where the value is NULL:
 * the minimum over the bounds of ceil((upper - others) / coefficient). The loop's number of values is this
 * less uk_loop_begin. NULL: no bound, or no memory. A guard in which a loop without a value has a negative
 * coefficient bounds that loop, not this one. */
struct uk_index *uk_loop_end(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                             struct uk_index *const *value);
/* The first value of loop l for which the guards hold: 0, or max(0, ..). */
struct uk_index *uk_loop_begin(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                               struct uk_index *const *value);
/* True if guards may make the loop begin after 0. */
bool uk_may_begin_above_zero(const struct uk_stage *st, const struct uk_loop *l);
/* uk_loop_begin and uk_loop_end for another list of bounds, such as uk_operand.within. */
struct uk_index *uk_loop_begin_within(struct uk_schedule *s, const struct uk_stage *st,
                                      const struct uk_bound *b, int bounds, const struct uk_loop *l,
                                      struct uk_index *const *value);
struct uk_index *uk_loop_end_within(struct uk_schedule *s, const struct uk_stage *st,
                                    const struct uk_bound *b, int bounds, const struct uk_loop *l,
                                    struct uk_index *const *value);
/* Bit b of `guards`: the kernel of the stage's tile applies bound[b]. */
void uk_mark_guards(struct uk_stage *st, uint64_t guards);
/* The minimum of the constant upper ends that bounds give the loop; -1: none gives a constant. Guards of pads
 * do not count, since a copy of the operand drops them. */
int64_t uk_constant_extent(const struct uk_stage *st, const struct uk_loop *l);
/* True if `fuse` has replaced loops over two dimensions of the output by one over both (fuse_view.c). */
bool uk_has_fused_rows(const struct uk_stage *st);
/* True if a constant extent is 0, so that there is nothing to compute. */
bool uk_is_empty(const struct uk_stage *st);
/* True if a constant extent of an output iterator is 0, so that there is nothing to initialize either. */
bool uk_has_no_output(const struct uk_stage *st);
/* True if some stage that is attached to st has the loop at `position` as a prefix loop. */
bool uk_is_prefix_of_copy(const struct uk_schedule *s, const struct uk_stage *st, int position);
/* Adds the range *f < upper; upper is over sizes. Refuses more than UK_MAX_BOUNDS. */
enum uk_status uk_add_bound(struct uk_schedule *s, struct uk_stage *st, const struct uk_affine *f,
                            struct uk_index *upper);
/* The number of the stage's leading loops that are around all accesses to the tensor that it writes, and
 * outside the reduction that accumulates there. */
int uk_home_prefix(const struct uk_schedule *s, const struct uk_stage *st);
/* The number of loops that loop[0..n) and the stage's loops have in common at their beginning. If is_written,
 * counts only up to the first loop of a reduction or of a scan. */
int uk_shared_loops(const struct uk_stage *st, bool is_written, struct uk_loop *const *loop, int n);

/* ---- estimates.c: estimates of sizes ---- */

/* The value that definitions (--define), defaults of `size` items and assumptions give a size expression; 0:
 * they give none above 0. It is a guess insofar as callers need not pass the defaults. */
int64_t uk_known_size(const struct uk_schedule *s, const struct uk_index *e);
/* uk_known_size, or 1024 if that is 0. */
double uk_size_estimate(const struct uk_schedule *s, const struct uk_index *e);
/* uk_size_estimate without the values of --define. */
double uk_size_of_argument(const struct uk_schedule *s, const struct uk_index *e);
/* Estimated extent of the loop's iterator. */
double uk_extent_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l);
/* Estimated trip count of the loop: its constant extent, if it has one that is smaller than the iterator's
 * extent because the loop is only a part of the iterator. */
double uk_values_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l);

/* ---- split_statement.c ---- */

/* A copy of the statement; or, for one such as `C max= sum(..)`, whose sum cannot be accumulated in C, the
 * list of two statements that compute the sum into a buffer and combine the buffer with C. NULL: no
 * memory. */
struct uk_statement *uk_statement_parts(struct uk_schedule *s, struct uk_statement *t);
/* Creates a buffer, row-major over the statement's left iterators. NULL: no memory, or `name` is NULL. */
struct uk_tensor *uk_statement_buffer(struct uk_schedule *s, const struct uk_statement *t, const char *name);
/* Sets *out to the statement's element of such a buffer. False: no memory. */
bool uk_statement_element(struct uk_schedule *s, const struct uk_statement *t, struct uk_tensor *x,
                          struct uk_access *out);

/* ---- names.c ---- */

/* Fills the table of names with those of the program's tensors and sizes. */
enum uk_status uk_names_begin(struct uk_schedule *s);
/* Adds a name, of a stage in the second case; it stays known when its object is removed. */
enum uk_status uk_name_add(struct uk_schedule *s, const char *name);
enum uk_status uk_name_add_stage(struct uk_schedule *s, struct uk_stage *st, const char *name);
/* True if anything has had this name so far. */
bool uk_is_name_known(const struct uk_schedule *s, const char *name);
/* True if a tensor, a size or a stage has the name now. */
bool uk_is_name_used(const struct uk_schedule *s, const char *name);
struct uk_stage *uk_stage_find(const struct uk_schedule *s, const char *name);
/* "<iterator><suffix>", with a number appended if the name is known; NULL: no memory. */
const char *uk_fresh_name(struct uk_schedule *s, const char *iterator, const char *suffix);

/* ---- loops.c, footprint.c: operands and guards ---- */

/* True if an index of the operand depends on the loop. */
bool uk_depends(const struct uk_operand *o, const struct uk_loop *l);
/* uk_depends for affine indices; an index that is not affine counts as independent. */
bool uk_steps_along(const struct uk_operand *o, const struct uk_loop *l);
/* True if guards, or a `where` that is not expressed by bounds, leave out instances. */
bool uk_has_guards(const struct uk_stage *st);
/* A copy of the stage without its guards, for questions about the elements that it writes: guards leave out
 * terms of sums, but no elements. Returns st if it has no guards. NULL: no memory. */
const struct uk_stage *uk_stage_without_guards(struct uk_schedule *s, const struct uk_stage *st);

/* ---- footprint.c, room.c: the part of a tensor that is accessed ---- */

enum { UK_MAX_PART_BOUNDS = 16 };

/* One dimension of a region: the indices are offset + x with 0 <= x and, for every bound, x + form < upper.
 * The offset has the contributions of the prefix loops, x those of the inner loops. */
struct uk_part {
    struct uk_affine offset; /* over the prefix loops and sizes */
    int bounds;
    struct uk_bound bound[UK_MAX_PART_BOUNDS]; /* forms over the prefix loops */
    /* The region may begin before the tensor's first element: two or more inner loops lower the index, and
     * the offset assumes that all of them reach their last values together, which bounds may exclude. */
    bool begins_before;
    bool is_whole; /* no loops bound the indices: the whole dimension, possibly more than is accessed */
};

/* The part of a tensor accessed inside a stage's first `prefix` loops. */
struct uk_region {
    int prefix, dims;
    struct uk_part part[UK_MAX_DIMS];
};

/* Computes the region of operand o inside the first `prefix` loops. UK_NO_MATCH: it has none of this form;
 * *why is the reason. */
enum uk_status uk_region_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o,
                            int prefix, struct uk_region *out, const char **why);
/* Extends `to` so that it covers both regions. shape: the tensor's extents, which bound all indices; NULL:
 * indices may be outside the tensor. UK_NO_MATCH as for uk_region_of. */
enum uk_status uk_region_join(struct uk_schedule *s, struct uk_region *to, const struct uk_region *other,
                              struct uk_index *const *shape, const char **why);
/* An exclusive upper bound of x, over sizes only, that holds for all values of the prefix loops: the extent
 * that a buffer for the part needs. NULL: there is none. */
struct uk_index *uk_part_extent(struct uk_schedule *s, const struct uk_part *part);
/* A constant exclusive upper bound of x. The minimum of the constant bounds that do not depend on prefix
 * loops, as those of a tile; if there are none, the minimum of those that prefix loops lower; else -1. */
int64_t uk_part_constant_extent(const struct uk_part *part);
bool uk_part_equal(const struct uk_part *a, const struct uk_part *b);
bool uk_affine_equal(const struct uk_affine *a, const struct uk_affine *b);
/* The position x of an index in the part: f - offset, an expression over the stage's loops. If f is not
 * affine, the part is whole and x is f. */
struct uk_index *uk_part_position(struct uk_schedule *s, const struct uk_stage *st,
                                  const struct uk_part *part, const struct uk_affine *f);
/* Adds to `to` those ranges of st that bound its first `prefix` loops; inner loops count as 0 in them. */
enum uk_status uk_inherit_bounds(struct uk_schedule *s, const struct uk_stage *st, int prefix,
                                 struct uk_stage *to);

/* ---- layout.c: the layout of a buffer for a region ---- */

/* One stored dimension: its index is x[dim] / divisor % modulus, where x is the position in the region.
 * modulus 0: the most significant digit, x[dim] / divisor. */
struct uk_digit {
    int dim;
    int64_t divisor, modulus;
};

struct uk_buffer_layout {
    int stored; /* number of stored dimensions */
    struct uk_digit digit[UK_MAX_DIMS];
    /* In elements, as a step gives it; 0: the product of the inner dimensions' extents. */
    int64_t stride[UK_MAX_DIMS];
};

/* Reads e, a dimension of the map with / and % by constants applied to it, i / a % b. False: it is something
 * else. */
bool uk_digit_of(const struct uk_map *map, const struct uk_index *e, struct uk_digit *out);
struct uk_buffer_layout uk_layout_plain(int dims);
/* The layout [d/w, other dimensions, d%w]. */
struct uk_buffer_layout uk_layout_panel(int dims, int along, int64_t width);
/* Converts a map; returns NULL, or the reason why a buffer cannot have it. */
const char *uk_layout_of_map(const struct uk_map *map, struct uk_buffer_layout *out);
/* True if the layout has more than one digit of the region's dimension. */
bool uk_layout_is_split(const struct uk_buffer_layout *l, int dim);
/* Creates a buffer for the region of the tensor `of`, in the schedule's list; NULL: no memory. In memory
 * scopes other than global the region needs constant bounds (uk_part_constant_extent >= 0), which the caller
 * has checked; they become the buffer's extents. */
struct uk_tensor *uk_layout_buffer(struct uk_schedule *s, const struct uk_region *r,
                                   const struct uk_buffer_layout *l, const struct uk_tensor *of,
                                   enum uk_scope scope, const char *name, struct uk_position at);
/* Makes operand o of st access the buffer instead of its tensor, at positions in the region. */
enum uk_status uk_layout_redirect(struct uk_schedule *s, const struct uk_stage *st, struct uk_operand *o,
                                  const struct uk_region *r, const struct uk_buffer_layout *l,
                                  struct uk_tensor *buffer);

/* What a copy holds: the region of its source, and the layout of the buffer. */
struct uk_copied {
    const struct uk_region *region;
    struct uk_buffer_layout layout;
    const struct uk_expr *outside; /* stored for elements outside the source; NULL: they are not read */
};

/* ---- im2col.c: matrices that are not in memory ---- */

/* How the elements of a tensor made by step `im2col` are computed: the matrix has a dimension for each
 * iterator of the access that it replaces, or for several that `fuse` made one. */
struct uk_im2col {
    const struct uk_expr *element; /* the access, or pad(access, v) */
    int iterators;                 /* those in the access */
    const struct uk_var *iterator[2 * UK_MAX_DIMS];
    struct uk_digit digit[2 * UK_MAX_DIMS]; /* their values, from the matrix's indices */
};

/* The tensor that the operand reads in memory. */
const struct uk_tensor *uk_memory_of(const struct uk_operand *o);
/* True if the stage reads the tensor's memory. */
bool uk_reads(const struct uk_stage *st, const struct uk_tensor *t);
/* Makes dimensions d and d + 1 one, whose index is d's times the extent of d + 1, a constant, plus that of d
 * +
 * 1. False: no memory. */
bool uk_im2col_fuse(struct uk_arena *a, struct uk_tensor *t, int d);
/* True if adjacent indices of dimension d are adjacent elements in memory, until an iterator of what was
 * fused begins again, and no other dimension has more of them. */
bool uk_im2col_is_contiguous(const struct uk_tensor *t, int d);
/* True if each n adjacent indices of dimension d, the first a multiple of n, are adjacent elements in memory.
 */
bool uk_im2col_has_vectors(const struct uk_tensor *t, int d, int64_t n);

#endif
