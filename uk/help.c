/* SPDX-License-Identifier: Apache-2.0 */
/* uk help: prints help on all commands or on one, targets, and the file for completion in bash. */
#include <stdio.h>
#include <string.h>
#include "target/target.h"
#include "options.h"

static void print_options(FILE *out, const struct uk_command *c) {
    for (const struct uk_option *o = uk_options; o->name; o++) {
        char text[64];
        if (!(o->commands & c->bit) || !o->help)
            continue;
        const bool may = o->kind == UK_OPTION_EXTENT;
        snprintf(text, sizeof text, "%s%s%s%s", o->name,
                 !o->value           ? ""
                 : may               ? "[="
                 : o->name[1] == '-' ? "="
                                     : " ",
                 o->value ? o->value : "", may ? "]" : "");
        fprintf(out, "  %-21s %s\n", text, o->help);
    }
}

void uk_print_help(FILE *out, const struct uk_command *c) {
    if (c) {
        fprintf(out, "usage: uk %s%s%s [OPTION...]\n\n%s\n\n", c->name, *c->synopsis ? " " : "", c->synopsis,
                c->summary);
        print_options(out, c);
        if (strstr(c->synopsis, "FILE"))
            fprintf(out, "\nA FILE of - is standard input.%s\n",
                    c->run_network ? " A FILE that ends in .onnx is a network." : "");
        return;
    }
    fputs("usage: uk COMMAND [ARGUMENT...] [OPTION...]\n\n", out);
    for (c = uk_commands; c->name; c++)
        fprintf(out, "  %-8s %s\n", c->name, c->summary);
    fputs("\nuk help COMMAND (or uk COMMAND --help) prints a command's options, uk --version the version. "
          "Manual pages: uk(1), uk(5).\n"
          "Results go to standard output, errors to standard error as FILE:LINE:COLUMN: error: WHAT; WHAT TO "
          "DO.\n"
          "Exit status: 0 done, 1 refused or wrong, 2 usage.\n",
          out);
}

int uk_complain_of_unknown(const char *what, const char *word, const struct uk_command *c) {
    struct uk_closest_name near = {.word = word};
    char lists[64];
    for (const struct uk_command *k = uk_commands; !c && k->name; k++)
        uk_consider_name(&near, k->name);
    for (const struct uk_option *o = uk_options; c && o->name; o++)
        if (o->commands & c->bit)
            uk_consider_name(&near, o->name);
    snprintf(lists, sizeof lists, "uk help%s%s", c ? " " : "", c ? c->name : "");
    return uk_complain(UK_EXIT_USAGE, "unknown %s '%s'%s%s%s '%s' lists them", what, word,
                       near.name ? "; did you mean '" : ";", near.name ? near.name : "",
                       near.name ? "'?" : "", lists);
}

/* ---- completion ---- */

/* Prints the distinct values in a column of the kernels' table. */
static void print_column(const char *column(const struct uk_kernel *)) {
    for (int i = 0; i < uk_kernel_count(); i++) {
        int first = 0;

        while (strcmp(column(uk_kernel_at(first)), column(uk_kernel_at(i))))
            first++;
        if (first == i)
            printf("%s ", column(uk_kernel_at(i)));
    }
}

/* Prints a pattern of a case statement, COMMAND or COMMAND,OPTION, with its completions. */
static void print_words(const char *command, const char *option, const char *words) {
    char word[32];
    bool files = false;
    printf("    %s%s%s) words='", command, option ? "," : "", option ? option : "");
    for (size_t n; *words; words += n + (words[n] == ' ')) {
        n = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (!strcmp(word, "<file>")) {
            files = true;
        } else if (!strcmp(word, "<kernel>")) {
            for (int i = 0; i < uk_kernel_count(); i++)
                printf("%s ", uk_kernel_symbol(uk_kernel_at(i)));
        } else if (!strcmp(word, "<operation>") || !strcmp(word, "<isa>")) {
            print_column(!strcmp(word, "<isa>") ? uk_kernel_isa : uk_kernel_op);
        } else if (!strcmp(word, "<target>")) {
            printf("native ");
            for (const struct uk_target *t = uk_targets; t->name; t++)
                printf("%s ", t->name);
        } else if (!strcmp(word, "<command>")) {
            for (const struct uk_command *c = uk_commands; c->name; c++)
                printf("%s ", c->name);
        } else {
            printf("%s ", word);
        }
    }
    printf("' files=%s ;;\n", files ? "yes" : "");
}

static void print_options_of(const struct uk_command *c) {
    printf("    %s) options='--help ", c->name);
    for (const struct uk_option *o = uk_options; o->name; o++)
        if (o->commands & c->bit && o->help)
            printf("%s%s ", o->name, o->value && !uk_has_optional_value(o) && o->name[1] == '-' ? "=" : "");
    printf("' ;;\n");
}

/* Bash splits words at '=', so --emit=asm is three words: option, sign, value. */
static const char completion_head[] =
    "# Completion of uk's commands for bash. Made by `uk help --completion`.\n"
    "_uk() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} "
    "command=${COMP_WORDS[1]}\n"
    "    local options='' words='' files='' word\n"
    "    COMPREPLY=()\n"
    "    [[ $current == = ]] && current=''\n"
    "    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD - 2]}\n";
static const char completion_tail[] =
    "    if [[ $current == -* ]]; then\n"
    "        words=$options files=''\n"
    "    fi\n"
    "    while read -r word; do\n"
    "        [[ -n $word ]] && COMPREPLY+=(\"$word\")\n"
    "    done < <(compgen -W \"$words\" -- \"$current\"; [[ -z $files ]] || compgen -f -- \"$current\")\n"
    "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
    "    [[ -z $files ]] || compopt -o filenames 2>/dev/null\n"
    "    return 0\n"
    "}\n"
    "complete -F _uk uk\n";

static void print_completion(void) {
    fputs(completion_head, stdout);
    printf("    ((COMP_CWORD == 1)) && command=''\n"
           "    case $command in\n");
    print_words("''", NULL, "<command> --help --version");
    for (const struct uk_command *c = uk_commands; c->name; c++)
        print_words(c->name, NULL, c->words ? c->words : "");
    printf("    esac\n"
           "    case $command in\n");
    for (const struct uk_command *c = uk_commands; c->name; c++)
        print_options_of(c);
    printf("    esac\n"
           "    case $command,$before in\n");
    for (const struct uk_command *c = uk_commands; c->name; c++)
        for (const struct uk_option *o = uk_options; o->name; o++)
            if (o->commands & c->bit && o->help && o->value && !uk_has_optional_value(o))
                print_words(c->name, o->name, o->words ? o->words : "");
    printf("    esac\n");
    fputs(completion_tail, stdout);
}

/* ---- targets ---- */

/* Prints the cores that the target's code is tuned for: the core of its row if that lists CPUs, else all
 * cores with the instruction set of that row. */
static void print_cores(const struct uk_target *t) {
    const struct uk_core *own = uk_core_find(t->row), *c;
    int cores = 0;

    for (int i = 0; (c = uk_core_at(i)); i++)
        if (c->cpus && (own->cpus ? c == own : c->arch == own->arch && !strcmp(c->isa, own->isa)))
            printf("%s%s", cores++ ? ", " : "", c->name);
    puts(cores ? "" : "any");
}

static void print_targets(void) {
    const struct uk_machine *here = uk_machine();

    printf("%-14s  %-12s  %s\n", "target", "architecture", "cores");
    printf("%-14s  %-12s  %s, this CPU\n", "native", uk_own_arch()->name, here->core.name);
    for (const struct uk_target *t = uk_targets; t->name; t++) {
        if (t->interpreted)
            continue;
        printf("%-14s  %-12s  ", t->name, t->arch->name);
        if (t->arch->is_device)
            puts(t->row);
        else
            print_cores(t);
    }
    puts("interp          -             none: the scheduled loops are interpreted\n\n"
         "A target's features can be added to: x86_64-avx512+avx512vnni, aarch64-neon+dotprod. uk kernels\n"
         "--target=TARGET lists the kernels of one, uk machine --list all cores.");
}

int uk_command_help(const struct uk_arguments *a) {
    const struct uk_command *c = a->positionals ? uk_command_named(a->positional[0]) : NULL;
    if (a->positionals && !strcmp(a->positional[0], "targets")) {
        print_targets();
        return UK_EXIT_OK;
    }
    if (a->positionals && !c)
        return uk_complain_of_unknown("command", a->positional[0], NULL);
    if (a->completion)
        print_completion();
    else
        uk_print_help(stdout, c);
    return UK_EXIT_OK;
}
