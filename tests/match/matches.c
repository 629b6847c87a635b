/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs on kernels of their own, from match/: what the compiler makes of each, interpreted and as machine
 * code, computes what the program says, exactly. Their schedules name the kernel of every stage; plain loops
 * are left for copies, and for tiles that a kernel does not take.
 *
 *     matches DIRECTORY [NAME...]
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "language/language.h"
#include "random_program.h"
#include "target/target.h"
#include "interpret/interpret.h"
#include "lower/lower.h"

enum { MAX_TENSORS = 24, MAX_SIZES = 12, MAX_SCALARS = 8, MAX_FILES = 64, SHAPES = 12, MARGIN = 64 };

static struct uk_context *context;
static const char *directory;

struct data {
    int64_t size[MAX_SIZES];
    double scalar[MAX_SCALARS];
    size_t bytes[MAX_TENSORS];
    char *start[MAX_TENSORS], *wanted[MAX_TENSORS], *got[MAX_TENSORS]; /* with a margin before and after */
    void *origin[MAX_TENSORS];
};

static char *block(size_t bytes) {
    char *p = aligned_alloc(MARGIN, (bytes + 3 * MARGIN - 1) / MARGIN * MARGIN);

    assert_non_null(p);
    memset(p, 0x5a, bytes + 2 * MARGIN);
    return p;
}

/* Leading dimensions begin with a small letter. The first shapes have an empty extent, or only ones. */
static int64_t size_of(const char *name, uint64_t *x, int shape) {
    static const int64_t extent[] = {0, 1, 3, 7, 8, 13, 16, 17, 24, 33, 40, 41};

    if (name[0] >= 'a')
        return 48 + random_below(x, 9);
    return shape == 0   ? random_below(x, 2) * 5
           : shape == 1 ? 1
                        : extent[1 + random_below(x, sizeof extent / sizeof *extent - 1)];
}

static void make_data(struct data *d, const struct uk_program *p, int shape) {
    uint64_t x = (uint64_t)shape * 7919 + 1;

    assert_true(uk_program_tensors(p) <= MAX_TENSORS && uk_program_sizes(p) <= MAX_SIZES &&
                uk_program_scalars(p) <= MAX_SCALARS);
    for (int i = 0; i < uk_program_sizes(p); i++)
        d->size[i] = size_of(uk_program_size_name(p, i), &x, shape);
    for (int i = 0; i < uk_program_scalars(p); i++)
        d->scalar[i] = random_below(&x, 5) - 2;
    for (int i = 0; i < uk_program_tensors(p); i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);
        const int64_t n = uk_program_tensor_elements(p, i, d->size);

        assert_true(n >= 0);
        d->bytes[i] = (size_t)n * uk_type_bytes(type);
        d->start[i] = block(d->bytes[i]);
        d->wanted[i] = block(d->bytes[i]);
        d->got[i] = block(d->bytes[i]);
        random_elements(&x, type, d->start[i] + MARGIN, n);
        memcpy(d->wanted[i], d->start[i], d->bytes[i] + 2 * MARGIN);
    }
}

static void **run_on(struct data *d, const struct uk_program *p, char *const *memory) {
    for (int i = 0; i < uk_program_tensors(p); i++) {
        memcpy(memory[i], d->start[i], d->bytes[i] + 2 * MARGIN);
        d->origin[i] = memory[i] + MARGIN;
    }
    return d->origin;
}

static void compare(const struct data *d, const struct uk_program *p, const char *what, int shape) {
    for (int i = 0; i < uk_program_tensors(p); i++)
        for (size_t b = 0; b < d->bytes[i] + 2 * MARGIN; b++)
            if (d->got[i][b] != d->wanted[i][b])
                fail_msg("%s, shape %d: byte %td of %s is wrong", what, shape, (ptrdiff_t)b - MARGIN,
                         uk_program_tensor_name(p, i));
}

/* Once as the program says, then by the loops, then by the machine code; true: the sizes are taken. */
static bool run_shape(struct uk_program *p, struct uk_function *f, const struct uk_module *m, int shape) {
    struct data d = {0};
    void *tensor[MAX_TENSORS] = {NULL};
    int n = 0, given = 0;

    make_data(&d, p, shape);
    const enum uk_status status = uk_program_interpret(p, d.size, d.scalar, run_on(&d, p, d.wanted));

    run_on(&d, p, d.got);
    for (const struct uk_tensor *x = p->tensors; x; x = x->next)
        tensor[n++] = x->kind == UK_TENSOR_ARGUMENT ? d.origin[given++] : NULL;
    uk_context_enter(context, "loops");
    assert_int_equal(!uk_interpret_function(
                         f, &(struct uk_values){.size = d.size, .scalar = d.scalar, .tensor = tensor}, 0xff),
                     !status);
    compare(&d, p, "interpreted loops", shape);
    assert_int_equal(!uk_module_call(m, d.size, d.scalar, run_on(&d, p, d.got)), !status);
    compare(&d, p, "machine code", shape);
    for (int i = 0; i < uk_program_tensors(p); i++) {
        free(d.start[i]);
        free(d.wanted[i]);
        free(d.got[i]);
    }
    return !status;
}

static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    char *text = calloc(1, 1 << 16);

    assert_non_null(f);
    assert_non_null(text);
    assert_true(fread(text, 1, (1 << 16) - 1, f) < (1 << 16) - 1);
    assert_int_equal(fclose(f), 0);
    return text;
}

static void program(void **state) {
    const struct uk_options o = {.target = "native"};
    const struct uk_target *target;
    struct uk_program *p;
    struct uk_function *f;
    struct uk_module *m;
    char path[512];
    int taken = 0;

    snprintf(path, sizeof path, "%s/%s", directory, (const char *)*state);
    char *text = read_file(path);
    context = uk_context_create();
    assert_non_null(context);
    if (uk_program_parse(context, path, text, strlen(text), &p) ||
        uk_target_find(context, o.target, &target) || uk_lower(p, target, &o, NULL, NULL, &f) ||
        uk_compile(p, &o, &m))
        fail_msg("%s", uk_context_message(context));
    for (int shape = 0; shape < SHAPES; shape++)
        taken += run_shape(p, f, m, shape);
    assert_true(taken >= SHAPES / 2);
    uk_module_destroy(m);
    uk_program_destroy(p);
    uk_context_destroy(context);
    free(text);
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

static bool is_wanted(const char *file, int argc, char **argv) {
    const size_t n = strlen(file);

    if (n < 4 || strcmp(file + n - 3, ".uk"))
        return false;
    for (int i = 2; i < argc; i++)
        if (strlen(argv[i]) == n - 3 && !strncmp(argv[i], file, n - 3))
            return true;
    return argc < 3;
}

int main(int argc, char **argv) {
    struct CMUnitTest test[MAX_FILES];
    const struct dirent *e;
    size_t n = 0;
    DIR *d = argc > 1 ? opendir(argv[1]) : NULL;

    if (!d) {
        fprintf(stderr, "matches DIRECTORY [NAME...]\n");
        return 2;
    }
    directory = argv[1];
    while ((e = readdir(d)) && n < MAX_FILES)
        if (is_wanted(e->d_name, argc, argv)) {
            char *name = strdup(e->d_name);

            test[n++] = (struct CMUnitTest){.name = name, .test_func = program, .initial_state = name};
        }
    closedir(d);
    qsort(test, n, sizeof *test, by_name);
    int failed = n ? _cmocka_run_group_tests("matches", test, n, NULL, NULL) : 1;
    for (size_t i = 0; i < n; i++)
        free(test[i].initial_state);
    return failed;
}
