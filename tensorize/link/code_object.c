/* SPDX-License-Identifier: Apache-2.0 */
/* Links objects for devices to code objects, which drivers load: shared objects without undefined symbols,
 * linked by lld alone. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "link.h"

static const struct uk_position nowhere = {0, 0};

static enum uk_status link_failed(struct uk_context *c, const struct uk_target *t, enum uk_tool_end end,
                                  int messages) {
    size_t length;

    if (end == UK_TOOL_NOT_STARTED)
        return uk_fail(c, UK_UNSUPPORTED, nowhere,
                       "cannot start the linker " UK_LLD ": %s; install lld-" UK_LLVM, strerror(errno));
    if (end == UK_TOOL_TOO_LONG)
        return uk_fail(c, UK_LINK, nowhere, "the linker took more than %d seconds", UK_TOOL_SECONDS);
    char *said = uk_read_all(messages, SIZE_MAX, &length);
    enum uk_status s = uk_fail(c, UK_LINK, nowhere, "the code object for %s does not link: %s", t->name,
                               said && *said ? said : "the linker gave no reason");

    free(said);
    return s;
}

enum uk_status uk_link_code_object(struct uk_context *c, const struct uk_target *t, const char *object,
                                   size_t size, char **bytes, size_t *length) {
    static char *const argv[] = {UK_LLD, "-shared", "--no-undefined", "--build-id=none",
                                 "-o",   "-",       "/dev/stdin",     NULL};
    double since = uk_now();
    int fd[3];

    if (!t->arch->is_device)
        return uk_fail(c, UK_UNSUPPORTED, nowhere, "target %s is not a GPU; only GPUs have code objects",
                       t->name);
    enum uk_status s = uk_tool_files(c, object, size, fd);
    if (!s) {
        enum uk_tool_end end = uk_run_tool(argv, fd);

        if (end != UK_TOOL_DONE)
            s = link_failed(c, t, end, fd[2]);
    }
    if (!s && !(*bytes = uk_read_all(fd[1], SIZE_MAX, length)))
        s = errno == ENOMEM
                ? uk_out_of_memory(c)
                : uk_fail(c, UK_IO, nowhere, "cannot read the linker's output: %s", strerror(errno));
    uk_tool_files_close(fd);
    uk_time(c->times, "shared", since);
    return s;
}
