/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how much slower plans are than the best tiled way to compute a product. For random products, and
 * for those on the command line, every way is timed in alternation with the plan's. Times depend on the
 * machine, so nothing is pass or fail.
 *
 *     gemm_loss [--seed=N] [--count=N] [--worst=N] [M N K FORM]...    FORM: NN, NT, TN or TT
 *
 * The loss of a shape is 1 - time(best way) / time(plan), a median of several pairs.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "gemm/gemm.h"
#include "ukernels.h"

enum { WAYS_MOST = 256, SHAPES_MOST = 1000, ROUNDS = 9 };
/* minimum seconds of a sample */
static const double sample = 2e-3;

struct product {
    int64_t m, n, k;
    bool a_transposed, b_transposed;
    /* own: the plan's GFLOP/s */
    double loss, own;
    /* the plan, and the best way */
    char text[2][200];
};

struct way {
    struct gemm_plan plan;
    /* time relative to the plan's */
    double ratio;
};

static struct product product[SHAPES_MOST];
static struct way way[WAYS_MOST];

static double now(void) {
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *filled(int64_t n) {
    float *x = aligned_alloc(64, (size_t)(n * 4 + 63) / 64 * 64);

    if (!x)
        exit(2);
    for (int64_t i = 0; i < n; i++)
        x[i] = (float)(i % 13) - 6;
    return x;
}

static void describe(const struct gemm_plan *p, char *out, size_t size) {
    static const char *const sources[] = {"in place", "in rows", "in panels"};

    snprintf(out, size, "%s, %s, A %s, B %s, kc %lld, nc %lld%s%s", p->path->name,
             p->path == &uk_gemm_tiles ? p->way.tile->kernel[p->way.form]->symbol : "", sources[p->way.a],
             sources[p->way.b], (long long)p->way.kc, (long long)p->nc, p->prefetching ? ", prefetching" : "",
             p->product.c_columns ? ", C transposed" : "");
}

static double seconds_of(const struct gemm_plan *p, const struct gemm_operands *o, int64_t times) {
    const double begin = now();

    for (int64_t i = 0; i < times; i++)
        if (uk_gemm_run(p, o, NULL))
            exit(2);
    return (now() - begin) / (double)times;
}

static int ways_of(const struct product *s) {
    const struct gemm_type *type = uk_gemm_look_up(&uk_gemm_f32);
    const struct uk_gemm_options options = {.threads = 1};
    const struct gemm_shape shape = {UK_ROW_MAJOR,
                                     s->a_transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                     s->b_transposed ? UK_TRANSPOSE : UK_NO_TRANSPOSE,
                                     s->m,
                                     s->n,
                                     s->k,
                                     s->a_transposed ? s->m : s->k,
                                     s->b_transposed ? s->k : s->n,
                                     s->n};
    const struct gemm_wanted best_of = {.path = "tiles"};
    int n = 0;

    if (uk_gemm_resolve(&way[n++].plan, type, &shape, &options, NULL))
        exit(2);
    /* with exchanged operands there are no other ways */
    if (way[0].plan.product.c_columns)
        return n;
    for (int i = 0;; i++) {
        way[n].plan = way[0].plan;
        const enum uk_status status = uk_gemm_plan_choice(&way[n].plan, i, &best_of);

        if (status == UK_INVALID_ARGUMENT || n == WAYS_MOST - 1)
            return n;
        n += !status;
    }
}

static int by_value(const void *x, const void *y) {
    const double a = *(const double *)x, b = *(const double *)y;

    return a < b ? -1 : a > b;
}

/* The median ratio of the times of two plans, measured in alternation. */
static double ratio(const struct gemm_plan *p, const struct gemm_plan *to, const struct gemm_operands *o,
                    int64_t times) {
    double each[ROUNDS];

    for (int i = 0; i < ROUNDS; i++) {
        const double seconds = seconds_of(to, o, times);

        each[i] = seconds_of(p, o, times) / seconds;
    }
    qsort(each, ROUNDS, sizeof *each, by_value);
    return each[ROUNDS / 2];
}

static void measure(struct product *s) {
    const int ways = ways_of(s);
    void *a = filled(s->m * s->k), *b = filled(s->k * s->n), *c = filled(s->m * s->n);
    /* the same for all ways */
    const bool swapped = way[0].plan.swapped;
    const struct gemm_operands o = {
        .alpha = 1, .beta = 0, .a = swapped ? b : a, .b = swapped ? a : b, .c = c};
    const double once = seconds_of(&way[0].plan, &o, 1), flops = 2e-9 * (double)(s->m * s->n * s->k);
    const int64_t times = once > sample ? 1 : (int64_t)(sample / once) + 1;
    int best = 0;

    for (int w = 1; w < ways; w++) {
        way[w].ratio = ratio(&way[w].plan, &way[0].plan, &o, times);
        best = way[w].ratio < (best ? way[best].ratio : 1) ? w : best;
    }
    /* measures the best again: the minimum of several noisy ratios is biased low */
    if (best)
        way[best].ratio = ratio(&way[best].plan, &way[0].plan, &o, times);
    s->own = flops / seconds_of(&way[0].plan, &o, times);
    s->loss = best && way[best].ratio < 1 ? 1 - way[best].ratio : 0;
    describe(&way[0].plan, s->text[0], sizeof s->text[0]);
    describe(&way[best].plan, s->text[1], sizeof s->text[1]);
    free(a);
    free(b);
    free(c);
}

static double uniform(uint64_t *random) {
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return (double)(*random >> 11) / 9007199254740992.;
}

/* Draws from [least, most) with a uniform logarithm. */
static int64_t draw(uint64_t *random, double least, double most) {
    return (int64_t)(least * pow(most / least, uniform(random)));
}

static int by_loss(const void *x, const void *y) {
    const double a = ((const struct product *)x)->loss, b = ((const struct product *)y)->loss;

    return a < b ? 1 : a > b ? -1 : 0;
}

static int number(const char *argument, const char *name, int usual) {
    const size_t n = strlen(name);

    return strncmp(argument, name, n) ? usual : atoi(argument + n);
}

int main(int argc, char **argv) {
    int count = 60, worst = 5, n = 0, fit = 0, i = 1;
    uint64_t seed = 0;
    double sum = 0;

    for (; i < argc && !strncmp(argv[i], "--", 2); i++) {
        seed = (uint64_t)number(argv[i], "--seed=", (int)seed);
        count = number(argv[i], "--count=", count);
        worst = number(argv[i], "--worst=", worst);
    }
    for (; i + 3 < argc && n < SHAPES_MOST; i += 4)
        product[n++] = (struct product){.m = atoll(argv[i]),
                                        .n = atoll(argv[i + 1]),
                                        .k = atoll(argv[i + 2]),
                                        .a_transposed = argv[i + 3][0] == 'T',
                                        .b_transposed = argv[i + 3][1] == 'T'};
    for (const bool drawn = !n; drawn && n < count && n < SHAPES_MOST; n++) {
        const int form = (int)(4 * uniform(&seed));

        product[n] = (struct product){.m = draw(&seed, 16, 2000),
                                      .n = draw(&seed, 16, 2000),
                                      .k = draw(&seed, 32, 2000),
                                      .a_transposed = form & 1,
                                      .b_transposed = form & 2};
    }
    for (int p = 0; p < n; p++) {
        measure(&product[p]);
        sum += product[p].loss;
        fit += product[p].loss <= 0.05;
    }
    qsort(product, (size_t)n, sizeof *product, by_loss);
    for (int p = 0; p < n && p < worst; p++) {
        const struct product *s = &product[p];

        printf("%lld x %lld x %lld %c%c: %.1f GFLOP/s, %.1f %% lost\n  plan: %s\n  best: %s\n",
               (long long)s->m, (long long)s->n, (long long)s->k, s->a_transposed ? 'T' : 'N',
               s->b_transposed ? 'T' : 'N', s->own, 100 * s->loss, s->text[0], s->text[1]);
    }
    printf("%d products: mean loss %.2f %%, %d within 5 %%\n", n, 100 * sum / (n ? n : 1), fit);
    return 0;
}
