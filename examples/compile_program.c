/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a program to a function in this process and calls it. Links -luktensorize -lukernels. */
#include <stdio.h>
#include <string.h>
#include <ukernels/tensorize.h>

static const char text[] = "tensor A f32 [M, K]\n"
                           "tensor B f32 [K, N]\n"
                           "tensor C f32 [M, N]\n"
                           "C[m, n] = sum(k) A[m, k] * B[k, n]\n";

int main(void) {
    struct uk_context *context = uk_context_create();
    struct uk_program *program = NULL;
    struct uk_module *module = NULL;
    if (!context)
        return 1;
    if (uk_program_parse(context, "matmul.uk", text, strlen(text), &program) ||
        uk_compile(program, NULL, &module)) {
        fprintf(stderr, "%s\n", uk_context_message(context));
    } else {
        /* Arguments: sizes in order of first appearance, then tensors. POSIX allows a void pointer to hold a
         * function's address. */
        int (*matmul)(int64_t M, int64_t K, int64_t N, const float *A, const float *B, float *C);
        void *address = uk_module_function(module);
        memcpy(&matmul, &address, sizeof matmul);
        const float a[2][3] = {{1, 2, 3}, {4, 5, 6}}, b[3][2] = {{1, 0}, {0, 1}, {1, 1}};
        float c[2][2];
        int status = matmul(2, 3, 2, a[0], b[0], c[0]);
        if (!status)
            printf("%g %g\n%g %g\n", c[0][0], c[0][1], c[1][0], c[1][1]);
    }
    int failed = !module;
    uk_module_destroy(module);
    uk_program_destroy(program);
    uk_context_destroy(context);
    return failed;
}
