/* SPDX-License-Identifier: Apache-2.0 */
/* Hand-made programs and loops, for tests of the code generator and the linker. */
#ifndef LOOP_MAKER_H
#define LOOP_MAKER_H

#include "link/link.h"

struct maker {
    struct uk_context *context;
    struct uk_program program; /* its arena holds everything */
    struct uk_function function;
};

void make_begin(struct maker *m, struct uk_context *c, const char *name);
void make_end(struct maker *m);

struct uk_var *make_size(struct maker *m, const char *name, bool is_extent);
struct uk_scalar *make_scalar(struct maker *m, const char *name, enum uk_type type);
/* Row-major over the shape, which ends at the first NULL. */
struct uk_tensor *make_tensor(struct maker *m, const char *name, enum uk_type type,
                              struct uk_index *const shape[], bool written);
void make_strides(struct uk_tensor *t, struct uk_index *const stride[]);
struct uk_tensor *make_buffer(struct maker *m, const char *name, enum uk_type type, struct uk_index *elements,
                              bool per_thread);
void make_check(struct maker *m, struct uk_index *condition, const char *text);

struct uk_index *number(struct maker *m, int64_t v);
struct uk_index *value(struct maker *m, struct uk_var *v);
struct uk_index *op(struct maker *m, enum uk_index_op o, struct uk_index *l, struct uk_index *r);

struct uk_access at(struct uk_tensor *t, struct uk_index *i, struct uk_index *j);
struct uk_expr *make_expr(struct maker *m, enum uk_expr_op o, enum uk_type type, struct uk_expr *l,
                          struct uk_expr *r);
struct uk_expr *element(struct maker *m, struct uk_access a);
struct uk_expr *literal(struct maker *m, enum uk_type type, double v);

struct uk_var *loop_variable(struct maker *m, const char *name);
struct uk_node *make_for(struct maker *m, enum uk_loop_kind kind, struct uk_var *v, struct uk_index *upper,
                         int64_t step, struct uk_node *body);
struct uk_node *make_if(struct maker *m, struct uk_index *c, struct uk_node *body, struct uk_node *other);
struct uk_node *make_let(struct maker *m, struct uk_var *v, struct uk_index *i, struct uk_node *body);
struct uk_node *make_store(struct maker *m, struct uk_access target, enum uk_assign assign,
                           struct uk_expr *e);
struct uk_node *make_row(struct uk_node *first, struct uk_node *second);

/* A kernel of `count` pointers to f32 tensors of 16 elements: void symbol(float *t0, ...). */
struct uk_intrinsic *make_intrinsic(struct maker *m, const char *symbol, int count);
struct uk_node *make_call(struct maker *m, struct uk_intrinsic *in, const struct uk_access *operand);
void make_import(struct maker *m, int kind, const char *text);

/* Compiles m->function to machine code; after a failure the context has the message. */
enum uk_status make_module(struct maker *m, const char *target, struct uk_module **out);

#endif
