/* SPDX-License-Identifier: Apache-2.0 */
/* The command uk: parses the command line and runs one of its commands, each in the file or folder of its
 * name. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "commit.h"
#include "remote/remote.h"
#include "options.h"

static bool parse_integer(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *value = v;
    return end != text && !*end && !errno;
}

/* Reads "LOWER..UPPER" or "LOWER..UPPER:STEP". */
static bool parse_range(const char *text, struct uk_size_value *b) {
    const char *dots = strstr(text, ".."), *colon = strchr(text, ':');
    char copy[64];

    b->step = 1;
    if (!dots || strlen(text) >= sizeof copy || (colon && colon < dots) ||
        (colon && (!parse_integer(colon + 1, &b->step) || b->step < 1)))
        return false;
    snprintf(copy, sizeof copy, "%s", text);
    copy[dots - text] = 0;
    if (colon)
        copy[colon - text] = 0;
    return parse_integer(copy, &b->value) && parse_integer(copy + (dots - text) + 2, &b->upper) &&
           0 <= b->value && 0 <= b->upper;
}

/* Refuses a range that is empty, of one value, or whose bounds are not multiples of the step. Exit status. */
static int check_range(const struct uk_size_value *b, const char *option, const char *text) {
    const int64_t rest = b->value % b->step, first = b->value - rest, last = b->upper - b->upper % b->step;
    char better[160] = "";

    if (b->upper == b->value)
        return uk_complain(UK_EXIT_USAGE, "%s %s: a range has two values or more; give %s %s=%lld", option,
                           text, option, b->name, (long long)b->value);
    if (b->upper < b->value)
        return uk_complain(UK_EXIT_USAGE, "%s %s: a range has two values or more, and the lower one first",
                           option, text);
    if (rest ? first < last - b->step : first < last)
        snprintf(better, sizeof better, ", for instance %s %s=%lld..%lld:%lld", option, b->name,
                 (long long)(rest ? first + b->step : first), (long long)last, (long long)b->step);
    return rest || last != b->upper
               ? uk_complain(UK_EXIT_USAGE, "%s %s: the bounds must be multiples of the step %lld%s", option,
                             text, (long long)b->step, better)
               : UK_EXIT_OK;
}

/* Takes a second value of a size: that of the run, for a size with a range. Exit status. */
static int add_value(struct uk_size_value *same, const struct uk_size_value *b, const char *option,
                     const char *text) {
    if (same->upper && same->run < 0 && !b->upper && b->value >= 0) {
        same->run = b->value;
        return UK_EXIT_OK;
    }
    if (same->upper && b->upper)
        return uk_complain(UK_EXIT_USAGE, "%s %s: '%s' already has the range %lld..%lld; give it once",
                           option, text, b->name, (long long)same->value, (long long)same->upper);
    return uk_complain(UK_EXIT_USAGE, "%s %s: '%s' already has the value %lld; give it once", option, text,
                       b->name, (long long)(same->upper ? same->run : same->value));
}

static int add_binding(struct uk_arguments *a, const char *option, const char *text) {
    struct uk_size_value *b = &a->binding[a->bindings];
    const char *equals = strrchr(text, '='); /* names of a network's dimensions may contain it */
    size_t n = equals ? (size_t)(equals - text) : 0;
    *b = (struct uk_size_value){.run = -1};
    if (!n || n >= sizeof b->name || !(parse_integer(equals + 1, &b->value) || parse_range(equals + 1, b)))
        return uk_complain(UK_EXIT_USAGE,
                           "%s %s: expected NAME=INTEGER, for instance %s M=784; or, of a network, "
                           "NAME=LOWER..UPPER or NAME=LOWER..UPPER:STEP",
                           option, text, option);
    memcpy(b->name, text, n);
    b->name[n] = 0;
    b->is_constant = !strcmp(option, "--define");
    if (b->upper || strstr(equals, "..")) {
        const int status = check_range(b, option, text);
        if (status)
            return status;
    }
    for (int i = 0; i < a->bindings; i++)
        if (!strcmp(a->binding[i].name, b->name))
            return add_value(&a->binding[i], b, option, text);
    a->bindings++;
    return UK_EXIT_OK;
}

/* Checks that the value is one of the option's words. Exit status. */
static int check_choice(const struct uk_option *o, const char *value) {
    struct uk_closest_name near = {.word = value};
    char words[128], list[160] = "";
    snprintf(words, sizeof words, "%s", o->words);
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        if (!strcmp(word, value))
            return UK_EXIT_OK;
        uk_consider_name(&near, word);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", *list ? ", " : "", word);
    }
    return uk_complain(UK_EXIT_USAGE, "%s=%s is unknown%s%s; use one of %s", o->name, value,
                       near.name ? "; did you mean " : "", near.name ? near.name : "", list);
}

static int take_option(struct uk_arguments *a, const struct uk_option *o, const char *value) {
    a->option_values[a->option_value_count++] = (struct uk_option_value){o, value};
    void *field = (char *)a + o->field;
    int64_t *number = field;
    const char **text = field;
    bool *flag = field;
    switch (o->kind) {
    case UK_OPTION_FLAG:
        *flag = true;
        break;
    case UK_OPTION_FORM:
        if (*text && strcmp(*text, o->name + 2))
            return uk_complain(UK_EXIT_USAGE, "--%s and %s exclude each other; give one", *text, o->name);
        *text = o->name + 2;
        break;
    case UK_OPTION_CHOICE:
    case UK_OPTION_TEXT:
        if (!*value)
            return uk_complain(UK_EXIT_USAGE, "%s: the value is empty; give %s", o->name, o->value);
        *text = value;
        return o->kind == UK_OPTION_CHOICE ? check_choice(o, value) : UK_EXIT_OK;
    case UK_OPTION_COUNT:
        if (!parse_integer(value, number) || *number < 1 || *number > o->max_or_field)
            return uk_complain(UK_EXIT_USAGE, "%s %s: expected a number from 1 to %lld", o->name, value,
                               (long long)o->max_or_field);
        break;
    case UK_OPTION_SEED:
        if (!parse_integer(value, number))
            return uk_complain(UK_EXIT_USAGE, "%s %s: expected an integer", o->name, value);
        break;
    case UK_OPTION_BINDING:
        return add_binding(a, o->name, value);
    case UK_OPTION_JSON:
        if (value && !*value)
            return uk_complain(UK_EXIT_USAGE, "%s: the value is empty; give %s", o->name, o->value);
        a->json = true;
        a->json_file = value;
        break;
    case UK_OPTION_EXTENT:
        *flag = true;
        *(bool *)((char *)a + o->max_or_field) = value;
        return value ? check_choice(o, value) : UK_EXIT_OK;
    case UK_OPTION_AMOUNT:
        *flag = true;
        number = (int64_t *)((char *)a + o->max_or_field);
        if (value && (!parse_integer(value, number) || *number < 1 || *number > 100000))
            return uk_complain(UK_EXIT_USAGE, "%s %s: expected a number from 1 to 100000", o->name, value);
        break;
    case UK_OPTION_LIST:
        if (!*value)
            return uk_complain(UK_EXIT_USAGE, "%s: the value is empty; give %s", o->name, o->value);
    }
    return UK_EXIT_OK;
}

static bool ends_in_json(const char *word) {
    size_t n = strlen(word);
    return n > 5 && !strcmp(word + n - 5, ".json");
}

/* Parses the option argv[*i] with its value, which may be the next word. Exit status. */
static int parse_option(struct uk_arguments *a, const struct uk_command *c, int argc, char **argv, int *i) {
    const char *word = argv[*i];
    size_t n = strcspn(word, "=");
    for (const struct uk_option *o = uk_options; o->name; o++) {
        if (!(o->commands & c->bit) || strlen(o->name) != n || memcmp(word, o->name, n))
            continue;
        if (!o->value)
            return word[n]
                       ? uk_complain(UK_EXIT_USAGE, "%s takes no value; leave out '%s'", o->name, word + n)
                       : take_option(a, o, NULL);
        if (word[n])
            return take_option(a, o, word + n + 1);
        if (o->kind == UK_OPTION_EXTENT || o->kind == UK_OPTION_AMOUNT ||
            (o->kind == UK_OPTION_JSON && !(*i + 1 < argc && ends_in_json(argv[*i + 1]))))
            return take_option(a, o, NULL);
        if (*i + 1 >= argc)
            return uk_complain(UK_EXIT_USAGE, "%s needs a value: %s %s", o->name, o->name, o->value);
        return take_option(a, o, argv[++*i]);
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), word);
    return uk_complain_of_unknown("option", name, c);
}

static int parse_arguments(struct uk_arguments *a, const struct uk_command *c, int argc, char **argv) {
    bool only_names = false;
    for (int i = 2; i < argc; i++) {
        if (!only_names && !strcmp(argv[i], "--")) {
            only_names = true;
        } else if (!only_names && argv[i][0] == '-' && argv[i][1]) {
            int status = parse_option(a, c, argc, argv, &i);
            if (status)
                return status;
        } else {
            a->positional[a->positionals++] = argv[i];
        }
    }
    if (a->require_kernels && a->no_kernels)
        return uk_complain(UK_EXIT_USAGE, "--require-kernels and --no-kernels exclude each other; give one");
    if (a->positionals < c->min_positionals)
        return uk_complain(UK_EXIT_USAGE, "uk %s needs a %s: uk %s %s", c->name, c->synopsis, c->name,
                           c->synopsis);
    if (a->positionals > c->max_positionals)
        return uk_complain(UK_EXIT_USAGE, "uk %s: '%s' is one argument too many; usage: uk %s %s", c->name,
                           a->positional[c->max_positionals], c->name, c->synopsis);
    return UK_EXIT_OK;
}

static bool is_network(const char *file) {
    const size_t n = strlen(file);
    return n >= 5 && !strcasecmp(file + n - 5, ".onnx");
}

/* Runs the command's function for programs or for networks, and refuses options that apply only to the
 * other. */
static int run_for_file(const struct uk_command *c, const struct uk_arguments *a) {
    int networks = 0;
    for (int i = 0; i < a->positionals && c->run_network; i++)
        networks += is_network(a->positional[i]);
    if (networks && a->positionals > 1)
        return uk_complain(UK_EXIT_USAGE,
                           "only one network can be compiled at a time; leave out all but one of %s, %s, ...",
                           a->positional[0], a->positional[1]);
    for (int i = 0; i < a->option_value_count && c->run_network; i++) {
        const struct uk_option *o = a->option_values[i].option;
        if (o->commands & (networks ? UK_OF_PROGRAMS : UK_OF_NETWORKS))
            return uk_complain(UK_EXIT_USAGE, "%s is for %s, but '%s' is a %s; leave it out", o->name,
                               networks ? "programs" : "networks", a->positional[0],
                               networks ? "network" : "program");
    }
    return uk_run_on_board(a, networks ? c->run_network : c->run);
}

static int run_command(const struct uk_command *c, int argc, char **argv) {
    struct uk_arguments a = {.command = c->name};
    a.option_values = calloc((size_t)argc, sizeof *a.option_values);
    a.positional = calloc((size_t)argc, sizeof *a.positional);
    a.binding = calloc((size_t)argc, sizeof *a.binding);
    int status = UK_EXIT_WRONG;
    if (!a.positional || !a.binding || !a.option_values)
        uk_complain(status, "out of memory");
    else if (!(status = parse_arguments(&a, c, argc, argv)))
        status = run_for_file(c, &a);
    free(a.option_values);
    free(a.positional);
    free(a.binding);
    return status;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        uk_print_help(stderr, NULL);
        return UK_EXIT_USAGE;
    }
    const struct uk_command *c = uk_command_named(argv[1]);
    if (!strcmp(argv[1], "--version")) {
        printf(*UK_COMMIT ? "uk %s (commit " UK_COMMIT ")\n" : "uk %s\n", uk_tensorize_version());
        return UK_EXIT_OK;
    }
    bool is_help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h");
    if (!c && !is_help)
        return uk_complain_of_unknown(*argv[1] == '-' ? "option" : "command", argv[1], NULL);
    for (int i = 2; i < argc && c && strcmp(argv[i], "--"); i++)
        is_help = is_help || !strcmp(argv[i], "--help") || !strcmp(argv[i], "-h");
    if (is_help) {
        uk_print_help(stdout, c);
        return UK_EXIT_OK;
    }
    return run_command(c, argc, argv);
}

int main(int argc, char **argv) {
    if (uk_is_relay(argc, argv))
        return uk_relay(argv);
    int status = dispatch(argc, argv);
    if (fflush(stdout) || ferror(stdout))
        return uk_complain(UK_EXIT_WRONG, "cannot write to standard output: %s", strerror(errno));
    return status;
}
