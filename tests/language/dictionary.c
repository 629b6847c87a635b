/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the words and marks of the .uk language as a dictionary of libFuzzer's. */
#include <stdio.h>
#include "language/lex.h"

int main(void) {
    const char *word;

    for (size_t i = 0; (word = uk_reserved_word(i)); i++)
        printf("\"%s\"\n", word);
    for (size_t i = 0; (word = uk_long_mark(i)); i++)
        printf("\"%s\"\n", word);
    printf("\"ll\"\n\"c\"\n"); /* words after `import` alone */
    return 0;
}
