/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions compiled for this CPU whose kernels need matrix tiles: their results are those of plain loops, by
 * one thread and by three, and after a call no tile is configured. The kernel in the program is one of the
 * registry, or imported. Where the CPU or the system has no tiles, automatic schedules take other kernels.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "test_context.h"
#include "ukernels.h"

enum { M = 70, N = 45, K = 150, TILE_BYTES = 64, SMALL_STACK = 4096 };

static uint8_t a[M * K];
static int8_t b[K * N];
static int32_t c[M * N];

static const char product[] = "tensor A u8 [M, K]\ntensor B i8 [K, N]\ntensor C i32 [M, N]\n"
                              "C[m, n] = sum(k) i32(A[m, k]) * i32(B[k, n])\n";
static const char steps[] = "schedule\nsplit C.m 32 -> mo mi\nsplit C.n 32 -> no ni\nreorder mo no mi ni k\n"
                            "pack B at root layout (k, n) -> [n / 32, k / 4, n % 32, k % 4]\n"
                            "tensorize mi uk_igemm_ra_32x32_amxint8_intrin\n";
/* The kernel of an importer: 16 x 16 sums of 64 terms. */
static const char imported[] =
    "pragma import c \"\"\"\n#include <immintrin.h>\n"
    "__attribute__((target(\"amx-int8\"))) void add_products(const unsigned char *a, const signed char *b, "
    "int *c,\n"
    "                                                      long long lda, long long ldc) {\n"
    "_tile_loadd(0, c, 4 * ldc); _tile_loadd(1, a, lda); _tile_loadd(2, b, 64);\n"
    "_tile_dpbusd(0, 1, 2); _tile_stored(0, c, 4 * ldc); }\n\"\"\"\n"
    "intrinsic add_products requires amx-tile, amx-int8 state tiles\n"
    "  tensor a u8 [16, 64] stride [lda, 1]\n"
    "  tensor b i8 [16, 16, 4] stride [64, 4, 1]\n"
    "  tensor c i32 [16, 16] stride [ldc, 1]\n"
    "  c[i, j] = sum(p, q) i32(a[i, 4 * p + q]) * i32(b[p, j, q])\n"
    "  update void add_products(ptr a, ptr b, ptr c, i64 lda, i64 ldc)\nend\n"
    "tensor A u8 [48, 128]\ntensor B i8 [32, 16, 4]\ntensor C i32 [48, 16]\n"
    "C[m, n] = sum(p, q) i32(A[m, 4 * p + q]) * i32(B[p, n, q])\n"
    "schedule\nsplit C.m 16 -> mo mi\nsplit C.p 16 -> po pi\nreorder mo po mi n pi q\ntensorize mi "
    "add_products\n";

static bool has_tiles(void) {
    if (uk_state_load(UK_STATE_TILES))
        return false;
    uk_state_release(UK_STATE_TILES);
    return true;
}

/* True if the calling thread holds no configuration; where there are no tiles, nothing can. */
static bool is_released(void) {
    unsigned char is[TILE_BYTES] = {0};
    static const unsigned char zeros[TILE_BYTES];

#if defined __x86_64__
    if (has_tiles())
        __asm__ volatile("sttilecfg (%0)" ::"r"(is) : "memory");
#endif
    return !memcmp(is, zeros, sizeof is);
}

static void fill(void) {
    for (int i = 0; i < M * K; i++)
        a[i] = (uint8_t)(i * 37 + i / 11);
    for (int i = 0; i < K * N; i++)
        b[i] = (int8_t)(i * 53 + i / 7);
    memset(c, 1, sizeof c);
}

static void check_product(void) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            int32_t sum = 0;

            for (int p = 0; p < K; p++)
                sum += a[i * K + p] * b[p * N + j];
            if (c[i * N + j] != sum)
                fail_msg("%d, %d: %d instead of %d", i, j, c[i * N + j], sum);
        }
}

static void multiply(const char *text, int threads) {
    struct uk_program *p = parse_in(context, "tiles.uk", text);
    struct uk_module *module = NULL;

    if (uk_compile(p, &(struct uk_options){.threads = threads}, &module))
        fail_msg("%s", uk_context_message(context));
    uk_program_destroy(p);
    assert_int_equal(uk_set_num_threads(threads), UK_OK);
    for (int i = 0; i < 2; i++) {
        fill();
        assert_int_equal(uk_module_call(module, (int64_t[]){M, K, N}, NULL, (void *[]){a, b, c}), UK_OK);
        check_product();
        assert_true(is_released());
    }
    uk_module_destroy(module);
}

static void automatic(void **state) {
    (void)state;
    multiply(product, 1);
    multiply(product, 3);
}

static void scheduled(void **state) {
    char text[1024];

    (void)state;
    if (!has_tiles()) {
        print_message("no permission to use matrix tiles: tests of them are skipped\n");
        skip();
    }
    snprintf(text, sizeof text, "%s%s", product, steps);
    multiply(text, 1);
    snprintf(text, sizeof text, "%s%sparallel mo\n", product, steps);
    multiply(text, 3);
}

static void of_an_import(void **state) {
    struct uk_program *p = parse_in(context, "tiles.uk", imported);
    struct uk_module *module = NULL;
    enum { ROWS = 48, COLUMNS = 16, TERMS = 128 };

    (void)state;
    const enum uk_status status = uk_compile(p, NULL, &module);

    uk_program_destroy(p);
    if (!has_tiles()) {
        assert_int_equal(status, UK_NO_MATCH);
        assert_non_null(strstr(uk_context_message(context),
                               "add_products needs amx-tile, which the target native lacks"));
        skip();
    }
    if (status)
        fail_msg("%s", uk_context_message(context));
    fill();
    assert_int_equal(uk_module_call(module, NULL, NULL, (void *[]){a, b, c}), UK_OK);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++) {
            int32_t sum = 0;

            for (int k = 0; k < TERMS; k++)
                sum += a[i * TERMS + k] * b[k / 4 * 4 * COLUMNS + 4 * j + k % 4];
            assert_int_equal(c[i * COLUMNS + j], sum);
        }
    assert_true(is_released());
    uk_module_destroy(module);
}

/* In a process to which the system refuses tiles, as an alternate stack of signals is too small: a function
 * for a target that has them returns UK_UNSUPPORTED and writes nothing, automatic schedules for this CPU take
 * other kernels. */
static int call_refused(void) {
    static char small[SMALL_STACK];
    void *state = NULL;
    struct uk_module *module = NULL;
    int status = 1;

    if (sigaltstack(&(stack_t){.ss_sp = small, .ss_size = sizeof small}, NULL) || make_context(&state))
        return 3;
    struct uk_program *p = parse_in(context, "tiles.uk", product);

    if (!uk_compile(p, &(struct uk_options){.target = "sapphirerapids"}, &module)) {
        fill();
        status = uk_module_call(module, (int64_t[]){M, K, N}, NULL, (void *[]){a, b, c}) != UK_UNSUPPORTED;
        for (int i = 0; i < M * N; i++)
            status |= c[i] != 0x01010101;
    }
    uk_module_destroy(module);
    uk_program_destroy(p);
    if (!status)
        multiply(product, 1);
    destroy_context(&state);
    return status;
}

static void refused(void **state) {
    int status = 0;

    (void)state;
    if (!has_tiles())
        skip();
    const pid_t child = fork();

    if (!child) {
        execl("/proc/self/exe", "tiles", "refused", (char *)NULL);
        _exit(2);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "refused"))
        return call_refused();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(automatic),
        cmocka_unit_test(scheduled),
        cmocka_unit_test(of_an_import),
        cmocka_unit_test(refused),
    };

    return cmocka_run_group_tests_name("tiles", tests, make_context, destroy_context);
}
