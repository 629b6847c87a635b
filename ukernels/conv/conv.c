/* SPDX-License-Identifier: Apache-2.0 */
/* The functions that programs call; checks of a run's arguments. */
#include "conv.h"

static const struct conv_plan *plan_in(const struct uk_conv2d_plan *callers) {
    const struct conv_plan *plan = (const struct conv_plan *)(const void *)callers;

    return plan && plan->path ? plan : NULL;
}

enum uk_status uk_sconv2d_plan(struct uk_conv2d_plan *plan, const struct uk_conv2d *shape,
                               const struct uk_conv2d_options *options) {
    struct conv_plan own;

    if (!plan || !shape)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "%s is NULL", plan ? "shape" : "plan");
    const enum uk_status status = uk_conv_plan(shape, options, NULL, &own);

    if (!status)
        *(struct conv_plan *)(void *)plan = own;
    return status;
}

size_t uk_conv2d_workspace(const struct uk_conv2d_plan *plan) {
    return plan_in(plan) ? plan_in(plan)->workspace : 0;
}

size_t uk_conv2d_packed_weights_size(const struct uk_conv2d_plan *plan) {
    return plan_in(plan) ? plan_in(plan)->packed_bytes : 0;
}

static enum uk_status check_plan(const struct conv_plan *plan) {
    return plan && plan->type == uk_gemm_look_up(&uk_gemm_f32)
               ? UK_OK
               : uk_gemm_refuse(UK_INVALID_ARGUMENT,
                                "the plan is not one of uk_sconv2d_plan for this machine");
}

/* ---- overlap ---- */

struct range {
    const char *name;
    const void *begin;
    size_t bytes;
};

static bool overlap(const struct range *a, const struct range *b) {
    const uintptr_t i = (uintptr_t)a->begin, j = (uintptr_t)b->begin;

    return a->begin && b->begin && a->bytes && b->bytes && (i < j ? j - i < a->bytes : i - j < b->bytes);
}

static enum uk_status check_overlap(const struct range *output, const struct range *others, int count) {
    for (int i = 0; i < count; i++)
        if (overlap(output, &others[i]))
            return uk_gemm_refuse(UK_OVERLAP, "%s overlaps %s", output->name, others[i].name);
    return UK_OK;
}

/* Bytes of the caller's weights. */
static size_t weights_bytes(const struct conv_plan *plan) {
    return plan->weights_packed ? plan->packed_bytes
                                : (size_t)(conv_terms(&plan->shape) * plan->shape.o) * sizeof(float);
}

enum uk_status uk_sconv2d_pack_weights(const struct uk_conv2d_plan *callers, const float *weights,
                                       float *packed) {
    const struct conv_plan *plan = plan_in(callers);
    enum uk_status status = check_plan(plan);

    if (status)
        return status;
    const size_t bytes = (size_t)(conv_terms(&plan->shape) * plan->shape.o) * sizeof(float);
    const struct range from = {"weights", weights, bytes}, to = {"packed", packed, plan->packed_bytes};

    if (!packed || (!weights && bytes))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "%s is NULL", packed ? "weights" : "packed");
    if ((status = check_overlap(&to, &from, 1)))
        return status;
    uk_conv_pack(plan, weights, packed);
    return UK_OK;
}

/* ---- runs ---- */

static enum uk_status take_epilogue(const struct uk_sgemm_epilogue *e, struct conv_epilogue *to) {
    const unsigned known = UK_EPILOGUE_SCALE | UK_EPILOGUE_CLAMP | UK_EPILOGUE_RESIDUAL;
    const bool scales = e->flags & UK_EPILOGUE_SCALE, clamps = e->flags & UK_EPILOGUE_CLAMP,
               adds = e->flags & UK_EPILOGUE_RESIDUAL;

    if (e->flags & ~known)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "epilogue.flags = %#x has an unknown flag", e->flags);
    if ((!scales && e->scale != 0) || (!clamps && (e->low != 0 || e->high != 0)))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "epilogue.%s is given without UK_EPILOGUE_%s",
                              !scales && e->scale != 0 ? "scale"
                              : e->low != 0            ? "low"
                                                       : "high",
                              !scales && e->scale != 0 ? "SCALE" : "CLAMP");
    if (e->row_bias)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                              "epilogue.row_bias must be NULL; column_bias is by output channel");
    if (adds && !e->residual)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                              "epilogue.residual is NULL, but UK_EPILOGUE_RESIDUAL is set");
    *to = (struct conv_epilogue){.scale = scales ? e->scale : 1,
                                 .low = clamps ? e->low : -HUGE_VALF,
                                 .high = clamps ? e->high : HUGE_VALF,
                                 .bias = e->column_bias,
                                 .residual = adds ? e->residual : NULL};
    return UK_OK;
}

/* Checks that Y overlaps nothing that is read. */
static enum uk_status check_output(const struct conv_plan *plan, const struct conv_operands *o,
                                   void *workspace, size_t bytes) {
    const size_t y = (size_t)plan->y_elements * sizeof(float);
    const struct conv_epilogue *e = o->epilogue;
    const struct range output = {"y", o->y, y},
                       others[] = {{"x", o->x, (size_t)plan->x_elements * sizeof(float)},
                                   {"weights", o->weights, weights_bytes(plan)},
                                   {"epilogue.column_bias", e ? e->bias : NULL,
                                    (size_t)plan->shape.o * sizeof(float)},
                                   {"epilogue.residual", e ? e->residual : NULL, y},
                                   {"workspace", workspace, bytes}};

    return check_overlap(&output, others, (int)(sizeof others / sizeof *others));
}

/* Runs with a workspace that suffices. */
static enum uk_status run_in(const struct conv_plan *plan, struct conv_operands *o, char *workspace) {
    if (plan->path == &uk_conv_none || plan->reads_weights || plan->panel_bytes) {
        uk_conv_run(plan, o, workspace);
        return UK_OK;
    }
    const float *packed = o->weights;

    if (!plan->weights_packed) {
        uk_conv_pack(plan, o->weights, (float *)(void *)workspace);
        packed = (const float *)(const void *)workspace;
        workspace += (plan->packed_bytes + GEMM_LINE - 1) / GEMM_LINE * GEMM_LINE;
    }
    if (!uk_conv_is_packed(plan, packed, &o->is_finite))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                              "weights were not packed for this plan: call uk_sconv2d_pack_weights with it");
    o->weights = packed + CONV_STAMP / sizeof *packed;
    uk_conv_run(plan, o, workspace);
    return UK_OK;
}

static enum uk_status run(const struct conv_plan *plan, struct conv_operands *o, void *workspace,
                          size_t bytes) {
    const bool reads = plan->path != &uk_conv_none;
    enum uk_status status = UK_OK;

    if (!o->y || (reads && (!o->x || !o->weights)))
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "%s is NULL", !o->y ? "y" : !o->x ? "x" : "weights");
    if (workspace && plan->workspace && (uintptr_t)workspace % GEMM_LINE)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT, "workspace is not aligned to %d bytes", GEMM_LINE);
    if (workspace && bytes < plan->workspace)
        return uk_gemm_refuse(UK_INVALID_ARGUMENT,
                              "workspace has %zu bytes; the plan needs the %zu of uk_conv2d_workspace", bytes,
                              plan->workspace);
    if ((status = check_output(plan, o, workspace, bytes)))
        return status;
    if (workspace || !plan->workspace)
        return run_in(plan, o, workspace);
    void *memory = uk_take_memory(plan->workspace);

    if (!memory)
        return uk_gemm_refuse(UK_OUT_OF_MEMORY, "no memory for a workspace of %zu bytes", plan->workspace);
    status = run_in(plan, o, memory);
    uk_give_memory(memory);
    return status;
}

/* Prints the line of a call (UK_VERBOSE=1). */
static void say(const struct conv_plan *plan, enum uk_status status, double microseconds) {
    const struct conv_shape *v = &plan->shape;
    const int64_t tasks = plan->row_tasks * plan->panel_tasks;

    uk_say_line(
        "ukernels: sconv2d %lld x %lld x %lld x %lld > %lld, window %lld x %lld, groups %lld: %s%s%s, %lld "
        "%s, %.3f us%s%s",
        (long long)v->n, (long long)v->p, (long long)v->q, (long long)v->c, (long long)v->o, (long long)v->r,
        (long long)v->s, (long long)v->groups, plan->path->name, plan->kernel ? ", " : "",
        plan->kernel ? plan->kernel->symbol : "", (long long)tasks, tasks == 1 ? "thread" : "threads",
        microseconds, status ? ", " : "", status ? uk_status_text(status) : "");
}

enum uk_status uk_sconv2d_run(const struct uk_conv2d_plan *callers, const float *x, const float *weights,
                              float *y, const struct uk_sgemm_epilogue *epilogue, void *workspace,
                              size_t bytes) {
    const struct conv_plan *plan = plan_in(callers);
    struct conv_plan without_terms;
    struct conv_epilogue e;
    struct conv_operands o = {x, weights, false, y, epilogue ? &e : NULL};
    enum uk_status status = check_plan(plan);

    if (status || (epilogue && (status = take_epilogue(epilogue, &e))) || !plan->y_elements)
        return status;
    if (epilogue && e.scale == 0) { /* neither X nor the weights are read */
        without_terms = *plan;
        without_terms.path = &uk_conv_none;
        without_terms.copies = CONV_IN_PLACE;
        without_terms.stores = false;
        without_terms.copy_bytes = without_terms.sums_bytes = without_terms.panel_bytes = 0;
        without_terms.workspace = 0;
        plan = &without_terms;
    }
    const double begin = uk_gemm_is_verbose ? uk_microseconds() : 0;

    status = run(plan, &o, workspace, bytes);
    if (uk_gemm_is_verbose)
        say(plan, status, uk_microseconds() - begin);
    return status;
}

/* ---- a plan in words ---- */

size_t uk_conv2d_explain(const struct uk_conv2d_plan *plan, char *buffer, size_t size) {
    static const char *const copies[] = {[CONV_IN_PLACE] = "read in place",
                                         [CONV_PIXELS] = "copied by rows, channels adjacent",
                                         [CONV_CHANNELS] = "copied by rows, columns adjacent"};
    const struct conv_plan *p = plan_in(plan);
    struct gemm_text t = {buffer, buffer ? size : 0, 0};

    if (t.size)
        buffer[0] = 0;
    if (!p)
        return 0;
    const struct conv_shape *v = &p->shape;

    uk_gemm_add(&t, "convolution: sconv2d, %lld rows of %lld pixels, %lld channels, %lld terms, %lld %s\n",
                (long long)conv_rows(v), (long long)v->q, (long long)v->o, (long long)conv_terms(v),
                (long long)v->groups, v->groups == 1 ? "group" : "groups");
    uk_gemm_add(&t, "path: %s, %s%s%s\n", p->path->name, p->path->explanation, p->kernel ? ": " : "",
                p->kernel ? p->kernel->symbol : "");
    uk_gemm_add(&t, "x: %s; y: %s\n", copies[p->copies],
                p->stores ? "stored from a buffer" : "written in place");
    uk_gemm_add(&t, "weights: %s\n",
                p->path == &uk_conv_none ? "not read"
                : p->weights_packed      ? "packed beforehand"
                : p->reads_weights       ? "read in place"
                : p->panel_bytes         ? "packed in each call, a panel at a time"
                                         : "packed in each call");
    uk_gemm_add(&t, "tiles: %lld pixels x %d channels; blocks of %lld rows\n", (long long)p->tile, p->width,
                (long long)p->block);
    if (p->box_r)
        uk_gemm_add(&t, "terms at a time: %lld rows x %lld columns x %lld channels\n", (long long)p->box_r,
                    (long long)p->box_s, (long long)p->box_c);
    uk_gemm_add(&t, "threads: %lld (%lld x %lld)\n", (long long)(p->row_tasks * p->panel_tasks),
                (long long)p->row_tasks, (long long)p->panel_tasks);
    uk_gemm_add(&t, "workspace: %zu bytes\n", p->workspace);
    uk_gemm_add(&t, "estimate: %.0f cycles on one thread\n", p->cycles);
    return t.length;
}
