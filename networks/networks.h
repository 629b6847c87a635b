/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libuknetworks: a trained network of ONNX becomes one program of calls in order, whose layers are tensor
 * programs that libuktensorize compiles: memory is planned beforehand, kernels are inlined, nothing is
 * interpreted.
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
 * Units: extents count elements, memory bytes. Tensors are row-major, in ONNX's order of dimensions; booleans
 * are bytes of 0 and 1. Threads: a network belongs to one thread at a time, except that uk_network_run() may
 * be called from many threads at once, with a block of memory each. Errors: functions return enum uk_status;
 * the text is in uk_network_message(). The library prints nothing and does not end the process, except that
 * LLVM and GMP end it where their own allocations fail.
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

/* A tensor that the network takes or gives, or one between two nodes. `shape` has `rank` extents. */
struct uk_network_tensor {
    const char *name;
    enum uk_type type;
    int rank;
    int64_t shape[UK_NETWORK_DIMENSIONS];
    size_t elements, bytes;
    bool is_boolean; /* bytes of 0 and 1 */
};

/* What the file leaves open. Zero-initialize. */
struct uk_network_options {
    /* Shapes of inputs; an extent that the file states must be the same here. */
    const struct uk_network_tensor *shapes;
    int shape_count;
    /* Values of named dimensions ("batch"). */
    const char *const *size_names;
    const int64_t *size_values;
    int size_count;
    /* Inputs that become constants, because shapes depend on them: tensors with their elements, in the same
     * order. */
    const struct uk_network_tensor *constants;
    const void *const *constant_data;
    int constant_count;
};

/* An empty network. NULL: no memory. */
struct uk_network *uk_network_create(void);
void uk_network_destroy(struct uk_network *n);
/* The last error, one line, or "". Valid until the next call with n. */
const char *uk_network_message(const struct uk_network *n);
/* What a call that compiles is doing now, for a signal handler or another thread: "scheduling" or
 * "compiling", and in *layer the first layer that has the code; "joining" all code, and -1; NULL: none is
 * compiling. */
const char *uk_network_progress(const struct uk_network *n, int *layer);

/* Reads a model, operator sets 1 to 28, infers all shapes and computes what is constant. External data is
 * read from the file's folder and those below it. UK_REFUSED: not ONNX, or an operator, an attribute, a type
 * or a shape that is not supported; the message names the node. A network is read once. */
enum uk_status uk_network_read_file(struct uk_network *n, const char *path,
                                    const struct uk_network_options *o);
/* The same from memory, which is not needed afterwards. folder: of external data; NULL: there is none. name:
 * the network's. */
enum uk_status uk_network_read(struct uk_network *n, const char *name, const void *bytes, size_t length,
                               const char *folder, const struct uk_network_options *o);

enum uk_network_role { UK_NETWORK_INPUT, UK_NETWORK_OUTPUT };
/* The i-th input or output in the model's order; NULL: there are no more. Inputs with an initializer are
 * constants. */
const struct uk_network_tensor *uk_network_value(const struct uk_network *n, enum uk_network_role role,
                                                 int i);
/* The name that functions are made of: the file's stem, 180 characters of it, with _ for what is no letter or
 * digit, and before a digit in front. */
const char *uk_network_name(const struct uk_network *n);
/* The value of a metadata property of the model ("character"), or NULL. */
const char *uk_network_metadata(const struct uk_network *n, const char *key);

/* A layer is a call of one tensor program; several layers may call the same one. */
struct uk_network_layer {
    const char *name;            /* of the node whose result it is */
    const char *operators;       /* "Conv+Clip" */
    const char *function, *text; /* of the tensor program */
    int arguments;               /* of the function: tensors, in order, the last one written */
    int inputs;                  /* tensors that it reads from the block of memory; constants are none */
    const struct uk_network_tensor *input;
    struct uk_network_tensor output;
    int order[UK_NETWORK_DIMENSIONS]; /* how the result lies in memory: its dimension order[0] outermost, the
                                         last one contiguous */
    size_t offset;                    /* of the result in the block of memory */
    /* Terms of sums of products, those that padding of images makes 0 among them, as is usual, and not those
     * of channels that the plan adds. */
    double multiply_adds;
    /* "first" (a convolution of up to 4 channels), "1x1", "window", "depthwise", "grouped", "fc" (a product
     * of matrices), "pool", "elements" (element by element), "concat", "copy", "border" (around what another
     * layer computes; a convolution reads it for padding), "other". */
    const char *kind;
    const char *window;   /* of a convolution or a pool: "3x3", "1x7", "3x3/2" of stride 2; or "" */
    const char *key;      /* of the text, 16 digits: what uk_network_schedule() finds it by */
    const char *schedule; /* the steps that it took, without empty lines in front; NULL: automatic */
};
/* The i-th layer in the order of calls; NULL: there are no more. */
const struct uk_network_layer *uk_network_layer(const struct uk_network *n, int i);

/*
 * Schedules of layers in the place of automatic ones, for what is compiled or emitted later. The text is what
 * `uk tune` writes of a network: for each layer a line `layer KEY` and below it the steps of its program, as
 * uk_program_schedule() takes them, up to the next such line; between them, empty lines and comments that
 * begin with #. Layers that it does not name have automatic schedules, and so have all by a text without any.
 * file: what messages call it. *unused, which may be NULL: how many are for no layer of this network.
 * UK_SYNTAX: a line is not as above, or a step is none; UK_REFUSED: the text has schedules, and none is for a
 * layer of this network. Whether steps are legal is seen when they are compiled.
 */
enum uk_status uk_network_schedule(struct uk_network *n, const char *file, const char *text, size_t length,
                                   int *unused);

/* Compiles all layers for this process, or for any target into an object, a shared object, the text of the
 * driver in C (UK_EMIT_HOST) or a header. options: as for uk_compile(); their workspace is always an
 * argument. */
enum uk_status uk_network_compile(struct uk_network *n, const struct uk_options *options);
enum uk_status uk_network_emit(struct uk_network *n, const struct uk_options *options, enum uk_emit what,
                               char **bytes, size_t *length);
/* An object with int NAME_step(void *memory, int layer) besides, which runs one layer. */
enum uk_status uk_network_emit_steps(struct uk_network *n, const struct uk_options *options, char **bytes,
                                     size_t *length);

/* After uk_network_compile(), or uk_network_compile_device(): bytes of the block of memory, at a multiple of
 * 64, that a run uses (of a device single layers alone); where in it inputs and outputs lie. All layers in
 * order, or one of them. Inputs may be overwritten by a run. */
size_t uk_network_memory(const struct uk_network *n);
void *uk_network_input(const struct uk_network *n, void *memory, int i);
void *uk_network_output(const struct uk_network *n, void *memory, int i);
enum uk_status uk_network_run(const struct uk_network *n, void *memory);
enum uk_status uk_network_run_layer(const struct uk_network *n, void *memory, int layer);
/* The lower bound of the memory for activations: the largest sum, over the layers, of the tensors that are
 * live. */
size_t uk_network_memory_bound(const struct uk_network *n);

/* The layer's program as the interpreter computes it, from the inputs of the layer that lie in `memory`
 * before or after uk_network_run_layer(): into `result`, as the layer would have it in memory. */
enum uk_status uk_network_interpret_layer(struct uk_network *n, const void *memory, int layer, void *result);
/* The same for `count` elements of the layer's result: element[i], counted row-major in ONNX's order of
 * dimensions, becomes element i of `result`, and error[i] is how far the layer's code for the target of the
 * options may be from it, as of uk_program_interpret_elements(). */
enum uk_status uk_network_interpret_elements(struct uk_network *n, const struct uk_options *options,
                                             const void *memory, int layer, int64_t count,
                                             const int64_t *element, void *result, double *error);
/* Puts elements, in ONNX's order, where the layer reads its input of that number: what a layer computes can
 * be looked at alone. */
enum uk_status uk_network_layer_give(const struct uk_network *n, void *memory, int layer, int input,
                                     const void *elements);
/* Where that layer's result lies in memory, in the order in which it is stored; and a copy of it in ONNX's
 * order. */
void *uk_network_layer_output(const struct uk_network *n, void *memory, int layer);
enum uk_status uk_network_layer_copy(const struct uk_network *n, const void *memory, int layer, void *copy);

/* ---- on GPUs ----
 *
 * Layers are compiled one by one for the GPU's target; constants are uploaded when a device is taken, and
 * activations stay there:
 *
 *     struct uk_network_device *d;
 *     struct uk_options options = {.target = "amdgcn-gfx90a"};
 *     if (uk_network_compile_device(n, &options) || uk_network_device_create(n, gpu, &d) ||
 *         uk_network_device_run(d, inputs, outputs)) // inputs and outputs: an address for each, in the order
 *         of uk_network_value()
 *         fprintf(stderr, "%s\n", uk_network_message(n));
 *     uk_network_device_destroy(d); // before the network and the GPU, which gpu.h opens
 */

struct uk_gpu;
struct uk_network_device;

/* Compiles all layers for the target, a GPU. A layer that no program for it can do is refused by name. */
enum uk_status uk_network_compile_device(struct uk_network *n, const struct uk_options *options);
/* Uploads the constants, and allocates the block of memory for activations. On failure *out is NULL. */
enum uk_status uk_network_device_create(struct uk_network *n, struct uk_gpu *gpu,
                                        struct uk_network_device **out);
/* Uploads the inputs, runs all layers, and downloads the outputs. */
enum uk_status uk_network_device_run(struct uk_network_device *d, const void *const *inputs,
                                     void *const *outputs);
/* One layer, whose inputs are uploaded from a block of memory as of uk_network_run_layer(), to which its
 * result is downloaded. */
enum uk_status uk_network_device_run_layer(struct uk_network_device *d, void *memory, int layer);
/* Frees what the device has of the network. */
void uk_network_device_destroy(struct uk_network_device *d);

/* ---- tensors in files ---- */

/* Reads a tensor from a file: .npy of NumPy, or .pb, a TensorProto of ONNX. `t` gets name, type and shape,
 * *data the elements, row-major; free them with uk_text_free(). The name lives as long as n. */
enum uk_status uk_network_read_tensor(struct uk_network *n, const char *path, struct uk_network_tensor *t,
                                      void **data);
/* The bytes of a .npy file of the tensor; free them with free(). NULL: no memory, or an argument is NULL, or
 * bf16, which NumPy has not. */
char *uk_network_npy(const struct uk_network_tensor *t, const void *data, size_t *length);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
