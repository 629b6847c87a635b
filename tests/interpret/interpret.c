/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the interpreter with plain C, and with the language's rules where C has no equivalent. */
#include <stdarg.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "language/language.h"
#include "interpret/interpret.h"
#include "random.h"
#include "test_context.h"

/* Runs the program. Returns its status. */
static enum uk_status run(const char *text, const int64_t *sizes, const double *scalars,
                          void *const *tensors) {
    struct uk_program *p = parse_text(text);
    enum uk_status status = uk_program_interpret(p, sizes, scalars, tensors);

    uk_program_destroy(p);
    return status;
}

static void expect(const char *text, const int64_t *sizes, void *const *tensors) {
    if (run(text, sizes, NULL, tensors) != UK_OK)
        fail_msg("%s\n%s", uk_context_message(context), text);
}

/* Small integers: sums of them are exact in any order. */
static void fill(float *x, int n, int seed) {
    for (int i = 0; i < n; i++)
        x[i] = (float)((i * 7 + seed) % 17 - 8);
}

static void matmul_is_right(const char *a, const char *b, bool add, int M, int K, int N) {
    char text[300];
    float *A = malloc(sizeof *A * (size_t)(M * K)), *B = malloc(sizeof *B * (size_t)(K * N));
    float *C = malloc(sizeof *C * (size_t)(M * N)), *D = malloc(sizeof *D * (size_t)(M * N));
    bool ta = a[0] == 'k', tb = b[0] == 'n';

    assert_true(A && B && C && D);
    snprintf(text, sizeof text,
             "size M, K, N\ntensor A f32 [%s]\ntensor B f32 [%s]\ntensor C f32 [M, N]\n"
             "C[m, n] %s sum(k) A[%s] * B[%s]\n",
             ta ? "K, M" : "M, K", tb ? "N, K" : "K, N", add ? "+=" : "=", a, b);
    fill(A, M * K, 1);
    fill(B, K * N, 2);
    fill(C, M * N, 3);
    memcpy(D, C, sizeof *C * (size_t)(M * N));
    expect(text, (int64_t[]){M, K, N}, (void *[]){A, B, C});
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            float sum = add ? D[m * N + n] : 0;

            for (int k = 0; k < K; k++)
                sum += (ta ? A[k * M + m] : A[m * K + k]) * (tb ? B[n * K + k] : B[k * N + n]);
            assert_true(sum == C[m * N + n]);
        }
    free(A);
    free(B);
    free(C);
    free(D);
}

static void matmuls(void **state) {
    static const char *const a[] = {"m, k", "k, m"}, *const b[] = {"k, n", "n, k"};

    (void)state;
    for (int i = 0; i < 8; i++)
        matmul_is_right(a[i & 1], b[i >> 1 & 1], i >> 2, 5, 7, 9);
    matmul_is_right("m, k", "k, n", false, 97, 257, 97);
    matmul_is_right("m, k", "k, n", false, 3, 1, 2);
}

/* An empty sum is 0 even if C held NaN; if the result is empty, nothing is done. */
static void empty_sums(void **state) {
    float C[2] = {NAN, NAN};
    const char *text = "size M, K\ntensor A f32 [M, K]\ntensor C f32 [M]\nC[m] = sum(k) A[m, k]\n";

    (void)state;
    expect(text, (int64_t[]){2, 0}, (void *[]){NULL, C});
    assert_true(C[0] == 0 && C[1] == 0);
    expect(text, (int64_t[]){0, 5}, (void *[]){NULL, NULL});
    expect("tensor A f32 [K]\ntensor C f32 []\nC[] = max(k) A[k]\n", (int64_t[]){0}, (void *[]){NULL, C});
    assert_true(C[0] == -INFINITY);
    expect("tensor A f32 [K]\ntensor C f32 []\nC[] *= prod(k) A[k]\n", (int64_t[]){0}, (void *[]){NULL, C});
    assert_true(C[0] == -INFINITY);
    signed char least[1] = {5};

    expect("tensor A i8 [K]\ntensor C i8 []\nC[] = max(k) A[k]\n", (int64_t[]){0}, (void *[]){NULL, least});
    assert_int_equal(least[0], -128);
}

static void strides_and_layouts(void **state) {
    float A[12], B[16] = {0};

    (void)state;
    fill(A, 12, 0);
    expect("size N, M, lda\ntensor A f32 [N, M] stride [lda, 1]\ntensor B f32 [M, N] stride [1, 4]\nB[j, i] "
           "= A[i, j]\n",
           (int64_t[]){3, 2, 4}, (void *[]){A, B});
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++)
            assert_true(B[j + 4 * i] == A[4 * i + j]);
    memset(B, 0, sizeof B);
    expect("tensor A f32 [5]\ntensor B f32 [5] layout (i) -> [i % 2, i / 2]\nB[i] = A[i]\n", NULL,
           (void *[]){A, B});
    for (int i = 0; i < 5; i++)
        assert_true(B[i % 2 * 3 + i / 2] == A[i]);
}

/* 2048 + 1 is 2048 in f16, and 256 + 1 is 256 in bf16: adding ones one by one never increases the sum; ties
 * go to even. */
static void half_precision(void **state) {
    uint16_t h[4] = {0x6800, 0x3c00, 0x3c00, 0x4200}; /* 2048, 1, 1, 3 */
    uint16_t b[4] = {0x4380, 0x3f80, 0x3f80, 0x4040}; /* 256, 1, 1, 3 */
    uint16_t out[4];
    float f[4] = {65504, 65520, 5.9604645e-8f, 1.0009766f};

    (void)state;
    expect("tensor A f16 [4]\ntensor C f16 []\nC[] = sum(i) A[i]\n", NULL, (void *[]){h, out});
    assert_int_equal(out[0], 0x6802); /* 2048 + 1 + 1 is 2048, + 3 is 2051, a tie, to 2052 */
    expect("tensor A bf16 [4]\ntensor C bf16 []\nC[] = sum(i) A[i]\n", NULL, (void *[]){b, out});
    assert_int_equal(out[0], 0x4382);
    expect("tensor A f32 [4]\ntensor C f16 [4]\nC[i] = f16(A[i])\n", NULL, (void *[]){f, out});
    assert_int_equal(out[0], 0x7bff);
    assert_int_equal(out[1], 0x7c00);
    assert_int_equal(out[2], 0x0001);
    assert_int_equal(out[3], 0x3c01);
    expect("tensor A f32 [4]\ntensor C bf16 [4]\nC[i] = bf16(A[i])\n", NULL, (void *[]){f, out});
    assert_int_equal(out[0], 0x4780);
    assert_int_equal(out[3], 0x3f80);
}

/* All 65536 values are copied unchanged, except for payloads of NaN. */
static void half_values_survive(void **state) {
    uint16_t *h = malloc(65536 * sizeof *h), *out = malloc(65536 * sizeof *out);

    (void)state;
    assert_true(h && out);
    for (int i = 0; i < 65536; i++)
        h[i] = (uint16_t)i;
    expect("tensor A f16 [65536]\ntensor C f16 [65536]\nC[i] = f16(f32(A[i]))\n", NULL, (void *[]){h, out});
    for (int i = 0; i < 65536; i++)
        assert_true(out[i] == i || ((i & 0x7c00) == 0x7c00 && (i & 0x3ff) && (out[i] & 0x7fff) == 0x7e00));
    free(h);
    free(out);
}

static void integers_and_casts(void **state) {
    float f[5] = {300.7f, -300.7f, NAN, 1e30f, -2.5f};
    signed char c[5];
    unsigned char u[5];
    int32_t w[5] = {INT32_MAX, -1, 200, 7, INT32_MIN};
    int64_t s[5];

    (void)state;
    expect("tensor A f32 [5]\ntensor C i8 [5]\nC[i] = i8(A[i])\n", NULL, (void *[]){f, c});
    assert_int_equal(c[0], 127);
    assert_int_equal(c[1], -128);
    assert_int_equal(c[2], 0);
    assert_int_equal(c[3], 127);
    assert_int_equal(c[4], -2);
    expect("tensor A i32 [5]\ntensor C u8 [5]\nC[i] = u8(A[i])\n", NULL, (void *[]){w, u});
    assert_int_equal(u[1], 255);
    assert_int_equal(u[2], 200);
    expect("tensor A i32 [5]\ntensor C i8 [5]\nC[i] = i8(A[i])\n", NULL, (void *[]){w, c});
    assert_int_equal(c[2], -56);
    expect("tensor A f32 [5]\ntensor C i64 [5]\nC[i] = i64(A[i])\n", NULL, (void *[]){f, s});
    assert_true(s[3] == INT64_MAX);
    expect("tensor A i32 [5]\nA[i] = -(A[i] + 1) >> 1 << 2\n", NULL, (void *[]){w});
    assert_true(w[0] == 0); /* INT32_MIN, halved, times 4, wraps to 0 */
    assert_int_equal(w[3], -16);
    /* An expression of integer literals alone is an integer. */
    expect("tensor A i32 [5]\nA[i] = i32(-2 << abs(-3)) + i32(max(7, abs(2)) >> 1)\n", NULL, (void *[]){w});
    assert_int_equal(w[4], -13);
    expect("tensor C f32 [5]\nC[i] = round(f32(index(i)) - 1.5) + f32(index(4 - i / 2 % 2))\n", NULL,
           (void *[]){f});
    assert_true(f[0] == 2 && f[1] == 4 && f[2] == 3 && f[3] == 5 && f[4] == 6);
}

static void padded_convolution(void **state) {
    enum { H = 6, C = 3, O = 4, P = 3 };
    float X[H * H * C], F[3 * 3 * C * O], Y[P * P * O];

    (void)state;
    fill(X, H * H * C, 1);
    fill(F, 9 * C * O, 2);
    expect("tensor X f32 [H, H, C]\ntensor F f32 [3, 3, C, O]\ntensor Y f32 [P, P, O]\n"
           "Y[p, q, o] = sum(r, s, c) pad(X[2*p + r - 1, 2*q + s - 1, c], 0) * F[r, s, c, o]\n",
           (int64_t[]){H, C, O, P}, (void *[]){X, F, Y});
    for (int i = 0; i < P * P * O; i++) {
        int p = i / (P * O), q = i / O % P, o = i % O;
        float sum = 0;

        for (int r = 0; r < 3; r++)
            for (int s = 0; s < 3; s++)
                for (int c = 0; c < C; c++) {
                    int h = 2 * p + r - 1, w = 2 * q + s - 1;

                    if (h >= 0 && h < H && w >= 0 && w < H)
                        sum += X[(h * H + w) * C + c] * F[((r * 3 + s) * C + c) * O + o];
                }
        assert_true(Y[i] == sum);
    }
}

/* pad(.., 0) as a factor omits the term, so 0 * inf does not occur. Elsewhere it is the value 0. */
static void padding_leaves_out(void **state) {
    float X[2] = {1, 2}, W[3] = {INFINITY, 1, INFINITY}, Y[1];

    (void)state;
    expect("tensor X f32 [2]\ntensor W f32 [3]\ntensor Y f32 []\nY[] = sum(k) pad(X[2*k - 2], 0) * W[k]\n",
           NULL, (void *[]){X, W, Y});
    assert_true(Y[0] == 1);
    expect(
        "tensor X f32 [2]\ntensor W f32 [3]\ntensor Y f32 []\nY[] = sum(k) pad(X[2*k - 2], 5) + W[k] * 0.0\n",
        NULL, (void *[]){X, (float[]){0, 0, 0}, Y});
    assert_true(Y[0] == 11);
}

enum { BLOCK_M = 5, BLOCK_N = 300, BLOCK_K = 7, BLOCK_BYTES = 8 * BLOCK_N * BLOCK_K * BLOCK_M };

/* Draws values of the type whose sums are rounded, or wrap. */
static void fill_type(void *x, const char *type) {
    uint64_t state = 5;
    unsigned char *bytes = x;

    for (int i = 0; i < BLOCK_BYTES; i++) {
        bytes[i] = (unsigned char)random_below(&state, 256);
        if (!strcmp(type, "f32") && i % 4 == 3)
            bytes[i] = (unsigned char)(0x3e + bytes[i] % 4 + (bytes[i] & 0x80));
        if (!strcmp(type, "f64") && i % 8 == 7)
            bytes[i] = (unsigned char)(0x3e + bytes[i] % 4);
        if ((!strcmp(type, "f16") || !strcmp(type, "bf16")) && i % 2)
            bytes[i] = (unsigned char)(0x3a + bytes[i] % 4 + (bytes[i] & 0x80));
    }
}

/* Runs the statement as it is, and with a `where` that is always true, with which elements are computed one
 * by one; compares the results. */
static void blocks_are_exact(const char *type, const char *from, const char *left, const char *right) {
    static char A[BLOCK_BYTES], B[BLOCK_BYTES], C[2][BLOCK_BYTES];
    char text[500];

    for (int plain = 0; plain < 2; plain++) {
        fill_type(A, from);
        fill_type(B, from);
        fill_type(C[plain], type);
        snprintf(text, sizeof text,
                 "size M, K, N\ntensor A %s [M, N]\ntensor B %s [K, N]\ntensor C %s [M, N]\n%s%s%s\n", from,
                 from, type, left, plain ? " where k >= 0" : "", right);
        expect(text, (int64_t[]){BLOCK_M, BLOCK_K, BLOCK_N}, (void *[]){A, B, C[plain]});
    }
    if (memcmp(C[0], C[1], BLOCK_BYTES))
        fail_msg("by blocks the result is another one:\n%s", text);
}

/* Elements that are computed in blocks equal those that are computed one by one, bit for bit. */
static void blocks(void **state) {
    (void)state;
    for (int i = 0; i < UK_TYPES; i++) {
        const char *type = uk_type_name((enum uk_type)i);

        blocks_are_exact(type, type, "C[m, n] = sum(k", ") A[m, n] * B[k, n]");
        blocks_are_exact(type, type, "C[m, n] += sum(k", ") A[m, n] * B[k, N - 1 - n] - B[k, n]");
        blocks_are_exact(type, type, "C[m, n] = max(k", ") pad(A[m, k - 2], 3) + B[k, n]");
        blocks_are_exact(type, type, "C[m, n] = sum(k", ") pad(A[m + k - 3, n], 0) * B[k, n]");
        blocks_are_exact(type, type, "C[m, n] = sum(k", ") pad(A[m, n + k - 3], 0) * B[k, n]");
        blocks_are_exact(type, type, "C[m, n] = prod(k", ") min(A[m, n], B[k, n])");
    }
    blocks_are_exact("i32", "i8", "C[m, n] = sum(k", ") i32(A[m, n]) * i32(B[k, n])");
    blocks_are_exact("i32", "u8", "C[m, n] = sum(k", ") i32(A[m, n]) + i32(B[k, n]) * i32(A[m, 2])");
    blocks_are_exact("f32", "bf16", "C[m, n] = sum(k", ") f32(A[m, n]) * f32(B[k, n])");
    blocks_are_exact("i8", "u8", "C[m, n] = sum(k", ") i8(A[m, n]) * i8(B[k, n])");
    blocks_are_exact("i8", "i32", "C[m, n] = sum(k", ") i8(A[m, n]) * i8(B[k, n])");
    blocks_are_exact("bf16", "f16", "C[m, n] = sum(k", ") bf16(A[m, n]) * bf16(B[k, n])");
    blocks_are_exact("f16", "bf16", "C[m, n] = max(k", ") f16(A[m, n]) * f16(B[k, n])");
    blocks_are_exact("f32", "f16", "C[m, n] = sum(k", ") f32(A[m, n]) * f32(B[k, n])");
    blocks_are_exact("f32", "u8", "C[m, n] = sum(k", ") f32(A[m, n]) / (f32(B[k, n]) + 1)");
    blocks_are_exact("f32", "f32", "C[m, n] = sum(k", ") -abs(A[m, n]) * B[k, n]");
}

static void where_and_scan(void **state) {
    float A[9], S[9], T[3];

    (void)state;
    fill(A, 9, 4);
    expect("size N\ntensor A f32 [N, N]\ntensor T f32 [N]\nT[i] = sum(j where j <= i and j != 1) A[i, j]\n",
           (int64_t[]){3}, (void *[]){A, T});
    assert_true(T[0] == A[0] && T[1] == A[3] && T[2] == A[6] + A[8]);
    /* `where` also keeps a subscript within bounds. */
    expect("size N\ntensor A f32 [N]\ntensor B f32 [N]\ntensor T f32 []\nT[] = sum(i where i >= 1) A[i - 1] "
           "* B[i]\n",
           (int64_t[]){3}, (void *[]){A, A, T});
    assert_true(T[0] == A[0] * A[1] + A[1] * A[2]);
    expect("tensor A f32 [3, 3]\ntensor S f32 [3, 3]\nS[i, j] = scan sum(i) A[i, j]\n", NULL,
           (void *[]){A, S});
    for (int i = 0; i < 9; i++)
        assert_true(S[i] == A[i] + (i >= 3 ? S[i - 3] : 0));
}

static void temps_assignments_scalars(void **state) {
    float A[4] = {1, -2, 3, -4}, C[4] = {10, 10, 10, 10};

    (void)state;
    assert_int_equal(
        run("tensor A f32 [N]\ntensor C f32 [N]\nscalar s f32\ntemp T f32 [N]\nT[i] = max(A[i], 0) * s\n"
            "C[i] += T[i]\nC[i] min= 11\nC[i] *= select(index(i) == 1 or not A[i] < 0, 2, 3)\n",
            (int64_t[]){4}, (double[]){0.5}, (void *[]){A, C}),
        UK_OK);
    assert_true(C[0] == 21 && C[1] == 20 && C[2] == 22 && C[3] == 30);
    /* Elements before the offset are unchanged. */
    expect("size N, o\ntensor A f32 [2]\ntensor C f32 [N]\nC[i + o] = A[i]\n", (int64_t[]){4, 1},
           (void *[]){A, C});
    assert_true(C[0] == 21 && C[1] == 1 && C[2] == -2 && C[3] == 30);
}

static void expect_refused(const char *text, const int64_t *sizes, void *const *tensors,
                           enum uk_status status, const char *message) {
    assert_int_equal(run(text, sizes, NULL, tensors), status);
    assert_string_equal(uk_context_message(context), message);
}

/* Invalid sizes are refused before anything is written. */
static void bad_sizes_are_refused(void **state) {
    float A[4] = {1, 2, 3, 4}, C[4] = {5, 5, 5, 5};
    const char *shift = "tensor C f32 [N]\ntensor A f32 [M]\nC[i] = 0\nC[i] = A[i + 1]\n";

    (void)state;
    expect_refused(shift, (int64_t[]){4, 4}, (void *[]){C, A}, UK_INVALID_SIZE,
                   "f.uk:4:8: error: A[i + 1]: dimension 0 of A is indexed by 4 and its extent is 4; pad it, "
                   "or restrict it by where");
    assert_true(C[0] == 5);
    expect_refused(shift, (int64_t[]){4, -1}, (void *[]){C, A}, UK_INVALID_SIZE,
                   "f.uk:2:8: error: A has an extent that is negative or overflows; use another size");
    expect_refused(shift, (int64_t[]){INT64_MAX, INT64_MAX}, (void *[]){C, A}, UK_INVALID_SIZE,
                   "f.uk:1:8: error: C is too large for this address space; use smaller sizes");
    expect_refused(shift, (int64_t[]){3, 4}, (void *[]){C, NULL}, UK_INVALID_ARGUMENT,
                   "f.uk:2:8: error: A is NULL; pass its address");
    expect_refused("tensor C f32 [N]\nassume N % 4 == 0\nC[i] = 0\n", (int64_t[]){3}, (void *[]){C},
                   UK_INVALID_SIZE, "f.uk:2:8: error: N % 4 == 0 does not hold; use other sizes");
    assert_true(C[0] == 5);
}

static void forms_of_a_declaration(void **state) {
    static const char text[] = "intrinsic k\n"
                               "  tensor a f32 [I, P] stride [1, 2]\n"
                               "  tensor b f32 [P, J] stride [J, 1]\n"
                               "  tensor c f32 [I, J] stride [ldc, 1]\n"
                               "  assume I <= 2\n"
                               "  c[i, j] = sum(p) a[i, p] * b[p, j]\n"
                               "  compute void k(ptr a)\n"
                               "end\n";
    struct uk_arena arena = {0};
    struct uk_intrinsic *k;
    float a[4] = {1, 2, 3, 4}, b[4] = {1, 0, 2, 1}, c[6] = {1, 1, 9, 1, 1, 9};
    struct uk_values v = {.size = (int64_t[]){2, 2, 2, 3}, .tensor = (void *[]){a, b, c}};

    (void)state;
    uk_context_enter(context, "k");
    assert_int_equal(uk_parse_intrinsic(context, &arena, text, &k), UK_OK);
    assert_string_equal(k->declaration->sizes->next->next->next->name, "ldc");
    assert_int_equal(uk_interpret_form(k, UK_FORM_UPDATE, &v), UK_OK);
    assert_true(c[0] == 8 && c[1] == 4 && c[2] == 9 && c[3] == 11 && c[4] == 5);
    assert_int_equal(uk_interpret_form(k, UK_FORM_COMPUTE, &v), UK_OK);
    assert_true(c[0] == 7 && c[1] == 3 && c[3] == 10 && c[4] == 4 && c[5] == 9);
    assert_int_equal(uk_interpret_form(k, UK_FORM_RESET, &v), UK_OK);
    assert_true(c[0] == 0 && c[4] == 0 && c[2] == 9);
    uk_arena_free(&arena);
}

/* for i in 0 .. N step 2 parallel { let x = i + 1; buffer W[x]; if x < N call k on two elements } */
static void loops_run(void **state) {
    struct uk_program *p = parse_text("intrinsic k\n  tensor a f32 [I]\n  tensor c f32 [I]\n  assume I == 2\n"
                                      "  c[i] = a[i] + a[i]\n  compute void k(ptr a, ptr c)\nend\n"
                                      "tensor A f32 [N]\ntensor C f32 [N]\nC[i] = A[i]\n");
    struct uk_arena *a = &p->arena;
    struct uk_var i = {.name = "i", .kind = UK_VAR_LOOP}, x = {.name = "x", .kind = UK_VAR_LOOP};
    struct uk_index *N = uk_index_var(a, p->sizes), *iv = uk_index_var(a, &i), *xv = uk_index_var(a, &x);
    struct uk_tensor *A = p->tensors, *C = A->next;
    struct uk_tensor W = {.name = "W", .type = UK_F32, .kind = UK_TENSOR_PACKED, .dims = 1, .stored_dims = 1};
    struct uk_buffer buffer = {.tensor = &W, .elements = N};
    struct uk_access operand[2] = {{.tensor = A, .index = {iv}}, {.tensor = C, .index = {iv}}};
    struct uk_index *bind[1] = {uk_index_int(a, 2)};
    struct uk_expr read = {.op = UK_E_ACCESS, .type = UK_F32, .access = {.tensor = A, .index = {iv}}};
    struct uk_expr copy = {.op = UK_E_ACCESS, .type = UK_F32, .access = {.tensor = &W, .index = {iv}}};
    struct uk_node call = {.op = UK_N_CALL, .intrinsic = p->intrinsics, .operand = operand, .bind = bind};
    struct uk_node last = {
        .op = UK_N_STORE, .target = {.tensor = C, .index = {iv}}, .assign = UK_ASSIGN_ADD, .expr = &copy};
    struct uk_node store = {
        .op = UK_N_STORE, .target = {.tensor = &W, .index = {iv}}, .expr = &read, .next = &last};
    struct uk_node test = {
        .op = UK_N_IF, .condition = uk_index_op(a, UK_I_LT, xv, N), .body = &call, .other = &store};
    struct uk_node let = {
        .op = UK_N_LET, .var = &x, .value = uk_index_op(a, UK_I_ADD, iv, uk_index_int(a, 1)), .body = &test};
    struct uk_node loop = {.op = UK_N_FOR,
                           .var = &i,
                           .lower = uk_index_int(a, 0),
                           .upper = N,
                           .step = 2,
                           .loop = UK_LOOP_PARALLEL,
                           .body = &let};
    struct uk_entry_check check = {.condition = uk_index_op(a, UK_I_LT, N, uk_index_int(a, 100)),
                                   .text = "N < 100"};
    const struct uk_tensor *arguments[] = {p->tensors, C};
    struct uk_function f = {.program = p,
                            .name = "f",
                            .tensors = 2,
                            .tensor = arguments,
                            .checks = &check,
                            .buffers = &buffer,
                            .body = &loop};
    float in[5] = {1, 2, 3, 4, 5}, out[5] = {10, 10, 10, 10, 10};
    struct uk_values v = {.size = (int64_t[]){5}, .tensor = (void *[]){in, out}};
    struct uk_text t = {0};

    (void)state;
    W.stride[0] = uk_index_int(a, 1);
    W.shape[0] = W.stored[0] = N;
    uk_print_loops(&t, &f);
    assert_string_equal(t.text, "f(N; A, C)\n"
                                "  check N < 100\n"
                                "  buffer W f32 [N] shared by all threads\n"
                                "  for i in 0 .. N step 2 parallel\n"
                                "    let x = i + 1\n"
                                "    if x < N\n"
                                "      call k compute: I = 2, a = A[i], c = C[i]\n"
                                "    else\n"
                                "      W[i] = A[i]\n"
                                "      C[i] += W[i]\n");
    uk_text_free(t.text);
    uk_context_enter(context, "f");
    assert_int_equal(uk_interpret_function(&f, &v, 0xff), UK_OK);
    assert_true(out[0] == 2 && out[1] == 4 && out[2] == 6 && out[3] == 8 && out[4] == 15);
    /* Errors that a wrong lowering would cause are reported. */
    bind[0] = uk_index_int(a, 3);
    assert_int_equal(uk_interpret_function(&f, &v, 0xff), UK_INTERNAL);
    assert_string_equal(uk_context_message(context), "f:4:10: error: I == 2 does not hold; use other sizes");
    bind[0] = uk_index_int(a, 2);
    operand[1].index[0] = N;
    uk_context_enter(context, "f");
    assert_int_equal(uk_interpret_function(&f, &v, 0xff), UK_INTERNAL);
    assert_string_equal(uk_context_message(context),
                        "f: error: C is accessed at element 7 of 5; please report this");
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmuls),
        cmocka_unit_test(empty_sums),
        cmocka_unit_test(strides_and_layouts),
        cmocka_unit_test(half_precision),
        cmocka_unit_test(half_values_survive),
        cmocka_unit_test(integers_and_casts),
        cmocka_unit_test(padded_convolution),
        cmocka_unit_test(padding_leaves_out),
        cmocka_unit_test(blocks),
        cmocka_unit_test(where_and_scan),
        cmocka_unit_test(temps_assignments_scalars),
        cmocka_unit_test(bad_sizes_are_refused),
        cmocka_unit_test(forms_of_a_declaration),
        cmocka_unit_test(loops_run),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
