/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the compiled shared object in argument 1, in a program that is not linked with libukernels. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv) {
    const float a[6] = {1, 2, 3, 4, 5, 6}, b[6] = {1, 0, 0, 1, 1, 1};
    int (*matmul)(int64_t, int64_t, int64_t, const float *, const float *, float *);
    float c[4];
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    void *address = library ? dlsym(library, "matmul") : NULL;

    if (!address) {
        fprintf(stderr, "%s\n", argc == 2 ? dlerror() : "usage: load_shared FILE");
        return 2;
    }
    memcpy(&matmul, &address, sizeof matmul);
    return matmul(2, 3, 2, a, b, c) || c[0] != 4 || c[1] != 5 || c[2] != 10 || c[3] != 11;
}
