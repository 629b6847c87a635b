/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The choice of a depthwise convolution's tile on a GPU by uk_device_time(), from an estimate of what a block
 * uses: larger tiles load fewer pixels twice, smaller ones occupy more compute units.
 */
#include <float.h>
#include "depthwise.h"

enum {
    /* cycles of most instructions */
    INSTRUCTION = 4,
    /* instructions of a wave for a vector that a thread copies: address and test */
    COPY_VECTOR = 12,
    COPY_SCALAR = 10,
    /* instructions of a wave besides those for its elements */
    BASE_VECTOR = 2 * 64,
    BASE_SCALAR = 2 * 64,
    /* instructions of an epilogue for an element: a bias and two bounds */
    EPILOGUE = 3,
    SPARE_REGISTERS = 10,
    /* registers beyond which LLVM reads less of shared memory ahead; those that an instruction can name */
    USUAL_REGISTERS = 2 * 64,
    MAX_REGISTERS = 4 * 64,
    MIN_COLUMNS = 4,
    MAX_COLUMNS = 64,
    MAX_CHANNELS = 64,
    MAX_OF_THREAD = 8,
};

/* Adjacent elements of the image that a thread copies at a time. */
static int vector_of(const struct uk_depthwise *w) {
    return w->channels ? UK_CHANNEL_VECTOR : 1;
}

static int threads_of(const struct uk_depthwise_tile *t) {
    return t->rows / t->of_thread * t->columns * t->channels / t->vector;
}

static int waves_of(const struct uk_depthwise *w, const struct uk_depthwise_tile *t) {
    const int lanes = w->s->target->machine.core.device.lanes;

    return (threads_of(t) + lanes - 1) / lanes;
}

/* Pixels of the image along an axis that n outputs read, those outside included. */
static int64_t region(const struct uk_pixels *a, int n) {
    return (n - 1) * a->stride + a->window;
}

/* Pixels inside the image along an axis that all tiles of n outputs copy. */
static double copied(const struct uk_pixels *a, int n) {
    double all = 0;

    for (double first = 0; first < a->values; first += n) {
        const double begin = first * (double)a->stride - (double)a->before,
                     end = begin + (double)region(a, n);

        all += (end < a->extent ? end : a->extent) - (begin > 0 ? begin : 0);
    }
    return all > 0 ? all : 0;
}

static bool is_multiple(double n, double of) {
    return uk_device_ceiling(n, of) * of == n;
}

/* Mean number of lines of `bytes` adjacent bytes. Whole lines, and equal parts of one, begin at a multiple of
 * their size; others begin anywhere. */
static double lines_of(const struct uk_device *d, double bytes) {
    return is_multiple(bytes, d->line) || is_multiple(d->line, bytes) ? uk_device_ceiling(bytes, d->line)
                                                                      : 1 + (bytes - 1) / d->line;
}

/* Rows of a thread's windows in shared memory. */
static double rows_read(const struct uk_depthwise *w, const struct uk_depthwise_tile *t) {
    const double taps = w->taps[UK_PIXEL_ROWS], all = t->of_thread * taps,
                 region_rows = (double)region(&w->axis[UK_PIXEL_ROWS], t->of_thread);

    return (region_rows < all ? region_rows : all) * w->terms / (taps * w->taps[UK_PIXEL_COLUMNS]);
}

/* How the threads copy the image's part, and the weights. */
struct copies {
    struct uk_copy_shares image, weights;
    int vector;    /* adjacent weights that a thread loads at a time */
    int64_t bytes; /* of shared memory */
};

/* Bytes of an element. */
static int64_t element_of(const struct uk_depthwise *w, int o) {
    return (int64_t)uk_type_bytes(w->st->operand[o].tensor->type);
}

static struct copies copies_of(const struct uk_depthwise *w, const struct uk_depthwise_tile *t) {
    const int vectors = t->channels / vector_of(w), threads = threads_of(t);
    const int64_t rows = (int64_t)w->taps[UK_PIXEL_ROWS], columns = (int64_t)w->taps[UK_PIXEL_COLUMNS],
                  further = (int64_t)w->terms / (rows * columns);
    struct copies c = {
        .image = {.loops = 4,
                  .extent = {w->planes, region(&w->axis[UK_PIXEL_ROWS], t->rows),
                             region(&w->axis[UK_PIXEL_COLUMNS], t->columns), vectors}},
        .weights = {.loops = 4, .extent = {further, rows, columns, vectors}},
        .vector = vector_of(w),
    };

    if (w->channels && !uk_device_is_contiguous(&w->st->operand[w->weights], w->channels)) {
        c.vector = 1;
        c.weights.extent[0] = t->channels;
        c.weights.extent[1] = further;
        c.weights.extent[2] = rows;
        c.weights.extent[3] = columns;
    }
    c.bytes = w->planes * c.image.extent[1] * c.image.extent[2] * t->channels * element_of(w, w->image) +
              (int64_t)w->terms * t->channels * element_of(w, w->weights);
    uk_share_copy(&c.image, threads);
    uk_share_copy(&c.weights, threads);
    return c;
}

/* Lines that all blocks access: of the image and the output, of the weights by each block, and of an
 * epilogue's bias by each wave. */
static double all_lines(const struct uk_depthwise *w, const struct uk_depthwise_tile *t, double blocks) {
    const struct uk_device *d = &w->s->target->machine.core.device;
    const double bytes = (double)element_of(w, w->image), out = (double)element_of(w, 0),
                 rows = (double)w->planes * copied(&w->axis[UK_PIXEL_ROWS], t->rows),
                 columns = copied(&w->axis[UK_PIXEL_COLUMNS], t->columns),
                 pixels = w->axis[UK_PIXEL_ROWS].values * w->axis[UK_PIXEL_COLUMNS].values,
                 groups = uk_device_ceiling(w->channel_values, t->channels),
                 tiles = uk_device_ceiling(w->axis[UK_PIXEL_COLUMNS].values, t->columns);

    if (w->channels)
        return w->others * groups *
                   (rows * columns * lines_of(d, t->channels * bytes) +
                    pixels * lines_of(d, t->channels * out)) +
               blocks * (w->terms + waves_of(w, t)) * lines_of(d, t->channels * bytes);
    return w->others * tiles *
               (rows * lines_of(d, columns / tiles * bytes) +
                w->axis[UK_PIXEL_ROWS].values * lines_of(d, w->axis[UK_PIXEL_COLUMNS].values / tiles * out)) +
           blocks * (lines_of(d, w->terms * bytes) + waves_of(w, t));
}

static struct uk_block_time block_of(const struct uk_depthwise *w, const struct uk_depthwise_tile *t,
                                     const struct copies *c, double lines) {
    const struct uk_device *d = &w->s->target->machine.core.device;
    const int threads = threads_of(t), waves = waves_of(w, t);
    const double trips = (double)(c->image.trips + c->weights.trips), elements = t->of_thread * t->vector,
                 reads = rows_read(w, t) * w->taps[UK_PIXEL_COLUMNS] + w->terms,
                 rate = (double)d->fma.f32 / (d->simds * d->lanes / INSTRUCTION),
                 vector = BASE_VECTOR + trips * COPY_VECTOR + elements * (w->terms / rate + EPILOGUE),
                 scalar = BASE_SCALAR + trips * COPY_SCALAR, memory = trips + t->of_thread,
                 shared = trips + reads, bytes = (double)(t->vector * element_of(w, w->image));

    return (struct uk_block_time){
        .issue = {(float)(waves * INSTRUCTION * vector), (float)(waves * INSTRUCTION * scalar),
                  (float)(waves * INSTRUCTION * memory), (float)(waves * INSTRUCTION * shared)},
        .shared = (float)(threads * shared * bytes / d->shared_rate),
        .lines = (float)lines,
        .alone = (float)(2 * d->latency.memory + d->latency.shared * rows_read(w, t) +
                         INSTRUCTION * (vector + scalar + memory + shared)),
    };
}

/* Registers of a thread if the block's waves are to fit on the SIMDs. */
static int register_limit(const struct uk_device *d, int waves) {
    const int limit = d->registers / ((waves + d->simds - 1) / d->simds);

    return limit < MAX_REGISTERS ? limit : MAX_REGISTERS;
}

/* Blocks of a compute unit; 0: the tile does not fit, or its threads cannot load all that they copy first.
 * LLVM reads less ahead than the whole window if that needs more than USUAL_REGISTERS, but spills some where
 * it needs a quarter more than there are. */
static int resident(const struct uk_depthwise *w, const struct uk_depthwise_tile *t, const struct copies *c) {
    const struct uk_device *d = &w->s->target->machine.core.device;
    const int threads = threads_of(t);
    const double registers =
        (t->of_thread + rows_read(w, t) * w->taps[UK_PIXEL_COLUMNS] + w->terms) * t->vector + SPARE_REGISTERS;
    const int64_t ahead = c->image.trips * vector_of(w) * element_of(w, w->image) +
                          c->weights.trips * c->vector * element_of(w, w->weights);

    if (threads < d->lanes || threads > 2 * AUTO_BLOCK_THREADS || threads > d->threads ||
        c->bytes > d->shared_bytes || ahead > UK_MAX_AHEAD_BYTES || !c->image.is_even ||
        !c->weights.is_even || 8 * registers > 9 * register_limit(d, waves_of(w, t)))
        return 0;
    return uk_device_resident(d, registers < USUAL_REGISTERS ? (int)registers : USUAL_REGISTERS, c->bytes,
                              threads);
}

/* A tile is good if blocks access at most 6 / 5 of the different lines, and units are busy for 4 / 5 of the
 * time. Such tiles are preferred; of equal ones that with the fewest cycles: those of the launch's units,
 * where blocks count as equal, and of the transfer of all lines from memory. */
struct choice {
    struct uk_depthwise_tile tile;
    double cycles;
    bool is_good, no_memory;
};

static double bytes_of(const struct uk_depthwise *w, int o) {
    return uk_elements(w->s, w->st->operand[o].tensor) * (double)element_of(w, o);
}

/* Estimates the launch with the tile; cycles is DBL_MAX if it does not fit. */
static struct choice estimate(const struct uk_depthwise *w, const struct uk_depthwise_tile *t) {
    struct uk_core core = w->s->target->machine.core;
    const struct copies c = copies_of(w, t);
    const double blocks = w->others * uk_device_ceiling(w->axis[UK_PIXEL_ROWS].values, t->rows) *
                          uk_device_ceiling(w->axis[UK_PIXEL_COLUMNS].values, t->columns) *
                          uk_device_ceiling(w->channel_values, t->channels),
                 of_unit = uk_device_ceiling(blocks, core.device.units), lines = all_lines(w, t, blocks),
                 distinct = (bytes_of(w, 0) + bytes_of(w, w->image)) / core.device.line;
    struct uk_device_launch l = {
        .blocks = (uint64_t)blocks, .waves = waves_of(w, t), .resident = resident(w, t, &c)};
    struct choice out = {.tile = *t, .cycles = DBL_MAX};
    struct uk_block_time all[AUTO_COUNTED_BLOCKS];
    struct uk_launch_time time;

    if (!l.resident || of_unit > AUTO_COUNTED_BLOCKS)
        return out;
    if (blocks > AUTO_COUNTED_BLOCKS) { /* all units have about as much to do as one with its part */
        core.device.units = 1;
        l.blocks = (uint64_t)of_unit;
    }
    l.block = all;
    for (uint64_t i = 0; i < l.blocks; i++)
        all[i] = block_of(w, t, &c, lines / blocks);
    out.no_memory = !uk_device_time(&core, &l, &time);
    if (out.no_memory)
        return out;
    out.cycles = time.cycles + lines * core.device.line / core.device.memory_rate;
    out.is_good = 5 * lines <= 6 * distinct && 5 * time.busy >= 4;
    return out;
}

/* Updates *best by the tiles with these columns, channels and vectors. */
static void consider(const struct uk_depthwise *w, int columns, int channels, int vector,
                     struct choice *best) {
    const double rows = w->axis[UK_PIXEL_ROWS].values;

    for (int each = 1; each <= MAX_OF_THREAD && each < rows + 1; each++)
        for (int threads = 1;
             threads * columns * channels <= 2 * AUTO_BLOCK_THREADS * vector && (threads - 1) * each < rows;
             threads++) {
            const struct uk_depthwise_tile t = {threads * each, each, columns, channels, vector};
            const struct choice c = estimate(w, &t);

            if (c.no_memory)
                best->no_memory = true;
            else if (c.is_good == best->is_good ? c.cycles < best->cycles : c.is_good)
                *best = c;
        }
}

/* Updates *best by the tiles with this number of channels for each thread. */
static void consider_vector(const struct uk_depthwise *w, int vector, struct choice *best) {
    const double values = w->axis[UK_PIXEL_COLUMNS].values;
    const int first = vector_of(w), end = w->channels ? MAX_CHANNELS : 1;
    int last = 0;

    for (int tiles = 1;
         tiles <= MAX_COLUMNS && (tiles == 1 || uk_device_ceiling(values, tiles) >= MIN_COLUMNS); tiles++) {
        const double columns = uk_device_ceiling(values, tiles);

        if (columns > (double)MAX_COLUMNS * MIN_COLUMNS || columns == last)
            continue;
        last = (int)columns;
        for (int n = first; n <= end && n < w->channel_values + first && !best->no_memory; n *= 2)
            consider(w, last, n, vector, best);
    }
}

enum uk_status uk_depthwise_choose(const struct uk_depthwise *w, struct uk_depthwise_tile *out, bool *found) {
    struct choice best = {.cycles = DBL_MAX};

    /* Large windows need too many registers for several channels of a thread. */
    for (int vector = vector_of(w); vector > 0 && best.cycles == DBL_MAX; vector /= 2)
        consider_vector(w, vector, &best);
    *out = best.tile;
    *found = best.cycles < DBL_MAX;
    if (*found && w->s->report)
        uk_put(w->s->report, "stage %s: tiles of %d x %d pixels and %d channels, %d rows a thread\n",
               w->st->name, out->rows, out->columns, out->channels, out->of_thread);
    return best.no_memory ? uk_out_of_memory(w->s->context) : UK_OK;
}
