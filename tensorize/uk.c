/* The command uk: which command, which options; the commands are in uk_*.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "uk.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

enum {
    RUN = 1,
    COMPILE = 2,
    EXPLAIN = 4,
    KERNELS = 8,
    SHOW = 16,
    BENCH = 32,
    VERIFY = 64,
    TUNE = 128,
    GEMM = 256
};
enum { PROGRAMS = RUN | COMPILE | EXPLAIN | TUNE };

static const struct command {
    const char *name;
    int bit, least, most; /* positional arguments */
    const char *synopsis;
    int (*run)(const struct uk_arguments *);
} commands[] = {
    {"run", RUN, 1, 1, "FILE", uk_command_run},
    {"compile", COMPILE, 1, INT32_MAX, "FILE...", uk_command_compile},
    {"explain", EXPLAIN, 1, 1, "FILE", uk_command_explain},
    {"tune", TUNE, 1, 1, "FILE", uk_command_tune},
    {"verify", VERIFY, 1, 1, "FILE|KERNEL", uk_command_verify},
    {"kernels", KERNELS, 0, 0, "", uk_command_kernels},
    {"show", SHOW, 1, 1, "KERNEL", uk_command_show},
    {"bench", BENCH, 0, INT32_MAX, "[gemm | KERNEL...]", uk_command_bench},
    {"gemm", GEMM, 3, 3, "M N K", uk_command_gemm},
};

/* A JSON option has a value, but may stand without one. */
enum option_kind { FLAG, FORM, TEXT, COUNT_OF, SEED, BINDING, JSON };

static const struct option {
    const char *name, *value; /* value: how help calls it; NULL: takes none */
    enum option_kind kind;
    int commands;
    const char *help;
} options[] = {
    {"--define", "NAME=VALUE", BINDING, PROGRAMS,
     "make a size a constant; it is then no argument of the function"},
    {"--size", "NAME=VALUE", BINDING, PROGRAMS,
     "the value that run and tune call the function with; a hint to automatic schedules"},
    {"--target", "TARGET", TEXT, PROGRAMS | VERIFY | KERNELS | SHOW,
     "native (default), x86_64-avx2, aarch64-neon+dotprod, cortex-a76, armv7-neon, ... or interp"},
    {"--target", "TARGET", TEXT, BENCH,
     "kernels: of another architecture, count the instructions that they execute, under qemu"},
    {"--schedule", "FILE", TEXT, PROGRAMS, "take the steps from this file instead of the program's own"},
    {"--threads", "N", COUNT_OF, PROGRAMS | BENCH | GEMM,
     "threads; more than 1 lets automatic schedules make a loop parallel"},
    {"--require-kernels", NULL, FLAG, PROGRAMS, "an error where no kernel fits, instead of plain loops and a note"},
    {"--name", "NAME", TEXT, COMPILE, "name of the generated function (default: the file's)"},
    {"--emit", "WHAT", TEXT, COMPILE,
     "schedule, loops, llvm, linked, optimized, asm, object (default), header or shared"},
    {"-o", "OUT", TEXT, COMPILE | SHOW | TUNE,
     "write to this file, only if all went well (default: standard output)"},
    {"--check", NULL, FLAG, RUN, "compare every element with the interpreter's, exactly"},
    {"--time", NULL, FLAG, RUN,
     "measure: compile stages, speed, share of the peak, ratio to installed peers"},
    {"--seed", "N", SEED, VERIFY | TUNE, "of what is drawn at random (default: 0)"},
    {"--workspace", "WHERE", TEXT, COMPILE,
     "allocate (default), or argument: the function takes its memory as its last argument"},
    {"--time", NULL, FLAG, COMPILE, "print what each stage took, on standard error"},
    {"--time-limit", "SECONDS", COUNT_OF, TUNE, "how long to search (default: 60)"},
    {"--time-limit", "SECONDS", COUNT_OF, BENCH, "gemm: take fewer samples, and stop then"},
    {"--set", "NAME,...", TEXT, BENCH, "gemm: these sets of shapes only"},
    {"--shapes", "FILE", TEXT, BENCH, "gemm: shapes from a file like bench/shapes.txt"},
    {"--type", "TYPE", TEXT, BENCH | GEMM, "gemm: f32 (default) or f64"},
    {"--explain", NULL, FLAG, GEMM, "print path, kernel, blocking and threads of such a call"},
    {"--layout", "LAYOUT", TEXT, GEMM, "row (default) or column"},
    {"--ta", "T", TEXT, GEMM, "A: n (default), or t if it is transposed"},
    {"--tb", "T", TEXT, GEMM, "B: n (default), or t if it is transposed"},
    {"--peers", "NAME,...", TEXT, BENCH,
     "gemm: these libraries only, by the beginnings of their names; or none"},
    {"--trials", "N", COUNT_OF, TUNE, "measure at most so many schedules"},
    {"--log", "FILE", TEXT, TUNE, "add every trial to this file, and go on from those that it has"},
    {"--doc", NULL, FORM, SHOW, "what the kernel's source says about it (default)"},
    {"--declaration", NULL, FORM, SHOW, "what it computes, as tensorize knows it"},
    {"--asm", NULL, FORM, SHOW, "its bitcode, compiled for its instruction set"},
    {"--llvm", NULL, FORM, SHOW, "its bitcode as LLVM IR"},
    {"--bitcode", NULL, FORM, SHOW, "its bitcode; needs -o"},
    {"--static", NULL, FLAG, BENCH,
     "kernels: what llvm-mca says of the inner loop, on cores of its architecture or on --target=CORE (man uk.1)"},
    {"--json", "FILE.json", JSON, BENCH,
     "Google Benchmark's schema, for its compare tools; without a file: on standard output"},
    {"--compare", "OLD.json", TEXT, BENCH, "tell what is slower than in that run, beyond noise"},
};

int uk_complain(int status, const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    fputs("uk: error: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
    return status;
}

/* Insertions, deletions and substitutions from a to b; words longer than the table are far from everything.
 */
static int distance(const char *a, const char *b) {
    enum { LONGEST = 48 };
    int row[LONGEST + 1];
    size_t n = strlen(b);
    if (n > LONGEST || strlen(a) > LONGEST)
        return LONGEST;
    for (size_t j = 0; j <= n; j++)
        row[j] = (int)j;
    for (size_t i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = (int)i + 1;
        for (size_t j = 0; j < n; j++) {
            int best = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (diagonal + 1 < best)
                best = diagonal + 1;
            row[j + 1] = best;
        }
    }
    return row[n];
}

const char *uk_nearest(const char *word, const char *const names[], int count) {
    const char *nearest = NULL;
    int least = (int)strlen(word) / 2 + 1;
    for (int i = 0; i < count; i++) {
        int d = distance(word, names[i]);
        if (d < least) {
            least = d;
            nearest = names[i];
        }
    }
    return nearest;
}

static void print_options(FILE *out, const struct command *c) {
    for (int i = 0; i < COUNT(options); i++) {
        const struct option *o = &options[i];
        char text[64];
        if (!(o->commands & c->bit))
            continue;
        snprintf(text, sizeof text, "%s%s%s", o->name,
                 !o->value           ? ""
                 : o->name[1] == '-' ? "="
                                     : " ",
                 o->value ? o->value : "");
        fprintf(out, "  %-21s %s\n", text, o->help);
    }
}

static void print_help(FILE *out) {
    fputs("usage: uk COMMAND ...\n\n", out);
    for (int i = 0; i < COUNT(commands); i++) {
        fprintf(out, "uk %s %s\n", commands[i].name, commands[i].synopsis);
        print_options(out, &commands[i]);
    }
    fputs("uk --help | --version\n\n"
          "Results go to standard output, errors to standard error as FILE:LINE:COLUMN: error: WHAT; WHAT TO "
          "DO.\n"
          "Exit status: 0 done, 1 refused or wrong, 2 usage.\n",
          out);
}

/* Complains about a word that is no command, or no option of `c`, and names the nearest one that is. */
static int unknown(const char *what, const char *word, const struct command *c) {
    const char *names[COUNT(options) + COUNT(commands)];
    int count = 0;
    for (int i = 0; !c && i < COUNT(commands); i++)
        names[count++] = commands[i].name;
    for (int i = 0; c && i < COUNT(options); i++)
        if (options[i].commands & c->bit)
            names[count++] = options[i].name;
    const char *near = uk_nearest(word, names, count);
    if (near)
        return uk_complain(UK_EXIT_USAGE, "unknown %s '%s'; did you mean '%s'? 'uk --help' lists them", what,
                           word, near);
    return uk_complain(UK_EXIT_USAGE, "unknown %s '%s'; 'uk --help' lists them", what, word);
}

static bool parse_integer(const char *text, int64_t *value) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *value = v;
    return end != text && !*end && !errno;
}

static int add_binding(struct uk_arguments *a, const char *option, const char *text) {
    struct uk_binding *b = &a->binding[a->bindings];
    const char *equals = strchr(text, '=');
    size_t n = equals ? (size_t)(equals - text) : 0;
    if (!n || n >= sizeof b->name || !parse_integer(equals + 1, &b->value))
        return uk_complain(UK_EXIT_USAGE, "%s %s: expected NAME=INTEGER, for instance %s M=784", option, text,
                           option);
    memcpy(b->name, text, n);
    b->name[n] = 0;
    b->constant = !strcmp(option, "--define");
    for (int i = 0; i < a->bindings; i++)
        if (!strcmp(a->binding[i].name, b->name))
            return uk_complain(UK_EXIT_USAGE, "%s %s: '%s' already has the value %lld; give it once", option,
                               text, b->name, (long long)a->binding[i].value);
    a->bindings++;
    return UK_EXIT_OK;
}

static int take_count(struct uk_arguments *a, const struct option *o, const char *value) {
    static const char *const names[] = {"--threads", "--time-limit", "--trials"};
    static const int most[] = {1024, 86400, 1000000};
    int64_t *const counts[] = {&a->threads, &a->time_limit, &a->trials};
    for (int i = 0; i < COUNT(counts); i++) {
        if (strcmp(o->name, names[i]))
            continue;
        if (!parse_integer(value, counts[i]) || *counts[i] < 1 || *counts[i] > most[i])
            return uk_complain(UK_EXIT_USAGE, "%s %s: expected a number from 1 to %d", o->name, value,
                               most[i]);
    }
    return UK_EXIT_OK;
}

static int take_option(struct uk_arguments *a, const struct option *o, const char *value) {
    static const char *const names[] = {"--target", "--emit",      "-o",       "--schedule", "--name",
                                        "--log",    "--workspace", "--set",    "--type",     "--shapes",
                                        "--peers",  "--compare",   "--layout", "--ta",       "--tb"};
    const char **const texts[] = {&a->target, &a->emit,      &a->out,    &a->schedule, &a->name,
                                  &a->log,    &a->workspace, &a->set,    &a->type,     &a->shapes,
                                  &a->peers,  &a->compare,   &a->layout, &a->ta,       &a->tb};
    static const char *const flag_names[] = {"--time", "--check", "--require-kernels", "--explain", "--static"};
    bool *const flags[] = {&a->time, &a->check, &a->require_kernels, &a->explain, &a->is_static};
    switch (o->kind) {
    case FLAG:
        for (int i = 0; i < COUNT(flags); i++)
            if (!strcmp(o->name, flag_names[i]))
                *flags[i] = true;
        break;
    case FORM:
        if (a->form && strcmp(a->form, o->name + 2))
            return uk_complain(UK_EXIT_USAGE, "--%s and %s exclude each other; give one", a->form, o->name);
        a->form = o->name + 2;
        break;
    case TEXT:
        for (int i = 0; i < COUNT(texts); i++)
            if (!strcmp(o->name, names[i]))
                *texts[i] = value;
        break;
    case COUNT_OF:
        return take_count(a, o, value);
    case SEED:
        if (!parse_integer(value, &a->seed))
            return uk_complain(UK_EXIT_USAGE, "%s %s: expected an integer", o->name, value);
        break;
    case BINDING:
        return add_binding(a, o->name, value);
    case JSON:
        a->json = true;
        a->json_file = value;
    }
    return UK_EXIT_OK;
}

static bool ends_in_json(const char *word) {
    size_t n = strlen(word);
    return n > 5 && !strcmp(word + n - 5, ".json");
}

/* argv[*i] is an option: finds it and its value, which may be the next word. */
static int parse_option(struct uk_arguments *a, const struct command *c, int argc, char **argv, int *i) {
    const char *word = argv[*i];
    size_t n = strcspn(word, "=");
    for (int j = 0; j < COUNT(options); j++) {
        const struct option *o = &options[j];
        if (!(o->commands & c->bit) || strlen(o->name) != n || memcmp(word, o->name, n))
            continue;
        if (!o->value)
            return word[n]
                       ? uk_complain(UK_EXIT_USAGE, "%s takes no value; leave out '%s'", o->name, word + n)
                       : take_option(a, o, NULL);
        if (word[n])
            return take_option(a, o, word + n + 1);
        if (o->kind == JSON && !(*i + 1 < argc && ends_in_json(argv[*i + 1])))
            return take_option(a, o, NULL);
        if (*i + 1 >= argc)
            return uk_complain(UK_EXIT_USAGE, "%s needs a value: %s %s", o->name, o->name, o->value);
        return take_option(a, o, argv[++*i]);
    }
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), word);
    return unknown("option", name, c);
}

static int parse_arguments(struct uk_arguments *a, const struct command *c, int argc, char **argv) {
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
    if (a->positionals < c->least)
        return uk_complain(UK_EXIT_USAGE, "uk %s needs a %s: uk %s %s", c->name, c->synopsis, c->name,
                           c->synopsis);
    if (a->positionals > c->most)
        return uk_complain(UK_EXIT_USAGE, "uk %s: '%s' is one argument too many; usage: uk %s %s", c->name,
                           a->positional[c->most], c->name, c->synopsis);
    return UK_EXIT_OK;
}

static int run_command(const struct command *c, int argc, char **argv) {
    struct uk_arguments a = {.command = c->name};
    a.positional = calloc((size_t)argc, sizeof *a.positional);
    a.binding = calloc((size_t)argc, sizeof *a.binding);
    int status = UK_EXIT_WRONG;
    if (!a.positional || !a.binding)
        uk_complain(status, "out of memory");
    else if (!(status = parse_arguments(&a, c, argc, argv)))
        status = c->run(&a);
    free(a.positional);
    free(a.binding);
    return status;
}

static int dispatch(int argc, char **argv) {
    if (argc < 2) {
        print_help(stderr);
        return UK_EXIT_USAGE;
    }
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            print_help(stdout);
            return UK_EXIT_OK;
        }
    if (!strcmp(argv[1], "--version")) {
        puts("uk " UK_VERSION);
        return UK_EXIT_OK;
    }
    for (int i = 0; i < COUNT(commands); i++)
        if (!strcmp(argv[1], commands[i].name))
            return run_command(&commands[i], argc, argv);
    return unknown("command", argv[1], NULL);
}

int main(int argc, char **argv) {
    int status = dispatch(argc, argv);
    if (fflush(stdout) || ferror(stdout))
        return uk_complain(UK_EXIT_WRONG, "cannot write to standard output: %s", strerror(errno));
    return status;
}
