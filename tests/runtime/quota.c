/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the CPU quota of control groups, read from files of both versions in a temporary folder, and the
 * default number of threads that follows.
 */
#define _GNU_SOURCE
#include <limits.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "runtime/runtime.h"
#include "ukernels.h"

static char long_group[3000];

static int quota_of_process;
int __wrap_uk_cpu_quota(const char *root);
int __real_uk_cpu_quota(const char *root);

int __wrap_uk_cpu_quota(const char *root) {
    assert_string_equal(root, "");
    return quota_of_process;
}

enum { MOST_FILES = 4 };

/* `groups`: content of /proc/self/cgroup; names of files are relative to /sys/fs/cgroup. */
struct system {
    const char *name, *groups;
    struct {
        const char *name, *text;
    } file[MOST_FILES];
    int cpus;
};

static const struct system systems[] = {
    {"no control groups", NULL, {{NULL, NULL}}, 0},
    {"an empty list", "", {{"cpu.max", "100000 100000\n"}}, 0},
    {"v2 without a controller", "0::/a/b\n", {{"a/b/cgroup.procs", "1\n"}}, 0},
    {"v2 without a limit", "0::/a\n", {{"a/cpu.max", "max 100000\n"}}, 0},
    {"v2, whole CPUs", "0::/a\n", {{"a/cpu.max", "300000 100000\n"}}, 3},
    {"v2, rounded up", "0::/a\n", {{"a/cpu.max", "200001 100000\n"}}, 3},
    {"v2, less than one CPU", "0::/a\n", {{"a/cpu.max", "1000 100000\n"}}, 1},
    {"v2, another period", "0::/a\n", {{"a/cpu.max", "50000 25000\n"}}, 2},
    {"v2, of the root", "0::/\n", {{"cpu.max", "150000 100000\n"}}, 2},
    {"v2, of a parent",
     "0::/a/b/c\n",
     {{"a/b/c/cpu.max", "max 100000\n"}, {"a/cpu.max", "500000 100000\n"}},
     5},
    {"v2, lower below",
     "0::/a/b\n",
     {{"a/b/cpu.max", "200000 100000\n"}, {"a/cpu.max", "500000 100000\n"}},
     2},
    {"v2, lower above",
     "0::/a/b\n",
     {{"a/b/cpu.max", "500000 100000\n"}, {"a/cpu.max", "200000 100000\n"}},
     2},
    {"v2, a name that begins alike", "0::/ab\n", {{"a/cpu.max", "200000 100000\n"}, {"ab/x", ""}}, 0},
    {"v2, only the container's root", "0::/docker/0123\n", {{"cpu.max", "400000 100000\n"}}, 4},
    {"v2, outside the namespace", "0::/../../x\n", {{"cpu.max", "400000 100000\n"}}, 4},
    {"v2, without a period", "0::/a\n", {{"a/cpu.max", "400000\n"}}, 0},
    {"v2, other text", "0::/a\n", {{"a/cpu.max", "four CPUs\n"}}, 0},
    {"v2, an empty file", "0::/a\n", {{"a/cpu.max", ""}}, 0},
    {"v2, a period of 0", "0::/a\n", {{"a/cpu.max", "400000 0\n"}}, 0},
    {"v2, a quota without end", "0::/a\n", {{"a/cpu.max", "9223372036854775807 1\n"}}, UK_MAX_POOL_THREADS},
    {"v1",
     "5:memory:/m\n4:cpu,cpuacct:/a\n",
     {{"cpu/a/cpu.cfs_quota_us", "250000\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}},
     3},
    {"v1, the controller alone",
     "1:cpu:/\n0::/\n",
     {{"cpu/cpu.cfs_quota_us", "100000\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}},
     1},
    {"v1, last of a list",
     "1:cpuacct,cpu:/\n",
     {{"cpu/cpu.cfs_quota_us", "200000\n"}, {"cpu/cpu.cfs_period_us", "100000\n"}},
     2},
    {"v1 without a limit",
     "4:cpu:/a\n",
     {{"cpu/a/cpu.cfs_quota_us", "-1\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}},
     0},
    {"v1 without a period", "4:cpu:/a\n", {{"cpu/a/cpu.cfs_quota_us", "100000\n"}}, 0},
    {"v1, other controllers",
     "4:cpuset:/a\n2:cpuacct:/a\n",
     {{"cpu/a/cpu.cfs_quota_us", "100000\n"}, {"cpu/a/cpu.cfs_period_us", "100000\n"}},
     0},
    {"both versions",
     "4:cpu:/a\n0::/b\n",
     {{"cpu/a/cpu.cfs_quota_us", "400000\n"},
      {"cpu/a/cpu.cfs_period_us", "100000\n"},
      {"b/cpu.max", "300000 100000\n"}},
     3},
    {"lines that are none", "0\n:\n::\n0:\n0::\nx::y\n0::/a\n", {{"a/cpu.max", "300000 100000\n"}}, 3},
    {"a line that does not end", "0::/a", {{"a/cpu.max", "300000 100000\n"}}, 0},
    {"a group that is too long", long_group, {{"cpu.max", "300000 100000\n"}}, 3},
};

/* Writes folder/name and creates its folders. */
static void write_file(const char *folder, const char *name, const char *text) {
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *p = path + 1; (p = strchr(p, '/')); *p++ = '/') {
        *p = '\0';
        mkdir(path, 0777);
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void files_are_read(void **state) {
    char folder[] = "/tmp/quota.XXXXXX", root[PATH_MAX], name[PATH_MAX], command[PATH_MAX];

    (void)state;
    snprintf(long_group, sizeof long_group, "0::/%0*d\n", (int)sizeof long_group - 8, 0);
    assert_non_null(mkdtemp(folder));
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        const struct system *s = &systems[i];

        snprintf(root, sizeof root, "%s/%zu", folder, i);
        if (s->groups)
            write_file(root, "proc/self/cgroup", s->groups);
        for (int j = 0; j < MOST_FILES && s->file[j].name; j++) {
            snprintf(name, sizeof name, "sys/fs/cgroup/%s", s->file[j].name);
            write_file(root, name, s->file[j].text);
        }
        if (__real_uk_cpu_quota(root) != s->cpus)
            fail_msg("%s: %d CPUs, and should be %d", s->name, __real_uk_cpu_quota(root), s->cpus);
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

/* uk_num_threads() in a new process with this quota. */
static int threads_with(int quota) {
    const pid_t child = fork();
    int status;

    assert_true(child >= 0);
    if (!child) {
        quota_of_process = quota;
        _exit(uk_num_threads());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void default_is_at_most_the_quota(void **state) {
    cpu_set_t set;

    (void)state;
    unsetenv("UK_NUM_THREADS");
    assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
    const int cpus = CPU_COUNT(&set);

    assert_int_equal(threads_with(1), 1);
    if (cpus < 256) { /* the number is returned as an exit status of 8 bits */
        assert_int_equal(threads_with(0), cpus);
        assert_int_equal(threads_with(cpus + 1), cpus);
    }
    setenv("UK_NUM_THREADS", "3", 1);
    assert_int_equal(threads_with(1), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(default_is_at_most_the_quota),
    };

    return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}
