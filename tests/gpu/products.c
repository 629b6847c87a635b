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
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "compiled.h"
#include "random.h"
#include "seed.h"

enum { PROGRAMS = 16 };

static const int64_t edges[] = {0, 1, 7, 63, 64, 65, 127, 129, 200};

static int triples = 4;
static uint64_t seed = 1;

/* ---- one program ---- */

/* Draws M, N, K, and leading dimensions that are at least as long as any row. */
static void draw(struct random_data *d, struct uk_program *p, uint64_t *random) {
    int64_t mnk[3], most = 1;

    for (int i = 0; i < 3; i++) {
        mnk[i] = edges[random_below(random, sizeof edges / sizeof *edges)];
        most = mnk[i] > most ? mnk[i] : most;
    }
    product_data(d, p, mnk, most + random_below(random, 4));
}

static int run_on(const char *path, int ordinal) {
    uint64_t random = seed;
    struct kernels kernels;
    struct run t;
    const bool compiles = compile_file(&t, path, ordinal);
    int ran = 0;

    if (compiles) {
        t.device = open_gpu("sim", ordinal);
        assert_true(check_kernels(&t, &kernels) && kernels.count > 0);
        for (; ran < triples; ran++) {
            struct random_data d = {0};

            draw(&d, t.program, &random);
            if (!run_is_right(&t, &d))
                fail_msg("%s", uk_gpu_message(t.device));
            random_data_free(&d);
        }
        uk_gpu_close(t.device);
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
    print_message("seed %" PRIu64 "\n", seed);
    use_order(seed);
    return _cmocka_run_group_tests("products", tests, programs, NULL, NULL);
}
