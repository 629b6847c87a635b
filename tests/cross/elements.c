/* SPDX-License-Identifier: Apache-2.0 */
/* Compares programs that gather and scatter, compiled for this program's architecture, with loops in C. Then
 * passes wrong indices and checks the status, and that outputs are unchanged. */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include "add_rows.h"
#include "bag.h"
#include "embedding.h"
#include "put.h"
#include "take.h"

enum { V = 37, W = 20, B = 3, S = 5, L = 2, N = 7, STATUS = 14 /* UK_INVALID_INDEX */ };

static float table[V * W], position[S * W], rows[B * S * W], bag_of_rows[B * W];
static int64_t token[B * S];
static int16_t member[B * S], far_member[B * S];
static uint8_t bytes[L * V * N], taken[L * S * N], which[S];
static _Alignas(64) char work[4096];
static int failures;

static void expect(bool right, const char *what, long long which_one) {
    if (!right) {
        printf("%s, %lld\n", what, which_one);
        failures++;
    }
}

static void fill(void) {
    uint32_t x = 1;

    for (int i = 0; i < V * W; i++)
        table[i] = (float)((x = x * 1664525 + 1013904223) >> 20) - 2000;
    for (int i = 0; i < S * W; i++)
        position[i] = (float)((x = x * 1664525 + 1013904223) >> 20);
    for (int i = 0; i < L * V * N; i++)
        bytes[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 20);
    for (int i = 0; i < B * S; i++) {
        token[i] = (x = x * 1664525 + 1013904223) % V;
        member[i] = (int16_t)((int)((x = x * 1664525 + 1013904223) >> 8) % (2 * V)) - V;
        far_member[i] = (int16_t)(member[i] - 100);
    }
    for (int i = 0; i < S; i++)
        which[i] = (uint8_t)((x = x * 1664525 + 1013904223) >> 8) % V;
}

static int embed(void) {
    return embedding(V, W, S, B, table, position, token, rows);
}

/* The program adds 100 to each member, in a temp; far_member is less by that. */
static int sum_bag(void) {
    return bag(V, W, B, S, table, far_member, bag_of_rows, work);
}

static int take_bytes(void) {
    return take(L, V, N, S, bytes, which, taken);
}

/* Rows of `position` added to rows of a table, several to some of them: S * B tokens, 5 rows. */
static float sums[V * W];

static int add(void) {
    return add_rows(V, W, B, S, token, position, sums);
}

/* One byte for each index, the last one counts; some are named several times. */
static uint8_t places[V];

static int put_bytes(void) {
    return put(V, S, B, member, bytes, places);
}

static void right_scatters(void) {
    static float wanted[V * W];
    static uint8_t last[V];

    for (int i = 0; i < V * W; i++)
        wanted[i] = sums[i] = (float)(i % 97);
    for (int i = 0; i < V; i++)
        last[i] = places[i] = (uint8_t)i;
    for (int i = 0; i < B * S * W; i++)
        wanted[token[i / W] * W + i % W] += position[i % (S * W)];
    for (int i = 0; i < B * S; i++)
        last[member[i] < 0 ? member[i] + V : member[i]] = bytes[i];
    expect(!add() && !put_bytes(), "a status", 1);
    for (int i = 0; i < V * W; i++)
        expect(sums[i] == wanted[i], "add_rows", i);
    for (int i = 0; i < V; i++)
        expect(places[i] == last[i], "put", i);
}

static void right_results(void) {
    expect(!embed() && !sum_bag() && !take_bytes(), "a status", 0);
    for (int i = 0; i < B * S * W; i++)
        expect(rows[i] == table[token[i / W] * W + i % W] + position[i % (S * W)], "embedding", i);
    for (int i = 0; i < B * W; i++) {
        float sum = 0;

        for (int s = 0; s < S; s++) {
            const int row = member[i / W * S + s];

            sum += table[(row < 0 ? row + V : row) * W + i % W];
        }
        expect(bag_of_rows[i] == sum, "bag", i);
    }
    for (int i = 0; i < L * S * N; i++)
        expect(taken[i] == bytes[i / (S * N) * V * N + which[i / N % S] * N + i % N], "take", i);
}

static bool is_untouched(const void *out, size_t bytes_of) {
    const unsigned char *p = out;

    while (bytes_of && p[bytes_of - 1] == 0x5a)
        bytes_of--;
    return !bytes_of;
}

static void wrong_indices(void) {
    static const int64_t tokens[] = {-1, V, -V, INT64_MAX, INT64_MIN, (int64_t)1 << 32};
    static const int members[] = {V, -V - 1, INT16_MAX, INT16_MIN + 100};

    for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
        const size_t at = i * 7 % (B * S);
        const int64_t was = token[at];

        memset(rows, 0x5a, sizeof rows);
        token[at] = tokens[i];
        expect(embed() == STATUS && is_untouched(rows, sizeof rows), "embedding of a wrong token", tokens[i]);
        memset(sums, 0x5a, sizeof sums);
        expect(add() == STATUS && is_untouched(sums, sizeof sums), "rows added at a wrong token", tokens[i]);
        token[at] = was;
    }
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const size_t at = i * 11 % (B * S);
        const int16_t was = far_member[at];

        memset(bag_of_rows, 0x5a, sizeof bag_of_rows);
        far_member[at] = (int16_t)(members[i] - 100);
        expect(sum_bag() == STATUS && is_untouched(bag_of_rows, sizeof bag_of_rows), "bag of a wrong member",
               members[i]);
        far_member[at] = was;
    }
    for (int v = V; v < 256; v += 218) {
        const uint8_t was = which[S - 1];

        memset(taken, 0x5a, sizeof taken);
        which[S - 1] = (uint8_t)v;
        expect(take_bytes() == STATUS && is_untouched(taken, sizeof taken), "take at a wrong index", v);
        which[S - 1] = was;
    }
}

int main(void) {
    fill();
    right_results();
    right_scatters();
    wrong_indices();
    right_results();
    return failures != 0;
}
