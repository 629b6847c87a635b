/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room polyhedra: all questions that isl answers (dependences, proofs, conditions on the sizes), except the
 * AST of lower. It uses stages. Data: isl's own.
 */
#ifndef UK_POLYHEDRA_H
#define UK_POLYHEDRA_H

#include <isl/aff.h>
#include <isl/ast_build.h>
#include <isl/ctx.h>
#include <isl/set.h>
#include "stages/stages.h"

/* ---- parameters.c: the sizes that are parameters of a problem ---- */

/* uk_scope_begin starts a scope without sizes; the others add the sizes of a stage or of an expression, and
 * those that assumptions connect with them. */
void uk_scope_begin(struct uk_schedule *s);
void uk_scope_stage(struct uk_schedule *s, const struct uk_stage *st);
void uk_scope_index(struct uk_schedule *s, const struct uk_index *e);
/* Starts a scope of all sizes. */
void uk_scope_all(struct uk_schedule *s);
bool uk_is_in_scope(const struct uk_schedule *s, const struct uk_index *relation);
isl_space *uk_parameters(struct uk_schedule *s);

/* ---- polyhedra.c: sets, proofs, dependences ---- */

/* The context's isl, created on first use; its error and operation count are reset. */
isl_ctx *uk_isl(struct uk_schedule *s);
void uk_context_isl_destroy(struct isl_ctx *ctx);

/* The values of the stage's first `loops` loops for which an instance exists, as a set named `name`. */
isl_set *uk_outer_set(struct uk_schedule *s, const struct uk_stage *st, int loops, const char *name);
isl_set *uk_context_set(struct uk_schedule *s);
/* A space whose dimensions are the stage's first `loops` loops; name may be NULL. */
isl_space *uk_loop_space(struct uk_schedule *s, int loops, const char *name);
/* A relation, or an expression, over these loops and the sizes; the caller keeps the space. */
isl_set *uk_relation_set(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                         const struct uk_index *e);
isl_pw_aff *uk_isl_affine(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                          const struct uk_index *e);
/* Maps every point of the space to all integers: an index that is read from a tensor can be any. */
isl_map *uk_isl_any(isl_space *sp);
isl_set *uk_relation_params(struct uk_schedule *s, const struct uk_index *relation);
/* The sizes for which the stage has an instance. */
isl_set *uk_instance_sizes(struct uk_schedule *s, const struct uk_stage *st);
/* True if `relation` (over the stage's first `loops` loops and the sizes) provably holds for every
 * instance. */
bool uk_proves(struct uk_schedule *s, const struct uk_stage *st, int loops, struct uk_index *relation);
/* Refuses a loop order that violates a dependence of the stage; the message names it. */
enum uk_status uk_check_order(struct uk_schedule *s, struct uk_stage *st, struct uk_position at,
                              const char *step);
/* Refuses a loop whose iterations depend on each other. relax: ignores dependences that are due only to the
 * stage's own reduction. */
enum uk_status uk_check_parallel(struct uk_schedule *s, struct uk_stage *st, int position, bool relax,
                                 struct uk_position at, const char *step);
/* True if two threads of one block (or, with `blocks`, two blocks) access the same element of the tensor that
 * stage a writes: one through a's write, the other through operand `operand` of b. Both stages have the same
 * values of loops [0, host); loops [host, inside) are over blocks. Also true if isl fails. */
bool uk_crosses(struct uk_schedule *s, const struct uk_stage *a, const struct uk_stage *b, int operand,
                int host, int inside, bool blocks);
/* The sizes for which some instance of the access is outside its tensor's shape in dimension d. NULL, without
 * asking isl: there are none; or the index is an element of a tensor, which is tested at run time. */
isl_set *uk_leaving(struct uk_schedule *s, const struct uk_stage *st, const struct uk_access *a, int d);
enum uk_status uk_isl_status(struct uk_schedule *s);

/* ---- places.c, written.c, program.c: rules of programs that only isl can check; uk_program_check() ---- */

struct uk_point {
    const char *sizes; /* " for N = 2, M = 0"; or "" */
    int64_t value[2 * UK_MAX_DIMS];
};
/* The lexicographically smallest point of a set over loops, sizes first. False: the set is empty, or isl
 * failed. Takes the set. */
bool uk_lexmin_point(struct uk_schedule *s, isl_set *set, struct uk_point *out);
/* "X[0] and X[4] share place [0] for N = 5": two elements that the map sends to one place. NULL: there are
 * none, or isl failed. shape may be NULL: unbounded. */
const char *uk_shared_place(struct uk_schedule *s, const char *name, const struct uk_map *m,
                            struct uk_index *const shape[]);
/* Refuses reads of elements of temps that no earlier statement writes. */
enum uk_status uk_check_written(struct uk_schedule *s);

/* ---- inside.c ---- */

/* The condition on the sizes under which every access of the statement is inside its tensor's shape (1:
 * always). UK_REFUSED: it holds only if there is nothing to compute. */
enum uk_status uk_inside_condition(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **out);
/* Refuses the conditions of several stages if they hold together only if there is nothing to compute. */
enum uk_status uk_check_together(struct uk_schedule *s, struct uk_index *conditions);

/* ---- ast_index.c: converts isl's AST expressions to uk_index ---- */

struct uk_ast_scope {
    const struct uk_ast_scope *outer;
    const char *iterator; /* isl's name of it */
    struct uk_var *var;
};

/* NULL: no memory, or an expression that isl does not generate here. The caller keeps e. */
struct uk_index *uk_ast_index(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e);
/* The i-th argument of an operation. */
struct uk_index *uk_ast_argument(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e,
                                 int i);
/* True if the nest being lowered treats the size as at least 1. */
bool uk_is_raised(const struct uk_schedule *s, const struct uk_var *v);
/* Converts a set of sizes to a condition on them; takes the set. */
struct uk_index *uk_condition_index(struct uk_schedule *s, isl_set *set);

#endif
