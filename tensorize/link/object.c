/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports that are machine code already: called, not inlined. Their definitions and references are read from
 * the object's symbols. Not checked are prototypes, which objects do not contain, and instructions other than
 * RISC-V P's.
 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
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

bool uk_object_variable(const char *bytes, size_t length, const char *name, uint64_t *at) {
    struct elf e;

    if (!open_object(&e, bytes, length))
        return false;
    for (size_t i = 0; i < e.symbols; i++) {
        const struct symbol s = symbol(&e, i);

        if (s.type != STT_OBJECT || s.bind != STB_LOCAL || strcmp(s.name, name) != 0)
            continue;
        *at = s.value;
        return true;
    }
    return false;
}

/* Returns the number of the section of that name without bytes in the object; `sections`: no section has it.
 */
static size_t section_without_bytes(const struct elf *e, const char *name) {
    const struct section names =
        e->section_names < e->sections ? section(e, e->section_names) : (struct section){0};
    size_t i = 0;

    for (; i < e->sections; i++) {
        const struct section s = section(e, i);
        if (s.type == SHT_NOBITS && has(e, names.at, names.size, 1) && s.name + strlen(name) < names.size &&
            !memcmp(e->bytes + names.at + s.name, name, strlen(name) + 1))
            break;
    }
    return i;
}

uint64_t uk_object_section(const char *bytes, size_t length, const char *name) {
    struct elf e;

    if (!open_object(&e, bytes, length))
        return 0;
    const size_t i = section_without_bytes(&e, name);

    return i < e.sections ? section(&e, i).size : 0;
}

/* Sets the fields of a section's header that both address sizes have under the same names. */
#define PLACE_SECTION(h, prefix, at)                            \
    do {                                                        \
        (h)->sh_name += (prefix);                               \
        (h)->sh_type = SHT_PROGBITS;                            \
        (h)->sh_flags &= ~(__typeof__((h)->sh_flags))SHF_WRITE; \
        (h)->sh_offset = (__typeof__((h)->sh_offset))(at);      \
    } while (0)

void uk_object_place_section(char *bytes, size_t length, const char *name, unsigned prefix, uint64_t at) {
    struct elf e;

    if (!open_object(&e, bytes, length))
        return;
    const size_t i = section_without_bytes(&e, name);
    void *headers = bytes + e.headers;

    if (i == e.sections)
        return;
    if (e.wide)
        PLACE_SECTION((Elf64_Shdr *)headers + i, prefix, at);
    else
        PLACE_SECTION((Elf32_Shdr *)headers + i, prefix, at);
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
