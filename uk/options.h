/* SPDX-License-Identifier: Apache-2.0 */
/* The command uk's table of commands and options, which parsing, help and completion read. */
#ifndef UK_OPTIONS_H
#define UK_OPTIONS_H

#include "uk.h"

/*
 * Kinds of options.
 *
 * - FORM: a flag that excludes the command's other FORM options
 * - CHOICE: exactly one of the option's words
 * - JSON: takes a value, which may be omitted
 * - EXTENT: a flag; with its word as value it also sets the bool at offset max_or_field
 * - AMOUNT: a flag; its value, which may be omitted, is the int64_t at offset max_or_field, from 1 to 100000
 * - LIST: may be repeated; uk_repeated_option() returns the values
 */
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
    UK_OPTION_AMOUNT,
    UK_OPTION_LIST
};

/* Bits of `commands` besides those of commands: the option applies only to programs, or only to networks, in
 * a command that takes both. */
enum { UK_OF_PROGRAMS = 1 << 20, UK_OF_NETWORKS = 1 << 21 };

struct uk_command {
    const char *name;
    unsigned bit;
    int min_positionals, max_positionals; /* limits of the number of positional arguments */
    const char *synopsis;
    const char *words; /* completions of a positional argument, as in struct uk_option */
    const char *summary;
    int (*run)(const struct uk_arguments *);
    int (*run_network)(const struct uk_arguments *); /* for a FILE.onnx */
};

struct uk_option {
    const char *name, *value; /* value: placeholder in the help; NULL: takes no value */
    enum uk_option_kind kind;
    unsigned commands;
    size_t field;         /* offset in struct uk_arguments of a bool, const char * or int64_t, by kind */
    int64_t max_or_field; /* COUNT: largest value, the smallest is 1; EXTENT, AMOUNT: see there */
    /* Completions: words, or one of <file>, <kernel>, <operation>, <isa>, <target>, <command>. CHOICE accepts
     * only the words. */
    const char *words;
    const char *help; /* NULL: hidden from the help */
};

/* Both tables end with a row whose name is NULL. */
extern const struct uk_command uk_commands[];
extern const struct uk_option uk_options[];

/* True if the option's value may be omitted. */
static inline bool uk_has_optional_value(const struct uk_option *o) {
    return o->kind == UK_OPTION_JSON || o->kind == UK_OPTION_EXTENT || o->kind == UK_OPTION_AMOUNT;
}
/* Finds a command's row; NULL: there is none. */
const struct uk_command *uk_command_named(const char *name);

#endif
