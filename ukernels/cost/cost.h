/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates how many cycles of one core kernels and loop nests take. libukernels and libuktensorize both use
 * it, so that they choose the same kernel for the same loop nest. Results depend only on the arguments, to
 * which the core (struct uk_machine or uk_core) belongs: nothing here asks which CPU it runs on. All
 * functions may be called from any thread; none allocates or fails.
 *
 *     kernel.c        instructions of a loop on the ports of a core
 *     product.c       instructions of a product's k iterations, and of copies of its operands
 *     nest.c          adds an operand (struct uk_lattice of view/) to a loop nest
 *     stream.c        a loop nest: its instructions, and the cache lines that its operands move from each
 *                     cache and from memory
 *     thresholds.def  figures that were measured on products
 *
 * Uses the folders machine (cores, caches) and view (the elements, cache lines and pages of an operand).
 */
#ifndef UK_COST_H
#define UK_COST_H

#include "machine/machine.h"
#include "minmax.h"
#include "view/view.h"

enum {
#define UK_THRESHOLD(name, value, ...) name = value,
#define UK_LIMIT(name, value, ...) name = value,
#define UK_FACTOR(...)
#include "thresholds.def"
};
#define UK_THRESHOLD(...)
#define UK_LIMIT(...)
#define UK_FACTOR(name, value, ...) static const double name = value;
#include "thresholds.def"

/* Numbers of instructions on vectors of one width. `load` counts those of `merge` too: loads that fill only a
 * part of a register, and may take a further port for it, as conversions of f16 and bf16 do. `other`:
 * instructions that are issued, but occupy no port that is a bottleneck. `bf16`: dot products of pairs of
 * bf16, where cores have an own rate for them. `tile`, `tile_load`: products and loads of matrix tiles. */
struct uk_counts {
    double fma, load, shuffle, merge, other, bf16, tile, tile_load;
};

/* Cycles per iteration of a loop that repeats these instructions: the bound of the issue width or, if larger,
 * that of any set of ports on the instructions that only those ports execute. Latencies are not counted. */
double uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v, const struct uk_counts *n);

/* Of loads of a vector of `bytes` from each row, of rows `stride` bytes apart from an aligned first one on:
 * the fraction that crosses from one 64-byte cache line into the next. */
double uk_cost_splits(int64_t bytes, int64_t stride);

/* ---- product.c ---- */

/* The instructions that multiply: multiply-adds of vectors, vdpbf16ps, products of matrix tiles. */
enum uk_unit { UK_UNIT_VECTORS, UK_UNIT_BF16, UK_UNIT_TILES };

/* The properties of a kernel of matrix products that determine the cycles of its instructions. It computes
 * groups of at most mr rows and nr columns, whose sums are in registers. */
struct uk_product_kernel {
    int mr, nr;
    int row_step,
        column_step;     /* a group takes as long as if its sizes were rounded up to multiples of these */
    double vectors;      /* of a row of B */
    bool shares_vectors; /* a vector holds sums of row_step rows */
    /* Vector instructions of a k iteration of a whole group. `merges`: loads of A that fill a part of a
     * register. `shuffles`: broadcasts of elements of A that one load has loaded for several k iterations. */
    double fma, loads, merges, shuffles, other;
    /* Instructions of a kernel that converts f16 or bf16 to f32, per k iteration of a whole group: for B,
     * whatever the number of rows, and for A. They take the ports of `merge`. */
    double converts_b, converts_a;
    enum uk_unit unit; /* of fma; loads of a kernel for tiles are loads of tiles */
};

struct uk_kernel;
/* The same from a kernel's row of kernels.def. */
struct uk_product_kernel uk_product_kernel(const struct uk_kernel *k);

/* The instructions of a k iteration of a group. `rows`: a multiple of row_step, or a mean of such. */
struct uk_counts uk_product_counts(const struct uk_product_kernel *k, double rows, int64_t columns);

/* Cycles of a k iteration of all groups of an m x n product: each takes at least the latency of a
 * multiply-add, as its sums wait for those of the k iteration before. Groups have `rows` rows, the last one
 * perhaps fewer; 0: as few groups as possible, of equal numbers of rows or one more. */
double uk_product_iteration(const struct uk_core *core, const struct uk_vectors *v,
                            const struct uk_product_kernel *k, int64_t rows, int64_t m, int64_t n);

/* Divides m rows into as few tiles of at most mr rows as possible, of about equal heights. Returns the number
 * of rows of each tile except the last, a multiple of row_step. */
int64_t uk_product_rows(int64_t m, int mr, int row_step);

/* k iterations of a block: k, or if it is long, about equal parts, rounded up to a multiple of `multiple`.
 * Half of L2 has room for four panels of a block, of nr columns of elements of `bytes` bytes each, or a block
 * is GEMM_KC_LEAST long. */
int64_t uk_product_k_block(const struct uk_machine *m, int64_t k, int nr, int64_t bytes, int multiple);

/* True if rows that are read at once, `stride` bytes apart, evict each other from L1: a set may have half of
 * its ways for them, the rest is for other operands. */
bool uk_rows_share_sets(const struct uk_machine *m, int64_t rows, int64_t stride);

/* Cycles of the instructions of a copy that loads and stores this many vectors of `lanes` elements.
 * transposes: squares of lanes x lanes are transposed, by log2(lanes) shuffles per vector. *loads is set to
 * the cycles of the loads. */
double uk_copy_cycles(const struct uk_core *core, const struct uk_vectors *v, double vectors, int lanes,
                      bool transposes, double *loads);

/* Tiles of the rows of a product with weights in blocks, which are converted for each block of rows: with
 * fewer, conversions take more time than reading A from beyond L2. */
enum { GEMM_BLOCK_TILES = 4 };

/* Copying rows of A that share sets of L1 takes as much time as it saves for this number of panels of
 * columns.
 */
enum { GEMM_COPIED_PANELS = 4 };

enum { UK_NEST_LOOPS = UK_VIEW_LOOPS, UK_NEST_OPERANDS = 5 };

/* A loop nest around a body without loops. Arrays by loop begin with the outermost. */
struct uk_loop_nest {
    int loops, operands;
    int64_t extent[UK_NEST_LOOPS];
    struct uk_loop_operand {
        int bytes; /* of an element, and its alignment */
        /* The body accesses `runs` runs of `length` bytes, which begin `pitch` bytes apart. */
        int64_t runs, length, pitch;
        int64_t stride[UK_NEST_LOOPS]; /* bytes from one iteration to the next; 0: all access the same */
        bool is_written;               /* written, perhaps read too; its cache lines are written back */
        bool is_prefetched;            /* by instructions, early enough */
        int register_loops; /* number of innermost loops during which it is in registers: its memory is
                     accessed once for all of their iterations */
        double exposed;     /* part of its transfers from beyond L2 that overlaps nothing, because all
                    of them occur in the first of many uses */
    } operand[UK_NEST_OPERANDS];
    /* Cycles of the whole nest if all operands are in L1: of all its instructions, no less than `loads`; and
     * of its loads on the load ports. */
    double instructions, loads;
};

/* ---- nest.c ---- */

/* A loop of a nest over up to three dimensions, such as a product's m, n and k. Each iteration moves on by
 * by[d] elements along dimension d. */
struct uk_nest_loop {
    int64_t extent, by[3];
};

/* The part of an operand, `view`, that the body accesses: `elements` elements of each of `lines` lines (lines
 * of struct uk_lattice). `line` is the index in uk_nest_loop.by of the dimension that counts lines, `k` that
 * of the dimension that counts elements of a line. */
struct uk_nest_access {
    const struct uk_lattice *view;
    int line, k;
    int64_t lines, elements;
    int remake_loops; /* for a copy: number of outermost loops, each iteration of which makes it again in the
                 same memory; its stride is 0 there. 0: not such a copy */
};

/* Adds an operand to a nest that has fewer than UK_NEST_OPERANDS, and returns it, for flags to be set. Sets
 * the nest's loops: all operands are added with the same ones, the outermost first. Loops that run once are
 * left out. */
struct uk_loop_operand *uk_nest_add(struct uk_loop_nest *n, const struct uk_nest_loop *loop, int loops,
                                    const struct uk_nest_access *x);

/* ---- stream.c ---- */

/* Cycles of one run of the nest if it runs repeatedly on the same operands: of its instructions, and of the
 * cache lines and TLB entries that it misses, as far as they do not overlap. */
double uk_cost_nest(const struct uk_machine *m, const struct uk_loop_nest *n);

#endif
