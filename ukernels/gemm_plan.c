/*
 * Which path, kernel, blocking and threads a product takes: the least of the estimated costs below, in cycles of one
 * core. Column-major products are computed as the row-major product of the transposes: C' = B' A'.
 *
 * Tiles. A step of k of a tile of mr x nr takes the longest of
 *     FMAs / 2      two vector FMAs a cycle; FMAs = mr (rounded up to the kernel's row_step) * vectors of nr
 *     loads / 2     two loads a cycle: a broadcast per row and the vectors of B
 *     4             the latency of an FMA, which every sum of the tile has to wait for
 * and a tile CALL cycles more for the call, its jumps, and its part of C, which comes and goes once per block of k.
 *
 * Copies. Packing is bound by loads and stores of lines that are in no near cache: COPY cycles per byte, once per
 * element, whichever way the source lies; what a B costs that the first panel of rows copies as it reads is a fact of the
 * machine (as_read). A copy of A in rows takes more (ROWS; TURN where columns become rows), and its tiles read as many
 * streams as rows.
 *
 * Reading in place. A tile reads mr rows of A at once, 16 or 8 elements of k to a line: if the rows are so far apart
 * that they share too few sets of the first cache, each line is fetched again for each element (conflict, per row and
 * k). A strip of B is read again by every panel of rows: if the block's lines do not fit into the second cache's
 * sets that they can go to, they come from the third, of which the kernels' prefetches hide what they can (far, per
 * line). Both are counted from the strides: rows a multiple of 2^s bytes apart reach 1/2^s of the sets. If a block's rows
 * lie in more pages than the first level of translations has (PAGES), each new page costs its translation (translate);
 * rows that do not begin with lines cost more, too (crossing). These are facts of the machine, in gemm_cache.c: B is packed
 * where more than some 40 to 60 panels of rows read it on Zen 5; on Granite Rapids where two do if its rows share sets,
 * else 5 to 25. Tiles that read B in place ask for its rows, those of a packed B for A's next ones, which if they are short
 * no hardware sees as streams; it counts (unasked) where not all operands fit into the second cache, and all columns are not
 * the last ones, whose narrower tile asks for nothing. Rows of A that each begin in a page of their own, more than the second
 * level has room for beside those of C (TRANSLATED: it has 2048 to 4096), cost a WALK each for every block of columns. Where A is by columns, a step's elements are in one line or two. If the
 * first cache keeps too few of a block's, each comes again for every tile of the row (columns.near, or .far if the second
 * cache loses it too), and so do translations; all nothing on Zen 5. Granite Rapids packs A for more than some 12 to 30
 * tiles, or 4.
 *
 * B by columns can be had without a copy, as A in rows for the product of the transposes, whose tiles are turned on their way
 * to C: TURN per byte of C instead of COPY per byte of B, for sums of one block.
 *
 * Blocks. A block of B, kc x nc, takes half of the second cache, or BLOCK bytes of a larger one: what is packed passes
 * through as well, and a longer block saves less than 1 % of A's way from the third cache. k is cut into equal blocks of
 * some KC if it is longer than KC_WHOLE: C is read and written once per block, but a long block has few columns, for each
 * of which the panels of A come from the third cache. Where that is far k is not cut if all of B, of few columns, takes no
 * more than half of the second cache: rows of A then come once and in full, not in runs of kc, each in pages of its own. What
 * decides the order in which
 * an element's products are added (the tile, kc, the kernel's form) depends on shape and strides only: not on
 * threads, nor on what has been packed beforehand. The width of the tile depends on n alone, or on m where C is
 * turned.
 */
#include "gemm_direct.h"
#include "pool.h"

enum {
    CALL = 40,
    KC = 512,
    KC_WHOLE = 800,
    LINE = 64,
    PAGE = 4096,
    PAGES = 64,
    BLOCK = 512 << 10,
    TRANSLATED = 3072,
    NEAR = 12
};
static const double COPY = 0.1, ROWS = 0.11, TURN = 0.2, WALK = 30, FLAT = 1.12;

/* How many lines that are `stride` bytes apart the cache keeps. */
static int64_t kept(const struct gemm_cache *c, int64_t stride) {
    const int64_t way = c->size / c->ways, step = stride & -stride; /* the power of two in it */
    const int64_t sets = step >= way ? 1 : step <= LINE ? way / LINE : way / step;

    return sets * c->ways;
}

/* ---- costs ---- */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t parts(int64_t n, int64_t part) {
    return (n + part - 1) / part;
}

static double larger(double a, double b) {
    return a > b ? a : b;
}

/* A step of k of a tile. */
static double step_cost(const struct gemm_tile *t, int row_step, int64_t mr, int64_t nr) {
    const double vectors = (double)parts(nr, t->lanes), rows = (double)(parts(mr, row_step) * row_step);

    return larger(larger(rows * vectors, rows + vectors) / 2, 4);
}

/* All tiles of a product, with all operands near. */
static double tiles_cost(const struct gemm_tile *t, const struct uk_kernel *k, int64_t rows, int64_t m,
                         int64_t n, int64_t steps) {
    const int64_t high = m / rows, wide = n / t->nr, low = m % rows, narrow = n % t->nr;
    double cycles = (double)(high * wide) * step_cost(t, k->row_step, rows, t->nr);

    if (narrow)
        cycles += (double)high * step_cost(t, k->row_step, rows, narrow);
    if (low)
        cycles += (double)wide * step_cost(t, k->row_step, low, t->nr);
    if (low && narrow)
        cycles += step_cost(t, k->row_step, low, narrow);
    return cycles * (double)steps + (double)(parts(m, rows) * parts(n, t->nr)) * CALL;
}

/* Rows of equal panels, none higher than the tile. */
static int64_t panel_rows(const struct uk_kernel *k, int64_t m) {
    const int64_t even = parts(m, parts(m, k->mr));

    return parts(even, k->row_step) * k->row_step;
}

/* Forms that take B in place take panels too. */
static bool form_takes(enum gemm_form form, const struct uk_gemm_plan *p, enum gemm_source a,
                       enum gemm_source b) {
    if (b == GEMM_IN_PLACE ? form == GEMM_PANELS || form == GEMM_RA || p->b_column != 1 : false)
        return false;
    switch (form) {
    case GEMM_PANELS:
        return a == GEMM_COPIED;
    case GEMM_RA:
    case GEMM_RAB:
        return a == GEMM_ROWS || (a == GEMM_IN_PLACE && p->a_step == 1);
    default:
        return true;
    }
}

/* Whether the tiles ask for what is needed of B next, which then comes from the second cache: if B comes from further away,
 * and so few panels of rows read it that this counts. A B by columns is copied, for which A is in rows; its copy waits for
 * all of it, and takes 13 / m of the product's time at least. In place the first panel's own prefetches wait for a part of
 * it, if more than half of B lies beyond the second cache; what a single panel reads can only come as fast as it does. */
static bool asks(const struct uk_gemm_plan *p, const struct gemm_tile *t, enum gemm_form form) {
    const int64_t panels = parts(p->m, t->mr), size = p->n * p->k * p->type->size,
                  near = gemm_caches()->second.size;

    if (!t->asking[form])
        return false;
    if (form == GEMM_RA)
        return p->b_column != 1 && p->a_step == 1 && panels <= t->nr && size > near / 2;
    return panels > 1 && panels <= 8 && size > 2 * near;
}

/* Whether a tile's rows of A, in place, share so few sets of the first cache that they do not stay there. */
static bool conflicts(const struct uk_gemm_plan *p, const struct gemm_tile *t) {
    return p->a_step == 1 &&
           least(p->m, t->mr) * 3 / 2 > kept(&gemm_caches()->first, p->a_row * p->type->size);
}

/* A by columns, in place: what it costs the tiles of a row, but for the first, that its steps come again. */
static double columns_again(const struct uk_gemm_plan *p, const struct gemm_tile *t, int64_t kc) {
    const struct gemm_caches *caches = gemm_caches();
    const int64_t stride = p->a_step * p->type->size, again = parts(p->n, t->nr) - 1;
    const double apart = (double)(stride < LINE ? LINE : stride) / LINE;
    const double wide = 1 + (double)((t->mr - 1) * p->type->size) / LINE, lines = wide < apart ? wide : apart;
    const double block = (double)kc * lines;
    double step = 0;

    if (kc * stride > PAGES * PAGE)
        step += caches->columns.translate * (double)least(stride, PAGE) / PAGE;
    if (block > (double)kept(&caches->second, stride))
        step += caches->columns.far * lines;
    else if (block > (double)kept(&caches->first, stride) / 2)
        step += caches->columns.near * lines;
    return (double)(p->k * parts(p->m, t->mr) * again) * step;
}

/* What reading or copying A costs beside the tiles. */
static double a_cost(const struct uk_gemm_plan *p, const struct gemm_tile *t, int64_t kc,
                     enum gemm_source source, enum gemm_source b) {
    const int size = p->type->size;
    const struct gemm_caches *caches = gemm_caches();
    const double elements = (double)p->m * (double)p->k, copy = caches->columns.copy;
    double cycles = 0;

    if (source == GEMM_COPIED)
        return elements * size * (p->a_step == 1 ? COPY : copy);
    if (source == GEMM_ROWS)
        return elements * size * (p->a_step == 1 ? ROWS : TURN - COPY + copy);
    if (p->a_step == 1 && p->m > TRANSLATED && p->a_row * size >= PAGE)
        cycles += elements * (double)p->n * size / (double)(caches->second.size / 2) * WALK;
    if (conflicts(p, t))
        cycles += elements * (double)parts(p->n, t->nr) * caches->in_place.conflict;
    if (p->a_step == 1 && b == GEMM_IN_PLACE && 2 * p->n > t->nr && p->k * size < 2 * PAGE &&
        ((p->m + p->n) * p->k + p->m * p->n) * size > caches->second.size)
        cycles += elements * size / LINE * caches->in_place.unasked;
    if (p->a_step != 1)
        cycles += columns_again(p, t, kc);
    return cycles;
}

/* Whether the first panel of rows can copy B as it reads it. What has been packed beforehand does not count: the plan may
 * not depend on it. */
static bool copies_as_read(const struct uk_gemm_plan *p, const struct gemm_tile *t, enum gemm_source a) {
    return t->kernel[GEMM_RAP] && (p->a_step == 1 || a == GEMM_ROWS) && p->b_column == 1;
}

/* Whether few panels read rows of a B that comes from a far cache or memory: of their time its way is so much that half as
 * many rows at once, in half as many pages and places of a set, are worth C's second way: measured on Granite Rapids, 32 to
 * 64 rows, 2 to 8 %; of 100 rows nothing. As for the sets in which they stay the rows count twice: where pages lie anywhere
 * in memory, half the places are not enough for them all. */
static bool passes(const struct uk_gemm_plan *p, const struct gemm_tile *t) {
    return gemm_caches()->last_is_far && p->b_column == 1 && p->m > 2 * t->mr && parts(p->m, t->mr) <= 6 &&
           p->n * p->k * p->type->size > gemm_caches()->second.size;
}

static double b_cost(const struct uk_gemm_plan *p, const struct gemm_tile *t, int64_t kc, enum gemm_source a,
                     enum gemm_source source) {
    const int size = p->type->size;
    const double elements = (double)p->n * (double)p->k, again = (double)parts(p->m, t->mr) - 1;
    const int64_t stride = p->b_step * size;
    const struct gemm_caches *caches = gemm_caches();
    double cycles = 0;

    if (source == GEMM_COPIED)
        return elements * size * (copies_as_read(p, t, a) ? caches->in_place.as_read : COPY);
    if ((passes(p, t) ? 2 * kc : kc) > kept(&caches->second, stride) / 2)
        cycles += elements * size / LINE * caches->in_place.far;
    if (kc * stride > PAGES * PAGE)
        cycles += elements / t->nr * (double)least(stride, PAGE) / PAGE * caches->in_place.translate;
    if (stride % LINE)
        cycles += elements / t->nr * caches->in_place.crossing;
    return cycles * again;
}

/* ---- choices ---- */

/* A row's cycles for n columns and a step of k; the last columns may be a narrower tile's. */
static double columns_cost(const struct gemm_type *type, const struct gemm_tile *t, int64_t n) {
    const int64_t wide = n / t->nr, narrow = n % t->nr;
    double last = narrow ? step_cost(t, t->mr, t->mr, t->nr) / t->mr : 0;

    for (int i = 0; i < type->tiles && narrow; i++) {
        const struct gemm_tile *u = &type->tile[i];
        const double cost = step_cost(u, u->mr, u->mr, u->nr) / u->mr;

        if (u->lanes == t->lanes && u->mr >= t->mr && narrow <= u->nr && cost < last)
            last = cost;
    }
    return (double)wide * step_cost(t, t->mr, t->mr, t->nr) / t->mr + last;
}

/* What a tile takes longer than its steps: one of so few rows that B has to come at more than NEAR bytes a cycle. Measured
 * with AVX2's 4 rows x 3 vectors, for which A is copied besides: 3 % of a thousand columns, 15 % of a hundred. */
static double flatness(const struct gemm_type *type, const struct gemm_tile *t) {
    return t->nr * type->size > NEAR * step_cost(t, t->mr, t->mr, t->nr) ? FLAT : 1;
}

/* Of the widest vectors; of equal cost the tile that is nearer to a square, which loads less. */
const struct gemm_tile *gemm_width_for(const struct gemm_type *type, int64_t n, bool in_place) {
    const struct gemm_tile *best = NULL;
    double least_cost = 0;
    int lanes = 0;

    for (int i = 0; i < type->tiles; i++)
        lanes = type->tile[i].lanes > lanes ? type->tile[i].lanes : lanes;
    for (int i = 0; i < type->tiles; i++) {
        const struct gemm_tile *t = &type->tile[i];
        const bool fits = t->lanes == lanes && (!in_place || t->kernel[GEMM_RAB] || t->kernel[GEMM_SAB]);
        const double cost = fits ? columns_cost(type, t, n) * flatness(type, t) : 0;

        if (fits && (!best || cost < least_cost || (cost == least_cost && t->mr > best->mr))) {
            best = t;
            least_cost = cost;
        }
    }
    return best;
}

/* Whether k is not cut for its length: rows of A pass once, along a B that stays. Where they conflict, more than two tiles
 * read a copy of A, of which a long block takes too much. */
static bool streams(const struct uk_gemm_plan *p, const struct gemm_tile *t) {
    return gemm_caches()->last_is_far && p->a_step == 1 && p->n <= 4 * t->nr &&
           p->n * p->k * p->type->size <= gemm_caches()->second.size / 2 &&
           (p->n <= 2 * t->nr || !conflicts(p, t));
}

/* Balanced blocks of k. A block of B has room for four tiles at least. */
static int64_t k_block(const struct uk_gemm_plan *p, const struct gemm_tile *t) {
    const int64_t room = gemm_caches()->second.size / 2 / p->type->size / (4 * t->nr);
    const int64_t longest = passes(p, t) ? KC / 2 : KC;
    const int64_t most = room > longest ? longest : room < 128 ? 128 : room;

    if (p->k <= least(room, KC_WHOLE) || p->k <= most + most / 4 || streams(p, t))
        return p->k;
    return (parts(p->k, parts(p->k, most)) + 3) / 4 * 4;
}

struct choice {
    const struct gemm_tile *tile;
    enum gemm_form form;
    enum gemm_source a, b;
    int64_t rows;
    double cycles;
};

/* The cheapest way to bring the operands to this tile; nothing is cheaper than one that costs nothing beside the tiles.
 * Of equal ones the form with fewer strides. */
static void consider(const struct uk_gemm_plan *p, const struct gemm_tile *t, struct choice *best) {
    static const enum gemm_form forms[] = {GEMM_PANELS, GEMM_RA, GEMM_RAB, GEMM_SAB};
    const int64_t kc = k_block(p, t);
    struct choice c = {.tile = t};
    double tiles = 0;

    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const enum gemm_form f = c.form = forms[i];

        if (!t->kernel[f])
            continue;
        if (!c.rows) {
            c.rows = panel_rows(t->kernel[f], p->m);
            tiles = tiles_cost(t, t->kernel[f], c.rows, p->m, p->n, p->k);
        }
        for (int a = GEMM_IN_PLACE; a <= GEMM_COPIED; a++)
            for (int b = GEMM_IN_PLACE; b <= GEMM_COPIED; b += GEMM_COPIED) {
                c.a = (enum gemm_source)a;
                c.b = (enum gemm_source)b;
                if (!form_takes(c.form, p, c.a, c.b) ||
                    (c.a == GEMM_COPIED && p->b_column != 1 && asks(p, t, GEMM_RA)))
                    continue;
                c.cycles = tiles + a_cost(p, t, kc, c.a, c.b) + b_cost(p, t, kc, c.a, c.b);
                if (!best->tile || c.cycles < best->cycles)
                    *best = c;
                if (c.cycles == tiles)
                    return;
            }
    }
}

/* The kernel of the last columns, if a narrower tile's takes A as it is given to the others. */
static void find_tail(struct uk_gemm_plan *p) {
    const int64_t last =
        p->n < GEMM_WIDTHS ? (int64_t)((unsigned)p->n % (unsigned)p->tile->nr) : p->n % p->tile->nr;
    const enum gemm_form form = p->form == GEMM_PANELS || p->form == GEMM_SAB ? GEMM_SAB : GEMM_RAB;
    const struct gemm_type *type = p->type;

    for (int i = 0; i < type->tiles && last; i++) {
        const struct gemm_tile *t = &type->tile[i];
        const enum gemm_form f = t->kernel[form] ? form : GEMM_SAB;

        if (t->kernel[f] && t->lanes == p->tile->lanes && t->mr >= p->rows && last <= t->nr &&
            t->nr < (p->tail ? p->tail->nr : p->tile->nr)) {
            p->tail = t->kernel[f];
            p->tail_form = (unsigned char)f;
        }
    }
}

/* How many tasks, and in which grid: the one whose largest rectangle is least work, packing counted. */
static void split(struct uk_gemm_plan *p) {
    const int nr = p->tile->nr;
    const int64_t row_panels = parts(p->m, p->rows), column_panels = parts(p->n, nr);
    const double area = (double)(row_panels * column_panels);
    double best = 1;
    int64_t threads = p->cycles / GEMM_TASK < p->threads ? (int64_t)(p->cycles / GEMM_TASK) : p->threads;

    p->row_tasks = p->column_tasks = 1;
    for (int64_t r = 1; r <= threads && r <= row_panels; r++) {
        const int64_t c = least(threads / r, column_panels);
        const double h = (double)parts(row_panels, r), w = (double)parts(column_panels, c);
        /* A panel of A packed again costs as COPY does beside its tiles. */
        const double again = 0.02 * ((double)(r - 1) * w / area + (double)(c - 1) * h / area);

        if (h * w / area + again < best) {
            best = h * w / area + again;
            p->row_tasks = r;
            p->column_tasks = c;
        }
    }
}

static void block(struct uk_gemm_plan *p, const struct choice *c) {
    const int nr = c->tile->nr, mr = c->tile->mr, size = p->type->size;
    const struct gemm_caches *caches = gemm_caches();
    int64_t columns, rows, room = least(caches->second.size / 2, BLOCK) / size;

    p->tile = c->tile;
    p->form = (unsigned char)c->form;
    p->a_source = (unsigned char)c->a;
    p->b_source = (unsigned char)c->b;
    p->rows = c->rows;
    p->cycles = c->cycles;
    p->kc = k_block(p, c->tile);
    split(p);
    p->asking = asks(p, c->tile, c->form) ? c->tile->asking[c->form] : NULL;
    if (p->asking)
        room /= 2; /* the other half is for what is asked for */
    columns = parts(parts(p->n, nr), p->column_tasks) * nr;
    rows = parts(parts(p->m, p->rows), p->row_tasks) * p->rows;
    if (p->row_tasks * p->column_tasks > caches->cores)
        room /= 2; /* two tasks to a core */
    p->nc = room / p->kc / nr * nr;
    p->nc = p->nc < 4 * nr ? 4 * nr : p->nc;
    p->nc = parts(parts(columns, parts(columns, p->nc)), nr) * nr; /* balanced */
    /* Where A is packed it stays for all blocks of columns, for which its panels come from the third cache or, slowly enough,
     * from memory. More rows than this, 4096 x 512 doubles, would pack B again. */
    p->mc = (17 << 20) / size / p->kc / p->rows * p->rows;
    p->mc = p->mc < 4 * p->rows ? 4 * p->rows : p->mc;
    p->mc = parts(parts(rows, parts(rows, p->mc)), p->rows) * p->rows;
    p->a_leading = gemm_leading(p->kc, size);
    p->a_block = c->a == GEMM_IN_PLACE ? 0
                 : c->a == GEMM_ROWS   ? p->mc * p->a_leading
                                       : p->mc / p->rows * mr * p->kc;
    p->b_block = c->b == GEMM_IN_PLACE ? 0 : p->nc * p->kc;
    p->a_block = parts(p->a_block * size, LINE) * LINE / size; /* each begins with a line */
    p->b_block = parts(p->b_block * size, LINE) * LINE / size;
}

/* Whether the first rows of tiles read B where it lies, and make the panels: its copy then costs little time of its own. */
static bool packs_as_read(const struct uk_gemm_plan *p) {
    return p->b_source == GEMM_COPIED && !p->b_packed && !p->a_packed &&
           copies_as_read(p, p->tile, (enum gemm_source)p->a_source);
}

static enum uk_status plan_tiles(struct uk_gemm_plan *p) {
    const struct gemm_type *type = p->type;
    const struct gemm_tile *suits =
        p->n < GEMM_WIDTHS ? type->for_columns[p->n] : gemm_width_for(type, p->n, false);
    struct choice best = {0};

    for (int i = 0; i < type->tiles && suits; i++)
        if (type->tile[i].nr == suits->nr && type->tile[i].lanes == suits->lanes)
            consider(p, &type->tile[i], &best);
    if (!best.tile)
        return UK_UNSUPPORTED;
    p->path = GEMM_TILES;
    block(p, &best);
    find_tail(p);
    p->first = packs_as_read(p) ? best.tile->kernel[GEMM_RAP] : NULL;
    return UK_OK;
}

/* The product of the transposes. */
static struct uk_gemm_plan turned(const struct uk_gemm_plan *p) {
    struct uk_gemm_plan q = *p;

    q.m = p->n;
    q.n = p->m;
    q.a_row = p->b_column;
    q.a_step = p->b_step;
    q.b_step = p->a_step;
    q.b_column = p->a_row;
    q.a_packed = p->b_packed;
    q.b_packed = p->a_packed;
    q.swapped = !p->swapped;
    q.turned = true;
    return q;
}

/* B by columns is A in rows for the product of the transposes, which tiles read in place. That saves the copy of B, and
 * takes C, turned tile by tile; once, for sums in one block. The tile whose width suits m may suit better, too. */
static enum uk_status plan_either(struct uk_gemm_plan *p) {
    struct uk_gemm_plan q = turned(p);
    const enum uk_status status = plan_tiles(p);
    const double c = (double)p->m * (double)p->n * p->type->size * TURN;

    if (status || p->b_source == GEMM_IN_PLACE || p->b_column == 1 || p->m >= p->n ||
        c >= (double)p->n * (double)p->k * p->type->size * COPY || plan_tiles(&q) || q.kc < q.k)
        return status;
    q.cycles += c;
    if (q.cycles * gemm_caches()->turned < p->cycles)
        *p = q;
    return UK_OK;
}

/* Small products, whose plan may not cost much beside their flops: what plan_tiles comes to where all operands stay in
 * the first two caches and can be read in place, which then costs nothing beside the tiles. */
static bool plan_small(struct uk_gemm_plan *p) {
    if (p->n >= GEMM_WIDTHS || p->m >= GEMM_WIDTHS || p->k >= GEMM_WIDTHS || p->b_column != 1)
        return false;
    const struct gemm_tile *whole = p->a_step == 1 ? p->type->small_for_columns[p->n] : NULL;
    const struct gemm_tile *t = whole ? whole : p->type->in_place_for_columns[p->n];
    const struct gemm_cache *first = &gemm_caches()->first;
    const int form = whole ? GEMM_SMALL : p->a_step == 1 && t && t->kernel[GEMM_RAB] ? GEMM_RAB : GEMM_SAB;

    if (!t || !t->kernel[form])
        return false;
    if (p->a_step == 1 && p->m > first->ways / 2 &&
        p->a_row * p->type->size % (first->size / first->ways) == 0)
        return false; /* rows that share a set: a_cost knows */
    const struct uk_kernel *k = t->kernel[form];
    /* One call takes as many rows as the scratch of a tile. */
    const unsigned m = (unsigned)p->m, high = (unsigned)(whole ? GEMM_TILE_MOST / k->nr : k->mr);
    const unsigned panels = (m + high - 1) / high, even = (m + panels - 1) / panels;
    const unsigned step = (unsigned)k->row_step;

    p->path = GEMM_TILES;
    p->tile = t;
    p->form = (unsigned char)form;
    p->rows = step == 1 ? even : (even + step - 1) / step * step;
    p->mc = p->rows * panels;
    p->nc = p->n;
    p->kc = p->k;
    p->cycles = (double)(p->m * p->n * p->k) / t->lanes;
    if (!whole)
        find_tail(p);
    return true;
}

/* m or n is 1: the kernels of matrix and vector, if there are any. Memory decides: an element is used once. */
static bool plan_vector(struct uk_gemm_plan *p) {
    const bool is_row = p->m == 1;
    const int64_t along = is_row ? p->b_step : p->a_step, count = is_row ? p->n : p->m;
    const struct uk_kernel *k = along == 1 ? p->type->gemv_n : p->type->gemv_t;

    if (!k)
        return false;
    p->path = along == 1 ? GEMM_VECTOR_N : GEMM_VECTOR_T;
    p->cycles = (double)p->k * (double)count * p->type->size / 16;
    p->nc = along == 1 ? k->mr : 64;
    p->row_tasks = p->cycles / GEMM_TASK < p->threads ? (int64_t)(p->cycles / GEMM_TASK) : p->threads;
    p->row_tasks = least(p->row_tasks, parts(count, p->nc));
    p->row_tasks = p->row_tasks < 1 ? 1 : p->row_tasks;
    p->column_tasks = 1;
    if ((is_row ? p->a_step : p->b_step) != 1)
        p->b_block = parts(p->k * p->type->size, LINE) * LINE / p->type->size;
    return true;
}

/* ---- arguments ---- */

static bool too_large(int64_t lines, int64_t ld, int size) {
    int64_t elements, bytes;
    ptrdiff_t last; /* where addresses have 32 bits, so has this */

    return __builtin_mul_overflow(lines, ld, &elements) ||
           __builtin_mul_overflow(elements, 2 * size, &bytes) ||
           __builtin_mul_overflow(elements, size, &last);
}

/* Of an operand stored in `lines` rows (columns, if column-major) of `length`. */
static bool is_wrong(int64_t lines, int64_t length, int64_t ld, int size) {
    return ld < 1 || ld < length || too_large(lines, ld, size);
}

static enum uk_status check(const struct gemm_shape *s, int size) {
    const bool rows = s->layout == UK_ROW_MAJOR;
    const bool a_rows = rows == (s->ta == UK_NO_TRANSPOSE), b_rows = rows == (s->tb == UK_NO_TRANSPOSE);

    if ((s->layout != UK_ROW_MAJOR && s->layout != UK_COLUMN_MAJOR) ||
        (s->ta != UK_NO_TRANSPOSE && s->ta != UK_TRANSPOSE) ||
        (s->tb != UK_NO_TRANSPOSE && s->tb != UK_TRANSPOSE))
        return UK_INVALID_ARGUMENT;
    if (s->m < 0 || s->n < 0 || s->k < 0)
        return UK_INVALID_SIZE;
    if (is_wrong(a_rows ? s->m : s->k, a_rows ? s->k : s->m, s->lda, size) ||
        is_wrong(b_rows ? s->k : s->n, b_rows ? s->n : s->k, s->ldb, size) ||
        is_wrong(rows ? s->m : s->n, rows ? s->n : s->m, s->ldc, size))
        return UK_INVALID_SIZE;
    return UK_OK;
}

static void set_threads(struct uk_gemm_plan *p, const struct uk_gemm_options *o) {
    const int64_t most = o->pool ? uk_pool_threads(o->pool) : uk_num_threads();

    p->pool = o->pool;
    p->threads = (int)(o->threads > 0 ? least(o->threads, most) : most);
}

/* The row-major product: A and B as they are, or the transposes changed about. */
static struct uk_gemm_plan normalized(const struct gemm_type *type, const struct gemm_shape *s) {
    const bool rows = s->layout == UK_ROW_MAJOR;
    const bool a_turned = (rows ? s->ta : s->tb) == UK_TRANSPOSE,
               b_turned = (rows ? s->tb : s->ta) == UK_TRANSPOSE;
    const int64_t lda = rows ? s->lda : s->ldb, ldb = rows ? s->ldb : s->lda;

    return (struct uk_gemm_plan){
        .m = rows ? s->m : s->n,
        .n = rows ? s->n : s->m,
        .k = s->k,
        .a_row = a_turned ? 1 : lda,
        .a_step = a_turned ? lda : 1,
        .b_step = b_turned ? 1 : ldb,
        .b_column = b_turned ? ldb : 1,
        .ldc = s->ldc,
        .row_tasks = 1,
        .column_tasks = 1,
        .type = type,
        .swapped = !rows,
    };
}

enum uk_status gemm_plan(struct uk_gemm_plan *plan, const struct gemm_type *type,
                         const struct gemm_shape *shape, const struct uk_gemm_options *options) {
    static const struct uk_gemm_options defaults = {0};
    enum uk_status status = check(shape, type->size);

    if (status)
        return status;
    if (!options)
        options = &defaults;
    if (options->threads < 0)
        return UK_INVALID_ARGUMENT;

    struct uk_gemm_plan p = normalized(type, shape);
    const struct gemm_product product = gemm_product_of(shape);
    const struct gemm_direct *direct = gemm_direct_for(type, &product);

    set_threads(&p, options);
    p.a_packed = p.swapped ? options->b_packed : options->a_packed;
    p.b_packed = p.swapped ? options->a_packed : options->b_packed;
    if (!p.m || !p.n || !p.k)
        p.path = GEMM_SCALE;
    else if (((p.m != 1 && p.n != 1) || direct || !plan_vector(&p)) && !plan_small(&p))
        status = direct ? plan_tiles(&p) : plan_either(&p);
    if (direct && !p.a_packed && !p.b_packed) {
        p.direct = direct;
        gemm_direct_prepare(&p, product.lda);
    }
    if (!status)
        *plan = p;
    return status;
}

size_t uk_gemm_workspace(const struct uk_gemm_plan *plan) {
    const int64_t tasks = plan->path == GEMM_TILES ? plan->row_tasks * plan->column_tasks : 1;

    return (size_t)(tasks * (plan->a_block + plan->b_block)) * (size_t)plan->type->size;
}
