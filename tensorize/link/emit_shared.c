/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links objects to shared objects, by the linker that clang finds.
 *
 * Parallel code calls libukernels. The object must name it as needed, so that a program that does not link it
 * can load the object. An empty library of that name suffices for linking: the real one need not be installed
 * here, nor for the target's architecture.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "link.h"

#define UKERNELS "libukernels.so." UK_SOVERSION /* the SONAME of libukernels */

static const struct uk_position nowhere = {0, 0};

static enum uk_status link_failed(struct uk_build *b, enum uk_tool_end end, const int fd[3]) {
    const struct uk_arch *arch = b->target->arch;
    const bool foreign = arch != uk_own_arch();
    size_t length;

    if (end == UK_TOOL_NOT_STARTED)
        return uk_fail(b->context, UK_UNSUPPORTED, nowhere,
                       "cannot start the linker's driver " UK_CLANG ": %s; install clang-" UK_LLVM
                       " and lld-" UK_LLVM ", or emit an object and link that",
                       strerror(errno));
    if (access(UK_LLD, X_OK))
        return uk_fail(b->context, UK_UNSUPPORTED, nowhere,
                       "there is no linker " UK_LLD "; install lld-" UK_LLVM
                       ", or emit an object and link that");
    if (end == UK_TOOL_TOO_LONG)
        return uk_fail(b->context, UK_LINK, nowhere, "the linker took more than %d seconds", UK_TOOL_SECONDS);
    char *said = uk_read_all(fd[2], SIZE_MAX, &length);
    enum uk_status s = uk_fail(b->context, UK_LINK, nowhere, "the shared object does not link%s%s%s: %s",
                               foreign ? " (it needs the C library for " : "", foreign ? arch->name : "",
                               foreign ? ")" : "", said && *said ? said : "the linker gave no reason");

    free(said);
    return s;
}

/* Runs clang with these arguments for the target. */
static enum uk_status run_driver(struct uk_build *b, const char *const arguments[], const int fd[3]) {
    enum { MOST = 20 };
    const char *argv[MOST] = {UK_CLANG};
    struct uk_arena a = {0};
    int n = 2;

    if (!(argv[1] = uk_format(&a, "--target=%s", b->target->arch->triple)))
        return uk_out_of_memory(b->context);
    while (*arguments && n < MOST - 1)
        argv[n++] = *arguments++;
    enum uk_tool_end end = uk_run_tool((char *const *)argv, fd);
    enum uk_status s = end == UK_TOOL_DONE ? UK_OK : link_failed(b, end, fd);

    uk_arena_free(&a);
    return s;
}

/* Makes a library, in fd[1], that defines what generated code calls of libukernels. */
static enum uk_status make_stub(struct uk_build *b, int fd[3]) {
    static const char source[] =
        "void uk_parallel_for(void) {}\nvoid uk_num_threads(void) {}\n"
        "void uk_gpu_use(void) {}\nvoid uk_gpu_workspace(void) {}\nvoid uk_gpu_launch(void) {}\n";
    static const char *const arguments[] = {
        "-shared", "-nostdlib", "-fuse-ld=lld", "-Wl,-soname," UKERNELS, "-o", "-", "-x", "c", "-", NULL};
    enum uk_status s = uk_tool_files(b->context, source, sizeof source - 1, fd);

    return s ? s : run_driver(b, arguments, fd);
}

/* stub: the file that represents libukernels to the linker, or NULL. */
static enum uk_status run_linker(struct uk_build *b, const char *stub, const int fd[3]) {
    const char *const arguments[] = {"-shared",
                                     "-nostartfiles",
                                     "-fuse-ld=lld",
                                     "-Wl,--as-needed",
                                     "-Wl,-z,now",
                                     "-Wl,-z,defs",
                                     "-Wl,--build-id=none",
                                     "-o",
                                     "-",
                                     "/dev/stdin",
                                     "-lm",
                                     stub,
                                     NULL};

    return run_driver(b, arguments, fd);
}

/* Links the object in fd[0]. */
static enum uk_status link_object(struct uk_build *b, const int fd[3]) {
    int stub[3] = {-1, -1, -1};
    char path[64];
    enum uk_status s = b->uses_library ? make_stub(b, stub) : UK_OK;

    /* The name contains this process's id: in a started process these descriptors are closed. */
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), stub[1]);
    if (!s)
        s = run_linker(b, b->uses_library ? path : NULL, fd);
    uk_tool_files_close(stub);
    return s;
}

enum uk_status uk_link_shared(struct uk_build *b, const char *object, size_t size, char **bytes,
                              size_t *length) {
    double since = uk_now();
    int fd[3];
    enum uk_status s = uk_tool_files(b->context, object, size, fd);

    if (!s)
        s = link_object(b, fd);
    if (!s && !(*bytes = uk_read_all(fd[1], SIZE_MAX, length)))
        s = errno == ENOMEM
                ? uk_out_of_memory(b->context)
                : uk_fail(b->context, UK_IO, nowhere, "cannot read the linker's output: %s", strerror(errno));
    uk_tool_files_close(fd);
    uk_time(b->context->times, "shared", since);
    return s;
}
