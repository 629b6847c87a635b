/* SPDX-License-Identifier: Apache-2.0 */
/* What uk bench gemm and uk bench conv measure: sets of shapes, libraries, the instruction set. */
#define _GNU_SOURCE
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "benchmarks.h"
#include "time_program.h"

bool uk_bench_listed(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && !memcmp(p, word, n))
            return true;
    return !list;
}

int uk_bench_check_sets(const char *list, const char *first, size_t stride, int count, const char *examples) {
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
        size_t n = strcspn(p, ",");
        bool known = false;
        for (int i = 0; i < count; i++)
            known |= strlen(first + (size_t)i * stride) == n && !memcmp(first + (size_t)i * stride, p, n);
        if (!known)
            return uk_complain(
                UK_EXIT_USAGE,
                "--set: unknown set '%.*s'; the sets are %s and others that the file of shapes lists", (int)n,
                p, examples);
    }
    return UK_EXIT_OK;
}

/* True if the name begins with one of the list's words, ignoring case. */
static bool begins_with_one(const char *name, const char *list) {
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t n = strcspn(p, ","), i = 0;
        while (i < n && tolower((unsigned char)name[i]) == tolower((unsigned char)p[i]))
            i++;
        if (n && i == n)
            return true;
    }
    return false;
}

int uk_bench_choose_libraries(const char *list, struct bench_library *libraries, int count,
                              const char *known) {
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',') {
        char word[64];
        bool is_known = false;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(p, ","), p);
        for (int i = 0; i < count; i++)
            is_known |= begins_with_one(libraries[i].name, word);
        if (!is_known && strcmp(word, "none"))
            return uk_complain(UK_EXIT_USAGE, "--peers: no library's name begins with '%s'; use %s or none",
                               word, known);
    }
    for (int i = 0; i < count; i++)
        if (list && !begins_with_one(libraries[i].name, list)) {
            libraries[i].missing = true;
            snprintf(libraries[i].detail, sizeof libraries[i].detail, "not chosen by --peers");
        }
    return UK_EXIT_OK;
}

int uk_bench_choose_target(const struct uk_arguments *a, int threads, int *isa) {
    char count[16];
    if (a->target && strcmp(a->target, "native") && strcmp(a->target, "x86_64-avx2") &&
        strcmp(a->target, "x86_64-avx512"))
        return uk_complain(
            UK_EXIT_USAGE,
            "--target %s: uk bench %s runs here; expected native, x86_64-avx2 or x86_64-avx512", a->target,
            a->positional[0]);
    if (a->target && strcmp(a->target, "native"))
        setenv("UK_ISA", strchr(a->target, '-') + 1, 1);
    const char *message;
    if (uk_cpu_status(&message))
        return uk_complain(UK_EXIT_WRONG, "%s", message);
    *isa = uk_target_isa(NULL);
    snprintf(count, sizeof count, "%d", threads);
    setenv("UK_NUM_THREADS", count, 1);
    return UK_EXIT_OK;
}

int uk_bench_bind_to_cpus(int threads) {
    cpu_set_t all, some;
    const int first = sched_getcpu();
    CPU_ZERO(&some);
    if (first < 0 || sched_getaffinity(0, sizeof all, &all))
        return uk_complain(UK_EXIT_WRONG, "the CPUs of the process are unknown");
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&some) < threads; i++)
        if (CPU_ISSET((first + i) % CPU_SETSIZE, &all))
            CPU_SET((first + i) % CPU_SETSIZE, &some);
    if (CPU_COUNT(&some) < threads)
        return uk_complain(UK_EXIT_USAGE, "--threads=%d: the process may use only %d CPU%s", threads,
                           CPU_COUNT(&some), CPU_COUNT(&some) > 1 ? "s" : "");
    return sched_setaffinity(0, sizeof some, &some)
               ? uk_complain(UK_EXIT_WRONG, "the process cannot be bound to CPUs; use taskset")
               : UK_EXIT_OK;
}
