/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room polyhedra: every question that isl answers: dependences, proofs, conditions on the sizes; not lower's
 * AST. It uses stages. Data: isl's own.
 */
#ifndef UK_POLYHEDRA_H
#define UK_POLYHEDRA_H

#include <isl/aff.h>
#include <isl/ast_build.h>
#include <isl/ctx.h>
#include <isl/set.h>
#include "stages/stages.h"

/* ---- parameters.c: the sizes of a problem that is put to isl ---- */

/* Begins a scope without sizes; adds a stage's, an expression's, and what assumptions connect with them. */
void uk_scope_begin(struct uk_schedule *s);
void uk_scope_stage(struct uk_schedule *s, const struct uk_stage *st);
void uk_scope_index(struct uk_schedule *s, const struct uk_index *e);
/* A scope of all sizes. */
void uk_scope_all(struct uk_schedule *s);
bool uk_is_in_scope(const struct uk_schedule *s, const struct uk_index *relation);
isl_space *uk_parameters(struct uk_schedule *s);

/* ---- polyhedra.c: everything that asks isl ---- */

/* The context's isl, made on first use, with its error and its operation count reset. */
isl_ctx *uk_isl(struct uk_schedule *s);
void uk_context_isl_destroy(struct isl_ctx *ctx);

/* Values of the first `loops` loops of the stage for which an instance exists: a set named `name`. */
isl_set *uk_outer_set(struct uk_schedule *s, const struct uk_stage *st, int loops, const char *name);
isl_set *uk_context_set(struct uk_schedule *s);
/* The stage's first loops as the dimensions of a set; name: or NULL. */
isl_space *uk_loop_space(struct uk_schedule *s, int loops, const char *name);
/* A relation, or an expression, over them and the sizes; the space stays the caller's. */
isl_set *uk_relation_set(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                         const struct uk_index *e);
isl_pw_aff *uk_isl_affine(struct uk_schedule *s, const struct uk_stage *st, isl_space *sp,
                          const struct uk_index *e);
/* From every point of the space to all integers: of an index that is an element of a tensor. */
isl_map *uk_isl_any(isl_space *sp);
isl_set *uk_relation_params(struct uk_schedule *s, const struct uk_index *relation);
/* The sizes for which the stage has an instance. */
isl_set *uk_instance_sizes(struct uk_schedule *s, const struct uk_stage *st);
/* Is `relation` (over the stage's first `loops` loops and sizes) true wherever an instance exists? */
bool uk_proves(struct uk_schedule *s, const struct uk_stage *st, int loops, struct uk_index *relation);
/* Does the order of execution given by the loops violate a dependence? If it does, `why` says which. */
enum uk_status uk_check_order(struct uk_schedule *s, struct uk_stage *st, struct uk_position at,
                              const char *step);
/* Are the loop's iterations independent? relax: but for what only the stage's own reduction connects. */
enum uk_status uk_check_parallel(struct uk_schedule *s, struct uk_stage *st, int position, bool relax,
                                 struct uk_position at, const char *step);
/* Do two threads of one block, or two blocks, access an element that stage a writes: a, and operand of b,
 * which is that tensor too? Loops [0, host) of both have the same values, [host, inside) are over blocks.
 * Also where isl fails. */
bool uk_crosses(struct uk_schedule *s, const struct uk_stage *a, const struct uk_stage *b, int operand,
                int host, int inside, bool blocks);
/* Sizes for which, at some instance, the access leaves its tensor's shape in dimension d. NULL: for none,
 * without asking isl, as where the index is an element of a tensor, which is tested when it is known. */
isl_set *uk_leaving(struct uk_schedule *s, const struct uk_stage *st, const struct uk_access *a, int d);
enum uk_status uk_isl_status(struct uk_schedule *s);

/* ---- places.c, written.c, program.c: what a program must be that only isl can decide; uk_program_check()
 * ---- */

struct uk_point {
    const char *sizes; /* " for N = 2, M = 0"; or "" */
    int64_t value[2 * UK_MAX_DIMS];
};
/* The first point of a set over loops, for the least sizes for which it has one. False: it is empty, or isl
 * failed. Takes the set. */
bool uk_least_point(struct uk_schedule *s, isl_set *set, struct uk_point *out);
/* "X[0] and X[4] share place [0] for N = 5": two elements to which the map gives one place. NULL: there are
 * none, or isl failed. shape: NULL: of whatever extents. */
const char *uk_shared_place(struct uk_schedule *s, const char *name, const struct uk_map *m,
                            struct uk_index *const shape[]);
/* Refuses reads of elements of temps that no statement before has written. */
enum uk_status uk_check_written(struct uk_schedule *s);

/* ---- inside.c ---- */

/* The condition on the sizes under which every access of the statement is inside its tensor's shape (1:
 * always). UK_REFUSED: it holds only where there is nothing to compute. */
enum uk_status uk_inside_condition(struct uk_schedule *s, const struct uk_stage *st, struct uk_index **out);
/* Refuses the conditions of several stages if they hold together only where there is nothing to compute. */
enum uk_status uk_check_together(struct uk_schedule *s, struct uk_index *conditions);

/* ---- ast_index.c: isl's expressions as ours ---- */

struct uk_ast_scope {
    const struct uk_ast_scope *outer;
    const char *iterator; /* isl's name */
    struct uk_var *var;
};

/* NULL: no memory, or a form that never arises. The expression stays the caller's. */
struct uk_index *uk_ast_index(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e);
/* Of an operation: its i-th argument. */
struct uk_index *uk_ast_argument(struct uk_schedule *s, const struct uk_ast_scope *scope, isl_ast_expr *e,
                                 int i);
/* Does the size count as at least 1, in the nest that is lowered? */
bool uk_is_raised(const struct uk_schedule *s, const struct uk_var *v);
/* A set of sizes as a condition on them; takes the set. */
struct uk_index *uk_condition_index(struct uk_schedule *s, isl_set *set);

#endif
