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

/* The file that is mapped at an address, and the address's offset in it. */
struct uk_rvp_place {
    char path[512];
    uint64_t offset;
};

/* A line of /proc/self/maps: "from-to rwxp offset device inode   path". */
static bool uk_rvp_line_has(const char *line, uint64_t pc, struct uk_rvp_place *place) {
    char *end;
    const uint64_t from = strtoull(line, &end, 16), to = *end ? strtoull(end + 1, &end, 16) : 0;
    const char *path = strchr(line, '/');

    if (pc < from || pc >= to || !path || strlen(path) >= sizeof place->path)
        return false;
    strcpy(place->path, path);
    place->offset = pc - from + strtoull(end + strlen(" r-xp "), NULL, 16);
    return true;
}

static bool uk_rvp_find_place(uint64_t pc, struct uk_rvp_place *place) {
    const int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    char line[1024], c;
    size_t length = 0;
    bool found = false;

    if (maps < 0)
        return false;
    while (!found && read(maps, &c, 1) == 1) {
        if (c != '\n') {
            if (length < sizeof line - 1)
                line[length++] = c;
        } else {
            line[length] = 0;
            length = 0;
            found = uk_rvp_line_has(line, pc, place);
        }
    }
    close(maps);
    return found;
}

/* Whether `count` things of `size` bytes lie at offset in a file of so many bytes. */
static bool uk_rvp_inside(uint64_t bytes, uint64_t offset, uint64_t count, uint64_t size) {
    return offset <= bytes && (!count || size <= (bytes - offset) / count);
}

/* The function of a table of symbols that holds the address, in `name`, and how far in it is. */
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
    static struct uk_rvp_place place;
    char text[1024], name[128], where[160] = "in no known function";
    uint64_t from_start;
    const bool p = uk_rvp_is_opcode(word);

    if (uk_rvp_find_place(pc, &place)) {
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
