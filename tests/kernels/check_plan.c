/* SPDX-License-Identifier: Apache-2.0 */
/* Derives the call of an operation from its declaration: operands in memory, and argument words. */
#include "check_plan.h"
#include <stdio.h>
#include <string.h>
#include "registry/registry.h"

/* Pixels of a row of an image at most: more than kernels keep in a buffer. */
enum { LONG_ROW = 67 };

/* References of the rows of ops.def. */
static const struct {
    const char *name;
    void (*reference)(void);
} operations[] = {
#define UK_OP_ROW(name, ...) {#name, (void (*)(void))uk_reference_##name},
#include "registry/ops.def"
#undef UK_OP_ROW
};

static enum element type_named(const char *name) {
    static const char *const names[] = {
        [F32] = "f32", [F64] = "f64", [F16] = "f16", [BF16] = "bf16", [U8] = "u8",
        [I8] = "i8",   [I16] = "i16", [I32] = "i32", [I64] = "i64"};
    size_t i = 0;

    while (i + 1 < sizeof names / sizeof *names && strcmp(names[i], name) != 0)
        i++;
    return (enum element)i;
}

static bool has(const struct op *op, char letter) {
    return op->is.has_size[letter - 'A'];
}

/* The range of values to test for a size; only `tile` if the size is not a parameter. */
static void range(const struct op *op, char letter, int64_t tile, int64_t *least, int64_t *most) {
    const int i = letter - 'A';

    *least = has(op, letter) ? op->is.min_size[i] : tile;
    *most = !has(op, letter) ? tile : op->is.max_size[i] ? op->is.max_size[i] : 2 * tile + 3;
}

bool check_op(const struct uk_kernel *row, struct op *op, char *what, size_t size) {
    char text[4096];
    const char *at = text;

    *op = (struct op){.reference = NULL};
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(operations[i].name, row->op))
            op->reference = operations[i].reference;
    if (uk_kernel_declaration(row, text, sizeof text) >= sizeof text || !op->reference ||
        !bench_declaration_read(text, &op->is, &at)) {
        snprintf(what, size, "%s: %s %.*s", row->symbol,
                 op->reference ? "not understood in its declaration:" : "op is none of ops.def:",
                 (int)strcspn(at, "\n"), op->reference ? at : row->op);
        return false;
    }
    range(op, 'I', row->mr, &op->min_rows, &op->max_rows);
    range(op, 'J', row->nr, &op->min_columns, &op->max_columns);
    if (has(op, 'X') && op->max_columns < LONG_ROW)
        op->max_columns = LONG_ROW;
    for (char letter = 'A'; letter <= 'Z'; letter++) /* sizes other than the tile's and panels' are loops */
        op->has_k |= has(op, letter) && !strchr("IJWG", letter);
    op->has_acc = op->is.computes && op->is.updates;
    op->adds = op->is.adds || !op->is.computes;
    op->is_wide = op->max_columns > 64;
    return true;
}

/* Chooses a window: all numbers of rows and columns for which kernels have special loops, and more elements
 * than any 16-bit sum can hold. */
static void put_window(const struct shape *s, struct bench_sizes *z) {
    const int64_t width = s->k ? 1 + (s->k - 1) % 9 : 1;

    *bench_size(z, 'S') = width;
    *bench_size(z, 'R') = s->k < 5 ? s->k : s->k < MAX_K ? 1 + s->k % 5 : (s->k + width - 1) / width;
}

/* Chooses the image of a tile of windows: the tile begins inside it or before it, and ends inside it or
 * beyond it. Up to two blocks of channels and a remainder. */
static void put_image(const struct uk_kernel *row, const struct shape *s, struct bench_sizes *z) {
    const int64_t apart = row->operation->stride;

    *bench_size(z, 'C') = 1 + (3 * s->k + 5 * s->step) % (2 * row->column_step + 3);
    *bench_size(z, 'U') = s->step % 3;
    *bench_size(z, 'V') = (s->step + (s->k % 4 == 0)) % 3;
    for (int i = 0; i < 2; i++) {
        /* One more than the tile reads, or one less: rows and columns in all combinations. */
        const int64_t more = (i ? s->reversed : s->k % 2) ? -1 : 1,
                      input = apart * ((i ? s->nr : s->mr) - 1) + *bench_size(z, i ? 'S' : 'R'),
                      n = input - *bench_size(z, i ? 'V' : 'U') + more;

        *bench_size(z, i ? 'Z' : 'X') = n > 0 ? n : 0;
    }
}

/* Maps n to a value that the operation's declaration allows for the size. */
static int64_t within(const struct op *op, int i, int64_t n) {
    const int64_t multiple = op->is.size_multiple[i] ? op->is.size_multiple[i] : 1;

    n = n < op->is.min_size[i] ? op->is.min_size[i] : n;
    n = (n + multiple - 1) / multiple * multiple;
    return op->is.max_size[i] && n > op->is.max_size[i] ? op->is.max_size[i] : n;
}

static void put_sizes(const struct uk_kernel *row, const struct op *op, const struct shape *s,
                      struct bench_sizes *z) {
    const int64_t kr = row->kr, multiple = op->is.size_multiple['P' - 'A'];
    const int64_t packed = has(op, 'J') ? s->nr : s->mr;

    *z = (struct bench_sizes){
        .gap = s->gap, .step = s->step, .reversed = s->reversed, .updates = s->acc, .hint = s->gap};
    for (int i = 0; i < BENCH_LETTERS; i++)
        z->size[i] = within(op, i, s->k);
    *bench_size(z, 'I') = s->mr;
    *bench_size(z, 'J') = s->nr;
    *bench_size(z, 'P') = multiple ? (s->k + multiple - 1) / multiple * multiple : s->k;
    /* Without k: no runs, or empty ones. */
    *bench_size(z, 'T') = s->k ? s->step : s->step % 2;
    put_window(s, z);
    /* The panel may be wider than the packed data. k ends in the last group, before it, or after it. */
    *bench_size(z, 'W') = packed + (s->gap ? GAP : 0);
    if (has(op, 'X'))
        put_image(row, s, z);
    *bench_size(z, 'G') = s->k / kr + (s->step < 3 || s->k < 2 * kr ? s->step % 2 : -1);
}

void check_plan(const struct uk_kernel *row, const struct op *op, const struct shape *s, struct plan *p) {
    const int align[OPERANDS] = {row->a_align, row->b_align, row->c_align, 1, 1, 1};
    struct bench_sizes sizes;
    struct bench_arguments a;

    put_sizes(row, op, s, &sizes);
    bench_arguments(&op->is, &sizes, &a);
    *p = (struct plan){.operands = a.operands, .count = a.count, .scalar = s->data == INTEGERS ? 3 : 0.7};
    for (int i = 0; i < a.operands; i++) {
        const struct bench_operand *o = &a.operand[i];

        p->operand[i] = (struct operand){.type = type_named(o->tensor->type),
                                         .rows = o->rows,
                                         .length = o->length,
                                         .used = o->used,
                                         .stride = o->stride,
                                         .over = o->over,
                                         .align = align[i],
                                         .output = o->tensor->is_output,
                                         .never_read = o->tensor->is_output && !o->tensor->is_accumulated};
    }
    for (int i = 0; i < a.count; i++) {
        p->words[i] = a.word[i];
        p->operand_of[i] = a.operand_of[i];
    }
}
