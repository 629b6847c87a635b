/* SPDX-License-Identifier: Apache-2.0 */
/* The checks of programs and of the sizes of calls. It is a part of language.h and uses its types. */
#ifndef UK_CHECK_H
#define UK_CHECK_H

#ifndef UK_LANGUAGE_H
#error "include language/language.h"
#endif

/* check_left.c: finds the statement's iterators. Returns false after failing the program. */
bool uk_find_left_iterators(struct uk_program *p, struct uk_statement *s);
/* Check one statement by rule 3 (check_type.c), and one tensor's strides and layout (check_tensor.c). Return
 * false after failing the program. */
bool uk_check_types(struct uk_program *p, struct uk_statement *s);
bool uk_check_tensor(struct uk_program *p, struct uk_tensor *t);
/* Marks the sizes in e as extents, which are >= 0. */
void uk_mark_extents(const struct uk_index *e);
/* Checks that e is affine over sizes, and over iterators if these are allowed; else fails the program. */
bool uk_check_affine(struct uk_program *p, const struct uk_index *e, bool iterators);
/* Returns whether two extents are the same expression, or equal by a chain of `assume ==`. */
bool uk_same_extent(const struct uk_program *p, const struct uk_index *a, const struct uk_index *b);

/* The i-th tensor argument, from 0; NULL if it does not exist or the program has an error. */
const struct uk_tensor *uk_argument_at(const struct uk_program *p, int i);
/* Stored elements from the origin to the last one, for the sizes' values; -1: overflow, or a negative
 * extent. */
int64_t uk_tensor_elements(const struct uk_tensor *t, int64_t (*value)(const struct uk_var *, void *),
                           void *user);

/* Checks rules 1 to 5 and 8 of the language: names, ranges, types. The parser calls it, and so does
 * uk_program_check(), with which every use of a program begins: what it computes lives in the program's arena
 * and outlives the temporary memory of that use. */
enum uk_status uk_check_program(struct uk_program *p);
/* As uk_check_program() for a program from a user: one that is NULL or has a sticky failure returns an
 * error. */
enum uk_status uk_check_rules(struct uk_program *p);
/* element_range.c: returns whether elements of the tensor serve as subscripts and some value is valid for all
 * of them; these values are *lower <= v < *upper. */
bool uk_element_range(const struct uk_program *p, const struct uk_tensor *t, const int64_t *size,
                      int64_t *lower, int64_t *upper);
/* check_pad.c: warns of reductions that read under pad() along a dimension of another size. */
enum uk_status uk_warn_of_pads(const struct uk_program *p);
/* check_sizes.c: fails if the program has no statement. */
enum uk_status uk_check_has_statement(const struct uk_program *p, struct uk_position at);
/* Orders stored dimensions from the innermost outwards: constant strides in increasing order, then the
 * others, last dimension first. */
void uk_order_by_stride(const struct uk_tensor *t, int order[UK_MAX_DIMS]);
/* Checks the program before sizes are known: it has a statement, and tensors whose extents are constants fit
 * into most_bytes and keep their elements apart. */
enum uk_status uk_check_constants(const struct uk_program *p, int64_t most_bytes);
/* Check the values of a call's sizes, size[n] for size number n. uk_check_sizes: extents, assumptions,
 * strides, and that no tensor exceeds most_bytes. uk_check_overlap: only that strides written in the text
 * keep elements apart. uk_check_relation: one relation; `before` and `after` surround it in the message. */
enum uk_status uk_check_sizes(const struct uk_program *p, const int64_t *size, int64_t most_bytes);
enum uk_status uk_check_overlap(const struct uk_program *p, const int64_t *size);
enum uk_status uk_check_relation(const struct uk_program *p, const struct uk_index *e, const int64_t *size,
                                 struct uk_position at, const char *before, const char *after);

#endif
