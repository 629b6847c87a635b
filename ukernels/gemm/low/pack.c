/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of operands of low precision: panels of groups of terms, and rows. */
#include <string.h>
#include "gemm/low.h"
#include "kernels.h"

static const struct uk_kernel *of_group(const struct uk_kernel *const *rows, int count, int kr) {
    for (int i = 0; i < count; i++)
        if (rows[i]->kr == kr)
            return rows[i];
    return NULL;
}

const struct uk_kernel *uk_gemm_group_pack(const struct gemm_type *t, int kr, bool along_k) {
    const struct uk_kernel *const panel =
        along_k ? of_group(t->panel_t, t->panels_t, kr) : of_group(t->panel_n, t->panels_n, kr);

    return panel     ? panel
           : along_k ? of_group(t->pack_t, t->packs_t, kr)
                     : of_group(t->pack_n, t->packs_n, kr);
}

/* Packs all groups of a panel by a kernel; false: the kernel packs one group at a time. */
static bool pack_panel(const struct gemm_type *t, const struct uk_kernel *kernel, int64_t k, int64_t n,
                       const void *s, int64_t apart, void *d, int64_t width) {
    const int64_t groups = uk_ceil_div(k, kernel->kr);

    if (kernel->operation->form != UK_OP_PANEL_T && kernel->operation->form != UK_OP_PANEL_N)
        return false;
    if (t->size == 1)
        ((uk_u8panel_n_function *)kernel->function)(k, s, apart, d, width * kernel->kr, n, width, groups);
    else
        ((uk_bpanel_n_function *)kernel->function)(k, s, apart, d, width * kernel->kr, n, width, groups);
    return true;
}

/* Packs one group of terms of all lines by a kernel. */
static void pack_group(const struct gemm_type *t, const struct uk_kernel *kernel, int64_t terms, int64_t n,
                       const void *s, int64_t apart, void *d, int64_t width) {
    if (t->size == 1)
        ((uk_u8pack_n_function *)kernel->function)(terms, s, apart, d, n, width);
    else
        ((uk_bpack_n_function *)kernel->function)(terms, s, apart, d, n, width);
}

/* Packs one group of terms without a kernel. */
static void pack_plainly(int size, int kr, int64_t terms, int64_t n, const char *s, int64_t step,
                         int64_t across, char *d, int64_t width) {
    memset(d, 0, (size_t)(width * kr * size));
    for (int64_t j = 0; j < n; j++)
        for (int64_t p = 0; p < terms; p++)
            memcpy(d + (j * kr + p) * size, s + (j * across + p * step) * size, (size_t)size);
}

/* Packs a panel of single terms of f16; false: no kernel packs panels of this width. */
static bool pack_whole(const struct gemm_type *t, const struct uk_lattice *to, int64_t k, int64_t n,
                       const void *s, int64_t step, int64_t across, void *d) {
    const bool along_k = step == 1;
    const struct uk_kernel *kernel = to->element != UK_ELEMENT_F16 ? NULL
                                     : along_k ? gemm_pack_of(t->pack_t, t->packs_t, to->width, true)
                                               : gemm_pack_of(t->pack_n, t->packs_n, to->width, false);

    if (kernel)
        ((uk_hpack_n_function *)kernel->function)(k, s, along_k ? across : step, d, n);
    return kernel;
}

void uk_gemm_pack_groups(const struct gemm_type *t, const struct uk_lattice *to, int64_t k, int64_t n,
                         const void *source, int64_t step, int64_t across, void *d) {
    const int kr = uk_lattice_group(to);
    const bool along_k = step == 1;
    const struct uk_kernel *kernel = kr > 1 ? uk_gemm_group_pack(t, kr, along_k) : NULL;

    if (kr == 1 && pack_whole(t, to, k, n, source, step, across, d))
        return;
    if (uk_element_bytes(to->element) != t->size) {
        uk_gemm_pack_widened(t, k, n, source, step, across, to->width, d);
        return;
    }
    if (kernel && pack_panel(t, kernel, k, n, source, along_k ? across : step, d, to->width))
        return;
    for (int64_t p = 0; p < k; p += kr) {
        const int64_t terms = uk_min(k - p, kr);
        const char *s = (const char *)source + p * step * t->size;
        char *group = (char *)d + p * to->width * t->size;

        if (kernel)
            pack_group(t, kernel, terms, n, s, along_k ? across : step, group, to->width);
        else
            pack_plainly(t->size, kr, terms, n, s, step, across, group, to->width);
    }
}

void uk_gemm_copy_low_rows(const struct gemm_type *t, int64_t m, int64_t k, const void *source, int64_t row,
                           int64_t step, void *to, int64_t ldd) {
    const size_t size = (size_t)t->size;
    const char *s = source;
    char *d = to;

    const int64_t filled = uk_min(uk_ceil_div(k, GEMM_GROUP_MOST) * GEMM_GROUP_MOST, ldd);

    for (int64_t i = 0; i < m; i++, s += row * t->size, d += ldd * t->size) {
        memset(d + k * t->size, 0, (size_t)(filled - k) * size);
        if (step == 1)
            memcpy(d, s, (size_t)k * size);
        else
            for (int64_t p = 0; p < k; p++)
                memcpy(d + p * t->size, s + p * step * t->size, size);
    }
}
