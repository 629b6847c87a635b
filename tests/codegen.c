/* Loops made by hand through the code generator: values, nodes, threads, workspace, and the entry checks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "loop_maker.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
#define SHAPE(...) ((struct uk_index *[]){__VA_ARGS__, NULL})

static struct uk_context *context;

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
    for (int i = 0; i < 6; i++) { /* what lies between the rows is not C's */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(serial_loops),
        cmocka_unit_test(parallel_grid),
    };

    context = uk_context_create();
    if (!context)
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    uk_context_destroy(context);
    return failed;
}
