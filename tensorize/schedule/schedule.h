/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room schedule: the steps of schedules, one per file. Each is checked for legality by dependences before it
 * changes a stage's loops. Uses rooms polyhedra and stages, and their data structures.
 */
#ifndef UK_SCHEDULE_H
#define UK_SCHEDULE_H

#include "polyhedra/polyhedra.h"

/* One function per kind of step; those of tensorize and import are in match/apply.c. */
#define UK_STEP_ROW(id, word, role, apply, ...) \
    enum uk_status apply(struct uk_schedule *s, struct uk_step *step);
#include "language/steps.def"

/* scope.c: checks that `in shared` and `in register` are used on a GPU and inside loops. uk_check_room:
 * checks that the extents are constant; returns NULL or the reason why not. */
enum uk_status uk_check_scope(struct uk_schedule *s, const struct uk_step *step, const char *what);

const char *uk_check_room(const struct uk_region *r, enum uk_scope scope);
/* scope.c. uk_take_layout sets *out to the layout that the step gives, with its strides. uk_check_strides
 * checks these for a buffer of the region. Both return NULL, or the reason why not. */
const char *uk_take_layout(struct uk_schedule *s, const struct uk_step *step, int dims,
                           struct uk_buffer_layout *out);
const char *uk_check_strides(const struct uk_buffer_layout *l, const struct uk_region *r,
                             enum uk_scope scope);
/* Moves loops over threads out of the stage's first *prefix loops, inwards past the others, and lowers
 * *prefix accordingly. That is legal: their iterations are independent. */
enum uk_status uk_sink_threads(struct uk_schedule *s, struct uk_stage *st, int *prefix,
                               struct uk_position at);
/* Checks that no kernel needs more shared memory or registers than the target has. */
enum uk_status uk_check_memory(struct uk_schedule *s);
/* fill.c. uk_fill_tiles: GPU stages whose operands are all in shared memory or registers compute full tiles,
 * beyond the tensors' ends too, so that their loops have constant extents; copies fill that room with zeros.
 * uk_fill_stage does it for one stage. */
enum uk_status uk_fill_tiles(struct uk_schedule *s);
void uk_fill_stage(const struct uk_schedule *s, struct uk_stage *st);
/* distribute.c. uk_spread_over_threads gives loops over threads to stages on buffers in shared memory or
 * registers that have none; it runs before sums get the stages that initialize them. uk_make_registers then
 * reduces the indices of buffers in registers to those of one thread. */
enum uk_status uk_spread_over_threads(struct uk_schedule *s);
enum uk_status uk_make_registers(struct uk_schedule *s);
/* share_copy.c: how threads share the loops of a copy, given `extent`, outermost first, -1 if not constant.
 * Sets `part`, the threads along each loop; `trips`, the elements or vectors of a thread at most; is_even:
 * all threads have as many, except those that have none. */
struct uk_copy_shares {
    int loops;
    int64_t extent[UK_MAX_LOOPS], part[UK_MAX_LOOPS], trips;
    bool is_even;
};
void uk_share_copy(struct uk_copy_shares *c, int64_t threads);
/* Bytes that a thread loads into registers at most before it stores them to shared memory. */
enum { UK_MAX_AHEAD_BYTES = 384 };
/* Rewrites an access to a buffer in registers as one to the thread's own registers, if the stage determines
 * the thread. Returns false if memory runs out. */
bool uk_thread_part(struct uk_schedule *s, const struct uk_stage *st, struct uk_operand *o);

/* Returns whether two values that read no tensor are equal. */
bool uk_same_constant(const struct uk_expr *a, const struct uk_expr *b);
/* Returns whether the step selects this access. */
bool uk_is_selected(const struct uk_step *step, const struct uk_operand *o);
/* Returns the copy of that name, made for the whole program, if the reader can use it unchanged; else
 * NULL. */
struct uk_stage *uk_find_shared(const struct uk_schedule *s, const struct uk_stage *reader, const char *name,
                                const struct uk_tensor *from, const struct uk_copied *what);

/* ---- shared by several steps ---- */

/* Permutes the n loops `want` of the stage among their places, in this order. */
enum uk_status uk_reorder_loops(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **want, int n,
                                struct uk_position at);
/* pack_share.c. uk_same_access: the access has these subscripts, apart from spelling. uk_first_reader: the
 * first stage that reads a copy, or NULL. */
bool uk_same_access(const struct uk_access *a, struct uk_index *const *subscript, int subscripts);
const struct uk_stage *uk_first_reader(const struct uk_stage *copy);
/* The closest match of an unknown stage's name, or NULL. */
const char *uk_closest_stage(const struct uk_schedule *s, const char *word);
enum uk_status uk_find_loop(struct uk_schedule *s, const struct uk_loop_name *name, struct uk_stage **st,
                            int *position);
/* Refuses to change a loop of a stage that is tensorized, or inside which a copy is attached. */
enum uk_status uk_may_change(struct uk_schedule *s, const struct uk_stage *st, int position,
                             struct uk_position at, const char *step);
enum uk_status uk_name_is_new(struct uk_schedule *s, const char *name, struct uk_position at);
enum uk_status uk_split_loop(struct uk_schedule *s, struct uk_stage *st, int position, int64_t factor,
                             const char *outer, const char *inner, struct uk_position at);

/* ---- fuse_view.c ---- */

/* Returns whether loop `position` of the stage and the next one could be fused by a change of view (fuse.h).
 * Changes nothing. */
bool uk_fuse_is_view(struct uk_schedule *s, struct uk_stage *st, int position);

/* ---- loop_kind.c ---- */

/* Checks that after a reordering all of the stage's loops may still run in their kinds. */
enum uk_status uk_check_kinds(struct uk_schedule *s, struct uk_stage *st, struct uk_position at);
/* Checks that no stage was attached inside the stage's vector loop since. */
enum uk_status uk_check_vectors(struct uk_schedule *s, struct uk_stage *st);
/* bind.c: checks, once all steps are applied, that nests with bound loops form GPU kernels; sets the loops'
 * weights. */
enum uk_status uk_check_kernels(struct uk_schedule *s);
/* Finds the stage's loops over blocks, if any: [host, inside). */
void uk_blocks_of(const struct uk_stage *st, int *host, int *inside);
/* Returns the stage whose kernel, or loops on the host, contain the stage. A stage attached outside all loops
 * is its own root. */
struct uk_stage *uk_kernel_root(struct uk_stage *st);
/* Iterations of a loop over threads in a full block: bounds that depend on blocks or on sizes do not count.
 */
int64_t uk_full_extent(const struct uk_stage *st, const struct uk_loop *l);
/* The increase of the thread's number along the axis of l, a loop over threads of the stage, per iteration:
 * several loops of one axis are its digits, the innermost the lowest. */
int64_t uk_axis_weight(const struct uk_stage *st, const struct uk_loop *l);
/* Sets the kind of the loop IR's loop. */
void uk_set_kind(struct uk_node *n, const struct uk_loop *l);
/* Refuses to change a loop that is unrolled or vectorized. */
enum uk_status uk_check_plain(struct uk_schedule *s, const struct uk_loop *l, struct uk_position at,
                              const char *step);

/* ---- parts.c: stages that replace a stage ---- */

enum { UK_MAX_PARTS = 4 };
struct uk_parts {
    int count;
    struct uk_stage *part[UK_MAX_PARTS]; /* in the order of execution */
};
bool uk_expr_mentions(const struct uk_expr *e, const struct uk_var *v);
/* UK_REFUSED if parts cannot take the stage's place: it scatters, or a step has changed it or attached
 * another stage to it. word: the name of the step that makes them. */
enum uk_status uk_check_parts(const struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                              const char *word);
/* Sets *name to that of a part, the statement's label and the suffix. UK_REFUSED: it is taken. */
enum uk_status uk_part_name(struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                            const char *word, const char *suffix, const char **name);
/* An access to the statement's element of its buffer: the iterators are the output's. NULL: no memory. */
struct uk_expr *uk_element_of(struct uk_schedule *s, const struct uk_statement *t, struct uk_position at);
/* Makes the statement's stage. UK_OUT_OF_MEMORY also if t is NULL. */
enum uk_status uk_add_part(struct uk_schedule *s, struct uk_statement *t, struct uk_parts *out);
/* Undoes what made the parts; buffers: the schedule's before. */
void uk_forget_parts(struct uk_schedule *s, const struct uk_parts *made, struct uk_buffer *buffers);
void uk_replace_stage(struct uk_schedule *s, struct uk_stage *st, const struct uk_parts *made);

/* ---- multiply_out.c, widen.c ---- */

/* uk_multiply_out: makes one or two sums of single factors, the sum of products, and the stage that combines
 * them. uk_widen_factors: makes the stages that convert one or two factors, and the sum of their products.
 * Neither the list of stages nor `st` changes. UK_REFUSED: the step does not apply to the stage. */
enum uk_status uk_multiply_out(struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                               struct uk_parts *out);
enum uk_status uk_widen_factors(struct uk_schedule *s, const struct uk_stage *st, struct uk_position at,
                                struct uk_parts *out);

/* ---- reset.c ---- */

/* uk_identity: the value of an empty reduction; NULL: out of memory. uk_reset_stage: the stage that stores
 * it. */
struct uk_expr *uk_identity(struct uk_schedule *s, const struct uk_stage *st);
struct uk_stage *uk_reset_stage(struct uk_schedule *s, const struct uk_stage *st);

#endif
