/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds error handlers that the linker does not. A BLAS that was loaded for one library alone (RTLD_LOCAL),
 * as extensions of Python load theirs, is in no scope that libukblas sees: its xerbla_ is looked up in each
 * object of the process.
 */
#define _GNU_SOURCE
#include "blas.h"
#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>

struct nth {
    int left;
    char *name;
    size_t size;
};

/* Copies the object's name: the loader's lock, which is held here, must be released before dlopen, and then
 * the object may be closed. */
static int take_name(struct dl_phdr_info *info, size_t size, void *context) {
    struct nth *n = context;
    const size_t length = strlen(info->dlpi_name);

    (void)size;
    if (n->left-- > 0)
        return 0;
    n->name[0] = 0;
    if (length < n->size)
        memcpy(n->name, info->dlpi_name, length + 1);
    return 1;
}

static bool name_of(int index, char *name, size_t size) {
    struct nth n = {index, name, size};

    return dl_iterate_phdr(take_name, &n);
}

void *blas_find_beside(const char *symbol, void **object) {
    char name[4096];

    for (int i = 0; name_of(i, name, sizeof name); i++) {
        void *handle = *name ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
        void *found = handle ? dlsym(handle, symbol) : NULL;

        if (found) {
            *object = handle;
            return found;
        }
        if (handle)
            dlclose(handle);
    }
    return NULL;
}
