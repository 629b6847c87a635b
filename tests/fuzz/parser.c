/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: a text that parses is printed as a text that parses to the same program; anything else is
 * refused, and nothing leaks. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "tensorize.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts unless `good`; the crash report shows where. */
static void must(bool good) {
    if (!good)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uk_context *c = uk_context_create();
    struct uk_program *p, *q;
    char *once, *twice;

    must(c);
    if (uk_program_parse(c, "fuzz.uk", (const char *)data, size, &p)) {
        must(!p && *uk_context_message(c));
    } else {
        must(!uk_program_print(p, &once));
        must(!uk_program_parse(c, "printed.uk", once, strlen(once), &q));
        must(!uk_program_print(q, &twice) && !strcmp(once, twice));
        uk_text_free(once);
        uk_text_free(twice);
        uk_program_destroy(p);
        uk_program_destroy(q);
    }
    uk_context_destroy(c);
    return 0;
}
