/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room stages: statements as stages; how instances, addresses and bounds depend on a stage's loops; the part
 * of a tensor that is accessed, and the layout of a buffer for it. It uses language and target, and not isl.
 *
 * A stage works in the space of its own loops. A statement iterator is a sum of loops times constants: `split
 * m 14 -> mo mi` replaces m by 14*mo + mi everywhere, so no floor or remainder ever appears and isl sees
 * plain polyhedra. All loops begin at 0. Bounds restrict them: a sum of loops times constants < an expression
 * of the sizes.
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
    /* Per program, over all steps; no structure has this size. */
    UK_MAX_STAGES = 1024,
    UK_MAX_ALL_LOOPS = 8192,
    UK_NAMES = 4096 /* buckets of the table of names */
};

struct uk_loop {
    int id; /* index of its coefficient in the forms of its stage and of stages attached inside it */
    struct uk_var *var; /* has its name; represents its value in general expressions */
    int iterator;       /* index in its stage */
    enum uk_loop_kind kind;
    /* Blocks and threads: 0 to 2 for x to z; 3: threads whose axes are not fixed. */
    int axis;
    /* Threads: what an iteration adds to the thread's number, known after all steps. */
    int64_t weight;
    int slots;             /* stages of a pipeline; else 0 */
    bool is_made;          /* lowering: it is a loop of the AST part being visited */
    const int64_t *block;  /* blocks: the kernel's threads by axis, known after all steps */
    struct uk_position at; /* of the step that made it parallel, unrolled, vectorized or bound */
    struct uk_stage *stage;
};

/* True if the loop is over blocks or threads. */
static inline bool uk_is_bound(const struct uk_loop *l) {
    return l->kind == UK_LOOP_BLOCK || l->kind == UK_LOOP_THREAD;
}

/* The sum of coefficient[l] * loop l, plus rest (over sizes; NULL is 0). If general is not NULL, the
 * expression does not have this form, and general is all of it. */
struct uk_affine {
    int64_t coefficient[UK_MAX_LOOPS];
    struct uk_index *rest;
    struct uk_index *general;
};

/* form < upper for all instances of the stage; upper is over sizes. Ranges have coefficients >= 0. A guard
 * (from a `where`, or from a pad that adds nothing outside) may have negative ones; it leaves out only terms:
 * the element is still initialized. */
struct uk_bound {
    struct uk_affine form;
    struct uk_index *upper;
    bool is_guard;
    int operand; /* of a guard: the operand read under pad; 0: from a `where` */
};

/* Accesses under pad. PAD_VALUE reads the other value outside; PAD_GUARD adds nothing outside, by guards
 * among the stage's bounds. Inside means that all indices are in the shape. */
enum uk_pad { UK_PAD_NONE, UK_PAD_VALUE, UK_PAD_GUARD };

struct uk_operand {
    struct uk_tensor *tensor;
    const struct uk_expr *expr;          /* the access on the right side; NULL for the left side */
    struct uk_affine index[UK_MAX_DIMS]; /* per stored dimension */
    enum uk_pad pad;
    bool is_subscript; /* an element that is a subscript of an earlier operand */
    /* The pad of a copy: bounds inside which the element exists (lower bounds are 0). */
    int valid;
    struct uk_bound *within;
};

struct uk_stage {
    const char *name;
    struct uk_stage *next;          /* in execution order; copies at one place in the order of their steps */
    struct uk_statement *statement; /* the program's, or made for a copy */
    /* The statement before a step changed its iterators; NULL for a copy. */
    const struct uk_statement *source;
    struct uk_stage *parent; /* attached: runs inside parent's loops [0, prefix); NULL at the root */
    int prefix;              /* number of leading loops that belong to the parent */
    bool after;              /* attached: runs after the parent's inner loops, else before them */
    int loops;
    /* Outermost first; the first `prefix` are the parent's. Ids are distinct. */
    struct uk_loop *loop[UK_MAX_LOOPS];
    /* Mask of ids that are reserved for another view of the loops (the matcher's). */
    uint64_t kept_ids;
    int iterators;
    struct uk_affine iterator[2 * UK_MAX_DIMS];
    bool reduced[2 * UK_MAX_DIMS]; /* the iterator is summed over */
    int bounds;
    struct uk_bound bound[UK_MAX_BOUNDS];
    int operands; /* operand[0] is the left side */
    struct uk_operand operand[UK_MAX_OPERANDS];
    const struct uk_expr *previous; /* a scan: the access to the output's previous element */
    int scanned;                    /* a scan: the iterator along which it goes */
    /* Conditions on the sizes from accesses that were inlined away; or NULL. */
    struct uk_index *needs;
    /* uk_inside_condition before a change of view fused loops; or NULL. */
    struct uk_index *inside;
    /* Its `where` has relations that are not bounds; each instance tests them. */
    bool is_filtered;
    bool is_copy;
    /* A copy: the part of a tensor that it holds. */
    const struct uk_copied *copied;
    bool is_reset;    /* the separate initialization of a reduction */
    bool stores_part; /* made by cache_write: stores a part of the tensor that its iterators do not show */
    /* The reason for which the automatic schedule found no kernel; or NULL. */
    const char *plain_why;
    /* The automatic schedule's part that made the stage's nest; or NULL. */
    const struct uk_draft_name *draft;
    bool is_gone; /* removed: inlined, or stored by another stage's kernel */
    int attached; /* number of stages whose parent it is */
    int tile;     /* tensorized: position of the nest's first loop; else = loops */
    struct uk_match *match;
    struct uk_packing *packing; /* computes the remaining tiles by another kernel; or NULL */
    struct uk_stage *in_group;  /* automatic schedules: the next stage that follows the same tiles */
    /* Lowering: the next stage of its nest, for a root the first one after it; and the last one. */
    struct uk_stage *in_nest;
    struct uk_stage *last_in_nest;
};

/* The part of an automatic schedule for one stage: a kernel, or one of the forms without a kernel. */
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
    int all_loops, all_stages; /* created so far */
    int scope;                 /* sizes with this number are parameters of the current isl problem */
    struct uk_name **names;    /* hash table with UK_NAMES buckets */
    struct uk_step *applied, **applied_end; /* the steps in a form that can be printed and applied again */
    struct uk_stage *last;                  /* the stage of the last qualified name (rule 4) */
    struct uk_buffer *buffers;
    struct uk_alias *aliases;
    struct uk_var *products; /* sizes that represent products of sizes */
    /* Lowering: sizes that count as at least 1 in the current nest. */
    int raised;
    const struct uk_var *raised_size[UK_MAX_SIZES];
    struct uk_stage *declared; /* matcher: the declaration being tried */
    int reached;               /* matcher: how far the last failed attempt got */
    /* Automatic schedules: the only kernel allowed for that stage; or NULL. */
    const char *wanted_stage, *wanted_kernel;
    /* is_automatic: the steps are not written by the user. as_written: there are no steps, except those that
     * a GPU needs. */
    bool is_automatic, as_written;
    struct uk_refused *refused; /* drafts that are not tried again, latest first */
    /* The stage being scheduled or lowered, whose draft a refusal counts against; NULL: any. */
    struct uk_stage *at;
    bool is_final; /* the refusal holds for the program under any schedule */
};

/* True if a stage without a kernel may run as plain loops. */
static inline bool uk_may_loop(const struct uk_schedule *s) {
    return !s->options->require_kernels || s->target->interpreted;
}

/* ---- linear.c: affine forms and polynomials ---- */

struct uk_index *uk_sum(struct uk_schedule *s, struct uk_index *a, struct uk_index *b);
/* Converts e, over iterators of the stage and sizes, to a form. */
enum uk_status uk_affine_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_index *e,
                            struct uk_affine *out);
/* a += times * b; both linear. */
enum uk_status uk_affine_add(struct uk_schedule *s, struct uk_affine *a, const struct uk_affine *b,
                             int64_t times);
/* Replaces loop l in the form by factor * outer + inner, in general expressions too. False: refused or no
 * memory. */
bool uk_affine_split(struct uk_schedule *s, struct uk_affine *f, const struct uk_loop *l, int64_t factor,
                     const struct uk_loop *outer, const struct uk_loop *inner);
/* The form's value: value[id] for each loop, 0 for loops whose value is NULL. */
struct uk_index *uk_affine_value(struct uk_schedule *s, const struct uk_stage *st, const struct uk_affine *f,
                                 struct uk_index *const *value);
struct uk_index *uk_substitute(struct uk_arena *a, const struct uk_index *e, const struct uk_var *v,
                               struct uk_index *by);

/* A polynomial over sizes, for coefficients of addresses. An expression that is neither a sum nor a product
 * is an atom. */
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
/* Equal, or equal under the program's assumptions on sizes. */
bool uk_poly_same(const struct uk_program *p, const struct uk_poly *a, const struct uk_poly *b);
bool uk_poly_is_int(const struct uk_poly *p, int64_t *value);
struct uk_index *uk_poly_index(struct uk_arena *a, const struct uk_poly *p);
/* The extent of a stored dimension. */
struct uk_index *uk_stored_extent(const struct uk_tensor *t, int d);
/* The index of a stored dimension, from the access's logical indices through the tensor's layout. */
struct uk_index *uk_stored_index(struct uk_arena *arena, const struct uk_access *a, int d);
/* The address coefficient of a loop, in elements: sum over the stored dimensions of coefficient * stride. */
struct uk_poly uk_coefficient(const struct uk_operand *o, int loop_id);

/* True if a subscript of the operand is an element of a tensor. */
bool uk_is_gathered(const struct uk_operand *o);

/* ---- stages.c ---- */

enum uk_status uk_stages_create(struct uk_schedule *s);
/* Creates the stage of a statement and appends it at *end; the caller keeps t. */
enum uk_status uk_stage_create(struct uk_schedule *s, struct uk_statement *t, struct uk_stage ***end);
/* Sets the operands from the statement, and the guards that pad and where imply. */
enum uk_status uk_stage_operands(struct uk_schedule *s, struct uk_stage *st);
/* Appends the accesses in e, which is not a factor of a sum, as operands. */
enum uk_status uk_add_operands(struct uk_schedule *s, struct uk_stage *st, const struct uk_expr *e);

/* ---- loops.c: loops and extents of a stage ---- */

/* The stage that st is attached to, directly or indirectly, at the root; or st itself. */
const struct uk_stage *uk_root_of(const struct uk_stage *st);
int uk_loop_position(const struct uk_stage *st, const struct uk_loop *l);
/* Position of the stage's own loop of that name, or -1. */
int uk_own_position(const struct uk_stage *st, const char *name);
/* True if the loop belongs to the stage itself and to an iterator that it sums over. */
bool uk_is_reduced(const struct uk_stage *st, const struct uk_loop *l);
/* Creates a loop with an id that no loop of the stage has. NULL: refused or no memory. */
struct uk_loop *uk_loop_create(struct uk_schedule *s, struct uk_stage *st, const char *name, int iterator);
/* Replaces one loop by two; the caller updates the forms. False: refused or no memory; the stage is
 * unchanged. */
bool uk_loop_divide(struct uk_schedule *s, struct uk_stage *st, int position, const char *outer,
                    const char *inner);
/* Changes the ids of the loops of a root stage with nothing attached, so that they differ from the
 * others'. */
void uk_loops_apart(struct uk_stage *st, struct uk_loop *const *other, int n);
/* Counts and names a new stage; refused beyond UK_MAX_STAGES. */
enum uk_status uk_count_stage(struct uk_schedule *s, struct uk_stage *st, const char *name,
                              struct uk_position at);
/* The upper end of loop l for the given values of loops, with loops without a value at 0: the minimum over
 * the bounds of ceil((upper - others) / coefficient). NULL: no bound, or no memory. A guard with a negative
 * coefficient of an inner loop bounds that loop, not this one. */
struct uk_index *uk_extent(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                           struct uk_index *const *value);
/* The first value of the loop for which the guards hold: 0, or max(0, ..). */
struct uk_index *uk_first(struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l,
                          struct uk_index *const *value);
/* True if guards may make the loop begin after 0. */
bool uk_starts_late(const struct uk_stage *st, const struct uk_loop *l);
/* The same for another list of bounds, those of a pad. */
struct uk_index *uk_first_within(struct uk_schedule *s, const struct uk_stage *st, const struct uk_bound *b,
                                 int bounds, const struct uk_loop *l, struct uk_index *const *value);
struct uk_index *uk_extent_within(struct uk_schedule *s, const struct uk_stage *st, const struct uk_bound *b,
                                  int bounds, const struct uk_loop *l, struct uk_index *const *value);
/* The minimum of the constant bounds on the loop's number of values, or -1. Guards of pads do not count,
 * since copies drop them. */
int64_t uk_constant_extent(const struct uk_stage *st, const struct uk_loop *l);
/* True if a constant extent is 0, so that there is nothing to compute. */
bool uk_is_empty(const struct uk_stage *st);
/* True if a constant extent of an output iterator is 0, so that there is nothing to initialize either. */
bool uk_has_no_output(const struct uk_stage *st);
bool uk_is_prefix_of_copy(const struct uk_schedule *s, const struct uk_stage *st, int position);
enum uk_status uk_add_bound(struct uk_schedule *s, struct uk_stage *st, const struct uk_affine *f,
                            struct uk_index *upper);
/* The number of the stage's leading loops that are around all accesses to the tensor that it writes, and
 * outside the reduction that accumulates there. */
int uk_home_prefix(const struct uk_schedule *s, const struct uk_stage *st);
/* The number of the n loops that are also the stage's leading loops. If is_written, it ends before a loop of
 * a reduction or of a scan. */
int uk_shared_loops(const struct uk_stage *st, bool is_written, struct uk_loop *const *loop, int n);

/* ---- estimates.c: estimates of sizes ---- */

/* The value of a size expression from definitions, defaults and assumptions; 0: unknown. */
int64_t uk_size_guess(const struct uk_schedule *s, const struct uk_index *e);
/* The same; for an unknown value a guess. */
double uk_size_estimate(const struct uk_schedule *s, const struct uk_index *e);
/* The same, ignoring --define. */
double uk_size_of_argument(const struct uk_schedule *s, const struct uk_index *e);
/* Estimated extent of the loop's iterator. */
double uk_extent_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l);
/* Estimated number of values of the loop: smaller than the iterator's if the loop is a part of it with a
 * constant length. */
double uk_values_estimate(const struct uk_schedule *s, const struct uk_stage *st, const struct uk_loop *l);

/* ---- split_statement.c ---- */

/* A copy of the statement, or the two statements in sequence that it has to be computed by. NULL: no
 * memory. */
struct uk_statement *uk_statement_parts(struct uk_schedule *s, struct uk_statement *t);

/* ---- names.c ---- */

enum uk_status uk_names_begin(struct uk_schedule *s);
enum uk_status uk_name_add(struct uk_schedule *s, const char *name);
enum uk_status uk_name_add_stage(struct uk_schedule *s, struct uk_stage *st, const char *name);
/* True if anything has had this name so far. */
bool uk_name_is_known(const struct uk_schedule *s, const char *name);
/* True if a tensor, a size or a stage has the name now. */
bool uk_name_taken(const struct uk_schedule *s, const char *name);
struct uk_stage *uk_stage_find(const struct uk_schedule *s, const char *name);
/* "<iterator><suffix>", with a number appended if the name is in use; NULL: no memory. */
const char *uk_fresh_name(struct uk_schedule *s, const char *iterator, const char *suffix);

bool uk_depends(const struct uk_operand *o, const struct uk_loop *l);
/* uk_depends for affine indices; a general index counts as independent. */
bool uk_steps_along(const struct uk_operand *o, const struct uk_loop *l);
/* True if some instances are left out by guards or a `where`. */
bool uk_has_guards(const struct uk_stage *st);
/* The stage without guards, which leave out terms but not elements; a copy if it has any. NULL: no memory. */
const struct uk_stage *uk_without_guards(struct uk_schedule *s, const struct uk_stage *st);

/* ---- footprint.c, room.c: the part of a tensor that is accessed ---- */

enum { UK_MAX_PART_BOUNDS = 16 };

/* One dimension of a region: the indices are offset + x with 0 <= x and, for every bound, x + form <
 * upper. */
struct uk_part {
    struct uk_affine offset; /* over the prefix loops and sizes */
    int bounds;
    struct uk_bound bound[UK_MAX_PART_BOUNDS]; /* forms over the prefix loops */
    bool begins_before; /* offset may be negative: loops that run backwards add up to more than one extent */
    bool is_whole;      /* unbounded by loops: the whole dimension, possibly more than is accessed */
};

/* The part of a tensor accessed inside a stage's first `prefix` loops. */
struct uk_region {
    int prefix, dims;
    struct uk_part part[UK_MAX_DIMS];
};

/* Computes the region of operand o. UK_NO_MATCH: it has no such region, for the reason *why. */
enum uk_status uk_region_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o,
                            int prefix, struct uk_region *out, const char **why);
/* Extends `to` so that it covers both. shape: upper bounds of all indices; NULL: indices may be outside the
 * tensor. */
enum uk_status uk_region_join(struct uk_schedule *s, struct uk_region *to, const struct uk_region *other,
                              struct uk_index *const *shape, const char **why);
/* An exclusive upper bound of x for all values of the prefix loops; over sizes only. */
struct uk_index *uk_part_room(struct uk_schedule *s, const struct uk_part *part);
/* The minimum of the constant upper bounds, preferring those of a full tile over those that outer loops
 * lower; -1: none. */
int64_t uk_part_most(const struct uk_part *part);
bool uk_part_equal(const struct uk_part *a, const struct uk_part *b);
bool uk_affine_equal(const struct uk_affine *a, const struct uk_affine *b);
/* f - offset, an expression over the stage's loops. */
struct uk_index *uk_part_position(struct uk_schedule *s, const struct uk_stage *st,
                                  const struct uk_part *part, const struct uk_affine *f);
/* Adds the stage's bounds on its first `prefix` loops to `to`. */
enum uk_status uk_inherit_bounds(struct uk_schedule *s, const struct uk_stage *st, int prefix,
                                 struct uk_stage *to);

/* ---- layout.c: the layout of a buffer for a region ---- */

/* One stored dimension: x[dim] / divisor % modulus. modulus 0: the most significant digit, which takes the
 * rest. */
struct uk_digit {
    int dim;
    int64_t divisor, modulus;
};

struct uk_buffer_layout {
    int stored;
    struct uk_digit digit[UK_MAX_DIMS];
    int64_t stride[UK_MAX_DIMS]; /* given by the layout; 0: packed */
};

struct uk_buffer_layout uk_layout_plain(int dims);
/* The layout [d/w, other dimensions, d%w]. */
struct uk_buffer_layout uk_layout_panel(int dims, int along, int64_t width);
/* Converts a map; returns NULL, or the reason why a buffer cannot have it. */
const char *uk_layout_of_map(const struct uk_map *map, struct uk_buffer_layout *out);
bool uk_layout_is_split(const struct uk_buffer_layout *l, int dim);
/* Creates a buffer for the region of `of`, in the schedule's list; NULL: no memory. In scopes other than
 * global the extents are constants. */
struct uk_tensor *uk_layout_buffer(struct uk_schedule *s, const struct uk_region *r,
                                   const struct uk_buffer_layout *l, const struct uk_tensor *of,
                                   enum uk_scope scope, const char *name, struct uk_position at);
/* Makes the operand access the buffer instead, inside the region. */
enum uk_status uk_layout_redirect(struct uk_schedule *s, const struct uk_stage *st, struct uk_operand *o,
                                  const struct uk_region *r, const struct uk_buffer_layout *l,
                                  struct uk_tensor *buffer);

/* The region of a tensor that a copy holds, and its layout. */
struct uk_copied {
    const struct uk_region *region;
    struct uk_buffer_layout layout;
    const struct uk_expr *outside; /* value for elements outside the tensor; NULL: they are not read */
};

#endif
