/* SPDX-License-Identifier: Apache-2.0 */
/* Services for measurements: random numbers, flushes, points, answers. */
#include "measure.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

uint32_t uk_lab_random(struct uk_lab *lab, uint32_t limit) {
    lab->random = lab->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((lab->random >> 32) * limit >> 32);
}

void uk_flush(const char *line) {
#if defined __x86_64__
    __asm__ volatile("clflush (%0)" : : "r"(line) : "memory");
#elif defined __aarch64__
    __asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#else
    (void)line;
#endif
}

void uk_flush_end(void) {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

bool uk_can_flush(void) {
#if defined __x86_64__ || defined __aarch64__
    return true;
#else
    return false;
#endif
}

/* ---- points and answers ---- */

static struct uk_measured *find(const struct uk_lab *lab, const struct uk_trial *trial, const void *what,
                                int64_t a, int64_t b) {
    for (int i = 0; i < lab->points; i++) {
        const struct uk_measured *p = &lab->point[i];
        if (p->trial == trial && p->what == what && p->a == a && p->b == b)
            return (struct uk_measured *)p;
    }
    return NULL;
}

void uk_point_add(struct uk_lab *lab, const struct uk_trial *trial, const void *what, int64_t a, int64_t b) {
    if (!find(lab, trial, what, a, b) && lab->points < UK_POINTS)
        lab->point[lab->points++] = (struct uk_measured){.trial = trial, .what = what, .a = a, .b = b};
}

double uk_point_cycles(const struct uk_lab *lab, const struct uk_trial *trial, const void *what, int64_t a,
                       int64_t b) {
    const struct uk_measured *p = find(lab, trial, what, a, b);
    return p ? p->cycles : NAN;
}

static struct uk_answer *answer(struct uk_lab *lab, const char *field) {
    struct uk_answer *a = &lab->answer[lab->answers < UK_ANSWERS ? lab->answers++ : UK_ANSWERS - 1];

    *a = (struct uk_answer){.value = NAN, .row = NAN};
    snprintf(a->field, sizeof a->field, "%s", field);
    return a;
}

void uk_lab_add_answer(struct uk_lab *lab, const char *field, double value) {
    answer(lab, field)->value = value;
}

void uk_lab_add_reason(struct uk_lab *lab, const char *field, const char *reason) {
    answer(lab, field)->reason = reason;
}

void uk_lab_add_extra_answer(struct uk_lab *lab, const char *name, const char *unit, double value,
                             double row) {
    struct uk_answer *a = answer(lab, name);

    a->value = value;
    a->unit = unit;
    a->row = row;
}

const struct uk_answer *uk_lab_answer(const struct uk_lab *lab, const char *field) {
    for (int i = 0; i < lab->answers; i++)
        if (!strcmp(lab->answer[i].field, field))
            return &lab->answer[i];
    return NULL;
}
