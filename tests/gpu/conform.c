/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requirements on every kind of GPU: conform KIND ORDINAL IMAGE, with KIND and ORDINAL as in uk_gpu_open, and
 * IMAGE compiled from kernels.c for the device. With the tests' own vendor libraries (vendor.c) each call
 * also fails once: the failure is reported, and nothing leaks.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>
#include "gpu/gpu.h"
#include "vendor.h"

enum { N = 1000, MOST = 1 << 20 };
static const char *kind;
static int ordinal;
static unsigned char image[MOST];
static size_t image_bytes;
static struct uk_gpu *gpu;
static struct uk_gpu_module *module;

static void succeeds(enum uk_status status) {
    if (status)
        fail_msg("%s: %s", uk_status_text(status), uk_gpu_message(gpu));
}

static int open_gpu(void **unused) {
    char why[UK_GPU_MESSAGE];

    (void)unused;
    if (uk_gpu_open(kind, ordinal, &gpu, why) || uk_gpu_load(gpu, image, image_bytes, &module)) {
        print_error("%s\n", gpu ? uk_gpu_message(gpu) : why);
        return 1;
    }
    return 0;
}

static int close_gpu(void **unused) {
    (void)unused;
    uk_gpu_close(gpu);
    return 0;
}

static struct uk_gpu_kernel *kernel_of(const char *name) {
    struct uk_gpu_kernel *kernel = NULL;

    succeeds(uk_gpu_find(gpu, module, name, &kernel));
    return kernel;
}

static uk_gpu_address memory(size_t bytes) {
    uk_gpu_address address = 0;

    succeeds(uk_gpu_alloc(gpu, bytes, &address));
    assert_true(address && address % 256 == 0);
    return address;
}

/* Copies bytes to the device and back, also at offsets; allocations do not overlap. */
static void copies(void **unused) {
    unsigned char there[N], back[N];
    const uk_gpu_address x = memory(N), y = memory(N), none = memory(0);

    (void)unused;
    for (int i = 0; i < N; i++)
        there[i] = (unsigned char)(i * 7);
    assert_true(x + N <= y || y + N <= x);
    succeeds(uk_gpu_upload(gpu, x, there, N));
    succeeds(uk_gpu_fill(gpu, y, 0xc3, N));
    succeeds(uk_gpu_fill(gpu, x + 3, 0, 5));
    memset(there + 3, 0, 5);
    succeeds(uk_gpu_download(gpu, back, x, N));
    assert_memory_equal(back, there, N);
    succeeds(uk_gpu_upload(gpu, y + 1, there, N - 2));
    succeeds(uk_gpu_download(gpu, back + 1, y + 1, N - 2));
    assert_memory_equal(back + 1, there, N - 2);
    succeeds(uk_gpu_download(gpu, back, y, 1));
    assert_int_equal(back[0], 0xc3);
    succeeds(uk_gpu_free(gpu, none));
    succeeds(uk_gpu_free(gpu, y));
    succeeds(uk_gpu_free(gpu, x));
}

/* Launches see earlier uploads and the results of earlier launches. Arguments may change after the call
 * returns. */
static void adds_twice(void **unused) {
    static float a[N], b[N], c[N + 1];
    const uk_gpu_address x = memory(sizeof a), y = memory(sizeof b), z = memory(sizeof c);
    struct {
        int64_t n;
        uk_gpu_address a, b, c;
    } arguments = {N, x, y, z};
    const int64_t grid[3] = {(N + 63) / 64, 1, 1}, block[3] = {64, 1, 1};

    (void)unused;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(i % 17);
    }
    succeeds(uk_gpu_upload(gpu, x, a, sizeof a));
    succeeds(uk_gpu_upload(gpu, y, b, sizeof b));
    succeeds(uk_gpu_fill(gpu, z, 0, sizeof c));
    succeeds(uk_gpu_launch(gpu, kernel_of("add"), grid, block, 0, &arguments, sizeof arguments));
    arguments.a = z; /* z += y */
    succeeds(uk_gpu_launch(gpu, kernel_of("add"), grid, block, 0, &arguments, sizeof arguments));
    memset(&arguments, 0, sizeof arguments);
    succeeds(uk_gpu_download(gpu, c, z, sizeof c));
    for (int i = 0; i < N; i++)
        assert_true(c[i] == a[i] + 2 * b[i]);
    assert_true(c[N] == 0);
}

/* Arguments have the offsets of a C structure. */
static void takes_arguments(void **unused) {
    const uk_gpu_address out = memory(5 * sizeof(double));
    const struct {
        int8_t a;
        int64_t b;
        int16_t c;
        float d;
        double e;
        uk_gpu_address out;
    } arguments = {-3, INT64_C(1) << 40, -1234, 0.5f, 1e100, out};
    const double should[5] = {-3, 0, -1234, 0.5, 1e100};
    const int64_t one[3] = {1, 1, 1};
    double is[5];

    (void)unused;
    succeeds(uk_gpu_launch(gpu, kernel_of("arguments"), one, one, 0, &arguments, sizeof arguments));
    succeeds(uk_gpu_download(gpu, is, out, sizeof is));
    assert_memory_equal(&is[1], &arguments.b, sizeof arguments.b);
    is[1] = 0;
    assert_memory_equal(is, should, sizeof is);
}

static void knows_places(void **unused) {
    static const int64_t grid[3] = {2, 3, 4}, block[3] = {4, 2, 8};
    static int32_t out[24 * 64][6];
    const uk_gpu_address x = memory(sizeof out);
    int32_t *is = out[0];

    (void)unused;
    succeeds(uk_gpu_fill(gpu, x, 0xff, sizeof out));
    succeeds(uk_gpu_launch(gpu, kernel_of("places"), grid, block, 0, &x, sizeof x));
    succeeds(uk_gpu_download(gpu, out, x, sizeof out));
    for (int b = 0; b < 24; b++)
        for (int t = 0; t < 64; t++, is += 6) {
            const int32_t should[6] = {b % 2, b / 2 % 3, b / 6, t % 4, t / 4 % 2, t / 8};

            assert_memory_equal(is, should, sizeof should);
        }
}

static void shares(void **unused) {
    static const int64_t one[3] = {1, 1, 1}, block[3] = {256, 1, 1};
    float there[256], back[256];
    struct {
        uk_gpu_address in, out;
    } arguments = {memory(sizeof there), memory(sizeof back)};

    (void)unused;
    for (int i = 0; i < 256; i++)
        there[i] = (float)i;
    succeeds(uk_gpu_upload(gpu, arguments.in, there, sizeof there));
    succeeds(uk_gpu_launch(gpu, kernel_of("reverse"), one, block, 1024, &arguments, sizeof arguments));
    succeeds(uk_gpu_download(gpu, back, arguments.out, sizeof back));
    for (int i = 0; i < 256; i++)
        assert_true(back[i] == (float)(255 - i));
}

static void expect(enum uk_status is, enum uk_status should) {
    if (is != should)
        fail_msg("%s, not %s: %s", uk_status_text(is), uk_status_text(should), uk_gpu_message(gpu));
    assert_true(uk_gpu_message(gpu)[0]);
}

/* After wrong images, kernels or arguments nothing runs, and the device still works. */
static void refuses(void **unused) {
    static unsigned char broken[MOST];
    const int64_t one[3] = {1, 1, 1};
    const uk_gpu_address x = memory(8);
    struct uk_gpu_module *other = NULL;
    struct uk_gpu_kernel *kernel = NULL;

    (void)unused;
    expect(uk_gpu_load(gpu, "nothing", 8, &other), UK_INVALID_ARGUMENT);
    memcpy(broken, image, image_bytes);
    broken[18] ^= 0x40; /* e_machine */
    expect(uk_gpu_load(gpu, broken, image_bytes, &other), UK_INVALID_ARGUMENT);
    memcpy(broken, image, image_bytes);
    broken[48] ^= 0x10; /* e_flags: another GPU */
    expect(uk_gpu_load(gpu, broken, image_bytes, &other), UK_UNSUPPORTED);
    assert_null(other);
    expect(uk_gpu_find(gpu, module, "subtract", &kernel), UK_INVALID_ARGUMENT);
    assert_null(kernel);
    succeeds(uk_gpu_free(gpu, x));
    succeeds(uk_gpu_load(gpu, image, image_bytes, &other));
    succeeds(uk_gpu_find(gpu, other, "places", &kernel));
    succeeds(uk_gpu_unload(gpu, other));
    expect(uk_gpu_launch(gpu, kernel_of("add"), (int64_t[]){1, 65536, 1}, one, 0, NULL, 0), UK_INVALID_SIZE);
}

/* A fault on the device is reported by the next wait at the latest. The device is not used afterwards. */
static void reports_faults(void **unused) {
    const int64_t one[3] = {1, 1, 1}, block[3] = {64, 1, 1};
    struct {
        int64_t n;
        uk_gpu_address out;
    } arguments = {16, memory(64)};
    enum uk_status status =
        uk_gpu_launch(gpu, kernel_of("beyond"), one, block, 0, &arguments, sizeof arguments);

    (void)unused;
    expect(status ? status : uk_gpu_wait(gpu), UK_DEVICE);
}

/* PTX whose last byte is the last one before an inaccessible page. */
static void ends_texts(void **unused) {
    static const char text[] = {'.', 'v', 'e', 'r', 's', 'i', 'o', 'n', ' ', '7', '.', '1', '\n'};
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    struct uk_gpu_module *other = NULL;
    char *pages;

    (void)unused;
    if (strcmp(kind, "cuda") != 0)
        return;
    pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    memcpy(pages + page - sizeof text, text, sizeof text);
    assert_true(uk_gpu_load(gpu, pages + page - sizeof text, sizeof text, &other) != UK_OK);
    if (strstr(uk_gpu_message(gpu), "simulated"))
        assert_non_null(strstr(uk_gpu_message(gpu), "PTX of 13 bytes"));
    munmap(pages, 2 * page);
}

static void times(void **unused) {
    struct uk_gpu_event *start, *end;
    double seconds = -1;

    (void)unused;
    succeeds(uk_gpu_event_make(gpu, &start));
    succeeds(uk_gpu_event_make(gpu, &end));
    succeeds(uk_gpu_record(gpu, start));
    succeeds(uk_gpu_record(gpu, end));
    if (strcmp(kind, "sim") == 0)
        expect(uk_gpu_seconds(gpu, start, end, &seconds), UK_UNSUPPORTED);
    else
        assert_true(!uk_gpu_seconds(gpu, start, end, &seconds) && seconds >= 0);
    succeeds(uk_gpu_event_free(gpu, start));
    succeeds(uk_gpu_event_free(gpu, end));
}

/* ---- each call of the library fails once ---- */

#define TRY(call)      \
    do {               \
        status = call; \
        if (status)    \
            goto out;  \
    } while (0)

/* Uses all functions, frees everything, and returns the first failure's status. */
static enum uk_status use_everything(void) {
    struct uk_gpu *g = NULL;
    struct uk_gpu_module *m = NULL;
    struct uk_gpu_kernel *add;
    struct uk_gpu_event *start = NULL, *end = NULL;
    struct {
        int64_t n;
        uk_gpu_address a, b, c;
    } arguments = {2, 0, 0, 0};
    const int64_t one[3] = {1, 1, 1}, block[3] = {64, 1, 1};
    float x[2] = {1, 2};
    double seconds;
    enum uk_status status, late;

    TRY(uk_gpu_open(kind, ordinal, &g, NULL));
    TRY(uk_gpu_load(g, image, image_bytes, &m));
    TRY(uk_gpu_find(g, m, "add", &add));
    TRY(uk_gpu_alloc(g, sizeof x, &arguments.a));
    arguments.b = arguments.c = arguments.a;
    TRY(uk_gpu_event_make(g, &start));
    TRY(uk_gpu_event_make(g, &end));
    TRY(uk_gpu_record(g, start));
    TRY(uk_gpu_fill(g, arguments.a, 0, sizeof x));
    TRY(uk_gpu_upload(g, arguments.a, x, sizeof x));
    TRY(uk_gpu_launch(g, add, one, block, 64 << 10, &arguments, sizeof arguments));
    TRY(uk_gpu_record(g, end));
    TRY(uk_gpu_seconds(g, start, end, &seconds));
    TRY(uk_gpu_wait(g));
    TRY(uk_gpu_download(g, x, arguments.a, sizeof x));
    status = x[0] == 2 && x[1] == 4 ? UK_OK : UK_WRONG_RESULT;
out:
    late = uk_gpu_event_free(g, start);
    status = status ? status : late;
    late = uk_gpu_event_free(g, end);
    status = status ? status : late;
    late = uk_gpu_free(g, arguments.a);
    status = status ? status : late;
    late = uk_gpu_unload(g, m);
    status = status ? status : late;
    uk_gpu_close(g);
    return status;
}

static void survives_failures(void **unused) {
    void *library = dlopen(strcmp(kind, "hip") ? "libcuda.so.1" : "libamdhip64.so.7", RTLD_NOW | RTLD_NOLOAD);
    void (*fail_at)(long) = NULL;
    int (*has_failed)(void) = NULL;
    long (*alive)(void) = NULL, before;
    enum uk_status status = UK_OK;
    int call = 1, closing = 0;

    (void)unused;
    /* the simulator calls no other library */
    if (strcmp(kind, "sim") == 0)
        return;
    if (!library || !(*(void **)&fail_at = dlsym(library, "fake_fail_at"))) {
        /* a vendor's real library */
        skip();
    }
    *(void **)&has_failed = dlsym(library, "fake_has_failed");
    *(void **)&alive = dlsym(library, "fake_alive");
    before = alive();
    for (;; call++) {
        fail_at(call);
        status = use_everything();
        assert_int_equal(alive(), before);
        if (!has_failed())
            break;
        /* a failure during closing is not reported */
        closing += !status;
    }
    fail_at(0);
    assert_int_equal(status, UK_OK);
    assert_true(call > 40 && closing <= 2);
    dlclose(library);
}

static int read_image(const char *path) {
    FILE *file = fopen(path, "rb");

    if (file) {
        image_bytes = fread(image, 1, sizeof image, file);
        fclose(file);
    }
    return image_bytes > 0;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(copies, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(adds_twice, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(takes_arguments, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(knows_places, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(shares, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(refuses, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(ends_texts, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(times, open_gpu, close_gpu),
        cmocka_unit_test(survives_failures),
        cmocka_unit_test_setup_teardown(reports_faults, open_gpu, close_gpu),
    };

    if (argc != 4 || !read_image(argv[3])) {
        fprintf(stderr, "usage: conform KIND ORDINAL IMAGE\n");
        return 2;
    }
    kind = argv[1];
    ordinal = atoi(argv[2]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
