/* SPDX-License-Identifier: Apache-2.0 */
/* uk bench conv: compares our convolutions with other libraries' on sets of shapes or on drawn ones, measured
 * in alternation and relative to the peak. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench.h"
#include "conv.h"
#include "file.h"

/* ---- selection ---- */

/* Removes the sets that --set does not name. */
static int choose_shapes(struct conv_session *s) {
    struct bench_conv_shapes *all = &s->shapes;
    const char *list = s->a->set;
    const int status = uk_bench_check_sets(
        list, all->count ? all->shape->set : NULL, sizeof *all->shape, all->count,
        s->a->sweep ? "dense and depthwise, with --type=u8i8 bytes," : "resnet50, mobilenet");
    if (status)
        return status;
    for (int i = 0; i < all->count; i++)
        if (uk_bench_listed(list, all->shape[i].set))
            all->shape[s->chosen++] = all->shape[i];
    return s->chosen ? UK_EXIT_OK
                     : uk_complain(UK_EXIT_USAGE,
                                   "the file of shapes is empty; add lines as in bench/conv_shapes.txt");
}

static int read_shapes(struct conv_session *s) {
    const char *path = s->a->shapes;
    char message[256] = "", *text = NULL;
    size_t length;
    if (path && !(text = uk_read_file(path, &length)))
        return UK_EXIT_WRONG;
    enum uk_status status =
        s->a->sweep ? bench_conv_sweep(&s->shapes, s->how.type, (int)s->a->drawn, (uint64_t)s->a->seed)
                    : bench_conv_shapes_parse(text ? text : bench_conv_shapes_text, &s->shapes, message,
                                              sizeof message);
    free(text);
    if (status)
        return uk_complain(UK_EXIT_WRONG, "%s: %s", path ? path : "shapes",
                           *message ? message : uk_status_text(status));
    return choose_shapes(s);
}

static int check_options(const struct uk_arguments *a) {
    if (a->positionals > 1)
        return uk_complain(UK_EXIT_USAGE, "uk bench conv takes no '%s'; --set chooses shapes",
                           a->positional[1]);
    if (a->type && strcmp(a->type, "f32") && strcmp(a->type, "u8i8"))
        return uk_complain(UK_EXIT_USAGE, "--type=%s is not for uk bench conv; use f32 or u8i8", a->type);
    if (a->sweep && a->shapes)
        return uk_complain(UK_EXIT_USAGE, "--sweep draws the shapes; leave out --shapes");
    if (!a->sweep && uk_repeated_option(a, "--seed", 0))
        return uk_complain(UK_EXIT_USAGE, "--seed is only for --sweep, which draws shapes; leave it out");
    return uk_bench_plot_check(a);
}

/* ---- one shape ---- */

static bool is_over(const struct conv_session *s) {
    return s->deadline > 0 && bench_seconds() >= s->deadline;
}

static void repeat(void *user, long calls) {
    struct bench_call *call = user;
    call->library->repeat(call, calls);
}

static int refuse(const char *text, const char *library, const char *what) {
    return uk_complain(UK_EXIT_WRONG, "%s: %s %s", text, library, what);
}

/* Collects the libraries that compute the convolution, until the time is up. An error if ours does not. */
static int gather(struct conv_session *s, struct conv_line *l, const struct bench_convolution *v) {
    char text[BENCH_CONV_TEXT];
    bench_conv_text(l->shape, text, sizeof text);
    for (int i = 0; i < CONV_LIBRARIES; i++) {
        struct bench_library *library = &s->library[i];
        struct bench_call *call = &l->call[l->count];
        const bool is_own = i < CONV_OURS || i >= CONV_CALLED;
        if (library->missing || is_over(s))
            continue;
        *call = (struct bench_call){.library = library, .convolution = v};
        if (!library->begin(call)) {
            if (i == CONV_COPY)
                continue;
            if (is_own)
                return refuse(text, library->name, "cannot be compiled");
            fprintf(stderr, "%s: has no kernel for %s\n", library->name, text);
            continue;
        }
        if (i == CONV_COPY || bench_convolution_check(v, call)) {
            l->peers += !is_own;
            l->has_called |= i == CONV_CALLED;
            l->has_copy |= i == CONV_COPY;
            l->has_plain = i == CONV_PLAIN;
            l->contender[l->count++] =
                (struct bench_contender){.name = library->name, .repeat = repeat, .user = call};
            continue;
        }
        library->end(call);
        if (is_own)
            return refuse(text, library->name, "has a wrong result");
        fprintf(stderr, "%s: its result for %s is wrong, so it is excluded\n", library->name, text);
    }
    return UK_EXIT_OK;
}

/* Measures all but the plain loops, which take too long for as many samples, and then these beside ours. */
static enum uk_status measure_contenders(struct conv_line *l) {
    enum { PLAIN_ROUNDS = 3 };
    const int others = l->count - l->has_plain;
    struct bench_plan plan = l->plan;
    struct bench_contender pair[2] = {l->contender[0], l->contender[l->count - 1]};
    enum uk_status status = bench_paired(&l->plan, l->contender, others);
    if (status || !l->has_plain || !l->plan.rounds)
        return status;
    plan.rounds = PLAIN_ROUNDS;
    status = bench_paired(&plan, pair, 2);
    pair[1].ratio = pair[1].fastest > 0 ? pair[1].fastest / pair[0].fastest : 0;
    l->contender[others] = pair[1];
    l->has_plain = plan.rounds; /* false: the time is up */
    l->count = others + l->has_plain;
    return status;
}

/* A call of 20 ms gets a third of the samples; so do several threads, whose samples take 0.1 s each. */
static int rounds_for(const struct conv_session *s, double flops) {
    const double seconds = 1.5 * flops / s->peak;
    if (s->how.threads > 1)
        return seconds < 2e-2 ? 13 : 5;
    return seconds < 5e-3 ? 40 : seconds < 2e-2 ? 15 : 5;
}

static int measure(struct conv_session *s, const struct bench_conv_shape *shape) {
    struct bench_convolution v;
    struct conv_line *l = calloc(1, sizeof *l);
    if (!l)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    enum uk_status status = bench_convolution_create(&v, shape, s->how.type);
    int exit = status ? uk_complain(UK_EXIT_WRONG, "operands: %s", uk_status_text(status)) : UK_EXIT_OK;
    l->shape = shape;
    l->flops = 2 * bench_conv_multiply_adds(shape, true);
    l->plan = (struct bench_plan){.isa = s->how.isa,
                                  .threads = s->how.threads,
                                  .whole_process = true,
                                  .flops = l->flops,
                                  .rounds = rounds_for(s, l->flops),
                                  .deadline = s->deadline,
                                  .sample_time = s->how.threads > 1 ? 5e-3 : 0.7e-3};
    if (!exit)
        exit = gather(s, l, &v);
    const int begun = l->count;
    const bool in_time = !exit && begun && !is_over(s);
    if (in_time)
        status = measure_contenders(l);
    if (!exit && status)
        exit = uk_complain(UK_EXIT_WRONG, "measuring failed: %s", uk_status_text(status));
    if (!exit && in_time && l->plan.rounds)
        uk_bench_keep_conv(s, l);
    for (int i = 0; i < begun; i++)
        l->call[i].library->end(&l->call[i]);
    bench_convolution_free(&v);
    free(l);
    return exit;
}

/* ---- the command ---- */

static void tell_progress(struct conv_session *s, const struct bench_conv_shape *shape) {
    char text[BENCH_CONV_TEXT];
    if (s->done && bench_seconds() - s->printed < 1)
        return;
    s->printed = bench_seconds();
    bench_conv_text(shape, text, sizeof text);
    fprintf(stderr, "uk bench: %d of %d, %s %s\n", s->done + 1, s->chosen, shape->set, text);
}

static int measure_all(struct conv_session *s) {
    int status = UK_EXIT_OK, before = -1;
    if (s->a->time_limit)
        s->deadline = bench_seconds() + (double)s->a->time_limit;
    while (s->done < s->chosen && s->done > before && !status && !is_over(s)) {
        const struct bench_conv_shape *shape = &s->shapes.shape[s->done];
        tell_progress(s, shape);
        before = s->done;
        status = measure(s, shape);
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

static int open_libraries(struct conv_session *s) {
    struct bench_library *peers = s->library + CONV_OURS;
    uk_bench_own_convolutions(&s->library[0], &s->library[CONV_PLAIN], s->a, &s->how);
    uk_bench_called_convolutions(&s->library[CONV_CALLED], &s->how);
    uk_bench_copied_images(&s->library[CONV_COPY], &s->how);
    bench_conv_libraries_open(peers, bench_peers_directory(), &s->how);
    return uk_bench_choose_libraries(s->a->peers, peers, CONV_LIBRARIES - CONV_OURS,
                                     "oneDNN, ONNX, called, copy, plain");
}

int uk_bench_conv(const struct uk_arguments *a) {
    struct conv_session s = {
        .a = a,
        .how = {.type = a->type && !strcmp(a->type, "u8i8") ? BENCH_CONV_U8I8 : BENCH_CONV_F32,
                .threads = a->threads ? (int)a->threads : 1,
                .weights_are_arguments = a->weights && !strcmp(a->weights, "argument")},
        .table = a->json && !a->json_file ? stderr : stdout};
    int status = check_options(a);
    if (!status)
        status = uk_bench_choose_target(a, s.how.threads, &s.how.isa);
    if (!status)
        status = read_shapes(&s);
    if (!status)
        status = uk_bench_bind_to_cpus(s.how.threads);
    if (!status)
        status = open_libraries(&s);
    s.result = calloc((size_t)s.chosen + 1, sizeof *s.result);
    s.peaks = calloc((size_t)s.chosen + 1, sizeof *s.peaks);
    s.json = uk_bench_json();
    if (!status && (!s.result || !s.peaks || !s.json))
        status = uk_complain(UK_EXIT_WRONG, "out of memory");
    if (!status) {
        s.peak = bench_peak(s.how.isa, s.how.threads);
        uk_bench_add_conv_context(&s);
        uk_bench_print_conv_conditions(&s);
        status = measure_all(&s);
    }
    if (!status) {
        uk_bench_print_conv_summary(&s);
        status = s.done ? uk_bench_plot(a, s.json) : UK_EXIT_OK;
        const int compared = uk_bench_finish(a, s.json);
        status = status ? status : compared;
    }
    cJSON_Delete(s.json);
    free(s.result);
    free(s.peaks);
    bench_conv_shapes_free(&s.shapes);
    return status;
}
