/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu.h"
#include "base/base.h"
#include "compiled.h"
#include "test_options.h"

const char *const targets[TARGETS] = {"amdgcn-gfx906", "amdgcn-gfx90a"};

bool compile_text(struct run *r, const char *name, const char *text, int ordinal) {
    return compile_short(r, name, text, ordinal, 0);
}

bool compile_short(struct run *r, const char *name, const char *text, int ordinal, int64_t short_bytes) {
    *r = (struct run){.context = uk_context_create(),
                      .options.target = targets[ordinal],
                      .call = call_on_gpu,
                      .repeat_arguments = name};
    assert_non_null(r->context);
    r->context->short_bytes = short_bytes;
    r->program = run_parse(r->context, name, text, NULL);
    const enum uk_status status = run_compile(r);
    if (status == UK_NO_MATCH && strstr(uk_context_message(r->context), "lacks"))
        return false;
    if (status)
        fail_msg("%s: %s", targets[ordinal], uk_context_message(r->context));
    return true;
}

bool compile_file(struct run *r, const char *path, int ordinal) {
    char *text = read_text(path);
    const bool compiles = compile_text(r, path, text, ordinal);

    free(text);
    return compiles;
}

void compiled_end(struct run *r) {
    run_end(r);
    uk_context_destroy(r->context);
}

void use_order(uint64_t order) {
    char number[24];

    snprintf(number, sizeof number, "%" PRIu64, order);
    assert_int_equal(setenv("UK_SIM_SEED", number, 1), 0);
}

struct uk_gpu *open_gpu(const char *kind, int ordinal) {
    char why[UK_GPU_MESSAGE];
    struct uk_gpu *gpu;

    if (uk_gpu_open(kind, ordinal, &gpu, why))
        fail_msg("%s", why);
    return gpu;
}

static bool check_kernel(struct run *r, const struct uk_amdgpu_kernel *k) {
    const struct uk_amdgpu_argument *last = &k->arguments[k->n_arguments - 1];
    const bool has_others = k->n_hidden || k->argument_bytes != last->offset + last->size;
    char what[256];

    if (!k->scratch_bytes && !k->vgpr_spills && !k->sgpr_spills && !has_others)
        return true;
    snprintf(what, sizeof what, "%.99s has %u bytes of scratch memory, spills %u VGPRs and %u SGPRs%s",
             k->name, k->scratch_bytes, k->vgpr_spills, k->sgpr_spills,
             has_others ? ", takes arguments that are not its own" : "");
    run_complain(r, NULL, what);
    return false;
}

bool check_kernels(struct run *r, struct kernels *all) {
    struct uk_amdgpu *gpu = uk_amdgpu_open(strchr(r->options.target, '-') + 1);
    struct uk_amdgpu_object *object = NULL;
    bool right = true;
    char *image;
    size_t bytes;

    assert_non_null(gpu);
    if (uk_emit(r->program, &r->options, UK_EMIT_DEVICE, &image, &bytes))
        fail_msg("%s: %s", r->repeat_arguments, uk_context_message(r->context));
    if (uk_amdgpu_load(gpu, image, bytes, &object))
        fail_msg("%s: %s", r->repeat_arguments, uk_amdgpu_message(gpu));
    *all = (struct kernels){.count = uk_amdgpu_n_kernels(object)};
    for (uint32_t i = 0; i < all->count; i++)
        right &= check_kernel(r, uk_amdgpu_kernel(object, i));
    uk_amdgpu_close(gpu);
    uk_text_free(image);
    return right;
}

int call_on_gpu(const struct run *r, const int64_t *sizes, struct random_data *d) {
    uk_gpu_address at[RANDOM_DATA_TENSORS];
    void *argument[RANDOM_DATA_TENSORS + 1] = {r->device};

    for (int i = 0; i < d->tensors; i++) {
        assert_int_equal(uk_gpu_alloc(r->device, d->bytes[i], &at[i]), UK_OK);
        assert_int_equal(uk_gpu_upload(r->device, at[i], d->origin[i], d->bytes[i]), UK_OK);
        argument[i + 1] = (void *)(uintptr_t)at[i];
    }
    const int status = uk_module_call(r->module, sizes, d->scalar, argument);
    for (int i = 0; i < d->tensors; i++) {
        assert_int_equal(uk_gpu_download(r->device, d->origin[i], at[i], d->bytes[i]), UK_OK);
        assert_int_equal(uk_gpu_free(r->device, at[i]), UK_OK);
    }
    return status;
}

void product_data(struct random_data *d, struct uk_program *p, const int64_t mnk[3], int64_t stride) {
    for (int i = 0; i < uk_program_sizes(p); i++) {
        const char *at = strchr("MNK", uk_program_size_name(p, i)[0]);

        d->size[i] = at ? mnk[at - "MNK"] : stride;
    }
    random_data_fill(d, p, 1);
}
