/* SPDX-License-Identifier: Apache-2.0 */
/* Code generation for hand-made loops: nodes, threads, workspace. Refusals at entry: sizes.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "loop_maker.h"
#include "test_context.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define SHAPE(...) ((struct uk_index *[]){__VA_ARGS__, NULL})

static struct uk_module *compiled(struct maker *m) {
    struct uk_module *module;

    if (make_module(m, "native", &module))
        fail_msg("%s", uk_context_message(context));
    return module;
}

/* C[i, j] += A[i, k] * B[k, j] in plain loops, with leading dimensions. */
struct matmul {
    struct maker m;
    struct uk_var *size[6]; /* M N K lda ldb ldc */
    struct uk_tensor *a, *b, *c;
};

static void make_matmul(struct matmul *t, enum uk_loop_kind outer, enum uk_type type) {
    static const char *const name[] = {"M", "N", "K", "lda", "ldb", "ldc"};
    struct maker *m = &t->m;
    struct uk_index *s[6], *one;
    struct uk_var *i, *j, *k;

    make_begin(m, context, "matmul");
    for (int n = 0; n < 6; n++) {
        t->size[n] = make_size(m, name[n], n < 3);
        s[n] = value(m, t->size[n]);
    }
    one = number(m, 1);
    t->a = make_tensor(m, "A", type, SHAPE(s[0], s[2]), false);
    t->b = make_tensor(m, "B", type, SHAPE(s[2], s[1]), false);
    t->c = make_tensor(m, "C", type, SHAPE(s[0], s[1]), true);
    make_strides(t->a, SHAPE(s[3], one));
    make_strides(t->b, SHAPE(s[4], one));
    make_strides(t->c, SHAPE(s[5], one));
    i = loop_variable(m, "i");
    j = loop_variable(m, "j");
    k = loop_variable(m, "k");
    struct uk_index *vi = value(m, i), *vj = value(m, j), *vk = value(m, k);
    struct uk_expr *product =
        make_expr(m, UK_E_MUL, type, element(m, at(t->a, vi, vk)), element(m, at(t->b, vk, vj)));
    struct uk_node *sum =
        make_for(m, UK_LOOP_SERIAL, k, s[2], 1, make_store(m, at(t->c, vi, vj), UK_ASSIGN_ADD, product));
    struct uk_node *zero = make_store(m, at(t->c, vi, vj), UK_ASSIGN, literal(m, type, 0));

    m->function.body = make_for(m, outer, i, s[0], 1, make_for(m, outer, j, s[1], 1, make_row(zero, sum)));
}

static void check_matmul(enum uk_loop_kind outer) {
    struct matmul t;
    float a[7 * 5], b[5 * 9], c[7 * 10];
    int (*f)(int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, const float *, const float *, float *);

    make_matmul(&t, outer, UK_F32);
    struct uk_module *module = compiled(&t.m);
    for (int i = 0; i < COUNT(a); i++)
        a[i] = (float)(i % 7 - 3);
    for (int i = 0; i < COUNT(b); i++)
        b[i] = (float)(i % 5 - 2);
    memset(c, 0xff, sizeof c);
    void *code = uk_module_function(module);
    memcpy(&f, &code, sizeof f);
    assert_int_equal(f(7, 9, 5, 5, 9, 10, a, b, c), UK_OK);
    for (int i = 0; i < 7; i++)
        for (int j = 0; j < 9; j++) {
            float sum = 0;

            for (int k = 0; k < 5; k++)
                sum += a[i * 5 + k] * b[k * 9 + j];
            assert_true(c[i * 10 + j] == sum);
        }
    /* padding between rows of C must stay unchanged */
    for (int i = 0; i < 6; i++) {
        uint32_t bits;

        memcpy(&bits, &c[i * 10 + 9], sizeof bits);
        assert_int_equal(bits, 0xffffffff);
    }
    uk_module_destroy(module);
    make_end(&t.m);
}

static void serial_loops(void **state) {
    (void)state;
    check_matmul(UK_LOOP_SERIAL);
}

static void parallel_grid(void **state) {
    (void)state;
    check_matmul(UK_LOOP_PARALLEL);
}

/* A constant size is no argument, and branches that it decides generate no code. */
static void defined_sizes(void **state) {
    static const int64_t fixed[] = {3, 4, 5, 5, 4, 4};
    struct matmul t;
    const struct uk_target *target;
    char *text;
    size_t n;

    (void)state;
    make_matmul(&t, UK_LOOP_SERIAL, UK_F32);
    for (int i = 0; i < 6; i++) {
        t.size[i]->defined = true;
        t.size[i]->value = fixed[i];
    }
    assert_int_equal(uk_target_find(context, "x86_64-avx2", &target), UK_OK);
    if (uk_emit_code(&(struct uk_batch){.context = context,
                                        .function = (const struct uk_function *[]){&t.m.function},
                                        .count = 1,
                                        .target = target},
                     UK_EMIT_LLVM, &text, &n))
        fail_msg("%s", uk_context_message(context));
    assert_non_null(strstr(text, "i32 @matmul(ptr"));
    assert_null(strstr(text, "smul.with.overflow"));
    free(text);
    make_end(&t.m);
}

/* The same loops give the same object, byte by byte. */
static void same_bytes(void **state) {
    struct matmul t;
    const struct uk_target *target;
    char *object[2];
    size_t length[2];

    (void)state;
    for (int pass = 0; pass < 2; pass++) {
        make_matmul(&t, UK_LOOP_PARALLEL, UK_F32);
        assert_int_equal(uk_target_find(context, "x86_64-avx512", &target), UK_OK);
        if (uk_emit_code(&(struct uk_batch){.context = context,
                                            .function = (const struct uk_function *[]){&t.m.function},
                                            .count = 1,
                                            .target = target},
                         UK_EMIT_OBJECT, &object[pass], &length[pass]))
            fail_msg("%s", uk_context_message(context));
        make_end(&t.m);
    }
    assert_int_equal(length[0], length[1]);
    assert_memory_equal(object[0], object[1], length[0]);
    free(object[0]);
    free(object[1]);
}

/* ---- nodes ---- */

/* Y[i] = i % 3 == 1 ? X[j] : -X[j] with j = (i * 7) % N - floor((i - N) / 4), through let, if and negative
 * dividends. */
static void let_and_if(void **state) {
    struct maker m;
    int32_t x[64], y[16];
    int64_t size = 16;

    (void)state;
    make_begin(&m, context, "pick");
    struct uk_index *n = value(&m, make_size(&m, "N", true)), *four = number(&m, 4), *three = number(&m, 3);
    struct uk_tensor *tx = make_tensor(&m, "X", UK_I32, SHAPE(op(&m, UK_I_MUL, n, four)), false);
    struct uk_tensor *ty = make_tensor(&m, "Y", UK_I32, SHAPE(n), true);
    struct uk_var *vi = loop_variable(&m, "i"), *vj = loop_variable(&m, "j");
    struct uk_index *i = value(&m, vi), *j = value(&m, vj);
    struct uk_index *wrapped = op(&m, UK_I_MOD, op(&m, UK_I_MUL, i, number(&m, 7)), n);
    struct uk_index *down = op(&m, UK_I_DIV, op(&m, UK_I_SUB, i, n), four);
    struct uk_expr *e = element(&m, at(tx, j, NULL));
    struct uk_node *plus = make_store(&m, at(ty, i, NULL), UK_ASSIGN, e);
    struct uk_node *minus =
        make_store(&m, at(ty, i, NULL), UK_ASSIGN, make_expr(&m, UK_E_NEG, UK_I32, e, NULL));
    struct uk_index *rest = op(&m, UK_I_MOD, op(&m, UK_I_SUB, i, n), three);
    struct uk_node *choice = make_if(&m, op(&m, UK_I_EQ, rest, number(&m, 1)), plus, minus);

    m.function.body =
        make_for(&m, UK_LOOP_SERIAL, vi, n, 1, make_let(&m, vj, op(&m, UK_I_SUB, wrapped, down), choice));
    struct uk_module *module = compiled(&m);
    for (int k = 0; k < 64; k++)
        x[k] = k + 100;
    assert_int_equal(uk_module_call(module, &size, NULL, (void *[]){x, y}), UK_OK);
    for (int k = 0; k < 16; k++) {
        int at_x = k * 7 % 16 - -((16 - k + 3) / 4), mod = ((k - 16) % 3 + 3) % 3;

        assert_int_equal(y[k], mod == 1 ? x[at_x] : -x[at_x]);
    }
    uk_module_destroy(module);
    make_end(&m);
}

/*
 * T (shared) = 2 * X; then in parallel tiles of 8, through a per-thread copy: Y[i] = T[i] * S[0], S being the
 * thread's own buffer, filled with the tile's number just before.
 */
static void buffers_and_threads(void **state) {
    enum { N = 1000 };
    struct maker m;
    float x[N], y[N];
    int64_t size = N;

    (void)state;
    make_begin(&m, context, "scale");
    struct uk_index *n = value(&m, make_size(&m, "N", true)), *eight = number(&m, 8), *zero = number(&m, 0);
    struct uk_tensor *tx = make_tensor(&m, "X", UK_F32, SHAPE(n), false);
    struct uk_tensor *ty = make_tensor(&m, "Y", UK_F32, SHAPE(n), true);
    struct uk_tensor *shared = make_buffer(&m, "T", UK_F32, n, false);
    struct uk_tensor *own = make_buffer(&m, "S", UK_F32, number(&m, 3), true);
    struct uk_var *v0 = loop_variable(&m, "i0"), *vt = loop_variable(&m, "it"), *vi = loop_variable(&m, "i");
    struct uk_index *i0 = value(&m, v0), *it = value(&m, vt);
    struct uk_index *i = op(&m, UK_I_ADD, it, value(&m, vi));
    struct uk_expr *twice =
        make_expr(&m, UK_E_MUL, UK_F32, element(&m, at(tx, i0, NULL)), literal(&m, UK_F32, 2));
    struct uk_expr *tile = make_expr(&m, UK_E_INDEX, UK_F32, NULL, NULL);
    struct uk_expr *product =
        make_expr(&m, UK_E_MUL, UK_F32, element(&m, at(shared, i, NULL)), element(&m, at(own, zero, NULL)));

    tile->index = op(&m, UK_I_DIV, it, eight);
    struct uk_node *copy =
        make_for(&m, UK_LOOP_VECTOR, v0, n, 1, make_store(&m, at(shared, i0, NULL), UK_ASSIGN, twice));
    struct uk_index *left = op(&m, UK_I_MIN, eight, op(&m, UK_I_SUB, n, it));
    struct uk_node *fill = make_store(&m, at(own, zero, NULL), UK_ASSIGN, tile);
    struct uk_node *inner =
        make_for(&m, UK_LOOP_SERIAL, vi, left, 1, make_store(&m, at(ty, i, NULL), UK_ASSIGN, product));

    m.function.body = make_row(copy, make_for(&m, UK_LOOP_PARALLEL, vt, n, 8, make_row(fill, inner)));
    struct uk_module *module = compiled(&m);
    for (int k = 0; k < N; k++)
        x[k] = (float)(k % 17);
    for (int pass = 0; pass < 20; pass++) {
        memset(y, 0xff, sizeof y);
        assert_int_equal(uk_module_call(module, &size, NULL, (void *[]){x, y}), UK_OK);
        for (int k = 0; k < N; k++)
            assert_true(y[k] == 2 * x[k] * (float)(k / 8));
    }
    size = 0;
    assert_int_equal(uk_module_call(module, &size, NULL, (void *[]){NULL, NULL}), UK_OK);
    size = INT64_MAX / 8;
    assert_int_equal(uk_module_call(module, &size, NULL, (void *[]){(void *)64, (void *)128}), UK_OVERLAP);
    uk_module_destroy(module);
    make_end(&m);
}

static void header(void **state) {
    struct matmul t;
    struct uk_text text = {0};

    (void)state;
    make_matmul(&t, UK_LOOP_SERIAL, UK_F32);
    make_scalar(&t.m, "alpha", UK_F32);
    const struct uk_function *function = &t.m.function;
    const struct uk_batch batch = {.function = &function, .count = 1, .target = uk_targets};
    assert_int_equal(uk_emit_header(&batch, &text), UK_OK);
    assert_non_null(strstr(text.text,
                           "int matmul(int64_t M, int64_t N, int64_t K, int64_t lda, int64_t ldb, int64_t "
                           "ldc, float alpha, const float *A, const float *B, float *C);"));
    assert_non_null(strstr(text.text, "#ifndef UK_HEADER_matmul\n#define UK_HEADER_matmul\n"));
    assert_non_null(strstr(text.text, "UK_OVERLAP = 3,"));
    free(text.text);
    make_end(&t.m);
}

static bool has_stage(const struct uk_module *m, const char *name) {
    const char *stage;
    double milliseconds;

    for (int i = 0; (stage = uk_module_time(m, i, &milliseconds)); i++)
        if (!strcmp(stage, name))
            return true;
    return false;
}

/* A context does not assemble the same loops twice; different ones it does, even under the same name. */
static void kept_objects(void **state) {
    static const struct {
        enum uk_type type;
        int64_t rows;
        bool kept;
    } step[] = {
        {UK_F64, 3, false}, {UK_F64, 3, true}, {UK_F64, 4, false}, {UK_F32, 3, false}, {UK_F64, 4, true}};
    struct matmul t;

    (void)state;
    for (int i = 0; i < COUNT(step); i++) {
        make_matmul(&t, UK_LOOP_SERIAL, step[i].type);
        t.size[0]->defined = true;
        t.size[0]->value = step[i].rows;
        struct uk_module *module = compiled(&t.m);

        assert_true(has_stage(module, "codegen"));
        assert_true(has_stage(module, "assemble") != step[i].kept);
        uk_module_destroy(module);
        make_end(&t.m);
    }
    /* more than the cache holds */
    for (int i = 0; i < 40; i++) {
        make_matmul(&t, UK_LOOP_SERIAL, UK_F32);
        t.size[1]->defined = true;
        t.size[1]->value = i;
        struct uk_module *module = compiled(&t.m);

        assert_true(has_stage(module, "assemble"));
        uk_module_destroy(module);
        make_end(&t.m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_loops),  cmocka_unit_test(parallel_grid),
        cmocka_unit_test(defined_sizes), cmocka_unit_test(same_bytes),
        cmocka_unit_test(let_and_if),    cmocka_unit_test(buffers_and_threads),
        cmocka_unit_test(header),        cmocka_unit_test(kept_objects),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
