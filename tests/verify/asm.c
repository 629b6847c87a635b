/* SPDX-License-Identifier: Apache-2.0 */
/* Declared effects of asm statements: those of the registry's kernels, on every architecture, and the same
 * with one clobber missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/IRReader.h>
#include "link/bitcode.h"
#include "verify/verify.h"

static LLVMContextRef llvm;

static LLVMModuleRef module_of(const struct uk_kernel *k) {
    const struct uk_bitcode *b = uk_bitcode_find(uk_kernel_arch(k), uk_kernel_symbol(k));
    LLVMModuleRef module;

    assert_non_null(b);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRange((const char *)b->data, b->size, uk_kernel_symbol(k), false);
    assert_false(LLVMParseBitcodeInContext2(llvm, buffer, &module));
    LLVMDisposeMemoryBuffer(buffer);
    return module;
}

/* Returns the findings in the kernel's module, which it consumes; free them. */
static char *found_in(LLVMModuleRef module, const char *symbol) {
    struct uk_text found = {0};

    assert_int_equal(uk_verify_asm(module, symbol, &found), UK_OK);
    LLVMDisposeModule(module);
    return found.text;
}

static void registry(void **state) {
    int wrong = 0;

    (void)state;
    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (!strcmp(uk_kernel_arch(k), "any"))
            continue;
        char *found = found_in(module_of(k), uk_kernel_symbol(k));

        if (found) {
            print_message("%s %s\n", uk_kernel_symbol(k), found);
            wrong++;
        }
        uk_text_free(found);
    }
    assert_int_equal(wrong, 0);
}

/* The kernel's module, in which no statement declares that register. */
static LLVMModuleRef without(const struct uk_kernel *k, const char *reg) {
    LLVMModuleRef module = module_of(k);
    char *text = LLVMPrintModuleToString(module), *error, clobber[32];
    size_t n = (size_t)snprintf(clobber, sizeof clobber, ",~{%s}", reg);

    assert_non_null(strstr(text, clobber));
    for (char *at; (at = strstr(text, clobber));)
        memmove(at, at + n, strlen(at + n) + 1);
    LLVMDisposeModule(module);
    LLVMMemoryBufferRef buffer =
        LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), uk_kernel_symbol(k));

    assert_false(LLVMParseIRInContext(llvm, buffer, &module, &error));
    LLVMDisposeMessage(text);
    return module;
}

static void clobbers(void **state) {
    static const struct {
        const char *symbol, *file;
        int first, last;
    } kernels[] = {
        {"uk_sgemm_14x32_avx512_asm", "zmm", 0, 31},     {"uk_sgemm_ra_14x32_avx512_asm", "zmm", 0, 31},
        {"uk_dgemm_rab_14x16_avx512_asm", "zmm", 0, 31}, {"uk_sgemm_6x16_avx2_asm", "ymm", 12, 15},
        {"uk_sgemm_8x12_neon_asm", "v", 0, 31},          {"uk_i8gemm_8x12_dotprod_asm", "v", 0, 3},
        {"uk_sgemm_4x8_armv7neon_asm", "q", 0, 15}};

    (void)state;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        for (int r = kernels[i].first; r <= kernels[i].last; r++) {
            const struct uk_kernel *k = uk_kernel_find(kernels[i].symbol);
            char reg[16], *found;

            assert_non_null(k);
            snprintf(reg, sizeof reg, "%s%d", kernels[i].file, r);
            found = found_in(without(k, reg), uk_kernel_symbol(k));
            if (!found)
                fail_msg("%s without its clobber %s was not found out", uk_kernel_symbol(k), reg);
            uk_text_free(found);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(registry), cmocka_unit_test(clobbers)};

    llvm = LLVMContextCreate();
    int failed = cmocka_run_group_tests_name("verify asm", tests, NULL, NULL);
    LLVMContextDispose(llvm);
    return failed;
}
