/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "report.h"

struct uk_program *parse(struct uk_context *c, const char *text) {
    struct uk_program *p;

    if (uk_program_parse(c, "test.uk", text, strlen(text), &p))
        fail_msg("%s", uk_context_message(c));
    return p;
}

char *report_of(struct uk_context *c, const char *text, const struct uk_verify_options *options,
                enum uk_status expected) {
    struct uk_program *p = parse(c, text);
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
