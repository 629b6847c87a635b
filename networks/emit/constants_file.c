/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants in a file of their own, which programs map. Its header has 64 bytes, in little-endian words of 64
 * bits, and the constants follow, each at a multiple of 64:
 *
 *     0    "ukconst", NUL
 *     8    version of the format
 *     16   stamp, two words: a hash of the target's name and of all constants
 *     32   length of the file in bytes
 *     40   zeros
 *
 * The object has the same stamp and length, so that it takes no other file.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"

enum { VERSION = 1, MAGIC_AT = 0, VERSION_AT = 8, STAMP_AT = 16, LENGTH_AT = 32 };

static const char magic[8] = "ukconst";

/* ---- the stamp ---- */

static void mix(uint64_t word[2], uint64_t x) {
    word[0] = (word[0] ^ x) * UINT64_C(0x9e3779b97f4a7c15);
    word[0] ^= word[0] >> 29;
    word[1] = ((word[1] << 23 | word[1] >> 41) + x) * UINT64_C(0xd6e8feb86659fd93);
    word[1] ^= word[1] >> 32;
}

static void mix_bytes(uint64_t word[2], const void *bytes, size_t length) {
    const char *at = bytes;
    uint64_t x;

    for (size_t i = 0; i < length / sizeof x; i++, at += sizeof x) {
        memcpy(&x, at, sizeof x);
        mix(word, x);
    }
    x = 0;
    memcpy(&x, at, length % sizeof x);
    mix(word, x);
    mix(word, length);
}

/* ---- writing ---- */

struct saving {
    const struct uk_constants *c;
    uk_network_write *write;
    void *user;
};

static enum uk_status put(const struct saving *s, uint64_t at, const void *bytes, size_t length) {
    errno = 0;
    if (!length || s->write(s->user, at, bytes, length))
        return UK_OK;
    return uk_graph_fail(&s->c->n->graph, UK_IO, NULL, "the file of constants cannot be written%s%s",
                         errno ? ": " : "", errno ? strerror(errno) : "");
}

/* Writes a constant, and zeros up to the next one. */
static enum uk_status put_constant(const struct saving *s, const struct uk_placed *k, uint64_t word[2]) {
    static const char zeros[UK_PLACE_ALIGNMENT];
    const size_t rest = (UK_PLACE_ALIGNMENT - k->bytes % UK_PLACE_ALIGNMENT) % UK_PLACE_ALIGNMENT;
    const void *elements = uk_constant_elements(k);
    void *made = elements ? NULL : aligned_alloc(UK_PLACE_ALIGNMENT, k->bytes + rest);
    enum uk_status status = UK_OK;

    if (!elements && !made)
        return uk_graph_no_memory(&s->c->n->graph);
    if (made)
        status = uk_constant_write(s->c, k, made);
    if (!status) {
        mix_bytes(word, made ? made : elements, k->bytes);
        status = put(s, k->offset, made ? made : elements, k->bytes);
    }
    free(made);
    uk_constant_give_back(&s->c->n->graph, k->value);
    return status ? status : put(s, k->offset + k->bytes, zeros, rest);
}

enum uk_status uk_constants_save(const struct uk_constants *c, const char *target, uk_network_write *write,
                                 void *user, struct uk_stamp *stamp) {
    const struct saving saving = {c, write, user};
    const uint64_t version = VERSION;
    char header[UK_FILE_HEADER] = {0};
    enum uk_status s = UK_OK;

    *stamp = (struct uk_stamp){.word = {VERSION, VERSION}, .length = c->length};
    mix_bytes(stamp->word, target, strlen(target));
    for (int i = 0; i < c->count && !s; i++)
        s = put_constant(&saving, &c->placed[i], stamp->word);
    if (s)
        return s;
    memcpy(header + MAGIC_AT, magic, sizeof magic);
    memcpy(header + VERSION_AT, &version, sizeof version);
    memcpy(header + STAMP_AT, stamp->word, sizeof stamp->word);
    memcpy(header + LENGTH_AT, &stamp->length, sizeof stamp->length);
    return put(&saving, 0, header, sizeof header);
}

/* ---- the driver ---- */

/* Writes instructions that go on if a word of the header is that value, and else return the status. */
static void put_word_check(struct uk_text *t, int at, const char *value) {
    uk_put(t,
           "  %%at%1$d = getelementptr i8, ptr %%constants, i64 %1$d\n"
           "  %%word%1$d = load i64, ptr %%at%1$d\n"
           "  %%same%1$d = icmp eq i64 %%word%1$d, %2$s\n"
           "  br i1 %%same%1$d, label %%right%1$d, label %%other\n"
           "right%1$d:\n",
           at, value);
}

void uk_driver_put_constants(struct uk_text *t, const struct uk_network *n) {
    uint64_t word;
    char value[24];

    memcpy(&word, magic, sizeof word);
    uk_put(t,
           "@%1$s.constants = internal global ptr null\n"
           "define signext i32 @%1$s_constants(ptr %%constants, ptr %%length) nounwind {\n"
           "  %%address = ptrtoint ptr %%constants to i64\n"
           "  %%null = icmp eq i64 %%address, 0\n"
           "  %%low = and i64 %%address, %2$d\n"
           "  %%skew = icmp ne i64 %%low, 0\n"
           "  %%bad = or i1 %%null, %%skew\n"
           "  br i1 %%bad, label %%wrong, label %%placed\n"
           "wrong:\n  ret i32 %3$d\n"
           "placed:\n"
           "  %%bytes = ptrtoint ptr %%length to i64\n"
           "  %%header = icmp uge i64 %%bytes, %4$d\n"
           "  br i1 %%header, label %%begin, label %%cut\n"
           "cut:\n  ret i32 %5$d\n"
           "other:\n  ret i32 %6$d\n"
           "begin:\n",
           n->name, UK_PLACE_ALIGNMENT - 1, UK_INVALID_ARGUMENT, UK_FILE_HEADER, UK_INVALID_SIZE, UK_REFUSED);
    snprintf(value, sizeof value, "%" PRIu64, word);
    put_word_check(t, MAGIC_AT, value);
    snprintf(value, sizeof value, "%d", VERSION);
    put_word_check(t, VERSION_AT, value);
    for (int i = 0; i < 3; i++)
        uk_put(t,
               "  %%own.at%1$d = getelementptr i8, ptr @%2$s_stamp, i64 %3$d\n"
               "  %%own%1$d = load i64, ptr %%own.at%1$d\n",
               i, n->name, 8 * i);
    for (int i = 0; i < 3; i++) {
        snprintf(value, sizeof value, "%%own%d", i);
        put_word_check(t, STAMP_AT + 8 * i, value);
    }
    uk_put(t,
           "  %%whole = icmp uge i64 %%bytes, %%own2\n"
           "  br i1 %%whole, label %%keep, label %%cut\n"
           "keep:\n"
           "  store ptr %%constants, ptr @%s.constants\n"
           "  ret i32 0\n}\n",
           n->name);
}

void uk_driver_put_constants_check(struct uk_text *t, const struct uk_network *n) {
    uk_put(t,
           "  %%constants = load ptr, ptr @%s.constants\n"
           "  %%constants.none = icmp eq ptr %%constants, null\n"
           "  br i1 %%constants.none, label %%constants.missing, label %%constants.there\n"
           "constants.missing:\n  ret i32 %d\n"
           "constants.there:\n",
           n->name, UK_INVALID_ARGUMENT);
}
