/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: the bytes give a convolution's shape, options and operands, some of them wrong. A wrong
 * shape is refused, a right one is planned. A small convolution is run, and is then exactly what its
 * definition says; or it is refused for what is wrong, and nothing is written.
 */
#define _GNU_SOURCE /* posix_memalign */
#include <limits.h>
#include "conv_drawn.h"
#include "conv_wrong.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Multiply-adds, and bytes of all operands, of what is run. */
enum { WORK = 1 << 16, BYTES = 1 << 20 };

static void must(const struct conv_case *t, bool good, const char *rule) {
    if (good)
        return;
    describe(t);
    fprintf(stderr, "broken rule: %s; last message: \"%s\"\n", rule, uk_last_message());
    abort();
}

static const char other_message[] = "plan is NULL";

/* Makes another message the last one, so that has_message() sees whether a call sets its own. */
static void forget_message(const struct conv_case *t) {
    must(t, uk_sconv2d_plan(NULL, NULL, NULL) && !strcmp(uk_last_message(), other_message),
         "a plan that is NULL is refused");
}

static bool has_message(void) {
    const char *m = uk_last_message();

    return *m && strcmp(m, other_message) && !strchr(m, '\n');
}

/* ---- plans ---- */

static struct uk_conv2d_options draw_options(void) {
    const int threads = below(8);

    return (struct uk_conv2d_options){.threads = threads == 7 ? -1 - below(2) * INT_MAX : threads,
                                      .weights_packed = below(2),
                                      .machine = below(16)  ? NULL
                                                 : below(2) ? "zen4"
                                                            : "abacus"};
}

/* Plans the case and sets its checked shape, unless it is refused. */
static bool is_planned(struct conv_case *t, const struct uk_conv2d_options *options,
                       struct uk_conv2d_plan *plan) {
    struct uk_conv2d_plan before;
    int64_t p = 0, q = 0;
    const enum verdict verdict = judge_shape(&t->shape, &p, &q);
    const bool is_wrong = options->threads < 0 || (options->machine && !strcmp(options->machine, "abacus"));

    memset(plan, 0x5a, sizeof *plan);
    before = *plan;
    forget_message(t);
    const enum uk_status status = uk_sconv2d_plan(plan, &t->shape, options);

    if (status) {
        must(t, status == UK_INVALID_SIZE || status == UK_INVALID_ARGUMENT, "the status of a wrong shape");
        must(t, has_message(), "a shape is refused with a message");
        must(t, !memcmp(plan, &before, sizeof before), "a plan that is refused is not written");
        must(t, is_wrong || verdict != IS_RIGHT, "a right shape is planned");
        return false;
    }
    must(t, !is_wrong && verdict != IS_WRONG, "a wrong shape is refused");
    must(t, !uk_conv_check(&t->shape, &t->v) && t->v.p == p && t->v.q == q, "rows and columns of Y");
    return true;
}

static void explain(const struct conv_case *t, const struct uk_conv2d_plan *plan) {
    char text[2048], cut[16];
    const size_t length = uk_conv2d_explain(plan, text, sizeof text);

    must(t, length < sizeof text && length == strlen(text), "the length of an explanation");
    must(t,
         uk_conv2d_explain(plan, cut, sizeof cut) == length && strlen(cut) == sizeof cut - 1 &&
             !strncmp(cut, text, sizeof cut - 1),
         "an explanation that is cut");
    must(t, uk_conv2d_packed_weights_size(plan) >= CONV_STAMP, "packed weights begin with a stamp");
}

/* ---- runs ---- */

static bool is_small(const struct conv_case *t, const struct uk_conv2d_plan *plan) {
    const struct conv_shape *v = &t->v;
    const double counts[] = {(double)v->n, (double)v->p,  (double)v->q, (double)v->r,
                             (double)v->s, (double)v->gc, (double)v->o};
    const double weights = (double)conv_terms(v) * (double)v->o,
                 x = (double)span(&v->x, v->n, v->h, v->w, v->c),
                 y = (double)span(&v->y, v->n, v->p, v->q, v->o);
    double work = 1;

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        work *= fmax(counts[i], 1);
    return work <= WORK && (weights + x + 2 * y + (double)v->o) * sizeof(float) +
                                   (double)uk_conv2d_packed_weights_size(plan) +
                                   (double)uk_conv2d_workspace(plan) <
                               BYTES;
}

/* What is wrong with a call; OTHER_..: weights are packed by the plan of another window or image. */
enum fault { NO_X, NO_WEIGHTS, NO_Y, SHORT, MISALIGNED, OVERLAP, OTHER_WINDOW, OTHER_IMAGE, EPILOGUE, NONE };

struct call {
    struct conv_case *t;
    const struct uk_conv2d_plan *plan;
    enum fault fault;
    bool is_packed, has_work; /* weights are packed; there is a workspace */
    struct operand weights, work;
};

/* Packs weights by the call's plan or, if there is one, that of another shape. */
static void pack(struct call *c, const struct uk_conv2d_options *options) {
    const struct conv_case *t = c->t;
    const struct uk_conv2d *s = &t->shape;
    struct uk_conv2d other = *s;
    struct uk_conv2d_plan plan = *c->plan;
    const bool has_other = c->fault == OTHER_WINDOW || c->fault == OTHER_IMAGE;

    other.x = other.y = (struct uk_image_strides){0};
    other.s += c->fault == OTHER_WINDOW;
    other.dilation_w = 1;
    other.pad_left = other.s + below(40);
    other.pad_right = 0;
    other.layout = s->layout == UK_NHWC ? UK_NCHW : UK_NHWC;
    if (has_other && uk_sconv2d_plan(&plan, &other, options))
        c->fault = NONE;
    struct operand from =
        operand(c->fault == OTHER_WINDOW ? t->f.count / s->s * other.s : t->f.count, t->place);

    fill(&from, small_integer);
    if (c->fault != OTHER_WINDOW && from.count)
        memcpy(from.data, t->f.data, (size_t)from.count * sizeof(float));
    /* As large as the call's plan expects, even if it refuses them: it may name no overlap by chance. */
    const int64_t bytes = uk_max((int64_t)uk_conv2d_packed_weights_size(c->plan),
                                 (int64_t)uk_conv2d_packed_weights_size(&plan));

    c->weights = operand(bytes / (int64_t)sizeof(float), t->place);
    must(t, uk_sconv2d_pack_weights(&plan, from.data, NULL) == UK_INVALID_ARGUMENT, "no memory to pack to");
    must(t, !uk_sconv2d_pack_weights(&plan, from.data, c->weights.data), "weights are packed");
    free_operand(&from);
}

/* The first element of Y, for it to overlap an operand; of Y itself, if the operand that is drawn has none.
 */
static float *overlapping(const struct call *c) {
    const struct conv_case *t = c->t;
    const struct operand none = {0};
    const bool adds = t->has_epilogue && t->epilogue.flags & UK_EPILOGUE_RESIDUAL,
               has_bias = t->has_epilogue && t->epilogue.column_bias;
    const struct operand others[] = {t->x, c->weights, has_bias ? t->bias : none, adds ? t->residual : none,
                                     c->has_work ? c->work : none},
                         *o = &others[below(5)];

    return !o->count ? t->y.data : o->data + (below(2) ? o->count - 1 : 0);
}

enum { FINE = 1 << UK_OK, INVALID = 1 << UK_INVALID_ARGUMENT };

/* The statuses that a call may return, a bit for each. */
static int allowed(const struct call *c, bool overlaps) {
    const struct conv_case *t = c->t;
    const bool is_cleared =
                   t->has_epilogue && t->epilogue.flags & UK_EPILOGUE_SCALE && t->epilogue.scale == 0,
               reads = conv_terms(&t->v) && t->x.count && !is_cleared;

    if (c->fault == EPILOGUE)
        return INVALID;
    if (!t->y.count)
        return FINE;
    switch (c->fault) {
    case NO_X:
    case NO_WEIGHTS:
        return reads ? INVALID : FINE;
    case NO_Y:
        return INVALID;
    case SHORT:
    case MISALIGNED: /* of no use, if all sums are multiplied by 0 */
        return !c->work.count ? FINE : is_cleared ? INVALID | FINE : INVALID;
    case OVERLAP:
        return overlaps ? 1 << UK_OVERLAP : FINE;
    case OTHER_WINDOW:
        return c->is_packed && reads ? INVALID : FINE;
    case OTHER_IMAGE: /* weights may be packed alike */
        return c->is_packed && reads ? INVALID | FINE : FINE;
    default:
        return FINE;
    }
}

/* Of all that a call must not write. */
static uint64_t checksum(const struct call *c) {
    const struct operand inputs[] = {c->t->x, c->weights, c->t->bias, c->t->residual};
    uint64_t sum = 0;

    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        for (int64_t j = 0; j < inputs[i].count; j++) {
            uint32_t bits;

            memcpy(&bits, inputs[i].data + j, sizeof bits);
            sum = sum * 31 + bits;
        }
    return sum;
}

static void check_run(const struct call *c) {
    const struct conv_case *t = c->t;
    const size_t bytes = (size_t)c->work.count * sizeof(float);
    float *y = c->fault == OVERLAP ? overlapping(c) : c->fault == NO_Y ? NULL : t->y.data;
    char *work = c->has_work ? (char *)c->work.data + (c->fault == MISALIGNED ? sizeof(float) : 0) : NULL;
    const uint64_t before = checksum(c);

    forget_message(t);
    const enum uk_status status = uk_sconv2d_run(
        c->plan, c->fault == NO_X ? NULL : t->x.data, c->fault == NO_WEIGHTS ? NULL : c->weights.data, y,
        t->has_epilogue ? &t->epilogue : NULL, work, bytes - (c->fault == SHORT && bytes));

    must(t, allowed(c, y != t->y.data) >> status & 1, "the status of a run");
    must(t, checksum(c) == before, "operands that are read are not written");
    if (!status) {
        compare(t, "run");
        return;
    }
    must(t, has_message(), "a run is refused with a message");
    for (int64_t i = 0; i < t->y.count; i++)
        must(t, t->y.data[i] == UNWRITTEN, "Y is not written by a run that is refused");
}

/* Runs the plan, or one of another path. */
static void run_small(struct conv_case *t, const struct uk_conv2d_options *options,
                      struct uk_conv2d_plan *plan) {
    struct uk_conv2d_plan of_path;
    const char *path = uk_conv_paths[below(6)]->name;

    if (below(2) && !uk_conv_plan(&t->shape, options, path, (struct conv_plan *)(void *)&of_path) &&
        is_small(t, &of_path))
        *plan = of_path;
    struct call c = {.t = t, .plan = plan, .is_packed = options->weights_packed};

    c.fault = (enum fault)below(3 * NONE);
    c.fault = c.fault > NONE ? NONE : c.fault;
    c.has_work = below(2) || c.fault == SHORT || c.fault == MISALIGNED;
    make_operands(t, small_integer);
    if (!below(4))
        fill(&t->f, seldom_finite);
    for (int64_t i = 0; i < t->y.count; i++)
        t->y.data[i] = UNWRITTEN;
    if (c.fault == EPILOGUE)
        spoil_epilogue(t);
    c.weights = t->f;
    if (c.is_packed)
        pack(&c, options);
    /* Whole cache lines: it is aligned, wherever it is placed. */
    c.work = operand((int64_t)(uk_conv2d_workspace(plan) / sizeof(float)), t->place);
    check_run(&c);
    if (c.is_packed)
        free_operand(&c.weights);
    free_operand(&c.work);
    free_operands(t);
}

/* Comparisons that fail are to print their message and abort. */
int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    return setenv("CMOCKA_TEST_ABORT", "1", 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    seed = 0;
    input.at = data;
    input.left = size;
    seed = (uint64_t)below(256); /* of operands, and of what short inputs leave open */
    seed = seed << 8 | (uint64_t)below(256);
    struct conv_case t = draw_case();
    const struct uk_conv2d_options options = draw_options();
    struct uk_conv2d_plan plan;

    t.place = (enum place)below(3);
    if (!below(3))
        change_fields(&t.shape);
    if (!is_planned(&t, &options, &plan))
        return 0;
    explain(&t, &plan);
    if (!options.machine && is_small(&t, &plan))
        run_small(&t, &options, &plan);
    return 0;
}
