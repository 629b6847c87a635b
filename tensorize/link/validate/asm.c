/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that the target has what an import's asm statements need. LLVM's assembler for Arm refuses
 * instructions of disabled features; the one for x86 accepts all instructions, so registers and mnemonics in
 * the text decide here. Bytes written as numbers (.byte) are not checked.
 */
#define _GNU_SOURCE /* memmem */
#include <ctype.h>
#include <string.h>
#include "link/link.h"

enum { MOST_WORD = 32 };

/* Features by prefix of the mnemonic: it needs `feature` or `or_else`. The first matching row applies. A row
 * that ends in $ is a whole mnemonic. */
static const struct {
    const char *begins, *feature, *or_else;
} x86_mnemonics[] = {
    {"vpdpbusd", "avx512vnni", "avxvnni"},
    {"vpdpwssd", "avx512vnni", "avxvnni"},
    {"vpdpb", "avxvnniint8", NULL},
    {"vpdpw", "avxvnniint16", NULL},
    {"vdpbf16ps", "avx512bf16", NULL},
    {"vcvtne2ps2bf16", "avx512bf16", NULL},
    {"vcvtneps2bf16", "avx512bf16", "avxneconvert"},
    {"vpmadd52", "avx512ifma", "avxifma"},
    {"vpermb$", "avx512vbmi", NULL},
    {"vpermi2b", "avx512vbmi", NULL},
    {"vpermt2b", "avx512vbmi", NULL},
    {"vpmultishiftqb", "avx512vbmi", NULL},
    {"vpcompressb", "avx512vbmi2", NULL},
    {"vpcompressw", "avx512vbmi2", NULL},
    {"vpexpandb", "avx512vbmi2", NULL},
    {"vpexpandw", "avx512vbmi2", NULL},
    {"vpshld", "avx512vbmi2", NULL},
    {"vpshrd", "avx512vbmi2", NULL},
    {"vpopcntb", "avx512bitalg", NULL},
    {"vpopcntw", "avx512bitalg", NULL},
    {"vpshufbitqmb", "avx512bitalg", NULL},
    {"vpopcnt", "avx512vpopcntdq", NULL},
    {"vpconflict", "avx512cd", NULL},
    {"vplzcnt", "avx512cd", NULL},
    {"vmovdqu8", "avx512bw", NULL},
    {"vmovdqu16", "avx512bw", NULL},
    {"vdbpsadbw", "avx512bw", NULL},
    {"vpmullq", "avx512dq", NULL},
    {"vrange", "avx512dq", NULL},
    {"vreduce", "avx512dq", NULL},
    {"vfpclass", "avx512dq", NULL},
    {"vmovdqa32", "avx512f", NULL},
    {"vmovdqa64", "avx512f", NULL},
    {"vmovdqu32", "avx512f", NULL},
    {"vmovdqu64", "avx512f", NULL},
    {"vpternlog", "avx512f", NULL},
    {"vrndscale", "avx512f", NULL},
    {"vscalef", "avx512f", NULL},
    {"vgetexp", "avx512f", NULL},
    {"vgetmant", "avx512f", NULL},
    {"vfixupimm", "avx512f", NULL},
    {"vrcp14", "avx512f", NULL},
    {"vrsqrt14", "avx512f", NULL},
    {"vblendmp", "avx512f", NULL},
    {"vpblendm", "avx512f", NULL},
    {"valign", "avx512f", NULL},
    {"vcompressp", "avx512f", NULL},
    {"vexpandp", "avx512f", NULL},
    {"vpcompress", "avx512f", NULL},
    {"vpexpand", "avx512f", NULL},
    {"vpermi2", "avx512f", NULL},
    {"vpermt2", "avx512f", NULL},
    {"vpscatter", "avx512f", NULL},
    {"vscatter", "avx512f", NULL},
    {"vprol", "avx512f", NULL},
    {"vpror", "avx512f", NULL},
    {"vpsraq", "avx512f", NULL},
    {"vpsravq", "avx512f", NULL},
    {"vpabsq", "avx512f", NULL},
    {"vpmaxsq", "avx512f", NULL},
    {"vpmaxuq", "avx512f", NULL},
    {"vpminsq", "avx512f", NULL},
    {"vpminuq", "avx512f", NULL},
    {"vptestm", "avx512f", NULL},
    {"vptestnm", "avx512f", NULL},
    {"kmovw", "avx512f", NULL},
    {"kortestw", "avx512f", NULL},
    {"vgf2p8", "gfni", NULL},
    {"gf2p8", "gfni", NULL},
    {"tdpbf16ps", "amx-bf16", NULL},
    {"tdpb", "amx-int8", NULL},
    {"tile", "amx-tile", NULL},
    {"ldtilecfg", "amx-tile", NULL},
    {"sttilecfg", "amx-tile", NULL},
    {"vfmadd", "fma", NULL},
    {"vfmsub", "fma", NULL},
    {"vfnmadd", "fma", NULL},
    {"vfnmsub", "fma", NULL},
    {"vcvtph2ps", "f16c", NULL},
    {"vcvtps2ph", "f16c", NULL},
    {"vpbroadcast", "avx2", NULL},
    {"vpgather", "avx2", NULL},
    {"vgather", "avx2", NULL},
    {"vpsllv", "avx2", NULL},
    {"vpsrlv", "avx2", NULL},
    {"vpsrav", "avx2", NULL},
    {"vpermd$", "avx2", NULL},
    {"vpermq$", "avx2", NULL},
    {"vpermps$", "avx2", NULL},
    {"vpermpd$", "avx2", NULL},
    {"vperm2i128", "avx2", NULL},
    {"vinserti128", "avx2", NULL},
    {"vextracti128", "avx2", NULL},
    {"vbroadcasti128", "avx2", NULL},
    {"vadd", "avx", NULL},
    {"vsub", "avx", NULL},
    {"vmul", "avx", NULL},
    {"vdiv", "avx", NULL},
    {"vmov", "avx", NULL},
    {"vbroadcast", "avx", NULL},
    {"vxor", "avx", NULL},
    {"vand", "avx", NULL},
    {"vp", "avx", NULL},
    {"vzero", "avx", NULL},
    {"mulx", "bmi2", NULL},
    {"pdep", "bmi2", NULL},
    {"pext$", "bmi2", NULL},
    {"pextl$", "bmi2", NULL},
    {"pextq$", "bmi2", NULL},
    {"rorx", "bmi2", NULL},
    {"sarx", "bmi2", NULL},
    {"shlx", "bmi2", NULL},
    {"shrx", "bmi2", NULL},
    {"andn$", "bmi", NULL},
    {"andnl$", "bmi", NULL},
    {"andnq$", "bmi", NULL},
    {"blsi", "bmi", NULL},
    {"blsr", "bmi", NULL},
    {"blsmsk", "bmi", NULL},
    {"tzcnt", "bmi", NULL},
    {"lzcnt", "lzcnt", NULL},
    {"popcnt", "popcnt", NULL},
    {"movbe", "movbe", NULL},
    {"pshufb", "ssse3", NULL},
    {"pmulld", "sse4.1", NULL},
};

static bool fits(const char *word, const char *begins) {
    for (; *begins && *begins != '$'; word++, begins++)
        if (*word != *begins)
            return false;
    return !*begins || !*word;
}

/* True if the mnemonic is one of AVX-512's half-precision instructions: vaddph, vfmadd231sh. */
static bool is_half(const char *word) {
    size_t n = strlen(word);

    return n > 3 && word[0] == 'v' && (!strcmp(word + n - 2, "ph") || !strcmp(word + n - 2, "sh")) &&
           strcmp(word, "vcvtps2ph");
}

/* The number after the letters of a register's name, or -1. */
static int register_number(const char *word, const char *letters) {
    const char *p = word + strlen(letters);
    int n = 0;

    if (strncmp(word, letters, strlen(letters)) || !*p || strlen(p) > 2)
        return -1;
    for (; *p; p++) {
        if (!isdigit((unsigned char)*p))
            return -1;
        n = 10 * n + *p - '0';
    }
    return n;
}

/* The feature that a register needs; NULL: none, or the word is not a register. */
static const char *of_register(const char *word) {
    if (!strchr("xyzkt", word[0]))
        return NULL;
    if (register_number(word, "zmm") >= 0)
        return "avx512f";
    if (register_number(word, "k") >= 0 && register_number(word, "k") < 8)
        return "avx512f";
    if (register_number(word, "xmm") >= 16 || register_number(word, "ymm") >= 16)
        return "avx512vl";
    if (register_number(word, "ymm") >= 0)
        return "avx";
    return register_number(word, "tmm") >= 0 ? "amx-tile" : NULL;
}

/* The feature that the word needs and the target lacks, or NULL. */
static const char *lacks_word(const struct uk_target *t, const char *word, bool is_register,
                              bool is_mnemonic) {
    const char *feature = is_register ? of_register(word) : NULL;

    if (feature && !uk_target_has(t, feature))
        return feature;
    if (!is_mnemonic)
        return NULL;
    if (is_half(word))
        return uk_target_has(t, "avx512fp16") ? NULL : "avx512fp16";
    for (size_t i = 0; i < sizeof x86_mnemonics / sizeof *x86_mnemonics; i++)
        if (fits(word, x86_mnemonics[i].begins)) {
            const char *f = x86_mnemonics[i].feature, *other = x86_mnemonics[i].or_else;

            return uk_target_has(t, f) || (other && uk_target_has(t, other)) ? NULL : f;
        }
    return NULL;
}

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* Directives that enable features which the target may lack. */
static bool is_switch(const char *word) {
    static const char *const names[] = {".arch", ".arch_extension", ".cpu", ".fpu"};

    if (word[0] != '.')
        return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!strcmp(word, names[i]))
            return true;
    return false;
}

/* A word of the text or of its constraints; word[] is its lower-case copy. */
struct asm_word {
    const char *at, *end;
    char word[MOST_WORD];
    bool first; /* begins a statement: a mnemonic, a prefix or a directive */
};

static bool next_word(struct asm_word *w) {
    const char *p = w->at;

    for (; p < w->end && !is_word(*p); p++)
        w->first |= *p == '\n' || *p == ';' || *p == '}' || *p == ':';
    if (p == w->end)
        return false;
    size_t n = 0;
    for (; p < w->end && is_word(*p); p++)
        if (n < MOST_WORD - 1)
            w->word[n++] = (char)tolower((unsigned char)*p);
    w->word[n] = 0;
    w->at = p;
    return true;
}

static enum uk_status refuse(struct uk_build *b, const struct uk_source *s, const char *function,
                             const char *word, const char *lacks) {
    return uk_fail(b->context, UK_UNSUPPORTED, s->at,
                   "%s: the asm of %s names %s, which needs %s, which target %s does not have; write it "
                   "without, or use a target with +%s",
                   s->name, function, word, lacks, b->target->name, lacks);
}

static enum uk_status gate_words(struct uk_build *b, const struct uk_source *s, const char *function,
                                 const char *text, size_t length, bool is_text) {
    const bool x86 = !strcmp(b->target->arch->name, "x86_64");
    struct asm_word w = {.at = text, .end = text + length, .first = is_text};

    while (next_word(&w)) {
        const char before = w.at - strlen(w.word) > text ? w.at[-(ptrdiff_t)strlen(w.word) - 1] : 0;
        const bool mnemonic = w.first && is_text;
        /* Only %k1 and {k1} are registers: a label may be called k1 too. */
        const bool plain = w.word[0] != 'k' || before == '{' || (is_text && before == '%');
        const char *lacks = x86 ? lacks_word(b->target, w.word, plain && !mnemonic, mnemonic) : NULL;

        if (lacks)
            return refuse(b, s, function, w.word, lacks);
        if (mnemonic && !strcmp(w.word, ".insn") && strcmp(b->target->arch->name, "riscv64") != 0)
            return uk_validate_insn(b, s, function, w.at - strlen(w.word),
                                    (size_t)(w.end - w.at) + strlen(w.word));
        if (mnemonic && uk_arch_not_in_imports(b->target->arch, w.word))
            return uk_fail(b->context, UK_LINK, s->at,
                           "%s: the asm of %s has %s; on %s asm may only compute with values; write loads, "
                           "stores, waits and products of matrices in C, for which the compiler waits",
                           s->name, function, w.word, b->target->arch->name);
        if (mnemonic && is_switch(w.word))
            return uk_fail(
                b->context, UK_UNSUPPORTED, s->at,
                "%s: the asm of %s has %s, which lets the assembler take instructions that target %s lacks; "
                "leave it out",
                s->name, function, w.word, b->target->name);
        w.first = mnemonic && (!strcmp(w.word, "lock") || !strcmp(w.word, "rep") || !strcmp(w.word, "evex") ||
                               !strcmp(w.word, "vex"));
    }
    return UK_OK;
}

enum uk_status uk_validate_asm(struct uk_build *b, const struct uk_source *s, LLVMValueRef f,
                               LLVMValueRef code) {
    const char *name = LLVMGetValueName(f), *text, *constraints;
    size_t length;

    text = LLVMGetInlineAsmAsmString(code, &length);
    enum uk_status status = gate_words(b, s, name, text, length, true);
    if (status)
        return status;
    constraints = LLVMGetInlineAsmConstraintString(code, &length);
    if (!strcmp(b->target->arch->name, "x86_64") && !uk_target_has(b->target, "avx512f") &&
        memmem(constraints, length, "^Yk", 3))
        return refuse(b, s, name, "a mask register", "avx512f");
    return gate_words(b, s, name, constraints, length, false);
}
