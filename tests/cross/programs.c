/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the random programs that `expressions --objects` or `drafts --objects` made, each on its operands, and
 * compares the results with the expected ones. Argument: the file of the operands, which is changed. */
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include "same_element.h"

enum { TENSORS = 48, MARGIN = 64 };

struct tensor {
    const char *name;
    /* bytes with margins; bytes without */
    size_t room, bytes;
    /* bytes of an element; bits of the mantissa, 0: integers */
    int element, mantissa;
};
struct program {
    const char *name;
    int (*call)(char *data);
    int status, tensors;
    struct tensor tensor[TENSORS];
};

/* Runs the indices of parallel loops one after the other: threads under the emulator would not show more. */
void uk_parallel_for(void (*task)(void *, int64_t, int64_t), void *context, int64_t count);
void uk_parallel_for(void (*task)(void *, int64_t, int64_t), void *context, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        task(context, i, 0);
}
int uk_num_threads(void);
int uk_num_threads(void) {
    return 1;
}

#include "programs.h"

/* True if the results, which precede the expected ones, are right. */
static bool is_right(const struct program *p, const struct tensor *t, const char *got) {
    const char *wanted = got + t->room;

    for (size_t i = 0; i < t->room; i++)
        if ((i < MARGIN || i >= MARGIN + t->bytes) && got[i] != wanted[i]) {
            printf("%s: the margins of %s\n", p->name, t->name);
            return false;
        }
    for (size_t i = MARGIN; i < MARGIN + t->bytes; i += (size_t)t->element)
        if (!same_element(t->element, t->mantissa, got + i, wanted + i)) {
            printf("%s: %s, element %zu\n", p->name, t->name, (i - MARGIN) / (size_t)t->element);
            return false;
        }
    return true;
}

int main(int argc, char **argv) {
    enum { COUNT = sizeof programs / sizeof *programs };
    const int file = argc == 2 ? open(argv[1], O_RDWR) : -1;
    struct stat s;
    int wrong = 0;

    if (file < 0 || fstat(file, &s)) {
        perror("the operands");
        return 2;
    }
    char *data =
        s.st_size ? mmap(NULL, (size_t)s.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0) : NULL;
    if (data == MAP_FAILED) {
        perror("the operands");
        return 2;
    }
    for (const struct program *p = programs; p < programs + COUNT; p++) {
        const int status = p->call(data);
        bool right = !status == !p->status;

        if (!right)
            printf("%s: status %d, wanted %d\n", p->name, status, p->status);
        for (int i = 0; i < p->tensors; data += 2 * p->tensor[i++].room)
            right = right && (status || is_right(p, &p->tensor[i], data));
        wrong += !right;
    }
    printf("%d calls of programs, %d wrong\n", COUNT, wrong);
    return wrong != 0;
}
