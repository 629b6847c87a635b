/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A case of a kernel for GPUs: one block of threads, which are callers by themselves or, if the kernel is a
 * whole wave's, wave by wave. Each caller has its own tile of each operand that the kernel writes; the inputs
 * come from a few problems, whose tiles several callers share so that adjacent ones have different tiles. The
 * interpreter computes each problem; the runner launches the kernel around the form (device_code.c).
 *
 * Memory between tiles is uninitialized in every other case, where a simulator reports a result that depends
 * on it; in the others it holds canaries, which must be unchanged afterwards. The first tile begins at the
 * start of its memory, and the last one ends at its end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "verify.h"

enum { CANARY = 0xca, MAX_THREADS = 256, MAX_PROBLEMS = 5, TENSOR_GAPS = 4 };

/* One memory, or that of one operand: the bytes sent, and those that come back. */
struct image {
    size_t bytes;
    unsigned char *data, *before;
    unsigned char *defined; /* 1: byte of an element */
};

struct operand {
    const struct uk_tensor *tensor;
    struct image *image;
    size_t bytes,
        below; /* bytes: from the lowest element to the highest; below: from the lowest to the origin */
    size_t align;
    const struct uk_lane_map *spread; /* has no layout if the operand is not spread over lanes */
    int lanes;                        /* threads with one tile: 1 in registers, else those of a caller */
    int tiles;                        /* one per problem, or one per caller or thread */
    size_t lowest[MAX_THREADS];       /* offset of each tile in the image */
};

struct device_case {
    struct uk_verifier *v;
    struct uk_verifier problem[MAX_PROBLEMS];
    int problems, threads;
    int lanes;        /* threads that call together: 1, or those of a wave */
    bool initialized; /* all of shared memory is initialized */
    struct image shared, own[UK_VERIFY_TENSORS];
    struct operand operand[UK_VERIFY_TENSORS];
    uint32_t *tile;      /* for each tensor and thread: the offset of its origin in the image */
    unsigned char *unit; /* for each unit of shared memory: it is initialized */
    char message[256];
};

/* ---- places of tiles ---- */

static size_t multiple(size_t n, size_t of) {
    return (n + of - 1) / of * of;
}

/* Aligned as declared, and in half of the cases not better. */
static size_t place(struct uk_verifier *v, const struct operand *o, size_t at) {
    size_t origin = multiple(at + o->below, o->align);

    if (uk_verify_random(v, 2) && origin % (2 * o->align) == 0 && at)
        origin += o->align;
    return origin - o->below;
}

/* Lays out all tiles one after the other; each case begins with another operand. */
static void lay_out(struct device_case *c) {
    struct uk_verifier *v = c->v;

    c->shared.bytes = 0;
    for (int i = 0; i < v->tensors; i++) {
        struct operand *o = &c->operand[(i + v->number) % v->tensors];
        const bool dense = o->tensor->scope == UK_SCOPE_REGISTER;
        size_t end = o->image->bytes;

        if (o->image != &c->shared)
            end = 0;
        o->tiles = o->tensor->is_written || dense ? c->threads / o->lanes : c->problems;
        for (int k = 0; k < o->tiles; k++) {
            const size_t gap = end && !dense ? o->align * uk_verify_random(v, TENSOR_GAPS) : 0;

            o->lowest[k] = dense ? end : place(v, o, end + gap);
            end = o->lowest[k] + o->bytes;
        }
        o->image->bytes = end;
    }
    c->shared.bytes = multiple(c->shared.bytes, uk_verify_unit(v->intrinsic));
}

static void find_operands(struct device_case *c) {
    struct uk_verifier *v = c->v;
    const struct uk_memory *m = c->problem[0].memory;

    v->tensors = 0;
    for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next, m++) {
        const size_t element = uk_type_bytes(t->type);
        struct operand *o = &c->operand[v->tensors];

        *o = (struct operand){.tensor = t,
                              .image = t->scope == UK_SCOPE_SHARED ? &c->shared : &c->own[v->tensors],
                              .bytes = (size_t)m->elements * element,
                              .below = (size_t)-m->lowest * element,
                              .spread = &v->spread[v->tensors],
                              .lanes = t->scope == UK_SCOPE_REGISTER ? 1 : c->lanes,
                              .align = t->align > (int)element ? (size_t)t->align : element};
        if (t->scope == UK_SCOPE_REGISTER)
            o->bytes =
                (size_t)(o->spread->layout ? o->spread->elements : uk_verify_registers(v->intrinsic, t)) *
                element;
        v->tensors++;
    }
}

/* Reduces problems and threads until shared memory has room; false: it has none for one of each. */
static bool find_room(struct device_case *c) {
    const size_t max_bytes = (size_t)c->v->device->target->machine.core.device.shared_bytes;

    for (lay_out(c); c->shared.bytes > max_bytes; lay_out(c)) {
        if (c->threads == c->lanes)
            return false;
        if (c->problems > 1)
            c->problems--;
        else
            c->threads = (int)multiple((size_t)c->threads / 2, (size_t)c->lanes);
    }
    return true;
}

bool uk_verify_device_fits(struct uk_verifier *v) {
    const int64_t max_bytes = v->device->target->machine.core.device.shared_bytes;
    int64_t bytes = 0;

    for (const struct uk_tensor *t = v->intrinsic->declaration->tensors; t; t = t->next) {
        const int64_t elements = uk_tensor_elements(t, uk_verify_size, v);

        if (t->scope != UK_SCOPE_SHARED)
            continue;
        if (elements < 0 || elements > max_bytes)
            return false;
        bytes += elements * (int64_t)uk_type_bytes(t->type) + 2 * t->align;
    }
    return bytes <= max_bytes;
}

/* ---- contents ---- */

/* Copies the elements of the caller's tile to the image, or back to its problem. */
static void exchange(struct device_case *c, int n, int caller, unsigned char *mask, bool back) {
    const struct operand *o = &c->operand[n];
    const size_t at = o->lowest[caller * c->lanes / o->lanes % o->tiles];
    struct uk_verifier *problem = &c->problem[caller % c->problems];
    unsigned char *defined = mask ? mask + at : NULL;

    if (o->spread->layout)
        uk_verify_exchange_lanes(problem, n, o->image->data + at, defined, back);
    else
        uk_memory_exchange(problem, n, o->image->data + at, defined, back);
}

static bool fill_image(struct device_case *c, struct image *m) {
    m->data = malloc(m->bytes + 1);
    m->before = malloc(m->bytes + 1);
    m->defined = calloc(m->bytes + 1, 1);
    if (!m->data || !m->before || !m->defined)
        return false;
    memset(m->data, CANARY, m->bytes);
    for (int n = 0; n < c->v->tensors; n++)
        for (int k = 0; k < c->threads / c->lanes && c->operand[n].image == m; k++)
            exchange(c, n, k, m->defined, false);
    memcpy(m->before, m->data, m->bytes);
    return true;
}

static bool fill(struct device_case *c) {
    const size_t unit = uk_verify_unit(c->v->intrinsic), threads = (size_t)c->threads;

    c->tile = calloc((size_t)c->v->tensors * threads + 1, sizeof *c->tile);
    if (!c->tile || !fill_image(c, &c->shared))
        return false;
    for (int n = 0; n < c->v->tensors; n++) {
        const struct operand *o = &c->operand[n];

        if (o->image != &c->shared && !fill_image(c, o->image))
            return false;
        for (size_t i = 0; i < threads; i++)
            c->tile[(size_t)n * threads + i] =
                (uint32_t)(o->lowest[i / (size_t)o->lanes % (size_t)o->tiles] + o->below);
    }
    c->unit = calloc(c->shared.bytes / unit + 1, 1);
    for (size_t i = 0; i < c->shared.bytes && c->unit; i++)
        c->unit[i / unit] |= c->initialized || c->shared.defined[i];
    return c->unit;
}

/* ---- the launch ---- */

static enum uk_status launch(struct device_case *c) {
    struct uk_verify_argument argument[5 + UK_VERIFY_TENSORS + UK_VERIFY_WORDS];
    const struct uk_device_code *device = c->v->device;
    const struct uk_form *f = &c->v->intrinsic->form[c->v->form];
    const size_t unit = uk_verify_unit(c->v->intrinsic);
    struct abi_value value[UK_VERIFY_WORDS];
    uint32_t units = (uint32_t)(c->shared.bytes / unit), threads = (uint32_t)c->threads;
    struct uk_arena arena = {0};
    struct uk_verify_launch l = {.gpu = device->target->cpu,
                                 .image = device->image,
                                 .image_bytes = device->bytes,
                                 .kernel = uk_verify_call_name(&arena, c->v->index, (int)c->v->form),
                                 .threads = threads,
                                 .shared_bytes = (uint32_t)c->shared.bytes,
                                 .seed = uk_verify_random(c->v, UINT64_MAX),
                                 .argument = argument};

    argument[l.arguments++] = (struct uk_verify_argument){
        c->tile, (size_t)c->v->tensors * (size_t)c->threads * sizeof *c->tile, true};
    argument[l.arguments++] = (struct uk_verify_argument){c->shared.data, c->shared.bytes, true};
    argument[l.arguments++] = (struct uk_verify_argument){c->unit, units, true};
    argument[l.arguments++] = (struct uk_verify_argument){&units, sizeof units, false};
    argument[l.arguments++] = (struct uk_verify_argument){&threads, sizeof threads, false};
    for (int n = 0; n < c->v->tensors; n++)
        if (c->operand[n].image != &c->shared)
            argument[l.arguments++] =
                (struct uk_verify_argument){c->operand[n].image->data, c->operand[n].image->bytes, true};
    uk_verify_set_arguments(&c->problem[0], value);
    for (int i = 0; i < f->arguments; i++)
        if (!f->argument[i].tensor)
            argument[l.arguments++] = (struct uk_verify_argument){
                &value[i].bits, uk_type_bytes((enum uk_type)f->argument[i].ctype), false};
    uk_verify_begin_call(c->v, getpid());
    enum uk_status s = l.kernel
                           ? device->runner->launch(device->runner->user, &l, c->message, sizeof c->message)
                           : UK_OUT_OF_MEMORY;

    uk_verify_end_call(c->v);
    uk_arena_free(&arena);
    return s;
}

/* ---- results ---- */

static bool compare_tiles(struct device_case *c, int caller) {
    struct uk_verifier *p = &c->problem[caller % c->problems];
    char *what = p->verdict->what;

    for (int n = 0; n < c->v->tensors; n++)
        exchange(c, n, caller, NULL, true);
    const bool good = uk_memory_compare(p);
    const size_t length = strlen(what);

    if (!good)
        snprintf(what + length, sizeof p->verdict->what - length, "; in %s %d",
                 c->lanes > 1 ? "wave" : "thread", caller);
    uk_memory_restore(p);
    return good;
}

/* Checks that bytes outside of elements are unchanged. */
static bool compare_rest(struct device_case *c, const struct image *m) {
    size_t i = 0, distance = SIZE_MAX;
    const char *name = "its operands";

    while (i < m->bytes && (m->defined[i] || m->data[i] == m->before[i]))
        i++;
    if (i == m->bytes)
        return true;
    for (int n = 0; n < c->v->tensors; n++)
        for (int k = 0; k < c->operand[n].tiles && c->operand[n].image == m; k++) {
            const size_t begin = c->operand[n].lowest[k];

            if (begin <= i && i - begin < distance) {
                distance = i - begin;
                name = c->operand[n].tensor->name;
            }
        }
    snprintf(c->v->verdict->what, sizeof c->v->verdict->what,
             "writes outside of %s: byte %zu from its first one, where no element lies", name, distance);
    return false;
}

static bool compare(struct device_case *c) {
    bool good = true;

    for (int i = 0; i < c->threads / c->lanes && good; i++)
        good = compare_tiles(c, i);
    good = good && compare_rest(c, &c->shared);
    for (int n = 0; n < c->v->tensors && good; n++)
        good = c->operand[n].image == &c->shared || compare_rest(c, c->operand[n].image);
    return good;
}

/* ---- a case ---- */

/* Creates the operands of a problem and computes its results. */
static enum uk_status prepare(struct device_case *c, struct uk_verifier *p) {
    *p = *c->v;
    p->seed = uk_verify_random(c->v, UINT64_MAX);
    if (!uk_memory_make(p))
        return UK_OUT_OF_MEMORY;
    uk_memory_save(p, false);
    uk_context_enter(p->context, p->context->file);
    enum uk_status s = uk_verify_interpret(p);

    if (s)
        return s;
    uk_memory_save(p, true);
    uk_memory_restore(p);
    return UK_OK;
}

static enum uk_status prepare_all(struct device_case *c) {
    const int callers = c->threads / c->lanes;
    enum uk_status s = UK_OK;

    for (c->problems = 0; c->problems < MAX_PROBLEMS && c->problems < callers && !s; c->problems++)
        s = prepare(c, &c->problem[c->problems]);
    if (s || !uk_verify_has_negative(c->v))
        return s;
    uk_verify_negate(c->v);
    for (int i = 0; i < c->problems && !s; i++)
        s = uk_memory_mirror(&c->problem[i]) ? UK_OK : UK_OUT_OF_MEMORY;
    return s;
}

static bool run_and_compare(struct device_case *c) {
    struct uk_verdict *verdict = c->v->verdict;
    const size_t n = uk_verify_describe(c->v);
    const int callers = c->threads / c->lanes;

    snprintf(verdict->where + n, sizeof verdict->where - n, "%s%d %s%s", n ? ", " : "", callers,
             c->lanes > 1 ? "wave" : "thread", callers > 1 ? "s" : "");
    const enum uk_status s = launch(c);

    if (s && s != UK_WRONG_RESULT)
        return uk_verify_give_up(c->v, s, c->message);
    if (s)
        snprintf(verdict->what, sizeof verdict->what, "%s", c->message);
    const bool good = !s && compare(c);

    verdict->cases++;
    if (!good)
        verdict->state = UK_WRONG;
    return good;
}

static void release(struct device_case *c) {
    for (int n = -1; n < UK_VERIFY_TENSORS; n++) {
        struct image *m = n < 0 ? &c->shared : &c->own[n];

        free(m->data);
        free(m->before);
        free(m->defined);
    }
    for (int i = 0; i < MAX_PROBLEMS; i++)
        uk_memory_free(&c->problem[i]);
    free(c->tile);
    free(c->unit);
    free(c);
}

bool uk_verify_device_case(struct uk_verifier *v) {
    static const unsigned char thread_counts[] = {1, 5, 63, 64, 65, 128, 130}, wave_counts[] = {1, 2, 3, 4};
    struct device_case *c = calloc(1, sizeof *c);
    bool good = true;

    if (!c)
        return uk_verify_give_up(v, UK_OUT_OF_MEMORY, "no memory for its operands");
    c->v = v;
    c->initialized = v->number % 2;
    c->lanes = uk_verify_lanes(v);
    c->threads = c->lanes > 1 ? c->lanes * wave_counts[uk_verify_random(v, sizeof wave_counts)]
                              : thread_counts[uk_verify_random(v, sizeof thread_counts)];
    const enum uk_status s = prepare_all(c);

    if (s == UK_OUT_OF_MEMORY)
        good = uk_verify_give_up(v, s, "no memory for its operands");
    else if (s && s != UK_INVALID_SIZE) /* the declaration refuses these sizes */
        good = uk_verify_give_up(v, s, uk_context_message(v->context));
    if (!s) {
        find_operands(c);
        if (find_room(c))
            good = fill(c) ? run_and_compare(c)
                           : uk_verify_give_up(v, UK_OUT_OF_MEMORY, "no memory for its operands");
    }
    release(c);
    return good;
}
