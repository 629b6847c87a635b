/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements as subscripts: random programs that gather, of every rank and axis, with every index type, wrapped
 * or not, from an input or a temp, summed, with a `where`, with random steps; as machine code, with threads,
 * with the caller's workspace, and interpreted. Then one index is wrong: every way must return
 * UK_INVALID_INDEX and write nothing. Comparisons of the interpreter with loops in C: interpret/demanded.c,
 * cross/elements.c.
 *
 *     elements [--seed N|new] [--programs N]
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arena.h"
#include "random.h"
#include "run_program.h"
#include "test_context.h"
#include "test_options.h"

enum { RANK = 4, ROOM = 1 << 16 };

static uint64_t seed = 1;
static int programs = 30;

struct shape {
    /* dimensions of the table; position of the index; dimensions of the index */
    int rank, axis, indices;
    /* extents of the table */
    int64_t table[RANK];
    /* extents of the index */
    int64_t index[RANK];
    /* type of the index */
    enum uk_type type;
    /* wraps: negative indices count from the end; temp: the index is a temp, the input plus 1; constant:
     * sizes are constants */
    bool wraps, temp, constant;
    /* sums: over the index's last dimension; filtered: iterations with value 1 are left out */
    bool sums, filtered;
};

/* ---- the program ---- */

static int below(uint64_t *x, int n) {
    return random_below(x, n);
}

static struct shape draw(uint64_t *x) {
    static const enum uk_type types[] = {UK_I64, UK_I32, UK_I16, UK_I8, UK_U8, UK_U16, UK_U32, UK_U64};
    struct shape s = {.rank = 1 + below(x, RANK), .indices = below(x, 3), .type = types[below(x, 8)]};

    s.axis = below(x, s.rank);
    for (int d = 0; d < s.rank; d++)
        s.table[d] = below(x, 12) || d == s.axis ? 1 + below(x, 9) : 0;
    for (int d = 0; d < s.indices; d++)
        s.index[d] = below(x, 12) ? 1 + below(x, 6) : 0;
    s.wraps = below(x, 2);
    s.temp = below(x, 4) == 0;
    s.constant = below(x, 2);
    s.sums = s.indices && below(x, 2);
    s.filtered = s.sums && below(x, 2);
    return s;
}

static void put_dims(char *to, size_t room, const char *names, int from, int n) {
    for (int d = from; d < n; d++) {
        const size_t used = strlen(to);

        snprintf(to + used, room - used, "%s%c%d", used && to[used - 1] != '[' ? ", " : "", *names, d);
    }
}

/* Writes Y[a0, b0, b1, a2] = T[a0, wrap(I[b0, b1]), a2], with letters for extents or for iterators. */
static void put_result(char *to, size_t room, const struct shape *s, const char *table, const char *index) {
    put_dims(to, room, table, 0, s->axis);
    put_dims(to, room, index, 0, s->indices - s->sums);
    put_dims(to, room, table, s->axis + 1, s->rank);
}

static void put_program(char *to, size_t room, const struct shape *s) {
    char index[64] = "", extents[64] = "", shape[64] = "", result[64] = "", left[64] = "", before[64] = "",
         after[64] = "";
    const char *read = s->temp ? "J" : "I";

    put_dims(index, sizeof index, "b", 0, s->indices);
    put_dims(extents, sizeof extents, "B", 0, s->indices);
    put_dims(shape, sizeof shape, "A", 0, s->rank);
    put_result(result, sizeof result, s, "A", "B");
    put_result(left, sizeof left, s, "a", "b");
    put_dims(before, sizeof before, "a", 0, s->axis);
    put_dims(after, sizeof after, "a", s->axis + 1, s->rank);
    int n = snprintf(to, room, "tensor T i32 [%s]\ntensor I %s [%s]\ntensor Y i32 [%s]\n", shape,
                     uk_type_name(s->type), extents, result);
    if (s->temp)
        n += snprintf(to + n, room - (size_t)n, "temp J %s [%s]\nJ[%s] = I[%s] + 1\n", uk_type_name(s->type),
                      extents, index, index);
    n += snprintf(to + n, room - (size_t)n, "Y[%s] = ", left);
    if (s->sums)
        n += snprintf(to + n, room - (size_t)n, "sum(b%d%s%.0d%s) ", s->indices - 1,
                      s->filtered ? " where b" : "", s->filtered ? s->indices - 1 : 0,
                      s->filtered ? " != 1" : "");
    snprintf(to + n, room - (size_t)n, "T[%s%s%s%s[%s]%s%s%s]\n", before, *before ? ", " : "",
             s->wraps ? "wrap(" : "", read, index, s->wraps ? ")" : "", *after ? ", " : "", after);
    if (s->filtered && s->indices == 1) { /* "%.0d" leaves out a 0 */
        char *at = strstr(to, "where b ");

        if (at) {
            memmove(at + 8, at + 7, strlen(at + 7) + 1);
            at[7] = '0';
        }
    }
}

/* Steps that are legal for any such program; "": an automatic schedule. */
static const char *draw_steps(uint64_t *x, const struct shape *s) {
    static const char *const any[] = {"", "\nschedule\n"};
    static const char *const first[] = {"\nschedule\nparallel Y.a0\n",
                                        "\nschedule\nsplit Y.a0 3 -> ao ai\nparallel ao\n"};
    static const char *const last[] = {"\nschedule\nsplit Y.b0 2 -> bo bi\nreorder bi bo\n",
                                       "\nschedule\nunroll Y.b0\n"};
    const bool outer = s->axis > 0, index = s->indices > s->sums;

    if (outer && below(x, 3) == 0)
        return first[below(x, 2)];
    if (index && (s->constant || below(x, 2)) && below(x, 3) == 0)
        return last[s->constant && s->index[0] > 0 ? below(x, 2) : 0];
    return any[below(x, 2)];
}

static struct uk_program *parse(const struct shape *s, const char *text) {
    struct uk_program *p = run_parse(context, "f.uk", text, NULL);
    char name[4];

    for (int i = 0; s->constant && i < s->rank + s->indices; i++) {
        const bool of_table = i < s->rank;

        snprintf(name, sizeof name, "%c%d", of_table ? 'A' : 'B', of_table ? i : i - s->rank);
        assert_int_equal(uk_program_define(p, name, of_table ? s->table[i] : s->index[i - s->rank]), UK_OK);
    }
    return p;
}

/* ---- its operands ---- */

static int64_t product(const int64_t *extent, int from, int to) {
    int64_t n = 1;

    for (int d = from; d < to; d++)
        n *= extent[d];
    return n;
}

/* Numbers of the operands, in the order of the text. */
enum { TABLE, INDEX };

/* Sets an index; the input holds one less if a temp adds 1. */
static void set_index(const struct shape *s, struct random_data *d, int64_t at, int64_t v) {
    const size_t bytes = uk_type_bytes(s->type);

    v = (int64_t)((uint64_t)v - s->temp);
    memcpy(d->start[INDEX] + RANDOM_DATA_MARGIN + (size_t)at * bytes, &v,
           bytes); /* little endian, as all hosts */
}

static int64_t index_at(const struct shape *s, const struct random_data *d, int64_t at) {
    return s->temp + (int64_t)random_data_value(s->type, d->start[INDEX] + RANDOM_DATA_MARGIN, (size_t)at);
}

/* Fills in indices within bounds, some of them negative if they may wrap. */
static int64_t make_data(const struct shape *s, struct random_data *d, struct uk_program *p, uint64_t *x) {
    const int64_t extent = s->table[s->axis], count = product(s->index, 0, s->indices);
    int n = 0;

    for (int i = 0; i < s->rank; i++)
        d->size[n++] = s->table[i];
    for (int i = 0; i < s->indices; i++)
        d->size[n++] = s->index[i];
    d->uninterpreted = true;
    random_data_fill(d, p, random_next(x));
    for (int64_t i = 0; i < count; i++)
        set_index(s, d, i, below(x, (int)extent) - (s->wraps && s->type < UK_U8 && below(x, 2) ? extent : 0));
    random_data_interpret(d, p);
    return count;
}

/* ---- the ways to run it ---- */

static struct arena guarded;

/* Calls with the table immediately before an inaccessible page. */
static int call_guarded(const struct run *r, const int64_t *sizes, struct random_data *d) {
    void *tensors[] = {guarded.data + guarded.size - d->bytes[TABLE], d->origin[INDEX], d->origin[INDEX + 1],
                       r->workspace};

    memcpy(tensors[TABLE], d->origin[TABLE], d->bytes[TABLE]);
    return uk_module_call(r->module, sizes, d->scalar, tensors);
}

static const struct uk_options ways[] = {{.target = "interp"},
                                         {.target = "x86_64-generic"},
                                         {.target = NULL},
                                         {.threads = 4},
                                         {.workspace_argument = true}};
enum { WAYS = sizeof ways / sizeof *ways };

static void expect_status(struct run *r, struct random_data *d, enum uk_status wanted) {
    random_data_interpret(d, r->program);
    assert_int_equal(d->status, wanted);
    if (wanted)
        assert_non_null(strstr(uk_context_message(context), ", but as a subscript it must be at least "));
    for (int w = 0; w < WAYS; w++)
        run_is_right(&r[w], d);
}

/* True if the program reads this element. */
static bool is_read(const struct shape *s, int64_t at) {
    return !s->filtered || at % s->index[s->indices - 1] != 1;
}

/* Puts one index out of bounds, slightly or far: nothing may be written, unless `where` leaves the element
 * out. */
static void expect_refused(struct run *r, const struct shape *s, struct random_data *d, int64_t count,
                           uint64_t x) {
    static const int64_t least[] = {
        [UK_I64] = INT64_MIN, [UK_I32] = INT32_MIN, [UK_I16] = INT16_MIN, [UK_I8] = INT8_MIN, [UK_U64] = 0};
    static const int64_t most[] = {
        [UK_I64] = INT64_MAX, [UK_I32] = INT32_MAX,  [UK_I16] = INT16_MAX,  [UK_I8] = INT8_MAX,
        [UK_U8] = UINT8_MAX,  [UK_U16] = UINT16_MAX, [UK_U32] = UINT32_MAX, [UK_U64] = INT64_MAX};
    const int64_t extent = s->table[s->axis], below_first = (s->wraps ? -extent : 0) - 1;
    const int64_t bad[] = {extent, below_first, most[s->type], least[s->type] + s->temp, extent + 1};
    const int64_t last = s->indices ? s->index[s->indices - 1] : 1;
    int64_t at = below(&x, (int)count);

    /* one that `where` leaves out */
    if (s->filtered && last > 1 && below(&x, 2))
        at = at / last * last + 1;
    const int64_t was = index_at(s, d, at);

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        if (bad[i] < least[s->type] + s->temp || (0 <= bad[i] && bad[i] < extent))
            continue;
        set_index(s, d, at, bad[i]);
        expect_status(r, d, is_read(s, at) ? UK_INVALID_INDEX : UK_OK);
        set_index(s, d, at, was);
    }
}

static void check_program(int number, int *refused) {
    static _Alignas(64) char work[ROOM];
    uint64_t x = seed * 1000003 + (uint64_t)number;
    const struct shape s = draw(&x);
    struct random_data d = {0};
    struct run r[WAYS];
    char text[1024], again[64];
    int wrong = 0;

    put_program(text, sizeof text, &s);
    strcat(text, draw_steps(&x, &s));
    snprintf(again, sizeof again, "--seed %" PRIu64 ", program %d", seed, number);
    struct uk_program *p = parse(&s, text);
    const int64_t count = make_data(&s, &d, p, &x);
    for (int w = 0; w < WAYS; w++) {
        r[w] = (struct run){.context = context,
                            .program = p,
                            .options = ways[w],
                            .workspace = work,
                            .call = call_guarded,
                            .repeat_arguments = again};
        if (run_compile(&r[w]))
            fail_msg("%s: %s\n%s", again, uk_context_message(context), text);
    }
    expect_status(r, &d, UK_OK);
    if (count)
        expect_refused(r, &s, &d, count, x);
    *refused += count > 0;
    for (int w = 0; w < WAYS; w++) {
        wrong += r[w].wrong;
        uk_module_destroy(r[w].module);
    }
    random_data_free(&d);
    uk_program_destroy(p);
    assert_int_equal(wrong, 0);
}

static void random_programs(void **state) {
    int refused = 0;

    (void)state;
    assert_true(arena_make(&guarded, ROOM));
    for (int i = 0; i < programs; i++)
        check_program(i, &refused);
    arena_free(&guarded);
    assert_true(refused > programs / 2);
}

/* A function that ends early frees the workspace that it allocated. */
static void workspace_is_given_back(void **state) {
    static const char text[] =
        "tensor X i32 [9]\ntensor I i64 [5000]\ntemp J i64 [5000]\ntensor Y i32 [5000]\n"
        "J[n] = I[n] + 9\nY[n] = X[J[n]]\n";
    enum { CALLS = 1000, BYTES = 5000 * 8 };
    static int32_t x[9], y[5000];
    static int64_t i[5000];
    struct uk_program *p = parse_text(text);
    struct uk_module *m;

    (void)state;
    assert_int_equal(uk_compile(p, NULL, &m), UK_OK);
    const size_t held = mallinfo2().uordblks;
    for (int k = 0; k < CALLS; k++)
        assert_int_equal(uk_module_call(m, NULL, NULL, (void *[]){x, i, y}), UK_INVALID_INDEX);
    assert_true(mallinfo2().uordblks < held + CALLS / 10 * BYTES);
    uk_module_destroy(m);
    uk_program_destroy(p);
}

int main(int argc, char **argv) {
    take_options(argc, argv,
                 (struct test_option[]){
                     {.name = "--seed", .seed = &seed}, {.name = "--programs", .number = &programs}, {0}});
    printf("--seed %" PRIu64 "\n", seed);
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_programs),
                                       cmocka_unit_test(workspace_is_given_back)};

    return cmocka_run_group_tests(tests, make_context, destroy_context);
}
