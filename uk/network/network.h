/* SPDX-License-Identifier: Apache-2.0 */
/* Networks in the command uk: reads a network with the command's options, provides its inputs, and runs it
 * layer by layer here, under an emulator, on a board or on a GPU. */
#ifndef UK_NETWORK_H
#define UK_NETWORK_H

#include "emulate/emulate.h"
#include "file.h"
#include "networks.h"
#include "uk.h"

enum { UK_NET_SIZES = 16 }; /* more than a network may leave open */

struct uk_net_job {
    const struct uk_arguments *arguments;
    struct uk_network *network;
    struct uk_options options;
    double read_time, compile_time;  /* seconds */
    char *inputs;                    /* data of all inputs, then of the states', concatenated */
    const char **sources;            /* per input: its file, or a description of where it comes from */
    int inputs_count, outputs_count; /* without those of the states */
    int states_count;
    int64_t sizes[UK_NET_SIZES]; /* of the open sizes, in this run */
    int layers;                  /* number of layers, set when progress is shown */
    volatile int layer;          /* layer being compared, from 0 */
    /* The block of memory of a run: allocated here, or inside the file that an emulated program maps. */
    char *memory;
    size_t bytes;
    struct uk_emulation *emulation; /* emulator or board; NULL: the code runs in this process or on `gpu` */
    struct uk_gpu *gpu;
    struct uk_network_device *device;
    char *mapped;
    size_t mapped_bytes;
};

/* ---- network.c: steps common to all commands on networks ---- */

/* Reads the file, applying the shapes, sizes and constants of the options. Exit status; call uk_net_end() in
 * any case. */
int uk_net_begin(struct uk_net_job *j, const struct uk_arguments *a);
void uk_net_end(struct uk_net_job *j);
/* Prints the network's error message. Exit status. */
int uk_net_failed(const struct uk_net_job *j);
int uk_net_layers(const struct uk_net_job *j);
/* Like uk_progress_begin(), showing which layer is being compiled. */
void uk_net_progress_begin(struct uk_net_job *j);
double uk_net_multiply_adds(const struct uk_net_job *j);
/* True if layers do not run exactly once, but in loops or branches. */
bool uk_net_has_loops(const struct uk_net_job *j);
/* The type's name: "bool" or as in the language. */
const char *uk_net_type(const struct uk_network_tensor *t);
/* Formats a shape as "[1, 3, 224, 224]", in one of a few static buffers that later calls reuse. */
const char *uk_net_shape(const struct uk_network_tensor *t);

/* ---- constants.c: the file of --constants ---- */

/* The file. It is opened when the code is complete. */
struct uk_net_constants {
    const char *path;
    struct uk_pieces pieces;
    bool is_begun;
};
/* Refuses --constants where a run has no such file: anywhere but under an emulator. Exit status. */
int uk_net_check_constants(const struct uk_arguments *a);
/* A function as uk_network_emit_constants() takes it. user: struct uk_net_constants. */
bool uk_net_put_constants(void *user, uint64_t offset, const void *bytes, size_t length);
/* Prints why the code was not made, unless it is the file's failure. Exit status. */
int uk_net_not_emitted(const struct uk_net_job *j, const struct uk_net_constants *c);
/* Gives the file its name or, if status is that of a failure, removes it. Exit status. */
int uk_net_end_constants(struct uk_net_constants *c, int status);

/* ---- data.c: inputs and outputs ---- */

/* Reads the inputs from the files of the options; the others get random values, the same in each run. Exit
 * status. */
int uk_net_take_inputs(struct uk_net_job *j);
void uk_net_print_inputs(const struct uk_net_job *j);
/* Copies the inputs into the memory of a run. Needed before each run, because runs may overwrite them. */
void uk_net_fill(const struct uk_net_job *j);
/* Checks that the files for outputs can be written. Exit status. */
int uk_net_check_outputs(const struct uk_net_job *j);
/* Prints each output's first elements and sum, and writes the outputs to files. Exit status. */
int uk_net_write_outputs(const struct uk_net_job *j);
double uk_net_element(enum uk_type type, const void *data, size_t i);
/* Writes a tensor to a file: in NumPy's format if its name ends in .npy, else the raw elements. Exit status.
 */
int uk_net_write_tensor(const char *path, const struct uk_network_tensor *t, const void *data);

/* ---- states.c ---- */

/* The inputs and outputs in the model's order, then those of the states. NULL: there are no more. */
const struct uk_network_tensor *uk_net_input(const struct uk_net_job *j, int i);
const struct uk_network_tensor *uk_net_output(const struct uk_net_job *j, int i);
/* Copies the states' inputs into the memory of a run. Runs add rows to them, but do not overwrite the rest.
 */
void uk_net_fill_states(const struct uk_net_job *j);
/* Copies the output of the i-th state from there. */
void uk_net_take_state(const struct uk_net_job *j, int i, void *elements);
/* Splits the option's INPUT=OUTPUT. Exit status. */
int uk_net_split_state(struct uk_arena *arena, const char *text, const char **input, const char **output);

/* ---- device.c: on a GPU ---- */

/* Compiles for the GPU, and opens it or the simulator. Exit status. */
int uk_net_open_device(struct uk_net_job *j);
void uk_net_close_device(struct uk_net_job *j);
/* NULL: no GPU is open. */
const char *uk_net_device_name(const struct uk_net_job *j);
/* Runs one layer, or all if `layer` is negative. Exit status. */
int uk_net_call_device(struct uk_net_job *j, int layer);
/* Runs all layers and prints the simulator's counts. */
int uk_net_count_device(struct uk_net_job *j);
/* Times the whole network, or each layer, on a board's GPU; the first function prints the result. Exit
 * status. */
int uk_net_time_all_on_gpu(struct uk_net_job *j);
int uk_net_time_layers_on_gpu(struct uk_net_job *j, int layers, double *seconds);

/* ---- call.c: running a network ---- */

/* Compiles for this machine or for the emulator, and allocates the memory. Exit status. */
int uk_net_prepare(struct uk_net_job *j);
/* Runs all layers, or one. Exit status. */
int uk_net_call(struct uk_net_job *j);
int uk_net_call_layer(struct uk_net_job *j, int layer);
/* Runs all layers under the emulator and counts the instructions. Exit status; free the counts in any
 * case. */
int uk_net_count_call(struct uk_net_job *j, struct uk_emulated_counts *counts);

/* ---- count.c ---- */

/* Of a layer: how often it ran, and the instructions of all runs. Zero-initialize. */
struct uk_net_counted {
    int64_t runs;
    double instructions;
};
/* Runs the network under the emulator and counts the instructions of each layer. A network with loops runs
 * once more, layer by layer, which tells the layers' order. Exit status; free the counts in any case. */
int uk_net_count_layers(struct uk_net_job *j, struct uk_emulated_counts *counts,
                        struct uk_net_counted *counted);

/* Runs all layers under the emulator or in the simulator and prints instruction counts, per layer if the
 * options say so. Exit status. */
int uk_net_count(struct uk_net_job *j);

/* ---- runner.c: running in a separate program ---- */

/*
 * The program maps a file: UK_NET_HEAD bytes, of which the first word is the status, then the block of
 * memory. Its argument is LAYER@FILE, where LAYER is an index or one of
 *
 * - UK_NET_ALL: runs all layers
 * - UK_NET_SIZE: sets the file's size
 * - UK_NET_EACH: times each layer in runs of all; the number of repetitions follows
 */
enum { UK_NET_HEAD = 4096, UK_NET_ALL = -1, UK_NET_SIZE = -2, UK_NET_EACH = -3 };
/* The program's C source; the caller frees it. NULL: out of memory. */
char *uk_net_runner(const struct uk_net_job *j);
/* Times the whole network, or each layer, on a board; the first function prints the result. Exit status. */
int uk_net_time_all_on_board(struct uk_net_job *j);
int uk_net_time_layers_on_board(struct uk_net_job *j, int layers, double *seconds);

/* ---- check.c, time.c ---- */

/* Creates the folder of --layers. Exit status. */
int uk_net_make_folder(const struct uk_net_job *j);
/* Runs layer by layer; on request compares each layer's result with the interpreter's and writes it to a
 * file. Exit status. */
int uk_net_run_layers(struct uk_net_job *j);
/* Times the whole network and each layer. Exit status. */
int uk_net_time(struct uk_net_job *j);
/* Seconds of each layer, on whatever runs the network. Exit status. */
int uk_net_time_layers(struct uk_net_job *j, int layers, double *seconds);

#endif
