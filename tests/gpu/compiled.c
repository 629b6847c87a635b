/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "compiled.h"

const char *const targets[TARGETS] = {"amdgcn-gfx906", "amdgcn-gfx90a"};

int uk_complain(int status, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return status;
}

static bool compile(struct compiled *p, const char *name, const char *text, size_t length, int ordinal) {
    const struct uk_options o = {.target = targets[ordinal]};

    *p = (struct compiled){.name = name, .target = o.target, .context = uk_context_create()};
    assert_non_null(p->context);
    if (uk_program_parse(p->context, name, text, length, &p->program))
        fail_msg("%s", uk_context_message(p->context));
    assert_true(uk_program_sizes(p->program) <= SIZES && uk_program_tensors(p->program) <= TENSORS);
    const enum uk_status status = uk_compile(p->program, &o, &p->module);
    if (status == UK_NO_MATCH && strstr(uk_context_message(p->context), "lacks"))
        return false;
    if (status)
        fail_msg("%s: %s", o.target, uk_context_message(p->context));
    return true;
}

bool compile_text(struct compiled *p, const char *name, const char *text, int ordinal) {
    return compile(p, name, text, strlen(text), ordinal);
}

bool compile_file(struct compiled *p, const char *path, int ordinal) {
    size_t length;
    char *text = uk_read_file(path, &length);

    assert_non_null(text);
    const bool compiles = compile(p, path, text, length, ordinal);
    free(text);
    return compiles;
}

void compiled_end(struct compiled *p) {
    uk_module_destroy(p->module);
    uk_program_destroy(p->program);
    uk_context_destroy(p->context);
}

struct uk_gpu *open_gpu(const char *kind, int ordinal) {
    char why[UK_GPU_MESSAGE];
    struct uk_gpu *gpu;

    if (uk_gpu_open(kind, ordinal, &gpu, why))
        fail_msg("%s", why);
    return gpu;
}

enum uk_status call_compiled(const struct compiled *p, struct uk_gpu *gpu, const int64_t *size,
                             struct uk_data *data) {
    uk_gpu_address at[TENSORS];
    void *argument[TENSORS + 1] = {gpu};

    for (int i = 0; i < data->count; i++) {
        const struct uk_array *a = &data->array[i];

        assert_int_equal(uk_gpu_alloc(gpu, a->bytes, &at[i]), UK_OK);
        assert_int_equal(uk_gpu_upload(gpu, at[i], a->origin, a->bytes), UK_OK);
        argument[i + 1] = (void *)(uintptr_t)at[i];
    }
    const enum uk_status status = (enum uk_status)uk_module_call(p->module, size, NULL, argument);
    for (int i = 0; i < data->count; i++) {
        assert_int_equal(uk_gpu_download(gpu, data->array[i].origin, at[i], data->array[i].bytes), UK_OK);
        assert_int_equal(uk_gpu_free(gpu, at[i]), UK_OK);
    }
    return status;
}
