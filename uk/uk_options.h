/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the command uk: the table of its commands and options, which parsing, help and completion read. */
#ifndef UK_OPTIONS_H
#define UK_OPTIONS_H

#include "uk.h"

/* FORM: one of several that exclude each other. CHOICE: one of the option's words. A JSON option has a value, but may stand
 * without one. */
enum uk_option_kind {
    UK_OPTION_FLAG,
    UK_OPTION_FORM,
    UK_OPTION_TEXT,
    UK_OPTION_CHOICE,
    UK_OPTION_COUNT,
    UK_OPTION_SEED,
    UK_OPTION_BINDING,
    UK_OPTION_JSON
};

struct uk_command {
    const char *name;
    unsigned bit;
    int least, most; /* positional arguments */
    const char *synopsis;
    const char *words; /* what completes a positional argument, as in an option */
    const char *summary;
    int (*run)(const struct uk_arguments *);
};

struct uk_option {
    const char *name, *value; /* value: how help calls it; NULL: takes none */
    enum uk_option_kind kind;
    unsigned commands;
    size_t field; /* where in struct uk_arguments: bool, const char * or int64_t by kind */
    int64_t most; /* COUNT: from 1 to this */
    const char
        *words; /* completions: words, or <file>, <kernel>, <target>, <command>; CHOICE takes no other */
    const char *help;
};

/* The last row's name is NULL. */
extern const struct uk_command uk_commands[];
extern const struct uk_option uk_options[];

/* The row, or NULL. */
const struct uk_command *uk_command_named(const char *name);

#endif
