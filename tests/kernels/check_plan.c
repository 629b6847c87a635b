/* SPDX-License-Identifier: Apache-2.0 */
/* The plan of each operation: its operands in memory, and the words of its call. */
#include <string.h>
#include "check_plan.h"
#include "registry/registry.h"

static void add_number(struct plan *p, int64_t value) {
    p->operand_of[p->count] = -1;
    p->words[p->count++] = value;
}

static void add_operand(struct plan *p, struct operand operand) {
    p->operand_of[p->count++] = p->operands;
    p->operand[p->operands++] = operand;
}

/* With the distance of its rows. */
static void add_matrix(struct plan *p, struct operand rows) {
    add_operand(p, rows);
    add_number(p, rows.stride);
}

static void add_tile(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    add_matrix(p, (struct operand){.rows = s->mr,
                                   .length = s->nr,
                                   .used = s->nr,
                                   .stride = s->nr + s->gap,
                                   .align = row->c_align,
                                   .output = true});
    add_number(p, s->acc);
    add_number(p, s->mr);
    add_number(p, s->nr);
}

static struct operand panel(int64_t k, int64_t width, int64_t used, int align) {
    return (struct operand){.rows = k, .length = width, .used = used, .stride = width, .align = align};
}

static struct operand rows_in_place(const struct uk_kernel *row, int64_t rows, int64_t length,
                                    const struct shape *s) {
    return (struct operand){.rows = rows,
                            .length = length,
                            .used = length,
                            .stride = length + s->gap,
                            .over = row->a_over,
                            .align = row->a_align};
}

/* In groups of kr terms: k is a multiple of it. */
static void plan_gemm(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    const int64_t kr = row->kr, groups = (s->k + kr - 1) / kr;

    add_number(p, groups * kr);
    add_operand(p, panel(groups, row->mr * kr, s->mr * kr, row->a_align));
    add_operand(p, panel(groups, row->nr * kr, s->nr * kr, row->b_align));
    add_tile(row, s, p);
}

static void plan_gemm_ra(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    const int64_t kr = row->kr, groups = (s->k + kr - 1) / kr;

    add_number(p, groups * kr);
    add_matrix(p, rows_in_place(row, s->mr, groups * kr, s));
    add_operand(p, panel(groups, row->nr * kr, s->nr * kr, row->b_align));
    add_tile(row, s, p);
}

/* 1 to 3 runs, one after the other with a gap, and their panels likewise; for k = 0 none, or empty ones. */
static void plan_gemm_runs(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    const int64_t kr = row->kr, runs = s->k ? 1 + s->k % 3 : s->mr % 2, groups = (s->k + kr - 1) / kr;
    const int64_t apart = groups * kr + s->gap, all = runs ? (runs - 1) * apart + groups * kr : 0;
    const int64_t skipped = s->gap ? 1 : 0; /* groups of a panel that belong to no run */

    add_number(p, runs);
    add_number(p, groups * kr);
    add_matrix(p, rows_in_place(row, s->mr, all, s));
    add_number(p, apart);
    add_operand(
        p, panel(runs ? runs * (groups + skipped) - skipped : 0, row->nr * kr, s->nr * kr, row->b_align));
    add_number(p, (groups + skipped) * row->nr * kr);
    add_tile(row, s, p);
}

static void plan_gemm_rab(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    struct operand b = rows_in_place(row, s->k, s->nr, s);

    b.over = 0;
    b.align = row->b_align;
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->mr, s->k, s));
    add_matrix(p, b);
    add_tile(row, s, p);
}

/* A by columns. */
static void plan_gemm_small_ta(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    struct operand b = rows_in_place(row, s->k, s->nr, s);

    b.align = row->b_align;
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->k, s->mr, s));
    add_matrix(p, b);
    add_tile(row, s, p);
}

/* B by columns. */
static void plan_gemm_nt(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    struct operand b = rows_in_place(row, s->nr, s->k, s);

    b.align = row->b_align;
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->mr, s->k, s));
    add_matrix(p, b);
    add_tile(row, s, p);
}

static void plan_gemm_rap(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    struct operand b = rows_in_place(row, s->k, s->nr, s), d = panel(s->k, row->nr, row->nr, 1);

    b.over = 0;
    b.align = row->b_align;
    d.output = d.never_read = true;
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->mr, s->k, s));
    add_matrix(p, b);
    add_operand(p, d);
    add_tile(row, s, p);
}

/* A matrix of rows x k whose elements lie one by one: row after row, or, for odd k, column after column. */
static struct operand elements(const struct shape *s, int64_t rows, int64_t *ld, int64_t *cs) {
    const int64_t step = 1 + s->gap;

    *ld = s->k % 2 ? step : s->k * step;
    *cs = s->k % 2 ? rows * step : step;
    return (struct operand){.rows = rows * s->k, .length = 1, .used = 1, .stride = step};
}

static void plan_gemm_sab(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    struct operand b = rows_in_place(row, s->k, s->nr, s);
    int64_t lda, csa;
    struct operand a = elements(s, s->mr, &lda, &csa);

    b.over = 0;
    b.align = row->b_align;
    add_number(p, s->k);
    add_operand(p, a);
    add_number(p, lda);
    add_number(p, csa);
    add_matrix(p, b);
    add_tile(row, s, p);
}

/* Of x, element (i, p) is a row of nr channels: every one after the other, or, for odd k, each second one for p. */
static void plan_sdw(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    const int64_t step = 1 + s->k % 2;
    struct operand x = rows_in_place(row, s->mr + step * (s->k - 1), s->nr, s);
    struct operand f = rows_in_place(row, s->k, row->operation->form == UK_OP_DEPTHWISE_ROW ? 1 : s->nr, s);

    x.rows = s->k ? x.rows : 0;
    f.align = row->b_align;
    add_number(p, s->k);
    add_matrix(p, x);
    add_number(p, step * x.stride);
    add_matrix(p, f);
    add_tile(row, s, p);
}

/* A window over a plane: rows of outputs as far apart in it as their columns, or farther; weights together, or each on its own. */
static void plan_byte_dw(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    const int64_t window = row->operation->window, step = row->operation->stride;
    const int64_t apart = step + !s->acc, between = 1 + s->gap;
    struct operand x = rows_in_place(row, apart * (s->mr - 1) + window, step * (s->nr - 1) + window, s);

    add_operand(p, x);
    add_number(p, apart * x.stride);
    add_number(p, x.stride);
    add_operand(
        p, (struct operand){
               .rows = window * window, .length = 1, .used = 1, .stride = between, .align = row->b_align});
    add_number(p, window * between);
    add_number(p, between);
    add_tile(row, s, p);
}

static void plan_spack_s(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    struct operand d = panel(s->k, row->nr, row->nr, row->b_align);
    int64_t lds, ldk;
    struct operand from = elements(s, s->nr, &lds, &ldk);

    d.output = true;
    add_number(p, s->k);
    add_operand(p, from);
    add_number(p, ldk);
    add_number(p, lds);
    add_operand(p, d);
    add_number(p, s->nr);
}

static void plan_pack_t(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    struct operand d = panel(s->k, row->mr, row->mr, row->b_align);

    d.output = true;
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->mr, s->k, s));
    add_operand(p, d);
    add_number(p, s->mr);
}

/* mr rows transposed, in rows of so many elements. */
static void add_transpose(const struct uk_kernel *row, const struct shape *s, int64_t width, struct plan *p) {
    struct operand d = panel(s->k, width, width, row->b_align);

    d.output = true;
    d.stride = width + s->gap;
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->mr, s->k, s));
    add_operand(p, d);
    add_number(p, d.stride);
    add_number(p, s->mr);
}

static void plan_transpose(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    add_transpose(row, s, row->mr, p);
}

/* Windows of up to 3 pixels in so many rows that there are k or some more, every second pixel; a pixel is a row of nr neighbours. */
static void plan_window(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    const int64_t width = 1 + s->k % 3, rows = (s->k + 2) / 3, line = 2 * (s->mr - 1) + width;
    const struct operand x = rows_in_place(row, rows ? rows * line : 0, s->nr, s);

    add_number(p, rows);
    add_number(p, width);
    add_operand(p, x);
    add_number(p, 2 * x.stride);
    add_number(p, line * x.stride);
    add_number(p, x.stride);
    add_tile(row, s, p);
}

/* Windows of all numbers of rows and columns for which kernels have loops of their own, and of more; as far apart as their columns, every
 * second pixel, or every third, which the largest shape has. A row of weights for each place in a window, by rows of windows. */
static void plan_byte_dw_channels(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    const int64_t width = s->k ? 1 + (s->k - 1) % 9 : 1, rows = s->k < 5 ? s->k : 1 + s->k % 5;
    const int64_t other = (s->acc + s->mr + 1) % 2, step = s->gap ? 3 - other : 1 + other;
    const int64_t line = step * (s->mr - 1) + width;
    const struct operand x = rows_in_place(row, rows ? rows * line : 0, s->nr, s),
                         f = rows_in_place(row, rows * width, s->nr, s);

    add_number(p, rows);
    add_number(p, width);
    add_operand(p, x);
    add_number(p, step * x.stride);
    add_number(p, line * x.stride);
    add_number(p, x.stride);
    add_operand(p, f);
    add_number(p, width * f.stride);
    add_number(p, f.stride);
    add_tile(row, s, p);
}

/* No more than the rows that are there. */
static void plan_byte_transpose(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    add_transpose(row, s, s->mr, p);
}

static void plan_pack_n(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    struct operand d = panel(s->k, row->nr, row->nr, row->b_align);

    d.output = true;
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->k, s->nr, s));
    add_operand(p, d);
    add_number(p, s->nr);
}

/* A group of KR terms, 3 or all of them for the larger k, in a panel that may be wider than what is packed. */
static void plan_group_pack(const struct uk_kernel *row, const struct shape *s, int64_t packed, bool across,
                            struct plan *p) {
    const int64_t k = s->k < row->kr ? s->k : row->kr - 1 + s->k % 2, width = packed + (s->gap ? GAP : 0);
    struct operand d = panel(width, row->kr, row->kr, row->b_align);

    d.output = true;
    add_number(p, k);
    add_operand(p, across ? rows_in_place(row, k, packed, s) : rows_in_place(row, packed, k, s));
    add_number(p, (across ? packed : k) + s->gap);
    add_operand(p, d);
    add_number(p, packed);
    add_number(p, width);
}

static void plan_group_pack_t(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    plan_group_pack(row, s, s->mr, false, p);
}

static void plan_group_pack_n(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    plan_group_pack(row, s, s->nr, true, p);
}

/* A panel of groups: k terms end in the last of them; before it; or, of odd k, behind it. */
static void plan_panel(const struct uk_kernel *row, const struct shape *s, int64_t packed, bool across,
                       struct plan *p) {
    const int64_t width = packed + (s->gap ? GAP : 0),
                  groups = s->k / row->kr + (s->k % 2 && s->k > 2 * row->kr ? -1 : 1);
    struct operand d = panel(groups, width * row->kr, width * row->kr, row->b_align);

    d.output = true;
    d.stride += s->gap;
    add_number(p, s->k);
    add_operand(p, across ? rows_in_place(row, s->k, packed, s) : rows_in_place(row, packed, s->k, s));
    add_number(p, (across ? packed : s->k) + s->gap);
    add_matrix(p, d);
    add_number(p, packed);
    add_number(p, width);
    add_number(p, groups);
}

static void plan_panel_t(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    plan_panel(row, s, s->mr, false, p);
}

static void plan_panel_n(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    plan_panel(row, s, s->nr, true, p);
}

static void plan_vadd(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    add_operand(p, panel(1, s->nr, s->nr, row->a_align));
    add_operand(p, panel(1, s->nr, s->nr, row->b_align));
    add_operand(p, panel(1, s->nr, s->nr, row->c_align));
    p->operand[2].output = true;
    add_number(p, s->nr);
}

static struct operand vector(int64_t length, int align) {
    return panel(1, length, length, align);
}

static void plan_dot(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    add_number(p, s->k);
    add_operand(p, vector(s->k, row->a_align));
    add_operand(p, vector(s->k, row->b_align));
    add_operand(p, vector(1, row->c_align));
    p->operand[2].output = true;
    add_number(p, s->acc);
}

static void plan_axpy(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    p->scalar = s->data == INTEGERS ? 3 : 0.7;
    add_number(p, s->nr);
    add_operand(p, vector(s->nr, row->a_align));
    add_operand(p, vector(s->nr, row->b_align));
    p->operand[1].output = true;
}

static void plan_gemv_n(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->mr, s->k, s));
    add_operand(p, vector(s->k, row->b_align));
    add_operand(p, vector(s->mr, row->c_align));
    p->operand[2].output = true;
    add_number(p, s->acc);
    add_number(p, s->gap);
    add_number(p, s->mr);
}

static void plan_gemv_t(const struct uk_kernel *row, const struct shape *s, struct plan *p) {
    add_number(p, s->k);
    add_matrix(p, rows_in_place(row, s->k, s->nr, s));
    add_operand(p, vector(s->k, row->b_align));
    add_operand(p, vector(s->nr, row->c_align));
    p->operand[2].output = true;
    add_number(p, s->acc);
    add_number(p, s->gap);
    add_number(p, s->nr);
}

/* ---- operations ---- */

#define OUTPUTS .has_rows = true, .has_columns = true, .has_acc = true
#define ANY_OUTPUTS .has_k = true, .has_rows = true, .any_rows = true, .any_columns = true, .has_acc = true
#define TILE .has_k = true, OUTPUTS

/* The operands of each form of operations; of two with one form the first whose declaration has the word, if there is one. */
static const struct {
    enum uk_op_form form;
    const char *word;
    struct op op;
} forms[] = {
    {UK_OP_PANELS, NULL, {.plan = plan_gemm, TILE}},
    {UK_OP_RA, NULL, {.plan = plan_gemm_ra, TILE}},
    {UK_OP_RUNS, NULL, {.plan = plan_gemm_runs, TILE}},
    {UK_OP_RAB, NULL, {.plan = plan_gemm_rab, TILE}},
    {UK_OP_SAB, NULL, {.plan = plan_gemm_sab, TILE}},
    {UK_OP_RAP, NULL, {.plan = plan_gemm_rap, TILE}},
    {UK_OP_SMALL, NULL, {.plan = plan_gemm_rab, TILE, .any_rows = true}},
    {UK_OP_SMALL_TA, NULL, {.plan = plan_gemm_small_ta, TILE, .any_rows = true}},
    {UK_OP_NT, NULL, {.plan = plan_gemm_nt, TILE, .any_rows = true}},
    {UK_OP_DOT, NULL, {.plan = plan_dot, .has_k = true, .has_acc = true}},
    {UK_OP_AXPY, NULL, {.plan = plan_axpy, .adds = true, .any_columns = true}},
    {UK_OP_GEMV_N,
     NULL,
     {.plan = plan_gemv_n, .has_k = true, .has_rows = true, .has_acc = true, .any_rows = true}},
    {UK_OP_GEMV_T,
     NULL,
     {.plan = plan_gemv_t, .has_k = true, .has_columns = true, .has_acc = true, .wide = true}},
    {UK_OP_ADD, NULL, {.plan = plan_vadd, .any_columns = true}},
    {UK_OP_ADD_VECTOR, NULL, {.plan = plan_vadd, .has_columns = true}},
    {UK_OP_PACK_N, "i64 W", {.plan = plan_group_pack_n, .has_k = true, .any_columns = true}},
    {UK_OP_PACK_N, NULL, {.plan = plan_pack_n, .has_k = true, .has_columns = true}},
    {UK_OP_PACK_T, "i64 W", {.plan = plan_group_pack_t, .has_k = true, .has_rows = true, .any_rows = true}},
    {UK_OP_PACK_T, NULL, {.plan = plan_pack_t, .has_k = true, .has_rows = true}},
    {UK_OP_PACK_S, NULL, {.plan = plan_spack_s, .has_k = true, .has_columns = true}},
    {UK_OP_PANEL_N, NULL, {.plan = plan_panel_n, .has_k = true, .any_columns = true}},
    {UK_OP_PANEL_T, NULL, {.plan = plan_panel_t, .has_k = true, .has_rows = true, .any_rows = true}},
    {UK_OP_TRANSPOSE,
     "[P, I]",
     {.plan = plan_byte_transpose, .has_k = true, .has_rows = true, .any_rows = true}},
    {UK_OP_TRANSPOSE, NULL, {.plan = plan_transpose, .has_k = true, .has_rows = true}},
    {UK_OP_DEPTHWISE, NULL, {.plan = plan_sdw, TILE, .wide = true}},
    {UK_OP_DEPTHWISE_ROW, NULL, {.plan = plan_sdw, TILE, .wide = true}},
    {UK_OP_DEPTHWISE_WINDOW, NULL, {.plan = plan_byte_dw, OUTPUTS}},
    {UK_OP_DEPTHWISE_CHANNELS, NULL, {.plan = plan_byte_dw_channels, ANY_OUTPUTS}},
    {UK_OP_WINDOW, NULL, {.plan = plan_window, ANY_OUTPUTS}},
};

/* The rows of ops.def. */
static const struct operation {
    const char *name, *declaration;
    void (*reference)(void);
    struct uk_operation is;
} operations[] = {
#define UK_OP_ROW(name, parameters, declaration, ...) \
    {#name, declaration, (void (*)(void))uk_reference_##name, {__VA_ARGS__}},
#include "registry/ops.def"
#undef UK_OP_ROW
};

static const struct operation *operation_of(const char *name) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (!strcmp(operations[i].name, name))
            return &operations[i];
    return NULL;
}

/* The types of the tensors that a declaration begins with. */
static void find_types(const char *declaration, enum element *types) {
    static const char *const names[] = {[F32] = "f32", [F64] = "f64", [F16] = "f16", [BF16] = "bf16",
                                        [U8] = "u8",   [I8] = "i8",   [I16] = "i16", [I32] = "i32"};
    static const char tensor[] = "  tensor ";
    int n = 0;

    for (const char *p = declaration; n < OPERANDS && (p = strstr(p, tensor)); n++) {
        p += sizeof tensor - 1;
        p += strcspn(p, " ") + 1; /* behind its name */
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strcspn(p, " \n") == strlen(names[i]) && !strncmp(p, names[i], strlen(names[i])))
                types[n] = (enum element)i;
    }
}

bool check_op(const char *name, struct op *op) {
    const struct operation *o = operation_of(name);

    for (size_t i = 0; o && i < sizeof forms / sizeof *forms; i++)
        if (forms[i].form == o->is.form && (!forms[i].word || strstr(o->declaration, forms[i].word))) {
            *op = forms[i].op;
            op->reference = o->reference;
            find_types(o->declaration, op->types);
            return true;
        }
    return false;
}
