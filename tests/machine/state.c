/* SPDX-License-Identifier: Apache-2.0 */
/* The state that kernels on matrix tiles need: asked for, loaded, released; by forks and threads, and beside
 * small alternate stacks of signals. Where the CPU or the system has none, that calls say so and change
 * nothing. */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "kernels.h"

enum { TILE_BYTES = 64, SMALL_STACK = 4096, LARGE_STACK = 1 << 16 };

static bool is_granted(void) {
    if (uk_state_load(UK_STATE_TILES))
        return false;
    uk_state_release(UK_STATE_TILES);
    return true;
}

static void other_states(void **state) {
    (void)state;
    assert_int_equal(uk_state_load(UK_STATE_NONE), UK_OK);
    uk_state_release(UK_STATE_NONE);
    assert_int_equal(uk_state_load((enum uk_state)7), UK_INVALID_ARGUMENT);
    uk_state_release((enum uk_state)7);
    assert_int_equal(uk_kernel_state(NULL), UK_STATE_NONE);
    assert_int_equal(uk_kernel_state(uk_kernel_find("uk_igemm_ra_32x32_amxint8_intrin")), UK_STATE_TILES);
    assert_int_equal(uk_kernel_state(uk_kernel_find("uk_sgemm_6x16_avx2_asm")), UK_STATE_NONE);
}

static void refused_without_feature(void **state) {
    (void)state;
    if (uk_cpu_has("amx-tile"))
        skip();
    assert_int_equal(uk_state_load(UK_STATE_TILES), UK_UNSUPPORTED);
    uk_state_release(UK_STATE_TILES); /* does nothing: the instruction would raise a signal */
}

#if defined __x86_64__
static void store(unsigned char to[TILE_BYTES]) {
    __asm__ volatile("sttilecfg (%0)" ::"r"(to) : "memory");
}

/* True if the thread holds the state as kernels expect it. */
static bool is_loaded(void) {
    unsigned char is[TILE_BYTES];

    store(is);
    for (int tile = 0; tile < 8; tile++)
        if (is[16 + 2 * tile] != 64 || is[17 + 2 * tile] || is[48 + tile] != 16)
            return false;
    return is[0] == 1 && is[1] == 0;
}

static bool is_released(void) {
    static const unsigned char zeros[TILE_BYTES];
    unsigned char is[TILE_BYTES];

    store(is);
    return !memcmp(is, zeros, sizeof is);
}

/* A product of 1 x 1 x 4 on tiles. */
static bool multiplies(void) {
    static const uint8_t a[4] = {1, 2, 3, 255};
    static const int8_t b[32 * 4] = {1, -2, 3, -128};
    int32_t c = 7;

    ((uk_igemm_ra_function *)uk_kernel_function(uk_kernel_find("uk_igemm_ra_32x32_amxint8_intrin")))(
        4, a, 4, b, &c, 1, 1, 1, 1);
    return c == 7 + 1 - 4 + 9 - 255 * 128;
}

static bool works(void) {
    if (uk_state_load(UK_STATE_TILES) || !is_loaded() || !multiplies() || !is_loaded())
        return false;
    uk_state_release(UK_STATE_TILES);
    return is_released();
}

static void *thread(void *wait) {
    pthread_barrier_wait(wait);
    return works() ? wait : NULL;
}

/* Runs first: the thread is made before the permission is asked for. */
static void thread_made_before(void **state) {
    pthread_barrier_t barrier;
    pthread_t made;
    void *result;

    (void)state;
    pthread_barrier_init(&barrier, NULL, 2);
    assert_int_equal(pthread_create(&made, NULL, thread, &barrier), 0);
    const bool granted = is_granted();

    pthread_barrier_wait(&barrier);
    pthread_join(made, &result);
    assert_true(granted == (result != NULL));
    if (!granted) {
        print_message("no permission to use matrix tiles: tests of them are skipped\n");
        skip();
    }
}

static void loads_and_releases(void **state) {
    (void)state;
    if (!is_granted())
        skip();
    for (int i = 0; i < 3; i++)
        assert_true(works());
}

static void fork_keeps_the_permission(void **state) {
    int status = 0;

    (void)state;
    if (!is_granted())
        skip();
    const pid_t child = fork();

    if (!child)
        _exit(works() ? 0 : 1);
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static volatile sig_atomic_t signals;

static void count(int number) {
    signals += number == SIGUSR1;
}

/* A signal while tiles are in use, on an alternate stack that is large enough; one that is too small for the
 * frame is refused by the system, not overrun. */
static void alternate_stacks(void **state) {
    static char small[SMALL_STACK], large[LARGE_STACK];
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_ONSTACK};

    (void)state;
    if (!is_granted())
        skip();
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_true(sigaltstack(&(stack_t){.ss_sp = small, .ss_size = sizeof small}, NULL) != 0);
    assert_int_equal(sigaltstack(&(stack_t){.ss_sp = large, .ss_size = sizeof large}, NULL), 0);
    assert_int_equal(uk_state_load(UK_STATE_TILES), UK_OK);
    assert_true(multiplies());
    raise(SIGUSR1);
    assert_int_equal(signals, 1);
    assert_true(is_loaded() && multiplies());
    uk_state_release(UK_STATE_TILES);
    sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
}

/* A process with an alternate stack that is too small when it asks is refused, and goes on without tiles. */
static void small_stack_before(void **state) {
    int status = 0;

    (void)state;
    if (!is_granted())
        skip();
    const pid_t child = fork();

    if (!child) {
        execl("/proc/self/exe", "state", "small", (char *)NULL);
        _exit(2);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* True if a product for which tiles are the fastest is right. */
static bool product_is_right(void) {
    enum { N = 64 };
    static uint8_t a[N * N];
    static int8_t b[N * N];
    static int32_t c[N * N];

    memset(a, 255, sizeof a);
    memset(b, -128, sizeof b);
    if (uk_igemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, N, N, N, a, N, b, N, 0, c, N))
        return false;
    for (int i = 0; i < N * N; i++)
        if (c[i] != 255 * -128 * N)
            return false;
    return true;
}

static int ask_with_small_stack(void) {
    static char small[SMALL_STACK];

    if (sigaltstack(&(stack_t){.ss_sp = small, .ss_size = sizeof small}, NULL))
        return 3;
    for (int i = 0; i < 2; i++)
        if (!product_is_right() || uk_state_load(UK_STATE_TILES) != UK_UNSUPPORTED)
            return 1;
    return 0;
}
#endif

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
#if defined __x86_64__
        cmocka_unit_test(thread_made_before),
        cmocka_unit_test(loads_and_releases),
        cmocka_unit_test(fork_keeps_the_permission),
        cmocka_unit_test(alternate_stacks),
        cmocka_unit_test(small_stack_before),
#endif
        cmocka_unit_test(other_states),
        cmocka_unit_test(refused_without_feature),
    };

#if defined __x86_64__
    if (argc > 1 && !strcmp(argv[1], "small"))
        return ask_with_small_stack();
#endif
    (void)argc;
    (void)argv;
    return cmocka_run_group_tests_name("state", tests, NULL, NULL);
}
