/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room lower: decides where temps and copies live, then turns schedules into loops: isl's AST, one leaf per
 * tile, and the checks at entry. It uses auto and interpret. Data: the loop IR of language.
 */
#ifndef UK_LOWER_H
#define UK_LOWER_H

#include "auto/auto.h"

/* Applies the steps, proves the tensorized nests, and lowers to loops. Everything in *out lives in the
 * program's arena. `report` (or NULL) receives the text of uk explain, `steps` (or NULL) the applied
 * steps. */
enum uk_status uk_lower(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                        struct uk_text *report, struct uk_text *steps, struct uk_function **out);
/* Reports that code generation refused the function's loops. True if its schedule was automatic and others
 * are left: the error is then forgotten, and uk_lower_again has to be called, which tries another
 * schedule. */
bool uk_refuse_code(const struct uk_function *f, enum uk_status status);
enum uk_status uk_lower_again(const struct uk_function *f, struct uk_text *steps, struct uk_function **out);

/* storage.c: decides where temps live, after all steps. */
enum uk_status uk_place_temps(struct uk_schedule *s);
enum uk_status uk_lower_stages(struct uk_schedule *s, struct uk_node **out);
/* kernels.c: turns loops over blocks, with their bodies, into launches. */
enum uk_status uk_make_launches(struct uk_schedule *s, struct uk_node **nodes);
/* vectors.c: turns a thread's loops over adjacent elements, if one access can move them, into vector loops.
 * False: no memory. */
bool uk_make_vectors(struct uk_schedule *s, struct uk_node *nodes);
/* pipelines.c: transforms pipelined loops so that slots are filled ahead of their use. */
enum uk_status uk_make_pipelines(struct uk_schedule *s, struct uk_node **nodes);
/* True if the tensor has slots for the iterations of the loop. */
bool uk_has_slots(const struct uk_schedule *s, const struct uk_tensor *t, const struct uk_node *loop);
/* barriers.c: places the barriers of a launch. */
enum uk_status uk_place_barriers(struct uk_schedule *s, struct uk_node *launch);
/* The instances of a stage at one point of its loops before `tile`: calls, or plain loops. value: by loop
 * id. */
struct uk_node *uk_lower_leaf(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value);
/* The stage's statement at one instance. */
struct uk_node *uk_lower_statement(struct uk_schedule *s, const struct uk_stage *st,
                                   struct uk_index *const *value);
/* plain_loops.c: the stage's loops from `position` on. uk_lower_versions: all loops of a tile, with a
 * separate version for full tiles if it pays. */
struct uk_node *uk_lower_plain(struct uk_schedule *s, const struct uk_stage *st, int position,
                               struct uk_index **value);
struct uk_node *uk_lower_versions(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **value);
struct uk_node *uk_lower_node(struct uk_schedule *s, enum uk_node_op op, const struct uk_stage *st);
struct uk_node *uk_lower_store(struct uk_schedule *s, const struct uk_stage *st, const struct uk_expr *e,
                               struct uk_index *const *value);
struct uk_node *uk_lower_if(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *condition,
                            struct uk_node *body, struct uk_node *other);

/* checks.c: appends the checks of the elements that the stage uses as subscripts. */
enum uk_status uk_lower_checks(struct uk_schedule *s, const struct uk_stage *st, struct uk_node ***end);

/* constant_edges.c, fold_bias.c: transformations for targets without vectors. */
enum uk_status uk_constant_edges(struct uk_schedule *s, struct uk_node *body);
enum uk_status uk_fold_bias(struct uk_schedule *s, struct uk_node **body);

/* copy.c: an element of a copy. uk_border_loop: the last loop along which the copy has values from
 * outside its source (before it, or any if they are not 0); uk_lower_copy_row splits it into the part before
 * the source, the source, and the part after it; -1: none. */
struct uk_node *uk_lower_copy(struct uk_schedule *s, const struct uk_stage *st,
                              struct uk_index *const *value);
int uk_border_loop(const struct uk_stage *st);
struct uk_node *uk_lower_copy_row(struct uk_schedule *s, const struct uk_stage *st, int position,
                                  struct uk_index **value);
bool uk_is_block_copy(const struct uk_stage *st);
struct uk_node *uk_lower_block_copy(struct uk_schedule *s, const struct uk_stage *st,
                                    struct uk_index **value);
/* program.c: after all steps: kernels of copies, resets of sums, and the loops that isl generates. */
enum uk_status uk_finish_stages(struct uk_schedule *s);
/* The number of elements from the first to the last one; an empty dimension counts as one element. */
struct uk_index *uk_elements_of(struct uk_arena *a, const struct uk_tensor *t);
/* packed.c: true if the copy, of a constant tensor, is made outside the program's function. */
bool uk_is_packed_before(const struct uk_stage *st);
/* Creates the functions that pack constant tensors; the packed forms replace those tensors among f's. Their
 * copies move from the stages to the list *packed. */
enum uk_status uk_pack_constants(struct uk_schedule *s, struct uk_function *f, struct uk_stage **packed);
/* Creates buffers for the temps in use. */
enum uk_status uk_add_temps(struct uk_schedule *s);
bool uk_nest_is_parallel(const struct uk_schedule *s, const struct uk_stage *of);
/* Adds the checks at entry: assumptions, kernels' narrow arguments, and the condition on the sizes under
 * which every access is inside its tensor. */
enum uk_status uk_add_checks(struct uk_schedule *s, struct uk_function *f);
enum uk_status uk_list_intrinsics(struct uk_schedule *s, struct uk_function *f);
/* Adds a condition on the sizes, tested at entry. */
enum uk_status uk_add_check(struct uk_schedule *s, struct uk_function *f, struct uk_index *condition);
/* argument_width.c: adds the conditions under which the stage's kernel can be passed its sizes, or
 * refuses. */
enum uk_status uk_check_arguments(struct uk_schedule *s, const struct uk_stage *st, struct uk_function *f);

/* requantize.c: requantization to fewer bits, in forms for which the target has instructions. */
enum uk_fused_form {
    UK_FUSED_NONE,
    UK_FUSED_BYTE,  /* u8 or i8 of the rounded f32 arg[0] plus the integer arg[1] (or NULL) */
    UK_FUSED_HALF,  /* i64: the upper half of twice the product of two i32, rounded and saturated */
    UK_FUSED_SHIFT, /* i64: arg[0] shifted right by arg[1], ties upward */
    UK_FUSED_MIN,   /* min of integers */
    UK_FUSED_MAX,   /* max of integers */
};
struct uk_fused {
    enum uk_fused_form form;
    const struct uk_expr *arg[2];
};
struct uk_fused uk_fuse_value(const struct uk_target *t, const struct uk_expr *e);
/* True if the float is not NaN for any input; it may be infinite. */
bool uk_is_no_nan(const struct uk_expr *e);
/* Adds the lines of uk explain about them, one for each form, indented. */
void uk_report_fused(const struct uk_target *t, const struct uk_expr *e, struct uk_text *report);
/* True if the integer is in low..high for all inputs, judged by its types, numbers, min and max. */
bool uk_has_range(const struct uk_expr *e, int64_t low, int64_t high);

#endif
