/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Trials of uk tune for another architecture: counts instructions under the emulator, whose speed is
 * meaningless. Counts are deterministic, so one call of a schedule suffices and any difference counts.
 */
#define _GNU_SOURCE /* memfd_create */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "tune.h"

const char *tune_cost_text(const struct tune_bench *b, double cost, char text[32]) {
    snprintf(text, 32, b->is_counted ? "%.0f instructions" : "%.4g ms", b->is_counted ? cost : 1e3 * cost);
    return text;
}

void tune_capture_errors(void) {
    const int said = memfd_create("uk tune", 0);

    dup2(said, STDERR_FILENO);
    close(said);
}

/* Copies the text on standard error as the reason. */
static void take_message(int file, char *message, size_t size) {
    char text[2048];
    ssize_t n = pread(file, text, sizeof text - 1, 0);

    text[n > 0 ? n : 0] = 0;
    text[strcspn(text, "\n")] = 0;
    snprintf(message, size, "%s", text);
}

/* Outcome by the way the emulator ended, which is that of its code. */
static enum tune_outcome outcome_of(const char *message) {
    char late[32];

    snprintf(late, sizeof late, "by signal %d ", SIGXCPU);
    return strstr(message, late) ? TUNE_TIMEOUT : strstr(message, "by signal ") ? TUNE_CRASH : TUNE_REFUSED;
}

enum tune_outcome tune_captured_error(char *message, size_t size) {
    take_message(STDERR_FILENO, message, size);
    return outcome_of(message);
}

enum tune_outcome tune_count(struct tune_bench *b, const char *steps, double *count, char *message,
                             size_t size) {
    struct uk_emulated_counts counts = {0};
    struct uk_emulation *e = NULL;
    int32_t refused = 0;

    if (uk_program_schedule(b->job.program, "candidate", steps, strlen(steps))) {
        snprintf(message, size, "%s", uk_context_message(b->job.context));
        return TUNE_REFUSED;
    }
    tune_capture_errors();
    int status = uk_emulation_begin(&e, &b->job, b->sizes, b->scalars, &b->data);
    if (!status) {
        tune_capture_errors(); /* after the compiler, so that its notes are not included */
        status = uk_emulation_count_run(e, b->job.program->name, &b->data, &refused, &counts);
    }
    uk_emulation_end(e);
    *count = (double)counts.instructions;
    uk_counts_free(&counts);
    if (status)
        return tune_captured_error(message, size);
    if (refused) {
        snprintf(message, size, "the function refused its arguments: %s",
                 uk_status_text((enum uk_status)refused));
        return TUNE_REFUSED;
    }
    return TUNE_OK;
}
