/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plugin of qemu's: counts the executed instructions that lie in one function, or with call=NAME those of a call of it by
 * main, in whatever it calls. Arguments: symbol=NAME or call=NAME, out=FILE. Functions whose names begin with uk_rvp_ stand for
 * an instruction that has been counted: they do not count, nor does what they call.
 *
 * Debian's qemu-user can load plugins but has no header for them: these are the declarations that are used here, of
 * version 1 of the interface, which the documentation "QEMU TCG Plugins" describes.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb, size_t i);
const char *qemu_plugin_insn_symbol(const struct qemu_plugin_insn *insn);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *insn, enum qemu_plugin_op op,
                                                void *at, uint64_t add);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*f)(qemu_plugin_id_t id, struct qemu_plugin_tb *tb));
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb, void (*f)(unsigned int cpu, void *user),
                                          enum qemu_plugin_cb_flags flags, void *user);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t id, void (*f)(qemu_plugin_id_t id, void *user),
                                    void *user);

extern int qemu_plugin_version;
int qemu_plugin_version = 1;
int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv);

static char symbol[256], call[256], out[4096];
static uint64_t count;

/* What is translated together is executed together; a word that the CPU lacks ends it. */
struct block {
    uint64_t instructions;
    const char *in; /* the function; or NULL */
    bool begins, ends, stands_in;
};

static bool called, paused;
static const char *last; /* the function of the last block that counted */

/* What stands for an instruction, and all that it calls, lasts until the function that it is in goes on. */
static void executed(unsigned int cpu, void *user) {
    const struct block *b = user;

    (void)cpu;
    called = b->begins || (called && !b->ends);
    paused = b->stands_in || (paused && b->in != last);
    if (!called || paused)
        return;
    count += b->instructions;
    last = b->in;
}

static void count_call(struct qemu_plugin_tb *tb, size_t n) {
    struct block *b = malloc(sizeof *b); /* for as long as the program runs */

    if (!b)
        abort();
    b->instructions = n;
    b->in = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(tb, 0));
    b->begins = b->in && !strcmp(b->in, call);
    b->ends = b->in && !strcmp(b->in, "main");
    b->stands_in = b->in && !strncmp(b->in, "uk_rvp_", 7);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, QEMU_PLUGIN_CB_NO_REGS, b);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    const size_t n = qemu_plugin_tb_n_insns(tb);

    (void)id;
    if (*call)
        count_call(tb, n);
    for (size_t i = 0; i < n && *symbol; i++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);
        const char *in = qemu_plugin_insn_symbol(insn);

        if (in && !strcmp(in, symbol))
            qemu_plugin_register_vcpu_insn_exec_inline(insn, QEMU_PLUGIN_INLINE_ADD_U64, &count, 1);
    }
}

static void ended(qemu_plugin_id_t id, void *user) {
    FILE *f = fopen(out, "w");

    (void)id;
    (void)user;
    if (f) {
        fprintf(f, "%" PRIu64 "\n", count);
        fclose(f);
    }
}

int qemu_plugin_install(qemu_plugin_id_t id, const void *info, int argc, char **argv) {
    (void)info;
    for (int i = 0; i < argc; i++) {
        if (!strncmp(argv[i], "symbol=", 7))
            snprintf(symbol, sizeof symbol, "%s", argv[i] + 7);
        if (!strncmp(argv[i], "call=", 5))
            snprintf(call, sizeof call, "%s", argv[i] + 5);
        if (!strncmp(argv[i], "out=", 4))
            snprintf(out, sizeof out, "%s", argv[i] + 4);
    }
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return (!*symbol && !*call) || !*out;
}
