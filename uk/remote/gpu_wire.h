/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What uk and gpu_program.c say to each other, in the byte order that both have: a request and its bytes,
 * then a reply and its bytes. Each is a call of struct uk_gpu_driver, with the addresses and handles that the
 * program's own driver has.
 */
#ifndef UK_GPU_WIRE_H
#define UK_GPU_WIRE_H

#include <stdint.h>

enum uk_gpu_what {
    UK_GPU_OPEN, /* device: its ordinal; the reply's bytes are its name */
    UK_GPU_CLOSE,
    UK_GPU_ALLOC, /* number: bytes */
    UK_GPU_FREE,
    UK_GPU_UPLOAD,   /* to address */
    UK_GPU_DOWNLOAD, /* number: bytes */
    UK_GPU_FILL,     /* number: bytes, with value */
    UK_GPU_LOAD,
    UK_GPU_UNLOAD,
    UK_GPU_FIND,
    UK_GPU_LAUNCH,
    UK_GPU_WAIT,
    /* From now on launches are kept, and uploads if value is 2; what was kept before is forgotten. */
    UK_GPU_RECORD,
    /* Times what was kept: number samples, each after value seconds of rest; the reply's bytes are their
     * seconds, as double. */
    UK_GPU_REPLAY
};

struct uk_gpu_request {
    uint64_t what, device, address; /* address: or a handle */
    uint64_t number, bytes;         /* bytes: what follows */
    uint32_t grid[3], block[3], shared, value;
};

struct uk_gpu_reply {
    uint64_t status, value; /* value: an address or a handle */
    uint64_t bytes;         /* what follows: of a failure, its message */
};

#endif
