/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of f32 matrices on the simulated GPUs: a program is compiled once per target, and called with many
 * sizes. Results, including the padding of operands, must be those of the statements; the simulator must
 * report nothing; and the code object's kernels must use no scratch memory, spill nothing and take only their
 * own arguments.
 *
 *     products [--triples N] [--seed N|new] PROGRAM.uk...
 *
 * M, N and K are drawn around the edges of tiles; for strided operands also the padding of rows; and the
 * order of waves.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "amdgpu.h"
#include "compiled.h"
#include "random.h"
#include "seed.h"

enum { PROGRAMS = 16 };

static const int64_t edges[] = {0, 1, 7, 63, 64, 65, 127, 129, 200};

static int triples = 4;
static uint64_t seed = 1;

/* ---- one call ---- */

static void fail_at(const struct compiled *t, const int64_t *size, const char *why) {
    print_error("%s on %s:", t->name, t->target);
    for (int i = 0; i < uk_program_sizes(t->program); i++)
        print_error(" %s=%" PRId64, uk_program_size_name(t->program, i), size[i]);
    fail_msg("%s", why);
}

/* Draws M, N, K, and leading dimensions that are at least as long as any row. */
static void draw_sizes(const struct compiled *t, uint64_t *random, int64_t *size) {
    int64_t mnk[3], most = 1;

    for (int i = 0; i < 3; i++) {
        mnk[i] = edges[random_below(random, sizeof edges / sizeof *edges)];
        most = mnk[i] > most ? mnk[i] : most;
    }
    for (int i = 0; i < uk_program_sizes(t->program); i++) {
        const char *name = uk_program_size_name(t->program, i), *at = strchr("MNK", name[0]);

        size[i] = at ? mnk[at - "MNK"] : most + random_below(random, 4);
    }
}

static void check(const struct compiled *t, struct uk_gpu *gpu, const int64_t *size) {
    struct uk_data got, expected;

    assert_int_equal(uk_data_create(&got, t->program, size), 0);
    assert_int_equal(uk_data_create(&expected, t->program, size), 0);
    uk_data_integers(&got);
    uk_data_integers(&expected);
    assert_int_equal(uk_program_interpret(t->program, size, NULL, expected.origins), UK_OK);
    if (call_compiled(t, gpu, size, &got))
        fail_at(t, size, uk_gpu_message(gpu));
    if (!uk_data_equal(&got, &expected, size, NULL))
        fail_at(t, size, "not what the program computes");
    uk_data_free(&got);
    uk_data_free(&expected);
}

/* ---- one program ---- */

/* Checks the metadata of each kernel of the program's code object. */
static void check_kernels(const struct compiled *t) {
    const struct uk_options o = {.target = t->target};
    struct uk_amdgpu *gpu = uk_amdgpu_open(strchr(t->target, '-') + 1);
    struct uk_amdgpu_object *object = NULL;
    char *image;
    size_t bytes;

    assert_non_null(gpu);
    if (uk_emit(t->program, &o, UK_EMIT_DEVICE, &image, &bytes))
        fail_msg("%s: %s", t->name, uk_context_message(t->context));
    if (uk_amdgpu_load(gpu, image, bytes, &object))
        fail_msg("%s: %s", t->name, uk_amdgpu_message(gpu));
    assert_true(uk_amdgpu_n_kernels(object) > 0);
    for (uint32_t i = 0; i < uk_amdgpu_n_kernels(object); i++) {
        const struct uk_amdgpu_kernel *k = uk_amdgpu_kernel(object, i);
        const struct uk_amdgpu_argument *last = &k->arguments[k->n_arguments - 1];

        if (k->scratch_bytes || k->vgpr_spills || k->sgpr_spills)
            fail_msg("%s on %s: %s has %u bytes of scratch memory, spills %u VGPRs and %u SGPRs", t->name,
                     t->target, k->name, k->scratch_bytes, k->vgpr_spills, k->sgpr_spills);
        assert_int_equal(k->n_hidden, 0);
        assert_int_equal(k->argument_bytes, last->offset + last->size);
    }
    uk_amdgpu_close(gpu);
    uk_text_free(image);
}

static int run_on(const char *path, int ordinal) {
    uint64_t random = seed;
    struct compiled t;
    const bool compiles = compile_file(&t, path, ordinal);
    int ran = 0;

    if (compiles) {
        struct uk_gpu *gpu = open_gpu("sim", ordinal);

        check_kernels(&t);
        for (; ran < triples; ran++) {
            int64_t size[SIZES];

            draw_sizes(&t, &random, size);
            check(&t, gpu, size);
        }
        uk_gpu_close(gpu);
    }
    compiled_end(&t);
    return ran;
}

static void run(void **state) {
    int ran = 0;

    for (int i = 0; i < TARGETS; i++)
        ran += run_on(*state, i);
    assert_true(ran > 0);
    print_message("%s: %d products\n", (const char *)*state, ran);
}

int main(int argc, char **argv) {
    struct CMUnitTest tests[PROGRAMS];
    size_t programs = 0;
    bool known = true;

    for (int i = 1; i < argc && known; i++)
        if (i + 1 < argc && !strcmp(argv[i], "--triples"))
            triples = atoi(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--seed"))
            seed = seed_of(argv[++i]);
        else if (argv[i][0] != '-' && programs < PROGRAMS)
            tests[programs++] =
                (struct CMUnitTest){.name = argv[i], .test_func = run, .initial_state = argv[i]};
        else
            known = false;
    if (!known || !programs || triples < 1) {
        fprintf(stderr, "usage: products [--triples N] [--seed N|new] PROGRAM.uk...\n");
        return 2;
    }
    char order[24];

    print_message("seed %" PRIu64 "\n", seed);
    snprintf(order, sizeof order, "%" PRIu64, seed);
    setenv("UK_SIM_SEED", order, 1);
    return _cmocka_run_group_tests("products", tests, programs, NULL, NULL);
}
