/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests matrix products with operands placed where errors show: each row or column at the end or start of a
 * page whose neighbour is inaccessible; rows so far apart that offsets need more than 32 bits; batches with
 * negative or large strides. Also tests kept blocks of memory, between pages.
 */
#define _GNU_SOURCE
#include "gemm/tiles.h"
#include "gemm_shape.h"

enum { MOST_PRODUCTS = 64 };

/* ---- allocations: counted; while `paged`, each ends at an inaccessible page ---- */

void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
void __real_free(void *memory);
void __wrap_free(void *memory);
static bool paged;
static int allocations;
static struct {
    unsigned char *map, *memory;
    size_t bytes;
} paged_block;

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), span = (size + page - 1) / page * page;

    allocations++;
    if (!paged)
        return __real_aligned_alloc(alignment, size);
    assert_null(paged_block.map);
    paged_block.bytes = span + page;
    paged_block.map = mmap(NULL, span + page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(paged_block.map, MAP_FAILED);
    assert_int_equal(mprotect(paged_block.map, span, PROT_READ | PROT_WRITE), 0);
    paged_block.memory = paged_block.map + span - size;
    return paged_block.memory;
}

void __wrap_free(void *memory) {
    if (!memory || memory != paged_block.memory) {
        __real_free(memory);
        return;
    }
    munmap(paged_block.map, paged_block.bytes);
    memset(&paged_block, 0, sizeof paged_block);
}

/* ---- workspaces of products that may run concurrently ---- */

enum uk_status __real_uk_gemm_run(const struct gemm_plan *plan, const struct gemm_operands *o,
                                  void *workspace);
enum uk_status __wrap_uk_gemm_run(const struct gemm_plan *plan, const struct gemm_operands *o,
                                  void *workspace);
static atomic_int runs;
static int packing_runs; /* runs whose tiles pack panels of A with as many rows as a tile */
static bool tiles_can_pack;
static struct {
    uintptr_t begin, end;
} workspaces[MOST_PRODUCTS];

enum uk_status __wrap_uk_gemm_run(const struct gemm_plan *plan, const struct gemm_operands *o,
                                  void *workspace) {
    const int i = atomic_fetch_add(&runs, 1);

    tiles_can_pack = plan->way.tile && plan->way.tile->packing;
    packing_runs += tiles_can_pack && plan->prefetching && plan->way.form == GEMM_PANELS &&
                    !plan->product.a_columns && plan->way.rows == plan->way.tile->mr;
    if (i < MOST_PRODUCTS) {
        workspaces[i].begin = (uintptr_t)workspace;
        workspaces[i].end = (uintptr_t)workspace + (workspace ? plan->workspace : 0);
    }
    return __real_uk_gemm_run(plan, o, workspace);
}

/* Number of distinct workspaces; any two are equal or do not overlap. */
static int different_workspaces(void) {
    const int count = atomic_load(&runs) < MOST_PRODUCTS ? atomic_load(&runs) : MOST_PRODUCTS;
    int different = 0;

    for (int i = 0; i < count; i++) {
        bool is_new = workspaces[i].begin != workspaces[i].end;

        for (int j = 0; j < i; j++) {
            is_new = is_new && workspaces[i].begin != workspaces[j].begin;
            assert_true(workspaces[i].begin == workspaces[j].begin ||
                        workspaces[i].end <= workspaces[j].begin || workspaces[j].end <= workspaces[i].begin);
        }
        different += is_new;
    }
    return different;
}

/* The functions are the same text for each element type. */
#define ELEMENT float
#define F(name) s##name
#define SGEMM uk_sgemm
#define UK(name) uk_s##name
#include "gemm_data.h"
#include "gemm_place_cases.h"
#undef ELEMENT
#undef F
#undef SGEMM
#undef UK
#define ELEMENT double
#define F(name) d##name
#define SGEMM uk_dgemm
#define UK(name) uk_d##name
#include "gemm_data.h"
#include "gemm_place_cases.h"

static const struct uk_gemm_options both_packed = {.a_packed = true, .b_packed = true};

/* Small products, vectors, inner products, tiles with full and partial rows and columns, and transposed C. */
static void lines_lie_between_pages(void **state) {
    static const int64_t size[][3] = {{1, 1, 1},    {3, 5, 4},    {7, 33, 20},   {14, 48, 31},  {31, 30, 29},
                                      {1, 300, 90}, {300, 1, 90}, {1, 40, 9},    {9, 11, 700},  {4, 5, 1000},
                                      {70, 90, 77}, {33, 66, 99}, {16, 200, 60}, {200, 17, 130}};

    (void)state;
    for (int64_t i = 0; i < (int64_t)(sizeof size / sizeof *size); i++)
        for (int form = 0; form < 8; form += part() > 1 ? 3 : 1) {
            const double alpha = (i + form) % 4 ? 1 : form % 3 - 1, beta = (double)((i + form) % 3);
            const struct shape s = of_form(form, size[i][0], size[i][1], size[i][2], 0, alpha, beta);

            for (int at_end = 0; at_end < 2; at_end++) {
                splaced(&s, 0, at_end, NULL);
                dplaced(&s, 0, at_end, NULL);
                splaced(&s, 0, at_end, &both_packed);
                if (form % 2)
                    dplaced(&s, 0, at_end, &both_packed);
            }
        }
}

/*
 * Tiles that pack the next panel of A during their steps, two rows each, must not read more rows than the
 * panel has; its last row may be alone. Where kernels do this, a product with such rows uses them if copies
 * pay off. With one thread it has all panels.
 */
static void tiles_pack_the_next_panel(void **state) {
    const struct uk_gemm_options one_thread = {.threads = 1};
    const struct uk_machine before = smaller;

    (void)state;
    /* A machine with a slow L2 and a prefetcher that follows a single stream, so that packing into panels
     * pays off. */
    smaller.cache[UK_L2].size = 1 << 20;
    smaller.cache[UK_L1].size = 4096;
    smaller.cache[UK_L1].ways = smaller.core.l1.lines = smaller.core.prefetch.streams = 1;
    smaller.core.l2.bytes = 1;
    smaller.core.l2.latency = 1000;
    smaller.core.serial_transfers = true;
    for (int64_t rows = 53; rows <= 56; rows++)
        for (int column_major = 0; column_major < 2; column_major++) {
            const int64_t m = column_major ? 230 : rows, n = column_major ? rows : 230;
            const struct shape s = of_form(column_major, m, n, 140, 0, 1, 1);

            for (int at_end = 0; at_end < 2; at_end++) {
                packing_runs = 0;
                splaced(&s, 0, at_end, &one_thread);
                dplaced(&s, 0, at_end, &one_thread);
                if (tiles_can_pack)
                    assert_int_equal(packing_runs, 2);
            }
        }
    smaller = before;
    if (!tiles_can_pack) {
        print_message("gemm_places: skipped, panels packed by tiles: no kernel that runs here does so\n");
        skip();
    }
}

/*
 * If A's first rows have tiles that pack B and collide in L1 sets, they are copied in front of the panels of
 * the other rows. Every block of columns reads them, so the two must not overlap. Rows of this copy are
 * longer than a panel's by an amount that depends on k.
 */
static void first_rows_keep_clear_of_panels(void **state) {
    const struct uk_machine before = smaller;

    (void)state;
    smaller.cache[UK_L2].size /= 16;
    smaller.cache[UK_LLC].size /= 16;
    for (int64_t k = 65; k <= 160; k += part() > 1 ? 9 : 3) {
        const struct shape s = of_form(0, 70, 200, k, 0, 1, k % 2);

        splaced(&s, 8192, false, NULL);
        dplaced(&s, 8192, false, NULL);
    }
    smaller = before;
}

/* The first and last line of each operand are 6 GiB apart. */
static void offsets_need_more_than_32_bits(void **state) {
    static const int64_t size[][3] = {{3, 5, 4},     {1, 40, 9},      {40, 1, 9},    {1, 900, 40},
                                      {900, 1, 40},  {4, 5, 1000},    {40, 50, 60},  {15, 33, 64},
                                      {70, 130, 90}, {600, 30, 1000}, {1, 4000, 400}};

    (void)state;
    if (sizeof(void *) == 4) {
        print_message("gemm_places: skipped, offsets of more than 32 bits: addresses have 32\n");
        skip();
    }
    for (int64_t i = 0; i < (int64_t)(sizeof size / sizeof *size); i++)
        /* The last but one has enough work for tiles, and few enough columns that they read A in place. The
         * last has enough work that two threads share the vector. */
        for (int form = 0; form < (size[i][0] == 600 ? 2 : 8); form++) {
            const struct shape s = of_form(form, size[i][0], size[i][1], size[i][2], 0, 1, form % 2);
            int64_t most = s.m < s.n ? s.n : s.m;

            most = most < s.k ? s.k : most;
            const size_t distance = ((size_t)6 << 30) / (size_t)(most < 8 ? most - 1 + (most == 1) : 8);

            splaced(&s, distance, form % 3, NULL);
            dplaced(&s, distance, form % 3, form % 2 ? &both_packed : NULL);
        }
}

/* Products on several threads, each with its own workspace; 150 x 150 x 150 packs both operands. */
static void batches_go_down_and_far(void **state) {
    int64_t size[][3] = {{5, 7, 3}, {1, 33, 20}, {33, 1, 20}, {64, 64, 64}, {150, 150, 150}};

    (void)state;
    for (int i = 0; i < 5; i++) {
        shrink(size[i], 4);
        for (int down = 0; down < 8; down++) {
            const struct shape s =
                of_form(i < 3 ? down ^ 5 : 6, size[i][0], size[i][1], size[i][2], 0, 1, down % 2);
            const size_t far = sizeof(void *) > 4 ? (size_t)3 << 30 : 0;

            atomic_store(&runs, 0);
            sstrided(&s, i == 4 ? 6 : 9, 0, down);
            if (i == 4 && part() == 1)
                assert_int_equal(different_workspaces(), uk_num_threads());
            dstrided(&s, i == 4 ? 6 : 9, 0, down);
            if (i < 3)
                sstrided(&s, 3, far, down);
        }
    }
}

/* ---- kept memory ---- */

struct taken {
    size_t size;
    unsigned char *memory;
};

static void take(void *argument) {
    struct taken *t = argument;

    t->memory = uk_take_memory(t->size);
    if (t->memory)
        memset(t->memory, 1, t->size);
}

/* A block serves any size up to its own, to the byte; the smallest block has 64 KiB. */
static void blocks_are_large_enough(void **state) {
    const void *where;

    (void)state;
    paged = true;
    for (size_t size = 66000; size < 500000; size += 1 + size / 7) {
        for (int more = -64; more <= 64; more += 32) {
            struct taken first = {size, NULL}, second = {(size_t)((int)size + more), NULL};

            uk_release_memory();
            allocations = 0;
            assert_true(run_guarded(take, &first, &where) && first.memory);
            uk_give_memory(first.memory);
            if (!run_guarded(take, &second, &where))
                fail_msg("a block of %zu bytes is given for %zu", first.size, second.size);
            assert_non_null(second.memory);
            assert_int_equal(allocations, more > 0 ? 2 : 1);
            uk_give_memory(second.memory);
        }
    }
    uk_release_memory();
    paged = false;
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_lie_between_pages),         cmocka_unit_test(tiles_pack_the_next_panel),
        cmocka_unit_test(first_rows_keep_clear_of_panels), cmocka_unit_test(offsets_need_more_than_32_bits),
        cmocka_unit_test(batches_go_down_and_far),         cmocka_unit_test(blocks_are_large_enough),
    };

    begin_seed();
    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    setenv("UK_NUM_THREADS", "2", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
