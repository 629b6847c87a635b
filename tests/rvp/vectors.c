/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executes instructions of P on given operands: rvp_vectors FILE. Lines of FILE are `word rd rs1 rs2` in
 * hexadecimal; the last three are the values of the registers that the word names. Prints `rd vxsat` after
 * each, or `unknown` for a word that is not in the table, which is not executed. A register that the word
 * names twice has the last of its values; x2, x3 and x4 keep theirs. rvp_vectors --names prints the names of
 * the table.
 *
 * On other architectures than RISC-V, the table's C computes the results. On RISC-V, the word itself is
 * executed twice with the same registers: first it traps, then it is a jump, or traps again (UK_RVP_PATCH=0).
 * Both results must be equal, and no other register may change.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "decode.h"

#ifdef __riscv

#include <sys/mman.h>
#include <unistd.h>

/*
 * rvp_run(frame, slot): loads the registers except x2 to x4 from frame[1..31], executes the slot's word, and
 * stores the registers to the frame. Meanwhile sp is the frame's address. frame[32]: the address to which the
 * slot returns; frame[33]: the caller's sp.
 */
enum { RETURN = 32, CALLER, N_FRAME, SLOTS = 4096, SLOT_WORDS = 5 };
#define SLOTS_TEXT "4096"
void rvp_run(uint64_t *frame, const uint32_t *slot);
extern uint32_t rvp_slots[];
#define EACH(f)                                                                                             \
    f(6) f(7) f(8) f(9) f(10) f(11) f(12) f(13) f(14) f(15) f(16) f(17) f(18) f(19) f(20) f(21) f(22) f(23) \
        f(24) f(25) f(26) f(27) f(28) f(29) f(30) f(31)
#define LOAD(r) "ld x" #r ", 8*" #r "(sp)\n"
#define STORE(r) "sd x" #r ", 8*" #r "(sp)\n"
__asm__(
    ".text\n"
    ".balign 4096\n"
    ".option push\n"
    ".option norvc\n"
    ".type rvp_slots, @function\n"
    "rvp_slots:\n"
    ".rept " SLOTS_TEXT "\n"
    "ld t0, 8*5(sp)\n"
    ".4byte 0\n"
    "sd t0, 8*5(sp)\n"
    "ld t0, 8*32(sp)\n"
    "jr t0\n"
    ".endr\n"
    ".size rvp_slots, . - rvp_slots\n"
    ".balign 4096\n"
    ".type rvp_run, @function\n"
    ".globl rvp_run\n"
    "rvp_run:\n"
    "addi sp, sp, -128\n"
    "sd ra, 0(sp)\nsd s0, 8(sp)\nsd s1, 16(sp)\nsd s2, 24(sp)\nsd s3, 32(sp)\nsd s4, 40(sp)\nsd s5, 48(sp)\n"
    "sd s6, 56(sp)\nsd s7, 64(sp)\nsd s8, 72(sp)\nsd s9, 80(sp)\nsd s10, 88(sp)\nsd s11, 96(sp)\n"
    "sd sp, 8*33(a0)\n"
    "mv t0, a1\n"
    "la t1, 1f\n"
    "sd t1, 8*32(a0)\n"
    "mv sp, a0\n" LOAD(1) EACH(LOAD) "jr t0\n"
                                     "1:\n" STORE(1)
                                         EACH(STORE) "ld sp, 8*33(sp)\n"
                                                     "ld ra, 0(sp)\nld s0, 8(sp)\nld s1, 16(sp)\nld s2, "
                                                     "24(sp)\nld s3, 32(sp)\nld s4, 40(sp)\nld s5, 48(sp)\n"
                                                     "ld s6, 56(sp)\nld s7, 64(sp)\nld s8, 72(sp)\nld s9, "
                                                     "80(sp)\nld s10, 88(sp)\nld s11, 96(sp)\n"
                                                     "addi sp, sp, 128\n"
                                                     "ret\n"
                                                     ".option pop\n");

static uint32_t words[SLOTS];
static size_t n_words;

/* Returns the slot that holds the word; writes it if there is none. */
static uint32_t *slot_of(uint32_t word) {
    size_t i = n_words;

    while (i > 0 && words[i - 1] != word)
        i--;
    if (i > 0)
        return rvp_slots + (i - 1) * SLOT_WORDS;
    if (n_words == SLOTS) {
        fprintf(stderr, "rvp_vectors: more than %d different words\n", SLOTS);
        exit(1);
    }
    uint32_t *slot = rvp_slots + n_words * SLOT_WORDS;

    slot[1] = word;
    words[n_words++] = word;
    __builtin___clear_cache((char *)slot, (char *)(slot + SLOT_WORDS));
    return slot;
}

static uint64_t once(const uint32_t *slot, const uint64_t before[32], unsigned rd, uint64_t *frame) {
    uint64_t ov;

    memcpy(frame, before, 32 * sizeof *frame);
    __asm__ __volatile__("csrw 0x009, zero" ::: "memory");
    rvp_run(frame, slot);
    __asm__ __volatile__("csrr %0, 0x009" : "=r"(ov)::"memory");
    for (unsigned r = 1; r < 32; r++)
        if (r != rd && frame[r] != before[r]) {
            fprintf(stderr, "rvp_vectors: word %08" PRIx32 " changed x%u from %" PRIx64 " to %" PRIx64 "\n",
                    slot[1], r, before[r], frame[r]);
            exit(1);
        }
    return ov;
}

static void execute(uint32_t word, uint64_t x[32], uint64_t *ov) {
    /* The stack for the word: frames of signal handlers and stubs are below `frame`. */
    static uint64_t stack[1 << 16];
    uint64_t *frame = stack + (1 << 16) - N_FRAME - 2, first[32], again;
    uint32_t *slot = slot_of(word);
    const unsigned rd = word >> 7 & 31;
    const char *patch = getenv("UK_RVP_PATCH");

    *ov = once(slot, x, rd, frame);
    memcpy(first, frame, sizeof first);
    if ((slot[1] == word) != (patch && !strcmp(patch, "0"))) {
        fprintf(stderr, "rvp_vectors: word %08" PRIx32 " was %sreplaced\n", word,
                slot[1] == word ? "not " : "");
        exit(1);
    }
    again = once(slot, x, rd, frame);
    if (again != *ov || frame[rd] != first[rd]) {
        fprintf(stderr,
                "rvp_vectors: word %08" PRIx32 " gives %" PRIx64 " %" PRIu64 ", then %" PRIx64 " %" PRIu64
                "\n",
                word, first[rd], *ov, frame[rd], again);
        exit(1);
    }
    memcpy(x, first, sizeof first);
}

static void prepare(void) {
    const size_t bytes = SLOTS * SLOT_WORDS * sizeof(uint32_t);

    if (mprotect(rvp_slots, bytes, PROT_READ | PROT_WRITE | PROT_EXEC)) {
        perror("rvp_vectors: mprotect");
        exit(1);
    }
}

#else

static void execute(uint32_t word, uint64_t x[32], uint64_t *ov) {
    *ov = 0;
    uk_rvp_execute(word, x, ov);
}

static void prepare(void) {
}

#endif

static int print_names(void) {
#define UK_RVP(name, form, funct3, funct7, field, saturates, cycles, width, value) #name "\n"
    static const char names[] =
#include "registry/rvp.def"
        ;

    for (const char *c = names; *c; c++)
        putchar(*c == '_' ? '.' : *c);
    return 0;
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "--names"))
        return print_names();

    FILE *f = argc == 2 ? fopen(argv[1], "r") : NULL;
    uint32_t word;
    uint64_t d, a, b, ov;

    if (!f) {
        fprintf(stderr, "usage: rvp_vectors FILE | --names\n");
        return 2;
    }
    prepare();
    while (fscanf(f, "%" SCNx32 " %" SCNx64 " %" SCNx64 " %" SCNx64, &word, &d, &a, &b) == 4) {
        const unsigned rd = word >> 7 & 31, rs1 = word >> 15 & 31, rs2 = word >> 20 & 31;
        const struct uk_rvp_row *row = uk_rvp_find(word);
        uint64_t x[32];

        if (!row) {
            puts("unknown");
            continue;
        }
        for (unsigned r = 0; r < 32; r++)
            x[r] = UINT64_C(0x0101010101010101) * (r + 0xc0);
        x[rd] = d;
        x[rs1] = a;
        if (uk_rvp_reads_rs2(row))
            x[rs2] = b;
        x[0] = 0;
        execute(word, x, &ov);
        printf("%" PRIx64 " %" PRIu64 "\n", x[rd], ov);
    }
    if (!feof(f)) {
        fprintf(stderr, "rvp_vectors: %s: a line is not `word rd rs1 rs2`\n", argv[1]);
        return 1;
    }
    fclose(f);
    return 0;
}
