/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of bitcode's identification block, on records that no LLVM writes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "codegen/codegen.h"
#include "link/link.h"

/* Bits of a file, from the low end of each byte. */
struct bit_writer {
    unsigned char bytes[128];
    size_t at;
};

static void put_bits(struct bit_writer *w, uint64_t value, unsigned n) {
    for (unsigned i = 0; i < n; i++, w->at++)
        w->bytes[w->at / 8] |= (unsigned char)((value >> i & 1) << w->at % 8);
}

static void put_vbr(struct bit_writer *w, uint64_t value, unsigned n) {
    for (; value >> (n - 1); value >>= n - 1)
        put_bits(w, (value & ((UINT64_C(1) << (n - 1)) - 1)) | UINT64_C(1) << (n - 1), n);
    put_bits(w, value, n);
}

/* The beginning of a file, up to the identification block's first item; ids there have 3 bits. */
static void put_identification(struct bit_writer *w) {
    *w = (struct bit_writer){.bytes = {'B', 'C', 0xc0, 0xde}, .at = 32};
    put_bits(w, 1, 2);
    put_vbr(w, 13, 8);
    put_vbr(w, 3, 4);
    w->at = 96;
}

/* Records that no LLVM writes: the reader has to end, and shifts must be smaller than a word. */
static void crafted_identification(void **state) {
    struct bit_writer w;
    char producer[64];
    unsigned epoch = 0;

    (void)state;
    /* An array of 2^60 literals, which have no bits: first the abbreviation, then a record of it. */
    put_identification(&w);
    put_bits(&w, 2, 3);
    put_vbr(&w, 3, 5);
    put_bits(&w, 1, 1);
    put_vbr(&w, 1, 8);
    put_bits(&w, 3 << 1, 4);
    put_bits(&w, 1, 1);
    put_vbr(&w, 5, 8);
    put_bits(&w, 4, 3);
    put_vbr(&w, UINT64_C(1) << 60, 6);
    assert_false(uk_bitcode_producer((const char *)w.bytes, sizeof w.bytes, producer, &epoch));

    /* An epoch in chunks of 40 bits. */
    put_identification(&w);
    put_bits(&w, 2, 3);
    put_vbr(&w, 2, 5);
    put_bits(&w, 1, 1);
    put_vbr(&w, 2, 8);
    put_bits(&w, 2 << 1, 4);
    put_vbr(&w, 40, 5);
    put_bits(&w, 4, 3);
    put_vbr(&w, 1000, 40);
    put_bits(&w, 0, 3);
    assert_true(uk_bitcode_producer((const char *)w.bytes, sizeof w.bytes, producer, &epoch));
    assert_int_equal(epoch, 1000);

    /* An epoch in two chunks, in a record without abbreviation. */
    put_identification(&w);
    put_bits(&w, 3, 3);
    put_vbr(&w, 2, 6);
    put_vbr(&w, 1, 6);
    put_vbr(&w, 200, 6);
    put_bits(&w, 0, 3);
    assert_true(uk_bitcode_producer((const char *)w.bytes, sizeof w.bytes, producer, &epoch));
    assert_int_equal(epoch, 200);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(crafted_identification)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
