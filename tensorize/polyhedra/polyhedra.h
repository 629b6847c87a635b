/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room polyhedra: all questions that isl answers (dependences, proofs, conditions on the sizes), except the
 * AST of room lower. It uses stages. Data: isl's own.
 *
 * An isl object that a function returns belongs to the caller. Of those that are passed, functions take what
 * isl marks __isl_take (their comments then say "takes") and only use the others (__isl_keep).
 */
#ifndef UK_POLYHEDRA_H
#define UK_POLYHEDRA_H

#include <isl/aff.h>
#include <isl/ast_build.h>
#include <isl/ctx.h>
#include <isl/set.h>
#include "stages/stages.h"

/* ---- parameters.c: the sizes that are parameters of a problem ----
 *
 * The parameter scope is the set of sizes that the current isl problem may have as parameters. A problem
 * begins with a new scope, since its cost grows with the number of parameters. */

/* uk_scope_begin starts an empty parameter scope. The other two add the sizes of a stage or of an expression,
 * and those that assumptions connect with them. */
void uk_scope_begin(struct uk_schedule *s);
void uk_scope_stage(struct uk_schedule *s, const struct uk_stage *st);
void uk_scope_index(struct uk_schedule *s, const struct uk_index *e);
/* Starts a parameter scope of all sizes. */
void uk_scope_all(struct uk_schedule *s);
/* True if the relation mentions a size of the parameter scope. */
bool uk_is_in_scope(const struct uk_schedule *s, const struct uk_index *relation);
/* The space without dimensions whose parameters are those sizes of the scope that are extents or occur in an
 * assumption, unless their value is defined. */
isl_space *uk_parameters(struct uk_schedule *s);

/* ---- polyhedra.c: sets, proofs, dependences ---- */

/* The context's isl_ctx, created on first use, with its error and its count of operations reset. NULL: no
 * memory. */
isl_ctx *uk_isl(struct uk_schedule *s);
void uk_context_isl_destroy(struct isl_ctx *ctx);

/* The values of the stage's first `loops` loops for which an instance exists, as a set named `name` (NULL: no
 * name). */
isl_set *uk_outer_set(struct uk_schedule *s, const struct uk_stage *st, int loops, const char *name);
/* The values of the parameters that the program's assumptions allow, none of them negative. */
isl_set *uk_context_set(struct uk_schedule *s);
/* A space whose dimensions are the stage's first `loops` loops; name may be NULL. */
isl_space *uk_loop_space(struct uk_schedule *s, int loops, const char *name);
/* Converts a relation (uk_relation_set) or an expression (uk_isl_affine) over the loops of a space `sp` from
 * uk_loop_space, and sizes. Only uses sp. */
isl_set *uk_relation_set(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                         const struct uk_index *e);
isl_pw_aff *uk_isl_affine(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                          const struct uk_index *e);
/* Maps every point of the space to all integers: an index that is read from a tensor can have any value. */
isl_map *uk_isl_any_value(isl_space *sp);
/* The sizes for which a relation over sizes holds, as a parameter set. */
isl_set *uk_relation_params(struct uk_schedule *s, const struct uk_index *relation);
/* The sizes for which the stage has an instance. */
isl_set *uk_instance_sizes(struct uk_schedule *s, const struct uk_stage *st);
/* True if `relation` (over the stage's first `loops` loops and the sizes) provably holds for every
 * instance. */
bool uk_proves(struct uk_schedule *s, const struct uk_stage *st, int loops, struct uk_index *relation);
/* Refuses a loop order that violates a dependence of the stage; the message names it. */
enum uk_status uk_check_order(struct uk_schedule *s, struct uk_stage *st, struct uk_position at,
                              const char *step);
/* Refuses a loop, that at `position`, if its iterations depend on each other. relax: ignores dependences that
 * only the stage's own reduction causes. */
enum uk_status uk_check_parallel(struct uk_schedule *s, struct uk_stage *st, int position, bool relax,
                                 struct uk_position at, const char *step);
/* True if two threads of one block (or, with `blocks`, of two blocks) access the same element of the tensor
 * that stage a writes: one by a's write, the other through operand `operand` of b. The stages share their
 * first `inside` loops: those at positions [0, host) run on the host and have one value for both accesses;
 * those at [host, inside) are over blocks; the first loop inside a block is at `inside`. Also true if isl
 * fails; then uk_isl_status has the error. */
bool uk_has_shared_element(struct uk_schedule *s, const struct uk_stage *a, const struct uk_stage *b,
                           int operand, int host, int inside, bool blocks);
/* The sizes for which some instance of the access is outside its tensor's shape in dimension d. NULL is one
 * of these:
 * - no instance is outside, which is so plain that isl was not asked
 * - the index is an element of a tensor, which is tested at run time
 * - a failure, which uk_isl_status returns */
isl_set *uk_sizes_outside_shape(struct uk_schedule *s, const struct uk_stage *st, const struct uk_access *a,
                                int d);
/* The error of isl since uk_isl(), or else the context's, as a status; records isl's in the context. */
enum uk_status uk_isl_status(struct uk_schedule *s);

/* ---- rules of programs that only isl can check (places.c: layouts; written.c: temps; versions.c) ----
 *
 * program.c implements uk_program_check() of tensorize.h, which checks them. */

struct uk_point {
    const char *sizes;              /* values of the sizes, " for N = 2, M = 0"; or "" */
    int64_t value[2 * UK_MAX_DIMS]; /* of the set's dimensions, outermost loop first; sizes not among them */
};
/* Finds the lexicographically smallest point of a set over loops; in this order the sizes come before the
 * loops. False: the set is empty, or isl failed. Takes the set. */
bool uk_lexmin_point(struct uk_schedule *s, isl_set *set, struct uk_point *out);
/* A text such as "X[0] and X[4] share place [0] for N = 5", if the map sends two elements to one place. NULL:
 * it does not, or isl failed. shape: extents of the map's indices; NULL: any index >= 0. */
const char *uk_shared_place(struct uk_schedule *s, const char *name, const struct uk_map *m,
                            struct uk_index *const shape[]);
/* Refuses reads of elements of temps that no earlier statement writes. */
enum uk_status uk_check_written(struct uk_schedule *s);

/* Refuses a schedule that is taken for no sizes, whatever values are defined. */
enum uk_status uk_check_version_sizes(struct uk_schedule *s);
/* True if some sizes that the program allows fulfil the condition, or isl fails. */
bool uk_is_possible(struct uk_schedule *s, struct uk_index *condition);

/* ---- inside.c ---- */

/* Sets *out to the condition on the sizes under which every access of the statement is inside its tensor's
 * shape; the constant 1 if they always are. UK_REFUSED: it holds only for sizes with which there is nothing
 * to compute. */
enum uk_status uk_inside_condition(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **out);
/* Refuses the program if `conditions`, the conjunction of those of all stages, holds only for sizes with
 * which no stage computes anything. */
enum uk_status uk_check_conditions(struct uk_schedule *s, struct uk_index *conditions);

/* ---- ast_index.c: converts isl's AST expressions to uk_index ---- */

/* The AST loops around an expression as a list, innermost first: names of isl and the variables that replace
 * them. */
struct uk_ast_scope {
    const struct uk_ast_scope *outer;
    const char *iterator; /* isl's name of the loop's variable */
    struct uk_var *var;
};

/* The expression as uk_index; only uses e. NULL: no memory, or an expression of a kind that isl does not
 * generate here. */
struct uk_index *uk_ast_index(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e);
/* The i-th argument of an operation, from 0, converted. */
struct uk_index *uk_ast_argument(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e,
                                 int i);
/* True if the nest that is being lowered counts the size as at least 1 (s->raised_size). */
bool uk_is_raised(const struct uk_schedule *s, const struct uk_var *v);
/* The condition that holds for the sizes in a parameter set; takes the set. NULL: as for uk_ast_index. */
struct uk_index *uk_condition_index(struct uk_schedule *s, isl_set *set);

#endif
