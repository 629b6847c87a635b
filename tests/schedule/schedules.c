/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedules keep what a program computes: every primitive, alone and combined, and random schedules.
 *
 *     schedules [--seed N|new] [--schedules N] [--gpu N]
 *
 * --seed repeats a run of random schedules, --schedules is their number. --gpu runs only schedules for GPUs,
 * all compiled and run in the simulator: each list of steps with every Nth kind of program, and the random
 * ones.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "language/language.h"
#include "random.h"
#include "check.h"
#include "compiled.h"
#include "draw.h"
#include "test_context.h"
#include "test_options.h"

/* One of COMPILE_EVERY random schedules also runs as machine code. */
enum { COMPILE_EVERY = 4 };

static uint64_t seed = 1;
static int random_schedules = 200, gpu_every;
static char again[96];

/* ---- each primitive ---- */

/* Checks the steps, which must be legal, with the first four sizes and every fifth one of the others, in
 * turn. */
static void must_apply(const struct kind *k, const char *target, int threads, const char *steps) {
    static int turn;
    int size[CHECK_SIZES], n = 0;

    turn++;
    for (int i = 0; i < CHECK_SIZES; i++)
        if (i < 4 || (i + turn) % 5 == 0)
            size[n++] = i;
    if (check_schedule(context, k, target, threads, steps, size, n) == REFUSED)
        fail_msg("%s\n%s", uk_context_message(context), steps);
}

static struct kind matmul_kind(int i) {
    return (struct kind){.shape = MATMUL,
                         .a_transposed = i & 1,
                         .b_transposed = i & 2,
                         .accumulate = i & 4,
                         .strided = i & 8,
                         .swapped = i % 3 == 0,
                         .fixed = {i & 16 ? 29 : 0, i & 16 ? 33 : 0, i & 16 ? 20 : 0}};
}

static void one_primitive(void **state) {
    static const char *const steps[] = {
        "split C.m 1 -> mo mi\n",
        "split C.m 14 -> mo mi\n",
        "split C.k 7 -> ko ki\n",
        "split C.n 100 -> no ni\n",
        "split C.m 14 -> mo mi\nsplit mo 2 -> moo moi\nsplit mi 5 -> mio mii\n",
        "split C.k 16 -> ko ki\nsplit ki 5 -> kio kii\n",
        "tile C.m C.n 4 24 -> mo no mi ni\n",
        "tile C.n C.k 5 3 -> no ko ni ki\n",
        "reorder C.k C.m\n",
        "reorder C.k C.n C.m\n",
        "parallel C.m\n",
        "parallel C.m C.n\n",
        "split C.m 5 -> mo mi\nunroll mi\n",
        "vectorize C.k\n",
        "rfactor C.k -> R\nparallel R.k\n",
        "split C.k 8 -> ko ki\nrfactor ki -> R\nvectorize R.ki\nvectorize C.ki\n",
        "split C.k 5 -> ko ki\nrfactor ko -> R\nreorder R.ko R.m R.n\nparallel R.ko\n",
        "split C.k 8 -> ko ki\nunroll ki\n",
        "split C.n 16 -> no ni\nreorder C.m no k ni\nvectorize ni\nparallel C.m\n",
        "pack A at root panel 14\n",
        "pack B at root panel 32 -> BP\n",
        "pack A at C.m panel 3\n",
        "pack A at C.n panel 6 along 0\npack B at C.k panel 8 along 1\n",
        "pack A at root panel 4 along 1\npack B at C.m panel 5 along 0\n",
    };

    (void)state;
    for (int i = 0; i < 32; i++) {
        const struct kind k = matmul_kind(i);

        for (int s = i % 4; s < COUNT(steps); s += 4) /* each list of steps with every fourth kind */
            must_apply(&k, "interp", 1, steps[s]);
    }
}

static void sums_of_rows(void **state) {
    static const char *const steps[] = {
        "split C.m 16 -> mo mi\n",           "split C.m 16 -> mo mi\nsplit mo 3 -> moo moi\nreorder mi moo\n",
        "split C.m 6 -> mo mi\nunroll mi\n", "parallel C.m\n",
        "pack A at root panel 16\n",         "split C.m 16 -> mo mi\npack B at mo panel 5\n",
    };

    (void)state;
    for (int i = 0; i < 12; i++) {
        const struct kind k = {.shape = i & 1 ? ADD_ROWS : ADD,
                               .accumulate = i == 3 || i == 7,
                               .b_transposed = i & 4,
                               .strided = i & 2,
                               .fixed = {i >= 8 ? 37 : 0, i >= 8 ? 18 : 0}};

        for (int s = 0; s < COUNT(steps); s++)
            if (s < 4 || k.shape == ADD)
                must_apply(&k, "interp", 1, steps[s]);
    }
}

/* ---- orders ---- */

static void put_order(struct uk_text *t, const char *const *loop, int n, int number) {
    bool used[8] = {false};

    uk_put(t, "reorder");
    for (int left = n; left > 0; left--) {
        int product = 1, pick;

        for (int i = 2; i < left; i++)
            product *= i;
        pick = number / product;
        number %= product;
        for (int i = 0; i < n; i++)
            if (!used[i] && pick-- == 0) {
                used[i] = true;
                uk_put(t, " C.%s", loop[i]);
                break;
            }
    }
    uk_put(t, "\n");
}

static void all_orders(void **state) {
    static const struct {
        const char *splits, *loop[5];
        int loops, orders;
    } nest[] = {
        {"", {"m", "n", "k"}, 3, 6},
        {"split C.m 5 -> mo mi\n", {"mo", "mi", "n", "k"}, 4, 24},
        {"split C.k 6 -> ko ki\n", {"m", "n", "ko", "ki"}, 4, 24},
        {"split C.n 7 -> no ni\nsplit C.k 4 -> ko ki\n", {"m", "no", "ni", "ko", "ki"}, 5, 120},
    };
    int number = 0;

    (void)state;
    for (int i = 0; i < COUNT(nest); i++)
        for (int order = 0; order < nest[i].orders; order++) {
            const struct kind k = matmul_kind(number++ % 32);
            struct uk_text t = {0};

            uk_put(&t, "%s", nest[i].splits);
            put_order(&t, nest[i].loop, nest[i].loops, order);
            assert_non_null(t.text);
            must_apply(&k, "interp", 1, t.text);
            uk_text_free(t.text);
        }
}

/* ---- packs ---- */

static void packs_everywhere(void **state) {
    static const char *const place[] = {"root", "nc", "kc", "mc", "no", "mo", "ni", "mi", "ki"};
    static const int width[] = {1, 4, 5, 6, 14, 16, 32, 100};
    int number = 0;

    (void)state;
    for (int p = 0; p < COUNT(place); p++)
        for (int w = p % 8; w < COUNT(width); w += 8)
            for (int along = -1; along < 2; along++) {
                const struct kind k = matmul_kind(number++ % 32);
                struct uk_text t = {0};

                uk_put(&t, "split C.n 32 -> nc n1\nsplit C.k 16 -> kc ki\nsplit C.m 28 -> mc m1\n"
                           "split n1 16 -> no ni\nsplit m1 14 -> mo mi\nreorder nc kc mc no mo ni mi ki\n");
                uk_put(&t, "pack %c at %s panel %d", number & 1 ? 'A' : 'B', place[p], width[w]);
                uk_put(&t, along >= 0 ? " along %d\n" : "\n", along);
                uk_put(&t, "pack %c at %s panel %d -> P\n", number & 1 ? 'B' : 'A',
                       place[COUNT(place) - 1 - p], width[w]);
                assert_non_null(t.text);
                must_apply(&k, "interp", 1, t.text);
                uk_text_free(t.text);
            }
}

/* ---- kernels ---- */

static void kernels(void **state) {
    static const char *const avx2 =
        "split C.n 48 -> nc n1\nsplit C.k 16 -> kc ki\nsplit C.m 18 -> mc m1\nsplit n1 16 -> no ni\n"
        "split m1 6 -> mo mi\nreorder nc kc mc no mo mi ni ki\npack B at kc panel 16 -> BP\n"
        "pack A at mc panel 6 -> AP\nparallel mc\ntensorize mi auto\n";
    static const char *const avx512 =
        "split C.n 64 -> nc n1\nsplit C.k 16 -> kc ki\nsplit C.m 28 -> mc m1\nsplit n1 32 -> no ni\n"
        "split m1 14 -> mo mi\nreorder nc kc mc no mo mi ni ki\npack B at kc panel 32 -> BP\n"
        "pack A at mc panel 14 -> AP\nparallel mc no\ntensorize mi uk_sgemm_14x32_avx512_asm\n";

    (void)state;
    for (int i = 0; i < 32; i++) {
        const struct kind k = matmul_kind(i);

        must_apply(&k, "x86_64-avx2", 1, avx2);
        must_apply(&k, "x86_64-avx512", 1, avx512);
    }
}

static void without_a_schedule(void **state) {
    static const char *const target[] = {"interp", "x86_64-avx2", "x86_64-avx512"};

    (void)state;
    for (int i = 0; i < 32 + 4; i++)
        for (int t = 0; t < COUNT(target); t++) {
            const struct kind k = i < 32 ? matmul_kind(i)
                                         : (struct kind){.shape = i < 34    ? ADD
                                                                  : i == 34 ? MATMUL_BATCH
                                                                            : ADD_ROWS,
                                                         .fixed = {i == 33 ? 37 : 0}};

            must_apply(&k, target[t], 1 + (i + t) % 2, "");
        }
}

/* ---- blocks and threads ---- */

static const char *const bound_steps[] = {
    "bind C.m block.x\n",
    "split C.m 5 -> mo mi\nbind mo block.y\nbind mi thread.x\n",
    "split C.m 8 -> mo mi\nsplit C.n 16 -> no ni\nreorder mo no mi ni C.k\nbind mo block.y\nbind no block.x\n"
    "bind mi thread.y\nbind ni thread.x\n",
    "split C.m 32 -> by m1\nsplit C.n 16 -> bx n1\nsplit m1 4 -> ty mi\nsplit n1 4 -> tx ni\n"
    "split C.k 8 -> ko ki\nreorder by bx ko ty tx ki mi ni\nbind by block.y\nbind bx block.x\n"
    "bind ty thread.y\nbind tx thread.x\n",
    "split C.k 8 -> ko ki\nsplit C.n 16 -> no ni\nreorder ko C.m no ki ni\nbind C.m block.z\nbind no "
    "block.x\n"
    "bind ni thread.z\n",
    "split C.m 32 -> by m1\nsplit C.n 16 -> bx n1\nsplit m1 4 -> ty mi\nsplit n1 4 -> tx ni\n"
    "split C.k 8 -> ko ki\nreorder by bx ko ty tx ki mi ni\nbind by block.y\nbind bx block.x\n"
    "bind ty thread.y\nbind tx thread.x\ncache_write C at bx in register\ncache_read A at ko in shared\n"
    "cache_read B at ko in shared\n",
    "split C.m 32 -> by m1\nsplit C.n 16 -> bx n1\nsplit m1 4 -> ty mi\nsplit n1 4 -> tx ni\n"
    "split C.k 8 -> ko ki\nreorder by bx ty tx ko ki mi ni\nbind by block.y\nbind bx block.x\n"
    "bind ty thread.y\nbind tx thread.x\ncache_write C at tx in register\ncache_read A at ko in shared\n"
    "cache_read B at ko in shared -> BS\ncache_read BS at ki in register\n",
    "split C.m 32 -> by m1\nsplit C.n 16 -> bx n1\nsplit m1 4 -> ty mi\nsplit n1 4 -> tx ni\n"
    "split C.k 8 -> ko ki\nreorder by bx ko ty tx ki mi ni\nbind by block.y\nbind bx block.x\n"
    "bind ty thread.y\nbind tx thread.x\ncache_write C at bx in register\ncache_read A at ko in shared\n"
    "cache_read B at ko in shared\npipeline ko 2\n",
    /* a part longer than what it divides */
    "split C.m 6 -> by m1\nsplit C.n 2 -> bx n1\nsplit m1 3 -> ty mi\nsplit n1 6 -> tx ni\n"
    "split C.k 48 -> ko ki\nreorder by bx ko ty tx ki mi ni\nbind bx block.y\n"
    "cache_write C at tx in register\n",
};

static void blocks_and_threads(void **state) {
    (void)state;
    for (int i = 0; i < 32; i++) {
        const struct kind k = matmul_kind(i);

        for (int s = i % 4; s < COUNT(bound_steps); s += 4)
            must_apply(&k, "interp", 1, bound_steps[s]);
    }
}

/* A kernel for each thread, with operands in shared memory in groups; the pipeline step before the kernel's,
 * after it, or none. */
static void kernels_of_threads(void **state) {
    static const struct {
        const char *target;
        int rows, columns;
    } tile[] = {{"amdgcn-gfx906", 8, 8}, {"amdgcn-gfx90a", 8, 16}};

    (void)state;
    check_compile = gpu_every;
    for (int i = 0; i < 64; i += gpu_every ? gpu_every : 1) {
        struct kind k = matmul_kind(i % 32);
        const int t = i / 3 % 2, columns = tile[t].columns;
        struct uk_text text = {0};

        if (i >= 32)
            memcpy(k.fixed, (int64_t[]){i % 5 ? 20 + i : 1, 70 - i, i % 7 * 5}, sizeof k.fixed);
        for (int d = 0; d < 3; d++)
            k.fixed[d] = i >= 32 && !k.fixed[d] ? 8 : k.fixed[d];
        uk_put(&text, "split C.m 32 -> by m1\nsplit C.n %d -> bx n1\nsplit m1 8 -> ty mi\n", 4 * columns);
        uk_put(&text, "split n1 %d -> tx ni\nsplit C.k %d -> ko ki\n", columns, 3 + i % 6);
        uk_put(&text, "reorder by bx %s mi ni ki\n", i % 4 ? "ko ty tx" : "ty tx ko");
        uk_put(&text, "bind by block.y\nbind bx block.x\nbind ty thread.y\nbind tx thread.x\n");
        uk_put(&text, "cache_write C at %s in register\n", i % 4 ? "bx" : "tx");
        uk_put(&text, "cache_read A at ko in shared layout (%s) -> [k, m / 4 %% 2, m / 8, m %% 4]%s -> AS\n",
               k.a_transposed ? "k, m" : "m, k", i % 5 ? "" : " stride [36, 16, 4, 1]");
        uk_put(&text, "%s", i % 7 ? "" : "reorder AS.d1 AS.d2 AS.d3 AS.d0\n");
        uk_put(&text, "cache_read B at ko in shared layout (%s) -> [k, n / 4 %% %d, n / %d, n %% 4]",
               k.b_transposed ? "n, k" : "k, n", columns / 4, columns);
        if (i % 5 == 1)
            uk_put(&text, " stride [%d, 20, 4, 1]", 5 * columns + 4);
        uk_put(&text, "\n");
        uk_put(&text, "%stensorize mi %s\n%s", i % 3 == 1 ? "pipeline ko 2\n" : "",
               t ? "uk_sgemm_s_8x16_gfx90a_asm" : "auto", i % 3 == 2 ? "pipeline ko 3\n" : "");
        assert_non_null(text.text);
        must_apply(&k, tile[t].target, 1, text.text);
        uk_text_free(text.text);
    }
    check_compile = false;
}

static void on_gpus(void **state) {
    (void)state;
    check_compile = true;
    for (int i = 0; i < 32; i += gpu_every) {
        const struct kind k = matmul_kind(i);

        for (int s = 0; s < COUNT(bound_steps); s++)
            must_apply(&k, targets[(i / gpu_every + s) % 2], 1, bound_steps[s]);
    }
    check_compile = false;
}

/* ---- random schedules ---- */

struct drawn {
    struct kind kind;
    const char *target;
    int size[3]; /* numbers of sizes */
};

static enum outcome try_drawn(void *user, const char *steps, bool quiet) {
    const struct drawn *d = user;

    check_quiet = quiet;
    const enum outcome o = check_schedule(context, &d->kind, d->target, 1, steps, d->size, COUNT(d->size));
    check_quiet = false;
    return o;
}

/* Draws a schedule of a random kind of product and checks it, also compiled if `compile`. RIGHT: it was
 * applied. */
static enum outcome draw(uint64_t x, const char *target, void (*make)(struct random_steps *), bool compile,
                         bool fixed, int *steps) {
    static const int64_t extents[] = {0, 1, 2, 5, 14, 20, 29, 32, 33, 48};
    struct random_steps r = {.x = x};
    struct drawn d = {.kind = matmul_kind(random_below(&r.x, 32)), .target = target};
    int refused = 0;

    for (int i = 0; i < COUNT(d.kind.fixed) && fixed; i++)
        d.kind.fixed[i] = extents[random_below(&r.x, COUNT(extents))];
    for (int i = 0; i < COUNT(d.size); i++)
        d.size[i] = random_below(&r.x, i ? CHECK_SIZES : 4);
    make(&r);
    check_compile = compile;
    const enum outcome o = random_steps_apply(&r, context, try_drawn, &d, &refused);
    check_compile = false;
    *steps += r.steps;
    return o;
}

static void for_avx2(struct random_steps *r) {
    kernel_steps(r, false);
}

static void for_avx512(struct random_steps *r) {
    kernel_steps(r, true);
}

static void random_ones(void **state) {
    static const struct {
        const char *target;
        void (*make)(struct random_steps *);
    } way[] = {{"interp", bind_steps}, {"x86_64-avx2", for_avx2}, {"x86_64-avx512", for_avx512}};
    int applied = 0, steps = 0;
    uint64_t x = seed * 0x9e3779b97f4a7c15 | 1;

    (void)state;
    for (int n = 0; n < random_schedules; n++) {
        const int w = n % COUNT(way);
        const bool compile = w && n % COMPILE_EVERY == 0 && run_is_possible(way[w].target);

        applied += draw(random_next(&x) | 1, way[w].target, way[w].make, compile, n / 3 % 2, &steps) == RIGHT;
    }
    print_message("%d of %d schedules applied, with %d steps\n", applied, random_schedules, steps);
    assert_true(applied > random_schedules / 2);
}

static void random_on_gpus(void **state) {
    int applied = 0, steps = 0;
    uint64_t x = seed * 0x9e3779b97f4a7c15 | 1;

    (void)state;
    for (int n = 0; n < random_schedules; n++) {
        const uint64_t one = random_next(&x) | 1;

        applied += draw(one, targets[one >> 1 & 1], bind_steps, true, false, &steps) == RIGHT;
    }
    print_message("%d of %d schedules compiled; %d calls not simulated\n", applied, random_schedules,
                  check_unsimulated);
    assert_true(20 * check_unsimulated <= random_schedules);
    assert_true(applied > random_schedules / 2);
}

static int report_wrong(void **state) {
    const int wrong = check_wrong;

    (void)state;
    check_wrong = 0;
    if (wrong)
        print_error("%d wrong\n", wrong);
    return wrong;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(one_primitive, report_wrong),
        cmocka_unit_test_teardown(sums_of_rows, report_wrong),
        cmocka_unit_test_teardown(all_orders, report_wrong),
        cmocka_unit_test_teardown(packs_everywhere, report_wrong),
        cmocka_unit_test_teardown(kernels, report_wrong),
        cmocka_unit_test_teardown(without_a_schedule, report_wrong),
        cmocka_unit_test_teardown(blocks_and_threads, report_wrong),
        cmocka_unit_test_teardown(kernels_of_threads, report_wrong),
        cmocka_unit_test_teardown(random_ones, report_wrong),
    };
    const struct CMUnitTest gpu_tests[] = {
        cmocka_unit_test_teardown(on_gpus, report_wrong),
        cmocka_unit_test_teardown(kernels_of_threads, report_wrong),
        cmocka_unit_test_teardown(random_on_gpus, report_wrong),
    };

    take_options(argc, argv,
                 (struct test_option[]){{.name = "--seed", .seed = &seed},
                                        {.name = "--schedules", .number = &random_schedules},
                                        {.name = "--gpu", .number = &gpu_every},
                                        {0}});
    snprintf(again, sizeof again, "--seed %" PRIu64 " --schedules %d --gpu %d", seed, random_schedules,
             gpu_every);
    check_again = again;
    print_message("%s\n", again);
    return gpu_every > 0
               ? cmocka_run_group_tests_name("gpu_schedules", gpu_tests, make_context, destroy_context)
               : cmocka_run_group_tests_name("schedules", tests, make_context, destroy_context);
}
