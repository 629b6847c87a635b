/* SPDX-License-Identifier: Apache-2.0 */
/* Constants: memory for their elements, which may be that of a mapped file, and access to them. */
#define _DEFAULT_SOURCE /* madvise */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "graph/graph.h"

/* Code of layers reads constants at multiples of this; those that are so already need no copy. */
enum { ALIGNMENT = 64 };

/* ---- memory ---- */

void *uk_constant_alloc(struct uk_graph *g, int64_t bytes) {
    if (bytes > g->constant_room) {
        uk_graph_fail(g, UK_REFUSED, g->inferred, "constants would take more than %lld MiB",
                      (long long)UK_MAX_CONSTANT_BYTES >> 20);
        return NULL;
    }
    g->constant_room -= bytes;
    char *memory = uk_alloc(&g->arena, (size_t)bytes + ALIGNMENT);

    return memory ? memory + -(uintptr_t)memory % ALIGNMENT : NULL;
}

void uk_allow_constant(struct uk_graph *g, int64_t bytes) {
    g->constant_room += 3 * bytes;
}

void *uk_value_constant(struct uk_graph *g, struct uk_graph_value *v, enum uk_type type, int rank,
                        const int64_t *extent) {
    v->type = type;
    v->has_shape = true;
    v->rank = rank;
    if (rank)
        memcpy(v->extent, extent, (size_t)rank * sizeof *extent);
    int64_t n = uk_value_elements(v);
    if (n < 0)
        uk_graph_fail(g, UK_REFUSED, g->inferred, "constant '%s' is too large for 64 bits", v->name);
    void *data = n < 0 ? NULL : uk_constant_alloc(g, n * (int64_t)uk_type_bytes(type));

    v->data = data;
    return data;
}

/* ---- mapped files ---- */

bool uk_value_map(struct uk_graph *g, struct uk_graph_value *v, int file, int64_t offset, int64_t bytes) {
    const int64_t skip = offset % sysconf(_SC_PAGESIZE);
    struct uk_mapping *m = uk_alloc(&g->arena, sizeof *m);
    void *at =
        m ? mmap(NULL, (size_t)(bytes + skip), PROT_READ, MAP_PRIVATE, file, offset - skip) : MAP_FAILED;

    if (at == MAP_FAILED)
        return false;
    *m = (struct uk_mapping){g->mappings, at, (size_t)(bytes + skip)};
    g->mappings = m;
    v->data = (char *)at + skip;
    uk_allow_constant(g, bytes);
    g->constant_room -= bytes;
    return true;
}

void uk_graph_unmap(struct uk_graph *g) {
    for (const struct uk_mapping *m = g->mappings; m; m = m->next)
        munmap(m->address, m->length);
    g->mappings = NULL;
}

void uk_pages_give_back(const void *from, size_t length) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), end = ((uintptr_t)from + length) / page * page,
                    begin = ((uintptr_t)from + page - 1) / page * page;

    if (begin < end)
        madvise((void *)begin, end - begin, MADV_DONTNEED);
}

void uk_constant_give_back(const struct uk_graph *g, const struct uk_graph_value *v) {
    for (const struct uk_mapping *m = g->mappings; m; m = m->next)
        if ((uintptr_t)v->data - (uintptr_t)m->address < m->length)
            uk_pages_give_back(m->address, m->length);
}

/* ---- elements ---- */

/* True if element i of an array of floats is finite: its exponent is not all ones. False for other types. */
static bool is_element_finite(enum uk_type type, const void *data, int64_t i) {
    switch (type) {
    case UK_F64:
        return isfinite(((const double *)data)[i]);
    case UK_F32:
        return isfinite(((const float *)data)[i]);
    case UK_F16:
        return (((const uint16_t *)data)[i] & 0x7c00) != 0x7c00;
    case UK_BF16:
        return (((const uint16_t *)data)[i] & 0x7f80) != 0x7f80;
    default:
        return false;
    }
}

bool uk_constant_is_finite(const struct uk_graph *g, struct uk_graph_value *v) {
    const int64_t n = v->data ? uk_stored_elements(v) : 0;
    bool all = n > 0;

    if (v->data && v->examined == v->data)
        return v->is_finite;
    for (int64_t i = 0; all && i < n; i++)
        all = is_element_finite(v->type, v->data, i);
    uk_constant_give_back(g, v);
    v->examined = v->data;
    return v->is_finite = all;
}

int64_t uk_constant_int(const struct uk_graph_value *v, int64_t i) {
    switch (v->type) {
    case UK_I64:
        return ((const int64_t *)v->data)[i];
    case UK_I32:
        return ((const int32_t *)v->data)[i];
    case UK_I16:
        return ((const int16_t *)v->data)[i];
    case UK_I8:
        return ((const int8_t *)v->data)[i];
    case UK_U8:
        return ((const uint8_t *)v->data)[i];
    case UK_U16:
        return ((const uint16_t *)v->data)[i];
    case UK_U32:
        return ((const uint32_t *)v->data)[i];
    case UK_U64:
        return ((const int64_t *)v->data)[i];
    default:
        return 0;
    }
}

double uk_constant_real(const struct uk_graph_value *v, int64_t i) {
    switch (v->type) {
    case UK_F64:
        return ((const double *)v->data)[i];
    case UK_F32:
        return ((const float *)v->data)[i];
    case UK_U64:
        return (double)((const uint64_t *)v->data)[i];
    default:
        return (double)uk_constant_int(v, i);
    }
}
