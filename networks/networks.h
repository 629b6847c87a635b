/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libuknetworks compiles trained networks of ONNX. A network becomes one program, which calls its layers in
 * order. Layers are tensor programs, compiled by libuktensorize with kernels inlined; memory is planned at
 * compile time, and nothing is interpreted at run time.
 *
 *     struct uk_network *n = uk_network_create();
 *     float *image, *scores;
 *     if (uk_network_read_file(n, "mobilenet.onnx", NULL) || uk_network_compile(n, NULL)) {
 *         fprintf(stderr, "%s\n", uk_network_message(n));
 *     } else {
 *         void *memory = aligned_alloc(64, uk_network_memory(n));
 *         memcpy(uk_network_input(n, memory, 0), image, uk_network_value(n, UK_NETWORK_INPUT, 0)->bytes);
 *         status = uk_network_run(n, memory);
 *         memcpy(scores, uk_network_output(n, memory, 0), uk_network_value(n, UK_NETWORK_OUTPUT, 0)->bytes);
 *     }
 *     uk_network_destroy(n);
 *
 * Units: extents are in elements, memory is in bytes.
 *
 * Tensors are row-major, in ONNX's order of dimensions; booleans are bytes of 0 and 1.
 *
 * Threads: one thread at a time may use a network, except that many threads may call uk_network_run() or
 * uk_network_run_sizes() at once, with a block of memory each.
 *
 * Errors: functions return enum uk_status; uk_network_message() returns the text. The library prints nothing
 * and does not end the process, except that LLVM and GMP end it if their own allocations fail.
 */
#ifndef UK_NETWORKS_H
#define UK_NETWORKS_H

#include "tensorize.h"

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

struct uk_network;

enum { UK_NETWORK_DIMENSIONS = 8 };

/* An input or output of the network, or a tensor between two nodes. `shape` has `rank` extents. */
struct uk_network_tensor {
    const char *name;
    enum uk_type type;
    int rank;
    int64_t shape[UK_NETWORK_DIMENSIONS];
    size_t elements, bytes;
    bool is_boolean; /* bytes of 0 and 1 */
};

/* Facts that the file leaves open. Zero-initialize. UK_INVALID_ARGUMENT: a name is not that of an input, or
 * of a dimension of one, or is given twice. */
struct uk_network_options {
    /* Shapes of inputs; an extent that the file states must be the same here. */
    const struct uk_network_tensor *shapes;
    int shape_count;
    /* Values of named dimensions ("batch"): size_names[i] has the extent size_values[i]. */
    const char *const *size_names;
    const int64_t *size_values;
    int size_count;
    /* Inputs that become constants, because shapes depend on them: the elements of constants[i] are at
     * constant_data[i]. */
    const struct uk_network_tensor *constants;
    const void *const *constant_data;
    int constant_count;
    /* Prefix of all function names, a C identifier of at most 180 characters. NULL: made of the file's name.
     */
    const char *name;
    /* States, see uk_network_state(): the output state_outputs[i] is the input state_inputs[i] with elements
     * appended or replaced. find_states: also those whose names exporters pair, as "past.0.key" and
     * "present.0.key". UK_REFUSED: an output is computed in another way. */
    const char *const *state_inputs, *const *state_outputs;
    int state_count;
    bool find_states;
};

/* Returns an empty network. NULL: no memory. */
struct uk_network *uk_network_create(void);
void uk_network_destroy(struct uk_network *n);
/* The last error, one line, or "". Valid until the next call with n. */
const char *uk_network_message(const struct uk_network *n);
/* Returns the stage of a compilation that is under way, for a signal handler or another thread:
 * - "scheduling" or "compiling": *layer is the first layer that calls the function at hand;
 * - "joining": the code of all layers is linked, *layer is -1;
 * - NULL: nothing is being compiled, *layer is -1. */
const char *uk_network_progress(const struct uk_network *n, int *layer);

/*
 * Open sizes. A named dimension ("sequence") that gets a range before the model is read stays open: one
 * network serves all multiples of `step` from `lower` to `upper`, both multiples of it. Its memory is that of
 * the largest sizes. Inputs and outputs are row-major and contiguous at the sizes of a run.
 */
struct uk_network_size {
    const char *name;
    int64_t lower, upper, step;
};
/* Gives a named dimension a range. UK_INVALID_ARGUMENT: it is empty, or a bound or the step does not fit. */
enum uk_status uk_network_range(struct uk_network *n, const struct uk_network_size *range);
/* Returns the i-th open size of a network that was read, in the order in which the model's inputs have them;
 * NULL: there are no more. */
const struct uk_network_size *uk_network_size(const struct uk_network *n, int i);
/* Chooses values of all open sizes, in that order, for the functions that describe tensors and layers, that
 * run or interpret them, and that copy elements; until then they have the largest. UK_INVALID_SIZE: one is
 * out of its range. Compiled code is not affected. */
enum uk_status uk_network_choose(struct uk_network *n, const int64_t *sizes);

/* Reads a model of operator sets 1 to 28, infers all shapes and computes what is constant. External data is
 * opened by its name in the file's folder and its subfolders; its real path must be in or below that folder,
 * or the folder of the file's real path. It may be mapped until the network is destroyed: replace such a
 * file, but do not write to it. A network can be read once. UK_IO: a file cannot be read. UK_REFUSED: the
 * file is not ONNX, or an operator, an attribute, a type or a shape is not supported; the message names the
 * node. */
enum uk_status uk_network_read_file(struct uk_network *n, const char *path,
                                    const struct uk_network_options *o);
/* The same from memory, which may be freed afterwards. name: as a file name, from which uk_network_name() is
 * made. folder: where external data is; NULL: none is allowed. */
enum uk_status uk_network_read(struct uk_network *n, const char *name, const void *bytes, size_t length,
                               const char *folder, const struct uk_network_options *o);

enum uk_network_role { UK_NETWORK_INPUT, UK_NETWORK_OUTPUT };
/* Returns the i-th input or output in the model's order; NULL: there are no more. Inputs with an initializer
 * are constants and are not counted. */
const struct uk_network_tensor *uk_network_value(const struct uk_network *n, enum uk_network_role role,
                                                 int i);
/* Describes that input or output at the given values of all open sizes, and finds the sizes at which all
 * inputs have the given shapes, shapes[i] with an extent for each dimension of input i. A size that only
 * states have is taken from sizes[]. Many threads may call these at once. UK_INVALID_SIZE: a size is out of
 * its range, or there are none for these shapes. */
enum uk_status uk_network_value_at(const struct uk_network *n, enum uk_network_role role, int i,
                                   const int64_t *sizes, struct uk_network_tensor *t);
enum uk_status uk_network_solve_sizes(const struct uk_network *n, const int64_t *const shapes[],
                                      int64_t *sizes);
/*
 * A state: a tensor that stays in the block of memory from run to run, as the keys and values of earlier
 * tokens do. Its buffer is row-major and has the extents of `capacity`, the largest of the output. The input
 * is the part of it that begins at its first element and has the input's extents at the sizes of a run; the
 * output is such a part, too. A run writes the new rows to their place, and leaves the others as they are. So
 * each block of memory holds one sequence: to begin another one, run with no rows of the past, or overwrite
 * the buffer.
 */
struct uk_network_state {
    struct uk_network_tensor input, output; /* at the sizes that uk_network_choose() chose */
    int64_t capacity[UK_NETWORK_DIMENSIONS];
    size_t bytes; /* of the buffer */
    int axis;     /* the dimension along which rows are written; -1: any */
};
/* Returns the i-th state in the order of the model's inputs; NULL: there are no more. Its input and output
 * are none of uk_network_value(). */
const struct uk_network_state *uk_network_state(const struct uk_network *n, int i);

/* Returns the prefix of all function names: the option's, or the stem of the file's name, at most 180
 * characters of it. Characters other than letters and digits of ASCII become _; a _ is put before a leading
 * digit, and "net" before a name whose beginning C reserves: "_Net.onnx" gives "net_Net". */
const char *uk_network_name(const struct uk_network *n);
/* Returns the value of a metadata property of the model ("character"), or NULL. */
const char *uk_network_metadata(const struct uk_network *n, const char *key);

/* A layer is a call of one tensor program; several layers may call the same one. */
struct uk_network_layer {
    const char *name;            /* of the node that computes its result */
    const char *operators;       /* "Conv+Clip" */
    const char *function, *text; /* of its tensor program */
    int arguments;               /* number of tensors that the function takes; the last one is written */
    int inputs; /* number of tensors that it reads from the block of memory; constants are elsewhere */
    const struct uk_network_tensor *input;
    struct uk_network_tensor output;
    int order[UK_NETWORK_DIMENSIONS]; /* layout of the result: dimension order[0] is outermost, the last one
                                         contiguous */
    size_t offset;                    /* bytes from the start of the block to the result */
    /* Products that are summed. Those with the zeros of image padding count, as is usual; those of channels
     * that the plan adds do not. */
    double multiply_adds;
    /* "first": a convolution of at most 4 channels
     * "1x1", "window", "depthwise", "grouped": other convolutions
     * "fc": a product of matrices
     * "pool", "concat", "copy"
     * "elements": element by element
     * "border": the padding around another layer's result, which a convolution reads
     * "other" */
    const char *kind;
    const char *window; /* of a convolution or a pool: "3x3", "1x7", "3x3/2" with stride 2; else "" */
    const char *key;    /* hash of the text, 16 hexadecimal digits, by which uk_network_schedule() names it */
    const char *schedule; /* its schedule's steps, without leading empty lines; NULL: automatic */
    /* Number of times that a run runs it: 1 outside of loops; -1 if data decide it, in a branch or a loop. */
    int64_t trips;
    const char *plain_text; /* the text without `constant`, for GPUs, which do not pack in advance */
};
/* Returns the i-th layer in the order of calls; NULL: there are no more. */
const struct uk_network_layer *uk_network_layer(const struct uk_network *n, int i);

/*
 * Replaces automatic schedules of layers in later compilations. The text has the form that `uk tune` writes
 * for a network:
 * - a line `layer KEY` begins the schedule of the layers with that key;
 * - the lines up to the next `layer` are the steps, as uk_program_schedule() takes them;
 * - before the first `layer` there are only empty lines and comments, which begin with #.
 *
 * A layer without a schedule in the text gets an automatic one, also if it had one before: an empty text
 * resets all layers. Compilation, not this call, checks that a step is legal.
 *
 * file: the text's name in messages. *unused, unless NULL: number of schedules that match no layer.
 *
 * UK_SYNTAX: a line has another form, or a step does not exist.
 * UK_REFUSED: the text has schedules, but none of them matches a layer.
 */
enum uk_status uk_network_schedule(struct uk_network *n, const char *file, const char *text, size_t length,
                                   int *unused);

/* Compiles all layers for this process, or emits them for any target: an object, a shared object, the
 * driver's calls in C (UK_EMIT_HOST) or a header. options: as for uk_compile(), but the workspace is always
 * an argument. */
enum uk_status uk_network_compile(struct uk_network *n, const struct uk_options *options);
enum uk_status uk_network_emit(struct uk_network *n, const struct uk_options *options, enum uk_emit what,
                               char **bytes, size_t *length);
/* Emits an object or a shared object whose constants are in a file of their own, which the program maps and
 * passes to int NAME_constants(const void *constants, size_t length); or the header, for which nothing is
 * written. The network may then have constants of any length, which are packed one by one.
 *
 * write: takes bytes of the file, in order, except that the first 64 come last. False: it could not, with the
 * reason in errno, if it has one. user: its first argument.
 *
 * UK_IO: write returned false. */
typedef bool uk_network_write(void *user, uint64_t offset, const void *bytes, size_t length);
enum uk_status uk_network_emit_constants(struct uk_network *n, const struct uk_options *options,
                                         enum uk_emit what, uk_network_write *write, void *user, char **bytes,
                                         size_t *length);
/*
 * Emits an object that also has
 *
 * - int NAME_step(void *memory, int layer), which runs one layer;
 * - int NAME_each(void *memory, void (*ran)(int layer)), which runs all, and calls `ran` after each run of a
 *   layer.
 *
 * If sizes are open, both have the array of sizes as a third argument. write and user: as for
 * uk_network_emit_constants(); if write is NULL, the object has the constants.
 */
enum uk_status uk_network_emit_steps(struct uk_network *n, const struct uk_options *options,
                                     uk_network_write *write, void *user, char **bytes, size_t *length);

/* Bytes of memory that a run needs, as one block aligned to 64 bytes; and the addresses of inputs and outputs
 * in such a block. Valid after uk_network_compile(); after uk_network_compile_device() alone they describe
 * the block of uk_network_device_run_layer(). A run of all layers, or of one, may overwrite inputs. */
size_t uk_network_memory(const struct uk_network *n);
void *uk_network_input(const struct uk_network *n, void *memory, int i);
void *uk_network_output(const struct uk_network *n, void *memory, int i);
/* Returns the address of the buffer of state i in such a block. No run moves or overwrites it, apart from the
 * rows that the run writes. */
void *uk_network_state_place(const struct uk_network *n, void *memory, int i);
enum uk_status uk_network_run(const struct uk_network *n, void *memory);
/* Runs at the given values of all open sizes, whatever uk_network_choose() chose. Returns UK_INVALID_SIZE
 * with nothing written if one is out of its range. */
enum uk_status uk_network_run_sizes(const struct uk_network *n, void *memory, const int64_t *sizes);
enum uk_status uk_network_run_layer(const struct uk_network *n, void *memory, int layer);
/* Returns the layer to run after `layer`, or first if that is -1; -1: none, or an argument is invalid. After
 * the last layer of a loop that is the first one again, and memory gets the number of the iteration, until
 * the loop ends; branches that are not taken are left out. A layer of a loop uses the values of that
 * iteration, in uk_network_run_layer() and in the functions below. */
int uk_network_next_layer(const struct uk_network *n, void *memory, int layer);
/* Returns the lower bound of the activations' memory in bytes: the largest sum, over the layers, of the sizes
 * of the live tensors. */
size_t uk_network_memory_bound(const struct uk_network *n);

/* Interprets the layer's program. Its inputs are read from `memory`, before or after uk_network_run_layer();
 * `result` gets the layer's result in its layout in memory. */
enum uk_status uk_network_interpret_layer(struct uk_network *n, const void *memory, int layer, void *result);
/* The same for `count` elements of the result: result[i] becomes the element whose row-major index in ONNX's
 * order is element[i]; error[i] bounds its distance from what the layer's code for the target of the options
 * computes, as for uk_program_interpret_elements(). */
enum uk_status uk_network_interpret_elements(struct uk_network *n, const struct uk_options *options,
                                             const void *memory, int layer, int64_t count,
                                             const int64_t *element, void *result, double *error);
/* Copies elements, in ONNX's order, to the place of the layer's input of that number, to run a layer by
 * itself. */
enum uk_status uk_network_layer_give(const struct uk_network *n, void *memory, int layer, int input,
                                     const void *elements);
/* Returns the place of the layer's result, which is stored in its own layout; uk_network_layer_copy() copies
 * it into ONNX's order. */
void *uk_network_layer_output(const struct uk_network *n, void *memory, int layer);
enum uk_status uk_network_layer_copy(const struct uk_network *n, const void *memory, int layer, void *copy);

/* ---- on GPUs ----
 *
 * Each layer is compiled for the GPU's target. Constants are uploaded when the network is put on a device;
 * activations stay there:
 *
 *     struct uk_network_device *d;
 *     struct uk_options options = {.target = "amdgcn-gfx90a"};
 *     if (uk_network_compile_device(n, &options) || uk_network_device_create(n, gpu, &d) ||
 *         uk_network_device_run(d, inputs, outputs)) // an address each, in the order of uk_network_value()
 *         fprintf(stderr, "%s\n", uk_network_message(n));
 *     uk_network_device_destroy(d); // before the network and the GPU, which gpu.h opens
 */

struct uk_gpu;
struct uk_network_device;

/* Compiles all layers for the target, a GPU. Fails if a layer has no program for it; the message names the
 * layer. */
enum uk_status uk_network_compile_device(struct uk_network *n, const struct uk_options *options);
/* Uploads the constants, and allocates the block of memory for activations. On failure *out is NULL. */
enum uk_status uk_network_device_create(struct uk_network *n, struct uk_gpu *gpu,
                                        struct uk_network_device **out);
/* Uploads the inputs, runs all layers, and downloads the outputs. */
enum uk_status uk_network_device_run(struct uk_network_device *d, const void *const *inputs,
                                     void *const *outputs);
/* Runs one layer: uploads its inputs from a block of memory with the layout of uk_network_run_layer(), and
 * downloads its result to it. */
enum uk_status uk_network_device_run_layer(struct uk_network_device *d, void *memory, int layer);
/* Frees the network's memory on the device. */
void uk_network_device_destroy(struct uk_network_device *d);

/* ---- tensors in files ---- */

/* Reads a tensor from a file: .npy of NumPy, or .pb, a TensorProto of ONNX. `t` gets its name, type and
 * shape, *data its elements, row-major; free them with uk_text_free(). The name lives as long as n. */
enum uk_status uk_network_read_tensor(struct uk_network *n, const char *path, struct uk_network_tensor *t,
                                      void **data);
/* Returns the tensor as the bytes of a .npy file; free them with free(). Elements of bf16, which NumPy lacks,
 * have the dtype <V2 there, as ml_dtypes.bfloat16 writes it. NULL: no memory, or an argument is NULL. */
char *uk_network_npy(const struct uk_network_tensor *t, const void *data, size_t *length);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
