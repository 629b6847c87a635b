/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares every operator on every element type, on edge cases: the interpreter and compiled code with plain
 * C, bit for bit (all NaNs are equal). The interpreter uses the C library's exp and similar functions;
 * compiled code is within 2 units in the last place of them.
 */
#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "elements.h"
#include "test_context.h"

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))
enum { MOST = 64, PAIRS = MOST * MOST };

/* ---- values ---- */

static int values(enum uk_type t, struct value v[MOST]) {
    static const double of_all[] = {0.0, -0.0,  1,       -1,    2,     -3,   0.5,      -2.5,
                                    3.5, 7,     100,     255,   256,   -129, INFINITY, -INFINITY,
                                    NAN, 127.5, 1.0 / 3, -1e-3, 65504, 2047, 2049,     1e-7};
    static const double of_wide[] = {1e30,   -1e30,   3e38,       1e-40,    2147483648.0, -2147483649.0,
                                     9.3e18, -9.3e18, 16777217.0, 0x1p-133, 0x1.01p-126};
    static const double of_double[] = {
        1e300, 0x1.0100000000001p0, 0x1.00ffffffffp0, 0x1.00400001p0, -0x1.00c0000001p3,  0x1.ffdffffp15,
        65520, 65519.999,           1e-310,           4e-8,           0x1.8000000001p-134};
    static const int64_t integers[] = {0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       5,
                                       7,
                                       8,
                                       -8,
                                       15,
                                       16,
                                       31,
                                       32,
                                       33,
                                       63,
                                       64,
                                       65,
                                       100,
                                       127,
                                       128,
                                       -128,
                                       255,
                                       256,
                                       257,
                                       -32768,
                                       32767,
                                       65535,
                                       2147483647,
                                       -2147483648,
                                       INT64_C(0x7fffffff80000001),
                                       INT64_MAX,
                                       INT64_MIN,
                                       16777217,
                                       -16908289,
                                       INT64_C(0x0101000000000001),
                                       INT64_C(-0x0100ffffffffffff),
                                       INT64_C(0x00ff800000000001)};
    int n = 0;

    if (!is_float(t)) {
        char memory[8];

        for (int i = 0; i < COUNT(integers); i++) {
            put_value(t, memory, 0, (struct value){.i = integers[i]}); /* wraps */
            v[n++] = get_value(t, memory, 0);
        }
        return n;
    }
    for (int i = 0; i < COUNT(of_all); i++)
        v[n++].d = rounded(t, (long double)of_all[i]);
    for (int i = 0; t != UK_F16 && i < COUNT(of_wide); i++)
        v[n++].d = rounded(t, (long double)of_wide[i]);
    for (int i = 0; t == UK_F64 && i < COUNT(of_double); i++)
        v[n++].d = of_double[i];
    return n;
}

/* ---- what C says ---- */

static double float_of(enum uk_type t, char op, double a, double b) {
    const float x = (float)a, y = (float)b;

    if (op == 'm')
        return a < b ? a : b;
    if (op == 'M')
        return a > b ? a : b;
    if (t == UK_F64)
        return op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : a / b;
    const float f = op == '+' ? x + y : op == '-' ? x - y : op == '*' ? x * y : x / y;
    return t == UK_F16 ? (double)(_Float16)f : t == UK_BF16 ? to_bf16((long double)f) : (double)f;
}

/* Shifts one bit at a time; a count outside 0 .. width shifts all bits out. */
static int64_t shifted(char op, int width, bool is_unsigned, int64_t a, int64_t count) {
    uint64_t v = (uint64_t)a;

    if (count < 0 || count > width)
        count = width;
    for (; count > 0; count--)
        v = op == '<' ? v << 1 : v >> 1 | (!is_unsigned && a < 0 ? UINT64_C(1) << 63 : 0);
    return (int64_t)v;
}

/* Of integers; those of u64 are stored as their bits. */
static bool is_less(enum uk_type t, struct value a, struct value b) {
    return t == UK_U64 ? (uint64_t)a.i < (uint64_t)b.i : a.i < b.i;
}

/* Truncated toward 0, in wider integers; 0 for a divisor of 0. */
static int64_t quotient_of(enum uk_type t, struct value a, struct value b) {
    const __int128 x = t == UK_U64 ? (__int128)(uint64_t)a.i : a.i,
                   y = t == UK_U64 ? (__int128)(uint64_t)b.i : b.i;

    return y ? (int64_t)(uint64_t)(x / y) : 0;
}

static struct value binary_of(enum uk_type t, char op, struct value a, struct value b) {
    const uint64_t x = (uint64_t)a.i, y = (uint64_t)b.i;
    char memory[8];

    if (is_float(t))
        return (struct value){.d = float_of(t, op, a.d, b.d)};
    int64_t r = op == '+'   ? (int64_t)(x + y)
                : op == '-' ? (int64_t)(x - y)
                : op == '*' ? (int64_t)(x * y)
                : op == '&' ? (int64_t)(x & y)
                : op == '^' ? (int64_t)(x ^ y)
                : op == '|' ? (int64_t)(x | y)
                : op == '/' ? quotient_of(t, a, b)
                : op == 'm' ? (is_less(t, a, b) ? a.i : b.i)
                : op == 'M' ? (is_less(t, b, a) ? a.i : b.i)
                            : shifted(op, 8 * (int)uk_type_bytes(t), t >= UK_U8, a.i, b.i);
    put_value(t, memory, 0, (struct value){.i = r});
    return get_value(t, memory, 0);
}

static struct value converted(enum uk_type from, enum uk_type to, struct value v) {
    static const long double least[] = {-0x1p63L, -0x1p31L, -32768, -128, 0, 0, 0, 0};
    static const long double most[] = {0x1p63L - 1, 2147483647, 32767,      127,
                                       255,         65535,      4294967295, 0x1p64L - 1};
    char memory[8];

    if (is_float(to)) {
        long double x = is_float(from)   ? (long double)v.d
                        : from == UK_U64 ? (long double)(uint64_t)v.i
                                         : (long double)v.i;

        return (struct value){.d = isnan(x)                          ? NAN
                                   : to == UK_F16 && !is_float(from) ? (double)(_Float16)(double)x
                                                                     : rounded(to, x)};
    }
    if (is_float(from)) {
        long double x = truncl((long double)v.d);
        int k = (int)to - UK_I64;

        x = isnan(x) ? 0 : x < least[k] ? least[k] : x > most[k] ? most[k] : x;
        return (struct value){.i = to == UK_U64 ? (int64_t)(uint64_t)x : (int64_t)x};
    }
    put_value(to, memory, 0, v);
    return get_value(to, memory, 0);
}

/* ---- running ---- */

struct job {
    char text[400], what[80];
    int n;
    void *operand[3]; /* the last one is the result */
    enum uk_type result;
};

static void *memory_of(enum uk_type t) {
    void *p = calloc(PAIRS, uk_type_bytes(t));

    assert_non_null(p);
    return p;
}

static void compare(const struct job *j, const struct value *wanted, const char *by) {
    for (int i = 0; i < j->n; i++) {
        struct value v = get_value(j->result, j->operand[2], i);

        if (!same_value(j->result, v, wanted[i]))
            fail_msg("%s %s, element %d: %.17g %" PRId64 ", wanted %.17g %" PRId64, by, j->what, i, v.d, v.i,
                     wanted[i].d, wanted[i].i);
    }
}

static void interpret(struct uk_program *p, const struct job *j, void *const *tensors) {
    if (uk_program_interpret(p, (int64_t[]){j->n}, NULL, tensors))
        fail_msg("%s: %s", j->what, uk_context_message(context));
}

static void compile_and_call(struct uk_program *p, const struct job *j, void *const *tensors) {
    struct uk_module *m;

    if (uk_compile(p, NULL, &m))
        fail_msg("%s: %s", j->what, uk_context_message(context));
    assert_int_equal(uk_module_call(m, (int64_t[]){j->n}, NULL, tensors), UK_OK);
    uk_module_destroy(m);
}

static void run(const struct job *j, const struct value *wanted) {
    void *tensors[] = {j->operand[0], j->operand[1] ? j->operand[1] : j->operand[2], j->operand[2]};
    const size_t bytes = (size_t)j->n * uk_type_bytes(j->result);
    struct uk_program *p;

    if (uk_program_parse(context, "f.uk", j->text, strlen(j->text), &p))
        fail_msg("%s: %s", j->what, uk_context_message(context));
    memset(j->operand[2], 0x5a, bytes);
    interpret(p, j, tensors);
    compare(j, wanted, "interpreted");
    memset(j->operand[2], 0x5a, bytes);
    compile_and_call(p, j, tensors);
    compare(j, wanted, "compiled");
    uk_program_destroy(p);
}

/* ---- the tests ---- */

static void begin_pairs(struct job *j, enum uk_type t, struct value a[PAIRS], struct value b[PAIRS]) {
    struct value v[MOST] = {{0}};
    const int n = values(t, v);

    j->n = n * n;
    j->operand[0] = memory_of(t);
    j->operand[1] = memory_of(t);
    for (int i = 0; i < j->n; i++) {
        put_value(t, j->operand[0], i, a[i] = v[i / n]);
        put_value(t, j->operand[1], i, b[i] = v[i % n]);
    }
}

static void free_job(struct job *j) {
    for (int i = 0; i < 3; i++)
        free(j->operand[i]);
}

static struct value a[PAIRS], b[PAIRS], wanted[PAIRS];

static void arithmetic(void **state) {
    static const struct {
        const char *form;
        char op;
    } operation[] = {{"A[i] + B[i]", '+'},     {"A[i] - B[i]", '-'},    {"A[i] * B[i]", '*'},
                     {"A[i] / B[i]", '/'},     {"A[i] << B[i]", '<'},   {"A[i] >> B[i]", '>'},
                     {"A[i] & B[i]", '&'},     {"A[i] ^ B[i]", '^'},    {"A[i] | B[i]", '|'},
                     {"min(A[i], B[i])", 'm'}, {"max(A[i], B[i])", 'M'}};

    (void)state;
    for (enum uk_type t = UK_F64; t < UK_TYPES; t++)
        for (int o = 0; o < COUNT(operation); o++) {
            const char *name = uk_type_name(t);
            struct job j = {.result = t};

            if (is_float(t) && o >= 4 && o <= 8)
                continue;
            begin_pairs(&j, t, a, b);
            j.operand[2] = memory_of(t);
            for (int i = 0; i < j.n; i++)
                wanted[i] = binary_of(t, operation[o].op, a[i], b[i]);
            snprintf(j.what, sizeof j.what, "%s of %s", operation[o].form, name);
            snprintf(j.text, sizeof j.text, "tensor A %s [N]\ntensor B %s [N]\ntensor C %s [N]\nC[i] = %s\n",
                     name, name, name, operation[o].form);
            run(&j, wanted);
            free_job(&j);
        }
}

static bool holds(int relation, enum uk_type t, struct value x, struct value y) {
    const bool less = is_float(t) ? x.d < y.d : is_less(t, x, y),
               equal = is_float(t) ? x.d == y.d : x.i == y.i,
               more = is_float(t) ? x.d > y.d : is_less(t, y, x);
    const bool all[] = {equal, !equal, less, less || equal, more, more || equal};

    return all[relation];
}

static void comparisons(void **state) {
    static const char *const relation[] = {"==", "!=", "<", "<=", ">", ">="};

    (void)state;
    for (enum uk_type t = UK_F64; t < UK_TYPES; t++)
        for (int o = 0; o < COUNT(relation); o++) {
            struct job j = {.result = UK_I8};

            begin_pairs(&j, t, a, b);
            j.operand[2] = memory_of(UK_I8);
            for (int i = 0; i < j.n; i++)
                wanted[i] = (struct value){.i = holds(o, t, a[i], b[i]) ? 1 : -1};
            snprintf(j.what, sizeof j.what, "A %s B of %s", relation[o], uk_type_name(t));
            snprintf(j.text, sizeof j.text,
                     "tensor A %s [N]\ntensor B %s [N]\ntensor C i8 [N]\n"
                     "C[i] = select(not (A[i] %s B[i] and A[i] %s B[i]) or not A[i] %s B[i], -1, 1)\n",
                     uk_type_name(t), uk_type_name(t), relation[o], relation[o], relation[o]);
            run(&j, wanted);
            free_job(&j);
        }
}

static void conversions(void **state) {
    (void)state;
    for (enum uk_type from = UK_F64; from < UK_TYPES; from++)
        for (enum uk_type to = UK_F64; to < UK_TYPES; to++) {
            struct value v[MOST] = {{0}};
            struct job j = {.result = to, .n = values(from, v)};

            j.operand[0] = memory_of(from);
            j.operand[2] = memory_of(to);
            for (int i = 0; i < j.n; i++) {
                put_value(from, j.operand[0], i, v[i]);
                wanted[i] = converted(from, to, v[i]);
            }
            snprintf(j.what, sizeof j.what, "%s to %s", uk_type_name(from), uk_type_name(to));
            snprintf(j.text, sizeof j.text, "tensor A %s [N]\ntensor C %s [N]\nC[i] = %s(A[i])\n",
                     uk_type_name(from), uk_type_name(to), uk_type_name(to));
            run(&j, wanted);
            free_job(&j);
        }
}

static struct value unary_of(enum uk_type t, int function, struct value v) {
    if (!is_float(t))
        return function && (v.i >= 0 || t == UK_U64) ? v : binary_of(t, '-', (struct value){.i = 0}, v);
    const double d[] = {-v.d,      fabs(v.d),  t == UK_F64 ? sqrt(v.d) : rounded(t, sqrtl((long double)v.d)),
                        rint(v.d), floor(v.d), ceil(v.d)};
    return (struct value){.d = d[function]};
}

static void functions(void **state) {
    static const char *const form[] = {"-A[i]",       "abs(A[i])",   "sqrt(A[i])",
                                       "round(A[i])", "floor(A[i])", "ceil(A[i])"};

    (void)state;
    for (enum uk_type t = UK_F64; t < UK_TYPES; t++)
        for (int f = 0; f < (is_float(t) ? COUNT(form) : 2); f++) {
            struct value v[MOST] = {{0}};
            struct job j = {.result = t, .n = values(t, v)};

            j.operand[0] = memory_of(t);
            j.operand[2] = memory_of(t);
            for (int i = 0; i < j.n; i++) {
                put_value(t, j.operand[0], i, v[i]);
                wanted[i] = unary_of(t, f, v[i]);
            }
            snprintf(j.what, sizeof j.what, "%s of %s", form[f], uk_type_name(t));
            snprintf(j.text, sizeof j.text, "tensor A %s [N]\ntensor C %s [N]\nC[i] = %s\n", uk_type_name(t),
                     uk_type_name(t), form[f]);
            run(&j, wanted);
            free_job(&j);
        }
}

/* Literals are rounded once: 1 + 2^-8 + 2^-40 is above the middle of two bf16 values; rounded to f32 first,
 * it would be the middle. */
static void literals(void **state) {
    static const struct {
        enum uk_type type;
        const char *text;
        struct value value;
    } literal[] = {
        {UK_BF16, "1.00390625000090949470177292823791503906250", {.d = 1.0078125}},
        {UK_F16, "1.0004882812500009094947017729282379150390625", {.d = 1.0009765625}},
        {UK_F32, "9007199791611905", {.d = 0x1.000002p53}},
        {UK_F16, "65520", {.d = INFINITY}},
        {UK_BF16, "16908289", {.d = 0x1.02p24}},
        {UK_F64, "-inf", {.d = -INFINITY}},
        {UK_F16, "-0.0", {.d = -0.0}},
        {UK_I8, "-128", {.i = -128}},
        {UK_I16, "-32768", {.i = -32768}},
        {UK_I32, "-2147483648", {.i = INT32_MIN}},
        {UK_I64, "-9223372036854775807 - 1", {.i = INT64_MIN}},
        {UK_U8, "255", {.i = 255}},
        {UK_U16, "65535", {.i = 65535}},
        {UK_U32, "4294967295", {.i = 4294967295}},
        {UK_U64, "9223372036854775807 * 2 + 1", {.i = -1}},
    };

    (void)state;
    for (int i = 0; i < COUNT(literal); i++) {
        struct job j = {.result = literal[i].type, .n = 1};

        j.operand[0] = memory_of(UK_F32);
        j.operand[2] = memory_of(j.result);
        wanted[0] = literal[i].value;
        snprintf(j.what, sizeof j.what, "literal %s", literal[i].text);
        snprintf(j.text, sizeof j.text,
                 "tensor A f32 [N]\ntensor C %s [N]\nC[i] = select(A[i] == 0, %s, 0)\n",
                 uk_type_name(j.result), literal[i].text);
        run(&j, wanted);
        free_job(&j);
    }
}

/* A reduction has no order: its result is NaN if any term is, at whichever position. */
static void nan_in_reductions(void **state) {
    const double term[] = {2, -3, 5, NAN, 7, -9, 4, 1, 8, -2};

    (void)state;
    for (enum uk_type t = UK_F64; t <= UK_BF16; t++)
        for (int max = 0; max < 2; max++) {
            const char *f = max ? "max" : "min", *type = uk_type_name(t);
            struct job j = {.result = t, .n = COUNT(term)};

            j.operand[0] = memory_of(t);
            j.operand[2] = memory_of(t);
            wanted[0].d = term[0];
            for (int i = 0; i < COUNT(term); i++) {
                put_value(t, j.operand[0], i, (struct value){.d = term[i]});
                if (i)
                    wanted[i].d = isnan(term[i]) || isnan(wanted[i - 1].d) ? NAN
                                  : max                                    ? fmax(wanted[i - 1].d, term[i])
                                                                           : fmin(wanted[i - 1].d, term[i]);
            }
            snprintf(j.what, sizeof j.what, "%s of %s with NaN", f, type);
            snprintf(
                j.text, sizeof j.text,
                "tensor A %s [N]\ntensor C %s [N]\nR: C[i] = %s(k where k <= i) A[k]\nU: C[i] %s= A[0]\n",
                type, type, f, f);
            run(&j, wanted);
            free_job(&j);
        }
}

/* ---- functions that are not correctly rounded ---- */

/* The value's bits as an integer; adjacent floats have adjacent integers, in the same order. */
static int64_t place_of(enum uk_type t, const void *from, int n) {
    const size_t bytes = uk_type_bytes(t);
    uint64_t bits = 0;

    memcpy(&bits, (const char *)from + (size_t)n * bytes, bytes);
    const uint64_t sign = UINT64_C(1) << (8 * bytes - 1);
    return bits & sign ? -(int64_t)(bits & (sign - 1)) : (int64_t)bits;
}

static double cube(double x) {
    return pow(x, 3);
}

static double power(double x) {
    return pow(2.5, x);
}

static double quick(double x) {
    return (double)((long double)x / (1 + expl(-1.75L * (long double)x)));
}

static double gelu(double x) {
    return (double)((long double)x / 2 * erfcl((long double)x * -0.7071067811865475244L));
}

static double gelu_tanh(double x) {
    const long double z = (long double)x;

    return (double)(z / (1 + expl(-1.595769121605730711706L * z * (1 + 0.044715L * z * z))));
}

/* The interpreter rounds the f64 function's result; compiled code computes f16 and bf16 in f32. */
static void approximate(void **state) {
    enum { LIBRARY_FUNCTIONS = 20 };
    static const struct {
        const char *form;
        double (*right)(double);
    } function[] = {{"exp(A[i])", exp},          {"log(A[i])", log},
                    {"tanh(A[i])", tanh},        {"erf(A[i])", erf},
                    {"erfc(A[i])", erfc},        {"pow(A[i], 3)", cube},
                    {"pow(2.5, A[i])", power},   {"log1p(A[i])", log1p},
                    {"expm1(A[i])", expm1},      {"sin(A[i])", sin},
                    {"cos(A[i])", cos},          {"tan(A[i])", tan},
                    {"asin(A[i])", asin},        {"acos(A[i])", acos},
                    {"atan(A[i])", atan},        {"sinh(A[i])", sinh},
                    {"cosh(A[i])", cosh},        {"asinh(A[i])", asinh},
                    {"acosh(A[i])", acosh},      {"atanh(A[i])", atanh},
                    {"gelu(A[i])", gelu},        {"gelu_tanh(A[i])", gelu_tanh},
                    {"swish(A[i], 1.75)", quick}};

    (void)state;
    for (enum uk_type t = UK_F64; t <= UK_BF16; t++)
        for (int f = 0; f < COUNT(function); f++) {
            struct job j = {.result = t, .n = 1000};
            void *in = memory_of(t), *out[2] = {memory_of(t), memory_of(t)};
            struct uk_program *p;

            for (int i = 0; i < j.n; i++)
                put_value(t, in, i, (struct value){.d = rounded(t, (i - 500) / 49.0L)});
            put_value(t, in, 0, (struct value){.d = NAN});
            put_value(t, in, 1, (struct value){.d = INFINITY});
            put_value(t, in, 2, (struct value){.d = -INFINITY});
            snprintf(j.what, sizeof j.what, "%s of %s", function[f].form, uk_type_name(t));
            snprintf(j.text, sizeof j.text, "tensor A %s [N]\ntensor C %s [N]\nC[i] = %s\n", uk_type_name(t),
                     uk_type_name(t), function[f].form);
            assert_int_equal(uk_program_parse(context, "f.uk", j.text, strlen(j.text), &p), UK_OK);
            interpret(p, &j, (void *[]){in, out[0]});
            compile_and_call(p, &j, (void *[]){in, out[1]});
            for (int i = 0; i < j.n; i++) {
                const struct value by_interpreter = get_value(t, out[0], i),
                                   compiled = get_value(t, out[1], i);
                const int64_t apart = isnan(by_interpreter.d) && isnan(compiled.d)
                                          ? 0
                                          : llabs(place_of(t, out[0], i) - place_of(t, out[1], i));
                const double x = get_value(t, in, i).d, right = function[f].right(x);
                /* The C library's functions are the interpreter's; others of f64 are near. */
                const bool is_near = t == UK_F64 && f >= LIBRARY_FUNCTIONS &&
                                     fabs(by_interpreter.d - right) <= 0x1p-50 * fabs(right);

                if (apart > (is_near                      ? 4
                             : t == UK_F64 || t == UK_F32 ? 2
                                                          : 1) ||
                    (!is_near &&
                     !same_value(t, by_interpreter, (struct value){.d = rounded(t, (long double)right)})))
                    fail_msg("%s(%.9g): %.17g, compiled %.17g", j.what, x, by_interpreter.d, compiled.d);
            }
            uk_program_destroy(p);
            free(in);
            free(out[0]);
            free(out[1]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),  cmocka_unit_test(comparisons), cmocka_unit_test(conversions),
        cmocka_unit_test(functions),   cmocka_unit_test(literals),    cmocka_unit_test(nan_in_reductions),
        cmocka_unit_test(approximate),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
