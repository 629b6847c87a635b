/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "seed.h"
#include "test_options.h"

enum { MOST_FILES = 128 };

static bool is_last(const struct test_option *o) {
    return !o->number && !o->seed && !o->text && !o->flag;
}

static _Noreturn void show_options(const char *program, const struct test_option *o) {
    fprintf(stderr, "usage: %s", program);
    for (; !is_last(o); o++)
        fprintf(stderr, " [%s%s]", o->name ? o->name : "ARGUMENT",
                o->number            ? " N"
                : o->seed            ? " N|new"
                : o->text && o->name ? " WORD"
                                     : "");
    fputc('\n', stderr);
    exit(2);
}

void take_options(int argc, char **argv, const struct test_option *option) {
    for (int i = 1; i < argc; i++) {
        const struct test_option *o = option;

        while (!is_last(o) && (o->name ? strcmp(argv[i], o->name) != 0 : *argv[i] == '-' || *o->text))
            o++;
        if (is_last(o) || (o->name && !o->flag && ++i == argc))
            show_options(argv[0], option);
        if (o->flag)
            *o->flag = true;
        else if (o->number)
            *o->number = atoi(argv[i]);
        else if (o->seed)
            *o->seed = seed_of(argv[i]);
        else
            *o->text = argv[i];
    }
}

/* ---- files ---- */

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct CMUnitTest *)a)->name, ((const struct CMUnitTest *)b)->name);
}

int find_tests(const char *directory, const char *only, CMUnitTestFunction run, struct CMUnitTest *tests,
               int most) {
    static char paths[MOST_FILES][512];
    DIR *d = directory ? opendir(directory) : NULL;
    const struct dirent *entry;
    int n = 0;

    while (d && (entry = readdir(d))) {
        const char *dot = strrchr(entry->d_name, '.');

        if (!dot || strcmp(dot, ".uk") || (only && strcmp(only, entry->d_name)) || n == most)
            continue;
        assert_true(n < MOST_FILES);
        snprintf(paths[n], sizeof paths[n], "%s/%s", directory, entry->d_name);
        tests[n] = (struct CMUnitTest){
            .name = strrchr(paths[n], '/') + 1, .test_func = run, .initial_state = paths[n]};
        n++;
    }
    if (d)
        closedir(d);
    qsort(tests, (size_t)n, sizeof *tests, by_name);
    if (!n) {
        fprintf(stderr, "%s has no .uk file%s%s\n", directory ? directory : "no directory",
                only ? " named " : "", only ? only : "");
        exit(2);
    }
    return n;
}

char *read_text(const char *path) {
    long length = 0;

    FILE *f = fopen(path, "rb");
    if (!f || fseek(f, 0, SEEK_END) || (length = ftell(f)) < 0 || fseek(f, 0, SEEK_SET))
        fail_msg("%s cannot be read", path);
    char *text = calloc(1, (size_t)length + 1);
    assert_non_null(text);
    assert_int_equal(fread(text, 1, (size_t)length, f), length);
    fclose(f);
    return text;
}
