/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiled programs with bad arguments and with failing devices. A driver counts the calls that reach it,
 * fails chosen ones, and passes the others on to the simulator; launches on invented addresses do nothing.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "compiled.h"
#include "driver.h"
#include "interpret/interpret.h"

enum call { ALLOC, LOAD, FIND, LAUNCH, CALLS };
static const char *const call_name[CALLS] = {"alloc", "load", "find", "launch"};

/* since the last forget() */
static int count[CALLS];
/* number of the call that fails; 0: none */
static int fail_at[CALLS];
/* allocations not yet freed */
static int live;
/* addresses are invented: launches do nothing */
static bool imaginary;

static void forget(void) {
    memset(count, 0, sizeof count);
    memset(fail_at, 0, sizeof fail_at);
}

static enum uk_status fails(enum call c, char *message) {
    if (++count[c] != fail_at[c])
        return UK_OK;
    snprintf(message, UK_GPU_MESSAGE, "%s %d fails", call_name[c], count[c]);
    return c == ALLOC ? UK_OUT_OF_MEMORY : UK_DEVICE;
}

static enum uk_status alloc(void *device, size_t bytes, uk_gpu_address *address, char *message) {
    enum uk_status s = fails(ALLOC, message);

    if (!s)
        s = uk_gpu_sim.alloc(device, bytes, address, message);
    live += !s;
    return s;
}
static enum uk_status free_memory(void *device, uk_gpu_address address, char *message) {
    live--;
    return uk_gpu_sim.free(device, address, message);
}
static enum uk_status load(void *device, const void *image, size_t bytes, struct uk_gpu_module **module,
                           char *message) {
    const enum uk_status s = fails(LOAD, message);

    return s ? s : uk_gpu_sim.load(device, image, bytes, module, message);
}
static enum uk_status find(void *device, struct uk_gpu_module *module, const char *name,
                           struct uk_gpu_kernel **kernel, char *message) {
    const enum uk_status s = fails(FIND, message);

    return s ? s : uk_gpu_sim.find(device, module, name, kernel, message);
}
static enum uk_status launch(void *device, struct uk_gpu_kernel *kernel, const unsigned grid[3],
                             const unsigned block[3], unsigned shared, const void *arguments, size_t bytes,
                             char *message) {
    const enum uk_status s = fails(LAUNCH, message);

    return s || imaginary ? s
                          : uk_gpu_sim.launch(device, kernel, grid, block, shared, arguments, bytes, message);
}

static struct uk_gpu *gpu;

static int begin(void **unused) {
    (void)unused;
    forget();
    live = 0;
    imaginary = true;
    gpu = open_gpu("counting", 1);
    return 0;
}

static int end(void **unused) {
    (void)unused;
    uk_gpu_close(gpu);
    return 0;
}

/* ---- programs ---- */

/* One kernel: a block has 64 x 1 elements; rows are y of the grid. */
static const char rows[] = "tensor A f32 [M, N]\ntensor C f32 [M, N]\nC[i, j] = A[i, j] + 1\nschedule\n"
                           "split j 64 -> jo ji\nbind i block.y\nbind jo block.x\nbind ji thread.x\n";

/* Two kernels with a temp in device memory between them. The second one's grid has rows where the first one's
 * has columns. */
static const char two[] =
    "tensor A f32 [M, N]\ntemp T f32 [M, N]\ntensor C f32 [N, M]\nS: T[i, j] = A[i, j] + 1\n"
    "C[j, i] = 2 * T[i, j]\nschedule\n"
    "split S.i 4 -> so si\nbind so block.x\nbind si thread.x\n"
    "reorder C.j C.i\nsplit C.i 4 -> io ii\nbind C.j block.y\nbind io block.x\nbind ii thread.x\n";

/* A kernel, and one in a loop of the host, whose grid does not depend on the loop. */
static const char loop[] =
    "tensor A f32 [K, M, N]\ntensor B f32 [M, N]\ntensor C f32 [M, N]\ntensor D f32 [M, N]\n"
    "S: D[i, j] = B[i, j] + 1\nC[i, j] += sum(k) A[k, i, j]\nschedule\n"
    "split S.i 4 -> so si\nbind so block.x\nbind si thread.x\n"
    "split C.j 64 -> jo ji\nreorder C.k C.i jo ji\nbind C.i block.y\nbind jo block.x\nbind ji thread.x\n";

static enum uk_status call(const struct run *p, struct uk_gpu *on, const int64_t size[2], uintptr_t a,
                           uintptr_t c) {
    return (enum uk_status)uk_module_call(p->module, size, NULL, (void *[]){on, (void *)a, (void *)c});
}

static void nothing_was_called(void) {
    for (int c = 0; c < CALLS; c++)
        if (count[c])
            fail_msg("%s was called %d times", call_name[c], count[c]);
}

/* Two matrices far apart in memory that does not exist. */
static const uintptr_t here = 1 << 20, there = (uintptr_t)1 << 60;

/* ---- tests ---- */

static void arguments(void **unused) {
    struct run p;
    const int64_t size[2] = {10, 100}, negative[2] = {10, -1}, none[2] = {0, 100};

    (void)unused;
    assert_true(compile_text(&p, "rows.uk", rows, 1));
    assert_int_equal(call(&p, NULL, size, here, there), UK_INVALID_ARGUMENT);
    assert_int_equal(call(&p, gpu, size, 0, there), UK_INVALID_ARGUMENT);
    assert_int_equal(call(&p, gpu, size, here, 0), UK_INVALID_ARGUMENT);
    assert_int_equal(call(&p, gpu, size, here + 2, there), UK_INVALID_ARGUMENT);
    assert_int_equal(call(&p, gpu, size, here, here), UK_OVERLAP);
    assert_int_equal(call(&p, gpu, size, here, here + 4 * 1000 - 4), UK_OVERLAP);
    assert_int_equal(call(&p, gpu, size, here + 4 * 1000 - 4, here), UK_OVERLAP);
    assert_int_equal(call(&p, gpu, negative, here, there), UK_INVALID_SIZE);
    assert_int_equal(call(&p, gpu, none, 0, 0), UK_OK);
    nothing_was_called();
    assert_int_equal(call(&p, gpu, size, here, here + 4 * 1000), UK_OK);
    assert_int_equal(count[LAUNCH], 1);
    compiled_end(&p);
}

/* The largest grid, and one larger. */
static void is_explained(const struct run *p, const int64_t *size, const char *message) {
    const struct uk_options o = {.target = "amdgcn-gfx90a"};

    assert_int_equal(uk_program_check_sizes(p->program, &o, size), message ? UK_INVALID_SIZE : UK_OK);
    assert_string_equal(uk_context_message(p->context), message ? message : "");
}

static void grids(void **unused) {
    const int64_t most_y[2] = {65535, 64}, more_y[2] = {65536, 64}, most_x[2] = {1, 64 * (int64_t)INT32_MAX},
                  more_x[2] = {1, 64 * (int64_t)INT32_MAX + 1};
    struct run p;

    (void)unused;
    assert_true(compile_text(&p, "rows.uk", rows, 1));
    assert_int_equal(call(&p, gpu, more_y, here, there), UK_INVALID_SIZE);
    assert_int_equal(call(&p, gpu, more_x, here, there), UK_INVALID_SIZE);
    nothing_was_called();
    is_explained(&p, most_y, NULL);
    is_explained(&p, most_x, NULL);
    is_explained(
        &p, more_y,
        "rows.uk: error: the kernel of C has 65536 blocks along block.y, and GPUs take at most 65535; "
        "bind its longest loops to block.x, or use smaller sizes");
    is_explained(&p, more_x,
                 "rows.uk: error: the kernel of C has 2147483648 blocks along block.x, and GPUs take at most "
                 "2147483647; use smaller sizes");
    assert_int_equal(call(&p, gpu, most_y, here, there), UK_OK);
    assert_int_equal(call(&p, gpu, most_x, here, there), UK_OK);
    assert_int_equal(count[LAUNCH], 2);
    compiled_end(&p);
}

/* Two loops are one axis of the grid, bound to it one by one or fused: an image's pixels, and a batch of
 * images. */
static void merged_grids(void **unused) {
#define IMAGES "tensor A f32 [M, N, 64]\ntensor C f32 [M, N, 64]\nC[b, i, j] = A[b, i, j] + 1\nschedule\n"
    static const char *const merged[] = {IMAGES "bind b block.y\nbind i block.y\nbind j thread.x\n",
                                         IMAGES "fuse b i -> p\nbind p block.y\nbind j thread.x\n"};
    const int64_t most[2] = {257, 255}, more[2] = {256, 256}, none[2] = {65536, 0};

    (void)unused;
    for (int i = 0; i < 2; i++) {
        struct run p;

        forget();
        assert_true(compile_text(&p, "merged.uk", merged[i], 1));
        assert_int_equal(call(&p, gpu, more, here, there), UK_INVALID_SIZE);
        nothing_was_called();
        is_explained(
            &p, more,
            "merged.uk: error: the kernel of C has 65536 blocks along block.y, and GPUs take at most "
            "65535; bind its longest loops to block.x, or use smaller sizes");
        is_explained(&p, most, NULL);
        is_explained(&p, none, NULL);
        assert_int_equal(call(&p, gpu, most, here, there), UK_OK);
        assert_int_equal(count[LAUNCH], 1);
        compiled_end(&p);
    }
}

/* If the second kernel's grid is too large, the first is not launched. */
static void later_grids(void **unused) {
    const int64_t most[2] = {4, 65535}, more[2] = {4, 65536};
    struct run p;

    (void)unused;
    assert_true(compile_text(&p, "two.uk", two, 1));
    assert_int_equal(call(&p, gpu, more, here, there), UK_INVALID_SIZE);
    nothing_was_called();
    assert_int_equal(call(&p, gpu, most, here, there), UK_OK);
    assert_int_equal(count[LAUNCH], 2);
    compiled_end(&p);
}

/* A too large grid inside a loop is also refused before any launch; kernels of an empty loop have no grid. */
static void grids_in_loops(void **unused) {
    const uintptr_t far = (uintptr_t)1 << 50;
    struct run p;

    (void)unused;
    assert_true(compile_text(&p, "loop.uk", loop, 1));
    for (int64_t k = 0; k < 2; k++)
        for (int64_t m = 65535; m <= 65536; m++) {
            const enum uk_status should = k && m > 65535 ? UK_INVALID_SIZE : UK_OK;
            void *argument[] = {gpu, (void *)far, (void *)(2 * far), (void *)(3 * far), (void *)(4 * far)};
            int64_t size[3];

            for (int i = 0; i < 3; i++) {
                const char name = uk_program_size_name(p.program, i)[0];

                size[i] = name == 'K' ? k : name == 'M' ? m : 64;
            }
            forget();
            assert_int_equal(uk_module_call(p.module, size, NULL, argument), should);
            assert_int_equal(count[LAUNCH], should ? 0 : 1 + k);
            is_explained(
                &p, size,
                should ? "loop.uk: error: the kernel of C has 65536 blocks along block.y, and GPUs take at "
                         "most 65535; bind its longest loops to block.x, or use smaller sizes"
                       : NULL);
        }
    compiled_end(&p);
}

/* Runs the program `two` on a device on which the call of this number fails (0: none). If the run succeeds, C
 * must be right. */
static enum uk_status run_two(const struct run *p, enum call which, int number) {
    enum { ROWS = 7, COLUMNS = 9 };
    const int64_t size[2] = {ROWS, COLUMNS};
    float a[ROWS][COLUMNS], c[COLUMNS][ROWS];
    uk_gpu_address at[2];

    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLUMNS; j++)
            a[i][j] = (float)(10 * i + j);
    assert_int_equal(uk_gpu_alloc(gpu, sizeof a, &at[0]), UK_OK);
    assert_int_equal(uk_gpu_alloc(gpu, sizeof c, &at[1]), UK_OK);
    assert_int_equal(uk_gpu_upload(gpu, at[0], a, sizeof a), UK_OK);
    forget();
    fail_at[which] = number;
    const enum uk_status s = call(p, gpu, size, at[0], at[1]);
    assert_int_equal(uk_gpu_download(gpu, c, at[1], sizeof c), UK_OK);
    for (int i = 0; i < ROWS && !s; i++)
        for (int j = 0; j < COLUMNS; j++)
            assert_true(c[j][i] == 2 * (a[i][j] + 1));
    assert_int_equal(uk_gpu_free(gpu, at[0]), UK_OK);
    assert_int_equal(uk_gpu_free(gpu, at[1]), UK_OK);
    return s;
}

/* The status and message of a failed call are returned, and nothing is called after it; the next run of the
 * program is right. */
static void failures(void **unused) {
    static const struct {
        enum call which;
        int number;
        enum uk_status status;
        int calls[CALLS];
    } cases[] = {
        {ALLOC, 1, UK_OUT_OF_MEMORY, {1, 0, 0, 0}}, {LOAD, 1, UK_DEVICE, {1, 1, 0, 0}},
        {FIND, 1, UK_DEVICE, {1, 1, 1, 0}},         {LAUNCH, 1, UK_DEVICE, {1, 1, 1, 1}},
        {FIND, 2, UK_DEVICE, {1, 1, 2, 1}},         {LAUNCH, 2, UK_DEVICE, {1, 1, 2, 2}},
    };
    struct run p;

    (void)unused;
    imaginary = false;
    assert_true(compile_text(&p, "two.uk", two, 1));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char message[UK_GPU_MESSAGE];

        assert_int_equal(run_two(&p, cases[i].which, cases[i].number), cases[i].status);
        snprintf(message, sizeof message, "%s %d fails", call_name[cases[i].which], cases[i].number);
        assert_string_equal(uk_gpu_message(gpu), message);
        assert_memory_equal(count, cases[i].calls, sizeof count);
        assert_int_equal(run_two(&p, ALLOC, 0), UK_OK);
        /* everything is loaded by now */
        assert_int_equal(run_two(&p, ALLOC, 0), UK_OK);
        assert_memory_equal(count, ((int[CALLS]){[LAUNCH] = 2}), sizeof count);
        /* the workspace remains */
        assert_int_equal(live, 1);
        uk_gpu_close(gpu);
        live = 0;
        gpu = open_gpu("counting", 1);
    }
    compiled_end(&p);
}

/* A code object for gfx906 on a gfx90a. */
static void other_device(void **unused) {
    struct run p;

    (void)unused;
    assert_true(compile_text(&p, "rows.uk", rows, 0));
    assert_int_equal(call(&p, gpu, (int64_t[]){10, 100}, here, there), UK_UNSUPPORTED);
    assert_non_null(strstr(uk_gpu_message(gpu), "for another GPU"));
    assert_int_equal(count[LAUNCH], 0);
    compiled_end(&p);
}

/* The host rounds 16-bit scalars, and its target may have no instruction for it: ties, subnormal results, the
 * largest number. */
static void small_float_scalars(void **state) {
    static const double fraction[] = {
        1,           1 + 0x1p-11, 1 + 0x1p-10, 1 + 0x1.8p-10, 1 + 0x1p-11 + 0x1p-40,
        2 - 0x1p-10, 2 - 0x1p-11, 2 - 0x1p-12, 1 + 0x1p-8,    1 + 0x1.8p-7,
        2 - 0x1p-8};
    static const double special[] = {0,        65504, 65519.99, 65520,          1e300,
                                     INFINITY, NAN,   0x1p-25,  0x1.0000001p-25};
    enum {
        FRACTIONS = sizeof fraction / sizeof *fraction,
        SPECIALS = sizeof special / sizeof *special,
        LEAST = -26,
        MOST = 17
    };
    struct run p;
    uk_gpu_address at;
    float y[2];

    (void)state;
    imaginary = false;
    assert_true(compile_text(
        &p, "scalars.uk",
        "scalar q f16\nscalar r bf16\ntensor Y f32 [2]\nY[i] = select(index(i) == 0, f32(q), f32(r))\n", 1));
    assert_int_equal(uk_gpu_alloc(gpu, sizeof y, &at), UK_OK);
    for (int i = 0; i < SPECIALS + FRACTIONS * (MOST - LEAST + 1); i++) {
        const int k = i - SPECIALS;
        double v = k < 0 ? special[i] : ldexp(fraction[k % FRACTIONS], LEAST + k / FRACTIONS);

        v = i % 2 ? -v : v;
        assert_int_equal(
            uk_module_call(p.module, NULL, (double[]){v, v}, (void *[]){gpu, (void *)(uintptr_t)at}), UK_OK);
        assert_int_equal(uk_gpu_download(gpu, y, at, sizeof y), UK_OK);
        for (int j = 0; j < 2; j++) {
            const double wanted = uk_round_to(j ? UK_BF16 : UK_F16, v);

            if (isnan(v) ? !isnan(y[j]) : y[j] != wanted || signbit(y[j]) != signbit(wanted))
                fail_msg("%a as %s is %a, not %a", v, j ? "bf16" : "f16", y[j], wanted);
        }
    }
    assert_int_equal(uk_gpu_free(gpu, at), UK_OK);
    compiled_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(small_float_scalars, begin, end),
        cmocka_unit_test_setup_teardown(arguments, begin, end),
        cmocka_unit_test_setup_teardown(grids, begin, end),
        cmocka_unit_test_setup_teardown(merged_grids, begin, end),
        cmocka_unit_test_setup_teardown(later_grids, begin, end),
        cmocka_unit_test_setup_teardown(grids_in_loops, begin, end),
        cmocka_unit_test_setup_teardown(failures, begin, end),
        cmocka_unit_test_setup_teardown(other_device, begin, end),
    };
    static struct uk_gpu_driver counting;

    counting = uk_gpu_sim;
    counting.kind = "counting";
    counting.alloc = alloc;
    counting.free = free_memory;
    counting.load = load;
    counting.find = find;
    counting.launch = launch;
    if (uk_gpu_register(&counting))
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
