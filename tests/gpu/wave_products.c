/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by the kernels of a whole wave, scheduled by hand for the simulated gfx90a: tiles of 64 x 64 and
 * 32 x 32, one and four waves in a block, operands of f16 and bf16. One function for all sizes is called with
 * drawn M, N and K. Values are integers whose sums are exact, or also an infinity and a NaN in each operand,
 * which must stay in their row or column. Results must be the interpreter's, and the simulator must report
 * nothing.
 *
 *     wave_products [--triples N] [--seed N|new] [--only N]
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "compiled.h"
#include "random.h"
#include "test_options.h"
#include "values.h"

/* The schedule; its loops:
 *     mb nb  blocks          mw nw  waves of a block     mh nc  lanes of a wave
 *     ko ki  terms           mt mg ms nt  registers of a lane */
static const char program[] = "tensor A %1$s [M, K] stride [ld, 1]\n"
                              "tensor B %1$s [K, N] stride [ld, 1]\n"
                              "tensor Y f32 [M, N] stride [ld, 1]\n"
                              "Y[m, n] = sum(k) f32(A[m, k]) * f32(B[k, n])\n"
                              "schedule\n"
                              "  split Y.m %2$d -> mb mp\n"
                              "  split mp %3$d -> mw mx\n"
                              "  split mx 32 -> mt m32\n"
                              "  split m32 8 -> mg m8\n"
                              "  split m8 4 -> mh ms\n"
                              "  split Y.n %2$d -> nb np\n"
                              "  split np %3$d -> nw nx\n"
                              "  split nx 32 -> nt nc\n"
                              "  split Y.k 32 -> ko ki\n"
                              "  reorder mb nb ko mw nw mh nc ki mt mg ms nt\n"
                              "  bind mb block.y\n"
                              "  bind nb block.x\n"
                              "  bind mw thread.z\n"
                              "  bind nw thread.y\n"
                              "  bind mh thread.x\n"
                              "  bind nc thread.x\n"
                              "  cache_write Y at nb in register\n"
                              "  cache_read A at ko in shared layout (i, p) -> [p / 8, i, p %% 8]\n"
                              "  cache_read B at ko in shared layout (p, j) -> [p / 8, j, p %% 8]\n"
                              "%4$s"
                              "  tensorize ki uk_%5$cgemm_w_%3$dx%3$d_gfx90a_intrin\n";

/* waves: of a block, along each of its two axes. */
static const struct shape {
    const char *type;
    int tile, waves;
    bool is_pipelined;
} shapes[] = {
    {"f16", 64, 2, true},  {"f16", 64, 1, false},  {"f16", 32, 2, false},  {"f16", 32, 1, true},
    {"bf16", 64, 2, true}, {"bf16", 64, 1, false}, {"bf16", 32, 2, false}, {"bf16", 32, 1, true},
};
enum { SHAPES = sizeof shapes / sizeof *shapes, GFX90A = 1, NAME = 96, TEXT = 2048 };

static const int64_t edges[] = {1, 7, 63, 64, 65, 127, 129, 200};
enum { EDGES = sizeof edges / sizeof *edges };

static uint64_t seed = 1;
static int triples = 3, only = -1;

/* One call with drawn sizes; false, after a complaint: its result is wrong. */
static bool call(struct run *r, enum values values, uint64_t *x) {
    struct random_data d = {0};
    int64_t mnk[3], longest = 1;

    for (int i = 0; i < 3; i++) {
        mnk[i] = edges[random_below(x, EDGES)];
        longest = mnk[i] > longest ? mnk[i] : longest;
    }
    for (int i = 0; i < uk_program_sizes(r->program); i++) {
        const char *at = strchr("MNK", uk_program_size_name(r->program, i)[0]);

        d.size[i] = at ? mnk[at - "MNK"] : longest + random_below(x, 4);
    }
    draw_values(&d, r->program, values, mnk[2], random_next(x));
    const bool good = run_is_right(r, &d);

    if (!good)
        print_error("M = %" PRId64 ", N = %" PRId64 ", K = %" PRId64 ": %s\n", mnk[0], mnk[1], mnk[2],
                    uk_gpu_message(r->device));
    random_data_free(&d);
    return good;
}

/* Returns the number of wrong calls. */
static int run_shape(int number) {
    const struct shape *s = &shapes[number];
    uint64_t x = seed * 1000003 + (uint64_t)number;
    struct kernels kernels;
    char text[TEXT], again[NAME];
    struct run r;

    snprintf(again, sizeof again, "--seed %" PRIu64 " --only %d --triples %d", seed, number, triples);
    snprintf(text, sizeof text, program, s->type, s->tile * s->waves, s->tile,
             s->is_pipelined ? "  pipeline ko 2\n" : "", *s->type == 'b' ? 'b' : 'h');
    use_order(x);
    assert_true(compile_text(&r, again, text, GFX90A));
    r.device = open_gpu("sim", GFX90A);
    int wrong = !check_kernels(&r, &kernels);

    for (int i = 0; i < triples; i++)
        for (int values = INTEGERS; values <= INFINITIES; values++)
            wrong += !call(&r, (enum values)values, &x);
    uk_gpu_close(r.device);
    compiled_end(&r);
    return wrong;
}

static void run(void **state) {
    int wrong = 0;

    (void)state;
    print_message("--seed %" PRIu64 "\n", seed);
    for (int i = 0; i < SHAPES; i++)
        if (only < 0 || i == only)
            wrong += run_shape(i);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(run)};

    take_options(argc, argv,
                 (struct test_option[]){{.name = "--triples", .number = &triples},
                                        {.name = "--seed", .seed = &seed},
                                        {.name = "--only", .number = &only},
                                        {0}});
    return cmocka_run_group_tests_name("gpu_wave_products", tests, NULL, NULL);
}
