/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares PeachPy's sgemm kernel with the naive product. peachpy_wrapper.py builds this program twice:
 * linked with the kernel's native object, and with the kernel's bitcode inlined into the calls below.
 */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "random.h"

enum { MR = 6, NR = 16, MAX_K = 257, MAX_LDC = 23 };

void uk_sgemm_6x16_avx2_peachpy(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int64_t acc,
                                int64_t mr, int64_t nr);

static const int64_t depths[] = {0, 1, 2, 7, 64, 257};

/* Memory between two inaccessible pages. */
struct guarded {
    char *map;
    size_t bytes, page;
};

static struct guarded guarded_new(size_t bytes) {
    struct guarded g = {.page = (size_t)sysconf(_SC_PAGESIZE)};
    g.bytes = (bytes + g.page - 1) / g.page * g.page;
    g.map = mmap(NULL, g.bytes + 2 * g.page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(g.map != MAP_FAILED);
    assert_int_equal(mprotect(g.map + g.page, g.bytes, PROT_READ | PROT_WRITE), 0);
    return g;
}

/* Places `count` floats so that they end at the guard page after them (`at_end`) or start at the one
 * before. */
static float *guarded_place(const struct guarded *g, size_t count, int at_end) {
    return (float *)(g->map + g->page + (at_end ? g->bytes - count * sizeof(float) : 0));
}

static void guarded_free(struct guarded *g) {
    assert_int_equal(munmap(g->map, g->bytes + 2 * g->page), 0);
}

struct operands {
    struct guarded a, b, c;
};

static int setup(void **state) {
    static struct operands o;
    o.a = guarded_new(MAX_K * MR * sizeof(float));
    o.b = guarded_new(MAX_K * NR * sizeof(float));
    o.c = guarded_new(MR * MAX_LDC * sizeof(float));
    *state = &o;
    return 0;
}

static int teardown(void **state) {
    struct operands *o = *state;
    guarded_free(&o->a);
    guarded_free(&o->b);
    guarded_free(&o->c);
    return 0;
}

/* Fills with small integers, so that every product and sum is exact. */
static void fill(float *x, size_t count, uint64_t seed) {
    for (size_t i = 0; i < count; i++)
        x[i] = (float)(random_below(&seed, 8) - 3);
}

static void expect(int64_t k, const float *a, const float *b, float *c, int64_t ldc, int acc, int mr,
                   int nr) {
    for (int i = 0; i < mr; i++) {
        for (int j = 0; j < nr; j++) {
            float sum = acc ? c[i * ldc + j] : 0.0f;
            for (int64_t p = 0; p < k; p++) {
                sum += a[p * MR + i] * b[p * NR + j];
            }
            c[i * ldc + j] = sum;
        }
    }
}

/* Checks one tile in a C that ends with the tile's last element. Unless acc, the tile holds NaN before the
 * call. */
static void check_tile(const struct operands *o, int64_t k, int64_t ldc, int acc, int mr, int nr,
                       int at_end) {
    const size_t count = (size_t)((mr - 1) * ldc + nr);
    float *a = guarded_place(&o->a, (size_t)k * MR, at_end);
    float *b = guarded_place(&o->b, (size_t)k * NR, at_end);
    float *c = guarded_place(&o->c, count, at_end);
    float wanted[MR * MAX_LDC];

    fill(a, (size_t)k * MR, 1);
    fill(b, (size_t)k * NR, 2);
    fill(c, count, 3);
    for (int i = 0; i < mr && !acc; i++) {
        for (int j = 0; j < nr; j++) {
            c[i * ldc + j] = NAN;
        }
    }
    memcpy(wanted, c, count * sizeof(float));
    expect(k, a, b, wanted, ldc, acc, mr, nr);
    uk_sgemm_6x16_avx2_peachpy(k, a, b, c, ldc, acc, mr, nr);
    assert_memory_equal(c, wanted, count * sizeof(float));
}

static void test_every_edge(void **state) {
    for (size_t d = 0; d < sizeof(depths) / sizeof(*depths); d++) {
        for (int mr = 1; mr <= MR; mr++) {
            for (int nr = 1; nr <= NR; nr++) {
                const int64_t strides[] = {nr, NR, MAX_LDC};
                for (int variant = 0; variant < 12; variant++) {
                    check_tile(*state, depths[d], strides[variant / 4], variant & 1, mr, nr,
                               variant >> 1 & 1);
                }
            }
        }
    }
}

/* Both calls are inlined here; values that live across them must survive the asm statements. */
__attribute__((noinline)) static int64_t two_calls(int64_t k, const float *a, const float *b, float *c,
                                                   float *d, int64_t ldc, int64_t mr, int64_t nr) {
    uk_sgemm_6x16_avx2_peachpy(k, a, b, c, ldc, 0, mr, nr);
    uk_sgemm_6x16_avx2_peachpy(k, a, b, d, ldc, 1, mr, nr);
    return k + 10 * ldc + 1000 * mr + 10000 * nr + (d - c);
}

static void test_two_calls(void **state) {
    enum { K = 7, APART = MR * NR };
    (void)state;
    float a[K * MR], b[K * NR], c[2 * APART], wanted[2 * APART];
    fill(a, K * MR, 4);
    fill(b, K * NR, 5);
    for (int mr = 1; mr <= MR; mr++) {
        for (int nr = 1; nr <= NR; nr++) {
            fill(c, 2 * APART, 6);
            memcpy(wanted, c, sizeof(c));
            expect(K, a, b, wanted, NR, 0, mr, nr);
            expect(K, a, b, wanted + APART, NR, 1, mr, nr);
            const int64_t live = two_calls(K, a, b, c, c + APART, NR, mr, nr);
            assert_int_equal(live, K + 10 * NR + 1000 * mr + 10000 * nr + APART);
            assert_memory_equal(c, wanted, sizeof(c));
        }
    }
}

/*
 * Calls `kernel` with eight arguments while the callee-saved registers hold saved[0..5] (rbx, rbp, r12..r15);
 * stores their values after the call into `saved`.
 */
void call_and_watch(void (*kernel)(void), const int64_t arguments[8], uint64_t saved[6]);
__asm__(".text\n"
        "call_and_watch:\n"
        "  push %rbx\n  push %rbp\n  push %r12\n  push %r13\n  push %r14\n  push %r15\n"
        "  push %rdx\n" /* seventh push: realigns the stack to 16 */
        "  mov %rdi, %rax\n"
        "  mov %rsi, %r10\n"
        "  mov 0(%rdx), %rbx\n  mov 8(%rdx), %rbp\n  mov 16(%rdx), %r12\n"
        "  mov 24(%rdx), %r13\n  mov 32(%rdx), %r14\n  mov 40(%rdx), %r15\n"
        "  push 56(%r10)\n  push 48(%r10)\n"
        "  mov 0(%r10), %rdi\n  mov 8(%r10), %rsi\n  mov 16(%r10), %rdx\n"
        "  mov 24(%r10), %rcx\n  mov 32(%r10), %r8\n  mov 40(%r10), %r9\n"
        "  call *%rax\n"
        "  add $16, %rsp\n"
        "  pop %rdx\n"
        "  mov %rbx, 0(%rdx)\n  mov %rbp, 8(%rdx)\n  mov %r12, 16(%rdx)\n"
        "  mov %r13, 24(%rdx)\n  mov %r14, 32(%rdx)\n  mov %r15, 40(%rdx)\n"
        "  pop %r15\n  pop %r14\n  pop %r13\n  pop %r12\n  pop %rbp\n  pop %rbx\n"
        "  ret\n");

static void test_saved_registers(void **state) {
    enum { K = 2 };
    (void)state;
    float a[K * MR], b[K * NR], c[MR * NR];
    fill(a, K * MR, 7);
    fill(b, K * NR, 8);
    for (int variant = 0; variant < 4; variant++) {
        uint64_t saved[6], before[6];
        for (int i = 0; i < 6; i++) {
            saved[i] = before[i] = 0x0123456789abcdefu * (uint64_t)(i + 3);
        }
        const int64_t arguments[8] = {K,  (intptr_t)a, (intptr_t)b, (intptr_t)c,
                                      NR, variant & 1, MR,          variant & 2 ? NR : NR - 3};
        fill(c, MR * NR, 9);
        call_and_watch((void (*)(void))uk_sgemm_6x16_avx2_peachpy, arguments, saved);
        assert_memory_equal(saved, before, sizeof(saved));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_edge, setup, teardown),
        cmocka_unit_test(test_two_calls),
        cmocka_unit_test(test_saved_registers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
