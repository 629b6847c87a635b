/* SPDX-License-Identifier: Apache-2.0 */
/* Inside the command uk: the table of its commands and options, which parsing, help and completion read. */
#ifndef UK_OPTIONS_H
#define UK_OPTIONS_H

#include "uk.h"

/* FORM: one of several that exclude each other. CHOICE: one of the option's words. A JSON option has a value,
 * but may stand without one. EXTENT: a flag, and another one, whose field `most` is, where it has its word.
 * LIST: any number of times; uk_given() has them. */
enum uk_option_kind {
    UK_OPTION_FLAG,
    UK_OPTION_FORM,
    UK_OPTION_TEXT,
    UK_OPTION_CHOICE,
    UK_OPTION_COUNT,
    UK_OPTION_SEED,
    UK_OPTION_BINDING,
    UK_OPTION_JSON,
    UK_OPTION_EXTENT,
    UK_OPTION_LIST
};

/* Beside commands: an option that is about one of them alone, where a command takes programs and networks. */
enum { UK_OF_PROGRAMS = 1 << 20, UK_OF_NETWORKS = 1 << 21 };

struct uk_command {
    const char *name;
    unsigned bit;
    int least, most; /* positional arguments */
    const char *synopsis;
    const char *words; /* what completes a positional argument, as in an option */
    const char *summary;
    int (*run)(const struct uk_arguments *);
    int (*run_network)(const struct uk_arguments *); /* of a FILE.onnx */
};

struct uk_option {
    const char *name, *value; /* value: how help calls it; NULL: takes none */
    enum uk_option_kind kind;
    unsigned commands;
    size_t field;      /* where in struct uk_arguments: bool, const char * or int64_t by kind */
    int64_t most;      /* COUNT: from 1 to this */
    const char *words; /* completions: words, or <file>, <kernel>, <operation>, <isa>, <target>, <command>;
                          CHOICE takes no other */
    const char *help;  /* NULL: it is in no help */
};

/* The last row's name is NULL. */
extern const struct uk_command uk_commands[];
extern const struct uk_option uk_options[];

/* Whether an option that has values may be without one. */
static inline bool uk_may_stand_alone(const struct uk_option *o) {
    return o->kind == UK_OPTION_JSON || o->kind == UK_OPTION_EXTENT;
}
/* The row, or NULL. */
const struct uk_command *uk_command_named(const char *name);

#endif
