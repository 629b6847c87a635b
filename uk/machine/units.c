/* SPDX-License-Identifier: Apache-2.0 */
/* Measures execution units: multiply-adds, shuffles, loads and stores by vector width, shared ports, and
 * issue width. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "cost/cost.h"
#include "measure.h"
#include "ukernels.h"

/* Parameter b: bytes from the start of a line to the loop's memory. */
static void warm_loop(struct uk_lab *lab, const struct uk_measured *p) {
    const struct uk_micro *l = p->what;

    if (uk_state_load(l->state))
        return;
    l->run(100, lab->large + p->b);
    uk_state_release(l->state);
}

static double run_loop(struct uk_lab *lab, const struct uk_measured *p) {
    const struct uk_micro *l = p->what;
    const long iterations = 2000;

    if (uk_state_load(l->state))
        return NAN;
    l->run(iterations, lab->large + p->b);
    uk_state_release(l->state);
    return (double)iterations * l->operations;
}

static bool runs_here(const struct uk_micro *l) {
    if (uk_cpu_lacks(l->features, NULL, 0) || uk_state_load(l->state))
        return false;
    uk_state_release(l->state);
    return true;
}

static const struct uk_trial loop = {.prepare = warm_loop, .run = run_loop};

/* The loop for vectors of this width; NULL: there is none, or this CPU lacks its instructions. */
static const struct uk_micro *find(enum uk_micro_kind kind, int bytes) {
    for (const struct uk_micro *l = uk_micros; l->run; l++)
        if (l->kind == kind && l->bytes == bytes && runs_here(l))
            return l;
    return NULL;
}

/* True if the loop is of this width and runs here. READ is excluded, as it advances through memory and has a
 * point of its own. */
static bool is_of(const struct uk_micro *l, int bytes) {
    return l->bytes == bytes && l->kind != UK_MICRO_READ && runs_here(l);
}

/* Bytes of the row's widest vectors for which this CPU has loops; 0: none. */
static int widest(const struct uk_core *c) {
    int bytes = 0;

    for (int w = 0; w < UK_WIDTHS; w++)
        if (c->vectors[w].bytes && find(UK_MICRO_LOAD, c->vectors[w].bytes))
            bytes = c->vectors[w].bytes;
    return bytes;
}

void uk_units_begin(struct uk_lab *lab) {
    const struct uk_core *c = &lab->machine.core;
    const int wide = widest(c);

    for (const struct uk_micro *l = uk_micros; l->run; l++)
        for (int w = 0; w < UK_WIDTHS; w++) {
            const bool is_here = is_of(l, c->vectors[w].bytes);

            if (is_here || is_of(l, 0))
                uk_point_add(lab, &loop, l, 0, 0);
            if (is_here && (l->kind == UK_MICRO_FMA5_LINE || (l->kind == UK_MICRO_LINES && l->bytes == wide)))
                uk_point_add(lab, &loop, l, 0, UK_LINE - l->bytes / 2);
        }
}

static double cycles_of(const struct uk_lab *lab, enum uk_micro_kind kind, int bytes, int64_t offset) {
    const struct uk_micro *l = find(kind, bytes);
    return l ? uk_point_cycles(lab, &loop, l, 0, offset) : NAN;
}

double uk_load_rate(const struct uk_lab *lab) {
    const int bytes = widest(&lab->machine.core);
    return bytes / cycles_of(lab, UK_MICRO_LOAD, bytes, 0);
}

/* ---- answers ---- */

static const char no_loops[] = "this CPU, UK_ISA or this architecture's microbenchmarks lack such vectors";

static void say_rate(struct uk_lab *lab, int w, const char *what, enum uk_micro_kind kind) {
    const int bytes = lab->machine.core.vectors[w].bytes;
    char field[40];

    snprintf(field, sizeof field, "vectors.%d.%s", w, what);
    if (find(kind, bytes))
        uk_lab_add_answer(lab, field, 1 / cycles_of(lab, kind, bytes, 0));
    else
        uk_lab_add_reason(lab, field, no_loops);
}

/* Reports the cycles of a mix next to the value that follows from the row's ports. */
static void say_mix(struct uk_lab *lab, int w, const char *what, enum uk_micro_kind kind,
                    struct uk_counts counts) {
    const struct uk_core *c = &lab->machine.core;
    const int bytes = c->vectors[w].bytes;
    char field[40];

    snprintf(field, sizeof field, "vectors.%d.%s", w, what);
    if (find(kind, bytes))
        uk_lab_add_extra_answer(lab, field, "cycles together", cycles_of(lab, kind, bytes, 0),
                                uk_cost_cycles(c, &c->vectors[w], &counts));
}

/* Reports the extra time of loads that cross lines. */
static void say_split(struct uk_lab *lab, const char *field, enum uk_micro_kind across,
                      enum uk_micro_kind others, int bytes) {
    if (find(across, bytes))
        uk_lab_add_answer(
            lab, field,
            fmax(0, cycles_of(lab, across, bytes, UK_LINE - bytes / 2) - cycles_of(lab, others, bytes, 0)));
    else
        uk_lab_add_reason(lab, field, no_loops);
}

/* Reports the rates at one vector width. Operations without a port of their own show only in mixes with
 * others. */
static void say_width(struct uk_lab *lab, int w) {
    char field[40];

    say_rate(lab, w, "fma", UK_MICRO_FMA);
    say_rate(lab, w, "shuffle", UK_MICRO_SHUFFLE);
    say_rate(lab, w, "load", UK_MICRO_LOAD);
    say_rate(lab, w, "store", UK_MICRO_STORE);
    if (lab->machine.core.vectors[w].bf16.ports)
        say_rate(lab, w, "bf16", UK_MICRO_BF16);
    snprintf(field, sizeof field, "vectors.%d.merge", w);
    uk_lab_add_reason(lab, field, "measurable only together with loads and multiply-adds, see below");
    snprintf(field, sizeof field, "vectors.%d.split", w);
    say_split(lab, field, UK_MICRO_FMA5_LINE, UK_MICRO_FMA5_LINE, lab->machine.core.vectors[w].bytes);
    snprintf(field, sizeof field, "vectors.%d.bytes", w);
    uk_lab_add_reason(lab, field, "the other measurements assume it");
    snprintf(field, sizeof field, "vectors.%d.registers", w);
    uk_lab_add_reason(lab, field, "given by the instruction set");
    say_mix(lab, w, "fma+shuffle", UK_MICRO_FMA_SHUFFLE, (struct uk_counts){.fma = 1, .shuffle = 1});
    say_mix(lab, w, "2fma+shuffle", UK_MICRO_FMA2_SHUFFLE, (struct uk_counts){.fma = 2, .shuffle = 1});
    say_mix(lab, w, "merging load", UK_MICRO_MERGE, (struct uk_counts){.load = 1, .merge = 1});
    say_mix(lab, w, "2fma+merging load", UK_MICRO_FMA2_MERGE,
            (struct uk_counts){.fma = 2, .load = 1, .merge = 1});
}

static void say_tiles(struct uk_lab *lab) {
    static const struct {
        const char *field;
        enum uk_micro_kind kind;
        bool is_rate;
    } all[] = {{"tiles.product", UK_MICRO_TILE, true},
               {"tiles.load", UK_MICRO_TILE_LOAD, true},
               {"tiles.latency", UK_MICRO_TILE_CHAIN, false}};

    uk_lab_add_reason(lab, "tiles.stored", "there is no microbenchmark of it");
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const double cycles = cycles_of(lab, all[i].kind, 0, 0);

        if (isnan(cycles))
            uk_lab_add_reason(lab, all[i].field, "this CPU lacks matrix tiles, or the system refuses them");
        else
            uk_lab_add_answer(lab, all[i].field, all[i].is_rate ? 1 / cycles : cycles);
    }
}

void uk_units_end(struct uk_lab *lab) {
    const struct uk_core *c = &lab->machine.core;
    const int bytes = widest(c);
    const double issue = cycles_of(lab, UK_MICRO_ISSUE, 0, 0);

    if (isnan(issue))
        uk_lab_add_reason(lab, "issue", "this architecture has no such microbenchmark");
    else
        uk_lab_add_answer(lab, "issue", 1 / issue);
    uk_lab_add_reason(lab, "reorder", "taken from manuals");
    if (find(UK_MICRO_FMA_CHAIN, bytes))
        uk_lab_add_answer(lab, "fma_latency", cycles_of(lab, UK_MICRO_FMA_CHAIN, bytes, 0));
    else
        uk_lab_add_reason(lab, "fma_latency", no_loops);
    for (int w = 0; w < UK_WIDTHS; w++)
        if (c->vectors[w].bytes)
            say_width(lab, w);
    if (c->tiles.product.ports)
        say_tiles(lab);
    say_split(lab, "split", UK_MICRO_LINES, UK_MICRO_LOAD, bytes);
}
