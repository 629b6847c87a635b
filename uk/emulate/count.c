/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of qemu's: counts executed instructions, by function and by mnemonic. Arguments: out=FILE, and which ones:
 *
 *   symbol=NAME   that lie in one function
 *   call=NAME     of a call of that function by main, in whatever it calls
 *   neither       of the whole program, which has to be static: qemu knows the symbols of the main program only
 *   cycles=on     and for how many cycles: see issue()
 *
 * FILE gets a line "INSTRUCTIONS CYCLES" and lines "COUNT FUNCTION MNEMONIC", the largest first.
 *
 * Words of RISC-V P, which qemu lacks, are emulated by simulate/rvp, and count as what they are. A word is known by its address
 * before it is replaced by a jump. Functions whose names begin with uk_rvp_ stand for an instruction that has been
 * counted: they do not count, nor does what they call.
 *
 * Debian's qemu-user can load plugins but has no header for them: these are the declarations that are used here, of
 * version 1 of the interface, which the documentation "QEMU TCG Plugins" describes.
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
    const char *target_name; /* and more */
};
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *insn);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
char *qemu_plugin_insn_disas(const struct qemu_plugin_insn *insn); /* free it */
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

/* What is known of them lasts as long as the program runs. */
static void *room(size_t bytes) {
    void *memory = calloc(1, bytes);

    if (!memory)
        abort();
    return memory;
}

/* ---- words of P ---- */

struct place {
    uint64_t address;
    uint32_t word;
    struct place *next;
};
enum { BUCKETS = 4096 };
static struct place *places[BUCKETS]; /* qemu translates for one thread at a time */

/* Of RISC-V: the word there, or the one of P that was there where it is a jump now. */
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

/* ---- what is executed ---- */

struct instruction {
    const char *in; /* the function; or NULL */
    char name[24];
    /* Of RISC-V: integer registers, the cycles until others may read the one that it writes. */
    uint32_t reads;
    unsigned writes, latency;
};

/* What is translated together is executed together; a word that the CPU lacks ends it. */
struct block {
    struct block *next;
    const char *in;
    bool begins, ends, stands_in;
    atomic_uint_fast64_t executed;
    size_t n;
    struct instruction instruction[];
};
static struct block *blocks;

/* Integer registers, by bits, that operands name from `from` on. */
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

/* The first operand is written, but by stores and branches; a rounding mode stands before it. */
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

static void describe(struct instruction *i, const struct qemu_plugin_insn *insn) {
    char text[64], *own = NULL;
    const char *name = text;
    const size_t bytes = qemu_plugin_insn_size(insn);
    uint32_t word = 0;

    i->in = qemu_plugin_insn_symbol(insn);
    memcpy(&word, qemu_plugin_insn_data(insn), bytes < 4 ? bytes : 4);
    if (is_riscv && bytes == 4)
        word = first_word(qemu_plugin_insn_vaddr(insn), word);

    const struct uk_rvp_row *p = is_riscv && bytes == 4 && uk_rvp_is_opcode(word) ? uk_rvp_find(word) : NULL;

    if (p) {
        uk_rvp_print(word, text, sizeof text);
    } else {
        name = own = qemu_plugin_insn_disas(insn);
        /* Of RISC-V, qemu's own words begin with the bytes. */
        if (is_riscv)
            name += strspn(name + strcspn(name, " "), " ") + strcspn(name, " ");
    }
    const size_t n = strcspn(name, " \t");

    snprintf(i->name, sizeof i->name, "%.*s", (int)n, name);
    if (is_riscv)
        find_registers(i, name + n + strspn(name + n, " \t"));
    if (p) {
        i->latency = (unsigned)p->cycles;
        i->reads |= uk_rvp_reads_rd(p) ? UINT32_C(1) << i->writes : 0;
    }
    free(own);
}

/*
 * A core that issues an instruction each cycle, in order, once what it reads is there: what P writes after the cycles that
 * rvp.def states, of the draft's example core, all else in the next cycle. No cache, no branch costs anything.
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

/* What stands for an instruction, and all that it calls, lasts until the function that it is in goes on. */
static void executed(unsigned int cpu, void *user) {
    static _Thread_local bool called, paused;
    static _Thread_local const char *last; /* the function of the last block that counted */
    struct block *b = user;

    (void)cpu;
    called = b->begins || (called && !b->ends);
    paused = b->stands_in || (paused && b->in != last);
    if ((*call && !called) || paused)
        return;
    last = b->in;
    b->executed++;
    if (has_cycles)
        issue(b);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    const size_t n = qemu_plugin_tb_n_insns(tb);
    struct block *b = room(sizeof *b + n * sizeof *b->instruction);

    (void)id;
    for (size_t k = 0; k < n; k++) {
        const struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, k);
        const char *in = qemu_plugin_insn_symbol(insn);

        if (!*symbol || (in && !strcmp(in, symbol)))
            describe(&b->instruction[b->n++], insn);
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

/* ---- the end ---- */

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

/* The lines of all blocks, those of the same function and mnemonic added up. */
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
        fprintf(f, "%" PRIu64 " %" PRIu64 "\n", sum, (uint64_t)cycles);
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
