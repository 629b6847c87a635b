/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Continues a text, which is a list of tokens: in each step the most likely one. The network is a decoder,
 * compiled to an object, whose keys and values of earlier tokens stay in its memory. So a step reads them
 * there, and computes only what is new.
 *
 *     make.py llama
 *     uk compile llama.onnx --size seq=1..32 --size past=0..1023 --state auto -o llama.o
 *     uk compile llama.onnx --size seq=1..32 --size past=0..1023 --state auto -o llama.h
 *     cc -I. generate.c llama.o -lm -o generate
 *     ./generate 20 32 1 1504 3186
 *
 * Arguments: the number of new tokens, that of tokens in a step while the prompt is read, and the prompt.
 * WORDS, CHUNK and ROWS state what the network was made and compiled for.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include "llama.h"

#ifndef WORDS
#define WORDS 13568
#define CHUNK 32
#define ROWS 1024
#endif

/* Appends tokens to the sequence of `past` tokens in the block of memory. Returns the most likely next one;
 * -1: the network refuses, as there is no room for them. */
static int64_t step(void *memory, int64_t past, const int64_t *tokens, int64_t count) {
    const int64_t sizes[] = {count, past}; /* in the header's order: seq, past */
    int64_t *ids = llama_input(memory, 0), best = 0;
    const float *logits = llama_output(memory, 0);

    for (int64_t i = 0; i < count; i++)
        ids[i] = tokens[i];
    if (llama_run(memory, sizes))
        return -1;
    logits += (count - 1) * WORDS; /* of the last token */
    for (int64_t i = 1; i < WORDS; i++)
        if (logits[i] > logits[best])
            best = i;
    return best;
}

/* Reads the prompt, `chunk` tokens in a step, then adds tokens one by one. */
static int generate(void *memory, int64_t *token, int64_t prompt, int64_t all, int64_t chunk) {
    int64_t past = 0;

    while (past < all) {
        const int64_t rest = prompt - past, count = rest < 1 ? 1 : rest < chunk ? rest : chunk;
        const int64_t next = step(memory, past, token + past, count);
        if (next < 0) {
            fprintf(stderr, "generate: no room after %d tokens\n", (int)past);
            return 1;
        }
        past += count;
        if (past >= prompt && past < all) {
            token[past] = next;
            printf("%d\n", (int)next);
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const int64_t prompt = argc - 3, all = argc > 3 ? prompt + atoi(argv[1]) : 0,
                  chunk = argc > 3 ? atoi(argv[2]) : 0;

    if (argc < 4 || all < prompt || all > ROWS || chunk < 1 || chunk > CHUNK) {
        fprintf(stderr,
                "usage: generate COUNT CHUNK TOKEN...: at most %d tokens, and %d of the prompt in a step\n",
                ROWS, CHUNK);
        return 2;
    }
    int64_t *token = malloc((size_t)all * sizeof *token);
    void *memory = aligned_alloc(64, (llama_memory() + 63) / 64 * 64);
    int status = 1;

    for (int64_t i = 0; token && i < prompt; i++) {
        token[i] = atoi(argv[3 + i]);
        if (token[i] < 0 || token[i] >= WORDS) {
            fprintf(stderr, "generate: a token is from 0 to %d\n", WORDS - 1);
            free(token);
            token = NULL;
        }
    }
    if (token && memory)
        status = generate(memory, token, prompt, all, chunk);
    free(memory);
    free(token);
    return status;
}
