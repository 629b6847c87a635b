/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy as a peer of uk bench ops: the embedded script bench/ops/numpy_peer.py in a process of its own, which
 * is asked by a line of JSON and answers by another. It waits while others are measured. */
#define _GNU_SOURCE
#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "child.h"
#include "ops.h"

extern const char uk_bench_numpy_text[];

/* NULL: the process has ended. */
static cJSON *read_answer(struct uk_numpy *n) {
    char *line = NULL;
    size_t room = 0;
    const ssize_t length = getline(&line, &room, n->from);
    cJSON *answer = length > 0 ? cJSON_Parse(line) : NULL;
    free(line);
    return answer;
}

/* Starts Python. Returns 0 or an errno value. */
static int start(struct uk_numpy *n) {
    char *argv[] = {(char *)uk_bench_python(), "-c", (char *)uk_bench_numpy_text, NULL};
    int request[2], answer[2];
    if (pipe2(request, O_CLOEXEC) || pipe2(answer, O_CLOEXEC))
        return errno;
    const int error = uk_start_child(argv, (const int[]){request[0], answer[1], -1}, &n->open_end, &n->pid);
    close(request[0]);
    close(answer[1]);
    n->to = fdopen(request[1], "w");
    n->from = fdopen(answer[0], "r");
    n->has_started = !error;
    return error ? error : n->to && n->from ? 0 : ENOMEM;
}

void uk_numpy_begin(struct uk_numpy *n) {
    *n = (struct uk_numpy){0};
    signal(SIGPIPE, SIG_IGN); /* a process that has ended is noticed by its missing answer */
    const int error = start(n);
    cJSON *first = error ? NULL : read_answer(n);
    const char *version = cJSON_GetStringValue(cJSON_GetObjectItem(first, "version"));
    const char *why = cJSON_GetStringValue(cJSON_GetObjectItem(first, "error"));
    if (version)
        snprintf(n->detail, sizeof n->detail, "NumPy %s", version);
    else if (error)
        snprintf(n->detail, sizeof n->detail, "%s cannot be started: %s", uk_bench_python(), strerror(error));
    else
        snprintf(n->detail, sizeof n->detail, "%s", why ? why : "its process ended");
    n->missing = !version;
    cJSON_Delete(first);
}

static char *request_of(const struct bench_op_call *c) {
    cJSON *row = cJSON_CreateObject(), *tensors = cJSON_AddArrayToObject(row, "tensors");
    cJSON_AddStringToObject(row, "code", c->op->numpy);
    cJSON_AddNumberToObject(row, "bytes", (bench_op_bytes_in(c) + bench_op_bytes_out(c)) / 2);
    for (int i = 0; i < c->tensors; i++) {
        const struct bench_op_tensor *t = &c->tensor[i];
        cJSON *tensor = cJSON_CreateObject(), *shape = cJSON_AddArrayToObject(tensor, "shape");
        cJSON_AddStringToObject(tensor, "name", t->name);
        cJSON_AddStringToObject(tensor, "type", t->type);
        cJSON_AddNumberToObject(tensor, "least", t->least);
        cJSON_AddNumberToObject(tensor, "most", t->most);
        for (int d = 0; d < t->dims; d++)
            cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)t->extent[d]));
        cJSON_AddItemToArray(tensors, tensor);
    }
    char *text = cJSON_PrintUnformatted(row);
    cJSON_Delete(row);
    return text;
}

struct uk_numpy_times uk_numpy_measure(struct uk_numpy *n, const struct bench_op_call *c) {
    struct uk_numpy_times times = {0};
    if (n->missing || !*c->op->numpy)
        return times;
    char *text = request_of(c);
    if (!text)
        return times;
    fprintf(n->to, "%s\n", text);
    fflush(n->to);
    cJSON *answer = read_answer(n);
    const char *error = cJSON_GetStringValue(cJSON_GetObjectItem(answer, "error"));
    n->missing = !answer;
    if (answer && !error) {
        times.seconds = cJSON_GetNumberValue(cJSON_GetObjectItem(answer, "seconds"));
        times.copy = cJSON_GetNumberValue(cJSON_GetObjectItem(answer, "copy_seconds"));
    } else {
        fprintf(stderr, "NumPy: %s: %s\n", c->op->name, error ? error : "its process ended");
    }
    cJSON_Delete(answer);
    cJSON_free(text);
    return times;
}

void uk_numpy_end(struct uk_numpy *n) {
    if (n->to)
        fclose(n->to); /* the process ends with its input */
    if (n->from)
        fclose(n->from);
    if (n->has_started) {
        close(n->open_end);
        waitpid(n->pid, NULL, 0);
    }
    *n = (struct uk_numpy){.missing = true};
}
