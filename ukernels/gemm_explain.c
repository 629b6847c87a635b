/* What a plan does, in words. */
#include <stdarg.h>
#include <stdio.h>
#include "gemm_direct.h"

struct text {
    char *buffer;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) static void add(struct text *t, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    const size_t room = t->length < t->size ? t->size - t->length : 0;
    const int n = vsnprintf(room ? t->buffer + t->length : NULL, room, format, ap);
    va_end(ap);
    t->length += n > 0 ? (size_t)n : 0;
}

static const char *source(int source, bool packed, bool is_b) {
    static const char *const texts[] = {"read in place", "copied in rows", "packed in panels"};

    return packed && is_b ? "packed beforehand, in panels" : packed ? "packed beforehand" : texts[source];
}

static void add_direct(struct text *t, const struct uk_gemm_plan *p) {
    int from = 0;

    add(t, "path: small, all rows in one call, A read in place, B %s\n",
        p->b_column == 1 ? "read in place" : "turned in panels on the stack");
    if (p->b_column != 1) {
        add(t, "kernels of up to %d columns: as without turning\n", 2 * GEMM_VECTOR / p->type->size);
        return;
    }
    for (int i = 0; i < p->direct->pieces; i++) {
        add(t, "kernel of columns %d to %d: %s\n", from, from + p->direct->piece[i].columns - 1,
            p->direct->piece[i].kernel->symbol);
        from += p->direct->piece[i].columns;
    }
}

static void add_tiles(struct text *t, const struct uk_gemm_plan *p) {
    const struct uk_kernel *k = p->tile->kernel[p->form];

    add(t, "path: tiles of %lld x %d\n", (long long)p->rows, k->nr);
    add(t, "kernel: %s\n", k->symbol);
    if (p->tail)
        add(t, "kernel of the last columns: %s\n", p->tail->symbol);
    add(t, "A: %s\n", source(p->a_source, p->a_packed, false));
    add(t, "B: %s\n", source(p->b_source, p->b_packed, true));
    add(t, "blocks: mc %lld, nc %lld, kc %lld\n", (long long)p->mc, (long long)p->nc, (long long)p->kc);
}

size_t uk_gemm_explain(const struct uk_gemm_plan *p, char *buffer, size_t size) {
    struct text t = {buffer, size, 0};
    const long long tasks = p->row_tasks * p->column_tasks;

    if (size)
        buffer[0] = 0;
    add(&t, "product: %s, %lld x %lld x %lld, row-major%s\n", p->type->name, (long long)p->m, (long long)p->n,
        (long long)p->k, p->swapped ? ", of the transposes: A and B have changed places" : "");
    if (p->direct)
        add_direct(&t, p);
    else if (p->path == GEMM_TILES)
        add_tiles(&t, p);
    else if (p->path == GEMM_SCALE)
        add(&t, "path: C is scaled, A and B are not read\n");
    else
        add(&t, "path: matrix times vector, by %s\nkernel: %s\n",
            p->path == GEMM_VECTOR_N ? "inner products along contiguous rows" : "sums of contiguous rows",
            (p->path == GEMM_VECTOR_N ? p->type->gemv_n : p->type->gemv_t)->symbol);
    add(&t, "threads: %lld (%lld x %lld)\n", tasks, (long long)p->row_tasks, (long long)p->column_tasks);
    add(&t, "workspace: %zu bytes\n", uk_gemm_workspace(p));
    add(&t, "estimate: %.0f cycles on one thread\n", p->cycles);
    return t.length;
}
