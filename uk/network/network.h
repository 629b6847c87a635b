/* SPDX-License-Identifier: Apache-2.0 */
/* Networks as files of uk: read with the options of the command, given inputs, run here or under an emulator,
 * layer by layer. */
#ifndef UK_NETWORK_H
#define UK_NETWORK_H

#include "emulate/emulate.h"
#include "networks.h"
#include "uk.h"

struct uk_net_job {
    const struct uk_arguments *arguments;
    struct uk_network *network;
    struct uk_options options;
    double read_time, compile_time; /* seconds */
    char *inputs;                   /* one after the other */
    const char **sources;           /* of each, its file, or what else it is */
    int inputs_count, outputs_count;
    int layers;         /* as many as there are, once progress is shown */
    volatile int layer; /* that is being compared, from 0 */
    /* A run: the block of memory, here or in a file that an emulator maps, too. */
    char *memory;
    size_t bytes;
    struct uk_emulation *emulation; /* NULL: the code runs here, or on: */
    struct uk_gpu *gpu;
    struct uk_network_device *device;
    char *mapped;
    size_t mapped_bytes;
};

/* ---- network.c: as all verbs take a network ---- */

/* Reads the file, with the shapes, sizes and constants of the options. Exit status; end the job in any case.
 * */
int uk_net_begin(struct uk_net_job *j, const struct uk_arguments *a);
void uk_net_end(struct uk_net_job *j);
/* Prints the network's message. Exit status. */
int uk_net_failed(const struct uk_net_job *j);
int uk_net_layers(const struct uk_net_job *j);
/* As uk_progress_begin(), while layers are compiled. */
void uk_net_progress_begin(struct uk_net_job *j);
double uk_net_multiply_adds(const struct uk_net_job *j);
/* "[1, 3, 224, 224]", in one of a few buffers that later calls use again. */
const char *uk_net_shape(const struct uk_network_tensor *t);

/* ---- network_data.c: what goes in and comes out ---- */

/* Takes inputs from the files of the options, or random values, the same each time. Exit status. */
int uk_net_take_inputs(struct uk_net_job *j);
void uk_net_print_inputs(const struct uk_net_job *j);
/* Copies the inputs to where runs read them, which may overwrite them. */
void uk_net_fill(const struct uk_net_job *j);
/* Files that outputs are written to can be written. Exit status. */
int uk_net_check_outputs(const struct uk_net_job *j);
/* Prints the outputs' first elements and sums, and writes them to files. Exit status. */
int uk_net_give(const struct uk_net_job *j);
double uk_net_element(enum uk_type type, const void *data, size_t i);
/* A tensor to a file, as its suffix says. Exit status. */
int uk_net_write_tensor(const char *path, const struct uk_network_tensor *t, const void *data);

/* ---- network_device.c: on a GPU ---- */

/* Compiles for the GPU, and takes it, or the simulator. Exit status. */
int uk_net_open_device(struct uk_net_job *j);
void uk_net_close_device(struct uk_net_job *j);
/* NULL: it is no GPU's. */
const char *uk_net_device_name(const struct uk_net_job *j);
/* One layer, or, if that is negative, all. Exit status. */
int uk_net_call_device(struct uk_net_job *j, int layer);
/* All, and prints what the simulator counts. */
int uk_net_count_device(struct uk_net_job *j);
/* Times all of it on the GPU of a board, and prints that; or each layer. Exit status. */
int uk_net_time_all_on_gpu(struct uk_net_job *j);
int uk_net_time_layers_on_gpu(struct uk_net_job *j, int layers, double *seconds);

/* ---- network_call.c: running it ---- */

/* Compiles for this machine or for the emulator, and makes the memory. Exit status. */
int uk_net_prepare(struct uk_net_job *j);
/* All layers, or one of them. Exit status. */
int uk_net_call(struct uk_net_job *j);
int uk_net_call_layer(struct uk_net_job *j, int layer);
/* All layers under the emulator, with the instructions counted. Exit status; free the counts in any case. */
int uk_net_count_call(struct uk_net_job *j, struct uk_emulated_counts *counts);

/* ---- network_count.c ---- */

/* Runs all layers under the emulator or in the simulator, and prints the instructions, as the options say of
 * each layer. Exit status. */
int uk_net_count(struct uk_net_job *j);

/* ---- network_runner.c: where it runs in a program of its own ---- */

/* The file that it maps: a page whose first word is the status, then the block. The argument is LAYER@FILE: a
 * layer, or all, or how large the file is to be, or, with how often, each layer. */
enum { UK_NET_HEAD = 4096, UK_NET_ALL = -1, UK_NET_SIZE = -2, UK_NET_EACH = -3 };
/* Its source, in C; free it. NULL: no memory. */
char *uk_net_runner(const struct uk_net_job *j);
/* Times all of it on a board, and prints that; or each layer. Exit status. */
int uk_net_time_all_there(struct uk_net_job *j);
int uk_net_time_layers_there(struct uk_net_job *j, int layers, double *seconds);

/* ---- network_check.c, network_time.c ---- */

/* Makes the folder of --layers. Exit status. */
int uk_net_make_folder(const struct uk_net_job *j);
/* Runs layer by layer, compares each layer's result with the interpreter's if asked to, and writes it to a
 * file if asked to. Exit status. */
int uk_net_look(struct uk_net_job *j);
/* Times all of it and each layer. Exit status. */
int uk_net_time(struct uk_net_job *j);
/* Seconds of each layer, where the network runs. Exit status. */
int uk_net_time_layers(struct uk_net_job *j, int layers, double *seconds);

#endif
