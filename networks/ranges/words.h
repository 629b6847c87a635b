/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UK_WORDS_H
#define UK_WORDS_H

#include "ranges/ranges.h"

/* Where a number is in a program's text. */
enum uk_word_place {
    UK_WORD_VALUE,  /* a value, of some type of elements */
    UK_WORD_INDEX,  /* an extent, a subscript or a range: affine */
    UK_WORD_STRIDE, /* a product */
};

struct uk_word {
    const char *at;
    int length;
    int line, column; /* 1-based, as in positions of the language */
    bool is_number, is_integer;
    int64_t integer;
    enum uk_word_place place; /* of a number */
};

/* Splits the text into tokens; blanks between them are dropped, ends of lines are tokens. Returns their
 * number; *tokens is freed with free(). -1: no memory. */
int uk_words_of(const char *text, struct uk_word **tokens);
/* True if the tokens are equal, apart from the values of integers. */
bool uk_words_alike(const struct uk_word *a, int count_a, const struct uk_word *b, int count_b);

/* ---- equal.c ---- */

/* A program, and the sizes and names of tensors with which it is compared. */
struct uk_comparand {
    struct uk_program *program;
    const int64_t *size; /* values of the program's sizes, in order */
    const struct uk_tensor_name *tensor;
    int tensors;
};

/* True if two programs compute the same: statements over no iterations do not matter, nor subscripts along
 * dimensions of extent 1, nor how tensors are named. NULL: a program without statements. */
bool uk_programs_equal(const struct uk_comparand *a, const struct uk_comparand *b);

#endif
