/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the words and marks of the .uk language as a libFuzzer dictionary. */
#include <stdio.h>
#include "language/lex.h"

int main(void) {
    const char *word;

    for (size_t i = 0; (word = uk_reserved_word(i)); i++)
        printf("\"%s\"\n", word);
    for (size_t i = 0; (word = uk_long_mark(i)); i++)
        printf("\"%s\"\n", word);
    /* only words after `import` */
    printf("\"ll\"\n\"c\"\n");
    return 0;
}
