/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room schedule: the primitives, a step per file, each checked for legality by dependences before it changes
 * a stage's loops. It uses polyhedra and stages; its data are theirs.
 */
#ifndef UK_SCHEDULE_H
#define UK_SCHEDULE_H

#include "polyhedra/polyhedra.h"

/* What applies a step, by its kind: a file each; of tensorize and import, match/apply.c. */
#define UK_STEP_ROW(id, word, role, apply, ...) \
    enum uk_status apply(struct uk_schedule *s, struct uk_step *step);
#include "language/steps.def"

/* scope.c: `in shared` and `in register` are for GPUs, inside loops; and of constant extents: NULL, or why
 * not. */
enum uk_status uk_check_scope(struct uk_schedule *s, const struct uk_step *step, const char *what);

const char *uk_check_room(const struct uk_region *r, enum uk_scope scope);
/* The layout that the step gives, with its strides; NULL, or why the buffer of that region cannot have it. */
const char *uk_take_layout(struct uk_schedule *s, const struct uk_step *step, int dims,
                           struct uk_buffer_layout *out);
const char *uk_check_strides(const struct uk_buffer_layout *l, const struct uk_region *r,
                             enum uk_scope scope);
/* Moves loops over threads among the stage's first *prefix loops inwards, past those: they are independent.
 * */
enum uk_status uk_sink_threads(struct uk_schedule *s, struct uk_stage *st, int *prefix,
                               struct uk_position at);
/* Kernels have no more of such memory than the target has. */
enum uk_status uk_check_memory(struct uk_schedule *s);
/* fill.c: stages on buffers of a block do not stop where tensors end. */
enum uk_status uk_fill_tiles(struct uk_schedule *s);
void uk_fill_stage(const struct uk_schedule *s, struct uk_stage *st);
/* distribute.c: stages on such buffers that have no loops over threads get them, before sums get theirs that
 * start them; then the indices of registers are those of one thread. */
enum uk_status uk_spread_over_threads(struct uk_schedule *s);
enum uk_status uk_make_registers(struct uk_schedule *s);
/* Makes the access to a buffer in registers one to a thread's own registers, if the stage determines the
 * thread. False: no memory. */
bool uk_thread_part(struct uk_schedule *s, const struct uk_stage *st, struct uk_operand *o);

/* Are two values that read no tensor the same? */
bool uk_same_constant(const struct uk_expr *a, const struct uk_expr *b);
/* Does the step mean this access? */
bool uk_is_meant(const struct uk_step *step, const struct uk_operand *o);
/* The whole program's copy of that name, if the reader can take it as it is; or NULL. */
struct uk_stage *uk_find_shared(const struct uk_schedule *s, const struct uk_stage *reader, const char *name,
                                const struct uk_tensor *from, const struct uk_copied *what);

/* ---- what several steps share ---- */

/* The n loops `want` of the stage in this order, in the places that they have. */
enum uk_status uk_reorder_loops(struct uk_schedule *s, struct uk_stage *st, struct uk_loop **want, int n,
                                struct uk_position at);
/* pack_share.c: has the access these subscripts, but for spelling? The first stage that reads a copy; or
 * NULL. */
bool uk_same_access(const struct uk_access *a, struct uk_index *const *subscript, int subscripts);
const struct uk_stage *uk_first_reader(const struct uk_stage *copy);
/* The name of the stage that is probably meant by a word that names none, or NULL. */
const char *uk_near_stage(const struct uk_schedule *s, const char *word);
enum uk_status uk_find_loop(struct uk_schedule *s, const struct uk_loop_name *name, struct uk_stage **st,
                            int *position);
/* Refuses to change a loop of a stage that is tensorized, or inside which a copy is attached. */
enum uk_status uk_may_change(struct uk_schedule *s, const struct uk_stage *st, int position,
                             struct uk_position at, const char *step);
enum uk_status uk_name_is_new(struct uk_schedule *s, const char *name, struct uk_position at);
enum uk_status uk_split_loop(struct uk_schedule *s, struct uk_stage *st, int position, int64_t factor,
                             const char *outer, const char *inner, struct uk_position at);

/* ---- fuse_view.c ---- */

/* Are loops `position` and the next one of the stage one loop over all that it accesses? */
bool uk_fuse_is_view(struct uk_schedule *s, struct uk_stage *st, int position);

/* ---- loop_kind.c ---- */

/* In another order, may all of the stage's loops still run as they are to? */
enum uk_status uk_check_kinds(struct uk_schedule *s, struct uk_stage *st, struct uk_position at);
/* Has nothing been attached inside the stage's vector loop since? */
enum uk_status uk_check_vectors(struct uk_schedule *s, struct uk_stage *st);
/* bind.c: once all steps are applied, what bound loops make must be kernels; tells the
 * loops their weights. */
enum uk_status uk_check_kernels(struct uk_schedule *s);
/* The stage's loops [host, inside) are over blocks, if any is. */
void uk_blocks_of(const struct uk_stage *st, int *host, int *inside);
/* The stage whose kernel, or loops on the host, the stage is in: what is attached outside of all loops is
 * alone. */
struct uk_stage *uk_kernel_root(struct uk_stage *st);
/* How the loop IR's loop runs. */
void uk_set_kind(struct uk_node *n, const struct uk_loop *l);
/* Refuses to change a loop that is unrolled or vectorized. */
enum uk_status uk_check_plain(struct uk_schedule *s, const struct uk_loop *l, struct uk_position at,
                              const char *step);

/* ---- reset.c ---- */

/* What an empty reduction gives; NULL: no memory. */
struct uk_expr *uk_identity(struct uk_schedule *s, const struct uk_stage *st);
struct uk_stage *uk_reset_stage(struct uk_schedule *s, const struct uk_stage *st);

#endif
