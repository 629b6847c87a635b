/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs on GPUs by the automatic schedule, in the interpreter, which reports races: the examples at small
 * sizes, and products in all transposes, strided and not, added to what was there, with what follows element
 * by element. All must be what the program as it is written computes.
 *
 *     devices DIRECTORY [--all] [--seed N|new] [--only PROGRAM]
 *
 * The sizes of products are drawn from those around a tile's edges; those of examples are all equal, one of
 * them 0, and random.
 */
#define _POSIX_C_SOURCE 200809L /* strdup */
#include <dirent.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "random.h"
#include "seed.h"
#include "uk.h"
#include "stages/stages.h"

enum {
    SIZES = 24,
    SCALARS = 16,
    PROGRAMS = 64,
    MOST = 40,                    /* random sizes of examples are below */
    MOST_OPERATIONS = 200 * 1000, /* that an example may take */
    MOST_OF_PRODUCT = 2000 * 1000,
    TRIPLES = 60,
    FEW_TRIPLES = 5, /* of each transpose and target */
};

static const char *const targets[] = {"amdgcn-gfx906", "amdgcn-gfx90a", "nvptx-sm80"};
static const int64_t edges[] = {0, 1, 7, 63, 64, 65, 127, 129, 200};

static const char *directory, *only;
static bool all;
static uint64_t seed = 1;

int uk_complain(int status, const char *format, ...) {
    va_list ap;

    va_start(ap, format);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return status;
}

/* ---- one program, one target, one tuple of sizes ---- */

struct trial {
    struct uk_context *context;
    struct uk_program *program;
    struct uk_module *module;
    const char *name, *target;
    int run, refused;
};

/* What is said of kernels of another target. */
static const char *const elsewhere[] = {"which the target", "only meant to be used on x86"};

/* False: its schedule names kernels that are not the target's. */
static bool begin(struct trial *t, const char *name, const char *text, const char *target) {
    const struct uk_options o = {.target = target, .interpret = true};

    *t = (struct trial){.context = uk_context_create(), .name = name, .target = target};
    assert_non_null(t->context);
    if (uk_program_parse(t->context, name, text, strlen(text), &t->program))
        fail_msg("%s\n%s", uk_context_message(t->context), text);
    const enum uk_status status = uk_compile(t->program, &o, &t->module);
    for (size_t i = 0; status && i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (strstr(uk_context_message(t->context), elsewhere[i]))
            return false;
    if (status)
        fail_msg("%s: %s\n%s", target, uk_context_message(t->context), text);
    assert_true(uk_program_sizes(t->program) <= SIZES && uk_program_scalars(t->program) <= SCALARS);
    return true;
}

static void end(struct trial *t) {
    uk_module_destroy(t->module);
    uk_program_destroy(t->program);
    uk_context_destroy(t->context);
}

static void fail_at(const struct trial *t, const int64_t *size, const char *why) {
    print_error("%s on %s:", t->name, t->target);
    for (int i = 0; i < uk_program_sizes(t->program); i++)
        print_error(" %s=%" PRId64, uk_program_size_name(t->program, i), size[i]);
    fail_msg("%s", why);
}

static void check(struct trial *t, const int64_t *size) {
    struct uk_data got, expected;
    double scalar[SCALARS];

    for (int i = 0; i < SCALARS; i++)
        scalar[i] = i + 2;
    assert_int_equal(uk_data_create(&got, t->program, size), 0);
    assert_int_equal(uk_data_create(&expected, t->program, size), 0);
    uk_data_integers(&got);
    uk_data_integers(&expected);
    const enum uk_status status = uk_program_interpret(t->program, size, scalar, expected.origins);
    const int returned = uk_module_call(t->module, size, scalar, got.origins);
    if ((status != UK_OK) != (returned != 0))
        fail_at(t, size, returned ? uk_context_message(t->context) : "sizes are taken that must be refused");
    struct uk_tolerance *each = uk_tolerances(t->program, size);
    assert_non_null(each);
    if (!status && !uk_data_equal(&got, &expected, size, each))
        fail_at(t, size, "not what the program computes");
    free(each);
    uk_data_free(&got);
    uk_data_free(&expected);
    t->run += !status;
    t->refused += status != UK_OK;
}

/* ---- the examples ---- */

/* What the program assumes to be equal to something is made so. */
static void assume(const struct uk_program *p, int64_t *size) {
    for (const struct uk_assume *a = p->assumes; a; a = a->next)
        if (a->relation->op == UK_I_EQ && a->relation->a->op == UK_I_VAR)
            size[a->relation->a->var->number] = uk_value(a->relation->b, size);
}

static bool is_extent(const struct uk_program *p, const struct uk_var *v) {
    for (const struct uk_tensor *x = p->tensors; x; x = x->next)
        for (int d = 0; d < x->dims; d++)
            if (uk_mentions(x->shape[d], v))
                return true;
    return false;
}

/* Leading dimensions hold the rows. */
static void check_if_small(struct trial *t, int64_t *size) {
    for (const struct uk_var *v = t->program->sizes; v; v = v->next)
        if (!is_extent(t->program, v))
            size[v->number] = MOST + size[v->number];
    assume(t->program, size);
    if (uk_operations(t->program, size) <= MOST_OPERATIONS)
        check(t, size);
}

static void check_example(struct trial *t) {
    uint64_t random = seed;
    int64_t size[SIZES];

    for (int n = 0; n < (all ? MOST : 20); n += all ? 1 : 6) {
        for (int i = 0; i < SIZES; i++)
            size[i] = n;
        check_if_small(t, size);
    }
    for (int none = 0; none < uk_program_sizes(t->program); none += all ? 1 : 3) {
        for (int i = 0; i < SIZES; i++)
            size[i] = i == none ? 0 : 9;
        check_if_small(t, size);
    }
    for (int n = 0; n < (all ? 20 : 3); n++) {
        for (int i = 0; i < SIZES; i++)
            size[i] = random_below(&random, random_below(&random, 2) ? MOST : 12);
        check_if_small(t, size);
    }
}

static void run_example(void **state) {
    char path[512];
    size_t length;

    snprintf(path, sizeof path, "%s/%s", directory, (const char *)*state);
    char *text = uk_read_file(path, &length);
    assert_non_null(text);
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        struct trial t;

        if (begin(&t, path, text, targets[i]))
            check_example(&t);
        print_message("%s on %s: %d tuples run, %d refused\n", (const char *)*state, targets[i], t.run,
                      t.refused);
        end(&t);
    }
    free(text);
}

/* ---- products ---- */

struct product {
    bool a_by_columns, b_by_columns;
};

/* Strides of its own, or those of the shape; C = or C +=; alone, with bias and relu, or as a temp that two
 * others read. */
static void put_product(char *text, size_t room, const struct product *p, bool strided, int form) {
    const char *a = p->a_by_columns ? "k, m" : "m, k", *b = p->b_by_columns ? "n, k" : "k, n";
    static const char *const last[] = {
        "tensor C f32 [M, N]%s\nC[m, n] = sum(k) A[%s] * B[%s]\n",
        "tensor C f32 [M, N]%s\nC[m, n] += sum(k) A[%s] * B[%s]\n",
        "temp T f32 [M, N]\ntensor C f32 [M, N]%s\nT[m, n] = sum(k) A[%s] * B[%s]\n"
        "C[m, n] = max(T[m, n] + b[n], 0)\n",
        "temp T f32 [M, N]\ntensor C f32 [M, N]%s\ntensor D f32 [N, M]\nT[m, n] = sum(k) A[%s] * B[%s]\n"
        "C[m, n] = max(T[m, n] + b[n], 0)\nD[n, m] = T[m, n] - C[m, n]\n",
    };
    const int n = snprintf(
        text, room,
        "size M = 200, N = 129, K = 65\ntensor A f32 [%s]%s\ntensor B f32 [%s]%s\ntensor b f32 [N]\n",
        p->a_by_columns ? "K, M" : "M, K", strided ? " stride [lda, 1]" : "",
        p->b_by_columns ? "N, K" : "K, N", strided ? " stride [ldb, 1]" : "");

    snprintf(text + n, room - (size_t)n, last[form], strided ? " stride [ldc, 1]" : "", a, b);
}

/* M, N, K, and leading dimensions that are larger than the rows by 0, 3, ... */
static void set_sizes(const struct trial *t, const int64_t *mnk, int64_t more, int64_t *size) {
    for (const struct uk_var *v = t->program->sizes; v; v = v->next) {
        const char *at = strchr("MNK", v->name[0]);

        size[v->number] = at ? mnk[at - "MNK"] : 200 + more;
    }
}

static void run_products(void **state) {
    const struct product *p = *state;
    uint64_t random = seed;
    char text[1024];
    int run = 0;

    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
        for (int n = 0; n < (all ? TRIPLES : FEW_TRIPLES); n++) {
            struct trial t;
            int64_t mnk[3], size[SIZES];

            put_product(text, sizeof text, p, random_below(&random, 2), random_below(&random, 4));
            assert_true(begin(&t, "product.uk", text, targets[i]));
            for (int k = 0; k < 3; k++)
                mnk[k] = edges[random_below(&random, sizeof edges / sizeof *edges)];
            set_sizes(&t, mnk, random_below(&random, 3) * 3, size);
            if (all || uk_operations(t.program, size) <= MOST_OF_PRODUCT)
                check(&t, size);
            run += t.run;
            end(&t);
        }
    print_message("%d products run\n", run);
}

/* ---- which ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

static int find_examples(struct CMUnitTest *tests) {
    DIR *d = opendir(directory);
    const struct dirent *entry;
    int n = 0;

    while (d && (entry = readdir(d))) {
        const char *dot = strrchr(entry->d_name, '.');

        if (!dot || strcmp(dot, ".uk") || (only && strcmp(only, entry->d_name)) || n == PROGRAMS)
            continue;
        char *name = strdup(entry->d_name);
        tests[n++] = (struct CMUnitTest){.name = name, .test_func = run_example, .initial_state = name};
    }
    if (d)
        closedir(d);
    qsort(tests, (size_t)n, sizeof *tests, by_name);
    return n;
}

int main(int argc, char **argv) {
    static struct product product[] = {{false, false}, {false, true}, {true, false}, {true, true}};
    static const char *const names[] = {"products", "products, B by columns", "products, A by columns",
                                        "products, both by columns"};
    struct CMUnitTest tests[PROGRAMS + 4];
    bool known = argc > 1;

    for (int i = 2; i < argc && known; i++)
        if (!strcmp(argv[i], "--all"))
            all = true;
        else if (i + 1 < argc && !strcmp(argv[i], "--seed"))
            seed = seed_of(argv[++i]);
        else if (i + 1 < argc && !strcmp(argv[i], "--only"))
            only = argv[++i];
        else
            known = false;
    if (!known) {
        fprintf(stderr, "usage: devices DIRECTORY [--all] [--seed N|new] [--only PROGRAM]\n");
        return 2;
    }
    directory = argv[1];
    const int examples = find_examples(tests);
    int n = examples;
    for (int i = 0; i < 4 && !only; i++)
        tests[n++] =
            (struct CMUnitTest){.name = names[i], .test_func = run_products, .initial_state = &product[i]};
    print_message("seed %" PRIu64 "\n", seed);
    int failed = n ? _cmocka_run_group_tests("devices", tests, (size_t)n, NULL, NULL) : 1;
    for (int i = 0; i < examples; i++)
        free((void *)(uintptr_t)tests[i].name);
    return failed;
}
