/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies the LLVM that wrote a bitcode file. LLVM's error for a newer epoch does not name it; the
 * identification block does. It is the first block and has the same form in all versions.
 *
 * Layout: bits from the low end of each byte. First 'BC' C0DE, then blocks. An abbreviation id, 2 bits wide
 * here, begins each item:
 *
 * - 1 enters a block: id vbr8, new width vbr4, alignment to 32 bits, length in words.
 * - 0 ends a block.
 * - 2 defines an abbreviation.
 * - 3 is an unabbreviated record: code vbr6, count vbr6, each operand vbr6.
 * - Others are records in the form of that abbreviation.
 */
#include <string.h>
#include "link.h"

enum { IDENTIFICATION_BLOCK = 13, STRING_RECORD = 1, EPOCH_RECORD = 2, MAX_ABBREVIATIONS = 8, MAX_PARTS = 8 };
enum { LITERAL = 0, FIXED = 1, VBR = 2, ARRAY = 3, CHAR6 = 4 };

struct bits {
    const unsigned char *data;
    size_t at, end; /* in bits */
    bool failed;
};

struct abbreviation {
    int parts;
    struct {
        unsigned kind;
        uint64_t value;
    } part[MAX_PARTS];
};

static uint64_t take(struct bits *b, unsigned n) {
    uint64_t v = 0;

    if (n > 64 || b->end - b->at < n) {
        b->failed = true;
        return 0;
    }
    for (unsigned i = 0; i < n; i++, b->at++)
        v |= (uint64_t)(b->data[b->at / 8] >> b->at % 8 & 1) << i;
    return v;
}

static uint64_t take_vbr(struct bits *b, unsigned n) {
    uint64_t v = 0, chunk = 0;

    for (unsigned shift = 0; shift < 64; shift += n - 1) {
        chunk = take(b, n);
        v |= (chunk & ((UINT64_C(1) << (n - 1)) - 1)) << shift;
        if (!(chunk >> (n - 1)) || b->failed)
            return v;
    }
    b->failed = true;
    return v;
}

static void define(struct bits *b, struct abbreviation *a) {
    uint64_t n = take_vbr(b, 5);

    a->parts = 0;
    if (n > MAX_PARTS)
        b->failed = true;
    for (uint64_t i = 0; i < n && !b->failed; i++) {
        bool literal = take(b, 1);

        a->part[i].kind = literal ? LITERAL : (unsigned)take(b, 3);
        a->part[i].value = literal ? take_vbr(b, 8) : 0;
        if (a->part[i].kind == FIXED || a->part[i].kind == VBR)
            a->part[i].value = take_vbr(b, 5);
        if (a->part[i].value > 64 && !literal)
            b->failed = true;
        a->parts++;
    }
}

static uint64_t take_part(struct bits *b, const struct abbreviation *a, int i) {
    static const char char6[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

    switch (a->part[i].kind) {
    case LITERAL:
        return a->part[i].value;
    case FIXED:
        return take(b, (unsigned)a->part[i].value);
    case VBR:
        return a->part[i].value < 2 ? 0 : take_vbr(b, (unsigned)a->part[i].value);
    case CHAR6:
        return (unsigned char)char6[take(b, 6)];
    default:
        b->failed = true;
        return 0;
    }
}

/* Reads a record's values, the code first. Returns their number; keeps the first `room`. */
static size_t record(struct bits *b, const struct abbreviation *a, uint64_t *value, size_t room) {
    size_t n = 0;

    if (!a) {
        uint64_t code = take_vbr(b, 6), count = take_vbr(b, 6);

        value[n++] = code;
        for (uint64_t i = 0; i < count && !b->failed; i++, n++) {
            uint64_t v = take_vbr(b, 6);

            if (n < room)
                value[n] = v;
        }
        return n;
    }
    for (int i = 0; i < a->parts && !b->failed; i++) {
        bool array = a->part[i].kind == ARRAY && i + 1 < a->parts;
        uint64_t count = array ? take_vbr(b, 6) : 1;

        i += array;
        if (array && count > b->end - b->at) /* more elements than bits: no LLVM writes elements of 0 bits */
            b->failed = true;
        for (; count && !b->failed; count--, n++) {
            uint64_t v = take_part(b, a, i);

            if (n < room)
                value[n] = v;
        }
    }
    return n;
}

static void identify(struct bits *b, unsigned width, char producer[64], unsigned *epoch) {
    struct abbreviation known[MAX_ABBREVIATIONS];
    unsigned count = 0;
    uint64_t value[64];

    while (!b->failed) {
        uint64_t id = take(b, width);

        if (id == 0)
            return;
        if (id == 2 && count < MAX_ABBREVIATIONS) {
            define(b, &known[count++]);
            continue;
        }
        if (id != 3 && (id < 4 || id - 4 >= count)) {
            b->failed = true;
            return;
        }
        size_t n = record(b, id == 3 ? NULL : &known[id - 4], value, 64);

        if (b->failed || !n)
            return;
        if (value[0] == EPOCH_RECORD && n > 1)
            *epoch = (unsigned)value[1];
        if (value[0] != STRING_RECORD)
            continue;
        for (size_t i = 1; i < 64; i++)
            producer[i - 1] = i < n ? (char)value[i] : 0;
        producer[63] = 0;
    }
}

bool uk_bitcode_producer(const char *data, size_t size, char producer[64], unsigned *epoch) {
    struct bits b = {(const unsigned char *)data, 32, size * 8, false};

    if (size < 12 || memcmp(data, "BC\xc0\xde", 4))
        return false;
    if (take(&b, 2) != 1 || take_vbr(&b, 8) != IDENTIFICATION_BLOCK)
        return false;
    unsigned width = (unsigned)take_vbr(&b, 4);

    b.at = (b.at + 31) / 32 * 32 + 32;
    if (b.failed || width < 2 || width > 32 || b.at > b.end)
        return false;
    identify(&b, width, producer, epoch);
    return !b.failed;
}
