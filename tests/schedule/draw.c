/* SPDX-License-Identifier: Apache-2.0 */
#include "draw.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "check.h"

static char *add_step(struct random_steps *r) {
    assert_true(r->steps < RANDOM_STEPS);
    return r->step[r->steps++];
}

static __attribute__((format(printf, 2, 3))) void put_step(struct random_steps *r, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vsnprintf(add_step(r), RANDOM_STEP_TEXT, format, ap);
    va_end(ap);
}

static int factor(struct random_steps *r) {
    static const int of[] = {1, 2, 3, 4, 5, 6, 7, 8, 14, 16, 18, 24, 28, 32, 48, 64};

    return of[random_below(&r->x, COUNT(of))];
}

void kernel_steps(struct random_steps *r, bool avx512) {
    static const char *const outer[][5] = {{"nc", "kc", "mc", "no", "mo"},
                                           {"mc", "kc", "nc", "mo", "no"},
                                           {"kc", "mc", "no", "nc", "mo"},
                                           {"mc", "mo", "nc", "no", "kc"},
                                           {"kc", "nc", "no", "mc", "mo"}};
    static const int tile[][2] = {{6, 16}, {4, 24}, {14, 32}};
    const int *t = tile[avx512 ? 2 : random_below(&r->x, 2)];
    const char *const *o = outer[random_below(&r->x, COUNT(outer))];
    int b = random_below(&r->x, 5), a = random_below(&r->x, 5);

    put_step(r, "split C.n %d -> nc n1", t[1] * (1 + random_below(&r->x, 3)));
    put_step(r, "split C.k %d -> kc ki", 1 + random_below(&r->x, 40));
    put_step(r, "split C.m %d -> mc m1", t[0] * (1 + random_below(&r->x, 3)));
    put_step(r, "split n1 %d -> no ni", t[1]);
    put_step(r, "split m1 %d -> mo mi", t[0]);
    put_step(r, "reorder %s %s %s %s %s mi ni ki", o[0], o[1], o[2], o[3], o[4]);
    put_step(r, "pack B at %s panel %d -> BP", o[b], t[1]);
    if (random_below(&r->x, 4))
        put_step(r, "pack A at %s panel %d -> AP", o[a], t[0]);
    if (random_below(&r->x, 2))
        put_step(r, "parallel %s", o[random_below(&r->x, 5)]);
    put_step(r, "tensorize C.mi auto");
}

/* Draws buffers in shared memory and registers, at loops where they are legal or not. */
static void random_buffers(struct random_steps *r) {
    static const char *const place[] = {"bx", "by", "ko", "ty", "tx", "ki"};
    static const char *const scope[] = {"shared", "register"};

    if (random_below(&r->x, 3))
        put_step(r, "cache_write C at %s in %s -> CW", place[random_below(&r->x, 5)],
                 scope[random_below(&r->x, 3) > 0]);
    for (int i = 0; i < 2; i++)
        if (random_below(&r->x, 4))
            put_step(r, "cache_read %c at %s in shared -> S%c", 'A' + i,
                     place[random_below(&r->x, 2) ? 2 : random_below(&r->x, 6)], 'A' + i);
    if (!random_below(&r->x, 3))
        put_step(r, "cache_read %c at %s in %s -> R", "AB"[random_below(&r->x, 2)],
                 place[3 + random_below(&r->x, 3)], scope[random_below(&r->x, 4) > 0]);
    if (random_below(&r->x, 2))
        put_step(r, "pipeline %s %d", place[random_below(&r->x, 3) ? 2 : random_below(&r->x, 6)],
                 2 + random_below(&r->x, 3));
    if (!random_below(&r->x, 3))
        put_step(r, "cache_read SA at %s in register -> RA", place[3 + random_below(&r->x, 3)]);
}

void bind_steps(struct random_steps *r) {
    static const char *const grid[] = {"C.%s block.x", "C.%s block.y", "C.%s block.z"};
    static const char *const threads[] = {"C.%s thread.x", "C.%s thread.y", "C.%s thread.z"};
    static const char *const order[] = {"by bx ko ty tx ki mi ni", "bx by ko ki ty tx ni mi",
                                        "by bx ty tx ko ki mi ni", "by bx ty ko tx mi ki ni"};
    static const char *const bound[] = {"by", "bx", "ty", "tx"};
    const int first = random_below(&r->x, 3);

    put_step(r, "split C.m %d -> by m1", factor(r));
    put_step(r, "split C.n %d -> bx n1", factor(r));
    put_step(r, "split m1 %d -> ty mi", 1 + random_below(&r->x, 6));
    put_step(r, "split n1 %d -> tx ni", 1 + random_below(&r->x, 6));
    put_step(r, "split C.k %d -> ko ki", factor(r));
    put_step(r, "reorder %s", order[random_below(&r->x, COUNT(order))]);
    for (int i = 0; i < COUNT(bound); i++)
        if (i < 2 || random_below(&r->x, 4)) {
            char *step = add_step(r);
            const size_t n = (size_t)snprintf(step, RANDOM_STEP_TEXT, "bind ");

            snprintf(step + n, RANDOM_STEP_TEXT - n, (i < 2 ? grid : threads)[(first + i) % 3], bound[i]);
        }
    random_buffers(r);
}
