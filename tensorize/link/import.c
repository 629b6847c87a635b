/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what `pragma import` names, a file or a text. C is compiled by the clang that the library was built
 * with.
 */
#define _GNU_SOURCE /* memfd_create, dladdr */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "link.h"

enum { MAX_OWN_ARGUMENTS = 40 }; /* clang arguments besides features */

/* A source for clang: its position and folder determine clang's messages and `#include "..."`. */
struct source {
    struct uk_position at;
    const char *const *language;
    const char *kind; /* prefix of the name in messages: "import ", or nothing */
    const char *name, *folder;
    const char *text;
    size_t length;
    bool is_made; /* may be generated for this compilation: messages show only the first error */
};

/* Arguments of clang per language: -x and its options. */
static const char *const for_c[] = {"c",
                                    "-std=gnu17",
                                    "-O2",
                                    "-emit-llvm",
                                    "-ffreestanding",
                                    "-fPIC",
                                    "-fno-ident",
                                    "-fno-math-errno",
                                    "-ffp-contract=fast",
                                    "-fno-stack-protector",
                                    "-fno-asynchronous-unwind-tables",
                                    NULL};
static const char *const for_assembly[] = {"assembler", NULL};
static const char *const for_preprocessed[] = {"assembler-with-cpp", NULL};
static const char *const for_bitcode[] = {"ir", "-O1", "-Wno-override-module", "-fno-crash-diagnostics",
                                          NULL};

static enum uk_status io_error(struct uk_context *c, const struct source *s, const char *what) {
    if (errno == ENOMEM)
        return uk_out_of_memory(c);
    return uk_fail(c, UK_IO, s->at, "%s%s: %s: %s", s->kind, s->name, what, strerror(errno));
}

static enum uk_status read_file(struct uk_context *c, const struct uk_import *i, const char *path,
                                char **bytes, size_t *length) {
    const struct source s = {.at = i->at, .kind = "import ", .name = path};
    /* Non-blocking: a pipe or device is refused after the open instead of being waited for. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0)
        return io_error(c, &s, "cannot open");
    *bytes = uk_read_all(fd, UK_MAX_IMPORT, length);
    int error = errno;
    close(fd);
    if (*bytes)
        return UK_OK;
    if (error == EFBIG)
        return uk_fail(c, UK_IO, i->at, "import %s: larger than 64 MiB; import only the kernels", path);
    if (error == EINVAL)
        return uk_fail(c, UK_IO, i->at, "import %s: not a regular file", path);
    errno = error;
    return io_error(c, &s, "cannot read");
}

/* ---- clang ---- */

/* Creates a file in memory with the source, after a line that gives its name. */
static int source_file(const struct source *s) {
    int fd = memfd_create("source", MFD_CLOEXEC);
    char line[4200];
    int n = snprintf(line, sizeof line, "# 1 \"%s\"\n", s->name);

    if (fd < 0)
        return fd;
    if (s->language == for_bitcode || n < 0 || (size_t)n >= sizeof line || strpbrk(s->name, "\"\\\n"))
        n = 0;
    if (!uk_write_all(fd, line, (size_t)n) || !uk_write_all(fd, s->text, s->length) ||
        lseek(fd, 0, SEEK_SET)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Adds the features of the target beyond its CPU, as cc1 options, since the driver's options differ by
 * architecture. If all of them can be CPU options they are, because a host's own list is longer than clang's
 * driver accepts. */
static bool add_features(struct uk_arena *a, const struct uk_target *t, char **list, int *n) {
    static const char *const before[] = {"-Xclang", "-target-feature", "-Xclang"};
    bool full = true;

    if (*t->arch->flag) {
        /* LLVM's CPU may have features that this one lacks: a virtual machine hides some. */
        for (const char *const *f = t->arch->features; *f; f++)
            if (!uk_target_has(t, *f))
                full &= (list[(*n)++] = uk_format(a, "%sno-%s", t->arch->flag, *f)) != NULL;
        for (const char *const *h = t->has; *h; h++)
            if (!uk_is_private(t->arch, *h, strlen(*h)))
                full &= (list[(*n)++] = uk_format(a, "%s%s", t->arch->flag, *h)) != NULL;
        return full;
    }
    for (const char *f = t->features; *f; f += strcspn(f, ","), f += *f == ',') {
        for (size_t i = 0; i < sizeof before / sizeof *before; i++)
            full &= (list[(*n)++] = uk_strdup(a, before[i])) != NULL;
        full &= (list[(*n)++] = uk_format(a, "%.*s", (int)strcspn(f, ","), f)) != NULL;
    }
    return full;
}

/* Defines gpu_kernel.h's names of address spaces, and adds the other options of C for GPUs. */
static bool add_device(struct uk_arena *a, const struct uk_arch *arch, char **list, int *n) {
    static const struct {
        const char *name;
        enum uk_space space;
    } spaces[] = {{"SHARED", UK_SPACE_SHARED}, {"REGISTER", UK_SPACE_PRIVATE}};
    bool full = true;

    for (size_t i = 0; i < sizeof spaces / sizeof *spaces && arch->is_device; i++)
        full &= (list[(*n)++] = uk_format(a, "-DUK_%s=__attribute__((address_space(%u)))", spaces[i].name,
                                          arch->spaces[spaces[i].space])) != NULL;
    for (const char *const *o = arch->c_options; o && *o; o++)
        full &= (list[(*n)++] = uk_strdup(a, *o)) != NULL;
    return full;
}

/* Finds the folder of <ukernels/...> relative to the library's own location. */
static char *headers(struct uk_arena *a) {
    Dl_info here;
    const char *slash;

    if (dladdr((const void *)(uintptr_t)uk_import_read, &here) && (slash = strrchr(here.dli_fname, '/'))) {
        const int n = (int)(slash - here.dli_fname);
        char *installed = uk_format(a, "%.*s/" UK_LIB_TO_INCLUDE "/ukernels/rvp.h", n, here.dli_fname);

        if (!installed)
            return NULL;
        if (!access(installed, R_OK))
            return uk_format(a, "%.*s/" UK_LIB_TO_INCLUDE, n, here.dli_fname);
    }
    return uk_strdup(a, UK_SOURCES);
}

/* Makes clang's argv for the target: its CPU, and each feature of the project's lists that it has. */
static char **arguments(struct uk_build *b, struct uk_arena *a, const struct source *s) {
    static const char *const first[] = {
        UK_CLANG, "-c", "-fno-color-diagnostics", "-Wno-unused-command-line-argument", "-o", "-", "-x"};
    size_t features = 1;
    int n = 0;

    for (const char *f = b->target->features; *f; f++)
        features += *f == ',';
    for (const char *const *h = b->target->has; *h; h++)
        features++;
    for (const char *const *f = b->target->arch->features; *f; f++)
        features++;
    char **list = uk_alloc(a, (MAX_OWN_ARGUMENTS + 4 * features) * sizeof *list);
    bool full = true;

    if (!list)
        return NULL;
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        full &= (list[n++] = uk_strdup(a, first[i])) != NULL;
    for (const char *const *o = s->language; *o; o++)
        full &= (list[n++] = uk_strdup(a, *o)) != NULL;
    full &= (list[n++] = uk_format(a, "--target=%s", b->target->arch->triple)) != NULL;
    full &= (list[n++] = uk_format(a, "%s%s", b->target->arch->cpu_option, b->target->cpu)) != NULL;
    full &= add_device(a, b->target->arch, list, &n);
    if (b->target->arch->abi)
        full &= (list[n++] = uk_format(a, "-mabi=%s", b->target->arch->abi)) != NULL;
    if (s->folder)
        full &= (list[n++] = uk_format(a, s->language == for_c ? "-iquote%s" : "-I%s", s->folder)) != NULL;
    full &= add_features(a, b->target, list, &n);
    full &= (list[n++] = uk_strdup(a, "-isystem")) != NULL;
    full &= (list[n++] = headers(a)) != NULL;
    full &= (list[n++] = uk_strdup(a, "-")) != NULL;
    return full ? list : NULL;
}

/* Reports LLVM's reason, the first line; the rest is a stack trace. */
static enum uk_status no_instruction(struct uk_build *b, const struct source *s, char *said) {
    static const char before[] = "error in backend: ";
    const char *reason = said ? strstr(said, before) : NULL;

    if (said)
        said[strcspn(said, "\n")] = 0;
    return uk_fail(
        b->context, UK_UNSUPPORTED, s->at,
        "%s: target %s lacks an instruction that it uses: %s; leave it out, or use a target that has it",
        s->name, b->target->name,
        reason ? reason + strlen(before)
        : said ? said
               : "no reason given");
}

/* The line of the first error; warnings precede it. */
static const char *first_error(char *said) {
    char *error = strstr(said, "error: ");

    if (!error)
        return said;
    error[strcspn(error, "\n")] = 0;
    while (error > said && error[-1] != '\n')
        error--;
    return error;
}

static enum uk_status does_not_compile(struct uk_build *b, const struct source *s, char *said) {
    const char *at, *statement;
    size_t length;
    char where[600];

    if (strcmp(b->target->arch->name, "riscv64") != 0 &&
        uk_is_insn_refusal(said, s->text, &at, &length, &statement)) {
        const bool named = !strncmp(at, s->name, strlen(s->name));

        snprintf(where, sizeof where, "%s%s%s%.*s", s->kind, named ? "" : s->name, named ? "" : ": ",
                 (int)length, at);
        return uk_refuse_insn(b, s->at, where, statement, strlen(statement));
    }
    return uk_fail(b->context, UK_LINK, s->at, "%s%s: does not compile: %s", s->kind, s->name,
                   said && *said ? s->is_made ? first_error(said) : said : "the compiler gave no reason");
}

static enum uk_status spawn(struct uk_build *b, const struct source *s, char **argv, const int fd[3]) {
    struct uk_context *c = b->context;
    enum uk_tool_end end = uk_run_tool(argv, fd);

    if (end == UK_TOOL_DONE)
        return UK_OK;
    if (end == UK_TOOL_NOT_STARTED)
        return uk_fail(c, UK_UNSUPPORTED, s->at,
                       "%s%s: cannot start the C compiler " UK_CLANG ": %s; install clang-" UK_LLVM "%s",
                       s->kind, s->name, strerror(errno), s->is_made ? "" : ", or import bitcode");
    if (end == UK_TOOL_TOO_LONG)
        return uk_fail(c, UK_LINK, s->at, "%s%s: the C compiler took more than %d seconds", s->kind, s->name,
                       UK_TOOL_SECONDS);
    size_t length;
    char *said = uk_read_all(fd[2], SIZE_MAX, &length);
    enum uk_status status;

    if (s->language == for_bitcode)
        status = no_instruction(b, s, said);
    else
        status = does_not_compile(b, s, said);
    free(said);
    return status;
}

static enum uk_status run_clang(struct uk_build *b, const struct source *s, char **bytes, size_t *length) {
    struct uk_arena a = {0};
    char **argv = arguments(b, &a, s);
    int fd[3] = {-1, -1, -1};
    enum uk_status status = argv ? UK_OK : uk_out_of_memory(b->context);

    if (!status) {
        fd[0] = source_file(s);
        fd[1] = memfd_create("bitcode", MFD_CLOEXEC);
        fd[2] = memfd_create("messages", MFD_CLOEXEC);
        if (fd[0] < 0 || fd[1] < 0 || fd[2] < 0)
            status = io_error(b->context, s, "cannot make a file in memory");
    }
    if (!status)
        status = spawn(b, s, argv, fd);
    if (!status && !(*bytes = uk_read_all(fd[1], SIZE_MAX, length)))
        status = io_error(b->context, s, "cannot read the compiler's output");
    for (int i = 0; i < 3; i++)
        if (fd[i] >= 0)
            close(fd[i]);
    uk_arena_free(&a);
    return status;
}

enum uk_status uk_import_try(struct uk_build *b, const char *name, struct uk_position at, const char *bitcode,
                             size_t length) {
    const struct source s = {.at = at,
                             .language = for_bitcode,
                             .kind = "import ",
                             .name = name,
                             .text = bitcode,
                             .length = length};
    char *object = NULL;
    enum uk_status status = run_clang(b, &s, &object, &length);

    free(object);
    return status;
}

/* ---- cache of compiled sources ---- */

/* True if a source may be cached: it includes only <...>. Its own include files may change while its text
 * does not. */
static bool may_keep(const struct source *s) {
    for (const char *p = s->text; (p = strstr(p, "include"));) {
        p += strlen("include");
        p += strspn(p, " \t_next");
        if (*p != '<')
            return false;
    }
    return s->language == for_c && !strstr(s->text, "#embed");
}

static char *duplicate(const char *bytes, size_t n) {
    char *d = malloc(n + 1);

    if (d) {
        memcpy(d, bytes, n);
        d[n] = 0;
    }
    return d;
}

static const struct uk_compiled *find_compiled(struct uk_build *b, const struct source *s) {
    for (const struct uk_compiled *k = b->context->backend->compiled; k; k = k->next)
        if (k->source_length == s->length && !memcmp(k->source, s->text, s->length) &&
            !strcmp(k->target, b->target->name))
            return k;
    return NULL;
}

/* Caches the bitcode; running out of memory is not an error. */
static void keep(struct uk_build *b, const struct source *s, const char *bytes, size_t length) {
    struct uk_compiled *k = calloc(1, sizeof *k);

    if (!k)
        return;
    k->source = duplicate(s->text, s->length);
    k->target = duplicate(b->target->name, strlen(b->target->name));
    k->bitcode = duplicate(bytes, length);
    if (!k->source || !k->target || !k->bitcode) {
        free(k->source);
        free(k->target);
        free(k->bitcode);
        free(k);
        return;
    }
    k->source_length = s->length;
    k->bitcode_length = length;
    k->next = b->context->backend->compiled;
    b->context->backend->compiled = k;
}

static enum uk_status compile_source(struct uk_build *b, const struct source *s, char **bytes,
                                     size_t *length) {
    const struct uk_compiled *known = may_keep(s) ? find_compiled(b, s) : NULL;

    if (known) {
        *bytes = duplicate(known->bitcode, known->bitcode_length);
        *length = known->bitcode_length;
        return *bytes ? UK_OK : uk_out_of_memory(b->context);
    }
    enum uk_status status = run_clang(b, s, bytes, length);

    if (!status && may_keep(s))
        keep(b, s, *bytes, *length);
    return status;
}

/* ---- imports ---- */

static bool ends_in(const char *s, const char *end) {
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

/* Resolves a path relative to the folder of the text that names it. */
static char *resolve(struct uk_arena *a, const char *program, const char *path) {
    const char *slash = program && *path != '/' ? strrchr(program, '/') : NULL;

    return slash ? uk_format(a, "%.*s/%s", (int)(slash - program), program, path) : uk_strdup(a, path);
}

static char *path_of(struct uk_arena *a, const struct uk_program *p, const struct uk_import *i) {
    return resolve(a, i->at.column < 0 && p->schedule_file ? p->schedule_file : p->file, i->text);
}

/* NULL: clang does not compile it. */
static const char *const *language_of(const char *path) {
    return ends_in(path, ".c")   ? for_c
           : ends_in(path, ".s") ? for_assembly
           : ends_in(path, ".S") ? for_preprocessed
                                 : NULL;
}

static enum uk_status open_import(const struct uk_program *p, struct uk_import *i) {
    const char *path = i->text;
    struct uk_arena a = {0};
    enum uk_status status;

    if (i->kind != UK_IMPORT_FILE || i->bytes)
        return UK_OK;
    if (!language_of(path) && !ends_in(path, ".bc") && !ends_in(path, ".ll") && !ends_in(path, ".o"))
        return uk_fail(p->context, UK_UNSUPPORTED, i->at,
                       "import \"%s\": unknown file type; use .c, .ll or .bc, or .s, .S or .o, which are "
                       "called and not inlined",
                       path);
    path = path_of(&a, p, i);
    status = path ? read_file(p->context, i, path, &i->bytes, &i->length) : uk_out_of_memory(p->context);
    uk_arena_free(&a);
    return status;
}

enum uk_status uk_imports_open(const struct uk_program *p) {
    enum uk_status s = UK_OK;

    for (struct uk_import *i = p->imports; i && !s; i = i->next)
        s = open_import(p, i);
    for (struct uk_step *t = p->steps; t && !s; t = t->next)
        if (t->kind == UK_STEP_IMPORT)
            s = open_import(p, t->import);
    return s;
}

static void close_import(struct uk_import *i) {
    free(i->bytes);
    i->bytes = NULL;
}

void uk_imports_close(const struct uk_program *p) {
    for (struct uk_import *i = p->imports; i; i = i->next)
        close_import(i);
    for (struct uk_step *t = p->steps; t; t = t->next)
        if (t->kind == UK_STEP_IMPORT)
            close_import(t->import);
}

static enum uk_status compile_file(struct uk_build *b, const struct uk_import *i, char **bytes,
                                   size_t *length) {
    struct uk_arena a = {0};
    char *path = path_of(&a, b->function->program, i), *folder = path ? uk_strdup(&a, path) : NULL;
    enum uk_status status;

    if (b->target->arch->kernel.is_text && language_of(i->text) != for_c) {
        status = uk_fail(b->context, UK_UNSUPPORTED, i->at,
                         "import \"%s\": target %s does not take assembly; import C, LLVM IR or bitcode",
                         i->text, b->target->name);
    } else if (folder) {
        char *slash = strrchr(folder, '/');

        if (slash)
            *slash = 0;
        const struct source s = {.at = i->at,
                                 .language = language_of(path),
                                 .kind = "import ",
                                 .name = path,
                                 .folder = slash ? folder : ".",
                                 .text = i->bytes,
                                 .length = i->length};

        status = compile_source(b, &s, bytes, length);
    } else {
        status = uk_out_of_memory(b->context);
    }
    uk_arena_free(&a);
    return status;
}

enum uk_status uk_import_read(struct uk_build *b, struct uk_import *i, char **bytes, size_t *length) {
    enum uk_status status = open_import(b->function->program, i);

    *bytes = NULL;
    if (status)
        return status;
    if (i->kind == UK_IMPORT_FILE && language_of(i->text))
        return compile_file(b, i, bytes, length);
    if (i->kind == UK_IMPORT_FILE) {
        *bytes = duplicate(i->bytes, i->length);
        *length = i->length;
        return *bytes ? UK_OK : uk_out_of_memory(b->context);
    }
    const struct source s = {.at = i->at,
                             .language = for_c,
                             .kind = "import ",
                             .name = "text",
                             .text = i->text,
                             .length = strlen(i->text)};
    if (i->kind != UK_IMPORT_LL_TEXT)
        return compile_source(b, &s, bytes, length);
    *bytes = duplicate(s.text, s.length);
    *length = s.length;
    return *bytes ? UK_OK : uk_out_of_memory(b->context);
}

enum uk_status uk_source_compile(struct uk_build *b, const char *name, const struct uk_text *text,
                                 char **bytes, size_t *length) {
    const struct source s = {.language = for_c,
                             .kind = "",
                             .name = name,
                             .text = text->text,
                             .length = text->length,
                             .is_made = true};

    *bytes = NULL;
    return compile_source(b, &s, bytes, length);
}
