/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the wire format of protocol buffers, and those parts of ONNX's schema that tests need. */
#define _POSIX_C_SOURCE 200809L
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "onnx_text.h"

struct bytes {
    unsigned char *at;
    size_t length, room;
    bool failed;
};

static void put(struct bytes *b, const void *from, size_t n) {
    if (b->length + n > b->room && !b->failed) {
        const size_t room = 2 * (b->length + n) + 64;
        unsigned char *larger = realloc(b->at, room);
        b->failed = !larger;
        b->at = larger ? larger : b->at;
        b->room = larger ? room : b->room;
    }
    if (b->failed || !n)
        return;
    memcpy(b->at + b->length, from, n);
    b->length += n;
}

static void put_varint(struct bytes *b, uint64_t v) {
    unsigned char byte;

    do {
        byte = (unsigned char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
        put(b, &byte, 1);
    } while (v >>= 7);
}

static void put_number(struct bytes *b, unsigned field, int64_t v) {
    put_varint(b, field << 3);
    put_varint(b, (uint64_t)v);
}

static void put_float(struct bytes *b, unsigned field, float v) {
    put_varint(b, field << 3 | 5);
    put(b, &v, sizeof v);
}

static void put_part(struct bytes *b, unsigned field, const void *from, size_t n) {
    put_varint(b, field << 3 | 2);
    put_varint(b, n);
    put(b, from, n);
}

/* Writes the message as a field and frees it. */
static void put_message(struct bytes *b, unsigned field, struct bytes *m) {
    put_part(b, field, m->at, m->length);
    b->failed |= m->failed;
    free(m->at);
    *m = (struct bytes){0};
}

/* Writes the text, replacing %XX by the byte of that value. */
static void put_text(struct bytes *b, unsigned field, const char *text, size_t n) {
    struct bytes copy = {0};

    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        if (text[i] == '%' && i + 2 < n && sscanf(text + i + 1, "%2x", &byte) == 1) {
            put(&copy, &(unsigned char){(unsigned char)byte}, 1);
            i += 2;
        } else {
            put(&copy, text + i, 1);
        }
    }
    put_message(b, field, &copy);
}

static void put_word(struct bytes *b, unsigned field, const char *word) {
    put_text(b, field, word, strlen(word));
}

/* ---- tensors ---- */

static int type_of(const char *name) {
    static const char *const names[] = {"",     "f32", "u8",  "i8",  "u16", "i16", "i32",  "i64", "str",
                                        "bool", "f16", "f64", "u32", "u64", "c64", "c128", "bf16"};

    for (int i = 1; i <= 16; i++)
        if (!strcmp(names[i], name))
            return i;
    return atoi(name);
}

static void put_element(struct bytes *b, int type, const char *text) {
    static const unsigned char size[] = {0, 4, 1, 1, 2, 2, 4, 8, 1, 1, 2, 8, 4, 8, 8, 16, 2};
    const double real = strtod(text, NULL);
    const int64_t whole = strtoll(text, NULL, 10);
    const float single = (float)real;

    if (type == 1)
        put(b, &single, sizeof single);
    else if (type == 11)
        put(b, &real, sizeof real);
    else
        put(b, &whole, type > 0 && type <= 16 ? (size[type] > 8 ? 8 : size[type]) : 1);
}

/* Writes the shape. Returns its number of elements; 0 if there are MOST_ELEMENTS or more, which no test
 * writes out. */
static int64_t put_shape(struct bytes *t, char *shape) {
    enum { MOST_ELEMENTS = 1 << 20 };
    int64_t all = 1;

    for (char *save, *d = strtok_r(shape, ",", &save); d && strcmp(d, "-") != 0;
         d = strtok_r(NULL, ",", &save)) {
        const int64_t extent = strtoll(d, NULL, 10);
        put_number(t, 1, extent);
        all *= extent >= 0 && extent < MOST_ELEMENTS ? extent : 0;
        all = all < MOST_ELEMENTS ? all : 0;
    }
    return all;
}

/* Writes the elements in `numbers`, separated by `at`; `how` is the separator before them (see
 * onnx_text.h). */
static void put_data(struct bytes *t, int type, char how, char *numbers, const char *at, int64_t all) {
    struct bytes data = {0};
    char *save, *first = strdup(numbers), *word = strtok_r(numbers, at, &save);
    const bool single = type == 1, real = type == 11;
    int64_t i = 0;

    for (; word && (how != '~' || i < all); word = strtok_r(NULL, at, &save), i++)
        if (how == ':' && (single || real))
            put_element(&data, type, word);
        else if (how == ':')
            put_varint(&data, (uint64_t)strtoll(word, NULL, 10));
        else
            put_element(&data, type, word);
    for (; how == '~' && i < all && first; i++)
        put_element(&data, type, first);
    free(first);
    put_message(t, how == ':' ? single ? 4 : real ? 10 : type == 7 ? 7 : 5 : 9, &data);
}

/* ---- lines ---- */

enum { MOST_GRAPHS = 16, MOST_DEPTH = 4 };

struct graph {
    char name[16];
    struct bytes bytes;
};

struct model {
    struct bytes graph, rest;
    bool has_opset;
    struct graph done[MOST_GRAPHS];  /* graphs that attributes may have */
    struct graph around[MOST_DEPTH]; /* those whose lines go on after the end of `graph`, with its name */
    int done_count, depth;
};

static void begin_graph(struct model *m, const char *name) {
    if (m->depth == MOST_DEPTH || m->done_count + m->depth >= MOST_GRAPHS)
        return;
    struct graph *around = &m->around[m->depth++];
    snprintf(around->name, sizeof around->name, "%s", name);
    around->bytes = m->graph;
    m->graph = (struct bytes){0};
}

static void end_graph(struct model *m) {
    if (!m->depth)
        return;
    struct graph *done = &m->done[m->done_count++];
    *done = m->around[--m->depth];
    const struct bytes ended = m->graph;
    m->graph = done->bytes;
    done->bytes = ended;
}

static void put_graph(struct bytes *b, unsigned field, const struct model *m, const char *name) {
    struct bytes none = {0};
    const struct bytes *graph = &none;

    for (int i = 0; i < m->done_count; i++)
        if (!strcmp(m->done[i].name, name))
            graph = &m->done[i].bytes;
    put_part(b, field, graph->at, graph->length);
}

static void put_value(struct model *m, unsigned field, const char *name, const char *type, char *shape) {
    struct bytes value = {0}, of = {0}, tensor = {0}, dims = {0};

    put_word(&value, 1, name);
    if (type) {
        put_number(&tensor, 1, type_of(type));
        for (char *save, *d = strtok_r(shape, ",", &save); d && strcmp(d, "-") != 0 && strcmp(d, "?") != 0;
             d = strtok_r(NULL, ",", &save)) {
            struct bytes dim = {0};
            char *end;
            const int64_t extent = strtoll(d, &end, 10);
            if (*end)
                put_word(&dim, 2, d);
            else
                put_number(&dim, 1, extent);
            put_message(&dims, 1, &dim);
        }
        if (*shape != '?')
            put_message(&tensor, 2, &dims);
        free(dims.at);
        put_message(&of, 1, &tensor);
        put_message(&value, 2, &of);
    }
    put_message(&m->graph, field, &value);
}

static void put_init(struct model *m, const char *name, const char *type, char *shape, char how,
                     char *numbers) {
    struct bytes t = {0};
    const int64_t all = put_shape(&t, shape);

    put_number(&t, 2, type_of(type));
    put_word(&t, 8, name);
    put_data(&t, type_of(type), how, numbers, " ", all);
    put_message(&m->graph, 5, &t);
}

static void put_entry(struct bytes *t, const char *key, const char *value) {
    struct bytes entry = {0};

    put_word(&entry, 1, key);
    put_word(&entry, 2, value);
    put_message(t, 13, &entry);
}

static void put_file(struct model *m, const char *name, const char *type, char *shape, const char *path,
                     const char *offset) {
    struct bytes t = {0};

    put_shape(&t, shape);
    put_number(&t, 2, type_of(type));
    put_word(&t, 8, name);
    put_entry(&t, "location", path);
    put_entry(&t, "offset", offset);
    put_number(&t, 14, 1);
    put_message(&m->graph, 5, &t);
}

static void put_attribute(const struct model *m, struct bytes *node, char *word) {
    static const char letters[] = "zfstgFIS";
    static const int types[] = {14, 1, 3, 4, 5, 6, 7, 8};
    struct bytes a = {0}, t = {0};
    char *is = strchr(word, '='), *value = is + 3, *save, *part;
    const char *letter = strchr(letters, is[1]);

    *is = 0;
    put_word(&a, 1, word);
    put_number(&a, 20, letter && *letter ? types[letter - letters] : 2);
    if (is[1] == 'i') {
        put_number(&a, 3, strtoll(value, NULL, 10));
    } else if (is[1] == 'f') {
        put_float(&a, 2, strtof(value, NULL));
    } else if (is[1] == 's') {
        put_word(&a, 4, value);
    } else if (is[1] == 'g') {
        put_graph(&a, 6, m, value);
    } else if (is[1] == 't' && (part = strtok_r(value, ":", &save))) {
        const int type = type_of(part);
        char *shape = strtok_r(NULL, ":", &save), *numbers = strtok_r(NULL, ":", &save);
        const int64_t all = shape ? put_shape(&t, shape) : 0;
        put_number(&t, 2, type);
        if (numbers)
            put_data(&t, type, '~', numbers, ",", all);
        put_message(&a, 5, &t);
    } else {
        for (part = strtok_r(value, ",", &save); part; part = strtok_r(NULL, ",", &save))
            if (is[1] == 'F')
                put_float(&a, 7, strtof(part, NULL));
            else if (is[1] == 'I')
                put_number(&a, 8, strtoll(part, NULL, 10));
            else if (is[1] == 'S')
                put_word(&a, 9, part);
    }
    put_message(node, 5, &a);
}

static void put_node(struct model *m, char *type, char **save) {
    struct bytes node = {0};
    char *name = strchr(type, '#'), *domain = strchr(type, '@');
    unsigned field = 1;

    if (name) {
        *name++ = 0;
        put_word(&node, 3, name);
    }
    if (domain) {
        *domain++ = 0;
        put_word(&node, 7, domain);
    }
    put_word(&node, 4, type);
    for (char *word; (word = strtok_r(NULL, " ", save));)
        if (!strcmp(word, "->"))
            field = 2;
        else if (strchr(word, '=') && strchr(word, '=')[1] && strchr(word, '=')[2] == ':')
            put_attribute(m, &node, word);
        else
            put_word(&node, field, strcmp(word, "_") ? word : "");
    put_message(&m->graph, 1, &node);
}

static void put_opset(struct model *m, const char *version, const char *domain) {
    struct bytes set = {0};

    if (domain)
        put_word(&set, 1, domain);
    put_number(&set, 2, strtoll(version, NULL, 10));
    put_message(&m->rest, 8, &set);
    m->has_opset = true;
}

static void put_line(struct model *m, char *line) {
    char *save, *word[5] = {NULL}, *first = strtok_r(line, " ", &save);
    static const struct {
        const char *name;
        int words;
    } kinds[] = {{"opset", 1}, {"input", 3}, {"init", 4}, {"file", 5}, {"meta", 2}, {"output", 1}};
    int kind = 0, count = 0;

    if (!first)
        return;
    if (!strcmp(first, "graph") && (word[0] = strtok_r(NULL, " ", &save))) {
        begin_graph(m, word[0]);
        return;
    }
    if (!strcmp(first, "end")) {
        end_graph(m);
        return;
    }
    while (kind < 6 && strcmp(kinds[kind].name, first) != 0)
        kind++;
    if (kind == 6) {
        put_node(m, first, &save);
        return;
    }
    while (count < kinds[kind].words && (word[count] = strtok_r(NULL, " ", &save)))
        count++;
    if (count < kinds[kind].words)
        return;
    if (kind == 0)
        put_opset(m, word[0], strtok_r(NULL, " ", &save));
    else if (kind == 1)
        put_value(m, 11, word[0], word[1], word[2]);
    else if (kind == 2)
        put_init(m, word[0], word[1], word[2], *word[3], save);
    else if (kind == 3)
        put_file(m, word[0], word[1], word[2], word[3], word[4]);
    else if (kind == 5)
        put_value(m, 12, word[0], NULL, NULL);
    if (kind == 4) {
        struct bytes entry = {0};
        put_word(&entry, 1, word[0]);
        put_word(&entry, 2, word[1]);
        put_message(&m->rest, 14, &entry);
    }
}

unsigned char *onnx_of_text(const char *text, size_t *length) {
    char *copy = strdup(text), *save;
    struct model m = {0};

    if (!copy)
        return NULL;
    for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        put_line(&m, line);
    free(copy);
    while (m.depth)
        end_graph(&m);
    for (int i = 0; i < m.done_count; i++)
        free(m.done[i].bytes.at);
    if (!m.has_opset)
        put_opset(&m, "17", NULL);
    put_message(&m.rest, 7, &m.graph);
    *length = m.rest.length;
    if (m.rest.failed)
        free(m.rest.at);
    return m.rest.failed ? NULL : m.rest.at;
}
