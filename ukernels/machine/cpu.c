/* SPDX-License-Identifier: Apache-2.0 */
/* Features and instruction sets of this CPU, limited by UK_ISA. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "arch.h"
#include "cpu.h"
#include "machine.h"
#include "ukernels.h"

/* Instruction sets, weakest first, as in archs.def. Those of other architectures have an empty name. */
static const struct isa {
    const char *name, *features, *private;
} isas[] = {
#define UK_ISA_ROW(name, arch, features, flags, private) \
    {UK_IS_HERE(arch) ? #name : "", UK_IS_HERE(arch) ? features : "", UK_IS_HERE(arch) ? private : ""},
#include "archs.def"
};
enum { ISAS = sizeof isas / sizeof *isas };

/*
 * State, set once by read_environment:
 *
 *     visible            number of rows of isas that UK_ISA leaves visible
 *     taken              private features, which no system reports, that the CPU is taken to have
 *     known              the features of isas; `has`: the CPU has it, and the weakest row that needs it is
 *                        visible
 *     status, message    the error in UK_ISA; or a note about private features
 */
static int visible = ISAS;
#ifndef UK_CPU_HAS
#define UK_CPU_HAS "" /* the build's option cpu_has */
#endif
static const char *taken = UK_CPU_HAS;
static struct feature {
    const char *name; /* ends at a comma, or at the end */
    size_t length;
    bool has;
} known[24];
static int knowns;
static enum uk_status status;
static char message[160];
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The length of a list's first feature. */
static size_t head(const char *list) {
    return strcspn(list, ",");
}

static bool lists(const char *list, const char *name, size_t length) {
    for (; *list; list += head(list) + (list[head(list)] == ','))
        if (head(list) == length && !memcmp(list, name, length))
            return true;
    return false;
}

static bool hardware(const char *name, size_t length) {
    char whole[32]; /* no feature's name is longer */

    if (length >= sizeof whole)
        return false;
    memcpy(whole, name, length);
    whole[length] = 0;
    return lists(taken, name, length) || uk_hardware_has(whole);
}

static const struct feature *find(const char *name, size_t length) {
    for (int i = 0; i < knowns; i++)
        if (known[i].length == length && !memcmp(known[i].name, name, length))
            return &known[i];
    return NULL;
}

static bool has(const char *name, size_t length) {
    const struct feature *f = find(name, length);

    return f ? f->has : hardware(name, length);
}

static bool lacks(const char *features, bool (*has_it)(const char *, size_t), char *name, size_t size) {
    for (size_t n; *features; features += n + (features[n] == ',')) {
        n = head(features);
        if (!has_it(features, n)) {
            snprintf(name, size, "%.*s", (int)n, features);
            return true;
        }
    }
    if (size)
        name[0] = 0;
    return false;
}

static void look_for_features(void) {
    for (int i = 0; i < ISAS; i++)
        for (const char *f = isas[i].features; *f; f += head(f) + (f[head(f)] == ','))
            if (!find(f, head(f)) && knowns < (int)(sizeof known / sizeof *known))
                known[knowns++] = (struct feature){f, head(f), i < visible && hardware(f, head(f))};
}

static void read_isa(void) {
    const char *wanted = getenv("UK_ISA");
    char missing[32];
    int i = 0;

    if (!wanted || !*wanted)
        return;
    while (i < ISAS && strcmp(isas[i].name, wanted))
        i++;
    visible = 1;
    if (i < ISAS && *isas[i].private)
        taken = isas[i].private;
    if (i == ISAS) {
        int n =
            snprintf(message, sizeof message, "UK_ISA=%.20s is not an instruction set; use one of", wanted);

        for (i = 0; i < ISAS && n < (int)sizeof message; i++)
            if (*isas[i].name)
                n += snprintf(message + n, sizeof message - (size_t)n, "%s %s", i ? "," : "", isas[i].name);
        status = UK_INVALID_ARGUMENT;
    } else if (lacks(isas[i].features, hardware, missing, sizeof missing)) {
        snprintf(message, sizeof message,
                 "UK_ISA=%s needs %s, which this CPU lacks; unset it or take a lower one", wanted, missing);
        status = UK_UNSUPPORTED;
    } else {
        visible = i + 1;
    }
}

/* If the strongest visible row has a private feature: sets `message` to a note that says if it is used. */
static void explain_private(void) {
    const struct isa *strongest = NULL;

    for (int i = 0; i < visible; i++)
        if (*isas[i].name)
            strongest = &isas[i];
    if (status || !*strongest->private)
        return;
    if (!lists(taken, strongest->private, head(strongest->private)))
        snprintf(message, sizeof message,
                 "%s is not used, as the system does not report it; UK_ISA=%s uses it", strongest->private,
                 strongest->name);
    else
        snprintf(message, sizeof message, "%s is used because %s; the system does not report it",
                 strongest->private, *UK_CPU_HAS ? "the library was built for it" : "UK_ISA says so");
}

static void read_environment(void) {
    read_isa();
    look_for_features();
    explain_private();
}

bool uk_cpu_has(const char *feature) {
    pthread_once(&once, read_environment);
    return feature && has(feature, strlen(feature));
}

bool uk_cpu_lacks(const char *features, char *name, size_t size) {
    pthread_once(&once, read_environment);
    return lacks(features ? features : "", has, name, name ? size : 0);
}

enum uk_status uk_cpu_status(const char **text) {
    pthread_once(&once, read_environment);
    const char *why;

    if (!status && uk_machine_is_refused(&why)) {
        if (text)
            *text = why;
        return UK_INVALID_ARGUMENT;
    }
    if (text)
        *text = message;
    return status;
}
