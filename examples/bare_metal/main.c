/* SPDX-License-Identifier: Apache-2.0 */
/* Classifies an image with a quantized MobileNet_v1 0.25/96, without an operating system, and writes the
 * scores to the serial port. uk compile makes net.h and the object; build.sh runs all steps. */
#include <string.h>
#include "bare.h"
#include "net.h"

enum { SIDE = 96, CHANNELS = 3, CLASSES = 1000 };

/* The board has 128 MiB of memory from 0x80000000; the program may use what follows its own image
 * (bare.ld). */
#define MEMORY_END UINT64_C(0x88000000)
extern unsigned char uk_rvp_bss_end[];

static void put_number(unsigned n) {
    char text[11], *at = text + sizeof text - 1;

    *at = 0;
    do {
        *--at = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    uk_rvp_put(at);
}

/* Takes the place of a camera. */
static void take_image(float *image) {
    for (unsigned i = 0; i < CHANNELS * SIDE * SIDE; i++)
        image[i] = (float)(i * 37 % 251) / 128 - 1;
}

int main(void) {
    const uint64_t memory = ((uint64_t)uk_rvp_bss_end + 63) / 64 * 64;
    unsigned best = 0;

    if (memory + net_memory() > MEMORY_END) {
        uk_rvp_put("too little memory\n");
        return 1;
    }
    take_image(net_input((void *)memory, 0));
    const int status = net_run((void *)memory);
    if (status) {
        uk_rvp_put("the network returned status ");
        put_number((unsigned)status);
        uk_rvp_put("\n");
        return 1;
    }
    const float *scores = net_output((void *)memory, 0);
    for (unsigned i = 0; i < CLASSES; i++) {
        uint32_t bits;

        memcpy(&bits, &scores[i], sizeof bits);
        uk_rvp_put("score ");
        put_number(i);
        uk_rvp_put(" 0x");
        uk_rvp_put_hex(bits);
        uk_rvp_put("\n");
        best = scores[i] > scores[best] ? i : best;
    }
    uk_rvp_put("class ");
    put_number(best);
    uk_rvp_put("\n");
    return 0;
}
