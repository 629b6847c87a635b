/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports that are machine code already: called, not inlined. Their definitions and references are read from
 * the object's symbols. Not checked are prototypes, which objects do not contain, and instructions other than
 * RISC-V P's.
 *
 * The linker joins the generated code and these objects into one, in which only the generated functions are
 * visible.
 */
#define _GNU_SOURCE /* memfd_create */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "link.h"

/* The relevant parts of an ELF object, all verified to be inside its bytes, which are aligned as by
 * malloc. */
struct elf {
    const char *bytes;
    size_t length;
    bool wide; /* 64-bit, not 32-bit */
    unsigned machine;
    uint64_t headers; /* offset of the section headers */
    size_t sections, section_names;
    uint64_t table; /* offset of the symbol table */
    size_t symbols;
    const char *names; /* the symbols' names, NUL-terminated */
    size_t names_length;
};

/* The fields in use, for both address sizes; their values mean the same in both. */
struct section {
    uint64_t flags, at, size;
    uint32_t name, type, link;
};
struct symbol {
    const char *name;
    unsigned section, type, bind;
    uint64_t value;
};

bool uk_is_object(const char *bytes, size_t length) {
    return length >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG);
}

/* True if [at, at + n) is inside the bytes and `at` is a multiple of `align`. */
static bool has(const struct elf *e, uint64_t at, uint64_t n, uint64_t align) {
    return at <= e->length && n <= e->length - at && at % align == 0;
}

static struct section section(const struct elf *e, size_t i) {
    const void *at = e->bytes + e->headers;

    if (e->wide) {
        const Elf64_Shdr *s = (const Elf64_Shdr *)at + i;

        return (struct section){s->sh_flags, s->sh_offset, s->sh_size, s->sh_name, s->sh_type, s->sh_link};
    }
    const Elf32_Shdr *s = (const Elf32_Shdr *)at + i;

    return (struct section){s->sh_flags, s->sh_offset, s->sh_size, s->sh_name, s->sh_type, s->sh_link};
}

static size_t symbol_bytes(const struct elf *e) {
    return e->wide ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

/* The name's offset, which may be outside the table until find_symbols has checked all symbols. */
static uint32_t symbol_name(const struct elf *e, size_t i) {
    const void *at = e->bytes + e->table;

    return e->wide ? ((const Elf64_Sym *)at + i)->st_name : ((const Elf32_Sym *)at + i)->st_name;
}

static struct symbol symbol(const struct elf *e, size_t i) {
    const void *at = e->bytes + e->table;
    const char *name = e->names + symbol_name(e, i);

    if (e->wide) {
        const Elf64_Sym *s = (const Elf64_Sym *)at + i;

        return (struct symbol){name, s->st_shndx, ELF64_ST_TYPE(s->st_info), ELF64_ST_BIND(s->st_info),
                               s->st_value};
    }
    const Elf32_Sym *s = (const Elf32_Sym *)at + i;

    return (struct symbol){name, s->st_shndx, ELF32_ST_TYPE(s->st_info), ELF32_ST_BIND(s->st_info),
                           s->st_value};
}

static bool find_symbols(struct elf *e) {
    for (size_t i = 0; i < e->sections; i++) {
        const struct section s = section(e, i);

        if (s.type != SHT_SYMTAB)
            continue;
        if (s.link >= e->sections || !has(e, s.at, s.size, e->wide ? 8 : 4))
            return false;
        const struct section names = section(e, s.link);
        if (!has(e, names.at, names.size, 1) || !names.size || e->bytes[names.at + names.size - 1])
            return false;
        e->table = s.at;
        e->symbols = s.size / symbol_bytes(e);
        e->names = e->bytes + names.at;
        e->names_length = names.size;
        for (size_t k = 0; k < e->symbols; k++)
            if (symbol_name(e, k) >= e->names_length)
                return false;
        return true;
    }
    return true;
}

/* Copies the header fields that both sizes have under the same names. */
#define READ_HEADER(e, h)                     \
    do {                                      \
        (e)->machine = (h)->e_machine;        \
        (e)->headers = (h)->e_shoff;          \
        (e)->sections = (h)->e_shnum;         \
        (e)->section_names = (h)->e_shstrndx; \
        type = (h)->e_type;                   \
        entry = (h)->e_shentsize;             \
    } while (0)

static bool open_object(struct elf *e, const char *bytes, size_t length) {
    size_t entry, type;

    *e = (struct elf){.bytes = bytes, .length = length};
    if (length < EI_NIDENT || bytes[EI_DATA] != ELFDATA2LSB ||
        (bytes[EI_CLASS] != ELFCLASS64 && bytes[EI_CLASS] != ELFCLASS32))
        return false;
    e->wide = bytes[EI_CLASS] == ELFCLASS64;
    if (length < (e->wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr)))
        return false;
    if (e->wide)
        READ_HEADER(e, (const Elf64_Ehdr *)(const void *)bytes);
    else
        READ_HEADER(e, (const Elf32_Ehdr *)(const void *)bytes);
    if (type != ET_REL || entry != (e->wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr)) ||
        !has(e, e->headers, (uint64_t)e->sections * entry, e->wide ? 8 : 4))
        return false;
    return find_symbols(e);
}

/* True if the symbol is a function that other objects can call. */
static bool is_function(const struct elf *e, const struct symbol *s) {
    return s->bind != STB_LOCAL && s->section != SHN_UNDEF && s->section < e->sections &&
           (s->type == STT_FUNC || s->type == STT_NOTYPE) && section(e, s->section).flags & SHF_EXECINSTR;
}

bool uk_object_defines(const char *bytes, size_t length, const char *name) {
    struct elf e;

    if (!open_object(&e, bytes, length))
        return false;
    for (size_t i = 0; i < e.symbols; i++) {
        const struct symbol s = symbol(&e, i);

        if (!strcmp(s.name, name) && is_function(&e, &s))
            return true;
    }
    return false;
}

enum uk_status uk_object_parse(struct uk_build *b, const struct uk_source *s) {
    const struct uk_arch *arch = b->target->arch;
    struct elf e;

    if (!open_object(&e, s->bytes, s->length))
        return uk_fail(
            b->context, UK_LINK, s->at,
            "%s: not a whole relocatable ELF object; make one with `cc -c`, not a program or a library",
            s->name);
    if (e.machine != (unsigned)arch->elf_machine || e.wide != (arch->bits == 64))
        return uk_fail(b->context, UK_LINK, s->at, "%s: not an object for %s; compile it for the target",
                       s->name, arch->name);
    return UK_OK;
}

char *uk_object_variable(char *bytes, size_t length, const char *name, size_t size) {
    struct elf e;

    if (!open_object(&e, bytes, length))
        return NULL;
    for (size_t i = 0; i < e.symbols; i++) {
        const struct symbol s = symbol(&e, i);

        if (s.type != STT_OBJECT || s.bind != STB_LOCAL || s.section >= e.sections ||
            strcmp(s.name, name) != 0)
            continue;
        const struct section in = section(&e, s.section);
        const bool is_whole = in.type == SHT_PROGBITS && s.value <= in.size && size <= in.size - s.value &&
                              has(&e, in.at, in.size, 1);

        return is_whole ? bytes + in.at + s.value : NULL;
    }
    return NULL;
}

/* ---- gates ---- */

static enum uk_status gate_section(struct uk_build *b, const struct uk_source *s, const struct elf *e,
                                   const struct section *part) {
    struct section names = {0};
    const char *name = "?";

    if (e->section_names < e->sections)
        names = section(e, e->section_names);
    if (has(e, names.at, names.size, 1) && part->name < names.size &&
        memchr(e->bytes + names.at + part->name, 0, names.size - part->name))
        name = e->bytes + names.at + part->name;
    if (!(part->flags & SHF_ALLOC) || !(part->flags & (SHF_WRITE | SHF_TLS)) || !part->size ||
        !strncmp(name, ".data.rel.ro", 12))
        return UK_OK;
    return uk_fail(b->context, UK_LINK, s->at,
                   "%s: has variables, in its section %s; kernels may only have constant tables", s->name,
                   name);
}

static enum uk_status gate_symbol(struct uk_build *b, const struct uk_source *s,
                                  const struct symbol *symbol) {
    static const char *const from_libc[] = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_"};
    const char *name = symbol->name;
    bool undefined = symbol->section == SHN_UNDEF && *name;
    LLVMValueRef own = LLVMGetNamedFunction(b->module, name);

    for (size_t i = 0; i < sizeof from_libc / sizeof *from_libc; i++)
        undefined &= strcmp(name, from_libc[i]) != 0;
    if (undefined)
        return uk_fail(
            b->context, UK_LINK, s->at,
            "%s: needs %s, which is not in it; a kernel may not call libraries: link what it needs into one "
            "object with `ld -r`",
            s->name, name);
    if (symbol->section == SHN_COMMON)
        return uk_fail(b->context, UK_LINK, s->at,
                       "%s: has the variable %s; kernels may only have constant tables", s->name, name);
    if (symbol->bind == STB_LOCAL || symbol->section == SHN_UNDEF)
        return UK_OK;
    if ((own && !LLVMIsDeclaration(own)) || uk_is_runtime_symbol(name))
        return uk_fail(
            b->context, UK_LINK, s->at,
            "%s: defines %s, a name that the generated code has or calls; rename it, or make it local",
            s->name, name);
    return UK_OK;
}

/* The named function that begins last at or before that offset of a section; NULL if there is none. */
static const char *function_at(const struct elf *e, size_t part, uint64_t at) {
    struct symbol best = {.name = NULL};

    for (size_t i = 0; i < e->symbols; i++) {
        const struct symbol s = symbol(e, i);

        if (s.section == part && s.type == STT_FUNC && s.value <= at && (!best.name || s.value >= best.value))
            best = s;
    }
    return best.name;
}

enum uk_status uk_object_validate_words(struct uk_build *b, const struct uk_source *s, const char *bytes,
                                        size_t length) {
    char text[UK_WORD_TEXT];
    size_t at;
    struct elf e;

    if (!open_object(&e, bytes, length))
        return uk_object_parse(b, s);
    for (size_t i = 0; i < e.sections; i++) {
        const struct section part = section(&e, i);

        if (!(part.flags & SHF_EXECINSTR) || part.type == SHT_NOBITS || !has(&e, part.at, part.size, 1) ||
            !uk_find_word(e.bytes + part.at, part.size, &at, text))
            continue;

        const char *function = function_at(&e, i, at);

        return uk_fail(b->context, UK_UNSUPPORTED, s->at,
                       "%s: %s has an instruction of RISC-V P, %s, but target %s has no rvp; compile the "
                       "kernel without it, or use a target with +rvp",
                       s->name, function ? function : "its code", text, b->target->name);
    }
    return UK_OK;
}

enum uk_status uk_object_validate(struct uk_build *b, const struct uk_source *s) {
    enum uk_status status = UK_OK;
    struct elf e;

    if (!open_object(&e, s->bytes, s->length))
        return uk_object_parse(b, s);
    for (size_t i = 0; i < e.sections && !status; i++) {
        const struct section part = section(&e, i);

        status = gate_section(b, s, &e, &part);
    }
    for (size_t i = 0; i < e.symbols && !status; i++) {
        const struct symbol one = symbol(&e, i);

        status = gate_symbol(b, s, &one);
    }
    return status ? status : uk_validate_words(b, s);
}

enum uk_status uk_object_use(struct uk_build *b, const struct uk_source *s) {
    struct uk_object *o = calloc(1, sizeof *o);

    if (!o || !(o->bytes = malloc(s->length))) {
        free(o);
        return uk_out_of_memory(b->context);
    }
    memcpy(o->bytes, s->bytes, s->length);
    o->length = s->length;
    o->next = b->objects;
    b->objects = o;
    return UK_OK;
}

static bool has_object(const struct uk_build *b, const struct uk_object *o) {
    for (const struct uk_object *p = b->objects; p; p = p->next)
        if (p->length == o->length && !memcmp(p->bytes, o->bytes, o->length))
            return true;
    return false;
}

void uk_objects_move(struct uk_build *to, struct uk_build *from) {
    for (struct uk_object **at = &from->objects, *o; (o = *at);) {
        if (has_object(to, o)) {
            at = &o->next; /* stays, to be freed with its build */
            continue;
        }
        *at = o->next;
        o->next = to->objects;
        to->objects = o;
    }
}

void uk_objects_free(struct uk_build *b) {
    while (b->objects) {
        struct uk_object *next = b->objects->next;

        free(b->objects->bytes);
        free(b->objects);
        b->objects = next;
    }
}

bool uk_objects_define(const struct uk_build *b, const char *symbol) {
    for (const struct uk_object *o = b->objects; o; o = o->next)
        if (uk_object_defines(o->bytes, o->length, symbol))
            return true;
    return false;
}

/* ---- joining all objects ---- */

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
