/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and prints the counts that the emulator's plugin (count.c) writes: executed instructions by function
 * and mnemonic. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "emulate.h"

/* Adds an empty line; NULL: out of memory. */
static struct uk_count *add_line(struct uk_emulated_counts *c) {
    if (!(c->lines & (c->lines + 1))) {
        struct uk_count *more = realloc(c->line, ((size_t)c->lines * 2 + 2) * sizeof *more);

        if (!more)
            return NULL;
        c->line = more;
    }
    return &c->line[c->lines++];
}

/* Reads the counts of calls. Exit status. */
static int read_parts(struct uk_emulated_counts *c, FILE *f) {
    c->part = calloc((size_t)c->parts + 1, sizeof *c->part);
    if (!c->part)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (int i = 0; i < c->parts; i++)
        if (fscanf(f, "%" SCNd64, &c->part[i]) != 1)
            c->parts = i;
    return UK_EXIT_OK;
}

int uk_counts_read(struct uk_emulated_counts *c, const char *path, const char *emulator) {
    FILE *f = fopen(path, "r");
    const bool begins =
        f && fscanf(f, "%" SCNd64 "%" SCNd64 "%d", &c->instructions, &c->cycles, &c->parts) == 3;
    struct uk_count one;
    int status = begins ? UK_EXIT_OK
                        : uk_complain(UK_EXIT_WRONG,
                                      "%s did not load the plugin that counts; install Debian's qemu-user, "
                                      "of version 7.2 or later",
                                      emulator);

    if (!status)
        status = read_parts(c, f);
    while (!status && fscanf(f, "%" SCNd64 " %255s %23s", &one.count, one.function, one.mnemonic) == 3) {
        struct uk_count *line = add_line(c);

        if (line)
            *line = one;
        else
            status = uk_complain(UK_EXIT_WRONG, "out of memory");
    }
    if (f)
        fclose(f);
    return status;
}

void uk_counts_free(struct uk_emulated_counts *c) {
    free(c->line);
    free(c->part);
    *c = (struct uk_emulated_counts){0};
}

int64_t uk_counts_of(const struct uk_emulated_counts *c, const char *mnemonic) {
    int64_t n = 0;

    for (int i = 0; i < c->lines; i++)
        n += strcmp(c->line[i].mnemonic, mnemonic) ? 0 : c->line[i].count;
    return n;
}

static int by_count(const void *a, const void *b) {
    const struct uk_count *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->function, y->function);
}

/* Sums the lines by function or by mnemonic, in decreasing order; the sums' `function` is that name. False:
 * out of memory. */
static bool add_up(const struct uk_emulated_counts *c, bool by_mnemonic, struct uk_emulated_counts *sums) {
    for (int i = 0; i < c->lines; i++) {
        const char *name = by_mnemonic ? c->line[i].mnemonic : c->line[i].function;
        int k = 0;

        while (k < sums->lines && strcmp(sums->line[k].function, name))
            k++;
        if (k == sums->lines) {
            struct uk_count *line = add_line(sums);

            if (!line)
                return false;
            *line = (struct uk_count){.count = 0};
            snprintf(line->function, sizeof line->function, "%s", name);
        }
        sums->line[k].count += c->line[i].count;
    }
    if (sums->lines)
        qsort(sums->line, (size_t)sums->lines, sizeof *sums->line, by_count);
    return true;
}

int uk_counts_print(const struct uk_emulated_counts *c) {
    for (int by_mnemonic = 0; by_mnemonic < 2; by_mnemonic++) {
        struct uk_emulated_counts sums = {0};

        if (!add_up(c, by_mnemonic, &sums)) {
            uk_counts_free(&sums);
            return uk_complain(UK_EXIT_WRONG, "out of memory");
        }
        printf("count by %s:\n", by_mnemonic ? "mnemonic" : "function");
        for (int i = 0; i < sums.lines; i++)
            printf("  %-24s %12" PRId64 "  %5.1f %%\n", sums.line[i].function, sums.line[i].count,
                   100.0 * (double)sums.line[i].count / (double)c->instructions);
        uk_counts_free(&sums);
    }
    return UK_EXIT_OK;
}
