/* SPDX-License-Identifier: Apache-2.0 */
#include "random_steps.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int below(struct random_steps *r, int n) {
    return random_below(&r->x, n);
}

static __attribute__((format(printf, 2, 3))) void put(struct random_steps *r, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vsnprintf(r->step[r->steps++], RANDOM_STEP_TEXT, format, ap);
    va_end(ap);
}

static struct random_stage *any_stage(struct random_steps *r) {
    return &r->program->stage[below(r, r->program->stages)];
}

/* A loop of the stage; NULL: it has none. */
static const char *any_loop(struct random_steps *r, const struct random_stage *st) {
    return st->loops ? st->loop[below(r, st->loops)] : NULL;
}

static int factor(struct random_steps *r) {
    static const int of[] = {1, 2, 3, 4, 5, 7, 8, 16};

    return of[below(r, (int)(sizeof of / sizeof *of))];
}

/* The name of a tensor that the program reads: an input or a statement's result. */
static void any_tensor(struct random_steps *r, char name[8]) {
    if (r->program->inputs && below(r, 3))
        snprintf(name, 8, "X%d", below(r, r->program->inputs));
    else
        snprintf(name, 8, "T%d", below(r, r->program->tensors));
}

static void any_place(struct random_steps *r, const struct random_stage *st, char place[24]) {
    if (st->loops && below(r, 4))
        snprintf(place, 24, "%s.%s", st->name, any_loop(r, st));
    else
        snprintf(place, 24, "root");
}

/* ---- kinds of steps ---- */

static void split(struct random_steps *r) {
    struct random_stage *st = any_stage(r);
    int i = st->loops ? below(r, st->loops) : 0, n = r->names++;

    if (!st->loops || st->loops == RANDOM_LOOPS)
        return;
    put(r, "split %s.%s %s%d -> x%d y%d", st->name, st->loop[i], below(r, 6) ? "" : "parts ", factor(r), n,
        n);
    memmove(st->loop[i + 1], st->loop[i], sizeof st->loop[0] * (size_t)(st->loops++ - i));
    snprintf(st->loop[i], sizeof st->loop[0], "x%d", n);
    snprintf(st->loop[i + 1], sizeof st->loop[0], "y%d", n);
}

static void tile(struct random_steps *r) {
    struct random_stage *st = any_stage(r);
    int n = r->names++;

    if (st->loops < 2 || st->loops + 2 > RANDOM_LOOPS)
        return;
    int i = below(r, st->loops - 1);
    put(r, "tile %s.%s %s.%s %d %d -> x%d z%d y%d w%d", st->name, st->loop[i], st->name, st->loop[i + 1],
        factor(r), factor(r), n, n, n, n);
    memmove(st->loop[i + 4], st->loop[i + 2], sizeof st->loop[0] * (size_t)(st->loops - i - 2));
    st->loops += 2;
    for (int l = 0; l < 4; l++)
        snprintf(st->loop[i + l], sizeof st->loop[0], "%c%d", "xzyw"[l], n);
}

static void fuse(struct random_steps *r) {
    struct random_stage *st = any_stage(r);
    int n = r->names++;

    if (st->loops < 2)
        return;
    int i = below(r, st->loops - 1);
    put(r, "fuse %s.%s %s.%s -> f%d", st->name, st->loop[i], st->name, st->loop[i + 1], n);
    memmove(st->loop[i + 1], st->loop[i + 2], sizeof st->loop[0] * (size_t)(st->loops - i - 2));
    st->loops--;
    snprintf(st->loop[i], sizeof st->loop[0], "f%d", n);
}

static void reorder(struct random_steps *r) {
    struct random_stage *st = any_stage(r);
    char *step = r->step[r->steps];
    size_t n = (size_t)snprintf(step, RANDOM_STEP_TEXT, "reorder");

    if (st->loops < 2)
        return;
    for (int i = st->loops - 1; i > 0; i--) {
        int j = below(r, i + 1);
        char other[8];

        memcpy(other, st->loop[i], sizeof other);
        memcpy(st->loop[i], st->loop[j], sizeof other);
        memcpy(st->loop[j], other, sizeof other);
    }
    for (int i = 0; i < st->loops && n < RANDOM_STEP_TEXT; i++)
        n += (size_t)snprintf(step + n, RANDOM_STEP_TEXT - n, " %s.%s", st->name, st->loop[i]);
    r->steps++;
}

static void of_a_loop(struct random_steps *r, const char *word) {
    const struct random_stage *st = any_stage(r);

    if (st->loops)
        put(r, "%s %s.%s", word, st->name, any_loop(r, st));
}

static void parallel(struct random_steps *r) {
    of_a_loop(r, "parallel");
}

static void unroll(struct random_steps *r) {
    of_a_loop(r, "unroll");
}

static void vectorize(struct random_steps *r) {
    of_a_loop(r, "vectorize");
}

static void pack(struct random_steps *r) {
    char tensor[8], place[24], along[16] = "";

    any_tensor(r, tensor);
    any_place(r, any_stage(r), place);
    if (below(r, 2))
        snprintf(along, sizeof along, " along %d", below(r, 2));
    put(r, "pack %s at %s panel %d%s -> p%d", tensor, place, factor(r), along, r->names++);
}

static void cache_read(struct random_steps *r) {
    char tensor[8], place[24];

    any_tensor(r, tensor);
    any_place(r, any_stage(r), place);
    put(r, "cache_read %s at %s -> c%d", tensor, place, r->names++);
}

static void cache_write(struct random_steps *r) {
    const struct random_stage *st = any_stage(r);
    char place[24];

    any_place(r, st, place);
    put(r, "cache_write %s at %s -> c%d", st->written, place, r->names++);
}

/* The right side of the stage's statement, up to the end of the text. */
static const char *right_side(const struct random_steps *r, const struct random_stage *st) {
    char label[16];

    snprintf(label, sizeof label, "%s: ", st->name);
    const char *left = strstr(r->program->body.text, label);
    return left ? strchr(left, '=') : NULL;
}

static bool is_temp(const struct random_steps *r, const struct random_stage *st) {
    char declared[16];

    snprintf(declared, sizeof declared, "temp %s ", st->written);
    return strstr(r->program->head.text, declared);
}

static bool reads(const struct random_steps *r, const struct random_stage *st, const char *tensor) {
    const char *right = right_side(r, st), *at = right ? strstr(right, tensor) : NULL;

    return at && at < right + strcspn(right, "\n");
}

static bool is_element_wise(const struct random_steps *r, const struct random_stage *st) {
    const char *right = right_side(r, st);

    return right && right[-1] == ' ' && st->loops >= st->left && !reads(r, st, "scan ") &&
           !reads(r, st, "sum(");
}

/* True if no other stage writes the stage's tensor. */
static bool writes_alone(const struct random_steps *r, const struct random_stage *st) {
    for (int i = 0; i < r->program->stages; i++)
        if (&r->program->stage[i] != st && !strcmp(r->program->stage[i].written, st->written))
            return false;
    return true;
}

/* Draws a stage that reads what another one alone writes; `temp`: only temporaries. False: there is none. */
static bool any_pair(struct random_steps *r, bool temp, struct random_stage **writer,
                     struct random_stage **reader) {
    struct random_stage *const st = r->program->stage;
    int pairs = 0;

    for (int i = 0; i < r->program->stages; i++)
        for (int j = i + 1; j < r->program->stages; j++)
            if ((!temp || is_temp(r, &st[i])) && writes_alone(r, &st[i]) && reads(r, &st[j], st[i].written) &&
                !below(r, ++pairs)) {
                *writer = &st[i];
                *reader = &st[j];
            }
    return pairs;
}

static void compute_at(struct random_steps *r) {
    struct random_stage *writer, *reader;

    if (any_pair(r, true, &writer, &reader) && reader->loops)
        put(r, "compute_at %s %s.%s", writer->name, reader->name, any_loop(r, reader));
}

static void reverse_compute_at(struct random_steps *r) {
    struct random_stage *writer, *reader;

    if (any_pair(r, false, &writer, &reader) && writer->loops)
        put(r, "reverse_compute_at %s %s.%s", reader->name, writer->name, any_loop(r, writer));
}

static void compute_inline(struct random_steps *r) {
    struct random_stage *writer, *reader;

    if (any_pair(r, true, &writer, &reader) && is_element_wise(r, writer))
        put(r, "compute_inline %s", writer->name);
}

static void rfactor(struct random_steps *r) {
    const struct random_stage *st = any_stage(r);

    if (st->loops <= st->left)
        return;
    const int name = r->names++;
    put(r, "rfactor %s.%s -> r%d", st->name, any_loop(r, st), name);
    /* Its partial sums have the stage's loops. */
    if (r->steps < RANDOM_STEPS && below(r, 2))
        put(r, "cache_write r%d at r%d.%s -> c%d", name, name, any_loop(r, st), r->names++);
}

static void im2col(struct random_steps *r) {
    const struct random_stage *st = any_stage(r);
    const int name = r->names++;
    char tensor[8];

    any_tensor(r, tensor);
    put(r, "im2col %s at %s.root -> a%d", tensor, st->name, name);
    if (st->loops && r->steps < RANDOM_STEPS && below(r, 2))
        put(r, "cache_read a%d at %s.%s -> c%d", name, st->name, any_loop(r, st), r->names++);
}

/* One row per kind; weights are relative to their sum. */
static const struct step_kind {
    const char *name;
    int weight;
    void (*make)(struct random_steps *r);
} kinds[] = {
    {"split", 8, split},
    {"reorder", 5, reorder},
    {"tile", 2, tile},
    {"parallel", 2, parallel},
    {"pack", 3, pack},
    {"fuse", 2, fuse},
    {"unroll", 2, unroll},
    {"vectorize", 2, vectorize},
    {"cache_read", 2, cache_read},
    {"cache_write", 2, cache_write},
    {"compute_at", 8, compute_at}, /* most programs have no stages that it is for */
    {"reverse_compute_at", 8, reverse_compute_at},
    {"compute_inline", 8, compute_inline},
    {"rfactor", 2, rfactor},
    {"im2col", 3, im2col},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

static int made[KINDS], refused_steps[KINDS];

static int any_kind(struct random_steps *r) {
    int sum = 0, k = 0;

    for (int i = 0; i < KINDS; i++)
        sum += kinds[i].weight;
    for (sum = below(r, sum); sum >= kinds[k].weight; k++)
        sum -= kinds[k].weight;
    return k;
}

struct random_steps *random_steps_make(struct random_program *p) {
    struct random_steps *r = calloc(1, sizeof *r);

    if (!r)
        return NULL;
    r->x = random_next(&p->x) | 1;
    r->program = p;
    for (int n = below(r, 9); n > 0 && r->steps < RANDOM_STEPS; n--) {
        const int before = r->steps;

        /* Some kinds are for few programs. */
        for (int tries = 0; tries < 4 && r->steps == before; tries++) {
            const int kind = any_kind(r);

            kinds[kind].make(r);
            if (r->steps > before) {
                r->kind[before] = kind + 1;
                made[kind]++;
            }
        }
    }
    return r;
}

/* ---- application ---- */

/* Steps begin at a line number beyond any program's, so that the line of an error shows whether it is about a
 * step. */
enum { FIRST_LINE = 1000 };

static void leave_out(struct random_steps *r, int i) {
    r->steps--;
    memmove(r->step[i], r->step[i + 1], sizeof r->step[0] * (size_t)(r->steps - i));
    memmove(&r->kind[i], &r->kind[i + 1], sizeof r->kind[0] * (size_t)(r->steps - i));
}

static enum outcome try_steps(const struct random_steps *r, random_steps_try *try, void *user, bool quiet) {
    char newlines[FIRST_LINE];
    struct uk_text text = {0};

    memset(newlines, '\n', sizeof newlines - 1);
    newlines[sizeof newlines - 1] = 0;
    uk_put(&text, "%s", newlines);
    for (int i = 0; i < r->steps; i++)
        uk_put(&text, "%s\n", r->step[i]);
    if (!text.text)
        exit(99);
    const enum outcome o = try(user, r->steps ? text.text : "", quiet);
    uk_text_free(text.text);
    return o;
}

/* Prints a minimal list of steps that still gives a wrong result. */
static void shrink(const struct random_steps *all, random_steps_try *try, void *user) {
    struct random_steps least = *all;

    for (int i = 0; i < least.steps;) {
        struct random_steps r = least;

        leave_out(&r, i);
        if (try_steps(&r, try, user, true) == WRONG)
            least = r;
        else
            i++;
    }
    try_steps(&least, try, user, false);
}

enum outcome random_steps_apply(struct random_steps *r, const struct uk_context *c, random_steps_try *try,
                                void *user, int *refused) {
    for (;;) {
        int line = 0;
        const enum outcome o = try_steps(r, try, user, true);

        if (o == WRONG)
            shrink(r, try, user);
        if (o != REFUSED)
            return o;
        if (sscanf(uk_context_message(c), "steps:%d:", &line) != 1 || line < FIRST_LINE ||
            line - FIRST_LINE >= r->steps)
            return REFUSED; /* the program itself is refused */
        if (r->kind[line - FIRST_LINE])
            refused_steps[r->kind[line - FIRST_LINE] - 1]++;
        leave_out(r, line - FIRST_LINE);
        ++*refused;
    }
}

void random_steps_report(void) {
    for (int k = 0; k < KINDS; k++)
        if (made[k])
            printf("%s: %d steps, %d of them refused\n", kinds[k].name, made[k], refused_steps[k]);
}
