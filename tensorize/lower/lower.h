/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room lower: where temps and copies live, then schedules to loops: isl's AST, one leaf per tile, and the
 * checks at entry. It uses auto and interpret. Data: the loop IR of language.
 */
#ifndef UK_LOWER_H
#define UK_LOWER_H

#include "auto/auto.h"

/* Applies the steps, proves the tensorized nests, and lowers to loops. Everything in *out lives in the
 * program's arena. `report` (or NULL) receives what uk explain prints, `steps` (or NULL) the steps as
 * applied. */
enum uk_status uk_lower(struct uk_program *p, const struct uk_target *t, const struct uk_options *o,
                        struct uk_text *report, struct uk_text *steps, struct uk_function **out);
/* No code could be made of the function's loops: whether its schedule was an automatic one, and others are
 * left. The error is forgotten then, and uk_lower_again has to follow, which takes another. */
bool uk_refuse_code(const struct uk_function *f, enum uk_status status);
enum uk_status uk_lower_again(const struct uk_function *f, struct uk_text *steps, struct uk_function **out);

/* storage.c: decides where temps live, once all steps are applied. */
enum uk_status uk_place_temps(struct uk_schedule *s);
enum uk_status uk_lower_stages(struct uk_schedule *s, struct uk_node **out);
/* kernels.c: the loops over blocks, with all inside, become launches. */
enum uk_status uk_make_launches(struct uk_schedule *s, struct uk_node **nodes);
/* vectors.c: loops over neighbours that one access of a thread takes become vector loops. False: no memory.
 * */
bool uk_make_vectors(struct uk_schedule *s, struct uk_node *nodes);
/* pipelines.c: makes pipelined loops: slots are filled ahead of their use. */
enum uk_status uk_make_pipelines(struct uk_schedule *s, struct uk_node **nodes);
/* Has the tensor slots, for the iterations of the loop? */
bool uk_has_slots(const struct uk_schedule *s, const struct uk_tensor *t, const struct uk_node *loop);
/* barriers.c */
enum uk_status uk_place_barriers(struct uk_schedule *s, struct uk_node *launch);
/* The instances of a stage at one point of its loops before `tile`: calls, or plain loops. value by loop id.
 */
struct uk_node *uk_lower_leaf(struct uk_schedule *s, struct uk_stage *st, struct uk_index **value);
/* An instance of the stage's statement. */
struct uk_node *uk_lower_statement(struct uk_schedule *s, const struct uk_stage *st,
                                   struct uk_index *const *value);
/* lower_plain.c: the stage's loops from `position` on; all of the tile's, with a version for full tiles where
 * that is worth it. */
struct uk_node *uk_lower_plain(struct uk_schedule *s, const struct uk_stage *st, int position,
                               struct uk_index **value);
struct uk_node *uk_lower_versions(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **value);
struct uk_node *uk_lower_node(struct uk_schedule *s, enum uk_node_op op, const struct uk_stage *st);
struct uk_node *uk_lower_store(struct uk_schedule *s, const struct uk_stage *st, const struct uk_expr *e,
                               struct uk_index *const *value);
struct uk_node *uk_lower_if(struct uk_schedule *s, const struct uk_stage *st, struct uk_index *condition,
                            struct uk_node *body, struct uk_node *other);

/* lower_checks.c: appends the tests of the elements that are subscripts in the stage. */
enum uk_status uk_lower_checks(struct uk_schedule *s, const struct uk_stage *st, struct uk_node ***end);

/* constant_edges.c, fold_bias.c: changes of the loops, for targets without vectors. */
enum uk_status uk_constant_edges(struct uk_schedule *s, struct uk_node *body);
enum uk_status uk_fold_bias(struct uk_schedule *s, struct uk_node **body);

/* lower_copy.c: an element of a copy. The last of its loops along which it holds what is in front of its
 * source, or another value than 0 around it: what is in front, the source, and what is behind; -1: there is
 * none. */
struct uk_node *uk_lower_copy(struct uk_schedule *s, const struct uk_stage *st,
                              struct uk_index *const *value);
int uk_border_loop(const struct uk_stage *st);
struct uk_node *uk_lower_copy_row(struct uk_schedule *s, const struct uk_stage *st, int position,
                                  struct uk_index **value);
bool uk_is_block_copy(const struct uk_stage *st);
struct uk_node *uk_lower_block_copy(struct uk_schedule *s, const struct uk_stage *st,
                                    struct uk_index **value);
/* lower_program.c: once all steps are applied, kernels of copies, resets of sums, and which loops isl makes.
 * */
enum uk_status uk_finish_stages(struct uk_schedule *s);
/* Elements from the first to the last one; an empty dimension counts as if it had one. */
struct uk_index *uk_elements_of(struct uk_arena *a, const struct uk_tensor *t);
/* packed.c: whether the copy, of a constant tensor, is made outside of the program's function. */
bool uk_is_packed_before(const struct uk_stage *st);
/* The functions that make the packed forms of constant tensors, which take those tensors' places among f's.
 * Their copies go from the stages to the list *packed. */
enum uk_status uk_pack_constants(struct uk_schedule *s, struct uk_function *f, struct uk_stage **packed);
/* Buffers of the temps that are used. */
enum uk_status uk_add_temps(struct uk_schedule *s);
bool uk_nest_is_parallel(const struct uk_schedule *s, const struct uk_stage *of);
/* Assumptions, what kernels take in few bits, and the condition on the sizes under which every access is
 * inside its tensor. */
enum uk_status uk_add_checks(struct uk_schedule *s, struct uk_function *f);
enum uk_status uk_list_intrinsics(struct uk_schedule *s, struct uk_function *f);
/* A condition on the sizes, tested at entry. */
enum uk_status uk_add_check(struct uk_schedule *s, struct uk_function *f, struct uk_index *condition);
/* argument_width.c: adds the conditions under which the stage's kernel can be passed its sizes, or refuses.
 * */
enum uk_status uk_check_arguments(struct uk_schedule *s, const struct uk_stage *st, struct uk_function *f);

/* requantize.c: values that are requantized to fewer bits, in forms for which the target has instructions. */
enum uk_fused_form {
    UK_FUSED_NONE,
    UK_FUSED_BYTE,  /* u8 or i8 of the f32 arg[0] rounded, and of the integer arg[1] added (or NULL) */
    UK_FUSED_HALF,  /* i64: the upper half of twice the product of two i32, rounded and saturated */
    UK_FUSED_SHIFT, /* i64: arg[0] shifted right by arg[1], ties upward */
    UK_FUSED_LEAST, /* an integer's min */
    UK_FUSED_MOST,  /* and max */
};
struct uk_fused {
    enum uk_fused_form form;
    const struct uk_expr *arg[2];
};
struct uk_fused uk_fuse_value(const struct uk_target *t, const struct uk_expr *e);
/* Whether the float is a number, or infinite, for all inputs: no NaN. */
bool uk_is_no_nan(const struct uk_expr *e);
/* What uk explain says of them, a line for each kind, indented. */
void uk_report_fused(const struct uk_target *t, const struct uk_expr *e, struct uk_text *report);
/* Whether the integer is in low..high for all inputs, as far as its types, numbers, min and max show. */
bool uk_has_range(const struct uk_expr *e, int64_t low, int64_t high);

#endif
