/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of operands between the layouts of oneDNN. */
#include "onednn.h"
#include <string.h>

enum { FROM = 1, TO = 17 }; /* a reorder's arguments, of dnnl_types.h */

typedef int reorder(void **kind, const void *from, void *engine, const void *to, void *to_engine,
                    const void *attributes);
typedef int query(const void *kind, int what, int index, const char **name);

bool bench_onednn_make_memory(const struct bench_library *l, const void *desc, void *data, void **memory) {
    return !((onednn_memory *)l->function[ONEDNN_MEMORY])(memory, desc, l->handle[0], data);
}

void bench_onednn_free_memory(const struct bench_library *l, void *memory) {
    if (memory)
        ((onednn_destroy *)l->function[ONEDNN_FREE_MEMORY])(memory);
}

bool bench_onednn_make_copy(const struct bench_library *l, struct onednn_copy *c, const void *from_desc,
                            void *from, const void *to_desc, void *to) {
    bench_function *const *f = l->function;
    return !((reorder *)f[ONEDNN_REORDER])(&c->kind, from_desc, l->handle[0], to_desc, l->handle[0], NULL) &&
           !((onednn_primitive *)f[ONEDNN_PRIMITIVE])(&c->primitive, c->kind) &&
           bench_onednn_make_memory(l, from_desc, from, &c->from) &&
           bench_onednn_make_memory(l, to_desc, to, &c->to);
}

bool bench_onednn_run_copy(const struct bench_library *l, const struct onednn_copy *c) {
    const struct onednn_argument arguments[] = {{FROM, c->from}, {TO, c->to}};
    return !((onednn_execute *)l->function[ONEDNN_EXECUTE])(c->primitive, l->handle[1], 2, arguments);
}

void bench_onednn_free_copy(const struct bench_library *l, const struct onednn_copy *c) {
    bench_onednn_free_memory(l, c->from);
    bench_onednn_free_memory(l, c->to);
    if (c->primitive)
        ((onednn_destroy *)l->function[ONEDNN_FREE_PRIMITIVE])(c->primitive);
    if (c->kind)
        ((onednn_destroy *)l->function[ONEDNN_FREE_KIND])(c->kind);
}

bool bench_onednn_copy(const struct bench_library *l, const void *from_desc, void *from, const void *to_desc,
                       void *to) {
    struct onednn_copy c = {0};
    const bool copied = bench_onednn_make_copy(l, &c, from_desc, from, to_desc, to) &&
                        bench_onednn_run_copy(l, &c) &&
                        !((onednn_wait *)l->function[ONEDNN_WAIT])(l->handle[1]);
    bench_onednn_free_copy(l, &c);
    return copied;
}

bool bench_onednn_has_kernel(const struct bench_library *l, const void *kind) {
    enum { QUERY_IMPLEMENTATION = 8 };
    const char *name = "";
    return !((query *)l->function[ONEDNN_QUERY])(kind, QUERY_IMPLEMENTATION, 0, &name) &&
           !strstr(name, "ref");
}
