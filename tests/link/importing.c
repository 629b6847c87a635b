/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* mkdtemp */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "importing.h"

struct uk_context *context;
const char *clang;
char folder[] = "/tmp/uk-import-XXXXXX";

void run(const char *format, ...) {
    char command[4096];
    va_list ap;

    va_start(ap, format);
    vsnprintf(command, sizeof command, format, ap);
    va_end(ap);
    if (system(command))
        fail_msg("%s", command);
}

void write_file(const char *name, const char *text) {
    char path[256];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

void write_object(const char *name, const char *c) {
    write_file("object.c", c);
    run("%s -O1 -fno-vectorize -ffreestanding -c %s/object.c -o %s/%s", clang, folder, folder, name);
}

struct uk_program *parse(const char *name, const char *text) {
    char path[256];
    struct uk_program *p;

    snprintf(path, sizeof path, "%s/%s.uk", folder, name);
    if (uk_program_parse(context, path, text, strlen(text), &p))
        fail_msg("%s", uk_context_message(context));
    return p;
}

static void check_outcome(const char *target, enum uk_status got, enum uk_status wanted,
                          const char *const word[]) {
    const char *message = uk_context_message(context);

    if (got != wanted)
        fail_msg("%s: status %d instead of %d: %s", target ? target : "this machine", got, wanted, message);
    for (int i = 0; word[i]; i++)
        if (!strstr(message, word[i]))
            fail_msg("no '%s' in: %s", word[i], message);
}

void refuses(const char *text, const char *target, enum uk_status status, const char *const word[]) {
    const struct uk_options options = {.target = target, .require_kernels = true};
    struct uk_program *p = parse("sum", text);
    struct uk_module *m;

    check_outcome(target, uk_compile(p, &options, &m), status, word);
    assert_null(m);
    uk_program_destroy(p);
}

void emits(const char *text, const char *target, enum uk_status status, const char *const word[]) {
    const struct uk_options options = {.target = target, .require_kernels = true};
    struct uk_program *p = parse("sum", text);
    char *object = NULL;
    size_t length;

    check_outcome(target, uk_emit(p, &options, UK_EMIT_OBJECT, &object, &length), status, word);
    uk_text_free(object);
    uk_program_destroy(p);
}

int make_folder(void **state) {
    (void)state;
    context = uk_context_create();
    return !context || !mkdtemp(folder);
}

int remove_folder(void **state) {
    (void)state;
    uk_context_destroy(context);
    run("rm -rf %s", folder);
    return 0;
}
