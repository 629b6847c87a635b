/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant tensors: packing functions and functions that take the packed form, as machine code and as
 * interpreted loops, are compared with the interpreter of the program. All values are small integers, so that
 * every order of sums gives the same result.
 */
#include <stdlib.h>
#include <string.h>
#include "run_program.h"
#include "test_context.h"

enum { MARGIN = 64, SIZES = 4 };

#define MATMUL                                                                                            \
    "tensor A f32 [M, K]\ntensor B f32 [K, N] constant\ntensor C f32 [M, N]\nC[m, n] = sum(k) A[m, k] * " \
    "B[k, n]\n"
#define HALVES                                                                                            \
    "tensor A f16 [M, K]\ntensor B bf16 [K, N] constant\ntensor C f32 [M, N]\nC[m, n] = sum(k) f32(A[m, " \
    "k]) * f32(B[k, n])\n"
#define ROW "tensor X f32 [N]\ntensor F f32 [N] constant\ntensor Y f32 [N]\n"
#define CONV                                                                                               \
    "tensor X f32 [H, W, C]\ntensor F f32 [3, 3, C, O] constant\ntensor B f32 [O] constant\ntensor Y f32 " \
    "[H, W, O]\n"                                                                                          \
    "temp T f32 [H, W, O]\nT[p, q, o] = sum(r, s, c) pad(X[p + r - 1, q + s - 1, c], 0) * F[r, s, c, o]\n" \
    "Y[p, q, o] = max(T[p, q, o] + B[o], 0)\n"

/* Sizes in the order of the text, followed by -1; the list of sets ends with {-1, ..}. */
static const struct program {
    const char *what, *text;
    int64_t size[4][SIZES];
} programs[] = {
    {"a product", MATMUL, {{5, 7, 9}, {13, 33, 17}, {64, 48, 32}, {1, 1, 1}}},
    {"its panels by a step",
     MATMUL "schedule\n  split C.n 16 -> no ni\n  reorder C.no C.m C.ni\n  pack B at root panel 16 -> BP\n",
     {{5, 7, 9}, {13, 33, 17}, {3, 5, 0}, {3, 0, 5}}},
    {"its panels inside of a loop: in place for the function",
     MATMUL "schedule\n  split C.n 16 -> no ni\n  reorder C.no C.m C.ni\n  pack B at no panel 16 -> BP\n",
     {{5, 7, 9}, {13, 33, 17}, {-1}}},
    {"two copies, and itself",
     "tensor X f32 [N, N]\ntensor F f32 [N, N] constant\ntensor Y f32 [N, N]\ntensor Z f32 [N, N]\n"
     "tensor V f32 [N]\nY[i, j] = sum(k) X[i, k] * F[k, j]\nZ[i, j] = sum(k) X[i, k] * F[j, k]\nV[i] = F[i, "
     "i]\n"
     "schedule\n  pack F at Y.root panel 4 along 1 -> P\n  cache_read F at Z.root layout (a, b) -> [b, a] -> "
     "Q\n",
     {{5}, {1}, {32}, {0}}},
    {"a copy with a border",
     ROW "Y[i] = X[i] * pad(F[i - 2], 7)\nschedule\n  cache_read F at Y.root -> P\n",
     {{9}, {1}, {0}, {-1}}},
    {"a border of a scalar, which is copied in the function",
     "scalar s f32\n" ROW "Y[i] = X[i] * pad(F[i - 2], s)\nschedule\n  cache_read F at Y.root -> P\n",
     {{9}, {1}, {-1}}},
    {"strides, and an alignment",
     "tensor X f32 [N]\ntensor F f32 [N, M] stride [l, 1] align 128 constant\ntensor Y f32 [N]\n"
     "Y[i] = sum(j) X[i] * F[i, j]\n",
     {{5, 3, 7}, {0, 3, 7}, {4, 3, 3}, {5, 0, 7}}},
    {"a layout, and elements beyond the shape",
     "tensor X f32 [N]\ntensor F f32 [N] layout (i) -> [i / 4, i % 4] constant\ntensor G f32 [N] over [N + "
     "3] constant\n"
     "tensor Y f32 [N]\nY[i] = X[i] * F[i] + G[i]\n",
     {{5}, {8}, {1}, {-1}}},
    {"a convolution", CONV, {{5, 7, 9, 17}, {6, 14, 16, 32}, {1, 1, 1, 1}, {-1}}},
    {"weights by output channels",
     "tensor X f32 [C, H, W]\ntensor F f32 [O, C, 3, 3] constant\ntensor Y f32 [O, H, W]\n"
     "Y[o, p, q] = sum(c, r, s) pad(X[c, p + r - 1, q + s - 1], 0) * F[o, c, r, s]\n",
     {{5, 7, 9, 17}, {37, 5, 19, 33}, {-1}}},
    {"bytes in groups",
     "tensor A u8 [M, K]\ntensor F i8 [K, N] constant\ntensor Y i32 [M, N]\nY[m, n] = sum(k) i32(A[m, k]) * "
     "i32(F[k, n])\n",
     {{5, 7, 9}, {13, 33, 17}, {8, 32, 16}, {1, 1, 1}}},
    {"bytes in groups, of rows",
     "tensor A u8 [M, K]\ntensor F i8 [N, K] constant\ntensor Y i32 [M, N]\nY[m, n] = sum(k) i32(A[m, k]) * "
     "i32(F[n, k])\n",
     {{5, 7, 9}, {13, 33, 17}, {-1}}},
    {"half precision",
     "tensor A f16 [M, K]\ntensor F f16 [N, K] constant\ntensor Y f16 [M, N]\nY[m, n] = sum(k) A[m, k] * "
     "F[n, k]\n",
     {{5, 3, 9}, {13, 5, 17}, {-1}}},
    {"halves", HALVES, {{13, 33, 17}, {128, 96, 80}, {64, 1, 5}, {3, 5, 0}}},
    {"... converted in place",
     HALVES "schedule\n  widen C\n",
     {{5, 7, 9}, {13, 33, 17}, {3, 5, 0}, {3, 0, 5}}},
    {"... converted when panels are packed",
     HALVES "schedule\n  widen C\n  split C.n 16 -> no ni\n  split C.m 4 -> mo mi\n  split C.k 8 -> ko ki\n"
            "  reorder C.ko C.mo C.no C.mi C.ni C.ki\n  pack C_right at root panel 16 -> BP\n"
            "  pack C_left at C.mo panel 4 along 0 -> AP\n  compute_at C_left C.mo\n",
     {{5, 7, 9}, {13, 33, 17}, {3, 5, 0}, {3, 0, 5}}},
    {"... converted in the function, for each panel",
     HALVES "schedule\n  widen C\n  split C.n 16 -> no ni\n  reorder C.no C.m C.ni\n"
            "  pack C_right at C.no panel 16 -> BP\n  compute_at C_right C.no\n",
     {{5, 7, 9}, {13, 33, 17}, {3, 5, 0}, {3, 0, 5}}},
    {"... converted in place, and in panels that the function packs",
     HALVES "schedule\n  widen C\n  split C.n 16 -> no ni\n  reorder C.no C.m C.ni\n  pack C_right at C.no "
            "panel 16 -> BP\n",
     {{5, 7, 9}, {13, 33, 17}, {3, 5, 0}, {3, 0, 5}}},
    {"... by themselves, in place and in panels",
     "tensor F f16 [K, N] constant\ntensor C f32 [N, N]\nC[m, n] = sum(k) f32(F[k, m]) * f32(F[k, n])\n"
     "schedule\n  widen C\n  split C.n 16 -> no ni\n  reorder C.no C.m C.ni\n  pack C_right at root panel 16 "
     "-> BP\n",
     {{5, 7}, {33, 17}, {1, 1}, {0, 5}}},
    {"so large that code packs it", MATMUL, {{3, 260, 270}, {-1}}},
    {"... as bytes, in place",
     "tensor X u8 [N]\ntensor F u8 [N] constant\ntensor Y u8 [N]\nY[i] = X[i] * F[i]\n",
     {{300001}, {-1}}},
};

/* ---- runs ---- */

static struct uk_program *parse(const char *text, const int64_t *size, bool defined) {
    struct uk_program *p = run_parse(context, "packed.uk", text, NULL);

    for (int i = 0; defined && i < uk_program_sizes(p); i++)
        assert_int_equal(uk_program_define(p, uk_program_size_name(p, i), size[i]), UK_OK);
    return p;
}

static void draw(struct random_data *d, struct uk_program *p, const int64_t *size) {
    *d = (struct random_data){.small = true};
    memcpy(d->size, size, (size_t)uk_program_sizes(p) * sizeof *size);
    random_data_fill(d, p, 1);
    assert_int_equal(d->status, UK_OK);
}

static void *allocate(size_t bytes, size_t align) {
    void *at = aligned_alloc(align, (bytes + align) / align * align);

    assert_non_null(at);
    return at;
}

/* Packed forms of a program's constant tensors, each with margins; NULL for other tensors. */
struct forms {
    void *form[RANDOM_DATA_TENSORS];
    size_t bytes[RANDOM_DATA_TENSORS];
};

/* Makes the packed forms; their margins must not change. */
static void pack_all(const struct run *r, const int64_t *size, const struct random_data *d, struct forms *f) {
    for (int i = 0; i < d->tensors; i++) {
        const int64_t n = uk_module_packed_bytes(r->module, size, i);

        if (n < 0)
            continue;
        f->bytes[i] = (size_t)n;
        unsigned char *form = f->form[i] = allocate(f->bytes[i] + 4 * MARGIN, 2 * MARGIN);
        memset(form, 0xee, f->bytes[i] + 4 * MARGIN);
        void *source = allocate(d->bytes[i], 2 * MARGIN); /* as aligned as a program asks for */
        memcpy(source, d->start[i] + RANDOM_DATA_MARGIN, d->bytes[i]);
        const int status = uk_module_pack(r->module, size, i, source, form + 2 * MARGIN);

        free(source);
        if (status)
            fail_msg("%s: packing tensor %d: %d %s", r->repeat_arguments, i, status,
                     uk_context_message(context));
        for (size_t k = 0; k < 2 * MARGIN; k++)
            if (form[k] != 0xee || form[2 * MARGIN + f->bytes[i] + k] != 0xee)
                fail_msg("%s: the code that packs tensor %d writes outside of its form", r->repeat_arguments,
                         i);
    }
}

/* Calls the module with packed constants. */
static int call_packed(const struct run *r, const int64_t *sizes, struct random_data *d) {
    const struct forms *f = r->device;
    void *argument[RANDOM_DATA_TENSORS];

    for (int i = 0; i < d->tensors; i++)
        argument[i] = f->form[i] ? (char *)f->form[i] + 2 * MARGIN : d->origin[i];
    return uk_module_call(r->module, sizes, d->scalar, argument);
}

/* Adds the automatic schedule to a program that has no steps. */
static void keep_steps(struct uk_program *p, const struct uk_options *o) {
    char *steps;
    size_t length;

    if (uk_emit(p, o, UK_EMIT_SCHEDULE, &steps, &length) ||
        (length && uk_program_schedule(p, "steps", steps, length)))
        fail_msg("%s", uk_context_message(context));
    uk_text_free(steps);
}

/* Packs by machine code and by the interpreter of its loops: the forms are equal, except in the padding
 * between their parts. */
static void run_on(const struct program *x, const char *target, bool has_code, const int64_t *size,
                   bool defined) {
    struct forms forms[2] = {0};
    struct run r = {.context = context,
                    .program = parse(x->text, size, defined),
                    .options = {.target = target},
                    .call = call_packed,
                    .repeat_arguments = x->what};
    struct random_data d;

    keep_steps(r.program, &r.options);
    draw(&d, r.program, size);
    for (int by_code = 0; by_code <= has_code; by_code++) {
        r.options.interpret = !by_code;
        r.device = &forms[by_code];
        if (run_compile(&r))
            fail_msg("%s for %s: %s", x->what, target, uk_context_message(context));
        pack_all(&r, defined ? NULL : size, &d, &forms[by_code]);
        run_is_right(&r, &d);
        uk_module_destroy(r.module);
        r.module = NULL;
    }
    assert_int_equal(r.wrong, 0);
    for (int i = 0; i < d.tensors; i++) {
        if (has_code && forms[0].form[i] &&
            (forms[0].bytes[i] != forms[1].bytes[i] ||
             memcmp(forms[0].form[i], forms[1].form[i], forms[0].bytes[i] + 4 * MARGIN)))
            fail_msg("%s for %s: the interpreter makes another form of tensor %d than code", x->what, target,
                     i);
        free(forms[0].form[i]);
        free(forms[1].form[i]);
    }
    random_data_free(&d);
    run_end(&r);
}

static void results(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++)
        for (int k = 0; k < 4 && programs[i].size[k][0] >= 0; k++) {
            const struct program *x = &programs[i];
            const bool is_half = strstr(x->text, "f16");

            run_on(x, "native", true, x->size[k], k % 2);
            run_on(x, "interp", false, x->size[k], k % 2 == 0);
            run_on(x, "aarch64-neon", false, x->size[k], k % 2 == 0);
            if (!is_half)
                run_on(x, "riscv64-p", false, x->size[k], k % 2);
        }
}

/* ---- what is refused ---- */

static void refused_arguments(void **state) {
    static const int64_t size[] = {5, 7, 9}, negative[] = {5, 7, -1}, huge[] = {5, INT64_MAX / 8, 9};
    struct uk_program *p = parse(MATMUL, size, false);
    const struct uk_options automatic = {.target = "x86_64-avx2", .interpret = true};
    struct uk_module *m, *loops;
    _Alignas(64) char form[64 * 64], data[7 * 9 * 4];
    float a[35], c[45];

    (void)state;
    memset(data, 0, sizeof data);
    if (uk_compile(p, NULL, &m) || uk_compile(p, &automatic, &loops))
        fail_msg("%s", uk_context_message(context));
    assert_true(uk_module_packed_bytes(m, size, 1) > 0);
    assert_int_equal(uk_module_packed_bytes(loops, size, 1) % 64, 0);
    assert_int_equal(uk_module_packed_bytes(m, negative, 1), -1);
    assert_int_equal(uk_module_packed_bytes(loops, negative, 1), -1);
    assert_int_equal(uk_module_packed_bytes(m, huge, 1), -1);
    assert_int_equal(uk_module_packed_bytes(loops, huge, 1), -1);
    for (int i = -1; i < 4; i++)
        if (i != 1) {
            assert_int_equal(uk_module_packed_bytes(m, size, i), -1);
            assert_int_equal(uk_module_pack(m, size, i, data, form), UK_INVALID_ARGUMENT);
        }
    assert_int_equal(uk_module_packed_bytes(m, NULL, 1), -1);
    assert_int_equal(uk_module_packed_bytes(NULL, size, 1), -1);
    assert_int_equal(uk_module_pack(NULL, size, 1, data, form), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_module_pack(m, NULL, 1, data, form), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_module_pack(m, size, 1, NULL, form), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_module_pack(m, size, 1, data, NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_module_pack(m, size, 1, data, form + 4), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_module_pack(m, negative, 1, data, form), UK_INVALID_SIZE);
    assert_int_equal(uk_module_pack(m, size, 1, form, form), UK_OVERLAP);
    assert_int_equal(uk_module_pack(m, size, 1, data, form), UK_OK);
    assert_int_equal(uk_module_call(m, size, NULL, (void *[]){a, form + 4, c}), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_module_call(m, size, NULL, (void *[]){a, NULL, c}), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_module_call(m, size, NULL, (void *[]){a, form, form}), UK_OVERLAP);
    assert_int_equal(uk_module_pack(loops, size, 1, NULL, form), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_module_pack(loops, size, 1, data, form), UK_REFUSED);
    assert_non_null(strstr(uk_context_message(context), "B cannot be packed for an automatic schedule"));
    assert_non_null(uk_module_find(m, "packed_pack_B"));
    assert_non_null(uk_module_find(m, "packed_packed_B"));
    uk_module_destroy(m);
    uk_module_destroy(loops);
    uk_program_destroy(p);
}

static void refused_programs(void **state) {
    static const struct {
        const char *text, *target, *message;
    } bad[] = {
        {"tensor X f32 [4]\ntensor Y f32 [4] constant\nY[i] = X[i]\n", NULL,
         "packed.uk:3:1: error: Y is constant, and this statement writes it"},
        {"tensor X f32 [4]\ntemp T f32 [4] constant\ntensor Y f32 [4]\nT[i] = X[i]\nY[i] = T[i]\n", NULL,
         "packed.uk:2:6: error: temp T is constant"},
        {"tensor X f32 [4] constant\ntensor Y f32 [4]\nY[i] = X[i]\n", "amdgcn-gfx90a",
         "packed.uk:1:8: error: X is constant, but programs for GPUs cannot pack in advance"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct uk_options o = {.target = bad[i].target};
        struct uk_program *p = NULL;
        char *text = NULL;
        size_t length;
        enum uk_status s = uk_program_parse(context, "packed.uk", bad[i].text, strlen(bad[i].text), &p);

        if (!s)
            s = uk_emit(p, &o, UK_EMIT_LOOPS, &text, &length);
        assert_true(s == UK_REFUSED || s == UK_UNSUPPORTED);
        if (!strstr(uk_context_message(context), bad[i].message))
            fail_msg("not \"%s\": %s", bad[i].message, uk_context_message(context));
        uk_program_destroy(p);
    }
}

/* ---- as constants of a bundle ---- */

static void bundle(void **state) {
    static const int64_t size[] = {5, 7, 9};
    const struct uk_options code = {.target = "native", .workspace_argument = true},
                            loops = {.target = "native", .interpret = true};
    struct uk_program *p = parse(MATMUL, size, true);
    struct uk_module *m;
    struct random_data d;
    char *form, where[64];
    int (*run)(const float *, float *);

    (void)state;
    keep_steps(p, &code);
    draw(&d, p, size);
    random_data_begin(&d);
    if (uk_compile(p, &loops, &m))
        fail_msg("%s", uk_context_message(context));
    const size_t bytes = (size_t)uk_module_packed_bytes(m, NULL, 1);
    form = allocate(bytes, 64);
    assert_int_equal(uk_module_pack(m, NULL, 1, d.origin[1], form), UK_OK);
    uk_module_destroy(m);
    struct uk_constant weights = {.name = "weights", .bytes = form, .length = bytes};
    struct uk_bundle b = {
        .programs = &p,
        .count = 1,
        .constants = &weights,
        .constant_count = 1,
        .source =
            "int run(const float *a, float *c) {\n"
            "    _Alignas(64) static char work[65536];\n"
            "    if (packed_workspace() > (int64_t)sizeof work || packed_packed_B() != sizeof weights)\n"
            "        return -1;\n"
            "    return packed(a, weights, c, work);\n}\n",
        .exported = (const char *const[]){"run"},
        .exported_count = 1};
    if (uk_compile_bundle(&b, &code, &m))
        fail_msg("%s", uk_context_message(context));
    void *at = uk_module_find(m, "run");
    memcpy(&run, &at, sizeof run);
    assert_int_equal(run(d.origin[0], d.origin[2]), UK_OK);
    assert_true(random_data_matches(&d, p, where));
    uk_module_destroy(m);
    weights.name = "packed_pack_B";
    assert_int_equal(uk_compile_bundle(&b, &code, &m), UK_INVALID_ARGUMENT);
    assert_non_null(strstr(uk_context_message(context), "packed_pack_B"));
    free(form);
    random_data_free(&d);
    uk_program_destroy(p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results),
        cmocka_unit_test(refused_arguments),
        cmocka_unit_test(refused_programs),
        cmocka_unit_test(bundle),
    };

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
