/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds the throughput of a loop by its ports, as llvm-mca and uiCA do: instructions that only the ports of
 * a set execute take at least the sum of their cycles divided by the number of those ports. It suffices to
 * try the unions of the port sets of the kinds of instructions (Hall's theorem).
 */
#include "cost.h"

double uk_cost_cycles(const struct uk_core *core, const struct uk_vectors *v, const struct uk_counts *n) {
    enum { KINDS = 7 };
    const struct uk_ports *const kind[KINDS] = {&v->fma,
                                                &v->load,
                                                &v->shuffle,
                                                &v->merge,
                                                v->bf16.ports ? &v->bf16 : &v->fma,
                                                &core->tiles.product,
                                                &core->tiles.load};
    const double count[KINDS] = {n->fma, n->load, n->shuffle, n->merge, n->bf16, n->tile, n->tile_load};
    double most = (n->fma + n->load + n->shuffle + n->other + n->bf16 + n->tile + n->tile_load) / core->issue;
    double cycles[KINDS];
    unsigned ports[KINDS];
    int kinds = 0;

    for (int i = 0; i < KINDS; i++)
        if (count[i] > 0 && kind[i]->ports) {
            ports[kinds] = kind[i]->ports;
            cycles[kinds++] = count[i] * kind[i]->cycles;
        }
    for (unsigned chosen = 1; chosen < 1u << kinds; chosen++) {
        unsigned all = 0;
        double sum = 0;

        for (int i = 0; i < kinds; i++)
            if (chosen >> i & 1) {
                all |= ports[i];
                sum += cycles[i];
            }
        const double each = sum / __builtin_popcount(all);

        most = each > most ? each : most;
    }
    return most;
}

double uk_cost_splits(int64_t bytes, int64_t stride) {
    enum { LINE = 64 };
    const struct uk_runs r = {.runs = 1, .length = (double)bytes, .pitch = stride};

    return uk_runs_units(&r, LINE, LINE) - 1;
}
