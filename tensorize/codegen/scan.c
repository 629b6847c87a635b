/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scans of adjacent elements, by vectors. Lowering makes a loop of one in which each element waits for the
 * one before it:
 *
 *     for n in 0 .. N
 *       if n == 0
 *         Y[m, n] = 0
 *       else
 *         Y[m, n] = Y[m, n - 1]
 *       Y[m, n] += X[m, n]
 *
 * Integers may be combined in any order: a vector is scanned in registers by steps of 1, 2, 4, ... elements,
 * then combined with the carry, the last element before it. Floats keep the order of the loop: the lanes of a
 * vector are rows, and blocks of rows and columns are transposed in registers. Each of these loops leaves a
 * remainder to the loop above, which finds the carry in memory.
 */
#include "minmax.h"
#include "generator.h"

/* PIECE: bytes within which all targets shuffle by one instruction. */
enum { PIECE = 16, MAX_ROWS = 16, MAX_COLUMNS = 8, MAX_LANES = 64 };

struct scan {
    const struct uk_node *loop, *first, *add; /* first: stores the identity */
    const struct uk_access *from, *to;
    enum uk_type type;
    int bytes; /* of an element */
    uk_cg_loop_function *serial;
};

/* The store without others after it, to this tensor; or NULL. */
static const struct uk_node *only_store(const struct uk_node *n, const struct uk_tensor *t) {
    return n && n->op == UK_N_STORE && !n->next && n->target.tensor == t ? n : NULL;
}

static bool is_zero(const struct uk_index *e) {
    int64_t c;

    return uk_index_is_int(e, &c) && c == 0;
}

/* True if the loop's body stores the identity or the previous element. */
static bool begins(const struct uk_node *loop, struct scan *s) {
    const struct uk_node *n = loop->body;

    if (n->op != UK_N_IF || n->condition->op != UK_I_EQ || n->condition->a->op != UK_I_VAR ||
        n->condition->a->var != loop->var || !is_zero(n->condition->b))
        return false;
    const struct uk_node *next = only_store(n->other, s->to->tensor);
    s->first = only_store(n->body, s->to->tensor);
    return s->first && next && s->first->assign == UK_ASSIGN && next->assign == UK_ASSIGN &&
           s->first->expr->op == UK_E_NUMBER && next->expr->op == UK_E_ACCESS &&
           next->expr->access.tensor == s->to->tensor;
}

/* True for the loop of a scan whose terms and results are adjacent elements of one type. */
static bool find_scan(const struct uk_codegen *g, const struct uk_node *n, struct scan *s) {
    const struct uk_node *add = n->op == UK_N_FOR ? n->body->next : NULL;

    if (!add || n->loop != UK_LOOP_SERIAL || n->step != 1 || !is_zero(n->lower) || add->op != UK_N_STORE ||
        add->next || add->assign == UK_ASSIGN || add->expr->op != UK_E_ACCESS || g->launch ||
        g->target->arch->bits != 64 || g->target->vectors.bytes < PIECE)
        return false;
    *s = (struct scan){.loop = n, .add = add, .from = &add->expr->access, .to = &add->target};
    s->type = s->to->tensor->type;
    s->bytes = (int)uk_type_bytes(s->type);
    return s->type == s->from->tensor->type && s->from->tensor != s->to->tensor && begins(n, s) &&
           uk_cg_is_adjacent(s->from, n->var) && uk_cg_is_adjacent(s->to, n->var);
}

/* ---- loops over blocks, with a carry ---- */

struct blocks {
    LLVMBasicBlockRef before, body, done;
    LLVMValueRef lower, last, step, i;
    LLVMValueRef begin, carry; /* NULL: the loop has no carry */
};

/* Begins a loop: i from `lower` on, while `step` elements are left. */
static struct blocks enter(struct uk_codegen *g, const char *name, LLVMValueRef lower, LLVMValueRef upper,
                           int step, LLVMValueRef carry) {
    struct blocks b = {.before = LLVMGetInsertBlock(g->b),
                       .body = uk_cg_block(g, name),
                       .done = uk_cg_block(g, "done"),
                       .lower = lower,
                       .step = uk_cg_int_as(upper, step),
                       .begin = carry};

    b.last = LLVMBuildNSWSub(g->b, upper, b.step, "");
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLE, lower, b.last, ""), b.body, b.done);
    LLVMPositionBuilderAtEnd(g->b, b.body);
    b.i = LLVMBuildPhi(g->b, LLVMTypeOf(upper), name);
    if (carry)
        b.carry = LLVMBuildPhi(g->b, LLVMTypeOf(carry), "carry");
    return b;
}

/* The value after the loop: `none` if it had no iteration. */
static LLVMValueRef after(struct uk_codegen *g, const struct blocks *b, LLVMBasicBlockRef end,
                          LLVMValueRef none, LLVMValueRef some) {
    LLVMValueRef phi = LLVMBuildPhi(g->b, LLVMTypeOf(none), "");

    LLVMAddIncoming(phi, (LLVMValueRef[]){none, some}, (LLVMBasicBlockRef[]){b->before, end}, 2);
    return phi;
}

/* Ends the loop. *carry: that of the iteration, then the last one. Returns the begin of the remainder. */
static LLVMValueRef leave(struct uk_codegen *g, struct blocks *b, LLVMValueRef *carry) {
    LLVMBasicBlockRef from[] = {b->before, LLVMGetInsertBlock(g->b)};
    LLVMValueRef next = LLVMBuildNSWAdd(g->b, b->i, b->step, "");

    LLVMAddIncoming(b->i, (LLVMValueRef[]){b->lower, next}, from, 2);
    if (b->carry)
        LLVMAddIncoming(b->carry, (LLVMValueRef[]){b->begin, *carry}, from, 2);
    LLVMBuildCondBr(g->b, LLVMBuildICmp(g->b, LLVMIntSLE, next, b->last, ""), b->body, b->done);
    LLVMPositionBuilderAtEnd(g->b, b->done);
    if (b->carry)
        *carry = after(g, b, from[1], b->begin, *carry);
    return after(g, b, from[1], b->lower, next);
}

/* ---- vectors ---- */

static LLVMValueRef shuffle(struct uk_codegen *g, LLVMValueRef a, LLVMValueRef b, const int *from, int n) {
    LLVMValueRef lane[MAX_LANES];

    for (int i = 0; i < n; i++)
        lane[i] = LLVMConstInt(g->i32, (unsigned long long)from[i], false);
    return LLVMBuildShuffleVector(g->b, a, b, LLVMConstVector(lane, (unsigned)n), "");
}

/* n copies of element i of v. */
static LLVMValueRef copies(struct uk_codegen *g, LLVMValueRef v, int i, int n) {
    int from[MAX_LANES];

    for (int k = 0; k < n; k++)
        from[k] = i;
    return shuffle(g, v, LLVMGetPoison(LLVMTypeOf(v)), from, n);
}

static LLVMTypeRef vector_type(struct uk_codegen *g, const struct scan *s, int n) {
    return LLVMVectorType(uk_cg_memory_type(g, s->type), (unsigned)n);
}

static LLVMValueRef identity(struct uk_codegen *g, const struct scan *s, int n) {
    LLVMValueRef v = LLVMGetPoison(vector_type(g, s, n));

    v = LLVMBuildInsertElement(g->b, v, uk_cg_expr(g, s->first->expr), uk_cg_int(g, 0), "");
    return copies(g, v, 0, n);
}

static LLVMValueRef combine(struct uk_codegen *g, const struct scan *s, LLVMValueRef old, LLVMValueRef v) {
    return uk_cg_combined(g, s->add->assign, false, s->type, old, v);
}

static LLVMValueRef load(struct uk_codegen *g, const struct scan *s, LLVMValueRef at, int n) {
    LLVMValueRef v = LLVMBuildLoad2(g->b, vector_type(g, s, n), at, "");

    LLVMSetAlignment(v, (unsigned)s->bytes);
    uk_cg_mark_access(g, v, s->from->tensor);
    return v;
}

static void store(struct uk_codegen *g, const struct scan *s, LLVMValueRef v, LLVMValueRef at) {
    v = LLVMBuildStore(g->b, v, at);
    LLVMSetAlignment(v, (unsigned)s->bytes);
    uk_cg_mark_access(g, v, s->to->tensor);
}

/* ---- integers ---- */

/* Scans a vector. Inside pieces each element is combined with that of `distance` before it. Between pieces,
 * all elements of the second of two groups are combined with the first one's last element: fewer shuffles
 * than moving elements across pieces. */
static LLVMValueRef scan_vector(struct uk_codegen *g, const struct scan *s, LLVMValueRef v, int lanes) {
    const int piece = PIECE / s->bytes;
    LLVMValueRef none = identity(g, s, lanes);
    int from[MAX_LANES];

    for (int distance = 1; distance < lanes; distance *= 2) {
        for (int i = 0; i < lanes; i++)
            if (distance < piece)
                from[i] = i % piece < distance ? lanes + i : i - distance;
            else
                from[i] = i / distance % 2 ? i / distance * distance - 1 : lanes + i;
        v = combine(g, s, v, shuffle(g, v, none, from, lanes));
    }
    return v;
}

static LLVMValueRef scan_integers(struct uk_codegen *g, const struct scan *s, LLVMValueRef lower,
                                  LLVMValueRef upper) {
    const int lanes = uk_min(g->target->vectors.bytes / s->bytes, MAX_LANES);
    struct blocks b = enter(g, "scan", lower, upper, lanes, identity(g, s, lanes));
    struct uk_binding *outside = g->bindings;

    uk_cg_bind(g, s->loop->var, b.i, uk_cg_from_zero);
    LLVMValueRef v = scan_vector(g, s, load(g, s, uk_cg_address(g, s->from, true), lanes), lanes);
    store(g, s, combine(g, s, b.carry, v), uk_cg_address(g, s->to, true));
    g->bindings = outside;
    LLVMValueRef carry = combine(g, s, b.carry, copies(g, v, lanes - 1, lanes));
    return leave(g, &b, &carry);
}

/* ---- floats ---- */

/* A block of rows. The lanes of its vectors are rows; each piece of a vector has adjacent elements of one
 * row, or as many rows of one column. */
struct rows {
    int count, piece;                          /* piece: elements */
    LLVMValueRef from[MAX_ROWS], to[MAX_ROWS]; /* addresses of the rows' first elements */
};

/* Transposes the pieces of vectors, as many as a piece has elements: element k of piece l of v[i] becomes
 * element i of piece l of v[k]. */
static void transpose(struct uk_codegen *g, const struct rows *r, LLVMValueRef *v) {
    const int half = r->piece / 2;
    LLVMValueRef w[PIECE];
    int from[MAX_ROWS];

    for (int done = 1; done < r->piece; done *= 2) {
        for (int i = 0; i < r->piece; i++) {
            for (int k = 0; k < r->count; k++)
                from[k] = k / r->piece * r->piece + i % 2 * half + k % r->piece / 2 + k % 2 * r->count;
            w[i] = shuffle(g, v[i / 2], v[i / 2 + half], from, r->count);
        }
        for (int i = 0; i < r->piece; i++)
            v[i] = w[i];
    }
}

static LLVMValueRef at_column(struct uk_codegen *g, const struct scan *s, LLVMValueRef row, LLVMValueRef j,
                              int more) {
    j = LLVMBuildNSWAdd(g->b, j, uk_cg_int(g, more), "");
    return LLVMBuildInBoundsGEP2(g->b, uk_cg_memory_type(g, s->type), row, &j, 1, "");
}

/* Loads columns j to j + columns of the rows, row by row. v[c * piece + q] gets piece c of the rows q, q +
 * piece, q + 2 * piece, ... */
static void load_rows(struct uk_codegen *g, const struct scan *s, const struct rows *r, LLVMValueRef j,
                      int columns, LLVMValueRef *v) {
    LLVMValueRef part[MAX_COLUMNS][MAX_ROWS];
    int from[MAX_ROWS], parts = r->count / r->piece;

    for (int i = 0; i < r->count; i++)
        from[i] = i;
    for (int q = 0; q < r->piece; q++)
        for (int row = 0; row < parts; row++)
            for (int c = 0; c < columns; c += r->piece)
                part[c + q][row] = load(g, s, at_column(g, s, r->from[row * r->piece + q], j, c), r->piece);
    for (int k = 0; k < columns; k++) {
        int n = r->piece;

        for (int left = parts; left > 1; left /= 2, n *= 2)
            for (int i = 0; i < left / 2; i++)
                part[k][i] = shuffle(g, part[k][2 * i], part[k][2 * i + 1], from, 2 * n);
        v[k] = part[k][0];
    }
}

static void store_rows(struct uk_codegen *g, const struct scan *s, const struct rows *r, LLVMValueRef j,
                       int columns, const LLVMValueRef *v) {
    int from[MAX_ROWS];

    for (int q = 0; q < r->piece; q++)
        for (int row = 0; row < r->count; row += r->piece)
            for (int c = 0; c < columns; c += r->piece) {
                for (int i = 0; i < r->piece; i++)
                    from[i] = row + i;
                store(g, s, shuffle(g, v[c + q], v[c + q], from, r->piece),
                      at_column(g, s, r->to[row + q], j, c));
            }
}

/* Scans some columns, from j on. Returns the last one. */
static LLVMValueRef scan_block(struct uk_codegen *g, const struct scan *s, const struct rows *r,
                               LLVMValueRef carry, LLVMValueRef j, int columns) {
    LLVMValueRef v[MAX_COLUMNS];

    load_rows(g, s, r, j, columns, v);
    for (int c = 0; c < columns; c += r->piece) {
        transpose(g, r, v + c);
        for (int q = 0; q < r->piece; q++)
            carry = v[c + q] = combine(g, s, carry, v[c + q]);
        transpose(g, r, v + c);
    }
    store_rows(g, s, r, j, columns, v);
    return carry;
}

/* Scans the columns of a block, then those that are left in pieces. Returns the begin of the remainder. Half
 * as many columns as rows at once: all their vectors stay in registers. */
static LLVMValueRef scan_columns(struct uk_codegen *g, const struct scan *s, const struct rows *r,
                                 LLVMValueRef upper) {
    const int columns[] = {(int)uk_max(r->count / 2, r->piece), r->piece};
    LLVMValueRef carry = identity(g, s, r->count), j = uk_cg_int(g, 0);

    for (int c = columns[0] == columns[1]; c < 2; c++) {
        struct blocks b = enter(g, s->loop->var->name, j, upper, columns[c], carry);

        carry = scan_block(g, s, r, b.carry, b.i, columns[c]);
        j = leave(g, &b, &carry);
    }
    return j;
}

/* Generates a loop over blocks of rows. Returns the begin of the remainder. */
static LLVMValueRef scan_blocks(struct uk_codegen *g, const struct uk_node *n, const struct scan *s,
                                int count, LLVMValueRef lower, LLVMValueRef upper) {
    struct rows r = {.count = count, .piece = PIECE / s->bytes};
    struct uk_binding *outside = g->bindings;
    struct blocks b = enter(g, n->var->name, lower, upper, count, NULL);
    const struct uk_interval range = uk_cg_loop_range(g, n);
    LLVMValueRef columns = uk_cg_index(g, s->loop->upper);

    uk_cg_bind(g, s->loop->var, uk_cg_int(g, 0), (struct uk_interval){0, 0});
    for (int row = 0; row < count; row++) {
        struct uk_binding *inner = g->bindings;

        uk_cg_bind(g, n->var, LLVMBuildNSWAdd(g->b, b.i, uk_cg_int(g, row), ""), range);
        r.from[row] = uk_cg_address(g, s->from, true);
        r.to[row] = uk_cg_address(g, s->to, true);
        g->bindings = inner;
    }
    g->bindings = outside;
    LLVMValueRef rest = scan_columns(g, s, &r, columns);
    struct blocks rows = enter(g, "row", b.i, LLVMBuildNSWAdd(g->b, b.i, uk_cg_int(g, count), ""), 1, NULL);
    uk_cg_bind(g, n->var, rows.i, range);
    s->serial(g, s->loop, rest, columns);
    g->bindings = outside;
    leave(g, &rows, NULL);
    return leave(g, &b, NULL);
}

/* Scans as many rows at once as a vector has lanes, then those that are left as many as a piece has. */
static LLVMValueRef scan_rows(struct uk_codegen *g, const struct uk_node *n, const struct scan *s,
                              LLVMValueRef lower, LLVMValueRef upper) {
    const int lanes = uk_min(g->target->vectors.bytes / s->bytes, MAX_ROWS), piece = PIECE / s->bytes;

    if (lanes > piece)
        lower = scan_blocks(g, n, s, lanes, lower, upper);
    return scan_blocks(g, n, s, piece, lower, upper);
}

LLVMValueRef uk_cg_scan(struct uk_codegen *g, const struct uk_node *n, LLVMValueRef lower, LLVMValueRef upper,
                        uk_cg_loop_function *serial) {
    struct scan s;

    /* Logarithmic steps take more multiplications than the loop, which takes one per element. */
    if (find_scan(g, n, &s))
        return uk_type_is_float(s.type) || s.add->assign == UK_ASSIGN_MULTIPLY
                   ? lower
                   : scan_integers(g, &s, lower, upper);
    if ((n->loop != UK_LOOP_SERIAL && n->loop != UK_LOOP_PARALLEL) || n->step != 1 || n->body->next ||
        !find_scan(g, n->body, &s) || (s.type != UK_F32 && s.type != UK_F64) ||
        uk_mentions(n->body->upper, n->var) || g->target->arch->flushes ||
        uk_mentions(s.to->index[s.to->tensor->stored_dims - 1], n->var))
        return lower;
    s.serial = serial;
    return scan_rows(g, n, &s, lower, upper);
}
