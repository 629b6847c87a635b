/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes single allocations of whole compilations fail. Of each place that allocates, the first allocations in
 * a program are chosen and then every 127th (--first: the first only; --places: the first in any of the
 * programs; --all: each, which takes minutes). Also bounds isl's operations, by a bound that grows until the
 * compilation succeeds: it doubles with --first, grows to eight times with --places, and otherwise by an
 * eighth. Each failure must return a status with its message, after which the same context compiles the
 * program. The sanitized build also finds leaks.
 *
 *     fail_alloc [--first | --places | --all]
 *
 * isl's own allocations do not fail here (the linked archive has them under other names), nor do those of
 * LLVM and GMP, which end the process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <isl/ctx.h>
#include "failing_alloc.h"
#include "language/language.h"

void __real_isl_ctx_set_max_operations(isl_ctx *ctx, unsigned long most);
void __wrap_isl_ctx_set_max_operations(isl_ctx *ctx, unsigned long most);
void *isl_plain_malloc(size_t n);
void *isl_plain_calloc(size_t n, size_t m);
void *isl_plain_realloc(void *p, size_t n);

static long made;
static unsigned long operations; /* bound of isl's operations; 0: that of the library */
static bool all, first, places;  /* `places` implies `first` */

/* The places that allocate, by return address. */
enum { SITES = 4096 };
static const void *site[SITES];
static int site_count[SITES];
static bool *chosen; /* by number of the allocation: it is to fail */
static long room;

/* Counts an allocation of this place, and chooses the first ones and then every 127th to fail. */
static void count_site(const void *from) {
    size_t i = ((uintptr_t)from >> 2) % SITES;

    while (site[i] && site[i] != from)
        i = (i + 1) % SITES;
    site[i] = from;
    int n = site_count[i]++;
    if (made < room)
        chosen[made] = all || n == 0 || (!first && (n < 2 || n % 127 == 0));
    made++;
}

void __wrap_isl_ctx_set_max_operations(isl_ctx *ctx, unsigned long most) {
    __real_isl_ctx_set_max_operations(ctx, operations && operations < most ? operations : most);
}

void *isl_plain_malloc(size_t n) {
    return __real_malloc(n);
}

void *isl_plain_calloc(size_t n, size_t m) {
    return __real_calloc(n, m);
}

void *isl_plain_realloc(void *p, size_t n) {
    return __real_realloc(p, n);
}

/* ---- programs ---- */

static const struct {
    const char *name, *target, *text;
} program[] = {
    {"matmul in two levels", "x86_64-avx2",
     "size M = 1024, K = 1024, N = 1024\ntensor A f32 [M, K] stride [lda, 1]\ntensor B f32 [K, N] stride "
     "[ldb, 1]\n"
     "tensor C f32 [M, N] stride [ldc, 1]\nC[m, n] = sum(k) A[m, k] * B[k, n]\nschedule\n"
     "split C.n 2048 -> nc n1\nsplit C.k 512 -> kc ki\nsplit C.m 276 -> mc m1\nsplit n1 16 -> no ni\n"
     "split m1 6 -> mo mi\nreorder nc kc mc no mo mi ni ki\npack B at kc panel 16 -> BP\n"
     "pack A at mc panel 6 -> AP\nparallel mc\ntensorize mi uk_sgemm_6x16_avx2_asm\n"},
    {"matmul without a schedule", "x86_64-avx2",
     "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[m, n] += sum(k) A[m, k] * B[k, n]\n"},
    {"convolution with pad, bias and relu", "x86_64-avx2",
     "tensor X f32 [H, W, C]\ntensor F f32 [3, 3, C, O]\ntensor bias f32 [O]\ntemp T f32 [H, W, O]\n"
     "tensor Y f32 [H, W, O]\n"
     "T[p, q, o] = sum(r, s, c) pad(X[p + r - 1, q + s - 1, c], 0) * F[r, s, c, o]\n"
     "Y[p, q, o] = max(T[p, q, o] + bias[o], 0)\n"},
    {"plain loops", "native",
     "tensor A i8 [M, N]\ntensor B bf16 [M]\nscalar q f16\ntensor T i32 [M]\ntensor C f16 [M]\nassume M <= "
     "100\n"
     "T[m] max= sum(n where n <= m) i32(A[m, n] << 1)\nC[m] = select(f16(B[m]) > q or T[m] == 3, f16(T[m]) + "
     "0.5, exp(q) / 3)\n"},
    {"elements as subscripts", "native",
     "tensor E f32 [V, 2, W]\ntensor I i32 [N, K]\ntensor D u8 []\ntemp J i32 [N, K]\ntensor Y f32 [N, W]\n"
     "J[n, k] = I[n, k] - 1\nY[n, w] = sum(k where k <= n) E[wrap(J[n, k]), D[], w]\n"},
    {"a kernel of the user's own", "native",
     "pragma import ll \"\"\"\ndefine void @twice(ptr %x, ptr %y) {\n  %v = load float, ptr %x\n"
     "  %w = fadd float %v, %v\n  store float %w, ptr %y\n  ret void\n}\n\"\"\"\n"
     "intrinsic twice\n  tensor x f32 [1]\n  tensor y f32 [1]\n  y[i] = x[i] + x[i]\n"
     "  compute void twice(ptr x, ptr y)\nend\ntensor X f32 [N]\ntensor Y f32 [N]\nY[i] = X[i] + X[i]\n"
     "schedule\nsplit Y.i 1 -> io ii\ntensorize ii twice\n"},
    {"a kernel in C", "native",
     "pragma import c \"\"\"\nvoid twice(const float *x, float *y) {\n    *y = *x + *x;\n}\n\"\"\"\n"
     "intrinsic twice\n  tensor x f32 [1]\n  tensor y f32 [1]\n  y[i] = x[i] + x[i]\n"
     "  compute void twice(ptr x, ptr y)\nend\ntensor X f32 [4]\ntensor Y f32 [4]\nY[i] = X[i] + X[i]\n"
     "schedule\nsplit Y.i 1 -> io ii\ntensorize ii twice\n"},
    {"two schedules", "x86_64-avx2",
     "tensor X f32 [M, N]\ntensor Y f32 [M, N]\nY[m, n] = X[m, n] + X[m, n]\n"
     "schedule where N % 4 == 0 and M <= 4\nsplit n 4 -> no ni\nvectorize ni\nschedule\nreorder n m\n"},
    {"weights that are packed", "native",
     "tensor A f32 [3, 260]\ntensor B f32 [260, 270] constant\ntensor C f32 [3, 270]\n"
     "C[m, n] = sum(k) A[m, k] * B[k, n]\nschedule\npack B at root panel 16\n"},
    {"a bundle", "native", "tensor X f32 [4]\ntensor Y f32 [4]\nY[i] = X[i] + X[i]\n"},
};

enum { PROGRAMS = sizeof program / sizeof *program, BUNDLE = PROGRAMS - 1, PACKED = PROGRAMS - 2 };

/* Compiles the program with a constant and a function in C. */
static enum uk_status compile_bundle(struct uk_program *p, const struct uk_options *o, struct uk_module **m) {
    static const float data[4];
    const struct uk_constant constant = {"constant", data, sizeof data, 0};
    const struct uk_bundle bundle = {
        .programs = &p,
        .count = 1,
        .constants = &constant,
        .constant_count = 1,
        .source = "int run(float *y) { return f((const void *)constant, y); }\n",
        .exported = (const char *const[]){"run"},
        .exported_count = 1,
    };

    return uk_compile_bundle(&bundle, o, m);
}

/* Packs a constant tensor by compiled code, which a module of the interpreter has too. */
static enum uk_status pack(struct uk_program *p, struct uk_options o) {
    static float data[260 * 270], form[260 * 272] __attribute__((aligned(64)));
    struct uk_module *m;

    o.interpret = true;
    enum uk_status status = uk_compile(p, &o, &m);
    if (status)
        return status;
    status = uk_module_packed_bytes(m, NULL, 1) == sizeof form ? UK_OK : UK_OUT_OF_MEMORY;
    if (!status)
        status = (enum uk_status)uk_module_pack(m, NULL, 1, data, form);
    uk_module_destroy(m);
    return status;
}

static enum uk_status compile(struct uk_context *c, int n) {
    const struct uk_options o = {.target = program[n].target, .threads = 2};
    struct uk_program *p;
    struct uk_module *m;
    char *text = NULL;
    size_t length;
    enum uk_status status = uk_program_parse(c, "f.uk", program[n].text, strlen(program[n].text), &p);

    if (status)
        return status;
    status = n == BUNDLE ? compile_bundle(p, &o, &m) : uk_compile(p, &o, &m);
    if (!status) {
        uk_module_destroy(m);
        status = uk_emit(p, &o, UK_EMIT_LOOPS, &text, &length);
        uk_text_free(text);
    }
    if (!status && n == PACKED)
        status = pack(p, o);
    uk_program_destroy(p);
    return status;
}

/* Marks the allocations that are to fail. Returns the number of all. */
static long choose(int n) {
    struct uk_context *c;

    if (!places) {
        memset(site, 0, sizeof site);
        memset(site_count, 0, sizeof site_count);
    }
    memset(chosen, 0, (size_t)room * sizeof *chosen);
    made = 0;
    seen = count_site;
    c = uk_context_create();
    if (!c || compile(c, n))
        fail_msg("%s: %s", program[n].name, c ? uk_context_message(c) : "no context");
    seen = NULL;
    uk_context_destroy(c);
    assert_true(made < room);
    return made;
}

/* Compiles the program in a new context while allocation k fails. True if the failure was reported. */
static bool fails_cleanly(int n, long k) {
    left = k;
    struct uk_context *c = uk_context_create();
    enum uk_status status = c ? compile(c, n) : UK_OUT_OF_MEMORY;
    const bool happened = left < 0;

    left = -1;
    if (!c)
        return true;
    if (!happened || (status && (status != UK_OUT_OF_MEMORY || !*uk_context_message(c))))
        fail_msg("%s, allocation %ld: status %d: %s", program[n].name, k, status, uk_context_message(c));
    if (k % 16 == 0)
        assert_int_equal(compile(c, n), UK_OK); /* the context works as before */
    uk_context_destroy(c);
    return status != UK_OK;
}

static void each_allocation_fails(void **state) {
    long tries = 0, refusals = 0;

    (void)state;
    room = 1 << 20;
    chosen = __real_calloc((size_t)room, sizeof *chosen);
    assert_non_null(chosen);
    /* The smallest programs are last: with --places, a place fails in the smallest program that reaches
     * it. */
    for (int n = PROGRAMS - 1; n >= 0; n--) {
        const long total = choose(n);
        long tried = 0, refused = 0;

        for (long k = 0; k < total; k++)
            if (chosen[k]) {
                refused += fails_cleanly(n, k);
                tried++;
            }
        print_message("%s: %ld of %ld allocations failed, %ld failures reported\n", program[n].name, tried,
                      total, refused);
        tries += tried;
        refusals += refused;
    }
    free(chosen);
    assert_true(refusals > tries / 2);
}

static void isl_gives_up(void **state) {
    (void)state;
    for (int n = 0; n < PROGRAMS; n++) {
        struct uk_context *c = uk_context_create();
        int refused = 0, tries = 0;

        assert_non_null(c);
        for (operations = 1;; operations += places  ? 7 * operations
                                            : first ? operations
                                                    : 1 + operations / 8,
            tries++) {
            enum uk_status status = compile(c, n);

            if (!status)
                break;
            if (status != UK_REFUSED || !strstr(uk_context_message(c), "too large a problem"))
                fail_msg("%s, %lu operations: status %d: %s", program[n].name, operations, status,
                         uk_context_message(c));
            refused++;
        }
        print_message("%s: refused with less than %lu operations of isl (%d tries)\n", program[n].name,
                      operations, tries);
        operations = 0;
        assert_true(refused > (places ? 1 : 5));
        assert_int_equal(compile(c, n), UK_OK);
        uk_context_destroy(c);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_allocation_fails),
        cmocka_unit_test(isl_gives_up),
    };

    if (argc == 2 && !strcmp(argv[1], "--all")) {
        all = true;
    } else if (argc == 2 && !strcmp(argv[1], "--first")) {
        first = true;
    } else if (argc == 2 && !strcmp(argv[1], "--places")) {
        first = places = true;
    } else if (argc > 1) {
        fprintf(stderr, "usage: fail_alloc [--first | --places | --all]\n");
        return 2;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
