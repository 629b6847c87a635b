/* SPDX-License-Identifier: Apache-2.0 */
/* Output common to all forms of uk bench: Google Benchmark's schema, and the comparison with an earlier
 * run. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "benchmarks.h"
#include "file.h"

/* Copies "model name" of /proc/cpuinfo, or "unknown". */
static void cpu_name(char *name, size_t size) {
    char line[512];
    FILE *f = fopen("/proc/cpuinfo", "r");
    snprintf(name, size, "unknown");
    while (f && fgets(line, sizeof line, f)) {
        char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) || !colon)
            continue;
        colon[strcspn(colon, "\n")] = 0;
        snprintf(name, size, "%s", colon[1] ? colon + 2 : "unknown");
        break;
    }
    if (f)
        fclose(f);
}

cJSON *uk_bench_json(void) {
    cJSON *all = cJSON_CreateObject(), *context = cJSON_AddObjectToObject(all, "context");
    char text[256] = "";
    double load[3] = {0};
    time_t now = time(NULL);
    struct tm local;
    if (localtime_r(&now, &local))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &local);
    cJSON_AddStringToObject(context, "date", text);
    if (gethostname(text, sizeof text - 1))
        *text = 0;
    cJSON_AddStringToObject(context, "host_name", text);
    cJSON_AddStringToObject(context, "executable", "uk bench");
    cJSON_AddNumberToObject(context, "num_cpus", (double)sysconf(_SC_NPROCESSORS_ONLN));
    cpu_name(text, sizeof text);
    cJSON_AddStringToObject(context, "cpu", text);
    FILE *f = fopen("/proc/loadavg", "r");
    if (f && fscanf(f, "%lf %lf %lf", &load[0], &load[1], &load[2]) == 3)
        cJSON_AddItemToObject(context, "load_avg", cJSON_CreateDoubleArray(load, 3));
    if (f)
        fclose(f);
    cJSON_AddStringToObject(context, "library_version", uk_version());
    cJSON_AddArrayToObject(all, "benchmarks");
    return all;
}

cJSON *uk_bench_record(cJSON *all, const char *name, const struct bench_contender *c, int threads) {
    cJSON *b = cJSON_CreateObject();
    cJSON_AddStringToObject(b, "name", name);
    cJSON_AddStringToObject(b, "run_name", name);
    cJSON_AddStringToObject(b, "run_type", "iteration");
    cJSON_AddNumberToObject(b, "repetitions", 1);
    cJSON_AddNumberToObject(b, "repetition_index", 0);
    cJSON_AddNumberToObject(b, "threads", threads);
    cJSON_AddNumberToObject(b, "iterations", (double)c->calls);
    cJSON_AddNumberToObject(b, "real_time", 1e9 * c->seconds);
    cJSON_AddNumberToObject(b, "cpu_time", 1e9 * c->seconds);
    cJSON_AddStringToObject(b, "time_unit", "ns");
    cJSON_AddNumberToObject(b, "fastest", 1e9 * c->fastest);
    cJSON_AddNumberToObject(b, "slowest", 1e9 * c->slowest);
    if (c->percent > 0) {
        cJSON_AddNumberToObject(b, "percent_of_peak", c->percent);
        cJSON_AddNumberToObject(b, "percent_low", c->percent_low);
        cJSON_AddNumberToObject(b, "percent_high", c->percent_high);
    }
    cJSON_AddItemToArray(cJSON_GetObjectItem(all, "benchmarks"), b);
    return b;
}

/* ---- comparison ---- */

static double number(const cJSON *b, const char *name) {
    const cJSON *item = cJSON_GetObjectItem(b, name);
    return cJSON_IsNumber(item) ? item->valuedouble : 0;
}

static const char *string(const cJSON *b, const char *name) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItem(b, name));
    return text ? text : "";
}

/* Speed as a share of the peak measured next to the samples, if there is one, because clock rates differ
 * between runs. */
struct speed {
    double middle, low, high;
};

static struct speed speed_of(const cJSON *b) {
    double percent = number(b, "percent_of_peak"), time = number(b, "real_time");
    if (percent > 0)
        return (struct speed){percent, number(b, "percent_low"), number(b, "percent_high")};
    double slowest = number(b, "slowest"), fastest = number(b, "fastest");
    if (!(time > 0 && slowest > 0 && fastest > 0))
        return (struct speed){0};
    return (struct speed){1 / time, 1 / slowest, 1 / fastest};
}

/* A difference counts if the interquartile ranges do not overlap and the medians differ by more than the
 * effect of memory placement on a process. */
static int verdict(struct speed now, struct speed before) {
    const double placement = 0.03;
    if (now.high < before.low && now.middle < (1 - placement) * before.middle)
        return -1;
    return now.low > before.high && now.middle > (1 + placement) * before.middle;
}

static const cJSON *find(const cJSON *list, const char *name) {
    const cJSON *b;
    cJSON_ArrayForEach(b, list) if (!strcmp(string(b, "name"), name)) return b;
    return NULL;
}

static bool is_peer(const cJSON *b) {
    const char *library = string(b, "library");
    return *library && strncmp(library, "ukernels", 8);
}

static cJSON *read_old(const char *path) {
    size_t length;
    char *text = uk_read_file(path, &length);
    if (!text)
        return NULL;
    cJSON *old = cJSON_ParseWithLength(text, length);
    free(text);
    if (cJSON_IsArray(cJSON_GetObjectItem(old, "benchmarks")))
        return old;
    cJSON_Delete(old);
    uk_complain(UK_EXIT_WRONG, "%s is not a file of uk bench --json; write one with it", path);
    return NULL;
}

static int compare(const cJSON *now, const cJSON *before, const char *path, FILE *out) {
    int slower = 0, faster = 0, same = 0, added = 0, peers = 0;
    const cJSON *list = cJSON_GetObjectItem(now, "benchmarks"), *b;
    double *drift = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *drift);
    if (!drift)
        return uk_complain(UK_EXIT_WRONG, "out of memory");
    cJSON_ArrayForEach(b, list) {
        const cJSON *old = find(cJSON_GetObjectItem(before, "benchmarks"), string(b, "name"));
        struct speed is = speed_of(b), was = old ? speed_of(old) : (struct speed){0};
        if (!(is.middle > 0 && was.middle > 0)) {
            added += !is_peer(b);
        } else if (is_peer(b)) {
            drift[peers++] = is.middle / was.middle;
        } else {
            int v = verdict(is, was);
            slower += v < 0;
            faster += v > 0;
            same += !v;
            if (v)
                fprintf(out, "%s: %s, %.3f x its speed\n", string(b, "name"), v < 0 ? "slower" : "faster",
                        is.middle / was.middle);
        }
    }
    fprintf(out, "compared with %s: %d slower, %d faster, %d within noise, %d not in both", path, slower,
            faster, same, added);
    if (peers)
        fprintf(out, "; the peers, which did not change, have %.3f x their speed",
                bench_median(drift, peers));
    fputc('\n', out);
    free(drift);
    return slower ? UK_EXIT_WRONG : UK_EXIT_OK;
}

int uk_bench_check(const struct uk_arguments *a) {
    cJSON *old = a->compare ? read_old(a->compare) : NULL;
    int status = a->compare && !old ? UK_EXIT_WRONG : UK_EXIT_OK;
    cJSON_Delete(old);
    return status ? status : uk_check_output(a->json_file);
}

int uk_bench_finish(const struct uk_arguments *a, const cJSON *all) {
    int status = UK_EXIT_OK;
    cJSON *old = a->compare ? read_old(a->compare) : NULL;
    if (a->compare && !old)
        return UK_EXIT_WRONG;
    if (a->json) {
        char *text = cJSON_Print(all);
        size_t length = text ? strlen(text) : 0;
        if (!text)
            status = uk_complain(UK_EXIT_WRONG, "out of memory");
        else
            status = uk_write_output(a->json_file, text, length);
        cJSON_free(text);
        if (!status && !a->json_file)
            putchar('\n');
    }
    /* Standard output holds the JSON if that has no file. */
    if (!status && old)
        status = compare(all, old, a->compare, a->json && !a->json_file ? stderr : stdout);
    cJSON_Delete(old);
    return status;
}

/* ---- ratios of a set ---- */

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void uk_bench_print_ratios_header(FILE *table) {
    fprintf(table, "\n| set | x | shapes | geometric mean | median | lowest 5 %% | worst | below 0.97 "
                   "|\n|---|---|---:|---:|---:|---:|---:|---:|\n");
}

void uk_bench_print_ratios(FILE *table, const char *set, const char *to, double *ratio, int count) {
    double logs = 0;
    int below = 0;
    if (!count)
        return;
    for (int i = 0; i < count; i++) {
        logs += log(ratio[i] > 0 ? ratio[i] : 1e-9);
        below += ratio[i] < 0.97;
    }
    qsort(ratio, (size_t)count, sizeof *ratio, by_value);
    fprintf(table, "| %s | %s | %d | %.3f | %.3f | %.3f | %.3f | %d |\n", set, to, count, exp(logs / count),
            bench_median(ratio, count), ratio[(count + 19) / 20 - 1], ratio[0], below);
}
