/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the text and JSON output of uk machine. */
#ifndef UK_MACHINE_OUTPUT_H
#define UK_MACHINE_OUTPUT_H

#include <cpuinfo.h>
#include "measure.h"
#include "uk.h"

enum { UK_LEVELS = 3 };

/* A cache: its row in cores.def or uncores.def, the values in use, and what cpuinfo reports (NULL:
 * nothing). */
struct uk_level {
    const char *name; /* prefix of its fields' names */
    struct uk_cache row, used;
    int cores; /* number of cores that share it */
    const struct cpuinfo_cache *found;
};

void uk_find_levels(const struct uk_machine *m, struct uk_level *level);
/* Says how the cache that cpuinfo reports was used. */
const char *uk_level_fate(const struct uk_level *l);
/* Says why a field was not measured; `a` is its answer, or NULL. */
const char *uk_reason(const struct uk_machine *m, const struct uk_field *f, const struct uk_answer *a);
/* Prints all facts as JSON; lab = NULL: without measurements. Exit status. */
int uk_print_machine_json(const struct uk_machine *m, const struct uk_level *level, const struct uk_lab *lab);

#endif
