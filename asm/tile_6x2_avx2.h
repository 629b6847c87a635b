/* What the kernels of 6 rows x 2 vectors of 8 floats or 4 doubles share beside their element. */
#include "element_avx2.h"

enum { NR = 2 * V };

/* One row of the tile to memory; low and high select the columns there are. */
static inline __attribute__((always_inline)) void store_row(element *c, vector x, vector y, int64_t acc,
                                                            int64_t nr, __m256i low, __m256i high) {
    if (nr == NR) {
        store(c, acc ? (vector)(load(c) + x) : x);
        store(c + V, acc ? (vector)(load(c + V) + y) : y);
        return;
    }
    if (acc) {
        x += load_part(c, low);
        y += load_part(c + V, high);
    }
    store_part(c, low, x);
    store_part(c + V, high, y);
}
