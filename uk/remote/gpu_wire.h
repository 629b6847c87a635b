/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol between uk and gpu_program.c: a request followed by its bytes, then a reply followed by its bytes.
 * All numbers are in the byte order that both machines share. Each request is a call of struct uk_gpu_driver;
 * addresses and handles are those of the driver in gpu_program.c.
 */
#ifndef UK_GPU_WIRE_H
#define UK_GPU_WIRE_H

#include <stdint.h>

enum uk_gpu_what {
    UK_GPU_OPEN, /* device: its ordinal; the reply's bytes are the device's name */
    UK_GPU_CLOSE,
    UK_GPU_ALLOC, /* number: bytes */
    UK_GPU_FREE,
    UK_GPU_UPLOAD,   /* address: destination */
    UK_GPU_DOWNLOAD, /* number: bytes */
    UK_GPU_FILL,     /* number: bytes; value: the byte to store */
    UK_GPU_LOAD,
    UK_GPU_UNLOAD,
    UK_GPU_FIND,
    UK_GPU_LAUNCH,
    UK_GPU_WAIT,
    /* Starts recording of launches, and of uploads too if value is 2; forgets the previous recording. */
    UK_GPU_RECORD,
    /* Times the recording: `number` samples, each after `value` seconds of rest. The reply's bytes are the
     * samples' seconds, as double. */
    UK_GPU_REPLAY
};

struct uk_gpu_request {
    uint64_t what, device, address; /* address: an address or a handle */
    uint64_t number, bytes;         /* bytes: length of the data that follow */
    uint32_t grid[3], block[3], shared, value;
};

struct uk_gpu_reply {
    uint64_t status, value; /* value: an address or a handle */
    uint64_t bytes;         /* length of the data that follow; after a failure they are its message */
};

#endif
