/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the kernels of matrix products for a machine: the registry's rows of their operations that this CPU
 * can run, or that a core of another row of cores.def can. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "low.h"
#include "small.h"
#include "tiles.h"

/* The position of a kernel's instruction set in archs.def. Of two kernels for the same tile and form, the one
 * with the higher level is used. */
static int level(const struct uk_kernel *k) {
    static const char *const isas[] = {
#define UK_ISA_ROW(name, ...) #name,
#include "machine/archs.def"
    };
    int i = 0;

    while (i < (int)(sizeof isas / sizeof *isas) && strcmp(isas[i], k->isa))
        i++;
    return i;
}

static struct gemm_tile new_tile(const struct gemm_type *t, const struct uk_kernel *k) {
    const int lanes = k->fma > 0 ? (int)(k->mr * k->nr / k->fma) : 1;

    struct gemm_tile tile = {.mr = k->mr,
                             .nr = k->nr,
                             .kr = k->kr,
                             .left = t->element,
                             .right = t->element,
                             .lanes = lanes,
                             .core = &t->machine->core,
                             .vectors = uk_core_vectors(&t->machine->core, lanes * t->size)};

    if (!t->is_low_precision)
        tile.cycles = uk_gemm_tile_cycles(&tile);
    return tile;
}

/* The tile with the kernel's dimensions, added if it is new; NULL: the table is full, or the kernel sums
 * several runs, and no other kernel computes products by such tiles. */
static struct gemm_tile *tile_of(struct gemm_type *t, const struct uk_kernel *k) {
    int i = 0;

    while (i < t->tiles && (t->tile[i].mr != k->mr || t->tile[i].nr != k->nr))
        i++;
    if (i == GEMM_TILES_MOST)
        return NULL;
    if (i == t->tiles) {
        t->tile[t->tiles++] = new_tile(t, k);
    }
    return &t->tile[i];
}

/* True if a kernel of a tile takes any number of rows and columns and operands aligned to an element. */
static bool takes_any(const struct gemm_type *t, const struct uk_kernel *k) {
    return k->edges == UK_EDGES_ANY && !k->a_over && k->a_align <= t->size && k->b_align <= t->size &&
           k->c_align <= t->c_size &&
           k->mr * k->nr <= (t->is_low_precision ? (int)GEMM_SCRATCH : (int)GEMM_TILE_MOST);
}

static void take_form(struct gemm_type *t, const struct uk_kernel *k, enum gemm_form form) {
    if (k->kr != 1 || !takes_any(t, k))
        return;
    struct gemm_tile *tile = tile_of(t, k);
    const struct uk_kernel *old = tile ? tile->kernel[form] : NULL;

    if (tile && (!old || level(k) > level(old))) {
        tile->kernel[form] = k;
        tile->prefetching[form] = uk_kernel_variant(k, UK_PREFETCHING);
        if (form == GEMM_PANELS)
            tile->packing = uk_kernel_variant(k, UK_PACKING);
    }
}

/* Adds a kernel of small products. Only those of the highest instruction set are kept, as each set has
 * kernels for any number of columns. Kernels without UK_RESOLVED are not used: calls are prepared. */
static void take_whole(struct gemm_type *t, const struct uk_kernel *k, int form) {
    const int higher = t->small_kernels[form] ? level(k) - level(t->small_kernel[form][0]) : 0;

    if (k->edges != UK_EDGES_ANY || k->a_over || higher < 0 || !(k->variants & UK_RESOLVED))
        return;
    if (higher > 0)
        t->small_kernels[form] = 0;
    if (t->small_kernels[form] < GEMM_TILES_MOST)
        t->small_kernel[form][t->small_kernels[form]++] = k;
}

static void take_one(const struct uk_kernel **slot, const struct uk_kernel *k) {
    if (!*slot || level(k) > level(*slot))
        *slot = k;
}

static void take_pack(const struct uk_kernel **rows, int *count, const struct uk_kernel *k, bool by_mr) {
    if (k->a_over)
        return;
    for (int i = 0; i < *count; i++)
        if (by_mr ? rows[i]->mr == k->mr : rows[i]->nr == k->nr) {
            take_one(&rows[i], k);
            return;
        }
    if (*count < GEMM_PACKS_MOST)
        rows[(*count)++] = k;
}

/* Drops tiles whose kernels are all generic, unless there are no others. Estimates would overrate them: they
 * derive a tile's vectors from its row of the registry, but how wide the vectors of compiled C are is
 * unknown. */
static void drop_generic(struct gemm_type *t) {
    int kept = 0;

    for (int i = 0; i < t->tiles; i++) {
        bool generic = true;

        for (int f = 0; f < GEMM_FORMS; f++)
            generic = generic && (!t->tile[i].kernel[f] || !level(t->tile[i].kernel[f]));
        if (!generic)
            t->tile[kept++] = t->tile[i];
    }
    t->tiles = kept ? kept : t->tiles;
}

/* Puts the tiles that only sum several runs, which are for convolutions, behind those that compute products.
 */
static void part_tiles(struct gemm_type *t) {
    struct gemm_tile apart[GEMM_TILES_MOST];
    int kept = 0, others = 0;

    for (int i = 0; i < t->tiles; i++) {
        bool multiplies = false;

        for (int f = 0; f < GEMM_RUNS; f++)
            multiplies |= t->tile[i].kernel[f] != NULL;
        if (multiplies)
            t->tile[kept++] = t->tile[i];
        else
            apart[others++] = t->tile[i];
    }
    for (int i = 0; i < others; i++)
        t->tile[kept + i] = apart[i];
    t->all_tiles = t->tiles;
    t->tiles = kept;
}

static bool runs(const struct gemm_type *t, const struct uk_kernel *k) {
    return t->machine == uk_machine() ? uk_kernel_runs_here(k) : uk_core_has(&t->machine->core, k->isa);
}

/* True if the kernel's rows are too long for tiles: it is one for products of few rows. */
static bool is_stream(const struct uk_kernel *k) {
    return k->mr * k->nr > (int)GEMM_TILE_MOST && k->edges == UK_EDGES_ANY && !k->a_over;
}

static void take(struct gemm_type *t, const struct uk_kernel *k) {
    static const enum gemm_form forms[] = {
        [UK_OP_PANELS] = GEMM_PANELS,    [UK_OP_RA] = GEMM_RA,   [UK_OP_RAB] = GEMM_RAB,
        [UK_OP_SAB] = GEMM_SAB,          [UK_OP_RAP] = GEMM_RAP, [UK_OP_RUNS] = GEMM_RUNS,
        [UK_OP_RUNS_RAB] = GEMM_RUNS_RAB};

    switch (k->operation->form) {
    case UK_OP_RAB:
        if (is_stream(k)) {
            take_one(&t->stream, k);
            break;
        }
        take_form(t, k, GEMM_RAB);
        break;
    case UK_OP_PANELS:
    case UK_OP_RA:
    case UK_OP_SAB:
    case UK_OP_RAP:
    case UK_OP_RUNS:
    case UK_OP_RUNS_RAB:
        take_form(t, k, forms[k->operation->form]);
        break;
    case UK_OP_SMALL:
    case UK_OP_SMALL_TA:
        take_whole(t, k, k->operation->form == UK_OP_SMALL_TA);
        break;
    case UK_OP_NT:
        take_one(&t->nt, k);
        break;
    case UK_OP_GEMV_N:
        take_one(&t->gemv_n, k);
        break;
    case UK_OP_GEMV_T:
        take_one(&t->gemv_t, k);
        break;
    case UK_OP_TRANSPOSE:
        take_one(&t->transpose, k);
        t->transpose_rows = t->transpose;
        break;
    case UK_OP_PACK_N:
        take_pack(t->pack_n, &t->packs_n, k, false);
        break;
    case UK_OP_PACK_T:
        take_pack(t->pack_t, &t->packs_t, k, true);
        break;
    default:
        break;
    }
}

static void take_kernels(struct gemm_type *t) {
    const char *isa = NULL; /* of the previous row; rows of one instruction set share the string */
    bool has = false;

    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (k->operation->element != t->element || k->cores)
            continue;
        if (k->isa != isa) {
            isa = k->isa;
            has = runs(t, k);
        }
        if (!has)
            continue;
        take(t, k);
    }
}

/* Sets the figures by which inner products and small products are estimated, so that a call needs no
 * division. */
static void set_fma(struct gemm_type *t) {
    const struct uk_core *core = &t->machine->core;
    const struct uk_vectors *widest = core->vectors;

    for (int i = 0; i < t->tiles; i++)
        widest = t->tile[i].vectors->bytes > widest->bytes ? t->tile[i].vectors : widest;
    t->vectors = widest;
    t->fma_cycles = 1 / uk_ports_rate(&widest->fma);
    t->fma_latency = core->fma_latency;
    t->work_most = (int64_t)(2 * GEMM_TASK / t->fma_cycles) * widest->bytes / t->size;
}

/* ---- types of low precision ---- */

/* True if a kernel packs panels of f32 of this width from lines that are contiguous along k. */
static bool packs_columns(const struct gemm_type *t, int width) {
    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (k->operation->form == UK_OP_PACK_T && k->operation->element == UK_ELEMENT_F32 && k->mr == width &&
            runs(t, k))
            return true;
    }
    return false;
}

/* True if tiles of the type can be computed by the kernel on copies converted to f32: rows, or panels. */
static bool multiplies_widened(const struct gemm_type *t, const struct uk_kernel *k) {
    const enum uk_op_form form = k->operation->form;

    return t->is_widened && k->operation->element == UK_ELEMENT_F32 && takes_any(t, k) &&
           (form == UK_OP_RA || (form == UK_OP_PANELS && packs_columns(t, k->mr)));
}

/* The elements of a kernel's sums. */
static enum uk_c_element sum_of(const struct uk_kernel *k) {
    switch (k->operation->element) {
    case UK_ELEMENT_F16:
        return UK_C_F16;
    case UK_ELEMENT_F16_F32:
    case UK_ELEMENT_BF16:
        return UK_C_F32;
    default:
        return UK_C_I32;
    }
}

/* True if tiles of the type can be computed by the kernel, of those that read panels or rows of A. */
static bool multiplies_low(const struct gemm_type *t, const struct uk_kernel *k) {
    return k->operation->element == t->element && sum_of(k) == t->sum && takes_any(t, k) &&
           k->kr <= GEMM_GROUP_MOST && (k->operation->form == UK_OP_PANELS || k->operation->form == UK_OP_RA);
}

static void take_low(struct gemm_type *t, const struct uk_kernel *k) {
    const enum gemm_form form = k->operation->form == UK_OP_RA ? GEMM_RA : GEMM_PANELS;
    const bool is_widened = t->is_widened && k->operation->element == UK_ELEMENT_F32;
    int i = 0;

    while (i < t->tiles && (t->tile[i].mr != k->mr || t->tile[i].nr != k->nr || t->tile[i].kr != k->kr ||
                            (t->tile[i].left != t->left) != is_widened))
        i++;
    if (i == GEMM_TILES_MOST)
        return;
    if (i == t->tiles) {
        t->tile[i] = new_tile(t, k);
        t->tile[i].left = is_widened ? UK_ELEMENT_F32 : t->left;
        t->tile[i].right = is_widened ? UK_ELEMENT_F32 : t->right;
        t->tiles++;
    }
    take_one(&t->tile[i].kernel[form], k);
}

static bool is_same_pack(const struct uk_kernel *x, const struct uk_kernel *y) {
    return x->operation == y->operation && x->kr == y->kr &&
           (x->kr > 1 || (x->mr == y->mr && x->nr == y->nr));
}

/* Keeps one kernel for each number of terms of a group, and of single terms for each width of a panel. */
static void take_group_pack(const struct uk_kernel **rows, int *count, const struct uk_kernel *k) {
    int i = 0;

    while (i < *count && !is_same_pack(rows[i], k))
        i++;
    if (i == GEMM_PACKS_MOST || k->a_over)
        return;
    if (i == *count)
        rows[(*count)++] = k;
    take_one(&rows[i], k);
}

/* Takes a kernel that copies or converts operands; false: it does neither for this type. */
static bool take_copy(struct gemm_type *t, const struct uk_kernel *k) {
    const enum uk_element element = k->operation->element;
    const bool is_f16 = t->left == UK_ELEMENT_F16;

    switch (k->operation->form) {
    case UK_OP_PACK_N:
        if (element == t->group)
            take_group_pack(t->pack_n, &t->packs_n, k);
        return true;
    case UK_OP_PACK_T:
        if (element == t->group)
            take_group_pack(t->pack_t, &t->packs_t, k);
        return true;
    case UK_OP_PANEL_N:
        if (element == t->group)
            take_group_pack(t->panel_n, &t->panels_n, k);
        return true;
    case UK_OP_PANEL_T:
        if (element == t->group)
            take_group_pack(t->panel_t, &t->panels_t, k);
        return true;
    case UK_OP_WIDEN:
        if (is_f16)
            take_one(&t->widening, k);
        return true;
    case UK_OP_NARROW:
        if (is_f16)
            take_one(&t->narrowing, k);
        return true;
    default:
        return false;
    }
}

static void take_low_kernels(struct gemm_type *t) {
    for (int i = 0; i < uk_kernel_count(); i++) {
        const struct uk_kernel *k = uk_kernel_at(i);

        if (!k->cores && runs(t, k) && !take_copy(t, k) && (multiplies_low(t, k) || multiplies_widened(t, k)))
            take_low(t, k);
    }
}

static void set_caches(struct gemm_type *t) {
    const struct uk_cache *cache = t->machine->cache;

    t->l1_way_bytes = cache[UK_L1].size / cache[UK_L1].ways;
    t->l1_ways = (int)cache[UK_L1].ways;
    t->l2_quarter = cache[UK_L2].size / 4 / t->size;
}

static void look_up(struct gemm_type *t, const struct uk_machine *machine) {
    t->machine = machine;
    set_caches(t);
    if (t->is_low_precision) {
        take_low_kernels(t);
        drop_generic(t);
        return;
    }
    take_kernels(t);
    drop_generic(t);
    part_tiles(t);
    if (t->nt)
        t->nt_lanes = (int)(t->nt->mr * t->nt->nr / t->nt->fma);
    for (int n = 1; n < GEMM_WIDTHS; n++) {
        t->for_columns[n] = uk_gemm_width_for(t, n, false);
        t->in_place_for_columns[n] = uk_gemm_width_for(t, n, true);
    }
    /* The bytes that memory delivers during its latency. None if the hardware prefetches past the end of a
     * page, so that no page begins with misses. */
    t->prefetch_ahead =
        machine->core.prefetch.past_page
            ? 0
            : (int64_t)(machine->uncore.latency * machine->uncore.bytes) / GEMM_LINE * GEMM_LINE;
    set_fma(t);
    uk_gemm_direct_fill(t);
    atomic_store_explicit(&t->ready, !uk_gemm_is_verbose, memory_order_release);
}

static struct gemm_type *const types[] = {&uk_gemm_f32, &uk_gemm_f64,  &uk_gemm_u8_i8, &uk_gemm_i8,
                                          &uk_gemm_u8,  &uk_gemm_bf16, &uk_gemm_f16,   &uk_gemm_f16_sums};
enum { TYPES = sizeof types / sizeof *types };

static void look_up_all(void) {
    uk_count_threads(); /* sets the number that calls read */
    uk_gemm_begin_verbose();
    for (int i = 0; i < TYPES; i++)
        look_up(types[i], uk_machine());
}

const struct gemm_type *uk_gemm_look_up(const struct gemm_type *own) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, look_up_all);
    return own;
}

/* ---- other machines ---- */

/* A machine other than this one, and the element types that plans for it use. */
struct elsewhere {
    struct uk_machine machine;
    struct gemm_type type[TYPES];
    struct elsewhere *next;
};

/* Copies an element type, but finds the fields that depend on the machine for another one. */
static void look_up_on(struct gemm_type *t, const struct gemm_type *own, const struct uk_machine *machine) {
    *t = *own;
    memset((char *)t + offsetof(struct gemm_type, machine), 0,
           sizeof *t - offsetof(struct gemm_type, machine));
    look_up(t, machine);
}

enum uk_status uk_gemm_type_on(const char *name, const struct gemm_type *own, const struct gemm_type **type) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static struct elsewhere *all;
    const struct uk_core *core = uk_core_find(name);

    if (!core || core->arch == UK_ARCH_any || core->device.lanes)
        return UK_INVALID_ARGUMENT;
    pthread_mutex_lock(&lock);
    struct elsewhere *e = all;
    while (e && strcmp(e->machine.core.name, name))
        e = e->next;
    if (!e && (e = calloc(1, sizeof *e))) {
        e->machine = uk_machine_of(core);
        for (int i = 0; i < TYPES; i++)
            look_up_on(&e->type[i], types[i], &e->machine);
        e->next = all;
        all = e;
    }
    pthread_mutex_unlock(&lock);
    if (!e)
        return UK_OUT_OF_MEMORY;
    int i = 0;

    while (types[i] != own)
        i++;
    *type = &e->type[i];
    return UK_OK;
}
