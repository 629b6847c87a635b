/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "decode.h"
#include "illegal.h"

/* A line of /proc/self/maps: "from-to rwxp offset device inode   path". */
static bool uk_rvp_read_mapping(const char *line, struct uk_rvp_mapping *mapping) {
    char *end;

    mapping->from = strtoull(line, &end, 16);
    mapping->to = *end ? strtoull(end + 1, &end, 16) : 0;
    if (strlen(end) < strlen(" r-xp "))
        return false;
    mapping->protection =
        (end[1] == 'r' ? PROT_READ : 0) | (end[2] == 'w' ? PROT_WRITE : 0) | (end[3] == 'x' ? PROT_EXEC : 0);
    mapping->offset = strtoull(end + strlen(" r-xp "), NULL, 16);
    mapping->path = strchr(end, '/');
    return true;
}

void uk_rvp_find_mapping(bool (*is_it)(const struct uk_rvp_mapping *mapping, void *data), void *data) {
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char line[512], read_ahead[256];
    struct uk_rvp_mapping mapping;
    size_t length = 0;
    ssize_t n;
    bool found = false;

    if (maps < 0)
        return;
    while (!found && (n = read(maps, read_ahead, sizeof read_ahead)) > 0)
        for (ssize_t i = 0; i < n && !found; i++) {
            if (read_ahead[i] != '\n') {
                if (length < sizeof line - 1)
                    line[length++] = read_ahead[i];
            } else {
                line[length] = 0;
                length = 0;
                found = uk_rvp_read_mapping(line, &mapping) && is_it(&mapping, data);
            }
        }
    close(maps);
}

/* The file that is mapped at an address, and the address's offset in it. */
struct uk_rvp_place {
    char path[512];
    uint64_t pc, offset;
};

static bool uk_rvp_is_place(const struct uk_rvp_mapping *mapping, void *data) {
    struct uk_rvp_place *place = data;

    if (place->pc < mapping->from || place->pc >= mapping->to)
        return false;
    if (mapping->path)
        snprintf(place->path, sizeof place->path, "%s", mapping->path);
    place->offset = place->pc - mapping->from + mapping->offset;
    return true;
}

/* True if `count` items of `size` bytes lie at offset in a file of `bytes` bytes. */
static bool uk_rvp_inside(uint64_t bytes, uint64_t offset, uint64_t count, uint64_t size) {
    return offset <= bytes && (!count || size <= (bytes - offset) / count);
}

/* Finds the function of a symbol table that contains the address: its name, and the offset in it. */
static bool uk_rvp_search(const unsigned char *file, uint64_t bytes, const Elf64_Shdr *table,
                          const Elf64_Shdr *strings, uint64_t address, char name[128], uint64_t *from_start) {
    const Elf64_Sym *symbols = (const void *)(file + table->sh_offset);

    if (!uk_rvp_inside(bytes, table->sh_offset, table->sh_size, 1) ||
        !uk_rvp_inside(bytes, strings->sh_offset, strings->sh_size, 1))
        return false;
    for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++)
        if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC &&
            address - symbols[i].st_value < symbols[i].st_size && symbols[i].st_name < strings->sh_size) {
            snprintf(name, 128, "%.*s", (int)(strings->sh_size - symbols[i].st_name),
                     (const char *)file + strings->sh_offset + symbols[i].st_name);
            *from_start = address - symbols[i].st_value;
            return true;
        }
    return false;
}

static bool uk_rvp_find_in(const unsigned char *file, uint64_t bytes, uint64_t offset, char name[128],
                           uint64_t *from_start) {
    const Elf64_Ehdr *header = (const void *)file;
    uint64_t address = 0;
    bool loaded = false;

    if (bytes < sizeof *header || memcmp(file, ELFMAG, SELFMAG) ||
        !uk_rvp_inside(bytes, header->e_phoff, header->e_phnum, sizeof(Elf64_Phdr)) ||
        !uk_rvp_inside(bytes, header->e_shoff, header->e_shnum, sizeof(Elf64_Shdr)))
        return false;

    const Elf64_Phdr *segments = (const void *)(file + header->e_phoff);
    const Elf64_Shdr *sections = (const void *)(file + header->e_shoff);

    for (size_t i = 0; i < header->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && offset - segments[i].p_offset < segments[i].p_filesz) {
            address = offset - segments[i].p_offset + segments[i].p_vaddr;
            loaded = true;
        }
    for (size_t i = 0; loaded && i < header->e_shnum; i++)
        if ((sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM) &&
            sections[i].sh_link < header->e_shnum &&
            uk_rvp_search(file, bytes, &sections[i], &sections[sections[i].sh_link], address, name,
                          from_start))
            return true;
    return false;
}

static bool uk_rvp_find_function(const struct uk_rvp_place *place, char name[128], uint64_t *from_start) {
    const int in = open(place->path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    bool found = false;

    if (in >= 0 && !fstat(in, &status)) {
        const uint64_t bytes = (uint64_t)status.st_size;
        void *file = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, in, 0);

        if (file != MAP_FAILED) {
            found = uk_rvp_find_in(file, bytes, place->offset, name, from_start);
            munmap(file, bytes);
        }
    }
    if (in >= 0)
        close(in);
    return found;
}

void uk_rvp_print_illegal(uint64_t pc, uint32_t word) {
    /* static because the stack may be small */
    static struct uk_rvp_place place;
    static char text[1024], name[128], where[160];
    uint64_t from_start;
    const bool p = uk_rvp_is_opcode(word);

    place = (struct uk_rvp_place){.pc = pc};
    strcpy(where, "in no known function");
    uk_rvp_find_mapping(uk_rvp_is_place, &place);
    if (*place.path) {
        if (uk_rvp_find_function(&place, name, &from_start))
            snprintf(where, sizeof where, "%s+0x%llx", name, (unsigned long long)from_start);
        else
            snprintf(where, sizeof where, "in %.140s", place.path);
    }

    const int length =
        snprintf(text, sizeof text, "simulate/rvp: at 0x%llx (%s): the word 0x%0*x is %s\n",
                 (unsigned long long)pc, where, (word & 3) == 3 ? 8 : 4, (unsigned)word,
                 p ? "no instruction of P 0.9.11 in ukernels/registry/rvp.def" : "an illegal instruction");
    const ssize_t written = write(STDERR_FILENO, text, (size_t)length);

    (void)written;
}
