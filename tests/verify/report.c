/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include "report.h"
#include "test_context.h"

char *report_of(struct uk_context *c, const char *text, const struct uk_verify_options *options,
                enum uk_status expected) {
    struct uk_program *p = parse_in(c, "test.uk", text);
    char *report;
    enum uk_status s = uk_verify(p, options, &report);

    if (s != expected)
        fail_msg("status %d instead of %d: %s%s", s, expected, uk_context_message(c), report ? report : "");
    uk_program_destroy(p);
    return report;
}

void expect_line(const char *report, const char *begin, const char *contains) {
    const char *line = strstr(report, begin), *end = line ? strchr(line, '\n') : NULL;
    const char *found = line ? strstr(line, contains) : NULL;

    if (!end || !found || found > end)
        fail_msg("no '%s' in the line '%s' of:\n%s", contains, begin, report);
}

/* A wrong kernel is wrong in one form at least. */
static void is_judged(void **state) {
    const struct judged *k = *state;
    const bool good = !strcmp(k->says, "ok");
    char *report = report_of(context, k->text, NULL, good ? UK_OK : UK_WRONG_RESULT);

    if (!good && (!strstr(report, "WRONG") || !strstr(report, k->says)))
        fail_msg("no '%s' in:\n%s", k->says, report);
    uk_text_free(report);
}

int run_judged(const char *group, const struct judged *kernels, size_t count, CMUnitTestFunction more,
               const char *only) {
    struct CMUnitTest *tests = calloc(count + 1, sizeof *tests);

    if (!tests || make_context(NULL))
        return 1;
    for (size_t i = 0; i < count; i++)
        tests[i] = (struct CMUnitTest){
            .name = kernels[i].name, .test_func = is_judged, .initial_state = (void *)(uintptr_t)&kernels[i]};
    tests[count] = (struct CMUnitTest){.name = "more", .test_func = more, .initial_state = context};
    if (only)
        cmocka_set_test_filter(only);
    const int failed = _cmocka_run_group_tests(group, tests, count + (more != NULL), NULL, NULL);
    destroy_context(NULL);
    free(tests);
    return failed;
}
