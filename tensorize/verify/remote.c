/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of another architecture. The child of `uk verify` computes the expected results with the
 * interpreter, as for this architecture; the kernel is called in a process that the caller's command starts,
 * an emulator, which gets each case in a file (guest.h).
 */
#define _GNU_SOURCE /* memfd_create, MREMAP_MAYMOVE */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verify.h"
#include "guest.h"

_Static_assert((int)GUEST_VALUES >= (int)UK_VERIFY_WORDS && (int)GUEST_OPERANDS >= (int)UK_VERIFY_TENSORS,
               "see guest.h");
enum { PAGE = 4096 };

/* ---- the guest's source ---- */

static const struct {
    const char *arch, *source;
} guests[] = {{"aarch64", uk_verify_guest_aarch64},
              {"riscv64", uk_verify_guest_riscv64},
              {"x86_64", uk_verify_guest_x86_64}};

bool uk_verify_has_guest(const char *arch) {
    for (size_t i = 0; i < sizeof guests / sizeof *guests; i++)
        if (!strcmp(guests[i].arch, arch))
            return true;
    return false;
}

enum uk_status uk_verify_guest_source(struct uk_context *c, const char *arch,
                                      struct uk_intrinsic *const *list, int count, struct uk_text *out) {
    struct uk_text table = {0};

    for (size_t i = 0; i < sizeof guests / sizeof *guests; i++)
        if (!strcmp(guests[i].arch, arch))
            uk_put(out, "%s", guests[i].source);
    uk_put(&table, "void (*const guest_calls[])(void) = {");
    for (int i = 0; i < count; i++)
        for (int k = 0; k < UK_FORMS; k++) {
            if (list[i]->form[k].is_declared)
                uk_put(out, "void call_%d_%d(void) __asm__(\"uk.verify.%d.%d\");\n", i, k, i, k);
            uk_put(&table, list[i]->form[k].is_declared ? "call_%d_%d, " : "0, ", i, k);
        }
    uk_put(out, "%s};\n", table.text ? table.text : "");
    free(table.text);
    return out->failed || table.failed ? uk_out_of_memory(c) : UK_OK;
}

/* ---- the process ---- */

struct uk_remote {
    int file, to, from;
    pid_t process;
    struct guest_case *guest; /* the mapped file */
    size_t bytes;
};

/* Runs in the new process: makes its standard input, standard output and the file have the guest's
 * descriptors. */
static void become_guest(char *const *argv, int in, int out, int file) {
    /* The guest dies with the process that started it, which a time limit may kill. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Moves the descriptors away from those numbers first. */
    in = fcntl(in, F_DUPFD_CLOEXEC, 10);
    out = fcntl(out, F_DUPFD_CLOEXEC, 10);
    file = fcntl(file, F_DUPFD_CLOEXEC, 10);
    if (dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(file, GUEST_FILE) >= 0)
        execvp(argv[0], argv);
    _exit(127);
}

bool uk_remote_start(struct uk_verifier *v) {
    static struct uk_remote remote;
    struct uk_remote *r = v->remote = &remote;
    int in[2], out[2];

    /* If the guest has ended, write fails instead of raising a signal. */
    signal(SIGPIPE, SIG_IGN);
    r->file = memfd_create("uk verify", MFD_CLOEXEC);
    r->bytes = PAGE;
    _Static_assert(sizeof(struct guest_case) <= PAGE, "a page is enough for it");
    if (r->file < 0 || ftruncate(r->file, PAGE) || pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
        return false;
    r->guest = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, r->file, 0);
    if (r->guest == MAP_FAILED || (r->process = fork()) < 0)
        return false;
    if (!r->process)
        become_guest(v->argv, in[0], out[1], r->file);
    close(in[0]);
    close(out[1]);
    r->to = in[1];
    r->from = out[0];
    return true;
}

/* ---- a case ---- */

/* The size of the file: the case, the table of spans (*spans bytes), and the pages of all operands. */
static size_t lay_out(const struct uk_verifier *v, size_t *spans) {
    size_t count = 0, pages = 0;

    for (int i = 0; i < v->tensors; i++) {
        count += (size_t)v->memory[i].spans;
        for (int k = 0; k < v->memory[i].spans; k++)
            pages += v->memory[i].span[k].length;
    }
    *spans = (count * sizeof(struct guest_span) + PAGE - 1) / PAGE * PAGE;
    return PAGE + *spans + pages;
}

/* Sets the length of the file to that of the case, since a runner may send all of it; the mapping only
 * grows. */
static bool fit(struct uk_remote *r, size_t bytes) {
    if (ftruncate(r->file, (off_t)bytes))
        return false;
    if (bytes <= r->bytes)
        return true;
    void *more = mremap(r->guest, r->bytes, bytes, MREMAP_MAYMOVE);
    if (more == MAP_FAILED)
        return false;
    r->guest = more;
    r->bytes = bytes;
    return true;
}

/* Copies every span of every operand to the file or back. */
static void exchange(struct uk_verifier *v, size_t spans, bool back) {
    struct guest_case *g = v->remote->guest;
    char *file = (char *)g;
    struct guest_span *s = (struct guest_span *)(void *)(file + PAGE);
    size_t at = PAGE + spans;

    for (int i = 0; i < v->tensors; i++) {
        const struct uk_memory *m = &v->memory[i];

        for (int k = 0; k < m->spans; at += m->span[k++].length, s++) {
            unsigned char *memory = m->space + m->span[k].at;

            if (back && m->tensor->is_written)
                memcpy(memory, file + at, m->span[k].length);
            else if (!back)
                memcpy(file + at, memory, m->span[k].length);
            *s = (struct guest_span){m->span[k].at, m->span[k].length, at};
        }
    }
}

static void write_case(struct uk_verifier *v, const struct abi_value *value) {
    const struct uk_form *f = &v->intrinsic->form[v->form];
    struct guest_case *g = v->remote->guest;
    uint64_t span = 0;

    *g = (struct guest_case){.call = v->index * UK_FORMS + (int)v->form,
                             .values = f->arguments,
                             .operands = v->tensors,
                             .spans = PAGE};
    for (int i = 0; i < v->tensors; i++) {
        const struct uk_memory *m = &v->memory[i];

        g->operand[i].reserved = m->reserved;
        g->operand[i].span = span;
        g->operand[i].spans = (uint64_t)m->spans;
        g->operand[i].is_written = m->tensor->is_written;
        g->operand[i].wanted = m->is_far ? (uintptr_t)m->space : 0;
        span += (uint64_t)m->spans;
    }
    for (int i = 0; i < f->arguments; i++) {
        int n = 0;

        while (f->argument[i].tensor && v->memory[n].tensor != f->argument[i].tensor)
            n++;
        g->value[i].operand = f->argument[i].tensor ? n : -1;
        g->value[i].bits =
            f->argument[i].tensor ? (uint64_t)(v->memory[n].origin - v->memory[n].space) : value[i].bits;
        g->value[i].is_real = value[i].is_real;
        g->value[i].is_short = value[i].is_short;
    }
}

/* The guest did not answer: reports how it ended. */
static void report_exit(struct uk_verifier *v) {
    int result = 0;

    waitpid(v->remote->process, &result, 0);
    snprintf(v->verdict->what, sizeof v->verdict->what, "ends the process by %s %d",
             WIFSIGNALED(result) ? "signal" : "exit status",
             WIFSIGNALED(result) ? WTERMSIG(result) : WEXITSTATUS(result));
}

static void report_fault(struct uk_verifier *v) {
    const struct guest_case *g = v->remote->guest;
    struct uk_verdict *verdict = v->verdict;
    const unsigned char *address = (const unsigned char *)(uintptr_t)g->address;

    if (g->fault >= 0)
        address = v->memory[g->fault].space + g->address;
    verdict->signal = g->signal;
    verdict->address = (uintptr_t)address;
    verdict->is_address = g->is_address;
    verdict->is_write = g->is_write;
    if (g->is_write && g->fault >= 0)
        uk_memory_describe_write(v, address);
    verdict->state = UK_FAULTED;
    _exit(1);
}

enum uk_remote_result uk_remote_call(struct uk_verifier *v, const struct abi_value *value) {
    size_t spans;
    const size_t bytes = lay_out(v, &spans);
    char byte = 0;

    if (!fit(v->remote, bytes))
        return UK_REMOTE_NO_ROOM;
    write_case(v, value);
    exchange(v, spans, false);
    uk_verify_begin_call(v, v->remote->process);
    if (write(v->remote->to, &byte, 1) != 1 || read(v->remote->from, &byte, 1) != 1) {
        report_exit(v);
        return UK_REMOTE_WRONG;
    }
    uk_verify_end_call(v);
    const struct guest_case *g = v->remote->guest;
    if (g->state == GUEST_FAULTED)
        report_fault(v);
    if (g->state == GUEST_NO_ROOM)
        return UK_REMOTE_NO_ROOM;
    if (*g->broken) {
        snprintf(v->verdict->what, sizeof v->verdict->what, "does not preserve %.60s", g->broken);
        return UK_REMOTE_WRONG;
    }
    exchange(v, spans, true);
    return UK_REMOTE_GOOD;
}
