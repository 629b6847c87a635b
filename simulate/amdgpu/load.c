/* SPDX-License-Identifier: Apache-2.0 */
/* Loads a code object: its segments become a constant buffer of the device, its metadata and descriptors
 * become kernels. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include "state.h"

/* Constants of AMDGPU's ABI (LLVM's AMDGPUUsage). */
enum { OSABI_HSA = 64, NOTE_METADATA = 32, DESCRIPTOR = 64 };
enum { MAX_SEGMENTS = 64, MAX_SECTIONS = 4096 };
#define MAX_IMAGE ((uint64_t)256 << 20)

struct uk_elf {
    struct uk_amdgpu_object *object;
    const uint8_t *bytes;
    uint64_t size;
    Elf64_Ehdr header;
    uint64_t image_bytes;
    uint8_t *image;
};

static enum uk_amdgpu_status uk_elf_bad(const struct uk_elf *elf, const char *what) {
    return uk_amdgpu_fail(elf->object->gpu, UK_AMDGPU_BAD_OBJECT, "the code object is damaged: %s", what);
}

/* The `size` bytes of the file at this offset; NULL if they reach beyond its end. */
static const uint8_t *uk_elf_at(const struct uk_elf *elf, uint64_t offset, uint64_t size) {
    return offset <= elf->size && size <= elf->size - offset ? elf->bytes + offset : NULL;
}

static enum uk_amdgpu_status uk_elf_header(struct uk_elf *elf) {
    struct uk_amdgpu *gpu = elf->object->gpu;
    const uint8_t *bytes = uk_elf_at(elf, 0, sizeof elf->header);

    if (!bytes || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_BAD_OBJECT,
                              "this is not an ELF file; link one by ld.lld -shared");
    memcpy(&elf->header, bytes, sizeof elf->header);
    if (elf->header.e_ident[EI_CLASS] != ELFCLASS64 || elf->header.e_ident[EI_DATA] != ELFDATA2LSB ||
        elf->header.e_machine != MACHINE_AMDGPU || elf->header.e_ident[EI_OSABI] != OSABI_HSA)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_BAD_OBJECT,
                              "this ELF file is not for amdgcn-amd-amdhsa (machine %u, OS ABI %u)",
                              elf->header.e_machine, elf->header.e_ident[EI_OSABI]);
    if (elf->header.e_type != ET_DYN)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_BAD_OBJECT,
                              "this object is not linked (ELF type %u); link it by ld.lld -shared",
                              elf->header.e_type);
    if ((elf->header.e_flags & FLAGS_MACH) != gpu->mach)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_OTHER_GPU,
                              "this code object is for another GPU (ELF flags 0x%x), not for %s",
                              elf->header.e_flags, gpu->gfx);
    if (elf->header.e_phentsize != sizeof(Elf64_Phdr) || elf->header.e_phnum > MAX_SEGMENTS ||
        (elf->header.e_shnum && elf->header.e_shentsize != sizeof(Elf64_Shdr)) ||
        elf->header.e_shnum > MAX_SECTIONS)
        return uk_elf_bad(elf, "the sizes of its tables");
    return UK_AMDGPU_OK;
}

static bool uk_elf_segment(const struct uk_elf *elf, unsigned i, Elf64_Phdr *segment) {
    const uint8_t *bytes =
        uk_elf_at(elf, elf->header.e_phoff, (uint64_t)elf->header.e_phnum * sizeof *segment);

    if (bytes)
        memcpy(segment, bytes + i * sizeof *segment, sizeof *segment);
    return bytes;
}

static enum uk_amdgpu_status uk_elf_image(struct uk_elf *elf) {
    struct uk_amdgpu_object *object = elf->object;
    Elf64_Phdr segment;

    for (unsigned i = 0; i < elf->header.e_phnum; ++i) {
        if (!uk_elf_segment(elf, i, &segment))
            return uk_elf_bad(elf, "its program headers lie outside the file");
        if (segment.p_type != PT_LOAD)
            continue;
        if (segment.p_vaddr > MAX_IMAGE || segment.p_memsz > MAX_IMAGE ||
            segment.p_filesz > segment.p_memsz || !uk_elf_at(elf, segment.p_offset, segment.p_filesz))
            return uk_elf_bad(elf, "a segment lies outside the file, or is larger than 256 MiB");
        if (segment.p_vaddr + segment.p_memsz > elf->image_bytes)
            elf->image_bytes = segment.p_vaddr + segment.p_memsz;
    }
    if (!elf->image_bytes)
        return uk_elf_bad(elf, "it has no segment to be loaded");
    if (!uk_simt_alloc(&object->gpu->memory, elf->image_bytes, 0, &object->image))
        return uk_amdgpu_fail(object->gpu, UK_AMDGPU_NO_MEMORY, "no memory for the code object");
    object->image_bytes = elf->image_bytes;
    elf->image = uk_simt_buffer_at(&object->gpu->memory, object->image)->bytes;
    uk_simt_buffer_at(&object->gpu->memory, object->image)->constant = true;
    for (unsigned i = 0; i < elf->header.e_phnum; ++i)
        if (uk_elf_segment(elf, i, &segment) && segment.p_type == PT_LOAD)
            memcpy(elf->image + segment.p_vaddr, elf->bytes + segment.p_offset, segment.p_filesz);
    return UK_AMDGPU_OK;
}

/* Finds the metadata among the notes; false if there is none or a note is damaged. */
static bool uk_elf_note(const struct uk_elf *elf, const uint8_t **data, size_t *bytes) {
    Elf64_Phdr segment;

    for (unsigned i = 0; i < elf->header.e_phnum; ++i) {
        uint64_t at = 0;

        if (!uk_elf_segment(elf, i, &segment) || segment.p_type != PT_NOTE ||
            !uk_elf_at(elf, segment.p_offset, segment.p_filesz))
            continue;
        while (segment.p_filesz - at >= sizeof(Elf64_Nhdr)) {
            const uint8_t *note = elf->bytes + segment.p_offset + at;
            uint64_t name, size;
            Elf64_Nhdr header;

            memcpy(&header, note, sizeof header);
            name = (header.n_namesz + (uint64_t)3) & ~(uint64_t)3;
            size = (header.n_descsz + (uint64_t)3) & ~(uint64_t)3;
            at += sizeof header;
            if (name > segment.p_filesz - at || header.n_descsz > segment.p_filesz - at - name)
                return false;
            if (header.n_type == NOTE_METADATA && header.n_namesz == 7 &&
                memcmp(note + sizeof header, "AMDGPU", 7) == 0) {
                *data = note + sizeof header + name;
                *bytes = header.n_descsz;
                return true;
            }
            at += name + size;
            if (at > segment.p_filesz)
                break;
        }
    }
    return false;
}

/* Finds a symbol in the symbol tables: by name or, if name is NULL, the largest function that begins at
 * `value`. */
static bool uk_elf_symbol(const struct uk_elf *elf, const char *name, uint64_t value, Elf64_Sym *found) {
    const uint8_t *sections =
        uk_elf_at(elf, elf->header.e_shoff, (uint64_t)elf->header.e_shnum * sizeof(Elf64_Shdr));
    bool any = false;

    for (unsigned i = 0; sections && i < elf->header.e_shnum; ++i) {
        Elf64_Shdr section, strings;
        const uint8_t *symbols, *names;

        memcpy(&section, sections + i * sizeof section, sizeof section);
        if ((section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) ||
            section.sh_link >= elf->header.e_shnum)
            continue;
        memcpy(&strings, sections + section.sh_link * sizeof strings, sizeof strings);
        symbols = uk_elf_at(elf, section.sh_offset, section.sh_size);
        names = uk_elf_at(elf, strings.sh_offset, strings.sh_size);
        for (uint64_t j = 0; symbols && names && j < section.sh_size / sizeof *found; ++j) {
            Elf64_Sym symbol;

            memcpy(&symbol, symbols + j * sizeof symbol, sizeof symbol);
            if (name ? symbol.st_name < strings.sh_size && strlen(name) < strings.sh_size - symbol.st_name &&
                           strcmp((const char *)names + symbol.st_name, name) == 0
                     : ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_value == value &&
                           (!any || symbol.st_size > found->st_size)) {
                *found = symbol;
                any = true;
                if (name)
                    return true;
            }
        }
    }
    return any;
}

static bool uk_elf_relocated(const struct uk_elf *elf) {
    const uint8_t *sections =
        uk_elf_at(elf, elf->header.e_shoff, (uint64_t)elf->header.e_shnum * sizeof(Elf64_Shdr));

    for (unsigned i = 0; sections && i < elf->header.e_shnum; ++i) {
        Elf64_Shdr section;

        memcpy(&section, sections + i * sizeof section, sizeof section);
        if ((section.sh_type == SHT_RELA || section.sh_type == SHT_REL) && section.sh_size)
            return true;
    }
    return false;
}

static uint32_t uk_elf_u32(const uint8_t *bytes) {
    uint32_t value;

    memcpy(&value, bytes, 4);
    return value;
}

/* Offsets within the descriptor: AMDGPUUsage, "Kernel Descriptor". */
static enum uk_amdgpu_status uk_elf_kernel(struct uk_elf *elf, struct uk_amdgpu_kernel_inside *kernel) {
    struct uk_amdgpu *gpu = elf->object->gpu;
    const char *name = kernel->kernel.name;
    const uint8_t *bytes;
    char symbol_name[512];
    Elf64_Sym symbol;
    int64_t entry;

    if (strlen(name) + 4 > sizeof symbol_name)
        return uk_elf_bad(elf, "a kernel's name is longer than 500 characters");
    strcpy(symbol_name, name);
    strcat(symbol_name, ".kd");
    if (!uk_elf_symbol(elf, symbol_name, 0, &symbol))
        return uk_amdgpu_fail(gpu, UK_AMDGPU_BAD_OBJECT, "the code object has no symbol %s", symbol_name);
    if (symbol.st_value % 4 || symbol.st_value > elf->image_bytes ||
        elf->image_bytes - symbol.st_value < DESCRIPTOR)
        return uk_elf_bad(elf, "a kernel's descriptor lies outside the segments");
    bytes = elf->image + symbol.st_value;
    memcpy(&entry, bytes + 16, 8);
    kernel->descriptor = (struct uk_amdgpu_descriptor){
        uk_elf_u32(bytes + 48),          uk_elf_u32(bytes + 52),       uk_elf_u32(bytes + 44),
        uk_elf_u32(bytes + 56) & 0xffff, uk_elf_u32(bytes + 56) >> 16, symbol.st_value + (uint64_t)entry,
    };
    if (kernel->descriptor.entry % 4 || kernel->descriptor.entry >= elf->image_bytes)
        return uk_elf_bad(elf, "a kernel's code lies outside the segments");
    if (kernel->kernel.lds_bytes < uk_elf_u32(bytes) || kernel->kernel.scratch_bytes < uk_elf_u32(bytes + 4))
        return uk_elf_bad(elf, "a kernel's descriptor and its metadata contradict each other");
    kernel->code_bytes = elf->image_bytes - kernel->descriptor.entry;
    if (uk_elf_symbol(elf, NULL, kernel->descriptor.entry, &symbol) && symbol.st_size &&
        symbol.st_size < kernel->code_bytes)
        kernel->code_bytes = symbol.st_size;
    return UK_AMDGPU_OK;
}

enum uk_amdgpu_status uk_amdgpu_read_elf(struct uk_amdgpu_object *object, const uint8_t *image,
                                         size_t bytes) {
    struct uk_elf elf = {.object = object, .bytes = image, .size = bytes};
    enum uk_amdgpu_status status = uk_elf_header(&elf);
    const uint8_t *note;
    size_t note_bytes;

    if (!status)
        status = uk_elf_image(&elf);
    if (status)
        return status;
    if (uk_elf_relocated(&elf))
        return uk_amdgpu_fail(object->gpu, UK_AMDGPU_UNSUPPORTED,
                              "the code object has relocations, which are not simulated");
    if (!uk_elf_note(&elf, &note, &note_bytes))
        return uk_elf_bad(&elf, "it has no metadata (a note of AMDGPU's, type 32)");
    status = uk_amdgpu_metadata(object, note, note_bytes);
    for (uint32_t i = 0; !status && i < object->n; ++i)
        status = uk_elf_kernel(&elf, &object->kernels[i]);
    return status;
}
