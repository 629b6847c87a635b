/* SPDX-License-Identifier: Apache-2.0 */
/* The lab: its memory, the clock, and samples in rounds. */
#define _GNU_SOURCE
#include "measure.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* BYTES per kind of memory: as many small pages as half of a 2 MB L2 has lines. */
enum { ADDS = 30000, LARGE_PAGE = 2 << 20, BYTES = 64 << 20 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- memory ---- */

static char *map(int64_t bytes) {
    void *p = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

/* Touches small pages for the first time in random order, so that neighbouring pages get no consecutive
 * frames; some cores hold one TLB entry for several such pages. */
static void take_pages(struct uk_lab *lab) {
    const int64_t pages = lab->bytes / lab->page;

    uk_random_order(lab, pages, pages);
    for (int64_t i = 0; i < pages; i++)
        memset(lab->small + lab->order[i] * lab->page, 0, (size_t)lab->page);
    memset(lab->large, 0, (size_t)lab->bytes);
}

struct uk_lab *uk_lab_create(const struct uk_machine *m) {
    struct uk_lab *lab = calloc(1, sizeof *lab);

    if (!lab)
        return NULL;
    lab->machine = *m;
    lab->random = 1;
    lab->page = sysconf(_SC_PAGESIZE);
    lab->bytes = BYTES;
    lab->mapped = map(lab->bytes + LARGE_PAGE);
    lab->small = map(lab->bytes);
    lab->order = malloc((size_t)(lab->bytes / UK_LINE) * sizeof *lab->order);
    if (!lab->mapped || !lab->small || !lab->order) {
        uk_lab_free(lab);
        return NULL;
    }
    lab->large = lab->mapped + (-(uintptr_t)lab->mapped & (LARGE_PAGE - 1));
    madvise(lab->large, (size_t)lab->bytes, MADV_HUGEPAGE);
    madvise(lab->small, (size_t)lab->bytes, MADV_NOHUGEPAGE);
    take_pages(lab);
    uk_units_begin(lab);
    uk_caches_begin(lab);
    uk_lines_begin(lab);
    uk_prefetch_begin(lab);
    uk_tlb_begin(lab);
    return lab;
}

void uk_lab_free(struct uk_lab *lab) {
    if (!lab)
        return;
    if (lab->small)
        munmap(lab->small, (size_t)lab->bytes);
    if (lab->mapped)
        munmap(lab->mapped, (size_t)lab->bytes + LARGE_PAGE);
    free(lab->order);
    free(lab);
}

/* ---- samples ---- */

/* Seconds per cycle, by a chain of register additions. (Constants do not do: some cores eliminate adding
 * them.) */
static double cycle(void) {
    const size_t one = uk_hide_value(1);
    size_t sum = 0;
    const double start = now();

    for (int i = 0; i < ADDS / 10; i++) {
#define ADD     \
    sum += one; \
    __asm__("" : "+r"(sum));
        ADD ADD ADD ADD ADD ADD ADD ADD ADD ADD
#undef ADD
    }
    const double seconds = now() - start;
    uk_hide_value(sum);
    return seconds / ADDS;
}

/* Number of times that another program preempted this thread. */
static long switches(void) {
    struct rusage r;
    return getrusage(RUSAGE_THREAD, &r) ? 0 : r.ru_nivcsw;
}

/* Takes a sample. If the clock rate changed or another program ran meanwhile, tries again, at most three
 * times. */
static void take_sample(struct uk_lab *lab, struct uk_measured *p) {
    double before, after, seconds, operations;
    long switched;
    int tries = 0;

    do {
        switched = switches();
        if (p->trial->prepare)
            p->trial->prepare(lab, p);
        before = cycle();
        const double start = now();
        operations = p->trial->run(lab, p);
        seconds = now() - start;
        after = cycle();
        switched = switches() - switched;
    } while ((before > 1.03 * after || after > 1.03 * before || switched) && ++tries < 4);
    p->sample[p->samples++ % UK_SAMPLES] = seconds / operations / fmin(before, after);
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static void set_percentile(struct uk_measured *p) {
    const int n = p->samples < UK_SAMPLES ? p->samples : UK_SAMPLES;

    qsort(p->sample, (size_t)n, sizeof *p->sample, by_value);
    p->cycles = p->sample[p->trial->median ? n / 2 : n / 20];
}

void uk_lab_measure(struct uk_lab *lab, double seconds) {
    const double end = now() + seconds;
    double longest = 0;

    do {
        const double start = now();
        for (int i = 0; i < lab->points; i++)
            take_sample(lab, &lab->point[i]);
        lab->rounds++;
        longest = fmax(longest, now() - start);
    } while (now() + longest < end && lab->rounds < UK_SAMPLES);
    for (int i = 0; i < lab->points; i++)
        set_percentile(&lab->point[i]);
    uk_units_end(lab);
    uk_caches_end(lab);
    uk_lines_end(lab);
    uk_prefetch_end(lab);
    uk_tlb_end(lab);
}
