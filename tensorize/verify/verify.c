/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares kernels with their declarations: each form's machine code runs in a child process, so that a crash
 * or an endless loop is a result. The report has a line for each form.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "verify.h"

static const char *const form_names[UK_FORMS] = {"compute", "reset", "update"};

/* State shared by all forms of one call of uk_verify. */
struct job {
    struct uk_context *context;
    const struct uk_verify_options *options;
    struct uk_intrinsic *const *list;
    int count;
    LLVMOrcLLJITRef jit;
    char *const *argv;            /* the command that runs the code, NULL: this process does */
    struct uk_device_code device; /* of a GPU: has an image */
    struct uk_text *asm_found;    /* for each form */
    struct uk_verdict *verdict;   /* shared with each child in turn */
    struct uk_text report;
    bool wrong;
};

/* ---- results as text ---- */

static const char *signal_text(int number) {
    switch (number) {
    case SIGILL:
        return "executes an instruction that this CPU does not have";
    case SIGFPE:
        return "divides by zero";
    case SIGTRAP:
        return "runs into a trap";
    default:
        return "accesses memory at an address that is invalid, or not aligned as its instruction requires";
    }
}

static void put_fault(struct uk_text *t, const struct uk_verdict *v) {
    const char *verb = v->is_write ? "writes" : "reads";

    if (*v->what) {
        uk_put(t, "%s", v->what);
        return;
    }
    for (int i = 0; v->is_address && i < v->operands; i++) {
        const struct uk_range *r = &v->operand[i];

        if (v->address < r->space || v->address >= r->space_end)
            continue;
        if (v->address < r->origin)
            uk_put(t, "%s %" PRIuPTR " bytes before the start of %s", verb, r->origin - v->address, r->name);
        else if (v->address >= r->end)
            uk_put(t, "%s past the end of %s: byte %" PRIuPTR " from its start, it has %" PRIuPTR, verb,
                   r->name, v->address - r->origin, r->end - r->origin);
        else
            uk_put(t, "%s between the rows of %s, %" PRIuPTR " bytes from its start", verb, r->name,
                   v->address - r->origin);
        return;
    }
    if (v->is_address)
        uk_put(t, "%s at address %#" PRIxPTR ", which is not near any of its operands", verb, v->address);
    else
        uk_put(t, "%s", signal_text(v->signal));
}

static void put_wrong(struct job *j, const char *name, const char *form, const char *what) {
    const struct uk_verdict *v = j->verdict;

    j->wrong = true;
    uk_put(&j->report, "%s %s: WRONG in case %d: %s%s%s\n", name, form, v->cases + (v->state != UK_WRONG),
           what, *v->where ? "; with " : "", v->where);
}

/* ---- the child ---- */

static enum uk_status fail_to_start(struct uk_context *c, const char *what) {
    return uk_fail(c, UK_IO, (struct uk_position){0, 0}, "verify: %s: %s", what, strerror(errno));
}

/* Waits for the child, and reports what it could not report itself. */
static enum uk_status report_result(struct job *j, pid_t pid, const struct uk_intrinsic *i,
                                    const char *form) {
    const int seconds = j->options->seconds ? j->options->seconds : UK_VERIFY_SECONDS;
    struct uk_verdict *v = j->verdict;
    struct uk_text what = {0};
    int result = 0;
    const enum uk_verify_end end = uk_verify_wait(pid, &v->call, seconds, &result);
    const bool ended = end == UK_VERIFY_ENDED;

    v->where[sizeof v->where - 1] = v->what[sizeof v->what - 1] = 0;
    if (ended && v->state == UK_GAVE_UP)
        return uk_fail(j->context, v->status, i->at, "%s %s: %s", i->name, form, v->what);
    if (ended && v->state == UK_GOOD) {
        uk_put(&j->report, "%s %s: ok, %d cases\n", i->name, form, v->cases);
        return UK_OK;
    }
    if (end == UK_VERIFY_TOO_LONG)
        uk_put(&what, "does not return within %d seconds of CPU time", seconds);
    else if (end == UK_VERIFY_STUCK)
        uk_put(&what, "does not return within %d seconds", seconds * UK_VERIFY_WALL_CLOCK_FACTOR);
    else if (v->state == UK_FAULTED)
        put_fault(&what, v);
    else if (v->state == UK_WRONG)
        uk_put(&what, "%s", v->what);
    else
        uk_put(&what, "ends the process by %s %d", WIFSIGNALED(result) ? "signal" : "exit status",
               WIFSIGNALED(result) ? WTERMSIG(result) : WEXITSTATUS(result));
    if (what.text)
        put_wrong(j, i->name, form, what.text);
    uk_text_free(what.text);
    return what.failed ? uk_out_of_memory(j->context) : UK_OK;
}

static enum uk_status verify_form(struct job *j, int index, enum uk_form_kind form) {
    struct uk_intrinsic *i = j->list[index];
    const struct uk_text *asm_found = &j->asm_found[index * UK_FORMS + (int)form];
    struct uk_verifier v = {.context = j->context,
                            .intrinsic = i,
                            .index = index,
                            .form = form,
                            .argv = j->argv,
                            .device = j->device.image ? &j->device : NULL,
                            .verdict = j->verdict,
                            .seed = j->options->seed ^ (uint64_t)form << 32,
                            .cases = j->options->cases ? j->options->cases
                                     : j->device.image ? UK_VERIFY_DEVICE_CASES
                                                       : UK_VERIFY_CASES};
    enum uk_status s =
        j->argv || j->device.image ? UK_OK : uk_verify_find(j->context, j->jit, index, form, &v.call);

    if (s)
        return s;
    if (asm_found->length) {
        j->wrong = true;
        uk_put(&j->report, "%s %s: WRONG: %s\n", i->name, form_names[form], asm_found->text);
        return UK_OK;
    }
    memset(j->verdict, 0, sizeof *j->verdict);
    pid_t pid = fork();

    if (pid < 0)
        return fail_to_start(j->context, "cannot start a process");
    if (!pid) {
        uk_verify_run(&v);
        _exit(0);
    }
    return report_result(j, pid, i, form_names[form]);
}

/* ---- all forms ---- */

static enum uk_status check_intrinsic(struct uk_context *c, const struct uk_target *target,
                                      const struct uk_intrinsic *i) {
    int tensors = 0, scalars = 0;

    for (const struct uk_tensor *t = i->declaration->tensors; t; t = t->next)
        tensors++;
    if (tensors > UK_VERIFY_TENSORS)
        return uk_fail(c, UK_REFUSED, i->at, "%s has more than %d tensors; declare fewer", i->name,
                       UK_VERIFY_TENSORS);
    for (const struct uk_scalar *s = i->declaration->scalars; s; s = s->next)
        scalars++;
    if (scalars > UK_VERIFY_WORDS)
        return uk_fail(c, UK_REFUSED, i->at, "%s has more than %d scalars; declare fewer", i->name,
                       UK_VERIFY_WORDS);
    for (int k = 0; k < UK_FORMS; k++)
        if (i->form[k].arguments > UK_VERIFY_WORDS)
            return uk_fail(c, UK_REFUSED, i->form[k].at, "%s takes more than %d arguments; pass fewer",
                           i->form[k].symbol, UK_VERIFY_WORDS);
    return uk_verify_check_scope(c, target, i);
}

static enum uk_status load_device(struct job *j, struct uk_program *p, const struct uk_target *t) {
    const struct uk_verify_runner *r = j->options->runner;

    if (!r || !r->launch)
        return uk_fail(
            j->context, UK_UNSUPPORTED, (struct uk_position){0, 0},
            "target %s is a GPU's: verify needs a runner that launches its kernels, as `uk verify` has",
            t->name);
    j->device = (struct uk_device_code){.target = t, .runner = r};
    return uk_verify_compile_device(p, t, j->list, j->count, &j->device.image, &j->device.bytes,
                                    j->asm_found);
}

/* Loads the code where it can be called: into this process, or into one that the caller's runner has a
 * command for. */
static enum uk_status load(struct job *j, struct uk_program *p, const struct uk_target *t) {
    const struct uk_verify_runner *own = j->options->runner;
    const struct uk_verify_runner *r = own && own->link && uk_verify_has_guest(t->arch->name) ? own : NULL;
    LLVMMemoryBufferRef object = NULL;
    struct uk_text source = {0};

    if (t->arch->is_device)
        return load_device(j, p, t);
    enum uk_status s = r ? UK_OK : uk_target_runnable(j->context, t);

    if (!s)
        s = uk_verify_compile(p, t, j->list, j->count, &object, j->asm_found);
    if (s || !r)
        return s ? s : uk_jit_load(j->context, "uk.verify", object, &j->jit);
    s = uk_verify_guest_source(j->context, t->arch->name, j->list, j->count, &source);
    if (!s) {
        s = r->link(r->user, source.text, LLVMGetBufferStart(object), LLVMGetBufferSize(object), &j->argv);
        if (s)
            s = uk_fail(j->context, s, (struct uk_position){0, 0},
                        "verify: cannot link the code for the process that runs it");
    }
    uk_text_free(source.text);
    LLVMDisposeMemoryBuffer(object);
    return s;
}

static enum uk_status check_options(struct uk_context *c, const struct uk_verify_options *o) {
    if (o->cases < 0 || o->seconds < 0)
        return uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                       "verify: %d %s: give a number above 0, or 0 for the default",
                       o->cases < 0 ? o->cases : o->seconds, o->cases < 0 ? "cases" : "seconds");
    return UK_OK;
}

static enum uk_status verify_all(struct job *j, struct uk_program *p) {
    const struct uk_target *t;
    enum uk_status s = check_options(j->context, j->options);

    if (!s)
        s = uk_target_find(j->context, j->options->target, &t);

    for (int i = 0; i < j->count && !s; i++)
        s = check_intrinsic(j->context, t, j->list[i]);
    if (!s && t->interpreted)
        s = uk_fail(j->context, UK_UNSUPPORTED, (struct uk_position){0, 0},
                    "target interp has no machine code to verify; leave the target out");
    if (!s)
        s = load(j, p, t);
    for (int i = 0; i < j->count && !s; i++)
        for (int k = 0; k < UK_FORMS && !s; k++)
            if (j->list[i]->form[k].is_declared)
                s = verify_form(j, i, (enum uk_form_kind)k);
    uk_jit_destroy(j->jit);
    free(j->device.image);
    return s;
}

static enum uk_status verify(struct uk_context *c, struct uk_program *p, struct uk_intrinsic *const *list,
                             int count, const struct uk_verify_options *options, char **report) {
    static const struct uk_verify_options none;
    struct job j = {.context = c, .options = options ? options : &none, .list = list, .count = count};
    void *shared = mmap(NULL, sizeof *j.verdict, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (shared == MAP_FAILED)
        return fail_to_start(c, "no memory to share with a process");
    j.verdict = shared;
    j.asm_found = calloc((size_t)count * UK_FORMS, sizeof *j.asm_found);
    enum uk_status s = j.asm_found ? verify_all(&j, p) : uk_out_of_memory(c);

    for (int i = 0; i < count * UK_FORMS && j.asm_found; i++)
        uk_text_free(j.asm_found[i].text);
    free(j.asm_found);
    munmap(shared, sizeof *j.verdict);
    if (!s && j.report.failed)
        s = uk_out_of_memory(c);
    if (s)
        uk_text_free(j.report.text);
    else
        *report = j.report.text;
    return s ? s : j.wrong ? UK_WRONG_RESULT : UK_OK;
}

enum uk_status uk_verify(struct uk_program *p, const struct uk_verify_options *options, char **report) {
    struct uk_arena arena = {0};
    int count = 0;

    if (report)
        *report = NULL;
    enum uk_status s = uk_program_check(p);
    if (!s)
        s = uk_require(p->context, report, "the place for the report");
    if (s)
        return s;
    for (const struct uk_intrinsic *i = p->intrinsics; i; i = i->next)
        count++;
    if (!count)
        return uk_fail(p->context, UK_REFUSED, (struct uk_position){0, 0},
                       "the program declares no intrinsic; there is nothing to verify");
    struct uk_intrinsic **list = uk_alloc(&arena, (size_t)count * sizeof *list);

    if (!list)
        return uk_out_of_memory(p->context);
    count = 0;
    for (struct uk_intrinsic *i = p->intrinsics; i; i = i->next)
        list[count++] = i;
    s = verify(p->context, p, list, count, options, report);
    uk_imports_close(p);
    uk_arena_free(&arena);
    return s;
}

enum uk_status uk_verify_kernel(struct uk_context *c, const struct uk_kernel *kernel,
                                const struct uk_verify_options *options, char **report) {
    struct uk_verify_options o = options ? *options : (struct uk_verify_options){0};
    struct uk_program none = {.context = c};
    struct uk_intrinsic *i;

    if (report)
        *report = NULL;
    if (!c)
        return UK_INVALID_ARGUMENT;
    uk_context_enter(c, NULL);
    enum uk_status s = uk_require(c, kernel, "the kernel");
    if (!s)
        s = uk_require(c, report, "the place for the report");
    if (s)
        return s;
    const struct uk_target *device = uk_target_of_device(kernel);

    if (!o.target && device)
        o.target = device->name;
    s = uk_context_intrinsic(c, kernel, &i);

    return s ? s : verify(c, &none, &i, 1, &o, report);
}
