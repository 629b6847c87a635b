/* SPDX-License-Identifier: Apache-2.0 */
/* times GPU FILE.hsaco KERNEL GRID BLOCK [M N K | kinds]: launches a kernel on one buffer, or a product of
 * three, and prints the latencies of the GPU's row, then for each block its cycles, then lines. kinds:
 * executes some blocks of each kind, and also prints how many, and the number of kinds. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu.h"
#include "machine/machine.h"

enum { BYTES = 1 << 16, MOST = 1 << 20, BLOCKS = 64, STEPS = 1 << 20 };

int main(int argc, char **argv) {
    static unsigned char data[MOST];
    static struct uk_block_time times[BLOCKS];
    FILE *file = argc > 5 ? fopen(argv[2], "rb") : NULL;
    const size_t bytes = file ? fread(data, 1, MOST, file) : 0;
    struct uk_amdgpu *gpu = file ? uk_amdgpu_open(argv[1]) : NULL;
    const struct uk_core *core = gpu ? uk_core_find(argv[1]) : NULL;
    struct uk_amdgpu_object *object;
    struct uk_amdgpu_counts counts;
    uint64_t buffer[3];
    int32_t size[3] = {0};
    const void *arguments[] = {&buffer[0], &buffer[1], &buffer[2], &size[0], &size[1], &size[2]};

    if (!core || uk_amdgpu_load(gpu, data, bytes, &object) || uk_amdgpu_alloc(gpu, BYTES, &buffer[0]) ||
        uk_amdgpu_alloc(gpu, BYTES, &buffer[1]) || uk_amdgpu_alloc(gpu, BYTES, &buffer[2]))
        return 1;
    const struct uk_amdgpu_launch launch = {.grid = {(uint32_t)atoi(argv[4]), 1, 1},
                                            .block = {(uint32_t)atoi(argv[5]), 1, 1},
                                            .core = core,
                                            .times = times,
                                            .max_steps = STEPS,
                                            .by_kind = argc == 7 && !strcmp(argv[6], "kinds")};
    for (int i = 0; i < 3 && argc > 8; i++)
        size[i] = atoi(argv[6 + i]);
    if (uk_amdgpu_launch(gpu, uk_amdgpu_find(object, argv[3]), &launch, arguments, argc > 8 ? 6 : 1,
                         &counts)) {
        puts(uk_amdgpu_message(gpu));
        return 1;
    }
    printf("%d %d %d %d %d\n", core->device.latency.shared, core->device.latency.l2,
           core->device.latency.memory, core->device.f64_cycles, core->device.line);
    for (uint32_t b = 0; b < launch.grid[0]; b++) {
        for (int i = 0; i < UK_ISSUES; i++)
            printf("%.0f ", (double)times[b].issue[i]);
        printf("%.0f %.0f %.0f %.0f\n", (double)times[b].matrix, (double)times[b].shared,
               (double)times[b].lines, (double)times[b].alone);
    }
    printf("%" PRIu64 " %" PRIu64, counts.lines, counts.distinct_lines);
    if (launch.by_kind)
        printf(" %" PRIu64 " %" PRIu64, counts.executed_blocks, counts.kinds);
    printf("\n");
    fclose(file);
    uk_amdgpu_close(gpu);
    return 0;
}
