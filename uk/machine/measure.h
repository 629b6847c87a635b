/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside uk machine: the fields of a machine's row as text, and what microbenchmarks measure of them on this
 * CPU.
 *
 * A measurement is made of points: each times one loop of known length, a sample in each round until the time
 * is up. A sample is in cycles: its time over that of a chain of dependent additions, one a cycle, timed
 * before and after it. Of a point's samples the lowest twentieth counts (its largest), as other programs,
 * other virtual machines and interrupts only ever add time.
 */
#ifndef UK_MEASURE_H
#define UK_MEASURE_H

#include <stddef.h>
#include "machine/machine.h"

/* ---- fields.c ---- */

enum uk_field_kind {
    UK_FIELD_TEXT,
    UK_FIELD_ARCH,
    UK_FIELD_INT,
    UK_FIELD_INT64,
    UK_FIELD_DOUBLE,
    UK_FIELD_BOOL,
    UK_FIELD_PORTS /* its value is how many begin each cycle */
};

/* A field of struct uk_machine, in the order in which they are printed. Those that follow each other with the
 * same line are printed on one. */
struct uk_field {
    const char *name;         /* "l2.size"; those of the uncore begin with uncore */
    const char *line, *words; /* words: a %s is the value */
    const char *unit;
    enum uk_field_kind kind;
    size_t offset; /* in struct uk_machine */
};

/* The last row's name is NULL. */
extern const struct uk_field uk_fields[];
double uk_field_value(const struct uk_machine *m, const struct uk_field *f);
/* As archs.def has it, or "any". */
const char *uk_arch_name(int arch);
/* As it is printed; returns `text`. */
const char *uk_field_text(const struct uk_machine *m, const struct uk_field *f, char *text, size_t size);
/* Whether the field is of vectors or a cache that the machine does not have. */
bool uk_field_is_absent(const struct uk_machine *m, const struct uk_field *f);

/* ---- loops_<arch>.c: loops of one instruction, or of several in turn ---- */

enum uk_micro_kind {
    UK_MICRO_FMA,         /* independent multiply-adds */
    UK_MICRO_FMA_CHAIN,   /* each waits for the one before */
    UK_MICRO_SHUFFLE,     /* shuffles of two registers inside lanes of 16 bytes */
    UK_MICRO_FMA_SHUFFLE, /* pairs of the two */
    UK_MICRO_FMA2_SHUFFLE,
    UK_MICRO_LOAD, /* vectors one after the other, 8 of them, from `memory` on */
    UK_MICRO_STORE,
    UK_MICRO_LINES,     /* loads of vectors 64 bytes apart, 8 of them */
    UK_MICRO_FMA5_LINE, /* five multiply-adds and such a load */
    UK_MICRO_MERGE,     /* loads into a part of a register */
    UK_MICRO_FMA2_MERGE,
    UK_MICRO_READ, /* as LOAD, but each iteration reads the next 8 vectors */
    UK_MICRO_ISSUE /* additions, vector operations and loads, all independent; of no width */
};

struct uk_micro {
    enum uk_micro_kind kind;
    int bytes;            /* of a vector */
    const char *features; /* of the CPU, as in archs.def */
    int operations;       /* of an iteration: instructions, or the groups that the kind names */
    void (*run)(long iterations, char *memory);
};

/* The last row's function is NULL. An architecture without loops has none. */
extern const struct uk_micro uk_micros[];

/* ---- measure.c, lab.c ---- */

struct uk_lab;
struct uk_measured;

/* What a point does: `prepare` is not timed; `run` returns how many operations it did. */
struct uk_trial {
    void (*prepare)(struct uk_lab *, const struct uk_measured *);
    double (*run)(struct uk_lab *, const struct uk_measured *);
    bool median; /* counts: what is tried goes well sometimes where it usually does not */
};

/* PASSES: over what is to be in the last cache; some keep only what comes by several times. */
enum { UK_SAMPLES = 128, UK_POINTS = 400, UK_ANSWERS = 120, UK_LINE = 64, UK_PASSES = 16 };

struct uk_measured {
    const struct uk_trial *trial;
    const void *what; /* what these are, the trial knows */
    int64_t a, b;
    double sample[UK_SAMPLES];
    int samples;
    double cycles; /* of an operation; the result */
};

/* What is known of a field, or of several together; with a reason: it is not measured. */
struct uk_answer {
    char field[40];
    const char *unit, *reason;
    double value;
    double row; /* what the row says of it, where it is no field; else NAN */
};

struct uk_lab {
    struct uk_machine machine;
    /* Memory in pages as large as the system gives, and in pages that are small and lie in no order. Both are
     * 0 but for chains. */
    char *large, *small, *mapped;
    int64_t bytes; /* of each */
    int64_t page;
    uint32_t *order; /* of a chain, and room for one: a line of all the memory each */
    char *at;        /* where a chain goes on */
    uint64_t random;
    int rounds, points, answers;
    struct uk_measured point[UK_POINTS];
    struct uk_answer answer[UK_ANSWERS];
};

/* NULL: no memory. */
struct uk_lab *uk_lab_create(const struct uk_machine *m);
void uk_lab_free(struct uk_lab *lab);
/* Measures for about so long, each point at least once; then there is an answer to each field. */
void uk_lab_measure(struct uk_lab *lab, double seconds);
const struct uk_answer *uk_lab_answer(const struct uk_lab *lab, const char *field);

/* For those that measure: adds a point, of which each stands once. */
void uk_point_add(struct uk_lab *lab, const struct uk_trial *trial, const void *what, int64_t a, int64_t b);
/* The result of the point. */
double uk_point_cycles(const struct uk_lab *lab, const struct uk_trial *trial, const void *what, int64_t a,
                       int64_t b);
void uk_say(struct uk_lab *lab, const char *field, double value);
void uk_cannot(struct uk_lab *lab, const char *field, const char *reason);
/* Of no field: beside what follows from the row. */
void uk_say_beside(struct uk_lab *lab, const char *name, const char *unit, double value, double row);
/* Below `limit`. */
uint32_t uk_lab_random(struct uk_lab *lab, uint32_t limit);
/* Writes the line back to memory and out of all caches; uk_can_flush: whether this architecture can. */
void uk_flush(const char *line);
bool uk_can_flush(void);
/* After which all earlier flushes are done. */
void uk_flush_end(void);
/* A value that the compiler does not know to be 0. */
static inline uint64_t uk_hidden(uint64_t value) {
    __asm__ volatile("" : "+r"(value));
    return value;
}

/* ---- chase.c: chains of addresses, each in the place that the one before names ---- */

/* Chains of lines: element i at base + i * stride, and where `spread` i % 64 lines further on. They are in
 * random order inside windows of so many elements, one window after the other; of 0: all are. */
struct uk_chain {
    bool small, spread, flushed; /* in small pages; from memory, as far as lines can be flushed */
    int64_t stride, window;
};
/* a: elements. */
extern const struct uk_trial uk_chase;
/* Every other line, since cores fetch pairs of them; in windows of 32 pages, which every first level of a TLB
 * holds. They take all of a cache's size, in half of its sets. */
extern const struct uk_chain uk_lines, uk_lines_flushed;

/* The result. */
double uk_chase_cycles(const struct uk_lab *lab, const struct uk_chain *chain, int64_t elements);
/* Latency of memory, if lines can be flushed. */
double uk_memory_latency(const struct uk_lab *lab);
/* Makes lab->order, of numbers from 0 on. */
void uk_random_order(struct uk_lab *lab, int64_t elements, int64_t window);
/* Bytes that stand for a level: it holds them, and the level before it does not. 4: memory, where lines can
 * be flushed. */
int64_t uk_bytes_in(const struct uk_lab *lab, int level);

/* ---- what is measured: each adds its points, and answers when they have results ---- */

void uk_units_begin(struct uk_lab *lab);
void uk_units_end(struct uk_lab *lab);
/* Bytes a cycle from the first cache, by the row's widest vectors that are here; NAN: none is. */
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
