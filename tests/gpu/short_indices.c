/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice at entry between kernels with short and with wide indices, on both sides of each inequality. A
 * driver notes the kernels that are launched; addresses and memory are invented.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiled.h"
#include "driver.h"

enum { MAX_KERNELS = 16, MAX_SIZES = 3 };

/* Kernels that were looked up; a name ends with the kernel's number in the program. */
static struct {
    const struct uk_gpu_kernel *kernel;
    int number;
} known[MAX_KERNELS];
static int kernels;
/* the number and bytes of arguments of the last launch; -1: none yet */
static int launched;
static size_t argument_bytes;

static enum uk_status alloc(void *device, size_t bytes, uk_gpu_address *address, char *message) {
    (void)device, (void)bytes, (void)message;
    *address = (uk_gpu_address)1 << 61;
    return UK_OK;
}

static enum uk_status free_memory(void *device, uk_gpu_address address, char *message) {
    (void)device, (void)address, (void)message;
    return UK_OK;
}

static enum uk_status find(void *device, struct uk_gpu_module *module, const char *name,
                           struct uk_gpu_kernel **kernel, char *message) {
    const enum uk_status s = uk_gpu_sim.find(device, module, name, kernel, message);

    assert_true(kernels < MAX_KERNELS);
    known[kernels].kernel = *kernel;
    known[kernels++].number = atoi(strrchr(name, '_') + 1);
    return s;
}

static enum uk_status launch(void *device, struct uk_gpu_kernel *kernel, const unsigned grid[3],
                             const unsigned block[3], unsigned shared, const void *arguments, size_t bytes,
                             char *message) {
    (void)device, (void)grid, (void)block, (void)shared, (void)arguments, (void)message;
    for (int i = 0; i < kernels; i++)
        if (known[i].kernel == kernel)
            launched = known[i].number;
    argument_bytes = bytes;
    return UK_OK;
}

#define BIND "bind i block.y\nsplit j 64 -> jo ji\nbind jo block.x\nbind ji thread.x\n"
#define FLOATS "tensor A f32 [M, N]\ntensor C f32 [M, N]\nC[i, j] = A[i, j] + 1\n"

/* sizes, in the order of the text; last: number of the last kernel that is launched. Short ones come first.
 */
struct call {
    int64_t size[MAX_SIZES];
    int last;
};

struct program {
    const char *name, *text;
    int64_t short_bytes;
    int first_wide; /* number of the first kernel with wide indices */
    struct call calls[5];
    int count;
};

#define TWO29 ((int64_t)1 << 29)
#define TWO30 ((int64_t)1 << 30)

static const struct program programs[] = {
    {"bytes of a tensor",
     FLOATS "schedule\n" BIND,
     0,
     1,
     {{{1, TWO29 - 1}, 0}, {{1, TWO29}, 1}, {{7, TWO29 / 8}, 0}, {{8, TWO29 / 8}, 1}, {{0, TWO30}, -1}},
     5},
    {"bytes of the output",
     "tensor A i8 [M, N]\ntensor C f32 [M, N]\nC[i, j] = f32(A[i, j])\nschedule\n" BIND,
     0,
     1,
     {{{1, TWO29 - 1}, 0}, {{1, TWO29}, 1}},
     2},
    {"distance of the last element",
     "tensor A f32 [M, N] stride [lda, 1]\ntensor C f32 [M, N]\nC[i, j] = A[i, j] + 1\nschedule\n" BIND,
     0,
     1,
     {{{2, 10, TWO29 - 11}, 0},
      {{2, 10, TWO29 - 10}, 1},
      {{3, 10, TWO29 / 2 - 6}, 0},
      {{3, 10, TWO29 / 2 - 5}, 1}},
     4},
    {"a stride that no element uses",
     "tensor A f32 [M, N] stride [lda, 1]\ntensor C f32 [M, N]\nC[i, j] = A[i, j] + 1\nschedule\n" BIND,
     0,
     1,
     {{{1, 10, TWO30 - 1}, 0}, {{1, 10, TWO30}, 1}, {{1, 10, 0}, 0}, {{1, 10, -1}, 1}},
     4},
    {"a size",
     "tensor A i8 [M, N]\ntensor C i8 [M, N]\nC[i, j] = A[i, j]\nschedule\n" BIND,
     0,
     1,
     {{{1, TWO30 - 1}, 0}, {{1, TWO30}, 1}},
     2},
    {"a product of sizes",
     "tensor A i8 [M, N]\ntensor C i8 [M, N]\nC[i, j] = A[i, j]\n"
     "schedule\nfuse i j -> p\nsplit p 64 -> po pi\nbind po block.x\nbind pi thread.x\n",
     0,
     1,
     {{{32767, 32769}, 0}, {{32768, 32768}, 1}},
     2},
    {"a temp",
     "tensor A i8 [M, N]\ntemp T f32 [M, N]\ntensor C i8 [N, M]\nS: T[i, j] = f32(A[i, j])\n"
     "C[j, i] = i8(2 * T[i, j])\nschedule\n"
     "split S.j 64 -> so si\nbind so block.x\nbind si thread.x\n"
     "split C.j 64 -> jo ji\nreorder jo C.i ji\nbind jo block.x\nbind C.i block.y\nbind ji thread.x\n",
     0,
     2,
     {{{1, TWO29 - 1}, 1}, {{1, TWO29}, 3}},
     2},
    {"a lower limit",
     FLOATS "schedule\n" BIND,
     1000,
     1,
     {{{1, 249}, 0}, {{1, 250}, 1}, {{3, 83}, 0}, {{5, 50}, 1}, {{499, 0}, -1}},
     5},
    {"a lower limit of sizes",
     "tensor A i8 [M, N]\ntensor C i8 [M, N]\nC[i, j] = A[i, j]\nschedule\n" BIND,
     1000,
     1,
     {{{1, 499}, 0}, {{1, 500}, 1}},
     2},
    {"versions: only the last one has wide indices",
     FLOATS "schedule where M <= 4\n" BIND "schedule\n" BIND,
     1000,
     2,
     {{{4, 62}, 0}, {{5, 49}, 1}, {{4, 63}, 2}, {{5, 50}, 2}},
     4},
};

static void choice(void **state) {
    const struct program *program = *state;
    size_t bytes[2] = {0, 0};
    struct uk_gpu *gpu;
    struct run r;

    assert_true(compile_short(&r, program->name, program->text, 1, program->short_bytes));
    kernels = 0;
    gpu = open_gpu("noting", 1);
    for (int i = 0; i < program->count; i++) {
        const struct call *c = &program->calls[i];

        launched = -1;
        const int s =
            uk_module_call(r.module, c->size, NULL,
                           (void *[]){gpu, (void *)((uintptr_t)1 << 50), (void *)((uintptr_t)1 << 55)});

        if (s || launched != c->last)
            fail_msg("%s, call %d: status %d; kernel %d is the last one launched, not %d", program->name, i,
                     s, launched, c->last);
        if (launched >= 0)
            bytes[launched >= program->first_wide] = argument_bytes;
    }
    /* sizes of 4 bytes, and of 8 */
    assert_true(bytes[0] && bytes[0] < bytes[1]);
    uk_gpu_close(gpu);
    compiled_end(&r);
}

/* Whether a call is refused, and the message, follow the version that is taken: here the first one has a grid
 * that no GPU takes. */
static void refusal(void **unused) {
    static const char text[] =
        FLOATS "schedule where M <= 70000\n" BIND
               "schedule\nsplit j 64 -> jo ji\nbind i block.x\nbind jo block.y\nbind ji thread.x\n";
    const int64_t size[2] = {66000, 4};

    (void)unused;
    for (int limit = 0; limit < 2; limit++) {
        const enum uk_status should = limit ? UK_OK : UK_INVALID_SIZE;
        struct run r;

        if (!compile_short(&r, "refusal.uk", text, 1, limit))
            fail_msg("%s", "the program is refused");
        struct uk_gpu *gpu = open_gpu("noting", 1);
        kernels = 0;
        assert_int_equal(
            uk_module_call(r.module, size, NULL,
                           (void *[]){gpu, (void *)((uintptr_t)1 << 50), (void *)((uintptr_t)1 << 55)}),
            should);
        assert_int_equal(uk_program_check_sizes(r.program, &r.options, size), should);
        uk_gpu_close(gpu);
        compiled_end(&r);
    }
}

int main(void) {
    enum { PROGRAMS = sizeof programs / sizeof *programs };
    struct CMUnitTest tests[PROGRAMS + 1];
    static struct uk_gpu_driver noting;

    noting = uk_gpu_sim;
    noting.kind = "noting";
    noting.alloc = alloc;
    noting.free = free_memory;
    noting.find = find;
    noting.launch = launch;
    if (uk_gpu_register(&noting))
        return 1;
    for (int i = 0; i < PROGRAMS; i++)
        tests[i] = (struct CMUnitTest){
            .name = programs[i].name, .test_func = choice, .initial_state = (void *)(uintptr_t)&programs[i]};
    tests[PROGRAMS] = (struct CMUnitTest)cmocka_unit_test(refusal);
    return cmocka_run_group_tests_name("gpu_short_indices", tests, NULL, NULL);
}
