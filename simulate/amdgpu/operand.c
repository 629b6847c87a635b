/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the text that LLVM prints for an instruction into operands and modifiers: "v_fma_f32 v0, -|v1|, s2,
 * 1.0 clamp", "global_load_dwordx4 v[0:3], v4, s[6:7] offset:16". Text that it does not understand goes into
 * the message that ends a wave which executes the instruction.
 */
#include <stdlib.h>
#include <string.h>
#include "state.h"

static bool uk_begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Named registers. */
static const struct {
    const char *name;
    uint8_t kind, index, words;
} uk_named[] = {
    {"vcc_lo", UK_AMDGPU_OPERAND_S, VCC, 1},
    {"vcc_hi", UK_AMDGPU_OPERAND_S, VCC + 1, 1},
    {"vcc", UK_AMDGPU_OPERAND_S, VCC, 2},
    {"exec_lo", UK_AMDGPU_OPERAND_S, EXEC, 1},
    {"exec_hi", UK_AMDGPU_OPERAND_S, EXEC + 1, 1},
    {"exec", UK_AMDGPU_OPERAND_S, EXEC, 2},
    {"m0", UK_AMDGPU_OPERAND_S, M0, 1},
    {"src_scc", UK_AMDGPU_OPERAND_SCC, 0, 1},
    {"scc", UK_AMDGPU_OPERAND_SCC, 0, 1},
    {"off", UK_AMDGPU_OPERAND_OFF, 0, 0},
    {"flat_scratch_lo", UK_AMDGPU_OPERAND_S, FLAT_SCRATCH, 1},
    {"flat_scratch_hi", UK_AMDGPU_OPERAND_S, FLAT_SCRATCH + 1, 1},
    {"flat_scratch", UK_AMDGPU_OPERAND_S, FLAT_SCRATCH, 2},
    {"src_private_base", UK_AMDGPU_OPERAND_S, PRIVATE_BASE, 2},
};

/* Parses "v7", "a[0:3]", "s[4:5]". */
static bool uk_parse_register(struct uk_amdgpu_operand *o, const char *text) {
    const unsigned limit = *text == 's' ? 102 : 256;
    const bool list = text[1] == '[';
    char *end;
    unsigned long first, last;

    if (!strchr("vas", *text) || !strchr("0123456789", text[list ? 2 : 1]) || !text[list ? 2 : 1])
        return false;
    first = last = strtoul(text + (list ? 2 : 1), &end, 10);
    if (list && *end == ':')
        last = strtoul(end + 1, &end, 10);
    if (list && *end++ != ']')
        return false;
    if (*end || last < first || last >= limit || last - first >= 32)
        return false;
    o->kind = *text == 's' ? UK_AMDGPU_OPERAND_S : UK_AMDGPU_OPERAND_V;
    o->index = (uint16_t)(first + (*text == 'a' ? AGPR : 0));
    o->words = (uint8_t)(last - first + 1);
    return true;
}

static bool uk_parse_plain(struct uk_amdgpu_operand *o, const char *text) {
    char *end;

    for (size_t i = 0; i < sizeof uk_named / sizeof uk_named[0]; ++i)
        if (strcmp(text, uk_named[i].name) == 0) {
            o->kind = uk_named[i].kind;
            o->index = uk_named[i].index;
            o->words = uk_named[i].words;
            return true;
        }
    if (uk_parse_register(o, text))
        return true;
    o->kind = UK_AMDGPU_OPERAND_CONSTANT;
    if (*text && strpbrk(text, ".") && !uk_begins(text, "0x")) {
        o->is_float = true;
        o->number = strtod(text, &end);
        return !*end;
    }
    if (!*text || !strchr("-0123456789", *text))
        return false;
    /* A signed constant of up to 32 bits; a 64-bit operand gets its extension. */
    const long long number = strtoll(text, &end, 0);
    o->value[0] = (uint32_t)number;
    o->value[1] = number < 0 ? UINT32_MAX : 0;
    return !*end && number >= INT32_MIN && number <= UINT32_MAX;
}

static bool uk_parse_operand(struct uk_amdgpu_operand *o, char *text) {
    size_t n = strlen(text);

    if (uk_begins(text, "sext(") && text[n - 1] == ')') {
        o->sign_extend = true;
        text[n - 1] = 0;
        return uk_parse_plain(o, text + 5);
    }
    if (uk_begins(text, "neg(") && text[n - 1] == ')') {
        o->negative = true;
        text[n - 1] = 0;
        return uk_parse_plain(o, text + 4);
    }
    /* A minus belongs to a number, unless a register follows. */
    if (*text == '-' && !strchr("0123456789", text[1])) {
        o->negative = true;
        ++text;
        --n;
    }
    if (*text == '|' && n > 2 && text[n - 1] == '|') {
        o->absolute = true;
        text[n - 1] = 0;
        ++text;
    }
    return uk_parse_plain(o, text);
}

static bool uk_parse_sdwa(uint8_t *sdwa, const char *text) {
    const bool byte = uk_begins(text, "BYTE_"), word = uk_begins(text, "WORD_");

    if (byte || word)
        *sdwa = (uint8_t)(16 * (text[5] - '0') * (byte ? 1 : 2) + (byte ? 1 : 2));
    return byte || word || strcmp(text, "DWORD") == 0;
}

/* Parses the bits "[0,1,1]" of op_sel and the like, one for each source; op_sel may have a last one for the
 * destination. */
static bool uk_parse_bits(struct uk_amdgpu_inst *inst, const char *text, size_t field) {
    unsigned n = 0;

    if (*text++ != '[')
        return false;
    for (; (*text == '0' || *text == '1') && n < 4; ++n) {
        *((bool *)((char *)&inst->o[1 + n] + field)) = *text == '1';
        text += text[1] == ',' ? 2 : 1;
    }
    return *text == ']';
}

static bool uk_parse_wait(struct uk_amdgpu_inst *inst, const char *text) {
    char *end;
    const unsigned long n = strtoul(strchr(text, '(') + 1, &end, 10);

    if (*end != ')' || n > 254)
        return false;
    if (!uk_begins(text, "expcnt"))
        inst->waits[uk_begins(text, "lgkmcnt")] = (uint8_t)n;
    return true;
}

static bool uk_parse_offset(const char *text, long min, long max, long *value) {
    char *end;

    *value = strtol(text, &end, 0);
    return !*end && *value >= min && *value <= max;
}

static bool uk_parse_modifier(struct uk_amdgpu_inst *inst, const char *text) {
    const char *value = strchr(text, ':');
    long number;

    value = value ? value + 1 : "";
    if (!strcmp(text, "glc") || !strcmp(text, "slc") || !strcmp(text, "scc") || !strcmp(text, "&"))
        return true;
    if (!strcmp(text, "clamp"))
        return inst->clamp = true;
    if (!strcmp(text, "offen"))
        return inst->offen = true;
    if (uk_begins(text, "vmcnt(") || uk_begins(text, "lgkmcnt(") || uk_begins(text, "expcnt("))
        return uk_parse_wait(inst, text);
    if (uk_begins(text, "offset:") && uk_parse_offset(value, -65536, 65535, &number)) {
        inst->address_offset = (int32_t)number;
        return true;
    }
    if ((uk_begins(text, "offset0:") || uk_begins(text, "offset1:")) &&
        uk_parse_offset(value, 0, 255, &number)) {
        *(text[6] == '0' ? &inst->offset0 : &inst->offset1) = (uint16_t)number;
        return true;
    }
    if ((uk_begins(text, "cbsz:") || uk_begins(text, "abid:") || uk_begins(text, "blgp:")) &&
        uk_parse_offset(value, 0, 15, &number)) {
        *(*text == 'c' ? &inst->cbsz : *text == 'a' ? &inst->abid : &inst->blgp) = (uint8_t)number;
        return true;
    }
    if (uk_begins(text, "op_sel:"))
        return uk_parse_bits(inst, value, offsetof(struct uk_amdgpu_operand, select_low));
    if (uk_begins(text, "op_sel_hi:"))
        return uk_parse_bits(inst, value, offsetof(struct uk_amdgpu_operand, select_high));
    if (uk_begins(text, "neg_lo:"))
        return uk_parse_bits(inst, value, offsetof(struct uk_amdgpu_operand, negative));
    if (uk_begins(text, "neg_hi:"))
        return uk_parse_bits(inst, value, offsetof(struct uk_amdgpu_operand, negative_high));
    if (uk_begins(text, "dst_sel:"))
        return uk_parse_sdwa(&inst->sdwa, value);
    if (uk_begins(text, "src0_sel:"))
        return uk_parse_sdwa(&inst->source_sdwa[0], value);
    if (uk_begins(text, "src1_sel:"))
        return uk_parse_sdwa(&inst->source_sdwa[1], value);
    if (uk_begins(text, "dst_unused:UNUSED_")) {
        inst->unused = strcmp(value, "UNUSED_PAD") == 0 ? 'P' : strcmp(value, "UNUSED_SEXT") == 0 ? 'S' : 'K';
        return true;
    }
    return false;
}

/* Returns the next word or operand, which ends at one of `ends` outside brackets; `text` is advanced past
 * it. */
static char *uk_parse_part(char **text, const char *ends) {
    char *begin = *text + strspn(*text, " \t"), *at = begin;
    int depth = 0;

    for (; *at && (depth || !strchr(ends, *at)); ++at)
        depth += (*at == '[' || *at == '(') - (*at == ']' || *at == ')');
    *text = at;
    return begin;
}

/* Finds the opcode of the name, with or without the suffix of its encoding. */
static const char *uk_parse_name(struct uk_amdgpu_inst *inst, char *name) {
    static const char *const endings[] = {"_e32", "_e64", "_sdwa"};
    const size_t n = strlen(name);

    inst->op = uk_amdgpu_opcode(name);
    for (size_t i = 0; i < 3 && !inst->op; ++i) {
        const size_t m = strlen(endings[i]);

        if (n <= m || strcmp(name + n - m, endings[i]) != 0)
            continue;
        name[n - m] = 0;
        inst->op = uk_amdgpu_opcode(name);
        /* SDWA without a selection takes the whole register. */
        inst->unused = i == 2 ? 'P' : 0;
    }
    return inst->op ? NULL : "this opcode";
}

const char *uk_amdgpu_parse(struct uk_amdgpu_inst *inst, char *text) {
    char *name = uk_parse_part(&text, " \t"), *comment = strstr(name, "//");
    bool more = *text != 0;
    const char *why;

    if (comment)
        *comment = 0;
    if (*text)
        *text++ = 0;
    inst->waits[0] = inst->waits[1] = 255;
    why = uk_parse_name(inst, name);
    if (why)
        return why;
    if (inst->op->flags & (F_PK | F_PK_HALF))
        for (unsigned i = 1; i <= 3; ++i)
            inst->o[i].select_high = true;
    if (inst->op->run == uk_run_nop) {
        if (inst->op->flags & F_STATES)
            inst->states = (uint8_t)(1 + strtoul(text, NULL, 0) % 16); /* SIMM16[3:0] */
        return NULL;
    }
    /* Operands are separated by commas; modifiers follow the last one after spaces. */
    more = more && inst->op->run != uk_run_waitcnt;
    while (more) {
        char *part = uk_parse_part(&text, ", \t"), end = *text;

        if (!*part)
            break;
        *text = 0;
        if (inst->n >= UK_AMDGPU_MAX_OPERANDS || !uk_parse_operand(&inst->o[inst->n], part))
            return "an operand of this instruction";
        ++inst->n;
        more = end == ',';
        if (end)
            ++text;
    }
    for (;;) {
        char *part = uk_parse_part(&text, " \t"), end = *text;

        if (!*part)
            return NULL;
        *text = 0;
        if (!uk_parse_modifier(inst, part))
            return "a modifier of this instruction";
        if (end)
            ++text;
    }
}
