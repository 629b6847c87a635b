/* SPDX-License-Identifier: Apache-2.0 */
/* Uses of a program: checks, prints, compiles, interprets, explains, verifies and tunes it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "uses.h"

const struct uk_options plain_options = {.target = "x86_64-avx2"};

static enum uk_status use_check(struct uk_program *p) {
    return uk_program_check(p);
}

static enum uk_status use_print(struct uk_program *p) {
    char *text = (char *)p;
    const enum uk_status s = uk_program_print(p, &text);

    assert_true(!s == (text != NULL));
    uk_text_free(text);
    return s;
}

static enum uk_status use_define(struct uk_program *p) {
    return uk_program_define(p, "N", 8);
}

enum uk_status use_schedule(struct uk_program *p) {
    return uk_program_schedule(p, "other.uk", "", 0);
}

static enum uk_status use_interpret(struct uk_program *p) {
    float x[2] = {1, 2}, y[2] = {0};

    return uk_program_interpret(p, (int64_t[]){2}, NULL, (void *[]){x, y});
}

static enum uk_status compile_for(struct uk_program *p, const char *target) {
    const struct uk_options o = {.target = target};
    struct uk_module *m = (struct uk_module *)p;
    const enum uk_status s = uk_compile(p, &o, &m);

    assert_true(!s == (m != NULL));
    uk_module_destroy(m);
    return s;
}

static enum uk_status use_compile(struct uk_program *p) {
    return compile_for(p, "x86_64-avx2");
}

static enum uk_status use_compile_interp(struct uk_program *p) {
    return compile_for(p, "interp");
}

enum uk_status emit_what(struct uk_program *const p[], int count, enum uk_emit what) {
    char *bytes = (char *)p;
    size_t length = 1;
    const enum uk_status s = count == 1 ? uk_emit(p[0], &plain_options, what, &bytes, &length)
                                        : uk_emit_programs(p, count, &plain_options, what, &bytes, &length);

    assert_true(!s == (bytes != NULL) && !s == (length > 0));
    uk_text_free(bytes);
    return s;
}

static enum uk_status use_emit_schedule(struct uk_program *p) {
    return emit_what(&p, 1, UK_EMIT_SCHEDULE);
}

enum uk_status use_emit_loops(struct uk_program *p) {
    return emit_what(&p, 1, UK_EMIT_LOOPS);
}

static enum uk_status use_emit_llvm(struct uk_program *p) {
    return emit_what(&p, 1, UK_EMIT_LLVM);
}

static enum uk_status use_emit_object(struct uk_program *p) {
    return emit_what(&p, 1, UK_EMIT_OBJECT);
}

static enum uk_status use_emit_header(struct uk_program *p) {
    return emit_what(&p, 1, UK_EMIT_HEADER);
}

static enum uk_status use_explain(struct uk_program *p) {
    char *text = (char *)p;
    const enum uk_status s = uk_explain(p, &plain_options, &text);

    assert_true(!s == (text != NULL));
    uk_text_free(text);
    return s;
}

static enum uk_status use_verify(struct uk_program *p) {
    const struct uk_verify_options o = {.target = "x86_64-avx2", .cases = 1};
    char *report = (char *)p;
    const enum uk_status s = uk_verify(p, &o, &report);

    assert_true(!s == (report != NULL));
    uk_text_free(report);
    return s;
}

static enum uk_status use_schedule_start(struct uk_program *p) {
    char *steps = (char *)p;
    int cursor = 0;
    const enum uk_status s = uk_schedule_start(p, &plain_options, &cursor, &steps);

    assert_true(!s == (steps != NULL));
    uk_text_free(steps);
    return s;
}

static enum uk_status use_schedule_change(struct uk_program *p) {
    char *steps = (char *)p;
    uint64_t random = 1;
    const enum uk_status s = uk_schedule_change(p, &plain_options, "split Y.i 4 -> io ii", &random, &steps);

    assert_true(!s == (steps != NULL));
    uk_text_free(steps);
    return s;
}

static enum uk_status use_schedule_bound(struct uk_program *p) {
    double operations = -1;
    const enum uk_status s = uk_schedule_bound(p, &plain_options, "", &operations);

    assert_true(operations == 0);
    return s;
}

const struct program_use program_uses[] = {
    {"check", use_check},
    {"print", use_print},
    {"define", use_define},
    {"schedule", use_schedule},
    {"interpret", use_interpret},
    {"compile", use_compile},
    {"compile for interp", use_compile_interp},
    {"emit the schedule", use_emit_schedule},
    {"emit the loops", use_emit_loops},
    {"emit LLVM", use_emit_llvm},
    {"emit an object", use_emit_object},
    {"emit the header", use_emit_header},
    {"explain", use_explain},
    {"verify", use_verify},
    {"uk_schedule_start", use_schedule_start},
    {"uk_schedule_change", use_schedule_change},
    {"uk_schedule_bound", use_schedule_bound},
};
const int program_use_count = sizeof program_uses / sizeof *program_uses;
