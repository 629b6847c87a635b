/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cost CASE K: interprets a sum of K terms for each element of a result, for cost.py to count its
 * instructions. Without arguments it prints the names of the cases, and their number of terms for K = 1.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tensorize.h"

/* Products as in examples/ with fewer elements; the sum's extent is the only size. */
static const struct {
    const char *name, *text;
    int terms;
} cases[] = {
    {"i8",
     "tensor A i8 [2, K]\ntensor B i8 [K, 200]\ntensor C i32 [2, 200]\n"
     "C[m, n] = sum(k) i32(A[m, k]) * i32(B[k, n])\n",
     400},
    {"bf16",
     "tensor A bf16 [2, K]\ntensor B bf16 [K, 200]\ntensor C f32 [2, 200]\n"
     "C[m, n] = sum(k) f32(A[m, k]) * f32(B[k, n])\n",
     400},
    {"transposed",
     "tensor A i8 [2, K]\ntensor B i8 [200, K]\ntensor C i32 [2, 200]\n"
     "C[m, n] = sum(k) i32(A[m, k]) * i32(B[n, k])\n",
     400},
    {"padded",
     "tensor X f32 [K, 9]\ntensor F f32 [100, K, 3]\ntensor Y f32 [100, 9]\n"
     "Y[o, q] = sum(c, s) pad(X[c, q + s - 1], 0) * F[o, c, s]\n",
     2700},
};
enum { CASES = sizeof cases / sizeof *cases };

int main(int argc, char **argv) {
    if (argc != 3) {
        for (int i = 0; i < CASES; i++)
            printf("%s %d\n", cases[i].name, cases[i].terms);
        return 0;
    }
    const int64_t k = atoll(argv[2]);
    int chosen = 0;

    while (chosen < CASES - 1 && strcmp(cases[chosen].name, argv[1]))
        chosen++;
    struct uk_context *context = uk_context_create();
    struct uk_program *program = NULL;
    void *operand[3];
    enum uk_status status =
        uk_program_parse(context, "cost.uk", cases[chosen].text, strlen(cases[chosen].text), &program);

    for (int i = 0; i < 3; i++)
        operand[i] = calloc((size_t)k, 4000); /* zeros in any type */
    if (!status)
        status = uk_program_interpret(program, &k, NULL, operand);
    if (status)
        fprintf(stderr, "cost: %s\n", uk_context_message(context));
    for (int i = 0; i < 3; i++)
        free(operand[i]);
    uk_program_destroy(program);
    uk_context_destroy(context);
    return status != UK_OK;
}
