/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the names of instructions that LLVM does not know: RISC-V P's, which it prints as .insn or data. */
#include <string.h>
#include "names.h"
#include "link.h"

/* True if the line is this text, except for leading blanks. */
static bool is(const char *line, size_t n, const char *text) {
    const size_t blanks = strspn(line, " \t");

    return blanks < n && n - blanks == strlen(text) && !memcmp(line + blanks, text, n - blanks);
}

static void name_lines(struct uk_text *t, const char *comment, const char *text, size_t n) {
    bool in_asm = false; /* inside an asm statement; elsewhere data is just data */
    char name[64];

    for (size_t at = 0, line; at < n; at += line + 1) {
        const char *end = memchr(text + at, '\n', n - at);

        line = end ? (size_t)(end - text) - at : n - at;
        in_asm = is(text + at, line, "#APP") || (in_asm && !is(text + at, line, "#NO_APP"));
        uk_put(t, "%.*s", (int)line, text + at);
        if (in_asm && uk_rvp_print_line(text + at, line, name, sizeof name))
            uk_put(t, "\t%s %s", comment, name);
        uk_put(t, "%s", end ? "\n" : "");
    }
}

enum uk_status uk_name_words(struct uk_context *c, const struct uk_arch *arch, const char *text, size_t n,
                             char **bytes, size_t *length) {
    struct uk_text t = {0};

    *bytes = NULL;
    if (!strcmp(arch->name, "riscv64"))
        name_lines(&t, arch->assembly.comment, text, n);
    else
        uk_put(&t, "%.*s", (int)n, text);
    if (t.failed) {
        uk_text_free(t.text);
        return uk_out_of_memory(c);
    }
    *bytes = t.text;
    *length = t.length;
    return UK_OK;
}
