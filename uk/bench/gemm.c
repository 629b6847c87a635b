/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench gemm: compares our matrix products with other libraries' on sets of shapes, measured in
 * alternation and relative to the peak. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "file.h"
#include "gemm.h"
#include "time_program.h"
#include "machine/machine.h"

/* True if the type's B is packed before the time is taken. */
static bool is_packed(const struct gemm_session *s) {
    return bench_elements[s->type].is_packed;
}

/* ---- selection ---- */

/* Removes the sets that --set does not name. */
static int choose_shapes(struct gemm_session *s) {
    struct bench_shapes *all = &s->shapes;
    const char *list = s->a->set;
    const int status =
        uk_bench_check_sets(list, all->count ? all->shape->set : NULL, sizeof *all->shape, all->count,
                            s->a->sweep ? "general, rows" : "square, small, skinny");
    if (status)
        return status;
    for (int i = 0; i < all->count; i++)
        if (uk_bench_listed(list, all->shape[i].set))
            all->shape[s->chosen++] = all->shape[i];
    return s->chosen
               ? UK_EXIT_OK
               : uk_complain(UK_EXIT_USAGE, "the file of shapes is empty; add lines as in bench/shapes.txt");
}

static int read_shapes(struct gemm_session *s) {
    const char *path = s->a->shapes;
    char message[256] = "", *text = NULL;
    size_t length;
    if (path && !(text = uk_read_file(path, &length)))
        return UK_EXIT_WRONG;
    const char *usual = is_packed(s) ? bench_packed_shapes_text : bench_shapes_text;
    enum uk_status status =
        s->a->sweep ? bench_shapes_sweep(&s->shapes, s->type, (int)s->a->drawn, (uint64_t)s->a->seed)
                    : bench_shapes_parse(text ? text : usual, &s->shapes, message, sizeof message);
    free(text);
    if (status)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", path ? path : "shapes",
                           *message ? message : uk_status_text(status));
    return choose_shapes(s);
}

/* Sets instruction set and threads. Exit status. */
static int warm_up(struct gemm_session *s) {
    const struct uk_arguments *a = s->a;
    while (a->type && s->type < BENCH_TYPES && strcmp(a->type, bench_elements[s->type].name))
        s->type++;
    if (s->type == BENCH_TYPES)
        return uk_complain(
            UK_EXIT_USAGE,
            "--type=%s is not for uk bench gemm; use f32, f64, u8i8, i8i8, bf16, f16, w4 or w8", a->type);
    if (a->sweep && a->shapes)
        return uk_complain(UK_EXIT_USAGE, "--sweep draws the shapes; leave out --shapes");
    if (!a->sweep && uk_repeated_option(a, "--seed", 0))
        return uk_complain(UK_EXIT_USAGE, "--seed is only for --sweep, which draws shapes; leave it out");
    s->threads = a->threads ? (int)a->threads : 1;
    const int status = uk_bench_choose_target(a, s->threads, &s->isa);
    return !status && is_packed(s) ? uk_bench_bind_to_cpus(s->threads) : status;
}

/* Opens ours and the peers. Exit status. */
static int open_libraries(struct gemm_session *s) {
    const char *directory = bench_peers_directory();
    if (is_packed(s)) {
        s->ours = UK_BENCH_OWN_PACKED;
        s->libraries = s->ours + BENCH_PACKED_LIBRARIES;
        uk_bench_own_packed(s->library, s->a, s->type, s->isa, s->threads);
        bench_packed_libraries_open(s->library + s->ours, directory, s->type, s->isa, s->threads);
        return uk_bench_choose_libraries(s->a->peers, s->library + 1, s->libraries - 1,
                                         "oneDNN, MKL, ONNX, called, B");
    }
    s->ours = GEMM_OURS;
    s->libraries = GEMM_LIBRARIES;
    uk_bench_own_products(s->library, s->isa, s->threads);
    bench_libraries_open(s->library + s->ours, directory, s->isa, s->threads);
    return uk_bench_choose_libraries(s->a->peers, s->library + s->ours, BENCH_LIBRARIES,
                                     "OpenBLAS, MKL, BLIS, libxsmm, oneDNN");
}

/* Read rate over half of the cache, in whole pages; 0: the row has no such cache. */
static double read_cache(int isa, const struct uk_cache *cache) {
    return cache->size > 0 ? bench_read_rate(isa, cache->size / 2 / 4096 * 4096) : 0;
}

/* ---- time budget ---- */

/* Estimated seconds of one round of one contender: a call, a sample, two peak loops, resting and waking
 * threads. */
static double round_cost(const struct gemm_session *s, const struct bench_shape *shape, double *call) {
    double flops = 2.0 * (double)shape->m * (double)shape->n * (double)shape->k;
    double bytes = (double)bench_elements[s->type].factor * (double)shape->m * (double)shape->k +
                   bench_b_bytes(s->type, shape->k, shape->n);
    double computes = 1.5 * flops / s->peak,
           moves = bytes > 16e6 && s->bandwidth > 0 ? bytes / s->bandwidth : 0;
    *call = computes > moves ? computes : moves;
    return *call + (*call > 1.5e-3 ? *call : 1.5e-3) + 0.8e-3 + (s->threads > 1 ? 0.12 : 0);
}

/* Contenders per round; ours and the best peer are measured twice. */
static int contenders_for(const struct gemm_session *s, enum bench_form form) {
    int count = 0;
    for (int i = 0; i < s->libraries; i++)
        count += !s->library[i].missing && s->library[i].forms[form];
    return count > 1 ? count + 2 : count;
}

static int usual_rounds(const struct gemm_session *s, const struct bench_shape *shape, double *cost) {
    double call, round = round_cost(s, shape, &call);
    int rounds = call < 0.02 ? 15 : call < 0.2 ? 9 : 5;
    *cost = round * (rounds + 2) * contenders_for(s, shape->form);
    return rounds;
}

/* Rounds for a shape: the usual number, or what its share of the remaining time allows, at least three; 0:
 * the time is up. */
static int rounds_for(struct gemm_session *s, int index, double *left) {
    double mine, all = 0, cost;
    int usual = usual_rounds(s, &s->shapes.shape[index], &mine);
    for (int i = index; i < s->chosen; i++) {
        usual_rounds(s, &s->shapes.shape[i], &cost);
        all += cost;
    }
    *left = all;
    if (!s->deadline)
        return usual;
    *left = s->deadline - bench_seconds();
    if (*left <= 0)
        return 0;
    int rounds = (int)((double)(usual + 2) * *left / all) - 2;
    return rounds < 3 ? 3 : rounds < usual ? rounds : usual;
}

static void tell_progress(struct gemm_session *s, const struct bench_shape *shape, double left) {
    if (s->done && bench_seconds() - s->printed < 1)
        return;
    s->printed = bench_seconds();
    fprintf(stderr, "uk bench: %d of %d, %s %lldx%lldx%lld, about %.0f s left\n", s->done + 1, s->chosen,
            shape->set, (long long)shape->m, (long long)shape->n, (long long)shape->k, left);
}

/* ---- one shape ---- */

static bool is_over(const struct gemm_session *s) {
    return s->deadline > 0 && bench_seconds() >= s->deadline;
}

static void repeat(void *user, long calls) {
    struct bench_call *call = user;
    call->library->repeat(call, calls);
}

/* Collects the libraries that offer and compute the product, until the time is up. An error if ours does
 * not. Peers' products of bytes may be wrong, since some saturate sums of two products. */
static int gather(struct gemm_session *s, struct gemm_line *l, const struct bench_product *p) {
    char text[64];
    uk_bench_shape_text(l->shape, text, sizeof text);
    for (int i = 0; i < s->libraries; i++) {
        struct bench_library *library = &s->library[i];
        struct bench_call *call = &l->call[l->count];
        *call = (struct bench_call){.library = library, .product = p};
        if (library->missing || !library->forms[l->shape->form] || is_over(s))
            continue;
        bool offered = library->begin(call);
        if (!offered && i < s->ours)
            return uk_complain(UK_EXIT_WRONG, "%s: %s cannot be planned here", text, library->name);
        if (!offered)
            continue;
        const int64_t wrong = l->wrong[l->count] = bench_product_wrong(p, call, &l->compared);
        if (!wrong || (i >= s->ours && bench_is_bytes(s->type))) {
            l->contender[l->count++] =
                (struct bench_contender){.name = library->name, .repeat = repeat, .user = call};
            continue;
        }
        if (library->end)
            library->end(call);
        if (i < s->ours)
            return uk_complain(UK_EXIT_WRONG, "%s: the result of %s is wrong", text, library->name);
        fprintf(stderr, "%s: its result for %s is wrong, so it is excluded\n", library->name, text);
    }
    return UK_EXIT_OK;
}

/* Takes ratios from the fastest samples: where a library computes on a thread of its own, other processes'
 * time cannot be told apart. */
static void use_fastest(struct bench_contender *contender, int count) {
    for (int i = 0; i < count; i++)
        contender[i].ratio = contender[i].fastest / contender[0].fastest;
}

/* Chooses the loop that the shares of the peak refer to, and measures how long reading B takes. */
static void choose_loop(struct gemm_session *s, struct gemm_line *l) {
    const struct bench_shape *shape = l->shape;
    const int64_t bytes = (int64_t)bench_b_bytes(s->type, shape->k, shape->n) / 1024 * 1024;
    const double rate = bytes ? bench_read_rate(s->isa, bytes) : 0;
    l->plan.loop = bench_loop_of(s->type, uk_bench_own_kernels(&l->call[0]));
    l->plan.whole_process = true;
    l->bound = rate > 0 ? (double)bytes / rate : 0;
}

/* Takes the bound of the multiply-adds, at the rate measured next to the samples, if that is longer. */
static void set_bound(struct gemm_line *l) {
    const double computes = l->plan.peak > 0 ? l->plan.flops / l->plan.peak : 0;
    l->bound = computes > l->bound ? computes : l->bound;
}

/*
 * Measures the best peer again. The minimum of several noisy ratios is biased low, so the best peer is chosen
 * by one measurement of all contenders, and our speed relative to it comes from another one of the two.
 */
static enum uk_status measure_best(struct gemm_line *l) {
    struct bench_contender pair[2] = {l->contender[0]};
    struct bench_plan plan = l->plan;

    for (int i = 1; i < l->count; i++)
        if (!l->call[i].library->is_own && (!pair[1].name || l->contender[i].ratio < pair[1].ratio))
            pair[1] = l->contender[i];
    enum uk_status status = pair[1].name ? bench_paired(&plan, pair, 2) : UK_OK;
    if (plan.whole_process && pair[1].name)
        use_fastest(pair, 2);
    l->best = pair[1]; /* from the first measurement if the time is up */
    return status;
}

/* Measures one shape; skips it if the time does not suffice. */
static int measure(struct gemm_session *s, const struct bench_shape *shape, int rounds) {
    struct bench_product p;
    struct gemm_line *l = calloc(1, sizeof *l);
    if (!l)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    enum uk_status status = bench_product_create(&p, shape, s->type);
    int exit = status ? uk_complain(UK_EXIT_WRONG, "operands: %s", uk_status_text(status)) : UK_EXIT_OK;
    l->shape = shape;
    l->plan = (struct bench_plan){.isa = s->isa,
                                  .threads = s->threads,
                                  .doubles = s->type == BENCH_F64,
                                  .flops = bench_product_flops(&p),
                                  .rounds = rounds,
                                  .deadline = s->deadline,
                                  .sample_time = s->threads > 1 ? 0.01 : 1.5e-3};
    if (!exit)
        exit = gather(s, l, &p);
    const bool in_time = !exit && !is_over(s);
    if (in_time && is_packed(s))
        choose_loop(s, l);
    if (in_time)
        status = bench_paired(&l->plan, l->contender, l->count);
    if (in_time && l->plan.whole_process && !status && l->plan.rounds) {
        use_fastest(l->contender, l->count);
        set_bound(l);
    }
    if (in_time && !status && l->plan.rounds)
        status = measure_best(l);
    if (!exit && status)
        exit = uk_complain(UK_EXIT_WRONG, "measuring failed: %s", uk_status_text(status));
    if (!exit && in_time && l->plan.rounds)
        uk_bench_keep_line(s, l, &p);
    for (int i = 0; i < l->count; i++)
        if (l->call[i].library->end)
            l->call[i].library->end(&l->call[i]);
    bench_product_free(&p);
    free(l);
    return exit;
}

/* ---- the command ---- */

static int measure_all(struct gemm_session *s) {
    int status = UK_EXIT_OK, rounds, before = -1;
    if (s->a->time_limit)
        s->deadline = bench_seconds() + (double)s->a->time_limit;
    while (s->done < s->chosen && s->done > before && !status) {
        double left;
        const struct bench_shape *shape = &s->shapes.shape[s->done];
        if (!(rounds = rounds_for(s, s->done, &left)))
            break;
        tell_progress(s, shape, left);
        before = s->done;
        status = measure(s, shape, rounds);
    }
    if (!status && s->done < s->chosen)
        fprintf(stderr,
                "uk bench: time limit reached: %d of %d shapes were not measured, from %s on; give a longer "
                "--time-limit\n",
                s->chosen - s->done, s->chosen, s->shapes.shape[s->done].set);
    if (s->done) {
        s->peak = bench_median(s->peaks, s->done);
        cJSON_AddNumberToObject(cJSON_GetObjectItem(s->json, "context"), "peak_flops", s->peak);
    }
    return status;
}

int uk_bench_gemm(const struct uk_arguments *a) {
    struct gemm_session s = {.a = a, .table = a->json && !a->json_file ? stderr : stdout};
    int status = uk_bench_plot_check(a);
    if (!status)
        status = warm_up(&s);
    if (!status)
        status = read_shapes(&s);
    if (!status)
        status = open_libraries(&s);
    s.set = calloc((size_t)s.chosen + 1, sizeof *s.set);
    s.peaks = calloc((size_t)s.chosen + 1, sizeof *s.peaks);
    s.ratios = calloc((size_t)s.chosen + 1, sizeof *s.ratios);
    s.seconds = calloc((size_t)s.chosen + 1, sizeof *s.seconds);
    s.json = uk_bench_json();
    if (!status && (!s.set || !s.seconds || !s.peaks || !s.ratios || !s.json))
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    if (!status) {
        s.peak = bench_peak(s.isa, s.threads) * (s.type == BENCH_F64 ? 0.5 : 1);
        s.bandwidth = bench_read_rate(s.isa, 128 << 20);
        s.l1 = read_cache(s.isa, &uk_machine()->core.l1);
        s.l2 = read_cache(s.isa, &uk_machine()->core.l2);
        uk_bench_add_context(&s);
        uk_bench_print_conditions(&s);
        status = measure_all(&s);
    }
    if (!status) {
        uk_bench_print_summary(&s);
        status = s.done ? uk_bench_plot(a, s.json) : UK_EXIT_OK;
        const int compared = uk_bench_finish(a, s.json);
        status = status ? status : compared;
    }
    cJSON_Delete(s.json);
    free(s.set);
    free(s.peaks);
    free(s.ratios);
    free(s.seconds);
    bench_shapes_free(&s.shapes);
    return status;
}
