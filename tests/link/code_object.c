/* SPDX-License-Identifier: Apache-2.0 */
/* Links objects for GPUs to code objects, which the simulator loads; objects that lld refuses, with its
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/IRReader.h>
#include <cmocka.h>
#include "link/link.h"
#include "amdgpu.h"

static struct uk_context *context;
static const struct uk_target *gpu;

#define KERNEL(body, others)                  \
    "target triple = \"amdgcn-amd-amdhsa\"\n" \
    "define protected amdgpu_kernel void @one(ptr addrspace(1) %x) {\n" body "ret void\n}\n" others

static LLVMMemoryBufferRef assembled(const char *text) {
    LLVMContextRef llvm = LLVMContextCreate();
    LLVMMemoryBufferRef from = LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "text"), object;
    LLVMTargetMachineRef machine;
    LLVMModuleRef module;
    char *error = NULL;

    if (LLVMParseIRInContext(llvm, from, &module, &error))
        fail_msg("%s", error);
    if (uk_target_machine(context, gpu, &machine))
        fail_msg("%s", uk_context_message(context));
    if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &error, &object))
        fail_msg("%s", error);
    LLVMDisposeModule(module);
    LLVMContextDispose(llvm);
    return object;
}

static enum uk_status linked(LLVMMemoryBufferRef object, const struct uk_target *t, char **bytes,
                             size_t *length) {
    enum uk_status s =
        uk_link_code_object(context, t, LLVMGetBufferStart(object), LLVMGetBufferSize(object), bytes, length);

    LLVMDisposeMemoryBuffer(object);
    return s;
}

static void loads(void **state) {
    struct uk_amdgpu *device = uk_amdgpu_open("gfx90a");
    struct uk_amdgpu_object *object;
    uint64_t x;
    const void *arguments[] = {&x};
    size_t length;
    char *bytes;
    int32_t one = 0;

    (void)state;
    if (linked(assembled(KERNEL("store i32 1, ptr addrspace(1) %x\n", "")), gpu, &bytes, &length))
        fail_msg("%s", uk_context_message(context));
    if (uk_amdgpu_load(device, bytes, length, &object) || uk_amdgpu_alloc(device, sizeof one, &x) ||
        uk_amdgpu_launch(device, uk_amdgpu_find(object, "one"),
                         &(struct uk_amdgpu_launch){.grid = {1, 1, 1}, .block = {1, 1, 1}}, arguments, 1,
                         NULL) ||
        uk_amdgpu_read(device, &one, x, sizeof one))
        fail_msg("%s", uk_amdgpu_message(device));
    assert_int_equal(one, 1);
    uk_amdgpu_close(device);
    free(bytes);
}

static void expect(enum uk_status status, const char *word) {
    assert_int_not_equal(status, UK_OK);
    if (!strstr(uk_context_message(context), word))
        fail_msg("no '%s' in: %s", word, uk_context_message(context));
    uk_context_enter(context, NULL);
}

static void refused(void **state) {
    static const char undefined[] =
        KERNEL("store i32 1, ptr addrspace(1) @missing\n", "@missing = external addrspace(1) global i32\n");
    const struct uk_target *cpu;
    size_t length;
    char *bytes;

    (void)state;
    expect(linked(assembled(undefined), gpu, &bytes, &length), "missing");
    expect(uk_link_code_object(context, gpu, "no object", 9, &bytes, &length), "amdgcn-gfx90a");
    assert_int_equal(uk_target_find(context, "x86_64-avx2", &cpu), UK_OK);
    expect(uk_link_code_object(context, cpu, "", 0, &bytes, &length), "target x86_64-avx2 is not a GPU");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loads), cmocka_unit_test(refused)};

    context = uk_context_create();
    if (!context || uk_target_find(context, "amdgcn-gfx90a", &gpu))
        return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    uk_context_destroy(context);
    return failed;
}
