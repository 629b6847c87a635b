/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the scheduler: what accesses touch of a tensor, and how a buffer of that is laid out. */
#ifndef UK_REGION_H
#define UK_REGION_H

#include "schedule.h"

enum { UK_MAX_PART_BOUNDS = 16 };

/* One dimension: the indices are offset + x with 0 <= x and, for every bound, x + form < upper. */
struct uk_part {
    struct uk_affine offset; /* over the prefix loops and sizes */
    int bounds;
    struct uk_bound bound[UK_MAX_PART_BOUNDS]; /* forms over the prefix loops */
    bool begins_before; /* offset may be below 0: the extents of loops that run backwards add up to more */
    bool is_whole;      /* nothing is known: all of the dimension, more than may be touched */
};

/* What is touched of a tensor inside a stage's first `prefix` loops. */
struct uk_region {
    int prefix, dims;
    struct uk_part part[UK_MAX_DIMS];
};

/* ---- region.c ---- */

/* UK_NO_MATCH: there is no such region; *why says the reason. */
enum uk_status uk_region_of(struct uk_schedule *s, const struct uk_stage *st, const struct uk_operand *o,
                            int prefix, struct uk_region *out, const char **why);
/* Makes `to` cover both. shape: what all indices are less than; NULL: they may be outside of the tensor. */
enum uk_status uk_region_join(struct uk_schedule *s, struct uk_region *to, const struct uk_region *other,
                              struct uk_index *const *shape, const char **why);
/* More than x can be, whatever the prefix loops are; over sizes only. */
struct uk_index *uk_part_room(struct uk_schedule *s, const struct uk_part *part);
bool uk_part_equal(const struct uk_part *a, const struct uk_part *b);
bool uk_affine_equal(const struct uk_affine *a, const struct uk_affine *b);
/* x = f - offset, an expression over the stage's loops. */
struct uk_index *uk_part_position(struct uk_schedule *s, const struct uk_stage *st,
                                  const struct uk_part *part, const struct uk_affine *f);
/* What the stage's bounds say of the first `prefix` loops alone is added to those of `to`. */
enum uk_status uk_inherit_bounds(struct uk_schedule *s, const struct uk_stage *st, int prefix,
                                 struct uk_stage *to);

/* ---- layout.c: how a buffer stores a region ---- */

/* One stored dimension: x[dim] / divisor % modulus. modulus 0: the coarsest of its dimension, which takes
 * what is left. */
struct uk_digit {
    int dim;
    int64_t divisor, modulus;
};

struct uk_buffer_layout {
    int stored;
    struct uk_digit digit[UK_MAX_DIMS];
};

struct uk_buffer_layout uk_layout_plain(int dims);
/* [d/w, the other dimensions, d%w] */
struct uk_buffer_layout uk_layout_panel(int dims, int along, int64_t width);
/* NULL, or why the map is none that a buffer can have. */
const char *uk_layout_of_map(const struct uk_map *map, struct uk_buffer_layout *out);
bool uk_layout_is_split(const struct uk_buffer_layout *l, int dim);
/* A buffer for the region of `of`, in the schedule's list; NULL: no memory. */
struct uk_tensor *uk_layout_buffer(struct uk_schedule *s, const struct uk_region *r,
                                   const struct uk_buffer_layout *l, const struct uk_tensor *of,
                                   const char *name, struct uk_position at);
/* The operand accesses the buffer instead, inside the region. */
enum uk_status uk_layout_redirect(struct uk_schedule *s, const struct uk_stage *st, struct uk_operand *o,
                                  const struct uk_region *r, const struct uk_buffer_layout *l,
                                  struct uk_tensor *buffer);

/* ---- pack.c ---- */

/* `in shared` and `in register` are for GPUs. */
enum uk_status uk_check_scope(struct uk_schedule *s, const struct uk_step *step, const char *what);

/* What a copy holds of a tensor, and how. */
struct uk_copied {
    const struct uk_region *region;
    struct uk_buffer_layout layout;
    const struct uk_expr *outside; /* in the place of what is outside of the tensor; NULL: that is not read */
};

/* ---- pack_share.c ---- */

/* Are two values that read no tensor the same? */
bool uk_same_constant(const struct uk_expr *a, const struct uk_expr *b);
/* Does the step mean this access? */
bool uk_is_meant(const struct uk_step *step, const struct uk_operand *o);
/* The whole program's copy of that name, if the reader can take it as it is; or NULL. */
struct uk_stage *uk_find_shared(const struct uk_schedule *s, const struct uk_stage *reader, const char *name,
                                const struct uk_tensor *from, const struct uk_copied *what);

#endif
