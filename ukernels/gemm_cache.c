/*
 * The caches that blocks are made for: those of the first core, which stand for all. A cache that several cores share
 * counts by their shares, one of a core's hyperthreads as a whole. And the vector units that multiply or shuffle: two
 * and two, which AMD's cores have one of in common at any width; on Intel's the shuffles of 512 bits go where multiply-adds
 * do.
 */
#include <cpuinfo.h>
#include <pthread.h>
#include "gemm.h"

static struct gemm_caches caches = {
    .first = {32768, 8}, .second = {1 << 20, 16}, .last = {8 << 20, 16}, .cores = 1, .vector_units = 2};
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Virtual machines report whatever their host pleases: what is not plausible stays as it is above. */
static void take(struct gemm_cache *c, const struct cpuinfo_cache *found, uint32_t threads, int64_t low,
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
    if (cpuinfo_get_cores_count())
        caches.cores = (int)cpuinfo_get_cores_count();
}

const struct gemm_caches *gemm_caches(void) {
    pthread_once(&once, ask);
    return &caches;
}
