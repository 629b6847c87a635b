/* SPDX-License-Identifier: Apache-2.0 */
/* uk run --time: prints the times of compilation, and the function's speed compared with the peak and with
 * peers. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "operands/data.h"
#include "program.h"
#include "operands/shape.h"
#include "time_program.h"
#include "uk.h"

int uk_target_isa(const char *target) {
    int isa = target ? bench_isa_of(target) : 0;

    if (isa)
        return isa;
    for (isa = bench_isa_count - 1; isa > 0 && uk_cpu_lacks(bench_isas[isa].features, NULL, 0);)
        isa--;
    return isa;
}

struct ours {
    const struct uk_module *module;
    int64_t *sizes;
    const double *scalars;
    struct uk_operands operands;
    int status;
};

static void run_ours(void *user) {
    struct ours *o = user;
    o->status |= uk_module_call(o->module, o->sizes, o->scalars, o->operands.origins);
}

struct theirs {
    const struct bench_peer *peer;
    const struct bench_gemm *gemm;
};

/* Fills in other values and packs constant tensors again. */
static int change_values(struct ours *o, struct uk_data *data) {
    enum uk_status packed;
    uk_data_random(data);
    int status = uk_operands_pack(&o->operands, &packed);
    o->status |= packed;
    return status;
}

static void run_theirs(void *user) {
    struct theirs *t = user;
    bench_peer_run(t->peer, t->gemm);
}

static double compile_time(const struct uk_job *job, const struct uk_module *m) {
    double milliseconds, sum = 1e3 * job->parse_time;
    for (int i = 0; uk_module_time(m, i, &milliseconds); i++)
        sum += milliseconds;
    return sum;
}

/* Prints the times of the stages from text to code, and of a second compilation in the same context, which
 * reuses cached results of the first. */
static int print_stages(const struct uk_job *job, const struct uk_arguments *a, const struct uk_module *m) {
    struct uk_job again = *job;
    struct uk_module *second = NULL;
    double milliseconds;
    printf("compiled in parse %.1f", 1e3 * job->parse_time);
    for (int i = 0; uk_module_time(m, i, &milliseconds); i++)
        printf(", %s %.1f", uk_module_time(m, i, &milliseconds), milliseconds);
    printf(": %.1f ms", compile_time(job, m));
    again.program = NULL;
    int status = uk_job_parse(&again, a);
    if (!status) {
        enum uk_status compiled = uk_compile(again.program, &again.options, &second);
        if (compiled)
            status = uk_job_failed(&again, compiled);
        else
            printf("; again in the same process: %.1f ms", compile_time(&again, second));
    }
    printf("\n");
    uk_module_destroy(second);
    uk_program_destroy(again.program);
    return status;
}

static void print_ours(const struct bench_contender *c, const struct bench_plan *plan, double bytes) {
    printf("time: %.4f ms (%.4f..%.4f)", 1e3 * c->seconds, 1e3 * c->fastest, 1e3 * c->slowest);
    if (bytes > 0)
        printf(", %.1f GB/s", 1e-9 * bytes / c->seconds);
    if (plan->flops > 0)
        printf(", %.1f GFLOP/s", 1e-9 * plan->flops / c->seconds);
    if (plan->flops > 0 && !(bytes > 0))
        printf(", %.1f %% of the %s peak measured next to it (%.1f GFLOP/s, %d thread%s)", c->percent,
               bench_isas[plan->isa].name, 1e-9 * plan->peak, plan->threads, plan->threads > 1 ? "s" : "");
    printf("\n");
}

/* True if a peer's result equals ours up to rounding. */
static bool same_product(const struct uk_array *c, const float *mine, const struct bench_gemm *g) {
    for (size_t i = 0; i < c->elements; i++)
        if (!(fabs(mine[i] - uk_data_value(c, i)) <= 1e-5 * (double)(g->k + 1)))
            return false;
    return true;
}

static bool peer_agrees(const struct bench_peer *peer, const struct bench_gemm *g, struct ours *o,
                        struct uk_data *data, bool *out_of_memory) {
    const struct uk_array *c = data->array;
    while (c->origin != g->c)
        c++;
    float *mine = malloc(c->bytes + 1);
    if (!mine || change_values(o, data)) {
        free(mine);
        *out_of_memory = true;
        return false;
    }
    run_ours(o);
    memcpy(mine, c->origin, c->bytes);
    uk_data_random(data);
    bench_peer_run(peer, g);
    bool same = same_product(c, mine, g);
    free(mine);
    return same;
}

/* Adds the peers that are installed and compute the same; reports why the others are missing. Returns the
 * number of contenders. */
static int add_peers(struct bench_peers *peers, struct bench_gemm *g, struct ours *o, struct uk_data *data,
                     struct bench_contender *contender, struct theirs *theirs, int count) {
    bool out_of_memory = false;
    for (int i = 0; i < BENCH_PEERS; i++) {
        struct bench_peer *p = &peers->peer[i];
        if (!p->sgemm) {
            printf("%s: %s\n", p->name, p->detail);
        } else if (!peer_agrees(p, g, o, data, &out_of_memory)) {
            printf("%s: %s\n", p->name,
                   out_of_memory ? "out of memory" : "its product differs from ours: not compared");
        } else {
            theirs[i] = (struct theirs){p, g};
            contender[count++] =
                (struct bench_contender){.name = p->name, .run = run_theirs, .user = &theirs[i]};
        }
    }
    return count;
}

static void print_peers(const struct bench_contender *contender, int count) {
    for (int i = 1; i < count; i++) {
        const struct bench_contender *c = &contender[i];
        const struct bench_peer *p = ((struct theirs *)c->user)->peer;
        printf("%s: %.3f x its speed (%.3f..%.3f); it takes %.4f ms, %.1f %% of the peak; %s\n", p->name,
               c->ratio, c->ratio_low, c->ratio_high, 1e3 * c->seconds, c->percent, p->detail);
    }
}

static int measure(const struct uk_job *job, const int64_t *sizes, struct ours *ours, struct uk_data *data) {
    const struct uk_program *p = job->program;
    struct bench_contender contender[1 + BENCH_PEERS];
    struct theirs theirs[BENCH_PEERS];
    struct bench_peers peers;
    struct bench_gemm gemm;
    struct bench_plan plan = {.isa = uk_target_isa(job->options.target),
                              .threads = job->options.threads,
                              .flops = uk_operations(p, sizes)};
    int count = 1, failed = change_values(ours, data);
    if (failed)
        return failed;
    contender[0] = (struct bench_contender){.name = "this", .run = run_ours, .user = ours};
    if (uk_is_gemm(p, sizes, data->origins, &gemm)) {
        bench_peers_open(&peers, bench_peers_directory(), plan.isa, plan.threads);
        count = add_peers(&peers, &gemm, ours, data, contender, theirs, count);
    }
    enum uk_status status = bench_paired(&plan, contender, count);
    if (status || ours->status)
        return uk_complain(UK_EXIT_WRONG, "measuring failed: %s",
                           uk_status_text(status ? status : (enum uk_status)ours->status));
    print_ours(&contender[0], &plan, uk_traffic(p, sizes));
    print_peers(contender, count);
    return UK_EXIT_OK;
}

int uk_time_program(const struct uk_job *job, const struct uk_arguments *a, struct uk_module *m,
                    const int64_t *sizes, const double *scalars, struct uk_data *data) {
    struct ours ours = {.module = m,
                        .sizes = calloc((size_t)job->program->size_count + 1, sizeof *ours.sizes),
                        .scalars = scalars,
                        .operands = {.data = data}};
    enum uk_status packed;
    int arguments = 0;
    if (!ours.sizes)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    for (const struct uk_var *v = job->program->sizes; v; v = v->next)
        if (!v->defined)
            ours.sizes[arguments++] = sizes[v->number];
    int status = print_stages(job, a, m);
    if (!status)
        status = uk_operands_create(&ours.operands, data, m, ours.sizes, &packed);
    if (!status)
        status = measure(job, sizes, &ours, data);
    uk_operands_free(&ours.operands);
    free(ours.sizes);
    return status;
}
