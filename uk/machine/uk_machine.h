/* SPDX-License-Identifier: Apache-2.0 */
/* Inside uk machine: what its text and its JSON share. */
#ifndef UK_UK_MACHINE_H
#define UK_UK_MACHINE_H

#include <cpuinfo.h>
#include "measure.h"
#include "uk.h"

enum { UK_LEVELS = 3 };

/* A cache of the row as it stands in cores.def or uncores.def, as it is used, and as cpuinfo reports it
 * (NULL: it does not). */
struct uk_level {
    const char *name; /* as the fields of it begin */
    struct uk_cache row, used;
    int cores; /* that share it, as used */
    const struct cpuinfo_cache *found;
};

void uk_find_levels(const struct uk_machine *m, struct uk_level *level);
/* What became of the cache that cpuinfo reports. */
const char *uk_level_fate(const struct uk_level *l);
/* Why a field has no measurement; `a` is its answer, or NULL. */
const char *uk_reason(const struct uk_machine *m, const struct uk_field *f, const struct uk_answer *a);
/* lab of NULL: nothing was measured. Exit status. */
int uk_print_machine_json(const struct uk_machine *m, const struct uk_level *level, const struct uk_lab *lab);

#endif
