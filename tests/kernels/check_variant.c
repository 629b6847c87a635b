/* SPDX-License-Identifier: Apache-2.0 */
/* Checks that a variant computes what its kernel does. Prefetches have no effect; packed data are compared
 * here. */
#include "check_variant.h"
#include <string.h>
#include "check_plan.h"
#include "registry/small_call.h"

static struct {
    const struct uk_kernel *row;
    void (*function)(void);
    unsigned calls;
    bool wrong;
} now;

typedef void panels_prefetching(int64_t k, const void *a, const void *b, void *c, int64_t ldc, int64_t acc,
                                int64_t mr, int64_t nr, const void *s, int64_t lds, int64_t step);
typedef void ra_prefetching(int64_t k, const void *a, int64_t lda, const void *b, void *c, int64_t ldc,
                            int64_t acc, int64_t mr, int64_t nr, const void *s, int64_t lds);
typedef void rab_prefetching(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
                             int64_t ldc, int64_t acc, int64_t mr, int64_t nr, const void *s);
typedef void panels_packing(int64_t k, const void *a, const void *b, void *c, int64_t ldc, int64_t acc,
                            int64_t mr, int64_t nr, const void *s, int64_t lds, void *d);
typedef void small_function(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
                            int64_t ldc, int64_t acc, int64_t m, int64_t n);
typedef void prepare_function(struct uk_small_call *s, int64_t k, int64_t lda, int64_t ldb, int64_t ldc,
                              int64_t m, int64_t n);

static void prefetch_panels(int64_t k, const void *a, const void *b, void *c, int64_t ldc, int64_t acc,
                            int64_t mr, int64_t nr) {
    ((panels_prefetching *)now.function)(k, a, b, c, ldc, acc, mr, nr, a, k, 1);
}

static void prefetch_ra(int64_t k, const void *a, int64_t lda, const void *b, void *c, int64_t ldc,
                        int64_t acc, int64_t mr, int64_t nr) {
    ((ra_prefetching *)now.function)(k, a, lda, b, c, ldc, acc, mr, nr, b, k);
}

static void prefetch_rab(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c,
                         int64_t ldc, int64_t acc, int64_t mr, int64_t nr) {
    ((rab_prefetching *)now.function)(k, a, lda, b, ldb, c, ldc, acc, mr, nr, b);
}

/* Full tiles pack elements [0, k) of two rows: element p of each to d[p*MR] and d[p*MR + 1]. */
static void pack_panels(int64_t k, const void *a, const void *b, void *c, int64_t ldc, int64_t acc,
                        int64_t mr, int64_t nr) {
    enum { WIDEST = 16, BYTES = MAX_K * WIDEST * sizeof(double) };
    static unsigned char rows[2 * MAX_K * sizeof(double)], panel[BYTES], expected[BYTES];
    const size_t size = now.row->operation->element == UK_ELEMENT_F64 ? sizeof(double) : sizeof(float);
    const bool is_whole = mr == now.row->mr && nr == now.row->nr;

    for (size_t i = 0; i < sizeof rows; i++)
        rows[i] = (unsigned char)(i % 251);
    memset(panel, 0xff, sizeof panel);
    memset(expected, 0xff, sizeof expected);
    for (size_t p = 0; is_whole && p < (size_t)k; p++)
        for (size_t i = 0; i < 2; i++)
            memcpy(expected + (p * (size_t)now.row->mr + i) * size, rows + (i * MAX_K + p) * size, size);
    ((panels_packing *)now.function)(k, a, b, c, ldc, acc, mr, nr, rows, MAX_K, panel);
    now.wrong |= memcmp(panel, expected, sizeof panel) != 0;
}

/* Prepares a small call again each time, and uses its three functions in turn, as far as they exist; k is at
 * least 1. */
static void resolve(int64_t k, const void *a, int64_t lda, const void *b, int64_t ldb, void *c, int64_t ldc,
                    int64_t acc, int64_t m, int64_t n) {
    struct uk_small_call s = {0};

    if (!k) {
        ((small_function *)now.row->function)(k, a, lda, b, ldb, c, ldc, acc, m, n);
        return;
    }
    ((prepare_function *)now.function)(&s, k, lda, ldb, ldc, m, n);
    int (*const runs[])(const struct uk_small_call *, const void *, const void *, void *,
                        int) = {s.run, s.ahead ? s.ahead : s.run, s.prefetching ? s.prefetching : s.run};
    if (runs[now.calls++ % 3](&s, a, b, c, acc != 0))
        now.wrong = true;
}

static void (*caller(enum uk_op_form form, int variant))(void) {
    if (variant == UK_RESOLVED)
        return (void (*)(void))resolve;
    if (variant == UK_PACKING)
        return (void (*)(void))pack_panels;
    return form == UK_OP_PANELS ? (void (*)(void))prefetch_panels
           : form == UK_OP_RA   ? (void (*)(void))prefetch_ra
                                : (void (*)(void))prefetch_rab;
}

void (*variant_function(const struct uk_kernel *row, int variant))(void) {
    const struct uk_variant *v = uk_kernel_variant(row, variant);

    if (!v)
        return NULL;
    now.row = row;
    now.function = v->function;
    now.wrong = false;
    return caller(row->operation->form, variant);
}

bool variant_packed(void) {
    return !now.wrong;
}
