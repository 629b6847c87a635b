/* SPDX-License-Identifier: Apache-2.0 */
/* Tests the measurements of uk bench: medians, ratios of paired samples, missing peers, checks of products,
 * and the declarations of kernels. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "bench.h"
#include "registry/half.h"

static void median(void **state) {
    (void)state;
    double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};
    assert_float_equal(bench_median(odd, 3), 3, 0);
    assert_float_equal(bench_median(even, 4), 2.5, 0);
    assert_float_equal(bench_median(even, 0), 0, 0);
}

static void random_values(void **state) {
    (void)state;
    float a[1000], b[1000], c[1000];
    double sum = 0;
    bench_random(a, 1000, 1);
    bench_random(b, 1000, 1);
    bench_random(c, 1000, 2);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    for (int i = 0; i < 1000; i++) {
        assert_true(a[i] >= -1 && a[i] < 1);
        sum += a[i];
    }
    assert_true(sum > -100 && sum < 100);
}

static void peaks(void **state) {
    (void)state;
    for (int isa = 0; isa < bench_isa_count; isa++)
        if (bench_isas[isa].runs())
            assert_true(bench_peak(isa, 1) > 1e8);
    assert_true(bench_peak(0, 2) > 1e8);
    assert_true(bench_isas[bench_isa_best()].runs());
    for (int isa = 0; isa < bench_isa_count; isa++)
        assert_int_equal(bench_isa_of(bench_isas[isa].kernels), isa);
    assert_int_equal(bench_isa_of("nosuch"), 0);
}

/* The loops that measure the cache's throughput leave memory unchanged. */
static void streams(void **state) {
    (void)state;
    enum { N = 2048 };
    float a[N], b[N], before[N];
    bench_random(a, N, 1);
    bench_random(b, N, 2);
    memcpy(before, b, sizeof b);
    for (int isa = 0; isa < bench_isa_count; isa++) {
        if (!bench_isas[isa].runs())
            continue;
        bench_isas[isa].load(a, sizeof a);
        bench_isas[isa].load_and_store(a, b, sizeof b);
        assert_memory_equal(b, before, sizeof b);
    }
}

/* CPU time of this thread: the clock of bench_paired with one thread. */
static double own_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void work(void *user) {
    double end = own_seconds() + *(double *)user;
    while (own_seconds() < end)
        ;
}

static void paired(void **state) {
    (void)state;
    double one = 200e-6, three = 600e-6;
    struct bench_contender c[] = {{.name = "one", .run = work, .user = &one},
                                  {.name = "three", .run = work, .user = &three}};
    struct bench_plan plan = {.isa = 0, .threads = 1, .flops = 1, .rounds = 7, .sample_time = 1e-3};
    assert_int_equal(bench_paired(&plan, c, 2), UK_OK);
    assert_true(c[0].seconds >= 200e-6 && c[1].seconds >= 600e-6);
    assert_true(c[0].fastest <= c[0].seconds && c[0].seconds <= c[0].slowest);
    assert_true(c[0].calls >= 2 && c[0].percent > 0 && plan.peak > 0);
    assert_float_equal(c[0].ratio, 1, 0);
    /* Another process may interrupt either of the two: only their order is certain, the factor is
     * approximate. */
    assert_true(c[1].ratio > 1.5 && c[1].ratio_low <= c[1].ratio && c[1].ratio <= c[1].ratio_high);
}

static struct bench_plan limited;
static int calls_made, last_call;

/* Call `last_call` sets the deadline to the current time. */
static void until_deadline(void *user) {
    (void)user;
    if (++calls_made == last_call)
        limited.deadline = bench_seconds();
}

/* After the deadline no call begins; only whole rounds count, and without one the results are unchanged. */
static void deadlines(void **state) {
    (void)state;
    int rounds = 0;
    /* 130 calls: each sample may be tried ten times, by two calls, if other processes disturb it. */
    for (last_call = 1; last_call < 130; last_call += last_call < 12 ? 1 : 9) {
        struct bench_contender c[] = {{.run = until_deadline, .seconds = -1},
                                      {.run = until_deadline, .seconds = -1}};
        limited = (struct bench_plan){
            .threads = 1, .flops = 1, .rounds = 3, .sample_time = 1e-9, .deadline = bench_seconds() + 1000};
        calls_made = 0;
        assert_int_equal(bench_paired(&limited, c, 2), UK_OK);
        assert_true(calls_made == last_call || (limited.rounds == 3 && calls_made < last_call));
        assert_true(limited.rounds == 0 ? c[0].seconds < 0 && c[1].seconds < 0
                                        : c[0].seconds >= 0 && c[1].seconds >= 0);
        assert_true(limited.rounds == 0 || limited.peak > 0);
        assert_true(last_call > 4 || !limited.rounds);
        rounds = limited.rounds;
    }
    assert_int_equal(rounds, 3);
    limited = (struct bench_plan){.threads = 1, .deadline = bench_seconds()};
    calls_made = 0;
    assert_int_equal(bench_paired(&limited, &(struct bench_contender){.run = until_deadline}, 1), UK_OK);
    assert_int_equal(calls_made, 0);
}

static void missing_peers(void **state) {
    (void)state;
    struct bench_peers peers;
    bench_peers_open(&peers, "/nonexistent", 0, 1);
    for (int i = 0; i < 2; i++) {
        assert_null(peers.peer[i].sgemm);
        assert_non_null(strstr(peers.peer[i].detail, "not installed; ./uk-setup peers"));
    }
}

/* The environment variables that keep a peer from its best kernels are overwritten, unless the user
 * insists. */
static void peers_environment(void **state) {
    (void)state;
    struct bench_peers peers;
    setenv("OPENBLAS_CORETYPE", "user", 1);
    setenv("OPENBLAS_L2_SIZE", "1", 1);
    setenv("MKL_ENABLE_INSTRUCTIONS", "user", 1);
    setenv("UK_PEERS_KEEP_ENV", "1", 1);
    bench_peers_open(&peers, "/nonexistent", 1, 1);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "user");
    assert_string_equal(getenv("OPENBLAS_L2_SIZE"), "1");
    assert_string_equal(getenv("MKL_ENABLE_INSTRUCTIONS"), "user");
    unsetenv("UK_PEERS_KEEP_ENV");
    bench_peers_open(&peers, "/nonexistent", 1, 1);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "HASWELL");
    assert_null(getenv("OPENBLAS_L2_SIZE"));
    assert_string_equal(getenv("MKL_ENABLE_INSTRUCTIONS"), "AVX2");
    bench_peers_open(&peers, "/nonexistent", 2, 1);
    assert_string_equal(getenv("OPENBLAS_CORETYPE"), "SKYLAKEX");
    assert_null(getenv("MKL_ENABLE_INSTRUCTIONS"));
}

/* MKL looks this function up in the program, which must export it. */
static void answers_mkl(void **state) {
    (void)state;
    int (*(*get)(void))(void) = NULL;
    void *address = dlsym(RTLD_DEFAULT, "mkl_serv_get_cpu_true");
    assert_non_null(address);
    memcpy(&get, &address, sizeof address);
    assert_int_equal(get()(), 1);
}

/* ---- products ---- */

static void shapes(void **state) {
    (void)state;
    struct bench_shapes s;
    char message[128];
    assert_int_equal(
        bench_shapes_parse("set a\ncubes 2 4..5\nset b resolved # x\nforms 1 2 3\nadd 7 8 9 TN l\n", &s,
                           message, sizeof message),
        UK_OK);
    assert_int_equal(s.count, 8);
    assert_int_equal(s.shape[2].k, 5);
    assert_string_equal(s.shape[2].set, "a");
    assert_int_equal(s.shape[3].form, BENCH_RESOLVED);
    assert_true(!s.shape[4].a_transposed && s.shape[4].b_transposed);
    assert_true(s.shape[5].a_transposed && !s.shape[5].b_transposed);
    assert_true(s.shape[7].beta == 1 && s.shape[7].a_transposed);
    assert_string_equal(s.shape[7].label, "l");
    bench_shapes_free(&s);
    assert_int_equal(bench_shapes_parse(bench_shapes_text, &s, message, sizeof message), UK_OK);
    assert_true(s.count > 250);
    bench_shapes_free(&s);
}

/* Faults that a product has: an element of a corner is wrong, C is read although beta is 0, or the last k
 * iteration is missing. */
enum fault { NONE, FIRST, TOP_RIGHT, BOTTOM_LEFT, LAST, READS_C, ONE_STEP_LESS };

static void repeat_plain(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    const float *a = p->a, *b = p->b;
    float *c = p->c;
    enum fault fault = *(enum fault *)call->state[0];
    int64_t k = fault == ONE_STEP_LESS ? p->k - 1 : p->k;
    for (; calls > 0; calls--)
        for (int64_t i = 0; i < p->m; i++)
            for (int64_t j = 0; j < p->n; j++) {
                float sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += a[p->a_transposed ? l * p->lda + i : i * p->lda + l] *
                           b[p->b_transposed ? j * p->ldb + l : l * p->ldb + j];
                float *to = &c[i * p->ldc + j];
                *to = p->beta != 0 ? *to + sum : fault == READS_C ? *to * 0 + sum : sum;
            }
    c[0] += fault == FIRST;
    c[p->n - 1] += fault == TOP_RIGHT;
    c[(p->m - 1) * p->ldc] += fault == BOTTOM_LEFT;
    c[(p->m - 1) * p->ldc + p->n - 1] += fault == LAST;
}

static bool passes(struct bench_shape shape, enum fault fault) {
    struct bench_library library = {.name = "plain", .repeat = repeat_plain};
    struct bench_product p;
    struct bench_call call = {.library = &library, .product = &p, .state = {&fault}};
    assert_int_equal(bench_product_create(&p, &shape, BENCH_F32), UK_OK);
    bool right = bench_product_check(&p, &call);
    bench_product_free(&p);
    return right;
}

static void checked_products(void **state) {
    (void)state;
    struct bench_shape sizes[] = {
        {.m = 5, .n = 7, .k = 9}, {.m = 1, .n = 1, .k = 1}, {.m = 150, .n = 200, .k = 500}};
    for (int i = 0; i < 3; i++)
        for (int form = 0; form < 8; form++) {
            struct bench_shape s = sizes[i];
            s.a_transposed = form & 1;
            s.b_transposed = form & 2;
            s.beta = form & 4 ? 1 : 0;
            assert_true(passes(s, NONE));
            for (enum fault f = FIRST; f <= ONE_STEP_LESS; f++)
                assert_true(passes(s, f) == (f == READS_C && s.beta != 0));
        }
}

/* Plain loops; the second and further elements of C, as many as state[0] says, get the smallest error. */
static void multiply_packed(struct bench_call *call, long calls) {
    const struct bench_product *p = call->product;
    (void)calls;
    for (int64_t i = 0; i < p->m * p->n; i++) {
        double sum = 0;
        for (int64_t l = 0; l < p->k; l++) {
            const int64_t a = i / p->n * p->k + l, b = l * p->n + i % p->n;
            const uint16_t *ha = p->a, *hb = p->b;
            sum += p->type == BENCH_U8I8   ? ((const uint8_t *)p->a)[a] * ((const int8_t *)p->b)[b]
                   : p->type == BENCH_I8I8 ? ((const int8_t *)p->a)[a] * ((const int8_t *)p->b)[b]
                   : p->type == BENCH_BF16 ? uk_from_bf16(ha[a]) * uk_from_bf16(hb[b])
                                           : uk_from_f16(ha[a]) * uk_from_f16(hb[b]);
        }
        if (bench_is_bytes(p->type))
            ((int32_t *)p->c)[i] = (int32_t)sum;
        else
            ((float *)p->c)[i] = (float)sum;
    }
    for (int64_t i = 1; i <= *(const int *)call->state[0]; i++)
        if (bench_is_bytes(p->type))
            ((int32_t *)p->c)[i]++;
        else
            ((float *)p->c)[i] += 1.0f / 1024;
}

/* Wrong elements of exact sums are counted, each type's. */
static void counted_elements(void **state) {
    (void)state;
    const struct bench_shape shape = {.m = 6, .n = 7, .k = 300};
    const struct bench_library library = {.name = "plain", .repeat = multiply_packed};
    for (enum bench_type type = BENCH_U8I8; type < BENCH_W4; type++)
        for (int errors = 0; errors < 3; errors++) {
            struct bench_product p;
            struct bench_call call = {.library = &library, .product = &p, .state = {&errors}};
            int64_t compared = 0;
            assert_int_equal(bench_product_create(&p, &shape, type), UK_OK);
            assert_int_equal(bench_product_wrong(&p, &call, &compared), errors);
            assert_true(compared >= 42);
            bench_product_free(&p);
        }
}

/* Bytes cover their range, so that sums of two products exceed i16. */
static void drawn_bytes(void **state) {
    (void)state;
    struct bench_product p;
    int least = 0, most = 0, most_a = 0;
    assert_int_equal(
        bench_product_create(&p, &(struct bench_shape){.m = 100, .n = 100, .k = 100}, BENCH_U8I8), UK_OK);
    for (int i = 0; i < 10000; i++) {
        const int b = ((const int8_t *)p.b)[i], a = ((const uint8_t *)p.a)[i];
        least = b < least ? b : least;
        most = b > most ? b : most;
        most_a = a > most_a ? a : most_a;
    }
    assert_true(least == -128 && most == 127 && most_a == 255);
    bench_product_free(&p);
}

static void loops(void **state) {
    (void)state;
    assert_null(bench_loop_of(BENCH_F16, "uk_sgemm_6x16_avx2_asm"));
    assert_null(bench_loop_of(BENCH_BF16, "uk_bgemm_4x8_generic_c"));
    assert_null(bench_loop_of(BENCH_BF16, "uk_bgemm_6x16_avx2_intrin"));
    static const struct {
        enum bench_type type;
        const char *kernel, *instruction;
    } expected[] = {
        {BENCH_U8I8, "uk_igemm_ra_6x32_avx2_intrin", "vpmaddwd"},
        {BENCH_I8I8, "uk_i8gemm_12x32_avx512vnni_intrin", "vpdpbusd"},
        {BENCH_I8I8, "uk_i8gemm_ra_32x32_amxint8_intrin", "tdpbusd"},
        {BENCH_BF16, "uk_bgemm_ra_12x32_avx512bf16_intrin", "vdpbf16ps"},
        {BENCH_BF16, "uk_bgemm_ra_32x32_amxbf16_intrin", "tdpbf16ps"},
    };
    __builtin_cpu_init();
    const bool runs[] = {__builtin_cpu_supports("avx2") != 0, __builtin_cpu_supports("avx512vnni") != 0,
                         false, __builtin_cpu_supports("avx512bf16") != 0, false};
    for (int i = 0; i < 5; i++) {
        const struct bench_loop *loop = bench_loop_of(expected[i].type, expected[i].kernel);
        assert_non_null(loop);
        assert_string_equal(loop->name, expected[i].instruction);
        if (loop->state == UK_STATE_NONE ? runs[i] : !uk_state_load(loop->state)) {
            uk_state_release(loop->state);
            assert_true(bench_loop_rate(loop, 1) > 1e9);
        } else if (loop->state != UK_STATE_NONE) {
            assert_true(bench_loop_rate(loop, 1) == 0);
        }
    }
}

static void drawn_shapes(void **state) {
    (void)state;
    struct bench_shapes s, again;
    int multiples = 0;
    assert_int_equal(bench_shapes_sweep(&s, BENCH_BF16, 0, 1), UK_OK);
    assert_int_equal(bench_shapes_sweep(&again, BENCH_BF16, 0, 1), UK_OK);
    assert_int_equal(s.count, 100);
    for (int i = 0; i < s.count; i++) {
        const struct bench_shape *p = &s.shape[i];
        assert_true(p->m == again.shape[i].m && p->n == again.shape[i].n && p->k == again.shape[i].k);
        if (i >= 60) {
            assert_string_equal(p->set, "rows");
            assert_true(p->m >= 1 && p->m <= 16 && 2 * p->n * p->k > 3900000 && 2 * p->n * p->k < 65000000);
            continue;
        }
        assert_true(p->m >= 16 && p->m <= 2048 && p->n >= 32 && p->n <= 4096 && p->k >= 32 && p->k <= 4096);
        const int count = (p->m % 16 == 0) + (p->n % 16 == 0) + (p->k % 16 == 0);
        assert_true(count == 0 || count == 3);
        multiples += count == 3;
    }
    assert_true(multiples >= 20 && multiples <= 40);
    bench_shapes_free(&s);
    bench_shapes_free(&again);
}

static void missing_packed_libraries(void **state) {
    (void)state;
    struct bench_library l[BENCH_PACKED_LIBRARIES];
    bench_packed_libraries_open(l, "/nonexistent", BENCH_U8I8, 0, 1);
    for (int i = 0; i < BENCH_PACKED_LIBRARIES - 2; i++) {
        assert_true(l[i].missing);
        assert_non_null(strstr(l[i].detail, "not installed; ./uk-setup peers"));
    }
}

static void missing_libraries(void **state) {
    (void)state;
    struct bench_library l[BENCH_LIBRARIES];
    bench_libraries_open(l, "/nonexistent", 0, 1);
    for (int i = 0; i < BENCH_LIBRARIES; i++) {
        assert_true(*l[i].name && *l[i].detail);
        if (!strstr(l[i].name, "Debian") && strcmp(l[i].name, "BLIS")) {
            assert_true(l[i].missing);
            assert_non_null(strstr(l[i].detail, "not installed; ./uk-setup peers"));
        }
    }
}

/* A declaration from which no call can be derived is refused at the text that prevents it. */
static void declarations(void **state) {
    (void)state;
    static const char
        begin[] = "intrinsic f\n  tensor a f32 [I, P] stride [lda, 1]\n  tensor c f32 [I]\n",
        end[] = "  c[i] = sum(p) a[i, p]\n  compute void f(i64 P, ptr a, i64 lda, ptr c, i64 I)\nend\n";
    static const struct {
        const char *line, *at;
    } wrong[] = {{"  tensor b f32 [I, J, P]\n", "\n"},
                 {"  tensor b f32 [I] stride [lda, 1]\n", "\n"},
                 {"  tensor b f32 [I, P] layout (i, p) -> [q] stride [1]\n", "]"},
                 {"  assume I < 4\n", " < 4"},
                 {"  d[i] = 0\n", "[i] = 0"}};
    struct bench_declaration d;
    const char *at;
    char text[512];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(text, sizeof text, "%s%s%s", begin, wrong[i].line, end);
        if (bench_declaration_read(text, &d, &at) || strncmp(at, wrong[i].at, strlen(wrong[i].at)) != 0)
            fail_msg("%s: '%.20s'", wrong[i].line, at);
    }
    snprintf(text, sizeof text, "%s  assume 1 <= I <= 4 and P %% 2 == 0\n%s", begin, end);
    assert_true(bench_declaration_read(text, &d, &at));
    assert_int_equal(d.min_size['I' - 'A'], 1);
    assert_int_equal(d.max_size['I' - 'A'], 4);
    assert_int_equal(d.size_multiple['P' - 'A'], 2);

    /* The declarations of all kernels are understood, also those of other architectures, except for those of
     * a whole wave, which only GPUs call. */
    for (int i = 0; i < uk_kernel_count(); i++) {
        char whole[4096];

        if (uk_kernel_scope(uk_kernel_at(i)) != UK_EXEC_THREAD)
            continue;
        assert_true(uk_kernel_declaration(uk_kernel_at(i), whole, sizeof whole) < sizeof whole);
        if (!bench_declaration_read(whole, &d, &at))
            fail_msg("%s: '%.40s'", uk_kernel_symbol(uk_kernel_at(i)), at);
    }
}

static void arguments(void **state) {
    (void)state;
    static const char text[] =
        "intrinsic f\n  tensor a f32 [I, P] stride [lda, 1]\n  tensor c f32 [I]\n"
        "  c[i] = sum(p) a[i, p]\n  compute void f(i64 P, ptr a, i64 lda, ptr c, i64 I)\nend\n";
    struct bench_declaration d;
    struct bench_sizes sizes = {.gap = 3};
    struct bench_arguments a;
    const char *at;

    assert_true(bench_declaration_read(text, &d, &at));

    *bench_size(&sizes, 'I') = 4;
    *bench_size(&sizes, 'P') = 6;
    bench_arguments(&d, &sizes, &a);
    assert_int_equal(a.operand[0].rows, 4);
    assert_int_equal(a.operand[0].length, 6);
    assert_int_equal(a.operand[0].stride, 9);
    assert_int_equal(a.word[2], 9);
    assert_int_equal(a.operand_of[1], 0);
    assert_true(d.tensor[1].is_output && !d.tensor[0].is_output);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shapes),
                                       cmocka_unit_test(checked_products),
                                       cmocka_unit_test(counted_elements),
                                       cmocka_unit_test(drawn_bytes),
                                       cmocka_unit_test(loops),
                                       cmocka_unit_test(drawn_shapes),
                                       cmocka_unit_test(missing_packed_libraries),
                                       cmocka_unit_test(missing_libraries),
                                       cmocka_unit_test(median),
                                       cmocka_unit_test(declarations),
                                       cmocka_unit_test(arguments),
                                       cmocka_unit_test(random_values),
                                       cmocka_unit_test(peaks),
                                       cmocka_unit_test(streams),
                                       cmocka_unit_test(paired),
                                       cmocka_unit_test(deadlines),
                                       cmocka_unit_test(missing_peers),
                                       cmocka_unit_test(peers_environment),
                                       cmocka_unit_test(answers_mkl)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
