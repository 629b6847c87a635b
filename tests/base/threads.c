/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contexts are independent: threads compile, print and run programs at the same time, each in a context of
 * its own.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tensorize.h"

enum { THREADS = 4, ROUNDS = 4, M = 19, K = 23, N = 37 };

struct worker {
    int number, threads; /* threads: for parallel loops */
    char wrong[512];
};

static bool failed(struct worker *w, struct uk_context *c, const char *what) {
    snprintf(w->wrong, sizeof w->wrong, "thread %d: %s: %s", w->number, what, uk_context_message(c));
    return false;
}

/* Each worker's program has a different constant, so that the code of another worker would give a wrong
 * result. */
static bool compile_and_run(struct worker *w, struct uk_context *c, int round) {
    char text[512];
    float a[M * K], b[K * N], got[M * N], expected[M * N];
    const int64_t size[] = {M, K, N};
    void *tensor[] = {a, b, got};
    const struct uk_options o = {.threads = w->threads};
    struct uk_program *p;
    struct uk_module *m;
    char *object;
    size_t length;

    snprintf(
        text, sizeof text,
        "tensor A f32 [M, K]\ntensor B f32 [K, N]\ntensor C f32 [M, N]\nC[m, n] = sum(k) A[m, k] * B[k, n]\n"
        "schedule\n  split C.n %d -> no ni\n  pack B at no panel 16\n",
        16 * (1 + (w->number + round) % 3));
    if (round % 2)
        *strstr(text, "schedule") = 0;
    for (int i = 0; i < M * K; i++)
        a[i] = (float)((i * 5 + w->number) % 9 - 4);
    for (int i = 0; i < K * N; i++)
        b[i] = (float)((i * 3 + round) % 7 - 3);
    if (uk_program_parse(c, "matmul.uk", text, strlen(text), &p))
        return failed(w, c, "parse");
    enum uk_status s = uk_compile(p, &o, &m);
    if (s)
        failed(w, c, "compile");
    if (!s && (uk_module_call(m, size, NULL, tensor) ||
               uk_program_interpret(p, size, NULL, (void *[]){a, b, expected}) ||
               memcmp(got, expected, sizeof got)))
        s = UK_WRONG_RESULT;
    if (s == UK_WRONG_RESULT)
        failed(w, c, "wrong result");
    if (!s) {
        uk_module_destroy(m);
        s = uk_emit(p, &(struct uk_options){.target = "x86_64-avx512"}, UK_EMIT_OBJECT, &object, &length);
        if (s)
            failed(w, c, "emit");
        uk_text_free(object);
    }
    uk_program_destroy(p);
    return !s;
}

static bool show(struct worker *w, struct uk_context *c) {
    char *text;
    size_t length;

    if (uk_kernel_emit(c, uk_kernel_find("uk_sgemm_6x16_avx2_asm"), NULL, UK_EMIT_ASM, &text, &length))
        return failed(w, c, "show a kernel");
    bool good = strstr(text, "vfmadd231ps") != NULL;

    uk_text_free(text);
    return good || failed(w, c, "a kernel's assembly");
}

static bool refusal(struct worker *w, struct uk_context *c) {
    static const char text[] = "tensor A f32 [M\n";
    struct uk_program *p;

    if (uk_program_parse(c, "bad.uk", text, strlen(text), &p) == UK_SYNTAX &&
        strstr(uk_context_message(c), "bad.uk:"))
        return true;
    return failed(w, c, "a bad program's message");
}

static void *work(void *user) {
    struct worker *w = user;

    for (int i = 0; i < 2; i++) {
        struct uk_context *c = uk_context_create();
        bool good = c != NULL;

        for (int round = 0; round < ROUNDS && good; round++)
            good = show(w, c) && compile_and_run(w, c, round) && refusal(w, c);
        uk_context_destroy(c);
    }
    return NULL;
}

static void run_all(int threads) {
    struct worker w[THREADS] = {0};
    pthread_t id[THREADS];

    for (int i = 0; i < THREADS; i++) {
        w[i].number = i;
        w[i].threads = threads;
        assert_int_equal(pthread_create(&id[i], NULL, work, &w[i]), 0);
    }
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(id[i], NULL), 0);
    for (int i = 0; i < THREADS; i++)
        assert_string_equal(w[i].wrong, "");
}

static void contexts_at_once(void **state) {
    (void)state;
    run_all(1);
}

static void parallel_functions_at_once(void **state) {
    (void)state;
    run_all(2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_at_once),
        cmocka_unit_test(parallel_functions_at_once),
    };

    return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}
