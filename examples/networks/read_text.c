/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a line of text from an image, which the program draws itself. The network is PP-OCRv4's trained
 * recognizer (ch_PP-OCRv4_rec_infer.onnx in the wheel of rapidocr-onnxruntime), compiled to machine code in
 * this process. The model contains its dictionary.
 *
 *     cc read_text.c $(pkg-config --cflags --libs uknetworks) -o read_text
 *     ./read_text ch_PP-OCRv4_rec_infer.onnx "KERNELS 2026"
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ukernels/networks.h>

enum { HEIGHT = 48, WIDTH = 320, DOT = 3, LETTER_ROWS = 7, LETTER_COLUMNS = 5, MARGIN = 12 };

/* Bitmaps of letters and digits: rows of five dots, one bit per dot. */
static const struct {
    char letter;
    unsigned char row[LETTER_ROWS];
} font[] = {
    {'A', {14, 17, 17, 31, 17, 17, 17}}, {'C', {14, 17, 16, 16, 16, 17, 14}},
    {'D', {30, 17, 17, 17, 17, 17, 30}}, {'E', {31, 16, 16, 30, 16, 16, 31}},
    {'H', {17, 17, 17, 31, 17, 17, 17}}, {'I', {14, 4, 4, 4, 4, 4, 14}},
    {'K', {17, 18, 20, 24, 20, 18, 17}}, {'L', {16, 16, 16, 16, 16, 16, 31}},
    {'N', {17, 25, 21, 19, 17, 17, 17}}, {'O', {14, 17, 17, 17, 17, 17, 14}},
    {'R', {30, 17, 17, 30, 20, 18, 17}}, {'S', {15, 16, 16, 14, 1, 1, 30}},
    {'T', {31, 4, 4, 4, 4, 4, 4}},       {'U', {17, 17, 17, 17, 17, 17, 14}},
    {'0', {14, 17, 19, 21, 25, 17, 14}}, {'2', {14, 17, 1, 6, 8, 16, 31}},
    {'4', {2, 6, 10, 18, 31, 2, 2}},     {'6', {14, 16, 16, 30, 17, 17, 14}},
};

/* Draws the text black (-1) on white (1) into three equal planes. */
static void draw(const char *text, float *image) {
    for (int i = 0; i < 3 * HEIGHT * WIDTH; i++)
        image[i] = 1;
    for (int x = MARGIN; *text && x + LETTER_COLUMNS * DOT < WIDTH; text++, x += (LETTER_COLUMNS + 1) * DOT)
        for (size_t f = 0; f < sizeof font / sizeof font[0]; f++)
            for (int i = 0; font[f].letter == *text && i < LETTER_ROWS * DOT * LETTER_COLUMNS * DOT; i++) {
                const int r = i / (LETTER_COLUMNS * DOT), c = i % (LETTER_COLUMNS * DOT);
                const int y = (HEIGHT - LETTER_ROWS * DOT) / 2 + r;
                if (font[f].row[r / DOT] >> (LETTER_COLUMNS - 1 - c / DOT) & 1)
                    for (int plane = 0; plane < 3; plane++)
                        image[(plane * HEIGHT + y) * WIDTH + x + c] = -1;
            }
}

/* Prints line n of the dictionary, 1-based; the number after the last line is a blank. */
static void print_character(const char *dictionary, int n) {
    while (n-- > 1 && *dictionary)
        dictionary += strcspn(dictionary, "\n") + 1;
    printf("%.*s", *dictionary ? (int)strcspn(dictionary, "\n") : 1, *dictionary ? dictionary : " ");
}

/* Prints the text. At each position along the line the network scores every character, with 0 for none; a
 * character repeated at adjacent positions is one. */
static void print_text(const char *dictionary, const float *scores, int places, int characters) {
    int last = 0;

    for (int p = 0; p < places; p++) {
        int best = 0;
        for (int c = 1; c < characters; c++)
            if (scores[p * characters + c] > scores[p * characters + best])
                best = c;
        if (best && best != last)
            print_character(dictionary, best);
        last = best;
    }
    printf("\n");
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: read_text MODEL TEXT\n");
        return 2;
    }
    const struct uk_network_tensor image = {
        .name = "x", .type = UK_F32, .rank = 4, .shape = {1, 3, HEIGHT, WIDTH}};
    const struct uk_network_options options = {.shapes = &image, .shape_count = 1};
    struct uk_network *n = uk_network_create();
    if (!n || uk_network_read_file(n, argv[1], &options) || uk_network_compile(n, NULL)) {
        fprintf(stderr, "%s\n", n ? uk_network_message(n) : "out of memory");
        return 1;
    }
    void *memory = aligned_alloc(64, (uk_network_memory(n) + 63) / 64 * 64);
    if (!memory)
        return 1;
    draw(argv[2], uk_network_input(n, memory, 0));
    const enum uk_status s = uk_network_run(n, memory);
    const struct uk_network_tensor *scores = uk_network_value(n, UK_NETWORK_OUTPUT, 0);
    if (!s)
        print_text(uk_network_metadata(n, "character"), uk_network_output(n, memory, 0),
                   (int)scores->shape[1], (int)scores->shape[2]);
    free(memory);
    uk_network_destroy(n);
    return s != UK_OK;
}
