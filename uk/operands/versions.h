/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with several schedules: which one is taken for given sizes, and sizes that test the choice. */
#ifndef UK_VERSIONS_H
#define UK_VERSIONS_H

#include "base/base.h"
#include "language/language.h"

/* The number of the schedule that the function takes for all these sizes, from 1; 0: it has only one. */
int uk_version_taken(const struct uk_program *p, const int64_t *sizes);
/* The number of the program's schedules; 0: one without a condition. */
int uk_version_count(const struct uk_program *p);
/* Prints a line about the schedule that is taken; nothing if there is only one. */
void uk_version_print(struct uk_program *p, const int64_t *sizes);

enum { UK_MAX_TEST_SIZES = 32 };
/* Values of all sizes, in order, for several calls. */
struct uk_test_sizes {
    int64_t *sizes[UK_MAX_TEST_SIZES];
    int count;
};
/* Finds sizes near the given ones at which relations of conditions begin or cease to hold: for each, one
 * point on both sides. The function accepts them all. They are not much larger than the given sizes. Exit
 * status; call uk_test_sizes_free() in any case. */
int uk_test_sizes_find(struct uk_test_sizes *points, struct uk_program *p, const struct uk_options *o,
                       const int64_t *sizes);
void uk_test_sizes_free(struct uk_test_sizes *points);

#endif
