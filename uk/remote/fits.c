/* SPDX-License-Identifier: Apache-2.0 */
/* Finds which targets' code a board runs: from what Linux reports about the CPU, or by a probe program if
 * --remote-prefix is given. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "emulate/emulate.h"
#include "child.h"
#include "file.h"
#include "remote.h"
#include "target/target.h"

/* ---- features ---- */

/* Names in /proc/cpuinfo that differ from LLVM's by more than '_' in place of a dot or dash. */
static const struct {
    const char *feature, *cpuinfo;
} names[] = {{"neon", "asimd"},
             {"fullfp16", "asimdhp"},
             {"dotprod", "asimddp"},
             {"fp16fml", "asimdfhm"},
             {"sse3", "pni"},
             {"lzcnt", "abm"},
             {"bmi", "bmi1"},
             {"avxvnni", "avx_vnni"},
             {"avx512vnni", "avx512_vnni"},
             {"avx512bf16", "avx512_bf16"},
             {"avx512fp16", "avx512_fp16"},
             {"avx512vbmi2", "avx512_vbmi2"},
             {"avx512bitalg", "avx512_bitalg"},
             {"avx512vpopcntdq", "avx512_vpopcntdq"},
             {"vfp4", "vfpv4"},
             {"hwdiv-arm", "idiva"}};

static bool is_listed(const char *list, const char *word, size_t n) {
    for (; *(list += strspn(list, " ")); list += strcspn(list, " "))
        if (strcspn(list, " ") == n && !strncmp(list, word, n))
            return true;
    return false;
}

/* True if RISC-V's isa string has the extension: letters after rv64, then names after underscores; g means
 * several letters. */
static bool is_extension(const char *isa, const char *feature) {
    const size_t n = strlen(feature), letters = strcspn(isa, "_ ");

    if (letters < 4)
        return false;
    if (n == 1)
        return memchr(isa + 4, *feature, letters - 4) ||
               (memchr(isa + 4, 'g', letters - 4) && strchr("imafd", *feature));
    for (const char *at = isa + letters; *at == '_'; at += strcspn(at, "_ "))
        if (strcspn(++at, "_ ") == n && !strncmp(at, feature, n))
            return true;
    return false;
}

static bool board_has(const struct uk_board *b, const struct uk_arch *arch, const char *feature) {
    char name[32];

    if (b->probed)
        return is_listed(b->features, feature, strlen(feature));
    if (!strncmp(b->features, "rv", 2))
        return is_extension(b->features, feature);
    snprintf(name, sizeof name, "%s", feature);
    for (char *c = name; *c; c++)
        *c = *c == '.' || *c == '-' ? '_' : *c;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(names[i].feature, feature))
            snprintf(name, sizeof name, "%s", names[i].cpuinfo);
    /* 32-bit ARM cores list neon under that name. */
    return is_listed(b->features, name, strlen(name)) ||
           (arch->bits == 32 && is_listed(b->features, feature, strlen(feature)));
}

/* ---- targets ---- */

static const struct uk_target *row_of(const char *target) {
    const size_t n = strcspn(target, "+");

    for (const struct uk_target *t = uk_targets; t->name; t++)
        if (strlen(t->name) == n && !strncmp(t->name, target, n))
            return t;
    return NULL;
}

bool uk_board_is(const struct uk_board *b, const struct uk_arch *arch) {
    for (const char *const *triple = arch->triples; *triple; triple++)
        if (!strncmp(b->machine, *triple, strlen(*triple)))
            return true;
    return false;
}

/* False for a feature that the generated program simulates where the CPU lacks it (RISC-V P). */
static bool needs(const struct uk_arch *arch, const char *feature) {
    return !arch->emulator.lacks || strcmp(arch->emulator.lacks, feature) != 0;
}

/* The first feature of the row, or of the name's "+...", that the board lacks; NULL: none. */
static const char *missing_feature(const struct uk_board *b, const struct uk_target *t, const char *plus,
                                   char text[32]) {
    for (const char *const *h = t->has; *h; h++)
        if (needs(t->arch, *h) && !board_has(b, t->arch, *h))
            return *h;
    for (size_t n; *plus == '+'; plus += n) {
        n = strcspn(++plus, "+");
        snprintf(text, 32, "%.*s", (int)n, plus);
        if (!strcmp(text, "f16"))
            snprintf(text, 32, "fullfp16");
        if (needs(t->arch, text) && !board_has(b, t->arch, text))
            return text;
    }
    return NULL;
}

int uk_board_fits(struct uk_board *b, const char *target) {
    const struct uk_target *t = row_of(target);
    const char *lacks;
    char text[32];
    int status = UK_EXIT_OK;

    if (!t || t->arch->gpu)
        return UK_EXIT_OK; /* errors about unknown targets are reported by the compiler */
    if (b->prefix.count)
        status = uk_board_probe(b, target);
    else if (!uk_board_is(b, t->arch))
        return uk_complain(UK_EXIT_WRONG,
                           "--remote=%s: its CPU is %s, but target '%s' is %s; uk kernels --remote=%s prints "
                           "the right target",
                           b->text, b->machine, target, t->arch->name, b->text);
    if (!status && (lacks = missing_feature(b, t, target + strcspn(target, "+"), text)))
        return uk_complain(UK_EXIT_WRONG,
                           "--remote=%s: its CPU lacks %s, which target '%s' has; uk kernels --remote=%s "
                           "prints the right target",
                           b->text, lacks, target, b->text);
    return status;
}

/* True if some kernel requires the feature. Other features of the CPU are left out of target names. */
static bool is_used(const struct uk_arch *arch, const char *feature) {
#define UK_ISA_ROW(name, of, features, flags, private) {#of, features},
    static const struct {
        const char *arch, *features;
    } isas[] = {
#include "machine/archs.def"
    };
    const size_t n = strlen(feature);

    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
        for (const char *f = isas[i].features; !strcmp(isas[i].arch, arch->name) && *f;
             f += strcspn(f, ","), f += *f == ',')
            if (strcspn(f, ",") == n && !strncmp(f, feature, n))
                return true;
    return false;
}

const char *uk_board_target(const struct uk_board *b, char *text, size_t size) {
    char unused[32];

    for (const struct uk_target *t = uk_targets; t->name; t++) {
        if (t->arch->gpu || strncmp(t->name, t->arch->prefix, strlen(t->arch->prefix)) ||
            !uk_board_is(b, t->arch) || missing_feature(b, t, "", unused) ||
            (t->arch->emulator.lacks && strstr(t->name, "-p")))
            continue;
        snprintf(text, size, "%s", t->name);
        for (const char *const *f = t->arch->features; *f; f++) {
            const char *const *h = t->has;

            while (*h && strcmp(*h, *f))
                h++;
            if (!*h && is_used(t->arch, *f) && board_has(b, t->arch, *f))
                snprintf(text + strlen(text), size - strlen(text), "+%s",
                         strcmp(*f, "fullfp16") ? *f : "f16");
        }
        return text;
    }
    return NULL;
}

/* ---- the probe ---- */

static int build_probe(const struct uk_arch *arch, char *source, char *program) {
    char triple[64];
    char *const argv[] = {UK_CLANG,
                          triple,
                          "-std=gnu17",
                          "-Os",
                          "-ffreestanding",
                          "-fno-stack-protector",
                          "-fno-pic",
                          "-fomit-frame-pointer",
                          "-nostdlib",
                          "-static",
                          "--ld-path=" UK_LLD,
                          "-Wl,-s,-z,noseparate-code",
                          "-o",
                          program,
                          source,
                          NULL};

    snprintf(triple, sizeof triple, "--target=%s",
             arch->emulator.triple ? arch->emulator.triple : arch->triple);
    int status = uk_write_output(source, uk_remote_probe[0].text, strlen(uk_remote_probe[0].text));
    if (status)
        return status;
    const int result = uk_run_child(argv);
    if (uk_is_interrupted())
        return UK_EXIT_WRONG;
    return result ? uk_complain(UK_EXIT_WRONG,
                                UK_CLANG " could not build the probe for %s; install clang-" UK_LLVM
                                         " and lld-" UK_LLVM,
                                arch->name)
                  : UK_EXIT_OK;
}

int uk_board_probe(struct uk_board *b, const char *target) {
    const struct uk_target *t = row_of(target);
    char source[96], program[96], out[96], name[64];
    size_t length;

    snprintf(source, sizeof source, "%s/probe.c", b->guard.folder);
    snprintf(program, sizeof program, "%s/probe", b->guard.folder);
    snprintf(out, sizeof out, "%s/features", b->guard.folder);
    int status = build_probe(t->arch, source, program);
    if (!status)
        status = uk_board_program(b, program, name, sizeof name);
    if (!status)
        status = uk_board_run(b, name, NULL, out, false);
    if (status)
        return status;
    char *text = uk_read_file(out, &length);
    if (!text)
        return UK_EXIT_WRONG;
    text[strcspn(text, "\n")] = 0;
    snprintf(b->features, sizeof b->features, "%s", text);
    free(text);
    b->probed = true;
    return UK_EXIT_OK;
}
