/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "names.h"

static const char *const registers[32] = {
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0",  "a1",  "a2", "a3", "a4", "a5",
    "a6",   "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6"};

void uk_rvp_mnemonic(const struct uk_rvp_row *row, char text[UK_RVP_MNEMONIC]) {
    snprintf(text, UK_RVP_MNEMONIC, "%s", row->name);
    for (char *point = text; (point = strchr(point, '_'));)
        *point = '.';
}

bool uk_rvp_print(uint32_t word, char *text, size_t size) {
    const struct uk_rvp_row *row = uk_rvp_find(word);
    char name[UK_RVP_MNEMONIC], last[16] = "";

    if (!row)
        return false;
    uk_rvp_mnemonic(row, name);
    if (uk_rvp_reads_rs2(row))
        snprintf(last, sizeof last, ", %s", registers[word >> 20 & 31]);
    else if (row->form != UK_RVP_FORM_R)
        snprintf(last, sizeof last, ", %u", (unsigned)uk_rvp_immediate(row, word));
    snprintf(text, size, "%s %s, %s%s", name, registers[word >> 7 & 31], registers[word >> 15 & 31], last);
    return true;
}

int uk_rvp_register(const char *name) {
    for (int i = 0; i < 32; i++)
        if (!strcmp(name, registers[i]))
            return i;
    return -1;
}

/* A number, or the number of a register; -1: neither. */
static int field(const char *text) {
    char *end;
    const long number = strtol(text, &end, 0);

    if (end != text && !*end)
        return number >= 0 && number < 128 ? (int)number : -1;
    return uk_rvp_register(text);
}

bool uk_rvp_print_line(const char *line, size_t length, char *text, size_t size) {
    /* Positions of opcode, funct3, funct7, rd, rs1, rs2; and of opcode, funct3, rd, rs1, immediate. */
    static const int shifts[][6] = {{0, 12, 25, 7, 15, 20}, {0, 12, 7, 15, 20}};
    char copy[80], word[6][8];
    uint32_t bits = 0;

    snprintf(copy, sizeof copy, "%.*s", (int)(length < sizeof copy ? length : sizeof copy - 1), line);
    if (sscanf(copy, " .word %" SCNu32, &bits) == 1 || sscanf(copy, " .insn 0x4, %" SCNu32, &bits) == 1)
        return uk_rvp_print(bits, text, size);

    const int fields = sscanf(copy, " .insn %*[ri] %7[^,], %7[^,], %7[^,], %7[^,], %7[^,], %7s", word[0],
                              word[1], word[2], word[3], word[4], word[5]);

    if (fields != (strstr(copy, ".insn i ") ? 5 : 6))
        return false;
    for (int i = 0; i < fields; i++) {
        const bool immediate = fields == 5 && i == 4; /* 12 bits, signed */
        const int value = immediate ? (int)strtol(word[i], NULL, 0) & 0xfff : field(word[i]);

        if (value < 0)
            return false;
        bits |= (uint32_t)value << shifts[fields == 5][i];
    }
    return uk_rvp_print(bits, text, size);
}
