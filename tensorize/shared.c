/* Objects to shared objects, by the linker that clang finds. */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "backend.h"

static const struct uk_position nowhere = {0, 0};

static enum uk_status link_failed(struct uk_build *b, enum uk_tool_end end, const int fd[3]) {
    const struct uk_arch *arch = b->target->arch;
    const bool foreign = arch != uk_own_arch();
    size_t length;

    if (end == UK_TOOL_NOT_STARTED)
        return uk_fail(b->context, UK_UNSUPPORTED, nowhere,
                       "cannot start the linker's driver " UK_CLANG
                       ": %s; install clang-" UK_LLVM " and lld-" UK_LLVM ", or emit an object and link that",
                       strerror(errno));
    if (end == UK_TOOL_TOO_LONG)
        return uk_fail(b->context, UK_LINK, nowhere, "the linker took more than %d seconds", UK_TOOL_SECONDS);
    char *said = uk_read_all(fd[2], &length);
    enum uk_status s = uk_fail(b->context, UK_LINK, nowhere, "the shared object does not link%s%s%s: %s",
                               foreign ? " (it needs the C library for " : "", foreign ? arch->name : "",
                               foreign ? ")" : "", said && *said ? said : "the linker gave no reason");

    free(said);
    return s;
}

static enum uk_status run_linker(struct uk_build *b, const int fd[3]) {
    struct uk_arena a = {0};
    char *target = uk_format(&a, "--target=%s", b->target->arch->triple);
    /* Only threads come from a library that whoever loads the code has to bring. */
    const char *undefined = b->is_parallel ? "-Wl,-z,undefs" : "-Wl,-z,defs";
    const char *const argv[] = {UK_CLANG,
                                target,
                                "-shared",
                                "-nostartfiles",
                                "-fuse-ld=lld",
                                "-Wl,--as-needed",
                                "-Wl,-z,now",
                                undefined,
                                "-Wl,--build-id=none",
                                "-o",
                                "-",
                                "/dev/stdin",
                                "-lm",
                                NULL};
    enum uk_tool_end end = target ? uk_run_tool((char *const *)argv, fd) : UK_TOOL_DONE;
    enum uk_status s = !target               ? uk_out_of_memory(b->context)
                       : end == UK_TOOL_DONE ? UK_OK
                                             : link_failed(b, end, fd);

    uk_arena_free(&a);
    return s;
}

enum uk_status uk_link_shared(struct uk_build *b, const char *object, size_t size, char **bytes,
                              size_t *length) {
    double since = uk_now();
    int fd[3];
    enum uk_status s = UK_OK;

    for (int i = 0; i < 3; i++)
        fd[i] = memfd_create("link", MFD_CLOEXEC);
    if (fd[0] < 0 || fd[1] < 0 || fd[2] < 0 || !uk_write_all(fd[0], object, size) ||
        lseek(fd[0], 0, SEEK_SET))
        s = uk_fail(b->context, UK_IO, nowhere, "cannot make a file in memory for the linker: %s",
                    strerror(errno));
    if (!s)
        s = run_linker(b, fd);
    if (!s && !(*bytes = uk_read_all(fd[1], length)))
        s = errno == ENOMEM
                ? uk_out_of_memory(b->context)
                : uk_fail(b->context, UK_IO, nowhere, "cannot read the linker's output: %s", strerror(errno));
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    uk_time(b->context->times, "shared", since);
    return s;
}
