/* SPDX-License-Identifier: Apache-2.0 */
/* The log of uk tune: one JSON object per line, written at once, so an interrupted search leaves whole lines
 * and can be resumed. */
#define _GNU_SOURCE
#include <cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "file.h"
#include "program.h"
#include "tune.h"

static const char *const outcomes[TUNE_OUTCOMES] = {"ok",    "refused", "crash",    "timeout",
                                                    "wrong", "bound",   "expensive"};

const char *tune_outcome_text(enum tune_outcome outcome) {
    return outcomes[outcome];
}

/* ---- the key ---- */

static void hash(uint64_t *h, const char *text) {
    for (; *text; text++)
        *h = (*h ^ (unsigned char)*text) * 0x100000001b3u;
    *h = (*h ^ 0xff) * 0x100000001b3u;
}

static void hash_cpu(uint64_t *h) {
    char line[256];
    FILE *f = fopen("/proc/cpuinfo", "r");

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "model name", 10)) {
            hash(h, line);
            break;
        }
    if (f)
        fclose(f);
}

/* Hashes the conditions under which times are comparable. The program's own steps do not matter. */
static int make_key(struct tune_log *l, struct uk_job *job) {
    char *text, rest[256];
    const char *isa = getenv("UK_ISA");
    uint64_t h = 0xcbf29ce484222325u;
    enum uk_status status = uk_program_print(job->program, &text);

    if (status)
        return uk_job_failed(job, status);
    char *schedule = strstr(text, "\nschedule\n");
    if (schedule)
        *schedule = 0;
    hash(&h, text);
    uk_text_free(text);
    snprintf(rest, sizeof rest, "%s/%d/%d/%s", job->options.target ? job->options.target : "native",
             job->options.threads, job->options.require_kernels, isa ? isa : "");
    hash(&h, rest);
    for (const struct uk_var *v = job->program->sizes; v; v = v->next) {
        snprintf(rest, sizeof rest, "%s=%" PRId64, v->name, l->sizes[v->number]);
        hash(&h, rest);
    }
    /* Counts do not depend on the CPU. */
    if (uk_board_in_use())
        hash(&h, uk_board_in_use()->cpu);
    else if (!uk_is_emulated(job->options.target))
        hash_cpu(&h);
    snprintf(l->key, sizeof l->key, "%016" PRIx64, h);
    return UK_EXIT_OK;
}

/* ---- reading ---- */

static double number_in(const cJSON *o, const char *name) {
    const cJSON *n = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsNumber(n) ? n->valuedouble : 0;
}

static const char *text_in(const cJSON *o, const char *name) {
    const cJSON *s = cJSON_GetObjectItemCaseSensitive(o, name);

    return cJSON_IsString(s) ? s->valuestring : NULL;
}

/* Unit of a call's cost. */
static const char *unit(const struct tune_log *l) {
    return uk_is_emulated(l->arguments->target) && !uk_board_in_use() ? "instructions" : "seconds";
}

/* Reads a line; false: it is not a trial. */
static bool take_line(struct tune_log *l, const cJSON *o, struct tune_search *s, bool *out_of_memory) {
    const char *key = text_in(o, "key"), *steps = text_in(o, "schedule"), *outcome = text_in(o, "status"),
               *message = text_in(o, "message");
    struct tune_trial t = {.seconds = number_in(o, unit(l)),
                           .speed = number_in(o, "speed"),
                           .rounds = (int)number_in(o, "rounds"),
                           .is_start = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(o, "start"))};
    int i = 0;

    while (outcome && i < TUNE_OUTCOMES && strcmp(outcome, outcomes[i]))
        i++;
    if (!key || !steps || !outcome || i == TUNE_OUTCOMES)
        return false;
    t.outcome = (enum tune_outcome)i;
    snprintf(t.message, sizeof t.message, "%s", message ? message : "");
    if (strcmp(key, l->key)) {
        l->others++;
        return true;
    }
    struct tune_trial *known = tune_find(s, steps);
    t.steps = strdup(steps);
    if (known) { /* a later, more accurate measurement */
        free(t.steps);
        t.steps = known->steps;
        *known = t;
    } else if (!t.steps || !tune_add(s, t)) {
        *out_of_memory = true;
    }
    return true;
}

static int read_lines(struct tune_log *l, char *text, size_t length, struct tune_search *s, size_t *whole) {
    int line = 1;
    bool out_of_memory = false;

    *whole = 0;
    for (char *end; (end = memchr(text + *whole, '\n', length - *whole)); line++) {
        cJSON *o = cJSON_ParseWithLength(text + *whole, (size_t)(end - text) - *whole);
        bool taken = o && take_line(l, o, s, &out_of_memory);

        cJSON_Delete(o);
        if (out_of_memory)
            return uk_complain(UK_EXIT_WRONG, "out of memory");
        if (!taken)
            return uk_complain(UK_EXIT_WRONG, "%s:%d: not a trial of uk tune; give another file as --log",
                               l->path, line);
        *whole = (size_t)(end - text) + 1;
    }
    return UK_EXIT_OK;
}

int tune_log_open(struct tune_log *l, struct uk_job *job, const struct uk_arguments *a, const int64_t *sizes,
                  struct tune_search *s) {
    size_t length = 0, whole = 0;
    char *text = NULL;

    *l = (struct tune_log){.file = -1,
                           .path = a->log,
                           .program = job->program,
                           .arguments = a,
                           .sizes = sizes,
                           .threads = job->options.threads};
    int status = make_key(l, job);
    if (status || !a->log)
        return status;
    if (uk_is_stdin(a->log))
        return uk_complain(UK_EXIT_USAGE, "--log is read and written; give a file");
    l->file = open(a->log, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (l->file < 0)
        return uk_complain(UK_EXIT_WRONG, "%s: cannot write: %s", a->log, strerror(errno));
    if (!(text = uk_read_file(a->log, &length)))
        return UK_EXIT_WRONG;
    status = read_lines(l, text, length, s, &whole);
    free(text);
    if (!status && whole < length && ftruncate(l->file, (off_t)whole))
        status = uk_complain(UK_EXIT_WRONG, "%s: cannot write: %s", a->log, strerror(errno));
    return status;
}

/* ---- writing ---- */

static cJSON *sizes_object(const struct tune_log *l) {
    cJSON *o = cJSON_CreateObject();

    for (const struct uk_var *v = l->program->sizes; o && v; v = v->next)
        if (!cJSON_AddNumberToObject(o, v->name, (double)l->sizes[v->number])) {
            cJSON_Delete(o);
            return NULL;
        }
    return o;
}

/* Formats the trial as a line; the caller frees it. NULL: out of memory. */
static char *make_line(const struct tune_log *l, const struct tune_trial *t, int number) {
    cJSON *o = cJSON_CreateObject(), *sizes = sizes_object(l);
    bool made =
        o && sizes && cJSON_AddStringToObject(o, "key", l->key) &&
        cJSON_AddStringToObject(o, "program", l->program->name) &&
        cJSON_AddStringToObject(o, "target", l->arguments->target ? l->arguments->target : "native") &&
        cJSON_AddNumberToObject(o, "threads", l->threads);
    if (made && cJSON_AddItemToObject(o, "sizes", sizes))
        sizes = NULL;
    made =
        made && !sizes && cJSON_AddNumberToObject(o, "trial", number) &&
        cJSON_AddStringToObject(o, "status", outcomes[t->outcome]) &&
        cJSON_AddNumberToObject(o, unit(l), t->seconds) && cJSON_AddNumberToObject(o, "speed", t->speed) &&
        cJSON_AddNumberToObject(o, "rounds", t->rounds) && cJSON_AddBoolToObject(o, "start", t->is_start) &&
        cJSON_AddStringToObject(o, "schedule", t->steps) && cJSON_AddStringToObject(o, "message", t->message);
    char *line = made ? cJSON_PrintUnformatted(o) : NULL;
    cJSON_Delete(sizes);
    cJSON_Delete(o);
    return line;
}

int tune_log_add(const struct tune_log *l, const struct tune_trial *t, int number) {
    if (l->file < 0)
        return UK_EXIT_OK;
    char *line = make_line(l, t, number);
    size_t length = line ? strlen(line) : 0;
    if (!line)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    line[length] = '\n'; /* replaces the terminating NUL, so that one write writes the line */
    ssize_t written = write(l->file, line, length + 1);
    cJSON_free(line);
    return written == (ssize_t)length + 1
               ? UK_EXIT_OK
               : uk_complain(UK_EXIT_WRONG, "%s: cannot write: %s", l->path, strerror(errno));
}

void tune_log_close(struct tune_log *l) {
    if (l->file >= 0)
        close(l->file);
    l->file = -1;
}
