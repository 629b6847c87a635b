/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caches that block sizes are chosen for: those of the first core, taken for all. Of a cache that several cores share a core has
 * its share; hyperthreads of one core do not divide it. And the vector units that multiply or shuffle: two of each, of which AMD's
 * cores have one in common at any width; on Intel's the shuffles of 512 bits use the units of multiply-adds, and so does a load into
 * a part of a register, whether the rest is kept or cleared (Granite Rapids: 24 multiply-adds and 8 such loads take 16 cycles, 24 and
 * 4 whole loads 12).
 * And whether the last cache is far: one core of Granite Rapids writes 29 GB/s to its 480 MB, behind a mesh, and some
 * 24 GB/s to memory; AMD's cores share a last cache with a few others only.
 *
 * What operands in place cost was measured on Zen 5, and for Intel on Granite Rapids in a virtual machine: AVX-512's tiles
 * of 14 rows, sums over 512, rows of B 1, 2, 4 and 8 KB apart or a line or half of one more, two to 32 panels of rows, all
 * of B in place, packed by the first panel, or packed beforehand. The third cache of those is a mesh of slices, some 250
 * cycles away, where Zen's is 50: of 14 cycles a step, lines from there took 7 more for the two of a row, translations of
 * rows in pages of their own 0.8 and rows that cross lines 0.4; the copy took 2 to 6 for the 128 bytes of a row. A line of
 * A took 2 to 4 more than where tiles ask for it, of 3136 or 12544 rows of 32 to 256 elements. Rows of A a multiple of 4 KB
 * apart, for which there are 12 ways, took 0.01 to 0.045 a step: of 49 to 1024 of them those of products with 768 or 1024
 * columns were faster copied, with up to 512 in place. Their lines wait in the second cache, 16 cycles away.
 *
 * On Emerald Rapids A's copy took tiles that make it beside their steps 0.04 cycles a byte of doubles, 0.06 of floats: rows
 * of 56 and 28 KB, 8 tiles. Without it rows of doubles 4 KB apart took 0.04 a step.
 *
 * A column-major A in place had no measurable cost on Zen 5. On Granite Rapids, sums over 512 and 256 of 504 rows, 4 and 16
 * tiles to a row, steps 2 to 8 KB apart: the copy took 12 cycles for the 56 bytes of a step. In place its two lines took each
 * tile 0.4 cycles where they lie in few pages, 1.0 to 1.6 in many, and 3 where they share too few sets of the second cache.
 *
 * Where C was transposed instead of B, Granite Rapids gained what was estimated to within 4 %, or more; other CPUs have not been
 * measured.
 */
#include <cpuinfo.h>
#include <pthread.h>
#include "machine.h"

static struct uk_caches caches = {
    .first = {32768, 8},
    .second = {1 << 20, 16},
    .last = {8 << 20, 16},
    .cores = 1,
    .vector_units = 2,
    .in_place = {.conflict = 0.2, .far = 0.15, .translate = 0.2, .as_read = 0.1},
    .columns = {.copy = 0.1},
    .transposed = 1.15};
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Virtual machines may report any sizes: implausible ones are not used, the defaults above are. */
static void take(struct uk_cache *c, const struct cpuinfo_cache *found, uint32_t threads, int64_t low,
                 int64_t high) {
    if (!found)
        return;
    const uint32_t sharing = found->processor_count > threads ? found->processor_count / threads : 1;
    const int64_t size = found->size / sharing;

    if (size >= low && size <= high)
        c->size = size;
    if (found->associativity >= 2 && found->associativity <= 32)
        c->ways = found->associativity;
}

static void ask(void) {
    if (!cpuinfo_initialize())
        return;
    const struct cpuinfo_core *core = cpuinfo_get_core(0);
    const uint32_t threads = core && core->processor_count ? core->processor_count : 1;

    take(&caches.first, cpuinfo_get_l1d_cache(0), threads, 16384, 262144);
    take(&caches.second, cpuinfo_get_l2_cache(0), threads, 131072, 4 << 20);
    take(&caches.last, cpuinfo_get_l3_cache(0), threads, 1 << 20, 256 << 20);
    if (core && core->vendor == cpuinfo_vendor_amd)
        caches.vector_units = 3;
    if (core && core->vendor == cpuinfo_vendor_intel) {
        caches.last_is_far = true;
        caches.merging_takes_unit = true;
        caches.crossing = 0.9;
        caches.in_place.conflict = 0.02;
        caches.in_place.far = 3.5;
        caches.in_place.translate = 0.8;
        caches.in_place.crossing = 0.4;
        caches.in_place.as_read = 0.03;
        caches.in_place.beside = 0.05;
        caches.in_place.unasked = 2.5;
        caches.columns.copy = 0.2;
        caches.columns.near = 0.2;
        caches.columns.far = 1.3;
        caches.columns.translate = 0.8;
        caches.transposed = 1.03;
        caches.ahead = 2048;
    }
    if (cpuinfo_get_cores_count())
        caches.cores = (int)cpuinfo_get_cores_count();
}

const struct uk_caches *uk_caches(void) {
    pthread_once(&once, ask);
    return &caches;
}
