/*
 * Imports that are machine code already: they are called, not inlined. What they define and need is read from the
 * object's symbols; prototypes and instructions are not in it, and are believed.
 *
 * The linker makes one object of the generated code and these, in which only the generated functions are visible.
 */
#define _GNU_SOURCE /* memfd_create */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "link.h"

/* The parts of an ELF object that matter here, all inside its bytes. */
struct elf {
    const char *bytes;
    size_t length;
    const Elf64_Shdr *section;
    size_t sections;
    const Elf64_Sym *symbol;
    size_t symbols;
    const char *names; /* of the symbols, ended by a NUL */
    size_t names_length;
};

bool uk_is_object(const char *bytes, size_t length) {
    return length >= SELFMAG && !memcmp(bytes, ELFMAG, SELFMAG);
}

/* [at, at + n) lies in the bytes, and at where an element of `align` bytes may. */
static bool has(const struct elf *e, uint64_t at, uint64_t n, uint64_t align) {
    return at <= e->length && n <= e->length - at && at % align == 0;
}

static bool find_symbols(struct elf *e) {
    for (size_t i = 0; i < e->sections; i++) {
        const Elf64_Shdr *s = &e->section[i], *names;

        if (s->sh_type != SHT_SYMTAB)
            continue;
        if (s->sh_link >= e->sections || !has(e, s->sh_offset, s->sh_size, 8))
            return false;
        names = &e->section[s->sh_link];
        if (!has(e, names->sh_offset, names->sh_size, 1) || !names->sh_size ||
            e->bytes[names->sh_offset + names->sh_size - 1])
            return false;
        e->symbol = (const Elf64_Sym *)(const void *)(e->bytes + s->sh_offset);
        e->symbols = s->sh_size / sizeof *e->symbol;
        e->names = e->bytes + names->sh_offset;
        e->names_length = names->sh_size;
        for (size_t k = 0; k < e->symbols; k++)
            if (e->symbol[k].st_name >= e->names_length)
                return false;
        return true;
    }
    return true;
}

/* The bytes are aligned as malloc does. */
static bool open_object(struct elf *e, const char *bytes, size_t length) {
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)bytes;

    *e = (struct elf){.bytes = bytes, .length = length};
    if (length < sizeof *h || h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
        h->e_type != ET_REL || h->e_shentsize != sizeof(Elf64_Shdr) ||
        !has(e, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr), 8))
        return false;
    e->section = (const Elf64_Shdr *)(const void *)(bytes + h->e_shoff);
    e->sections = h->e_shnum;
    return find_symbols(e);
}

/* A function that other objects can call. */
static bool is_function(const struct elf *e, const Elf64_Sym *s) {
    unsigned type = ELF64_ST_TYPE(s->st_info);

    return ELF64_ST_BIND(s->st_info) != STB_LOCAL && s->st_shndx != SHN_UNDEF && s->st_shndx < e->sections &&
           (type == STT_FUNC || type == STT_NOTYPE) && e->section[s->st_shndx].sh_flags & SHF_EXECINSTR;
}

bool uk_object_defines(const char *bytes, size_t length, const char *symbol) {
    struct elf e;

    if (!open_object(&e, bytes, length))
        return false;
    for (size_t i = 0; i < e.symbols; i++)
        if (!strcmp(e.names + e.symbol[i].st_name, symbol) && is_function(&e, &e.symbol[i]))
            return true;
    return false;
}

enum uk_status uk_object_parse(struct uk_build *b, const struct uk_source *s) {
    const unsigned machine = !strcmp(b->target->arch, "x86_64") ? EM_X86_64 : EM_NONE;
    struct elf e;

    if (!open_object(&e, s->bytes, s->length))
        return uk_fail(
            b->context, UK_LINK, s->at,
            "%s: not a whole relocatable ELF object of 64 bits; make one with `cc -c`, not a program or "
            "a library",
            s->name);
    if (((const Elf64_Ehdr *)(const void *)s->bytes)->e_machine != machine)
        return uk_fail(b->context, UK_LINK, s->at, "%s: not an object for %s; compile it for the target",
                       s->name, b->target->arch);
    return UK_OK;
}

/* ---- gates ---- */

static enum uk_status gate_section(struct uk_build *b, const struct uk_source *s, const struct elf *e,
                                   const Elf64_Shdr *section) {
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)(const void *)e->bytes;
    const Elf64_Shdr *names = h->e_shstrndx < e->sections ? &e->section[h->e_shstrndx] : NULL;
    const char *name = "?";

    if (names && has(e, names->sh_offset, names->sh_size, 1) && section->sh_name < names->sh_size &&
        memchr(e->bytes + names->sh_offset + section->sh_name, 0, names->sh_size - section->sh_name))
        name = e->bytes + names->sh_offset + section->sh_name;
    if (!(section->sh_flags & SHF_ALLOC) || !(section->sh_flags & (SHF_WRITE | SHF_TLS)) ||
        !section->sh_size || !strncmp(name, ".data.rel.ro", 12))
        return UK_OK;
    return uk_fail(b->context, UK_LINK, s->at,
                   "%s: has variables, in its section %s; kernels may only have constant tables", s->name,
                   name);
}

static enum uk_status gate_symbol(struct uk_build *b, const struct uk_source *s, const struct elf *e,
                                  const Elf64_Sym *symbol) {
    static const char *const from_libc[] = {"memcpy", "memmove", "memset", "_GLOBAL_OFFSET_TABLE_"};
    const char *name = e->names + symbol->st_name;
    bool undefined = symbol->st_shndx == SHN_UNDEF && *name;
    LLVMValueRef own = LLVMGetNamedFunction(b->module, name);

    for (size_t i = 0; i < sizeof from_libc / sizeof *from_libc; i++)
        undefined &= strcmp(name, from_libc[i]) != 0;
    if (undefined)
        return uk_fail(
            b->context, UK_LINK, s->at,
            "%s: needs %s, which is not in it; a kernel may not call libraries: link what it needs into one "
            "object with `ld -r`",
            s->name, name);
    if (symbol->st_shndx == SHN_COMMON)
        return uk_fail(b->context, UK_LINK, s->at,
                       "%s: has the variable %s; kernels may only have constant tables", s->name, name);
    if (ELF64_ST_BIND(symbol->st_info) == STB_LOCAL || symbol->st_shndx == SHN_UNDEF)
        return UK_OK;
    if ((own && !LLVMIsDeclaration(own)) || uk_is_runtime_symbol(name))
        return uk_fail(
            b->context, UK_LINK, s->at,
            "%s: defines %s, a name that the generated code has or calls; rename it, or make it local",
            s->name, name);
    return UK_OK;
}

enum uk_status uk_object_gate(struct uk_build *b, const struct uk_source *s) {
    enum uk_status status = UK_OK;
    struct elf e;

    if (!open_object(&e, s->bytes, s->length))
        return uk_object_parse(b, s);
    for (size_t i = 0; i < e.sections && !status; i++)
        status = gate_section(b, s, &e, &e.section[i]);
    for (size_t i = 0; i < e.symbols && !status; i++)
        status = gate_symbol(b, s, &e, &e.symbol[i]);
    return status;
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
            at = &o->next; /* freed with the build */
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

/* ---- one object of all ---- */

static int memory_file(const char *bytes, size_t length) {
    int fd = memfd_create("object", MFD_CLOEXEC);

    if (fd < 0 || (uk_write_all(fd, bytes, length) && !lseek(fd, 0, SEEK_SET)))
        return fd;
    close(fd);
    return -1;
}

/* Runs the tool with `in` as its input; its output in *out, which is closed by the caller. */
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
        char *said = end == UK_TOOL_FAILED ? uk_read_all(messages, &length) : NULL;

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

/* ld -r -o OUT MAIN OBJECT...; the tool opens our files through this process. */
static enum uk_status join(struct uk_build *b, struct uk_arena *a, LLVMMemoryBufferRef object, int *joined) {
    size_t n = 0, opened = 0;

    for (const struct uk_object *o = b->objects; o; o = o->next)
        n++;
    char **argv = uk_alloc(a, (n + 8) * sizeof *argv);
    int *fd = uk_alloc(a, n * sizeof *fd),
        in = memory_file(LLVMGetBufferStart(object), LLVMGetBufferSize(object));
    enum uk_status s = argv && fd ? UK_OK : uk_out_of_memory(b->context);
    char *const fixed[] = {UK_LD, "-r", "-o", "/proc/self/fd/1", "/proc/self/fd/0"};

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

/* objcopy --keep-global-symbol=FUNCTION... - - */
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
    if (!s && !(bytes = uk_read_all(hidden, &length)))
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
