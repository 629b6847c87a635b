/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and stores of whole registers at any address. RISC-V has such instructions; their speed at an address
 * that is no multiple of the size depends on the core. Compilers would use byte accesses instead.
 */
#include "registry/kernel_contract.h"

#if defined __riscv && !defined UK_IN_C
struct four_bytes {
    char byte[4];
};
struct eight_bytes {
    char byte[8];
};

static inline __attribute__((always_inline)) uint64_t load_4(const void *p) {
    uint64_t v;

    __asm__("lwu %0, %1" : "=r"(v) : "m"(*(const struct four_bytes *)p));
    return v;
}

static inline __attribute__((always_inline)) uint64_t load_8(const void *p) {
    uint64_t v;

    __asm__("ld %0, %1" : "=r"(v) : "m"(*(const struct eight_bytes *)p));
    return v;
}

/* Not compressed, so that a 4-byte P instruction after it is aligned without a nop. */
static inline __attribute__((always_inline)) void store_8(void *p, uint64_t v) {
    __asm__(".option push\n\t.option norvc\n\tsd %1, %0\n\t.option pop"
            : "=m"(*(struct eight_bytes *)p)
            : "r"(v));
}
#else
static inline uint64_t load_4(const void *p) {
    uint32_t v;

    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

static inline uint64_t load_8(const void *p) {
    uint64_t v;

    __builtin_memcpy(&v, p, sizeof v);
    return v;
}

static inline void store_8(void *p, uint64_t v) {
    __builtin_memcpy(p, &v, sizeof v);
}
#endif
