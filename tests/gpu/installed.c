/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests what uk_gpu_open says about the vendors' libraries, whatever this machine has: dlopen and dlsym are
 * replaced by a loader with the library that a test names, whose driver finds no device or lacks a function.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "gpu/gpu.h"

/* name of the library that exists */
static const char *installed;
/* name of the function that is missing */
static const char *lacking;
static int devices, init_error;
static int opened, closed, loads;
static char error_text[100];

void *__wrap_dlopen(const char *name, int flags);
int __wrap_dlclose(void *library);
char *__wrap_dlerror(void);
void *__wrap_dlsym(void *library, const char *name);

void *__wrap_dlopen(const char *name, int flags) {
    assert_int_equal(flags & RTLD_NOW, RTLD_NOW);
    loads++;
    if (installed && !strcmp(name, installed)) {
        opened++;
        return &opened;
    }
    snprintf(error_text, sizeof error_text, "%s: it is not here", name);
    return NULL;
}

int __wrap_dlclose(void *library) {
    assert_ptr_equal(library, &opened);
    closed++;
    return 0;
}

char *__wrap_dlerror(void) {
    return error_text;
}

static int init(unsigned flags) {
    assert_int_equal(flags, 0);
    return init_error;
}

static int count(int *number) {
    *number = devices;
    return 0;
}

static const char *hip_text(int error) {
    return error == 100 ? "no device is detected" : NULL;
}

static int cuda_text(int error, const char **text) {
    *text = hip_text(error);
    return 0;
}

static int other(void) {
    fail_msg("a function is called that needs a device");
    return 1;
}

#define FUNCTION(to, from)                       \
    do {                                         \
        void (*f_)(void) = (void (*)(void))from; \
        memcpy(&(to), &f_, sizeof f_);           \
    } while (0)

void *__wrap_dlsym(void *library, const char *name) {
    void *f;

    assert_ptr_equal(library, &opened);
    if (lacking && !strcmp(name, lacking))
        return NULL;
    FUNCTION(f, other);
    if (!strcmp(name, "hipInit") || !strcmp(name, "cuInit"))
        FUNCTION(f, init);
    else if (!strcmp(name, "hipGetDeviceCount") || !strcmp(name, "cuDeviceGetCount"))
        FUNCTION(f, count);
    else if (!strcmp(name, "hipGetErrorString"))
        FUNCTION(f, hip_text);
    else if (!strcmp(name, "cuGetErrorString"))
        FUNCTION(f, cuda_text);
    return f;
}

static int reset(void **unused) {
    (void)unused;
    installed = lacking = NULL;
    devices = init_error = opened = closed = loads = 0;
    return 0;
}

/* Checks that opening fails with this message, and that libraries are unloaded. */
static void expect(const char *kind, int ordinal, const char *text) {
    char why[UK_GPU_MESSAGE];
    struct uk_gpu *gpu = (struct uk_gpu *)why;

    assert_int_equal(uk_gpu_open(kind, ordinal, &gpu, why), UK_UNSUPPORTED);
    assert_string_equal(why, text);
    assert_null(gpu);
    assert_int_equal(opened, closed);
}

static void nothing(void **unused) {
    (void)unused;
    expect("hip", 0, "HIP is not installed: libamdhip64.so: it is not here");
    assert_int_equal(loads, 4);
    expect("cuda", 0, "CUDA's driver is not installed: libcuda.so: it is not here");
    expect(NULL, 0,
           "there is no GPU: hip: HIP is not installed: libamdhip64.so: it is not here; cuda: CUDA's driver "
           "is not installed: libcuda.so: it is not here");
}

/* Libraries that packages depend on may be installed without a GPU. */
static void no_device(void **unused) {
    static const char *const names[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5",
                                        "libamdhip64.so"};

    (void)unused;
    for (int i = 0; i < 4; i++) {
        reset(NULL);
        installed = names[i];
        init_error = 100;
        expect("hip", 0, "HIP finds no device: no device is detected");
        assert_int_equal(loads, i + 1);
        assert_int_equal(opened, 1);
        init_error = 99;
        expect("hip", 0, "HIP finds no device: an error without a text");
        init_error = 0;
        expect("hip", 0, "HIP has 0 devices: there is no device 0");
        devices = 1;
        expect("hip", 1, "HIP has 1 device: there is no device 1");
    }
    init_error = 100;
    expect(NULL, 0,
           "there is no GPU: hip: HIP finds no device: no device is detected; cuda: CUDA's driver is not "
           "installed: libcuda.so: it is not here");
    installed = "libcuda.so.1";
    expect("cuda", 0, "CUDA's driver finds no device: no device is detected");
}

static void older(void **unused) {
    (void)unused;
    installed = "libamdhip64.so.5";
    lacking = "hipModuleLoadDataEx";
    expect("hip", 0, "HIP has no hipModuleLoadDataEx: a newer one is needed");
    lacking = "hipGetErrorString";
    expect("hip", 0, "HIP has no hipGetErrorString: a newer one is needed");
    assert_int_equal(opened, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(nothing, reset),
        cmocka_unit_test_setup(no_device, reset),
        cmocka_unit_test_setup(older, reset),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
