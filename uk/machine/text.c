/* SPDX-License-Identifier: Apache-2.0 */
/* uk machine: prints the row of cores.def in use, and compares it with microbenchmarks. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "output.h"
#include "progress.h"

/* ---- the row ---- */

void uk_find_levels(const struct uk_machine *m, struct uk_level *level) {
    const struct uk_core *row = uk_core_find(m->core.name);
    const struct uk_machine plain = uk_machine_of(row ? row : &m->core);
    const bool is_known = cpuinfo_initialize();

    level[0] =
        (struct uk_level){"l1", plain.core.l1, m->core.l1, 1, is_known ? cpuinfo_get_l1d_cache(0) : NULL};
    level[1] = (struct uk_level){"l2", plain.core.l2, m->core.l2, m->core.l2_cores,
                                 is_known ? cpuinfo_get_l2_cache(0) : NULL};
    level[2] = (struct uk_level){"uncore.cache", plain.uncore.cache, m->uncore.cache, m->uncore.cores,
                                 is_known ? cpuinfo_get_l3_cache(0) : NULL};
}

const char *uk_level_fate(const struct uk_level *l) {
    if (!l->found)
        return "not reported, the row's value is used";
    /* A shared cache is used either whole or by a core's share. */
    const bool takes_size = l->used.size == l->found->size || l->used.size * l->cores == l->found->size;
    const bool takes_ways = l->used.ways == (int)l->found->associativity;

    if (l->used.size == l->row.size && l->used.ways == l->row.ways)
        return takes_size && takes_ways ? "as in the row" : "not plausible, the row's values are used";
    return takes_size && takes_ways ? "used instead of the row's values" : "used in part";
}

static void print_levels(const struct uk_level *level) {
    for (int i = 0; i < UK_LEVELS; i++) {
        const struct uk_level *l = &level[i];
        char label[32];
        snprintf(label, sizeof label, "cpuinfo %s", l->name);
        if (l->found)
            printf("%-22s %" PRIu32 " bytes, %" PRIu32 " ways, of %" PRIu32
                   " processors: %s, which has %" PRId64 " bytes, %d ways\n",
                   label, l->found->size, l->found->associativity, l->found->processor_count,
                   uk_level_fate(l), l->row.size, l->row.ways);
        else
            printf("%-22s %s\n", label, uk_level_fate(l));
    }
}

static void print_row(const struct uk_machine *m) {
    for (const struct uk_field *f = uk_fields; f->name; f++) {
        const bool begins = f == uk_fields || strcmp(f[-1].line, f->line) != 0;
        const bool ends = !f[1].name || strcmp(f[1].line, f->line) != 0;
        char text[96];
        if (begins)
            printf("%-22s ", f->line);
        if (!uk_field_is_absent(m, f)) {
            fputs(begins ? "" : ", ", stdout);
            printf(f->words, uk_field_text(m, f, text, sizeof text));
        } else if (begins) {
            fputs("none", stdout);
        }
        if (ends)
            putchar('\n');
    }
}

/* Asks the system for matrix tiles, as the first product that uses them does. */
static void print_state(void) {
    const bool has = uk_cpu_has("amx-tile"), granted = uk_state_load(UK_STATE_TILES) == UK_OK;

    uk_state_release(UK_STATE_TILES);
    printf("%-22s %s\n", "state tiles",
           granted ? "granted by the system"
           : has   ? "refused by the system: products take other kernels"
                   : "this CPU has none, or UK_ISA hides them");
}

static int list_rows(const struct uk_machine *used) {
    const struct uk_core *c;

    for (int i = 0; (c = uk_core_at(i)); i++)
        if (c->arch != UK_ARCH_any && !c->device.lanes)
            printf("%-17s %-8s %s%s\n", c->name, uk_arch_name(c->arch),
                   c->cpus && *c->cpus ? c->cpus : "selected by name only",
                   strcmp(c->name, used->core.name) ? "" : " (in use)");
    return UK_EXIT_OK;
}

/* ---- measurements ---- */

const char *uk_reason(const struct uk_machine *m, const struct uk_field *f, const struct uk_answer *a) {
    if (uk_field_is_absent(m, f))
        return "the row has none";
    if (a && a->reason)
        return a->reason;
    return f->kind == UK_FIELD_TEXT || f->kind == UK_FIELD_ARCH ? "it is a name"
                                                                : "there is no microbenchmark of it";
}

static const char *number(double value, char *text, size_t size) {
    snprintf(text, size, value >= 1000 ? "%.0f" : "%.4g", value);
    return text;
}

static void print_difference(const struct uk_field *f, double measured, double row) {
    if (f && f->kind == UK_FIELD_BOOL)
        printf(" %10s", (measured > 0) == (row > 0) ? "" : "differs");
    else if (row > 0)
        printf(" %+8.1f %%", 100 * (measured / row - 1));
    else
        printf(" %10s", "");
}

static void print_measured(const struct uk_machine *m, const struct uk_field *f, const struct uk_answer *a) {
    char text[96], measured[32];

    if (f->kind == UK_FIELD_PORTS)
        snprintf(text, sizeof text, "%.4g", uk_field_value(m, f));
    else
        uk_field_text(m, f, text, sizeof text);
    printf("%-26s", f->name);
    if (a && !a->reason) {
        if (f->kind == UK_FIELD_BOOL)
            printf(" %12s %14s", a->value > 0 ? "yes" : "no", text);
        else
            printf(" %12s %14s", number(a->value, measured, sizeof measured), text);
        print_difference(f, a->value, uk_field_value(m, f));
        printf("  %s\n", f->unit);
        return;
    }
    printf(" %12s %14s %10s  not measured: %s\n", "-", text, "", uk_reason(m, f, a));
}

static void print_extra_answer(const struct uk_answer *a) {
    printf("%-26s %12.4g", a->field, a->value);
    if (isnan(a->row))
        printf(" %14s %10s", "", "");
    else
        printf(" %14.4g", a->row);
    if (!isnan(a->row))
        print_difference(NULL, a->value, a->row);
    printf("  %s\n", a->unit);
}

static void print_measurement(const struct uk_lab *lab) {
    const struct uk_machine *m = &lab->machine;

    printf("%s, compared with measurements: the 5th percentile of %d samples of each fact.\nThe clock rate "
           "is that of dependent additions, timed before and after each sample.\n\n",
           m->core.name, lab->rounds);
    printf("%-26s %12s %14s %10s\n", "", "measured", "row", "difference");
    for (const struct uk_field *f = uk_fields; f->name; f++)
        print_measured(m, f, uk_lab_answer(lab, f->name));
    puts("\nCombinations of facts, and facts that the row does not have:");
    for (int i = 0; i < lab->answers; i++)
        if (lab->answer[i].unit)
            print_extra_answer(&lab->answer[i]);
}

/* ---- the command ---- */

static int measure(const struct uk_machine *m, const struct uk_level *level, const struct uk_arguments *a) {
    struct uk_lab *lab = uk_lab_create(m);
    int status = UK_EXIT_OK;

    if (!lab)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    const int seconds = a->time_limit ? (int)a->time_limit : 30;
    char text[64];

    snprintf(text, sizeof text, "measuring for about %d s", seconds);
    uk_progress_begin(text);
    uk_lab_measure(lab, seconds);
    uk_progress_end();
    if (a->json)
        status = uk_print_machine_json(m, level, lab);
    else
        print_measurement(lab);
    uk_lab_free(lab);
    return status;
}

int uk_command_machine(const struct uk_arguments *a) {
    const struct uk_machine *m = uk_machine();
    struct uk_level level[UK_LEVELS];
    const char *message;

    if (a->list && (a->measure || a->json))
        return uk_complain(UK_EXIT_USAGE, "--list prints only names; leave out %s",
                           a->measure ? "--measure" : "--json");
    if (a->time_limit && !a->measure)
        return uk_complain(UK_EXIT_USAGE, "--seconds needs --measure; give that, or leave it out");
    if (uk_machine_is_refused(&message) || uk_cpu_status(&message))
        return uk_complain(UK_EXIT_WRONG, "%s", message);
    if (a->list)
        return list_rows(m);
    uk_find_levels(m, level);
    if (a->measure)
        return measure(m, level, a);
    if (a->json)
        return uk_print_machine_json(m, level, NULL);
    print_row(m);
    print_levels(level);
    print_state();
    return UK_EXIT_OK;
}
