/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares the grammar in uk.5 with the parser: both have the same words; random texts derived from the
 * grammar are never syntax errors; and after a wrong token the message names the grammar's rules and tokens.
 *
 *     grammar UK.5 [--seed N|new] [--texts N]
 *
 * A derived text may be refused, for its names, types or ranges. That ends parsing, so the rest would not be
 * tested: every text is also parsed up to the end of each of its lines, followed by a line that is a syntax
 * error. If that error is reported, the parser has accepted all lines before it. Such lines count, and each
 * alternative, option and repetition of the grammar must have been counted.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "derived_text.h"
#include "language/lex.h"
#include "manual.h"
#include "seed.h"
#include "test_context.h"

static const char *page;
static struct ebnf grammar;
static uint64_t seed = 1;
static int texts = 3000;

static enum uk_status parse(const char *text, size_t n) {
    struct uk_program *p = NULL;
    enum uk_status status = uk_program_parse(context, "f.uk", text, n, &p);

    uk_program_destroy(p);
    return status;
}

static int lines_of(const char *text) {
    int n = 1;

    for (; *text; text++)
        n += *text == '\n';
    return n;
}

/* True if the parser reaches a line that cannot follow, appended after the first n bytes of the text. */
static bool reaches_end(const char *text, size_t n, enum derived_place place) {
    static const char *const wrong[] = {"end", "split", "end"}, *const expected[] = {
                                                                    "an item", "a part or 'end'", "a step"};
    struct uk_text t = {0};
    char message[64];

    uk_put(&t, "%.*s%s\n", (int)n, text, wrong[place]);
    assert_non_null(t.text);
    snprintf(message, sizeof message, "f.uk:%d:1: error: expected %s, found '%s'", lines_of(t.text) - 1,
             expected[place], wrong[place]);
    enum uk_status status = parse(t.text, t.length);
    bool reached = !strncmp(uk_context_message(context), message, strlen(message));

    if (status != UK_REFUSED && !reached)
        fail_msg("seed %" PRIu64 ": %s, where this should be it: %s\n%s", seed, uk_context_message(context),
                 message, t.text);
    uk_text_free(t.text);
    return reached;
}

/* The rule of a node: the one whose nodes begin last before it. */
static const char *rule_of(const struct ebnf_node *n) {
    const char *name = "";

    for (int i = 0; i < grammar.rules; i++)
        if (grammar.rule[i].body <= n)
            name = grammar.rule[i].name;
    return name;
}

static const char *first_text(const struct ebnf_node *n) {
    return n->parts ? first_text(n->part[0]) : n->text;
}

/* True if each place of the grammar has been parsed; with `say`, prints the others. */
static bool all_counted(bool say) {
    bool all = true;

    for (const struct ebnf_node *n = grammar.node; n < grammar.node + grammar.nodes; n++) {
        for (int i = 0; n->kind == EBNF_CHOICE && i < n->parts; i++)
            if (!n->part[i]->chosen) {
                all = false;
                if (say)
                    print_error("%s: the alternative with %s was never parsed\n", rule_of(n),
                                first_text(n->part[i]));
            }
        if ((n->kind == EBNF_OPTION || n->kind == EBNF_REPEAT) && (!n->taken || !n->left_out)) {
            all = false;
            if (say)
                print_error("%s: %s was never %s\n", rule_of(n), first_text(n),
                            n->taken ? "left out" : "parsed");
        }
    }
    return all;
}

static void derived_texts_are_no_syntax_errors(void **state) {
    int accepted = 0, lines = 0, reached = 0;

    (void)state;
    for (int i = 0; i < texts || (i < 10 * texts && !all_counted(false)); i++) {
        struct ebnf_derivation d;
        struct derived_names names;
        struct derived_text t;
        int taken = 0;

        derive_program(&d, &grammar, &names, seed * 1000003 + (uint64_t)i);
        derived_write(&d, &t);
        enum uk_status status = parse(t.text.text, t.text.length);
        if (status != UK_OK && status != UK_REFUSED)
            fail_msg("seed %" PRIu64 ", text %d: %s\n%s", seed, i, uk_context_message(context), t.text.text);
        accepted += status == UK_OK;
        for (int k = 0; k < d.tokens; k++)
            if (d.token[k].is_symbol && strchr(d.token[k].text, '\n') && d.token[k].text[0] != '"') {
                bool good = reaches_end(t.text.text, t.end[k], t.place[k]);

                lines++;
                reached += good;
                taken = good ? k + 1 : taken;
            }
        ebnf_count_hits(&d, taken);
        derived_text_free(&t);
        derived_free(&d);
    }
    print_message("at least %d texts, %d accepted; %d of %d lines parsed\n", texts, accepted, reached, lines);
}

static void the_whole_grammar_was_parsed(void **state) {
    (void)state;
    assert_true(all_counted(true));
}

/* ---- words and rules ---- */

static void rules_are_all_used(void **state) {
    (void)state;
    for (int i = 1; i < grammar.rules; i++) {
        bool used = false;

        for (int k = 0; k < grammar.nodes; k++)
            used |=
                grammar.node[k].kind == EBNF_SYMBOL && !strcmp(grammar.node[k].text, grammar.rule[i].name);
        if (!used)
            fail_msg("no rule uses %s", grammar.rule[i].name);
    }
    assert_string_equal(grammar.rule[0].name, "program");
}

/* The number of tokens of a text, -1: an error; *first is the kind of the first one. */
static int lex(const char *text, enum uk_token_kind *first) {
    struct uk_token *tokens;
    int n = uk_lex(context, text, strlen(text), &tokens) ? -1 : 0;

    while (n >= 0 && tokens[n].kind != UK_T_NEWLINE)
        n++;
    *first = tokens ? tokens->kind : UK_T_END;
    free(tokens);
    return n;
}

static void words_are_those_of_the_parser(void **state) {
    static const char *const not_reserved[] = {"x", "y", "z", "c", "ll", "hint", "state", "tiles"};
    enum uk_token_kind kind;

    (void)state;
    for (size_t i = 0; uk_reserved_word(i); i++)
        if (!ebnf_has_word(&grammar, uk_reserved_word(i)))
            fail_msg("the grammar of the page lacks the word %s", uk_reserved_word(i));
    for (int i = 0; i < grammar.nodes; i++) {
        const char *word = grammar.node[i].text;
        bool is_known = uk_is_reserved(word, strlen(word));

        if (grammar.node[i].kind != EBNF_WORD)
            continue;
        for (size_t k = 0; k < sizeof not_reserved / sizeof *not_reserved; k++)
            is_known |= !strcmp(word, not_reserved[k]);
        if (!is_known && !strchr("()[]", *word) && (lex(word, &kind) != 1 || kind != UK_T_MARK))
            fail_msg("the parser does not know the word %s of the grammar", word);
    }
}

static void marks_are_those_of_the_parser(void **state) {
    static const char *const more[] = {"max=", "min=", "(", ")", "[", "]"};
    enum uk_token_kind kind;

    (void)state;
    for (int a = '!'; a < 127; a++)
        for (int b = ' '; b < 127; b++) {
            const char mark[] = {(char)a, (char)(b == ' ' ? 0 : b), 0};

            if (!strpbrk(mark, "()[]#\"") && lex(mark, &kind) == 1 && kind == UK_T_MARK &&
                !ebnf_has_word(&grammar, mark))
                fail_msg("the grammar of the page lacks the mark %s", mark);
        }
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        if (!ebnf_has_word(&grammar, more[i]))
            fail_msg("the grammar of the page lacks the mark %s", more[i]);
}

/* True if a token of the text is the word. */
static bool has_token(const char *text, const char *word) {
    struct uk_token *tokens;
    bool found = false;

    if (!uk_lex(context, text, strlen(text), &tokens))
        for (const struct uk_token *t = tokens; t->kind != UK_T_END; t++)
            found |= uk_token_is(t, word);
    free(tokens);
    return found;
}

static void each_word_has_an_example(void **state) {
    size_t count;
    struct manual_block *blocks = manual_read(page, &count);

    (void)state;
    for (int i = 0; i < grammar.nodes; i++) {
        bool found = grammar.node[i].kind != EBNF_WORD;

        for (size_t k = 0; k < count && !found; k++)
            found = strcmp(blocks[k].section, "GRAMMAR") && strncmp(blocks[k].text, "f.uk:", 5) &&
                    strncmp(blocks[k].text, "f(", 2) && has_token(blocks[k].text, grammar.node[i].text);
        if (!found)
            fail_msg("no example of the page has the word %s", grammar.node[i].text);
    }
    manual_free(blocks, count);
}

/* ---- messages ---- */

/* True if the text is 'word', or a, an or the with a token or rule, with spaces for _. */
static bool is_in_grammar(const char *text, size_t n) {
    char name[64];

    if (n > 2 && *text == '\'' && text[n - 1] == '\'') {
        snprintf(name, sizeof name, "%.*s", (int)(n - 2), text + 1);
        return ebnf_has_word(&grammar, name);
    }
    size_t article = !strncmp(text, "an ", 3)    ? 3
                     : !strncmp(text, "a ", 2)   ? 2
                     : !strncmp(text, "the ", 4) ? 4
                                                 : 0;

    snprintf(name, sizeof name, "%.*s", (int)(n - article), text + article);
    for (char *s = name; *s; s++)
        *s = *s == ' ' ? '_' : *s;
    return article && ebnf_has_symbol(&grammar, name);
}

/* Checks a message "expected A, B or C, found D; ...". */
static void check_expectation(const char *message) {
    const char *s = strstr(message, "error: expected "), *found = s ? strstr(s, ", found ") : NULL;

    if (!s)
        return;
    assert_non_null(found);
    for (s += strlen("error: expected "); s < found;) {
        const char *either = strstr(s, " or "), *comma = strstr(s + 1, ", ");
        const char *end = either && either < comma ? either : comma;

        if (!is_in_grammar(s, (size_t)(end - s)))
            fail_msg("%.*s is neither word, token nor rule of the grammar: %s", (int)(end - s), s, message);
        s = end + (end == either ? 4 : 2);
    }
    found += strlen(", found ");
    size_t n = strcspn(found, ";");
    if (*found != '\'' && strncmp(found, "the end of the text", n) && !is_in_grammar(found, n))
        fail_msg("%.*s is no token of the grammar: %s", (int)n, found, message);
}

/* Replaces one token of a derived text by another one, or cuts the text there. */
static void messages_speak_of_the_grammar(void **state) {
    static const char *const wrong[] = {"end", ",",  "7", "2.5", "\"s\"", "\"\"\"t\"\"\"",
                                        "->",  "\n", "n", "+",   ""};
    int errors = 0;

    (void)state;
    for (int i = 0; i < texts; i++) {
        struct ebnf_derivation d;
        struct derived_names names;
        struct derived_text t;

        derive_program(&d, &grammar, &names, seed * 2000003 + (uint64_t)i);
        for (int times = 0; times < 4 && d.tokens > DERIVED_HEAD; times++) {
            struct ebnf_token *k = &d.token[DERIVED_HEAD + ebnf_below(&d, d.tokens - DERIVED_HEAD)],
                              kept = *k;
            const char *instead = wrong[ebnf_below(&d, sizeof wrong / sizeof *wrong)];

            snprintf(k->text, sizeof k->text, "%s", *instead ? instead : " ");
            derived_write(&d, &t);
            if (parse(t.text.text, *instead ? t.text.length : t.end[k - d.token]) == UK_SYNTAX) {
                check_expectation(uk_context_message(context));
                errors++;
            }
            derived_text_free(&t);
            *k = kept;
        }
        derived_free(&d);
    }
    print_message("%d syntax errors\n", errors);
    assert_true(errors > texts / 2);
}

static void read_grammar(void) {
    size_t count;
    struct manual_block *blocks = manual_read(page, &count);

    for (size_t i = 0; i < count; i++)
        if (!strcmp(blocks[i].section, "GRAMMAR"))
            ebnf_read(&grammar, blocks[i].text);
    manual_free(blocks, count);
    assert_true(grammar.rules > 0);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rules_are_all_used),
        cmocka_unit_test(words_are_those_of_the_parser),
        cmocka_unit_test(marks_are_those_of_the_parser),
        cmocka_unit_test(each_word_has_an_example),
        cmocka_unit_test(derived_texts_are_no_syntax_errors),
        cmocka_unit_test(the_whole_grammar_was_parsed),
        cmocka_unit_test(messages_speak_of_the_grammar),
    };

    for (int i = 2; i + 1 < argc; i += 2)
        if (!strcmp(argv[i], "--seed"))
            seed = seed_of(argv[i + 1]);
        else if (!strcmp(argv[i], "--texts"))
            texts = atoi(argv[i + 1]);
    if (argc < 2) {
        fprintf(stderr, "usage: grammar UK.5 [--seed N|new] [--texts N]\n");
        return 2;
    }
    print_message("seed %" PRIu64 "\n", seed);
    page = argv[1];
    read_grammar();
    int failed = cmocka_run_group_tests(tests, make_context, destroy_context);
    ebnf_free(&grammar);
    return failed;
}
