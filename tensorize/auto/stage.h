/* SPDX-License-Identifier: Apache-2.0 */
/* Inside room auto: the choice of a stage's kernel, its schedule, sums, and stages that are inlined into
 * others. */
#ifndef UK_AUTO_STAGE_H
#define UK_AUTO_STAGE_H

#include "auto.h"

/* ---- choose.c: how a kernel computes a stage ---- */

struct uk_kernel_plan {
    struct uk_fit fit;
    double cycles;
    /* The same at the least sizes that the program admits; 0: not estimated, because the stage reads no
     * constants. */
    double at_least;
    /* no kernel packs these panels: plain loops fill them */
    bool is_packed_by_loops;
    /* plain loops are faster */
    bool is_wasted;
    /* number of constant operands in panels, packed before the program runs */
    int constants;
};

/* Chooses the kernel with the fewest cycles; best->fit.intrinsic is NULL if plain loops are faster, or no
 * kernel fits and they are allowed. `transposed`: for the report and the draft's name, the operands are those
 * of a transposed stage. UK_NO_MATCH: no kernel fits, and plain loops are not allowed. */
enum uk_status uk_choose_kernel(struct uk_schedule *s, struct uk_stage *st, bool transposed,
                                struct uk_kernel_plan *best);
/* True if the kernel computes several windows per call: then a copy with a border of zeros pays off. Windows
 * at the border have fewer terms, so that without the copy each would be a call of its own. */
bool uk_takes_windows(const struct uk_kernel_plan *p);
/* Plans whose panels kernels fill, not plain loops, are preferred. */
bool uk_is_better_plan(const struct uk_kernel_plan *p, const struct uk_kernel_plan *than);
/* The name of the draft that uses this kernel. */
const char *uk_draft_by(struct uk_schedule *s, const struct uk_intrinsic *i, bool transposed);
/* The number of constant operands that the fit packs. */
int uk_packed_constants(const struct uk_stage *st, const struct uk_fit *f);

/* ---- auto.c ---- */

/* Tiles the stage for the cheapest kernel. If no kernel fits, it keeps plain loops, if these are
 * allowed. */
enum uk_status uk_auto_stage(struct uk_schedule *s, struct uk_stage *st);
/* Sets *fits if some kernel computes the stage, possibly with copies of operands that hold their
 * borders. */
enum uk_status uk_is_computed_by_kernel(struct uk_schedule *s, struct uk_stage *st, bool *fits);
/* Chooses the cheapest kernel for the stage, without a report; p->fit.intrinsic is NULL if plain loops are
 * faster or no kernel computes it. */
enum uk_status uk_best_plan(struct uk_schedule *s, struct uk_stage *st, struct uk_kernel_plan *p);

/* ---- readers.c ---- */

/* True if the stage computes each element of its output from single elements, without a sum, and writes each
 * once. */
bool uk_is_elementwise(const struct uk_stage *st);
/* The only stage that reads the temp that st writes; NULL: several do, or another stage writes it too. */
struct uk_stage *uk_only_reader(const struct uk_schedule *s, const struct uk_stage *st);

/* ---- parts.c ---- */

/* Replaces sums by parts that take less time. */
enum uk_status uk_replace_sums(struct uk_schedule *s);
/* True if the conversion is left out, because the copy of a constant makes it (lower/conversions.c). */
bool uk_is_converted_in_copy(const struct uk_schedule *s, const struct uk_stage *st);
/* Moves the conversion of a factor into loops of its reader, or of the copy that reads it, in which no
 * element is read again, so that the elements stay in a cache. That of a constant stays where it is. */
enum uk_status uk_place_conversion(struct uk_schedule *s, struct uk_stage *st);

/* ---- program.c ---- */

/* Inlines elementwise stages into their only reader, if that is elementwise too. */
enum uk_status uk_inline_stages(struct uk_schedule *s);
/* Fuses the loops over rows of a sum, and of the elementwise stages that follow it, that are contiguous
 * to each other in everything that is accessed: all pixels of a 1x1 convolution become the rows of one
 * product. */
enum uk_status uk_fuse_rows(struct uk_schedule *s, struct uk_stage *st);

/* ---- sums.c: loops of sums of products ---- */

/* Fuses the loop at `position` with the next one. */
enum uk_status uk_fuse_loop_pair(struct uk_schedule *s, struct uk_stage *st, int position);
/* True if the loops at `position` and the next one are summed over, the stage is a sum of products, an
 * operand is contiguous along them, and the first one's extent is a constant. */
bool uk_is_long_sum(const struct uk_stage *st, int position);
/* Fuses such loops if every operand is addressed by them as by a single loop. */
enum uk_status uk_fuse_sums(struct uk_schedule *s, struct uk_stage *st);

/* ---- sums.c: sums that no kernel computes ---- */

/* Moves the loop over a row of the output inside the sum's loops, if that gives vectors. */
enum uk_status uk_order_sum(struct uk_schedule *s, struct uk_stage *st);
/* The number of loops of the sum's nest that the reader shares with it if it runs after each row; 0: it
 * cannot do so. */
int uk_loops_of_row(const struct uk_schedule *s, const struct uk_stage *sum, const struct uk_stage *reader);
/* The sum immediately before the stage, if the stage can join its nest; NULL: there is none. */
struct uk_stage *uk_preceding_sum(const struct uk_schedule *s, const struct uk_stage *st);

#endif
