/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Microbenchmarks of uk machine: measures the fields of a machine's row on this CPU, and formats them.
 *
 * A measurement consists of points. A point times one loop of known length: one sample per round, until the
 * time is up. A sample is in cycles: its time divided by that of a chain of dependent additions, one per
 * cycle, timed before and after it. The result of a point is the 5th percentile of its samples, because other
 * programs, virtual machines and interrupts only add time.
 */
#ifndef UK_MEASURE_H
#define UK_MEASURE_H

#include <stddef.h>
#include "machine/machine.h"
#include "ukernels.h"

/* ---- fields.c ---- */

enum uk_field_kind {
    UK_FIELD_TEXT,
    UK_FIELD_ARCH,
    UK_FIELD_INT,
    UK_FIELD_INT64,
    UK_FIELD_DOUBLE,
    UK_FIELD_BOOL,
    UK_FIELD_PORTS /* printed as the number of operations that can start per cycle */
};

/* A field of struct uk_machine, in the order of printing. Consecutive fields with the same `line` share a
 * printed line. */
struct uk_field {
    const char *name;         /* such as "l2.size"; names of the uncore's fields begin with "uncore" */
    const char *line, *words; /* words: printf format with a %s for the value */
    const char *unit;
    enum uk_field_kind kind;
    size_t offset; /* in struct uk_machine */
};

/* The table ends with a row whose name is NULL. */
extern const struct uk_field uk_fields[];
double uk_field_value(const struct uk_machine *m, const struct uk_field *f);
/* The architecture's name in archs.def, or "any". */
const char *uk_arch_name(int arch);
/* Formats the value as it is printed; returns `text`. */
const char *uk_field_text(const struct uk_machine *m, const struct uk_field *f, char *text, size_t size);
/* True if the field describes vectors or a cache that the machine does not have. */
bool uk_field_is_absent(const struct uk_machine *m, const struct uk_field *f);

/* ---- loops_<arch>.c: loops over one instruction, or over several in turn ---- */

enum uk_micro_kind {
    UK_MICRO_FMA,         /* independent multiply-adds */
    UK_MICRO_FMA_CHAIN,   /* dependent multiply-adds */
    UK_MICRO_SHUFFLE,     /* shuffles of two registers within 128-bit lanes */
    UK_MICRO_FMA_SHUFFLE, /* a multiply-add and a shuffle; FMA2: two multiply-adds and a shuffle */
    UK_MICRO_FMA2_SHUFFLE,
    UK_MICRO_LOAD, /* 8 consecutive vectors, starting at `memory` */
    UK_MICRO_STORE,
    UK_MICRO_LINES,     /* 8 vector loads 64 bytes apart */
    UK_MICRO_FMA5_LINE, /* five multiply-adds and one load of LINES */
    UK_MICRO_MERGE,     /* loads into part of a register */
    UK_MICRO_FMA2_MERGE,
    UK_MICRO_BF16,       /* independent dot products of pairs of bf16 */
    UK_MICRO_TILE,       /* products of matrix tiles with four sums in turn */
    UK_MICRO_TILE_CHAIN, /* with one sum */
    UK_MICRO_TILE_LOAD,  /* loads of a tile from adjacent rows */
    UK_MICRO_READ,       /* like LOAD, but each iteration reads the next 8 vectors */
    UK_MICRO_ISSUE       /* independent additions, vector operations and loads; has no vector width */
};

struct uk_micro {
    enum uk_micro_kind kind;
    int bytes;            /* vector width */
    const char *features; /* required features, named as in archs.def */
    enum uk_state state;  /* that it needs */
    int operations;       /* per iteration: instructions, or groups of them as named by the kind */
    void (*run)(long iterations, char *memory);
};

/* The table ends with a row whose function is NULL; an architecture without loops has only that row. */
extern const struct uk_micro uk_micros[];

/* ---- measure.c, lab.c ---- */

struct uk_lab;
struct uk_measured;

/* One kind of measurement: `prepare` is not timed, `run` returns the number of operations that it did. */
struct uk_trial {
    void (*prepare)(struct uk_lab *, const struct uk_measured *);
    double (*run)(struct uk_lab *, const struct uk_measured *);
    bool median; /* use the median: the measured effect sometimes succeeds although it usually does not */
};

/* PASSES: times that data are read to get them into the last-level cache; some keep only lines that are
 * reused. */
enum { UK_SAMPLES = 128, UK_POINTS = 400, UK_ANSWERS = 120, UK_LINE = 64, UK_PASSES = 16 };

struct uk_measured {
    const struct uk_trial *trial;
    const void *what; /* parameters whose meaning `trial` defines */
    int64_t a, b;
    double sample[UK_SAMPLES];
    int samples;
    double cycles; /* per operation: the result */
};

/* Result for one or several fields; with a `reason` it was not measured. */
struct uk_answer {
    char field[40];
    const char *unit, *reason;
    double value;
    double row; /* the row's value, if no field holds it; else NAN */
};

struct uk_lab {
    struct uk_machine machine;
    /* Buffers of pages as large as the system provides, and of small pages in random physical order. Both
     * contain only zeros except chains. */
    char *large, *small, *mapped; /* mapped: the memory that contains `large`, which is aligned */
    int64_t bytes;                /* size of each buffer */
    int64_t page;
    uint32_t *order; /* order of a chain's elements, one entry per cache line of a buffer */
    char *at;        /* next element of the chain */
    uint64_t random;
    int rounds, points, answers;
    struct uk_measured point[UK_POINTS];
    struct uk_answer answer[UK_ANSWERS];
};

/* Allocates a lab; NULL: out of memory. */
struct uk_lab *uk_lab_create(const struct uk_machine *m);
void uk_lab_free(struct uk_lab *lab);
/* Measures for about `seconds`, each point at least once, then derives an answer for every field. */
void uk_lab_measure(struct uk_lab *lab, double seconds);
const struct uk_answer *uk_lab_answer(const struct uk_lab *lab, const char *field);

/* For measurements: adds a point unless it exists. */
void uk_point_add(struct uk_lab *lab, const struct uk_trial *trial, const void *what, int64_t a, int64_t b);
/* Cycles per operation of the point. */
double uk_point_cycles(const struct uk_lab *lab, const struct uk_trial *trial, const void *what, int64_t a,
                       int64_t b);
void uk_lab_add_answer(struct uk_lab *lab, const char *field, double value);
void uk_lab_add_reason(struct uk_lab *lab, const char *field, const char *reason);
/* Adds an answer that belongs to no field, with the value that follows from the row. */
void uk_lab_add_extra_answer(struct uk_lab *lab, const char *name, const char *unit, double value,
                             double row);
/* Random number below `limit`. */
uint32_t uk_lab_random(struct uk_lab *lab, uint32_t limit);
/* Writes a cache line back and evicts it from all caches; uk_can_flush() is true if the architecture allows
 * that. */
void uk_flush(const char *line);
bool uk_can_flush(void);
/* Waits until all earlier flushes are complete. */
void uk_flush_end(void);
/* Hides a value from the optimizer. */
static inline uint64_t uk_hide_value(uint64_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* ---- chase.c: pointer chains ---- */

/* A pointer chain over cache lines. Element i is at base + i * stride, plus i % 64 lines if is_spread. The
 * order is random within windows of `window` elements, which follow each other; window = 0: random over
 * all. */
struct uk_chain {
    bool uses_small_pages, is_spread, is_flushed; /* is_flushed: evicts the lines before each traversal,
                                    where possible */
    int64_t stride, window;
};
/* Walks a pointer chain; a sample is in cycles per element. Parameters (struct uk_measured): `what` is the
 * struct uk_chain, a the number of elements; b is not used. */
extern const struct uk_trial uk_chase;
/* Chains over every other line, because some prefetchers fetch the other line of a pair. The windows have 32
 * pages, whose translations every first-level TLB holds. A chain that spans as many bytes as a cache has uses
 * only half of its sets. */
extern const struct uk_chain uk_lines, uk_lines_flushed;

/* Cycles per element of the chain. */
double uk_chase_cycles(const struct uk_lab *lab, const struct uk_chain *chain, int64_t elements);
/* Latency of memory in cycles, if lines can be flushed. */
double uk_memory_latency(const struct uk_lab *lab);
/* Sets lab->order to a random permutation of 0 .. elements - 1 within windows. */
void uk_random_order(struct uk_lab *lab, int64_t elements, int64_t window);
/* A footprint in bytes that the cache level holds and the level before it does not. Level 4: memory, if lines
 * can be flushed. */
int64_t uk_bytes_in(const struct uk_lab *lab, int level);

/* ---- measurements: _begin adds the points, _end derives answers from their results ---- */

void uk_units_begin(struct uk_lab *lab);
void uk_units_end(struct uk_lab *lab);
/* Bytes per cycle loaded from L1 with the row's widest vectors that this CPU has; NAN: none. */
double uk_load_rate(const struct uk_lab *lab);
void uk_caches_begin(struct uk_lab *lab);
void uk_caches_end(struct uk_lab *lab);
void uk_lines_begin(struct uk_lab *lab);
void uk_lines_end(struct uk_lab *lab);
void uk_prefetch_begin(struct uk_lab *lab);
void uk_prefetch_end(struct uk_lab *lab);
void uk_tlb_begin(struct uk_lab *lab);
void uk_tlb_end(struct uk_lab *lab);

#endif
