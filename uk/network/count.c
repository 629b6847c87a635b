/* SPDX-License-Identifier: Apache-2.0 */
/* uk run --count of a network: instructions of the whole network and, with =layers, of each layer and each
 * kind of layer. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "network.h"

/* ---- lower bounds ---- */

static bool is_byte(enum uk_type t) {
    return t == UK_U8 || t == UK_I8;
}

/* True if the tensor is stored with a pixel's channels contiguous. */
static bool has_channels_last(const struct uk_net_job *j, const struct uk_network_tensor *t) {
    const struct uk_network_layer *l;

    for (int i = 0; (l = uk_network_layer(j->network, i)); i++)
        if (!strcmp(l->output.name, t->name))
            return t->rank == 4 && l->order[3] == 1;
    return false;
}

/*
 * Estimates the fewest RISC-V P instructions for a layer of byte products; 0: unknown. The model:
 *
 * - Full sums: a tile of 4 x 5 outputs takes 4 + 5 loads and 20 products of 8 terms in 64-bit registers, plus
 *   3 instructions of a loop unrolled 4 times: 0.1864 per term, with sums padded to whole registers. Each
 *   output takes 2 additions of partial sums, and 8 instructions to scale, round and store.
 * - Depthwise: one register holds a window's row and serves four outputs: 0.33 per term, 7 per output, and
 *   one to move each element to its plane if channels are contiguous.
 */
static double floor_of(const struct uk_net_job *j, const struct uk_network_layer *l) {
    const double outputs = (double)l->output.elements;

    if (!uk_is_simulated(j->options.target) || l->multiply_adds <= 0 || !l->inputs ||
        !is_byte(l->input->type))
        return 0;
    if (!strcmp(l->kind, "depthwise"))
        return 0.33 * l->multiply_adds + 7 * outputs +
               (has_channels_last(j, l->input) ? (double)l->input->elements : 0);
    return (0.1864 * 8 * ceil(l->multiply_adds / outputs / 8) + 10) * outputs;
}

/* ---- lines ---- */

/* A printed line: all runs of one layer, or the sum over a kind. `floored`: instructions of the layers whose
 * lower bound is known. */
struct sum {
    const char *kind;
    int layers;
    double multiply_adds, elements, instructions, floored, floor;
};

static void add(struct sum *to, const struct sum *s) {
    to->layers += s->layers;
    to->multiply_adds += s->multiply_adds;
    to->elements += s->elements;
    to->instructions += s->instructions;
    to->floored += s->floored;
    to->floor += s->floor;
}

static void print_figures(const struct sum *s) {
    const double each = s->multiply_adds > 0 ? s->multiply_adds : s->elements;

    printf(" %14.0f %14.0f %9.4f", s->multiply_adds, s->instructions, each > 0 ? s->instructions / each : 0);
    if (s->floor > 0)
        printf(" %14.0f %7.2f", s->floor, s->floored / s->floor);
    else
        printf(" %14s %7s", "-", "-");
}

static void print_layer(int number, const struct uk_network_layer *l, const struct sum *s, int64_t runs) {
    char shape[UK_NETWORK_DIMENSIONS * 22 + 4] = "1";
    size_t n = 0;

    for (int i = 0; i < l->output.rank; i++)
        n += (size_t)snprintf(shape + n, sizeof shape - n, "%s%" PRId64, i ? "x" : "", l->output.shape[i]);
    printf("%5d %-10s %-7s %-16s", number, l->kind, *l->window ? l->window : "-", shape);
    print_figures(s);
    printf("  %s", l->name);
    if (runs != 1)
        printf(" (%" PRId64 " runs)", runs);
    printf("\n");
}

enum { KINDS = 16 }; /* more than networks.h defines */

static struct sum *sum_of(struct sum kinds[KINDS], const char *kind) {
    int i = 0;

    while (kinds[i].kind && strcmp(kinds[i].kind, kind))
        i++;
    kinds[i].kind = kind;
    return &kinds[i];
}

/* Prints a line per layer, except those that are not called, as they have no elements. */
static void print_layers(const struct uk_net_job *j, const struct uk_net_counted *counted) {
    struct sum kinds[KINDS] = {{0}};
    const struct uk_network_layer *l;

    printf("%5s %-10s %-7s %-16s %14s %14s %9s %14s %7s  %s\n", "layer", "kind", "window", "output",
           "multiply-adds", "instructions", "each", "floor", "ratio", "name");
    for (int i = 0; (l = uk_network_layer(j->network, i)); i++) {
        const double runs = (double)counted[i].runs;
        if (!l->output.elements)
            continue;
        struct sum s = {.layers = 1,
                        .multiply_adds = runs * l->multiply_adds,
                        .elements = runs * (double)l->output.elements,
                        .instructions = counted[i].instructions,
                        .floor = runs * floor_of(j, l)};
        s.floored = s.floor > 0 ? s.instructions : 0;
        print_layer(i, l, &s, counted[i].runs);
        add(sum_of(kinds, l->kind), &s);
    }
    for (const struct sum *s = kinds; s->kind; s++) {
        printf("%5d %-10s %-7s %-16s", s->layers, s->kind, "all", "-");
        print_figures(s);
        printf("\n");
    }
}

int uk_net_count_layers(struct uk_net_job *j, struct uk_emulated_counts *counts,
                        struct uk_net_counted *counted) {
    const bool steps = uk_net_has_loops(j);
    int status = uk_net_count_call(j, counts), part = 0;

    if (!status && steps) {
        uk_net_fill(j);
        uk_net_fill_states(j);
    }
    for (int i = -1; !status && (i = uk_network_next_layer(j->network, j->memory, i)) >= 0;) {
        counted[i].runs++;
        if (uk_network_layer(j->network, i)->output.elements && part == counts->parts)
            return uk_complain(UK_EXIT_WRONG, "the plugin of the emulator counted %d layers", part);
        if (uk_network_layer(j->network, i)->output.elements)
            counted[i].instructions += (double)counts->part[part++];
        if (steps)
            status = uk_net_call_layer(j, i);
    }
    return status;
}

int uk_net_count(struct uk_net_job *j) {
    if (j->device)
        return uk_net_count_device(j);
    const double n = uk_net_multiply_adds(j);
    struct uk_emulated_counts counts = {0};
    struct uk_net_counted *counted = calloc((size_t)uk_net_layers(j) + 1, sizeof *counted);
    int status = !counted                     ? uk_complain(UK_EXIT_WRONG, "out of memory")
                 : j->arguments->count_layers ? uk_net_count_layers(j, &counts, counted)
                                              : uk_net_count_call(j, &counts);

    if (!status && j->arguments->count_layers)
        print_layers(j, counted);
    if (!status) {
        printf("count: %" PRId64 " instructions", counts.instructions);
        if (n > 0)
            printf(", %.0f multiply-adds, %.4f instructions for each", n, (double)counts.instructions / n);
        printf("\n");
    }
    uk_counts_free(&counts);
    free(counted);
    return status;
}
