/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the known name that is closest to a misspelled word. */
#include <string.h>
#include "base.h"

enum { MAX_LENGTH = 48 };

/* The Damerau-Levenshtein distance: insertions, deletions, substitutions and transpositions of neighbours
 * from a to b; MAX_LENGTH if a word is longer than the table. */
static int distance(const char *a, const char *b) {
    int rows[3][MAX_LENGTH + 1]; /* for the last three characters of a */
    size_t n = strlen(b), length = strlen(a);

    if (n > MAX_LENGTH || length > MAX_LENGTH)
        return MAX_LENGTH;
    for (size_t j = 0; j <= n; j++)
        rows[0][j] = (int)j;
    for (size_t i = 1; i <= length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i - 1) % 3], *before = rows[(i + 1) % 3];

        row[0] = (int)i;
        for (size_t j = 1; j <= n; j++) {
            row[j] = above[j - 1] + (a[i - 1] != b[j - 1]);
            row[j] = above[j] + 1 < row[j] ? above[j] + 1 : row[j];
            row[j] = row[j - 1] + 1 < row[j] ? row[j - 1] + 1 : row[j];
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
                row[j] = before[j - 2] + 1;
        }
    }
    return rows[length % 3][n];
}

void uk_consider_name(struct uk_closest_name *n, const char *name) {
    int d = distance(n->word, name);

    if (d < (n->name ? n->distance : (int)strlen(n->word) / 2 + 1)) {
        n->distance = d;
        n->name = name;
    }
}
