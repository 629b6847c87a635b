/* SPDX-License-Identifier: Apache-2.0 */
/* Joins the generated code and the imported objects, by the linker, into one object in which only the
 * generated functions are visible. */
#define _GNU_SOURCE /* memfd_create */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "link.h"

static int memory_file(const char *bytes, size_t length) {
    int fd = memfd_create("object", MFD_CLOEXEC);

    if (fd < 0 || (uk_write_all(fd, bytes, length) && !lseek(fd, 0, SEEK_SET)))
        return fd;
    close(fd);
    return -1;
}

/* Runs the tool with `in` as its input; the caller closes its output *out. */
static enum uk_status run(struct uk_build *b, char *const argv[], int in, int *out) {
    struct uk_context *c = b->context;
    const struct uk_position nowhere = {0, 0};
    int messages = memory_file("", 0);
    enum uk_status s = UK_OK;

    *out = memory_file("", 0);
    if (messages < 0 || *out < 0) {
        s = uk_fail(c, UK_IO, nowhere, "cannot make a file in memory: %s", strerror(errno));
    } else {
        enum uk_tool_end end = uk_run_tool(argv, (int[]){in, *out, messages});
        size_t length;
        char *said = end == UK_TOOL_FAILED ? uk_read_all(messages, SIZE_MAX, &length) : NULL;

        if (end != UK_TOOL_DONE)
            s = uk_fail(c, end == UK_TOOL_NOT_STARTED ? UK_UNSUPPORTED : UK_LINK, nowhere,
                        "%s does not link the imported objects: %s", argv[0],
                        said && *said                ? said
                        : end == UK_TOOL_NOT_STARTED ? "it cannot be started; install it"
                        : end == UK_TOOL_TOO_LONG    ? "it takes too long"
                                                     : "it gives no reason");
        free(said);
    }
    if (messages >= 0)
        close(messages);
    return s;
}

/* Runs lld -r -o - MAIN OBJECT..., which links for every target. lld opens the files in memory through this
 * process's /proc entry. */
static enum uk_status join(struct uk_build *b, struct uk_arena *a, LLVMMemoryBufferRef object, int *joined) {
    size_t n = 0, opened = 0;

    for (const struct uk_object *o = b->objects; o; o = o->next)
        n++;
    char **argv = uk_alloc(a, (n + 8) * sizeof *argv);
    int *fd = uk_alloc(a, n * sizeof *fd),
        in = memory_file(LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    enum uk_status s = argv && fd ? UK_OK : uk_out_of_memory(b->context);
    char *const fixed[] = {UK_LLD, "-r", "-o", "-", "/dev/stdin"};

    *joined = -1;
    if (!s)
        memcpy(argv, fixed, sizeof fixed);
    for (const struct uk_object *o = b->objects; o && !s; o = o->next) {
        fd[opened] = memory_file(o->bytes, o->length);
        if (fd[opened] < 0)
            s = uk_fail(b->context, UK_IO, (struct uk_position){0, 0}, "cannot make a file in memory: %s",
                        strerror(errno));
        else if (!(argv[5 + opened] = uk_format(a, "/proc/%ld/fd/%d", (long)getpid(), fd[opened])))
            s = uk_out_of_memory(b->context);
        opened += fd[opened] >= 0;
    }
    if (!s)
        s = run(b, argv, in, joined);
    for (size_t i = 0; i < opened; i++)
        close(fd[i]);
    if (in >= 0)
        close(in);
    return s;
}

/* Runs objcopy --keep-global-symbol=FUNCTION... - - */
static enum uk_status hide(struct uk_build *b, struct uk_arena *a, int joined, int *hidden) {
    size_t n = 1;

    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        n++;
    char **argv = uk_alloc(a, (n + 3) * sizeof *argv);

    *hidden = -1;
    if (!argv)
        return uk_out_of_memory(b->context);
    n = 0;
    argv[n++] = UK_OBJCOPY;
    for (LLVMValueRef f = LLVMGetFirstFunction(b->module); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage &&
            !(argv[n++] = uk_format(a, "--keep-global-symbol=%s", LLVMGetValueName(f))))
            return uk_out_of_memory(b->context);
    argv[n++] = "-";
    argv[n] = "-";
    return run(b, argv, joined, hidden);
}

enum uk_status uk_objects_merge(struct uk_build *b, LLVMMemoryBufferRef *object) {
    struct uk_arena a = {0};
    int joined, hidden = -1;
    size_t length;
    char *bytes = NULL;
    enum uk_status s = join(b, &a, *object, &joined);

    if (!s && lseek(joined, 0, SEEK_SET))
        s = uk_fail(b->context, UK_IO, (struct uk_position){0, 0}, "cannot read what the linker made");
    if (!s)
        s = hide(b, &a, joined, &hidden);
    LLVMDisposeMemoryBuffer(*object);
    *object = NULL;
    if (!s && !(bytes = uk_read_all(hidden, SIZE_MAX, &length)))
        s = uk_fail(b->context, UK_IO, (struct uk_position){0, 0}, "cannot read what the linker made: %s",
                    strerror(errno));
    if (!s)
        *object = LLVMCreateMemoryBufferWithMemoryRangeCopy(bytes, length, "merged");
    free(bytes);
    if (joined >= 0)
        close(joined);
    if (hidden >= 0)
        close(hidden);
    uk_arena_free(&a);
    return s;
}
