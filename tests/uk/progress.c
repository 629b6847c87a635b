/* SPDX-License-Identifier: Apache-2.0 */
/* Progress lines without a terminal: the test raises the timer's signals itself. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "progress.h"
#include "uk.h"

static int saved;
static FILE *file;

/* Redirects standard error to a file, which is no terminal. */
static void begin(void) {
    file = tmpfile();
    assert_non_null(file);
    saved = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
}

/* Returns what was written to it since. */
static const char *end(void) {
    static char text[1024];

    dup2(saved, STDERR_FILENO);
    close(saved);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = 0;
    fclose(file);
    return text;
}

static int layer;

static struct uk_progress_item item(const void *user) {
    return (struct uk_progress_item){layer ? user : NULL, layer, layer ? 101 : 0};
}

static void raise_signals(int count) {
    for (int i = 0; i < count; i++)
        raise(SIGALRM);
}

static void lines_become_rare(void **state) {
    (void)state;
    begin();
    uk_progress_begin("running in the simulator");
    raise_signals(20);
    uk_progress_end();
    assert_string_equal(end(), "uk: running in the simulator, 5 s\nuk: running in the simulator, 10 s\n"
                               "uk: running in the simulator, 20 s\nuk: running in the simulator, 40 s\n"
                               "uk: running in the simulator, 80 s\n");
}

static void lines_name_the_item(void **state) {
    (void)state;
    begin();
    uk_progress_begin_items("compiling the network", item, "compiling layer");
    layer = 0;
    raise_signals(1);
    layer = 37;
    raise_signals(1);
    layer = 101;
    raise_signals(2);
    uk_progress_end();
    assert_string_equal(end(), "uk: compiling the network, 5 s\nuk: compiling layer 37 of 101, 10 s\n"
                               "uk: compiling layer 101 of 101, 20 s\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_become_rare),
        cmocka_unit_test(lines_name_the_item),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
