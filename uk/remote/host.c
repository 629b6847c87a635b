/* SPDX-License-Identifier: Apache-2.0 */
/* Parses names of boards and commands as the user writes them; quotes words for the board's shell. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "remote.h"

/* ---- [USER@]HOST[:PORT] ---- */

static const char expected[] = "expected [USER@]HOST[:PORT], for instance pi@board or root@[::1]:2222";

/* True if there are only characters of names. ssh may pass the name to a shell (ProxyCommand). */
static bool is_name(const char *s, size_t n, const char *also) {
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)s[i]) && !strchr(also, s[i]))
            return false;
    return n && *s != '-';
}

static int take_port(struct uk_host *h, const char *text, const char *port) {
    char *end;
    const long n = strtol(port, &end, 10);

    if (!isdigit((unsigned char)*port) || *end || n < 1 || n > 65535)
        return uk_complain(UK_EXIT_USAGE, "--remote=%s: '%s' is not a port; give a number from 1 to 65535",
                           text, port);
    h->port = (int)n;
    return UK_EXIT_OK;
}

/* Finds the host's name and what follows; returns its length. An IPv6 address with a port has brackets. */
static size_t find_name(const char **name, const char **rest) {
    size_t n = strcspn(*name, ":");

    if (**name == '[') {
        n = strcspn(++*name, "]");
        *rest = *name + n + ((*name)[n] == ']');
    } else {
        *rest = *name + n;
    }
    return n;
}

int uk_host_parse(struct uk_host *h, const char *text) {
    const char *at = strrchr(text, '@'), *name = at ? at + 1 : text, *rest;
    const size_t user = at ? (size_t)(at - text) : 0;
    const bool brackets = *name == '[';
    const size_t n = find_name(&name, &rest);

    *h = (struct uk_host){.port = 0};
    for (const char *p = text; *p; p++)
        if (isspace((unsigned char)*p) || iscntrl((unsigned char)*p))
            return uk_complain(UK_EXIT_USAGE, "--remote: the name has a blank or a control character; %s",
                               expected);
    if (strstr(text, "://"))
        return uk_complain(UK_EXIT_USAGE, "--remote=%s: leave out the scheme, as ssh connects; %s", text,
                           expected);
    if (at && (!is_name(text, user, "._-+@") || user >= sizeof h->user))
        return uk_complain(UK_EXIT_USAGE, "--remote=%s: '%.*s' is not a user's name; %s", text, (int)user,
                           text, expected);
    if (!is_name(name, n, brackets ? "._-:%" : "._-") || n >= sizeof h->name ||
        (brackets && rest[-1] != ']') || (*rest && *rest != ':'))
        return uk_complain(UK_EXIT_USAGE, "--remote=%s: '%s' does not begin with the name of a host; %s",
                           text, at ? at + 1 : text, expected);
    if (!brackets && strchr(rest + (*rest == ':'), ':'))
        return uk_complain(UK_EXIT_USAGE, "--remote=%s: put an address with several ':' in brackets; %s",
                           text, expected);
    memcpy(h->user, text, user);
    memcpy(h->name, name, n);
    return *rest ? take_port(h, text, rest + 1) : UK_EXIT_OK;
}

/* ---- commands as lists of words ---- */

/* Takes a word from *from and writes it to *to. False: a quote is not closed. */
static bool take_word(const char **from, char **to) {
    char quote = 0;

    for (; **from && (quote || !isspace((unsigned char)**from)); ++*from) {
        const char c = **from;

        if (c == '\\' && quote != '\'' && (*from)[1])
            *(*to)++ = *++*from;
        else if (quote ? c == quote : c == '\'' || c == '"')
            quote = quote ? 0 : c;
        else
            *(*to)++ = c;
    }
    *(*to)++ = 0;
    return !quote;
}

int uk_words_split(struct uk_words *w, const char *option, const char *text) {
    char *to = w->text;

    w->count = 0;
    if (strlen(text) >= sizeof w->text / 2)
        return uk_complain(UK_EXIT_USAGE, "%s is too long; at most %zu characters", option,
                           sizeof w->text / 2 - 1);
    for (const char *p = text; *(p += strspn(p, " \t\n"));) {
        if (w->count == UK_WORDS)
            return uk_complain(UK_EXIT_USAGE, "%s '%s': more than %d words", option, text, UK_WORDS);
        w->word[w->count++] = to;
        if (!take_word(&p, &to))
            return uk_complain(UK_EXIT_USAGE, "%s '%s': a quote is not closed", option, text);
    }
    w->word[w->count] = NULL;
    if (!w->count || !*w->word[0])
        return uk_complain(UK_EXIT_USAGE, "%s '%s' names no command", option, text);
    return UK_EXIT_OK;
}

void uk_put_quoted(struct uk_text *t, const char *word) {
    uk_put(t, "%s'", t->length ? " " : "");
    for (; *word; word++)
        if (*word == '\'')
            uk_put(t, "'\\''");
        else
            uk_put(t, "%c", *word);
    uk_put(t, "'");
}
