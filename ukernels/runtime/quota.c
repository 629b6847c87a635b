/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the CPU quota of the process's control groups, versions 1 and 2 (cgroups(7)). The quota of a group
 * limits all groups below it, so the quotas of all groups from the process's own up to the root are read. In
 * a container the path in /proc/self/cgroup may be the host's, although only the container's root is mounted.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "runtime.h"

enum {
    PATH_BYTES = 1024,
    GROUPS_BYTES = 4096, /* of /proc/self/cgroup; later lines are ignored */
    NUMBERS_BYTES = 64,
};

/* Reads at most size - 1 bytes. Returns false, and text is empty, if the file cannot be read. */
static bool read_file(const char *path, char *text, size_t size) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t n = 0;

    while (file >= 0 && length < size - 1 && (n = read(file, text + length, size - 1 - length)) > 0)
        length += (size_t)n;
    if (file >= 0)
        close(file);
    text[length] = '\0';
    return file >= 0 && n >= 0;
}

/* Reads the number at *text, and moves *text after it. Returns -1 if there is none, such as `max`. */
static long long read_number(const char **text) {
    char *end;
    const long long number = strtoll(*text, &end, 10);
    const bool is_number = end != *text;

    *text = end;
    return is_number ? number : -1;
}

/* Quota and period in microseconds of the group in `folder`; false if there are none. */
static bool read_quota(const char *folder, bool is_v2, long long *quota, long long *period) {
    char path[PATH_BYTES + 32], text[NUMBERS_BYTES];
    const char *rest = text;

    snprintf(path, sizeof path, "%s/%s", folder, is_v2 ? "cpu.max" : "cpu.cfs_quota_us");
    if (!read_file(path, text, sizeof text))
        return false;
    *quota = read_number(&rest);
    if (!is_v2) {
        snprintf(path, sizeof path, "%s/cpu.cfs_period_us", folder);
        rest = text;
        if (!read_file(path, text, sizeof text))
            return false;
    }
    *period = read_number(&rest);
    return *quota > 0 && *period > 0;
}

/* The lower of `cpus` and the quotas from the group `mount`/`group` up to `mount`; 0: no limit. */
static int limit(int cpus, const char *mount, const char *group, bool is_v2) {
    char folder[PATH_BYTES];
    const size_t root = strlen(mount);
    long long quota, period;

    /* A group outside the namespace of the process begins with /.. */
    const bool is_below = group[0] == '/' && strncmp(group, "/..", 3);
    const int n = snprintf(folder, sizeof folder, "%s%s", mount, is_below ? group : "");

    for (size_t length = n < 0 || (size_t)n >= sizeof folder ? root : (size_t)n;; length--) {
        if (length > root && folder[length] && folder[length] != '/')
            continue;
        folder[length] = '\0';
        if (read_quota(folder, is_v2, &quota, &period)) {
            const long long allowed = (quota - 1) / period + 1;

            if (!cpus || allowed < cpus)
                cpus = allowed < UK_MAX_POOL_THREADS ? (int)allowed : UK_MAX_POOL_THREADS;
        }
        if (length <= root)
            return cpus;
    }
}

static bool has_cpu(const char *controllers) {
    for (const char *p = controllers; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == 3 && !strncmp(p, "cpu", 3))
            return true;
    return false;
}

int uk_cpu_quota(const char *root) {
    char text[GROUPS_BYTES], path[PATH_BYTES / 2];
    char *next, *controllers, *group;
    int cpus = 0;

    if ((size_t)snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= sizeof path ||
        !read_file(path, text, sizeof text))
        return 0;
    /* Lines of /proc/self/cgroup are NUMBER:CONTROLLERS:GROUP; version 2 has no controllers. */
    for (char *line = text; (next = strchr(line, '\n')); line = next + 1) {
        *next = '\0';
        if (!(controllers = strchr(line, ':')) || !(group = strchr(++controllers, ':')))
            continue;
        *group++ = '\0';
        if (!*controllers) {
            snprintf(path, sizeof path, "%s/sys/fs/cgroup", root);
            cpus = limit(cpus, path, group, true);
        } else if (has_cpu(controllers)) {
            snprintf(path, sizeof path, "%s/sys/fs/cgroup/cpu", root);
            cpus = limit(cpus, path, group, false);
        }
    }
    return cpus;
}
