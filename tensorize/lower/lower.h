/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room lower: decides where temps and copies live, then turns schedules into loops: isl's AST, one leaf per
 * tile, and the checks at entry. It uses auto and interpret. Data: the loop IR of language.
 *
 * Words: a *launch* is a run of a GPU kernel (a function that a grid of blocks executes); without "GPU", a
 * kernel is a microkernel. A *slot* is one of the copies of a buffer in a pipelined loop.
 */
#ifndef UK_LOWER_H
#define UK_LOWER_H

#include "auto/auto.h"

/* ---- schedule.c ---- */

/* Applies the steps, proves that each tensorized nest computes what its kernel declares, and lowers to loops.
 * Everything in *out lives in the program's arena. `report` (or NULL) receives the text of uk explain,
 * `steps` (or NULL) the applied steps. */
enum uk_status uk_lower(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                        struct uk_text *report, struct uk_text *steps, struct uk_function **out);
/* Lowers one schedule: the program's present steps, under its present assumptions, to a function of that
 * name. version: of several; or NULL. last: a schedule whose refused drafts are not tried again; or NULL. */
enum uk_status uk_lower_schedule(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                                 const char *name, const struct uk_version *version,
                                 const struct uk_schedule *last, struct uk_text *report,
                                 struct uk_text *steps, struct uk_function **out);
/* Lists the program's tensors in f. */
enum uk_status uk_list_tensors(struct uk_program *p, struct uk_function *f);
/* versions.c: uk_lower for a program with several schedules. last: the function that was lowered before,
 * whose refused drafts are not tried again; or NULL. */
enum uk_status uk_lower_all_schedules(struct uk_program *p, const struct uk_target *t,
                                      const struct uk_options *o, const struct uk_function *last,
                                      struct uk_text *report, struct uk_text *steps,
                                      struct uk_function **out);
/* To be called if code generation refused the function's loops with `status`. True if its schedule was
 * automatic and others are left: the recorded error is then discarded, and the caller has to call
 * uk_lower_again, which tries another schedule. */
bool uk_refuse_code(const struct uk_function *f, enum uk_status status);
enum uk_status uk_lower_again(const struct uk_function *f, struct uk_text *steps, struct uk_function **out);

/* ---- storage.c ---- */

/* Decides where temps live, after all steps. */
enum uk_status uk_place_temps(struct uk_schedule *s);

/* ---- lower.c ---- */

/* Lowers every nest of the schedule, and the checks of elements that it uses as subscripts. */
enum uk_status uk_lower_stages(struct uk_schedule *s, struct uk_node **out);

/* ---- kernels.c ---- */

/* Turns loops over blocks, with their bodies, into launches. */
enum uk_status uk_make_launches(struct uk_schedule *s, struct uk_node **nodes);

/* ---- vectors.c ---- */

/* Turns a thread's loops over adjacent elements, if one access can move them, into vector loops. False: no
 * memory. */
bool uk_make_vectors(struct uk_schedule *s, struct uk_node *nodes);

/* ---- pipelines.c ---- */

/* Transforms pipelined loops so that slots are filled ahead of their use. */
enum uk_status uk_make_pipelines(struct uk_schedule *s, struct uk_node **nodes);
/* Splits consecutive copies from global to shared memory, outside of pipelines, into all their loads, into
 * registers, and all their stores: a thread waits for memory once. */
enum uk_status uk_load_copies_first(struct uk_schedule *s, struct uk_node **at);
/* True if the tensor has slots for the iterations of the loop. */
bool uk_has_slots(const struct uk_schedule *s, const struct uk_tensor *t, const struct uk_node *loop);

/* ---- barriers.c ---- */

/* Places the barriers of a launch. */
enum uk_status uk_place_barriers(struct uk_schedule *s, struct uk_node *launch);

/* ---- stage.c, plain_loops.c: the nodes of one stage ----
 *
 * value[id]: the expression for the loop with this id; NULL for loops inside. These functions return NULL if
 * there is no memory. */

/* The instances of a stage at one point of its loops [0, tile): calls of kernels, or plain loops. */
struct uk_node *uk_lower_leaf(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value);
/* The stage's statement at one instance. */
struct uk_node *uk_lower_statement(struct uk_schedule *s, const struct uk_stage *st,
                                   struct uk_index *const *value);
/* Plain loops: uk_lower_plain those from `position` on; uk_lower_versions all of a tile, with a separate
 * version for full tiles if it pays. */
struct uk_node *uk_lower_plain(struct uk_schedule *s, const struct uk_stage *st, int position,
                               struct uk_index **value);
struct uk_node *uk_lower_versions(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **value);
/* A node of this kind, a store of e to the stage's output, and an if; for the stage's position in the
 * text. */
struct uk_node *uk_lower_node(struct uk_schedule *s, enum uk_node_op op, const struct uk_stage *st);
/* im2col.c: the element of a matrix of step `im2col` that the operand reads, as one of the tensor in memory;
 * NULL: no memory. */
struct uk_expr *uk_lower_im2col(struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o,
                                struct uk_index *const *value);
struct uk_node *uk_lower_store(struct uk_schedule *s, const struct uk_stage *st, const struct uk_expr *e,
                               struct uk_index *const *value);
struct uk_node *uk_lower_if(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *condition,
                            struct uk_node *body, struct uk_node *other);

/* ---- checks.c ---- */

/* Appends the checks of the elements that the stage uses as subscripts. */
enum uk_status uk_lower_checks(struct uk_schedule *s, const struct uk_stage *st, struct uk_node ***end);

/* ---- constant_edges.c, fold_bias.c: only for targets without vectors ---- */

/* Makes the extent of a partial tile at the edge of a constant dimension a constant too, instead of a
 * minimum: loops over registers, and kernels with code for each extent, need a number. */
enum uk_status uk_constant_edges(struct uk_schedule *s, struct uk_node *body);
/* Initializes a kernel's i32 tile with the bias that the next stage would add to all its elements, and
 * removes that addition. */
enum uk_status uk_fold_bias(struct uk_schedule *s, struct uk_node **body);

/* ---- hint.c ---- */

/* Sets `ahead` and `part` of a call whose form has a hint. False: no memory. */
bool uk_lower_hint(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *const *value,
                   struct uk_node *call);

/* ---- copy.c: copies in plain loops ---- */

/* Stores one element of a copy: that of the source, or the pad's value outside of the source. */
struct uk_node *uk_lower_copy(struct uk_schedule *s, const struct uk_stage *st,
                              struct uk_index *const *value);
/* Position of the innermost loop along which a copy to global memory has a border: elements before the
 * source's first one or, if the copied access is under pad, outside the source on either side. -1: there is
 * none, or the copy is to another memory, where each element, or vector, has a test. */
int uk_border_loop(const struct uk_stage *st);
/* The loops from `position`, that of uk_border_loop, on. That loop is split into the part before the source,
 * the source, and the part after it. */
struct uk_node *uk_lower_copy_row(struct uk_schedule *s, const struct uk_stage *st, int position,
                                  struct uk_index **value);
/* True if all threads of a GPU's block make the copy together, element by element, and checks are only needed
 * at the ends of the source. */
bool uk_is_block_copy(const struct uk_stage *st);
/* Such a copy: a version without checks for blocks that are inside the source, and one with checks. */
struct uk_node *uk_lower_block_copy(struct uk_schedule *s, const struct uk_stage *st,
                                    struct uk_index **value);

/* ---- program.c, packed.c, argument_width.c: what follows the steps ---- */

/* Completes the stages after all steps: chooses kernels for copies, inserts initializations of sums, and
 * decides which loops isl generates (uk_stage.tile). */
enum uk_status uk_finish_stages(struct uk_schedule *s);
/* The number of elements from the first to the last one. An empty dimension counts as one element if the text
 * gives strides; else the result is 0. */
struct uk_index *uk_elements_of(struct uk_arena *a, const struct uk_tensor *t);
/* True if the copy, of a constant tensor, is made once, by another function than the program's. */
bool uk_is_constant_pack(const struct uk_stage *st);
/* True if the stage, made by widen, converts a constant tensor. */
bool uk_is_constant_conversion(const struct uk_stage *st);
/* conversions.c: lets copies of converted constants convert the constants themselves. */
enum uk_status uk_convert_constants(struct uk_schedule *s);
/* Removes the tensor's buffer from the workspace. NULL: it has none. */
struct uk_buffer *uk_take_buffer(struct uk_schedule *s, const struct uk_tensor *t);
/* Creates those functions, one for each constant tensor. Its packed form, a block of bytes, replaces the
 * tensor among f's; the copies move from the schedule's stages to the list *packed. */
enum uk_status uk_pack_constants(struct uk_schedule *s, struct uk_function *f, struct uk_stage **packed);
/* Creates buffers for the temps in use. */
enum uk_status uk_add_temps(struct uk_schedule *s);
/* True if a loop of the nest of stage `of` is parallel. */
bool uk_nest_is_parallel(const struct uk_schedule *s, const struct uk_stage *of);
/* Adds the checks at entry: assumptions, kernels' narrow arguments, and the condition on the sizes under
 * which every access is inside its tensor. */
enum uk_status uk_add_checks(struct uk_schedule *s, struct uk_function *f);
/* Adds the kernel to the list of f, which has room, unless it is there. */
void uk_list_intrinsic(struct uk_function *f, struct uk_intrinsic *intrinsic);
/* Lists in f the kernels that its stages call. */
enum uk_status uk_list_intrinsics(struct uk_schedule *s, struct uk_function *f);
/* Adds a condition on the sizes to the checks at entry. */
enum uk_status uk_add_check(struct uk_schedule *s, struct uk_function *f, struct uk_index *condition);
/* short_indices.c: on a GPU, if some sizes are not defined: sets f->fits. */
enum uk_status uk_find_short_indices(struct uk_schedule *s, struct uk_function *f);
/* Adds the checks at entry that the arguments of the stage's kernel, which may be narrower than 64 bits, can
 * hold its sizes. Refuses if they never can. */
enum uk_status uk_check_arguments(struct uk_schedule *s, const struct uk_stage *st, struct uk_function *f);

/* ---- requantize.c: requantization to fewer bits ---- */

/* Kinds of expressions for which the target has one instruction, or a short sequence. In HALF and SHIFT all
 * operations of the expression are in i64. */
enum uk_fused_form {
    UK_FUSED_NONE,
    /* u8 or i8: round(arg[0]) + arg[1], clamped to the type; arg[0] is an f32, arg[1] an integer or NULL. */
    UK_FUSED_BYTE,
    /* i64: min((arg[0] * arg[1] + 2^30) >> 31, 2^31 - 1), where arg[0] and arg[1] are in the range of an
     * i32. */
    UK_FUSED_HALF,
    UK_FUSED_SHIFT, /* i64: arg[0] shifted right by arg[1], rounded to nearest, ties upward */
    UK_FUSED_MIN,   /* min of integers arg[0], arg[1] */
    UK_FUSED_MAX,   /* max of integers arg[0], arg[1] */
};
struct uk_fused {
    enum uk_fused_form form;
    const struct uk_expr *arg[2];
};
/* Recognizes the expression e itself, not its operands; UK_FUSED_NONE if it is of no kind, or the target
 * lacks the instruction. */
struct uk_fused uk_fuse_value(const struct uk_target *t, const struct uk_expr *e);
/* True if the float is not NaN for any input; it may be infinite. */
bool uk_is_no_nan(const struct uk_expr *e);
/* Adds an indented line of uk explain for each kind of fused expression in e. */
void uk_report_fused(const struct uk_target *t, const struct uk_expr *e, struct uk_text *report);
/* True if the integer e is in low..high for all inputs, as its types, numbers, min and max show. */
bool uk_has_range(const struct uk_expr *e, int64_t low, int64_t high);

#endif
