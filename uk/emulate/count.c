/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plugin of qemu: counts executed instructions, by function and by mnemonic. Arguments: out=FILE, and the
 * range to count:
 *
 * - symbol=NAME: instructions in one function
 * - call=NAME: a call of that function by main, callees included; also separately for each call that it makes
 * - neither: the whole program. It must be static, because qemu knows the symbols of the main program only.
 * - cycles=on: also estimates cycles, see issue()
 *
 * FILE gets a line "INSTRUCTIONS CYCLES PARTS"; then, for each call that NAME makes, in order, a line with
 * the instructions until the next call; then lines "COUNT FUNCTION MNEMONIC" in decreasing order.
 *
 * simulate/rvp emulates RISC-V P's instructions, which qemu lacks. They count as themselves. An instruction
 * is recorded by its address before it is replaced by a jump to code that also executes the P instructions
 * after it; simulate/rvp/replace.h says where these are recorded. Functions whose names begin with uk_rvp_
 * implement an instruction that has been counted, so they and their callees do not count.
 *
 * Debian's qemu-user loads plugins but ships no header for them. The declarations below are those used here,
 * of version 1 of the interface documented in "QEMU TCG Plugins".
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "names.h"

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info {
    const char *target_name; /* more fields follow */
};
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *insn); /* address in this process */
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn); /* the caller frees it */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*f)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*f)(unsigned int cpu, void *user),
                                          enum qemu_plugin_cb_flags flags, void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*f)(qemu_plugin_id_t id, void *user),
                                    void *user);

extern int qemu_plugin_version;
int qemu_plugin_version = 1;
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv);

static char symbol[256], call[256], out[4096];
static bool is_riscv, has_cycles;

/* Allocates memory that lives as long as the program. */
static void *room(size_t bytes) {
    void *memory = calloc(1, bytes);

    if (!memory)
        abort();
    return memory;
}

/* ---- instructions of P ---- */

struct place {
    uint64_t address;
    uint32_t word;
    struct place *next;
};
enum { BUCKETS = 4096 };
static struct place *places[BUCKETS]; /* no lock: qemu translates for one thread at a time */

/* RISC-V: the instruction at the address, or the P instruction that a jump has replaced. */
static uint32_t first_word(uint64_t address, uint32_t word) {
    struct place **bucket = &places[address / 2 % BUCKETS], *p = *bucket;

    while (p && p->address != address)
        p = p->next;
    if (!p && uk_rvp_is_opcode(word)) {
        p = room(sizeof *p);
        *p = (struct place){address, word, *bucket};
        *bucket = p;
    }
    return p && (word & 0xfff) == 0x6f ? p->word : word;
}

static uint32_t word_of(const struct qemu_plugin_insn *insn) {
    uint32_t word;

    memcpy(&word, qemu_plugin_insn_data(insn), sizeof word);
    return word;
}

/* The program's word at `offset` bytes from the instruction. */
static uint32_t word_at(const struct qemu_plugin_insn *insn, int64_t offset) {
    uint32_t word;

    memcpy(&word, (const char *)qemu_plugin_insn_haddr(insn) + offset, sizeof word);
    return word;
}

/* Offset of the code that the jump of a replaced instruction leads to: jal to a stub, whose auipc and jalr
 * jump on. */
static int64_t following_run(const struct qemu_plugin_insn *insn) {
    const uint32_t jal = word_of(insn);
    const int64_t stub =
        (int64_t)((jal >> 12 & 255) << 12 | (jal >> 20 & 1) << 11 | (jal >> 21 & 1023) << 1) -
        (jal >> 31 ? 1 << 20 : 0);

    return stub + 4 + (int32_t)(word_at(insn, stub + 4) & ~UINT32_C(0xfff)) +
           ((int32_t)word_at(insn, stub + 8) >> 20);
}

/* True if the instruction is a jump that replaced an instruction of P. */
static bool is_replaced(const struct qemu_plugin_insn *insn) {
    return is_riscv && qemu_plugin_insn_size(insn) == 4 && !uk_rvp_is_opcode(word_of(insn)) &&
           qemu_plugin_insn_haddr(insn) &&
           uk_rvp_is_opcode(first_word(qemu_plugin_insn_vaddr(insn), word_of(insn)));
}

/* ---- execution ---- */

struct instruction {
    const char *in; /* its function, or NULL */
    char name[24];
    /* RISC-V only: integer registers read (a bit mask) and written, and cycles until the written one can be
     * read. */
    uint32_t reads;
    unsigned writes, latency;
};

/* Instructions translated and executed together; an instruction that the CPU lacks ends a block. */
struct block {
    struct block *next;
    const char *in;
    bool begins, ends, stands_in;
    atomic_uint_fast64_t executed;
    size_t n;
    struct instruction instruction[];
};
static struct block *blocks;

/* Bit mask of the integer registers named in the operands from `from` on. */
static uint32_t registers_in(const char *from) {
    uint32_t set = 0;

    for (size_t n; *from; from += n) {
        char name[8];

        n = strcspn(from, " ,()");
        snprintf(name, sizeof name, "%.*s", (int)n, from);
        set |= uk_rvp_register(name) >= 0 ? UINT32_C(1) << uk_rvp_register(name) : 0;
        n += from[n] != 0;
    }
    return set;
}

/* Finds registers read and written: the first operand is written, except by stores and branches. A rounding
 * mode may precede the operands. */
static void find_registers(struct instruction *i, const char *operands) {
    static const char *const stores[] = {"sb", "sh", "sw", "sd", "fsw", "fsd"};
    size_t first = strcspn(operands, ",");
    char written[16];

    if (*i->name == 'f' && first == 3 && (*operands == 'r' || *operands == 'd')) {
        operands += 4;
        first = strcspn(operands, ",");
    }
    i->latency = 1;
    i->reads = registers_in(operands);
    if (*i->name == 'b')
        return;
    for (size_t k = 0; k < sizeof stores / sizeof *stores; k++)
        if (!strcmp(i->name, stores[k]))
            return;
    snprintf(written, sizeof written, "%.*s", (int)first, operands);
    i->writes = uk_rvp_register(written) > 0 ? (unsigned)uk_rvp_register(written) : 0;
    i->reads = registers_in(operands + first);
}

/* Sets the mnemonic and, on RISC-V, the registers. */
static void read_text(struct instruction *i, const char *text) {
    const size_t n = strcspn(text, " \t");

    snprintf(i->name, sizeof i->name, "%.*s", (int)n, text);
    if (is_riscv)
        find_registers(i, text + n + strspn(text + n, " \t"));
}

static void describe_word(struct instruction *i, const struct uk_rvp_row *p, uint32_t word) {
    char text[64];

    uk_rvp_print(word, text, sizeof text);
    read_text(i, text);
    i->latency = (unsigned)p->cycles;
    i->reads |= uk_rvp_reads_rd(p) ? UINT32_C(1) << i->writes : 0;
}

static void describe(struct instruction *i, const struct qemu_plugin_insn *insn) {
    const bool may_be_p = is_riscv && qemu_plugin_insn_size(insn) == 4;
    const uint32_t word = may_be_p ? first_word(qemu_plugin_insn_vaddr(insn), word_of(insn)) : 0;
    const struct uk_rvp_row *p = uk_rvp_find(word);

    i->in = qemu_plugin_insn_symbol(insn);
    if (p) {
        describe_word(i, p, word);
        return;
    }
    char *own = qemu_plugin_insn_disas(insn), *name = own;
    /* On RISC-V, qemu's disassembly begins with the bytes. */
    if (is_riscv)
        name += strspn(name + strcspn(name, " "), " ") + strcspn(name, " ");
    read_text(i, name);
    free(own);
}

/* Describes the instructions of a run after its first one, which is already described. */
static void describe_run(struct block *b, const struct qemu_plugin_insn *insn, uint32_t words) {
    const int64_t run = following_run(insn);

    for (uint32_t k = 1; k < words; k++) {
        const uint32_t word = word_at(insn, run - 4 - 4 * (int64_t)(words - k));

        b->instruction[b->n].in = b->instruction[b->n - 1].in;
        describe_word(&b->instruction[b->n++], uk_rvp_find(word), word);
    }
}

/*
 * Estimates cycles of a core that issues one instruction per cycle, in order, when its operands are ready.
 * Results of P instructions are ready after the latency in rvp.def (the draft's example core), all others in
 * the next cycle. Caches and branches cost nothing.
 */
static _Thread_local uint64_t now, ready[32];
static atomic_uint_fast64_t cycles;

static void issue(const struct block *b) {
    const uint64_t before = now;

    for (size_t k = 0; k < b->n; k++) {
        const struct instruction *i = &b->instruction[k];

        now++;
        for (uint32_t left = i->reads; left; left &= left - 1) {
            const uint64_t there = ready[__builtin_ctz(left)];

            now = there > now ? there : now;
        }
        if (i->writes)
            ready[i->writes] = now + i->latency;
    }
    cycles += now - before;
}

/* Calls that the function `call` makes. Instructions that it executes itself belong to the preceding call, or
 * to the first one. */
static uint64_t *parts;
static size_t part_count;
static uint64_t before_parts;

static void count_part(const struct block *b) {
    static _Thread_local bool between;
    const bool begins = between && !b->begins;

    if (begins && !(part_count & (part_count - 1))) {
        parts = realloc(parts, (part_count ? 2 * part_count : 1) * sizeof *parts);
        if (!parts)
            abort();
    }
    if (begins)
        parts[part_count++] = 0;
    between = b->begins;
    if (part_count)
        parts[part_count - 1] += b->n;
    else
        before_parts += b->n;
}

/* Counts a block. Code that implements an instruction, with its callees, is excluded until the interrupted
 * function continues. */
static void executed(unsigned int cpu, void *user) {
    static _Thread_local bool called, paused;
    static _Thread_local const char *last; /* function of the last counted block */
    struct block *b = user;

    (void)cpu;
    called = b->begins || (called && !b->ends);
    paused = b->stands_in || (paused && b->in != last);
    if ((*call && !called) || paused)
        return;
    last = b->in;
    b->executed++;
    if (*call)
        count_part(b);
    if (has_cycles)
        issue(b);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    const size_t n = qemu_plugin_tb_n_insns(tb);
    const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, n - 1);
    const uint32_t words = is_replaced(last) ? word_at(last, following_run(last) - 4) : 1;
    struct block *b = room(sizeof *b + (n + words) * sizeof *b->instruction);

    (void)id;
    for (size_t k = 0; k < n; k++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, k);
        const char *in = qemu_plugin_insn_symbol(insn);

        if (*symbol && !(in && !strcmp(in, symbol)))
            continue;
        describe(&b->instruction[b->n++], insn);
        if (insn == last && words > 1)
            describe_run(b, insn, words);
    }
    if (!b->n) {
        free(b);
        return;
    }
    b->in = b->instruction->in;
    b->begins = b->in && !strcmp(b->in, call);
    b->ends = b->in && !strcmp(b->in, "main");
    b->stands_in = b->in && !strncmp(b->in, "uk_rvp_", 7);
    b->next = blocks;
    blocks = b;
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, b);
}

/* ---- the report ---- */

struct line {
    const char *in, *name;
    uint64_t count;
};

static int by_name(const void *a, const void *b) {
    const struct line *x = a, *y = b;
    const int order = strcmp(x->in, y->in);

    return order ? order : strcmp(x->name, y->name);
}

static int by_count(const void *a, const void *b) {
    const struct line *x = a, *y = b;

    return x->count != y->count ? (x->count < y->count ? 1 : -1) : by_name(a, b);
}

/* Sums the instructions of all blocks by function and mnemonic. */
static struct line *add_up(size_t *count) {
    struct line *all;
    size_t n = 0, sums = 0;

    for (const struct block *b = blocks; b; b = b->next)
        n += b->executed ? b->n : 0;
    all = room((n + 1) * sizeof *all);
    n = 0;
    for (const struct block *b = blocks; b; b = b->next)
        for (size_t k = 0; k < b->n && b->executed; k++) {
            const struct instruction *i = &b->instruction[k];

            all[n++] = (struct line){i->in ? i->in : "?", i->name, b->executed};
        }
    qsort(all, n, sizeof *all, by_name);
    for (size_t k = 0; k < n; k++) {
        if (sums && !by_name(&all[sums - 1], &all[k]))
            all[sums - 1].count += all[k].count;
        else
            all[sums++] = all[k];
    }
    qsort(all, sums, sizeof *all, by_count);
    *count = sums;
    return all;
}

static void ended(qemu_plugin_id_t id, void *user) {
    size_t n;
    struct line *all = add_up(&n);
    uint64_t sum = 0;
    FILE *f = fopen(out, "w");

    (void)id;
    (void)user;
    for (size_t i = 0; i < n; i++)
        sum += all[i].count;
    if (f) {
        fprintf(f, "%" PRIu64 " %" PRIu64 " %zu\n", sum, (uint64_t)cycles, part_count);
        for (size_t i = 0; i < part_count; i++)
            fprintf(f, "%" PRIu64 "\n", parts[i] + (i ? 0 : before_parts));
        for (size_t i = 0; i < n; i++)
            fprintf(f, "%" PRIu64 " %s %s\n", all[i].count, all[i].in, all[i].name);
        fclose(f);
    }
    free(all);
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv) {
    bool known = true;

    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "symbol=", 7))
            snprintf(symbol, sizeof symbol, "%s", argv[i] + 7);
        else if (!strncmp(argv[i], "call=", 5))
            snprintf(call, sizeof call, "%s", argv[i] + 5);
        else if (!strncmp(argv[i], "out=", 4))
            snprintf(out, sizeof out, "%s", argv[i] + 4);
        else if (!strcmp(argv[i], "cycles=on"))
            has_cycles = true;
        else
            known = false;
    }
    is_riscv = !strcmp(info->target_name, "riscv64");
    if (!known || !*out || (*symbol && *call) || (has_cycles && !is_riscv)) {
        fprintf(stderr, "count.so: out=FILE [symbol=NAME | call=NAME] [cycles=on, of riscv64]\n");
        return 1;
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
