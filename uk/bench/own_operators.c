/* SPDX-License-Identifier: Apache-2.0 */
/* Our own operators in uk bench ops: the programs of bench/ops/, compiled with all sizes as constants. */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "file.h"
#include "ops.h"
#include "tensorize.h"

struct uk_own_operator {
    const struct bench_op *op;
    struct uk_context *context;
    struct uk_program *program;
    struct uk_module *module;
    void *tensors[BENCH_OP_TENSORS];
    char kernels[512];
};

/* ---- the program ---- */

/* The text with one word in place of another. NULL: out of memory. */
static char *replace_word(const char *text, const char *word, const char *by) {
    const size_t length = strlen(word), longer = strlen(by);
    char *result = malloc(strlen(text) * (longer + 1) + 1), *to = result;
    for (const char *p = text; result && *p;) {
        const char *end = p;
        while (isalnum((unsigned char)*end) || *end == '_')
            end++;
        if ((size_t)(end - p) == length && !memcmp(p, word, length)) {
            memcpy(to, by, longer);
            to += longer;
        } else {
            end += end == p;
            memcpy(to, p, (size_t)(end - p));
            to += end - p;
        }
        p = end;
    }
    if (result)
        *to = 0;
    return result;
}

/* The operator's program, a built-in one or a file. The caller frees it. NULL: it printed why not. */
static char *text_of(const struct bench_op *op, const char *type) {
    size_t length;
    for (const struct bench_op_program *p = bench_op_programs; p->name; p++)
        if (!strcmp(p->name, op->program))
            return replace_word(p->text, op->type[0], type);
    char *file = uk_read_file(op->program, &length),
         *text = file ? replace_word(file, op->type[0], type) : NULL;
    free(file);
    return text;
}

static bool refuse(const struct uk_own_operator *o, enum uk_status status) {
    const char *message = uk_context_message(o->context);
    uk_complain(UK_EXIT_WRONG, "operator %s: %s", o->op->name, *message ? message : uk_status_text(status));
    return false;
}

/* Finds all sizes of the program: those of the shape, those of the program's items, then those that follow
 * from its assumptions. */
static enum uk_status find_sizes(const struct uk_own_operator *o, const struct bench_op_case *shape,
                                 int64_t sizes[BENCH_OP_SIZES]) {
    const int64_t *extents[BENCH_OP_TENSORS] = {NULL};
    for (int n = 0; n < uk_program_sizes(o->program); n++) {
        const char *name = uk_program_size_name(o->program, n);
        sizes[n] = bench_op_size_value(shape, name);
        if (sizes[n] < 0)
            sizes[n] = uk_program_size_default(o->program, n);
    }
    return uk_program_solve_sizes(o->program, extents, NULL, sizes);
}

/* Checks the limits of the program, and that it has the sizes of the shape. */
static bool fits(const struct uk_own_operator *o, const struct bench_op_case *shape) {
    if (uk_program_sizes(o->program) > BENCH_OP_SIZES || uk_program_tensors(o->program) > BENCH_OP_TENSORS ||
        uk_program_scalars(o->program)) {
        uk_complain(UK_EXIT_WRONG,
                    "operator %s: its program may have at most %d sizes and %d tensors, and no scalars",
                    o->op->name, BENCH_OP_SIZES, BENCH_OP_TENSORS);
        return false;
    }
    for (int i = 0; i < shape->count; i++) {
        bool known = false;
        for (int n = 0; n < uk_program_sizes(o->program); n++)
            known |= !strcmp(shape->size[i].name, uk_program_size_name(o->program, n));
        if (!known) {
            uk_complain(UK_EXIT_WRONG, "operator %s: its program has no size %s", o->op->name,
                        shape->size[i].name);
            return false;
        }
    }
    return true;
}

/* Completes the shape: it gets all sizes of the program, in order. */
static bool complete(const struct uk_own_operator *o, struct bench_op_case *shape) {
    int64_t sizes[BENCH_OP_SIZES];
    struct bench_op_case all = {.count = uk_program_sizes(o->program)};
    if (!fits(o, shape))
        return false;
    const enum uk_status status = find_sizes(o, shape, sizes);
    if (status)
        return refuse(o, status);
    memcpy(all.type, shape->type, sizeof all.type);
    for (int n = 0; n < all.count; n++) {
        snprintf(all.size[n].name, sizeof all.size[n].name, "%s", uk_program_size_name(o->program, n));
        all.size[n].value = sizes[n];
    }
    *shape = all;
    return true;
}

struct uk_own_operator *uk_own_operator_parse(const struct bench_op *op, struct bench_op_case *shape) {
    struct uk_own_operator *o = calloc(1, sizeof *o);
    char *text = text_of(op, shape->type);
    if (!o || !text || !(o->context = uk_context_create())) {
        free(text);
        free(o);
        return NULL;
    }
    o->op = op;
    const enum uk_status status = uk_program_parse(o->context, op->program, text, strlen(text), &o->program);
    free(text);
    if (status ? refuse(o, status) : complete(o, shape))
        return o;
    uk_own_operator_free(o);
    return NULL;
}

void uk_own_operator_free(struct uk_own_operator *o) {
    if (!o)
        return;
    uk_module_destroy(o->module);
    uk_program_destroy(o->program);
    uk_context_destroy(o->context);
    free(o);
}

/* ---- operands ---- */

static void read_sizes(const struct bench_op_case *shape, int64_t sizes[BENCH_OP_SIZES]) {
    for (int i = 0; i < shape->count; i++)
        sizes[i] = shape->size[i].value;
}

int64_t uk_own_operator_bytes(void *own, const struct bench_op_case *shape) {
    const struct uk_own_operator *o = own;
    int64_t sizes[BENCH_OP_SIZES], bytes = 0;
    if (find_sizes(o, shape, sizes))
        return -1;
    for (int t = 0; t < uk_program_tensors(o->program); t++) {
        const int64_t all = uk_program_tensor_elements(o->program, t, sizes);
        const int64_t elements = bench_op_touched(o->op, shape, uk_program_tensor_name(o->program, t), all);
        if (all < 0 || elements < 0)
            return -1;
        bytes += elements * (int64_t)uk_type_bytes(uk_program_tensor_type(o->program, t));
    }
    return bytes;
}

bool uk_own_operator_describe(const struct uk_own_operator *o, struct bench_op_call *c) {
    int64_t sizes[BENCH_OP_SIZES];
    read_sizes(c->shape, sizes);
    c->tensors = uk_program_tensors(o->program);
    for (int i = 0; i < c->tensors; i++) {
        struct bench_op_tensor *t = &c->tensor[i];
        *t = (struct bench_op_tensor){.is_read = uk_program_tensor_read(o->program, i),
                                      .is_written = uk_program_tensor_written(o->program, i),
                                      .dims = uk_program_tensor_dims(o->program, i),
                                      .elements = uk_program_tensor_elements(o->program, i, sizes),
                                      .element = uk_type_bytes(uk_program_tensor_type(o->program, i))};
        snprintf(t->name, sizeof t->name, "%s", uk_program_tensor_name(o->program, i));
        snprintf(t->type, sizeof t->type, "%s", uk_type_name(uk_program_tensor_type(o->program, i)));
        if (t->dims > BENCH_OP_DIMS || t->elements < 1 || t->is_read == t->is_written) {
            uk_complain(UK_EXIT_WRONG,
                        "operator %s: tensor %s must have 1 element at least, %d dimensions at most, and be "
                        "either read "
                        "or written",
                        c->op->name, t->name, BENCH_OP_DIMS);
            c->tensors = 0;
            return false;
        }
        for (int d = 0; d < t->dims; d++)
            t->extent[d] = uk_program_tensor_extent(o->program, i, d, sizes);
    }
    return true;
}

/* ---- the call ---- */

static struct uk_options options_of(const struct uk_arguments *a) {
    return (struct uk_options){.target = a->target, .threads = a->threads ? (int)a->threads : 1};
}

bool uk_own_operator_compile(struct uk_own_operator *o, const struct bench_op_call *c,
                             const struct uk_arguments *a) {
    const struct uk_options options = options_of(a);
    enum uk_status status = UK_OK;
    size_t used = 0;
    for (int i = 0; i < c->shape->count && !status; i++)
        status = uk_program_define(o->program, c->shape->size[i].name, c->shape->size[i].value);
    if (!status)
        status = uk_compile(o->program, &options, &o->module);
    if (status)
        return refuse(o, status);
    for (int t = 0; t < c->tensors; t++)
        o->tensors[t] = c->tensor[t].data;
    for (int i = 0; uk_module_kernel(o->module, i) && used < sizeof o->kernels; i++)
        used += (size_t)snprintf(o->kernels + used, sizeof o->kernels - used, "%s%s", i ? ", " : "",
                                 uk_module_kernel(o->module, i));
    return true;
}

/* A call that fails leaves the results as they were, which the check finds. */
void uk_own_operator_repeat(const struct uk_own_operator *o, long calls) {
    for (long i = 0; i < calls; i++)
        uk_module_call(o->module, NULL, NULL, o->tensors);
}

const char *uk_own_operator_kernels(const struct uk_own_operator *o) {
    return o->kernels;
}

/* ---- the check ---- */

enum { SAMPLES = 24 };

/* Compares elements of a result, the first and the last among them. */
static bool check_tensor(struct uk_own_operator *o, const struct bench_op_call *c,
                         const struct uk_arguments *a, int tensor) {
    const struct uk_options options = options_of(a);
    const struct bench_op_tensor *t = &c->tensor[tensor];
    const int64_t count = t->elements < SAMPLES ? t->elements : SAMPLES;
    int64_t sizes[BENCH_OP_SIZES], element[SAMPLES];
    double expected[SAMPLES], error[SAMPLES]; /* expected: elements of any type */
    read_sizes(c->shape, sizes);
    for (int64_t i = 0; i < count; i++)
        element[i] = count > 1 ? (int64_t)((double)i * (double)(t->elements - 1) / (double)(count - 1)) : 0;
    const enum uk_status status = uk_program_interpret_elements(o->program, &options, sizes, NULL, o->tensors,
                                                                tensor, count, element, expected, error);
    if (status)
        return refuse(o, status);
    for (int64_t i = 0; i < count; i++) {
        const double got = bench_op_value(t, t->data, element[i]), want = bench_op_value(t, expected, i);
        if (fabs(got - want) <= error[i] || (isnan(got) && isnan(want)) || (isinf(got) && got == want))
            continue;
        char text[BENCH_OP_TEXT];
        bench_op_text(c->shape, text, sizeof text);
        uk_complain(UK_EXIT_WRONG,
                    "operator %s, %s: element %" PRId64 " of %s is %g, but the interpreter has %g",
                    c->op->name, text, element[i], t->name, got, want);
        return false;
    }
    return true;
}

bool uk_own_operator_check(struct uk_own_operator *o, const struct bench_op_call *c,
                           const struct uk_arguments *a) {
    for (int t = 0; t < c->tensors; t++)
        if (c->tensor[t].is_written && !check_tensor(o, c, a, t))
            return false;
    return true;
}
