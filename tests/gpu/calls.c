/* SPDX-License-Identifier: Apache-2.0 */
/* Tests what uk_gpu_* checks before it calls a driver, and what reaches the driver. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "gpu/gpu.h"

/* The calls that reached the driver below, as text. */
static char log_of_calls[256];
static struct uk_gpu *gpu;
static int state;
static const char *failing = ""; /* the call that fails */

/* Logs the call; returns UK_DEVICE if it is the one that fails. */
static enum uk_status failed(const char *call, char *message) {
    if (strcmp(call, failing))
        return UK_OK;
    snprintf(message, UK_GPU_MESSAGE, "%s fails", call);
    strcat(log_of_calls, call);
    strcat(log_of_calls, " fails;");
    return UK_DEVICE;
}

__attribute__((format(printf, 1, 2))) static enum uk_status logged(const char *format, ...) {
    const size_t length = strlen(log_of_calls);
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(log_of_calls + length, sizeof log_of_calls - length, format, arguments);
    va_end(arguments);
    return UK_OK;
}

static enum uk_status open_device(int ordinal, void **device, char *message) {
    if (ordinal > 1) {
        snprintf(message, UK_GPU_MESSAGE, "there are two");
        return UK_UNSUPPORTED;
    }
    *device = &state;
    return logged("open %d;", ordinal);
}
static void close_device(void *device) {
    assert_ptr_equal(device, &state);
    logged("close;");
}
static const char *name(void *device) {
    return device == &state ? "two of them" : NULL;
}
static enum uk_status alloc(void *device, size_t bytes, uk_gpu_address *address, char *message) {
    (void)device;
    if (failed("alloc", message))
        return UK_DEVICE;
    *address = 4096;
    return logged("alloc %zu;", bytes);
}
static enum uk_status free_memory(void *device, uk_gpu_address address, char *message) {
    (void)device;
    logged("free %llu;", (unsigned long long)address);
    if (address == 4096)
        return UK_OK;
    snprintf(message, UK_GPU_MESSAGE, "not mine");
    return UK_DEVICE;
}
static enum uk_status upload(void *device, uk_gpu_address to, const void *from, size_t bytes, char *message) {
    (void)device, (void)from, (void)message;
    return logged("upload %llu %zu;", (unsigned long long)to, bytes);
}
static enum uk_status download(void *device, void *to, uk_gpu_address from, size_t bytes, char *message) {
    (void)device, (void)to, (void)message;
    return logged("download %llu %zu;", (unsigned long long)from, bytes);
}
static enum uk_status fill(void *device, uk_gpu_address to, unsigned char value, size_t bytes,
                           char *message) {
    (void)device, (void)message;
    return logged("fill %llu %d %zu;", (unsigned long long)to, value, bytes);
}
static enum uk_status load(void *device, const void *image, size_t bytes, struct uk_gpu_module **module,
                           char *message) {
    (void)device, (void)image;
    if (failed("load", message))
        return UK_DEVICE;
    *module = (struct uk_gpu_module *)&state;
    return logged("load %zu;", bytes);
}
static enum uk_status unload(void *device, struct uk_gpu_module *module, char *message) {
    (void)device, (void)module, (void)message;
    return logged("unload;");
}
static enum uk_status find(void *device, struct uk_gpu_module *module, const char *kernel_name,
                           struct uk_gpu_kernel **kernel, char *message) {
    (void)device, (void)module;
    if (failed("find", message))
        return UK_DEVICE;
    *kernel = (struct uk_gpu_kernel *)&state;
    return logged("find %s;", kernel_name);
}
static enum uk_status launch(void *device, struct uk_gpu_kernel *kernel, const unsigned g[3],
                             const unsigned b[3], unsigned shared, const void *arguments, size_t bytes,
                             char *message) {
    (void)device, (void)kernel, (void)message;
    return logged("launch %u %u %u, %u %u %u, %u, %s %zu;", g[0], g[1], g[2], b[0], b[1], b[2], shared,
                  arguments ? "some" : "none", bytes);
}
static enum uk_status wait_all(void *device, char *message) {
    (void)device, (void)message;
    return logged("wait;");
}
static enum uk_status event_make(void *device, struct uk_gpu_event **event, char *message) {
    (void)device, (void)message;
    *event = (struct uk_gpu_event *)&state;
    return logged("event;");
}
static enum uk_status event_free(void *device, struct uk_gpu_event *event, char *message) {
    (void)device, (void)event, (void)message;
    return logged("event_free;");
}
static enum uk_status record(void *device, struct uk_gpu_event *event, char *message) {
    (void)device, (void)event, (void)message;
    return logged("record;");
}
static enum uk_status get_seconds(void *device, struct uk_gpu_event *start, struct uk_gpu_event *end,
                                  double *seconds, char *message) {
    (void)device, (void)start, (void)end, (void)message;
    *seconds = 2;
    return logged("seconds;");
}

static const struct uk_gpu_driver driver = {
    "two", open_device, close_device, name,   alloc,    free_memory, upload,     download, fill,
    load,  unload,      find,         launch, wait_all, event_make,  event_free, record,   get_seconds,
};

static int open_gpu(void **unused) {
    (void)unused;
    log_of_calls[0] = '\0';
    failing = "";
    return uk_gpu_register(&driver) || uk_gpu_open("two", 1, &gpu, NULL);
}

static int close_gpu(void **unused) {
    (void)unused;
    uk_gpu_close(gpu);
    return 0;
}

/* Checks which calls were made since the last check. */
static void expect_calls(const char *text) {
    assert_string_equal(log_of_calls, text);
    log_of_calls[0] = '\0';
}

static void expect_message(enum uk_status is, enum uk_status should, const char *part) {
    assert_int_equal(is, should);
    if (!strstr(uk_gpu_message(gpu), part))
        fail_msg("\"%s\" does not say \"%s\"", uk_gpu_message(gpu), part);
    expect_calls("");
}

static void opens(void **unused) {
    char why[UK_GPU_MESSAGE];
    struct uk_gpu *other = gpu;

    (void)unused;
    expect_calls("open 1;");
    assert_string_equal(uk_gpu_kind(gpu), "two");
    assert_string_equal(uk_gpu_name(gpu), "two of them");
    assert_string_equal(uk_gpu_message(gpu), "");
    assert_int_equal(uk_gpu_open("two", 2, &other, why), UK_UNSUPPORTED);
    assert_string_equal(why, "there are two");
    assert_null(other);
    assert_int_equal(uk_gpu_open("two", -1, &other, why), UK_INVALID_ARGUMENT);
    assert_string_equal(why, "device -1: devices are counted from 0");
    assert_int_equal(uk_gpu_open("three", 0, &other, why), UK_INVALID_ARGUMENT);
    assert_string_equal(why, "there is no kind of GPU \"three\"; there are hip, cuda, two and sim");
    assert_int_equal(uk_gpu_open("two", 0, NULL, why), UK_INVALID_ARGUMENT);
    uk_gpu_close(NULL);
    assert_string_equal(uk_gpu_message(NULL), "no device is open");
    assert_int_equal(uk_gpu_wait(NULL), UK_INVALID_ARGUMENT);
}

static void registers(void **unused) {
    static struct uk_gpu_driver more[8], empty;
    static char kind[8][2];

    (void)unused;
    for (int i = 0; i < 8; i++) {
        more[i] = driver;
        more[i].kind = NULL;
    }
    assert_int_equal(uk_gpu_register(&driver), UK_OK);
    assert_int_equal(uk_gpu_register(NULL), UK_INVALID_ARGUMENT);
    assert_int_equal(uk_gpu_register(&more[0]), UK_INVALID_ARGUMENT);
    empty = driver;
    empty.kind = "";
    assert_int_equal(uk_gpu_register(&empty), UK_INVALID_ARGUMENT);
    empty.kind = "empty";
    empty.seconds = NULL;
    assert_int_equal(uk_gpu_register(&empty), UK_INVALID_ARGUMENT);
    more[0].kind = "hip";
    assert_int_equal(uk_gpu_register(&more[0]), UK_INVALID_ARGUMENT);
    /* three places are taken already */
    for (int i = 0; i < 8; i++) {
        kind[i][0] = (char)('a' + i);
        more[i].kind = kind[i];
        assert_int_equal(uk_gpu_register(&more[i]), i < 5 ? UK_OK : UK_INVALID_ARGUMENT);
    }
}

static void copies(void **unused) {
    uk_gpu_address x = 0;
    char host[8];

    (void)unused;
    expect_calls("open 1;");
    assert_int_equal(uk_gpu_alloc(gpu, 0, &x), UK_OK);
    assert_int_equal(uk_gpu_alloc(gpu, 100, &x), UK_OK);
    expect_calls("alloc 1;alloc 100;");
    expect_message(uk_gpu_alloc(gpu, 100, NULL), UK_INVALID_ARGUMENT, "place for the address");
    assert_int_equal(uk_gpu_upload(gpu, x + 8, host, 8), UK_OK);
    assert_int_equal(uk_gpu_download(gpu, host, x, 8), UK_OK);
    assert_int_equal(uk_gpu_fill(gpu, x, 255, 8), UK_OK);
    expect_calls("upload 4104 8;download 4096 8;fill 4096 255 8;");
    assert_int_equal(uk_gpu_upload(gpu, 0, NULL, 0), UK_OK);
    assert_int_equal(uk_gpu_download(gpu, NULL, 0, 0), UK_OK);
    assert_int_equal(uk_gpu_fill(gpu, 0, 1, 0), UK_OK);
    expect_message(uk_gpu_upload(gpu, 0, host, 1), UK_INVALID_ARGUMENT, "uk_gpu_upload: device address 0");
    expect_message(uk_gpu_upload(gpu, x, NULL, 1), UK_INVALID_ARGUMENT, "uk_gpu_upload: a null pointer");
    expect_message(uk_gpu_download(gpu, host, 0, 1), UK_INVALID_ARGUMENT,
                   "uk_gpu_download: device address 0");
    expect_message(uk_gpu_download(gpu, NULL, x, 1), UK_INVALID_ARGUMENT, "uk_gpu_download: a null pointer");
    expect_message(uk_gpu_fill(gpu, 0, 0, 1), UK_INVALID_ARGUMENT, "uk_gpu_fill: device address 0");
    expect_message(uk_gpu_fill(gpu, x, 0, SIZE_MAX), UK_INVALID_SIZE, "beyond all addresses");
    assert_int_equal(uk_gpu_free(gpu, 0), UK_OK);
    expect_calls("");
    assert_int_equal(uk_gpu_free(gpu, 3), UK_DEVICE);
    assert_string_equal(uk_gpu_message(gpu), "not mine");
    expect_calls("free 3;");
}

static void launches(void **unused) {
    const int64_t one[3] = {1, 1, 1}, grid[3] = {INT32_MAX, 65535, 7}, block[3] = {8, 4, 32},
                  empty[3] = {5, 0, 1};
    struct uk_gpu_module *module = NULL;
    struct uk_gpu_kernel *kernel = NULL;

    (void)unused;
    expect_calls("open 1;");
    expect_message(uk_gpu_load(gpu, NULL, 8, &module), UK_INVALID_ARGUMENT, "no image");
    expect_message(uk_gpu_load(gpu, one, 0, &module), UK_INVALID_ARGUMENT, "no image");
    expect_message(uk_gpu_load(gpu, one, 8, NULL), UK_INVALID_ARGUMENT, "place for the module");
    assert_int_equal(uk_gpu_load(gpu, one, 8, &module), UK_OK);
    expect_calls("load 8;");
    expect_message(uk_gpu_find(gpu, NULL, "k", &kernel), UK_INVALID_ARGUMENT, "there is no");
    assert_int_equal(uk_gpu_find(gpu, module, "k", &kernel), UK_OK);
    expect_calls("find k;");
    assert_int_equal(uk_gpu_launch(gpu, kernel, grid, block, 9, one, 8), UK_OK);
    assert_int_equal(uk_gpu_launch(gpu, kernel, one, one, 0, NULL, 0), UK_OK);
    expect_calls("launch 2147483647 65535 7, 8 4 32, 9, some 8;launch 1 1 1, 1 1 1, 0, none 0;");
    assert_int_equal(uk_gpu_launch(gpu, kernel, empty, block, 0, one, 8), UK_OK);
    expect_calls("");
    expect_message(uk_gpu_launch(gpu, NULL, one, one, 0, NULL, 0), UK_INVALID_ARGUMENT, "there is no");
    expect_message(uk_gpu_launch(gpu, kernel, one, one, 0, NULL, 1), UK_INVALID_ARGUMENT, "there is no");
    expect_message(uk_gpu_launch(gpu, kernel, one, empty, 0, NULL, 0), UK_INVALID_SIZE, "5 x 0 x 1 threads");
    expect_message(uk_gpu_launch(gpu, kernel, one, (int64_t[]){32, 33, 1}, 0, NULL, 0), UK_INVALID_SIZE,
                   "32 x 33 x 1 threads");
    expect_message(uk_gpu_launch(gpu, kernel, one, (int64_t[]){INT64_MAX, 2, 1}, 0, NULL, 0), UK_INVALID_SIZE,
                   "1 to 1024");
    expect_message(uk_gpu_launch(gpu, kernel, (int64_t[]){1, 65536, 1}, one, 0, NULL, 0), UK_INVALID_SIZE,
                   "65536 blocks along y: there may be 0 to 65535");
    expect_message(uk_gpu_launch(gpu, kernel, (int64_t[]){INT64_C(1) << 31, 1, 1}, one, 0, NULL, 0),
                   UK_INVALID_SIZE, "along x");
    expect_message(uk_gpu_launch(gpu, kernel, (int64_t[]){0, 1, -1}, one, 0, NULL, 0), UK_INVALID_SIZE,
                   "along z");
    expect_message(uk_gpu_launch(gpu, kernel, one, one, SIZE_MAX, NULL, 0), UK_INVALID_SIZE, "shared");
    assert_int_equal(uk_gpu_unload(gpu, NULL), UK_OK);
    expect_calls("");
    assert_int_equal(uk_gpu_unload(gpu, module), UK_OK);
    expect_calls("unload;");
}

static void events(void **unused) {
    struct uk_gpu_event *event;
    double seconds = 0;

    (void)unused;
    expect_calls("open 1;");
    expect_message(uk_gpu_event_make(gpu, NULL), UK_INVALID_ARGUMENT, "place for the event");
    assert_int_equal(uk_gpu_event_make(gpu, &event), UK_OK);
    assert_int_equal(uk_gpu_record(gpu, event), UK_OK);
    assert_int_equal(uk_gpu_seconds(gpu, event, event, &seconds), UK_OK);
    assert_true(seconds == 2);
    expect_calls("event;record;seconds;");
    expect_message(uk_gpu_record(gpu, NULL), UK_INVALID_ARGUMENT, "no event");
    expect_message(uk_gpu_seconds(gpu, event, NULL, &seconds), UK_INVALID_ARGUMENT, "there is no");
    assert_int_equal(uk_gpu_event_free(gpu, NULL), UK_OK);
    assert_int_equal(uk_gpu_event_free(gpu, event), UK_OK);
    assert_int_equal(uk_gpu_wait(gpu), UK_OK);
    expect_calls("event_free;wait;");
}

/* Images and kernels of compiled programs are loaded and found once; they are identified by their contents,
 * not by address. */
static void uses(void **unused) {
    const char image[] = "image", same[] = "image", other[] = "imagE";
    struct uk_gpu_kernel *kernel = NULL;

    (void)unused;
    expect_calls("open 1;");
    assert_int_equal(uk_gpu_use(gpu, image, 5, "one", &kernel), UK_OK);
    assert_ptr_equal(kernel, &state);
    expect_calls("load 5;find one;");
    kernel = NULL;
    assert_int_equal(uk_gpu_use(gpu, same, 5, "one", &kernel), UK_OK);
    assert_ptr_equal(kernel, &state);
    expect_calls("");
    assert_int_equal(uk_gpu_use(gpu, image, 5, "two", &kernel), UK_OK);
    assert_int_equal(uk_gpu_use(gpu, image, 5, "one", &kernel), UK_OK);
    expect_calls("find two;");
    assert_int_equal(uk_gpu_use(gpu, other, 5, "one", &kernel), UK_OK);
    assert_int_equal(uk_gpu_use(gpu, image, 4, "one", &kernel), UK_OK);
    expect_calls("load 5;find one;load 4;find one;");
    assert_int_equal(uk_gpu_use(gpu, image, 5, "two", &kernel), UK_OK);
    expect_calls("");
    expect_message(uk_gpu_use(gpu, NULL, 5, "one", &kernel), UK_INVALID_ARGUMENT,
                   "uk_gpu_use: there is no image");
    expect_message(uk_gpu_use(gpu, image, 0, "one", &kernel), UK_INVALID_ARGUMENT, "there is no image");
    expect_message(uk_gpu_use(gpu, image, 5, NULL, &kernel), UK_INVALID_ARGUMENT, "uk_gpu_use");
    expect_message(uk_gpu_use(gpu, image, 5, "one", NULL), UK_INVALID_ARGUMENT, "uk_gpu_use");
    assert_int_equal(uk_gpu_use(NULL, image, 5, "one", &kernel), UK_INVALID_ARGUMENT);
}

/* An image that failed to load, or a kernel that was not found, is tried again. */
static void uses_after_failures(void **unused) {
    struct uk_gpu_kernel *kernel = NULL;

    (void)unused;
    expect_calls("open 1;");
    failing = "load";
    assert_int_equal(uk_gpu_use(gpu, "image", 5, "one", &kernel), UK_DEVICE);
    assert_string_equal(uk_gpu_message(gpu), "load fails");
    failing = "find";
    assert_int_equal(uk_gpu_use(gpu, "image", 5, "one", &kernel), UK_DEVICE);
    assert_null(kernel);
    failing = "";
    assert_int_equal(uk_gpu_use(gpu, "image", 5, "one", &kernel), UK_OK);
    assert_ptr_equal(kernel, &state);
    expect_calls("load fails;load 5;find fails;find one;");
}

/* The workspace grows and is kept. If it cannot grow there is none, until it can again. */
static void workspaces(void **unused) {
    uk_gpu_address at = 0;

    (void)unused;
    expect_calls("open 1;");
    assert_int_equal(uk_gpu_workspace(gpu, 100, &at), UK_OK);
    assert_int_equal(at, 4096);
    at = 0;
    assert_int_equal(uk_gpu_workspace(gpu, 100, &at), UK_OK);
    assert_int_equal(uk_gpu_workspace(gpu, 7, &at), UK_OK);
    assert_int_equal(at, 4096);
    expect_calls("alloc 100;");
    assert_int_equal(uk_gpu_workspace(gpu, 101, &at), UK_OK);
    expect_calls("free 4096;alloc 101;");
    failing = "alloc";
    assert_int_equal(uk_gpu_workspace(gpu, 200, &at), UK_DEVICE);
    assert_string_equal(uk_gpu_message(gpu), "alloc fails");
    assert_int_equal(uk_gpu_workspace(gpu, 1, &at), UK_DEVICE);
    expect_calls("free 4096;alloc fails;alloc fails;");
    failing = "";
    assert_int_equal(uk_gpu_workspace(gpu, 1, &at), UK_OK);
    expect_calls("alloc 1;");
    expect_message(uk_gpu_workspace(gpu, 1, NULL), UK_INVALID_ARGUMENT, "place for the address");
    assert_int_equal(uk_gpu_workspace(NULL, 1, &at), UK_INVALID_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(uses, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(uses_after_failures, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(workspaces, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(opens, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(copies, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(launches, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(events, open_gpu, close_gpu),
        cmocka_unit_test_setup_teardown(registers, open_gpu, close_gpu),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
