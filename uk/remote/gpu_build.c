/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds gpu_program.c for a board's CPU. The program loads a vendor's driver, so it must be linked
 * dynamically, against the C library of this machine. The board's library may be older, which is checked.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "child.h"
#include "file.h"
#include "remote.h"
#include "emulate/emulate.h"
#include "target/target.h"

/* ---- required version of the C library ---- */

static bool is_inside(size_t length, uint64_t at, uint64_t bytes) {
    return at <= length && bytes <= length - at;
}

static void raise_to(int *version, const char *name) {
    int major, minor;

    if (sscanf(name, "GLIBC_%d.%d", &major, &minor) == 2 && 1000 * major + minor > *version)
        *version = 1000 * major + minor;
}

/* Reads a section of required library versions (.gnu.version_r), with names in another section, and raises
 * *version. */
static void read_needs(const char *elf, size_t length, const Elf64_Shdr *needs, const Elf64_Shdr *names,
                       int *version) {
    Elf64_Verneed need;
    Elf64_Vernaux one;
    uint64_t at = needs->sh_offset;

    for (uint64_t i = 0; i < needs->sh_info && is_inside(length, at, sizeof need); i++, at += need.vn_next) {
        uint64_t aux = at;

        memcpy(&need, elf + at, sizeof need);
        aux += need.vn_aux;
        for (int k = 0; k < need.vn_cnt && is_inside(length, aux, sizeof one); k++, aux += one.vna_next) {
            memcpy(&one, elf + aux, sizeof one);
            if (one.vna_name < names->sh_size && is_inside(length, names->sh_offset, names->sh_size))
                /* the file's text ends with a NUL */
                raise_to(version, elf + names->sh_offset + one.vna_name);
        }
    }
}

int uk_glibc_needed(const char *elf, size_t length) {
    Elf64_Ehdr head;
    Elf64_Shdr needs, names;
    int version = 0;

    if (length < sizeof head)
        return 0;
    memcpy(&head, elf, sizeof head);
    for (int i = 0; i < head.e_shnum; i++) {
        const uint64_t at = head.e_shoff + (uint64_t)i * sizeof needs;

        if (!is_inside(length, at, sizeof needs))
            return 0;
        memcpy(&needs, elf + at, sizeof needs);
        const uint64_t link = head.e_shoff + (uint64_t)needs.sh_link * sizeof names;
        if (needs.sh_type != SHT_GNU_verneed || !is_inside(length, link, sizeof names))
            continue;
        memcpy(&names, elf + link, sizeof names);
        read_needs(elf, length, &needs, &names, &version);
    }
    return version;
}

static int check_glibc(const struct uk_board *b, const char *program) {
    size_t length;
    char *elf = uk_read_file(program, &length);
    int major = 0, minor = 0;

    if (!elf)
        return UK_EXIT_WRONG;
    const int needed = uk_glibc_needed(elf, length);
    free(elf);
    if (sscanf(b->libc, "glibc %d.%d", &major, &minor) != 2)
        return uk_complain(UK_EXIT_WRONG,
                           "--remote=%s: its GLIBC is missing or unknown; GPU drivers and the program that "
                           "loads them need %d.%d or newer",
                           b->text, needed / 1000, needed % 1000);
    if (1000 * major + minor < needed)
        return uk_complain(UK_EXIT_WRONG,
                           "--remote=%s: it has GLIBC %d.%d, but programs linked here need %d.%d; run uk on "
                           "an older system, or use a newer board",
                           b->text, major, minor, needed / 1000, needed % 1000);
    return UK_EXIT_OK;
}

/* ---- the program ---- */

/* The architecture of the board's CPU, if programs can be linked for it and it has 64-bit addresses like this
 * machine. */
static const struct uk_arch *arch_of(const struct uk_board *b) {
    for (const struct uk_target *t = uk_targets; t->name; t++)
        if (t->arch->emulator.triple && t->arch->bits == 64 && uk_board_is(b, t->arch))
            return t->arch;
    return NULL;
}

static int write_sources(const struct uk_board *b) {
    int status = UK_EXIT_OK;

    for (const struct uk_source_file *f = uk_remote_gpu; f->name && !status; f++) {
        char path[128];

        snprintf(path, sizeof path, "%s/%s", b->guard.folder, f->name);
        status = uk_write_output(path, f->text, f->length);
    }
    return status;
}

static int link_program(const struct uk_board *b, const struct uk_arch *arch, char *program) {
    char triple[64], main[128], vendors[128];
    char *const argv[] = {UK_CLANG, triple,  "-std=gnu17", "-O1", "--ld-path=" UK_LLD, "-o", program,
                          main,     vendors, "-ldl",       NULL};

    snprintf(triple, sizeof triple, "--target=%s", arch->emulator.triple);
    snprintf(main, sizeof main, "%s/gpu_program.c", b->guard.folder);
    snprintf(vendors, sizeof vendors, "%s/vendors.c", b->guard.folder);
    const int result = uk_run_child(argv);
    if (uk_is_interrupted())
        return UK_EXIT_WRONG;
    return result ? uk_complain(UK_EXIT_WRONG,
                                UK_CLANG " could not link the program that loads the GPU's driver for %s; it "
                                         "needs Debian's clang-" UK_LLVM ", %s and lld-" UK_LLVM,
                                arch->name, arch->emulator.libc_package)
                  : UK_EXIT_OK;
}

int uk_board_gpu_build(const struct uk_board *b, char *program, size_t size) {
    const struct uk_arch *arch = arch_of(b);

    if (!arch)
        return uk_complain(UK_EXIT_WRONG, "--remote=%s: GPUs are not supported on boards with a CPU of %s",
                           b->text, b->machine);
    if (access(arch->emulator.libc, R_OK))
        return uk_complain(
            UK_EXIT_WRONG,
            "--remote=%s: the C library for its CPU, %s, is missing here (%s); install Debian's %s", b->text,
            b->machine, arch->emulator.libc, arch->emulator.libc_package);
    snprintf(program, size, "%s/gpu_program", b->guard.folder);
    int status = write_sources(b);
    if (!status)
        status = link_program(b, arch, program);
    return status ? status : check_glibc(b, program);
}
