/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes each allocation of the parser, the checks, the printer and the interpreter fail once; each failure
 * must return a status.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "language/language.h"
#include "failing_alloc.h"
#include "text_cases.h"

/* Parses and prints the text, and runs the program with all sizes 0. */
static enum uk_status work(struct uk_context *c, const char *text) {
    struct uk_program *p;
    int64_t sizes[16] = {0};
    double scalars[4] = {0};
    char room[16][1024] = {{0}};
    void *tensors[16];
    char *printed = NULL;
    enum uk_status status = uk_program_parse(c, "f.uk", text, strlen(text), &p);

    if (status)
        return status;
    for (int i = 0; i < 16; i++)
        tensors[i] = room[i];
    status = uk_program_print(p, &printed);
    uk_text_free(printed);
    if (!status)
        status = uk_program_interpret(p, sizes, scalars, tensors);
    uk_program_destroy(p);
    return status;
}

static void each_failure_is_a_status(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof canonical / sizeof *canonical; i++) {
        struct uk_context *c = uk_context_create();
        enum uk_status normal = work(c, canonical[i]), status;

        for (long n = 0;; n++) {
            left = n;
            status = work(c, canonical[i]);
            /* If the allocation was not needed in the end, the result is the normal one. */
            if (left < 0 && status != UK_OUT_OF_MEMORY && status != normal)
                fail_msg("allocation %ld of text %d fails and the status is %d: %s", n, (int)i, status,
                         uk_context_message(c));
            if (left >= 0)
                break;
            if (status)
                assert_true(*uk_context_message(c));
        }
        assert_int_equal(status, normal);
        left = -1;
        uk_context_destroy(c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_failure_is_a_status)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
