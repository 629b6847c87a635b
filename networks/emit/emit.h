/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room emit: the network as code. It uses graph, import, rewrite, layers, plan and link. libuktensorize's
 * bundles join the layers' programs, the constants and a driver, LLVM IR that calls the programs in order.
 */
#ifndef UK_EMIT_H
#define UK_EMIT_H

#include "import/import.h"
#include "plan/plan.h"
#include "rewrite/rewrite.h"

struct uk_network {
    struct uk_graph graph;
    struct uk_plan plan;
    struct uk_context *context;
    struct uk_network_tensor *input, *output; /* as the API shows them */
    struct uk_network_state *state;
    const char *name;
    const char *schedule_file; /* name of the schedules' file in messages; NULL: all are automatic */
    struct uk_module *module;
    size_t (*memory)(void);
    /* Of networks without open sizes the arrays of sizes do not exist, and the arguments are not passed. */
    int (*run)(void *memory, const int64_t *sizes);
    int (*step)(void *memory, int layer, const int64_t *sizes);
    struct uk_network_size size[UK_MAX_OPEN]; /* the open sizes */
    int64_t chosen[UK_MAX_OPEN];              /* of uk_network_choose(); the graph has them, in steps */
    struct uk_module **device_layer;          /* a module per function, for a GPU; NULL: none is compiled */
    /* The network can be read at its largest sizes, so that a failure is due to open sizes; no advice is
     * wanted then. */
    bool is_opening, is_trial;
    bool is_begun, is_read; /* uk_network_read() was called; it succeeded */
};

/* ---- enter.c ---- */

/* Begins a public function: clears the last error. Fails if the network is NULL, or must have been read and
 * was not. */
enum uk_status uk_network_enter(struct uk_network *n, bool needs_read);

/* ---- device.c ---- */

/* Frees the modules compiled for a GPU. */
void uk_network_forget_device(struct uk_network *n);

/* ---- tensor.c ---- */

/* Describes the value, under that name, for the API. */
void uk_tensor_show(struct uk_network_tensor *t, const struct uk_graph_value *v, const char *name);

/* ---- layer.c ---- */

/* Completes the layers' descriptions (uk_layer.shown): multiply-adds, from the programs; orders, offsets and
 * inputs, from the plan. */
enum uk_status uk_layers_show(struct uk_network *n);

/* ---- advise.c ---- */

/* Adds to the message of a network that cannot stay open what would help. */
void uk_network_advise(struct uk_network *n, const char *name, const void *bytes, size_t length,
                       const struct uk_folders *folders, const struct uk_network_options *o);

/* ---- network.c ---- */

/* uk_network_read() with the folders in which external data may be. */
enum uk_status uk_network_read_bytes(struct uk_network *n, const char *name, const void *bytes, size_t length,
                                     const struct uk_folders *folders, const struct uk_network_options *o);

/* ---- sizes.c ---- */

/* Describes the open sizes for the API, and chooses the largest. */
void uk_sizes_show(struct uk_network *n);
/* Gives the graph, and what the API shows of it, the extents and places for the chosen sizes. */
enum uk_status uk_network_show_chosen(struct uk_network *n);
/* Gives the graph the largest sizes, at which code is made, or again those that were chosen. */
void uk_network_set_largest(struct uk_network *n);
void uk_network_set_chosen(struct uk_network *n);
/* The values of the layer function's sizes for the sizes that the graph has now, in an array of the thread
 * that the next call reuses; NULL: it has none. */
const int64_t *uk_layer_sizes(const struct uk_network *n, const struct uk_layer *l);
/* Fails if sizes are open; what: what does not support that. */
enum uk_status uk_network_refuse_open(struct uk_network *n, const char *what);

/* ---- step.c ---- */

/* Fails if the network has loops or branches; what: what does not support them. */
enum uk_status uk_network_refuse_loops(struct uk_network *n, const char *what);

/* ---- states.c ---- */

/* Describes the states for the API. show: at the sizes that the graph has now. */
enum uk_status uk_states_begin(struct uk_network *n);
void uk_states_show(struct uk_network *n);
/* Fails if there are states; what: what does not support them. */
enum uk_status uk_network_refuse_states(struct uk_network *n, const char *what);

/* ---- schedule.c ---- */

/* Applies the steps that uk_network_schedule() took for the function, if any. */
enum uk_status uk_layer_schedule(const struct uk_network *n, const struct uk_layer_function *f,
                                 struct uk_program *p);

/* ---- compile.c ---- */

/* Options and destination of a compilation. */
struct uk_compilation {
    struct uk_options options;
    enum uk_emit what;
    bool has_step;             /* adds NAME_step */
    struct uk_module **module; /* code for this process; NULL: bytes are emitted instead */
    char **bytes;
    size_t *length;
};
enum uk_status uk_network_build(struct uk_network *n, const struct uk_options *options,
                                struct uk_compilation *c);

/* ---- driver.c, driver_header.c ---- */

/* Returns the driver as LLVM IR, so that a network needs no C compiler: NAME_memory, NAME_input, NAME_output,
 * NAME_run, NAME_state if there are states, and NAME_step if wanted. Free it with free(). NULL: no memory.
 * packing: as for uk_constants_make(). */
char *uk_driver_llvm(const struct uk_network *n, struct uk_module *const *packing, bool with_step);
/* Returns NAME_run in C, for readers; memory as above. */
char *uk_driver_calls(const struct uk_network *n);
/* Returns the header that declares the functions, for C and C++. */
char *uk_driver_header(const struct uk_network *n);

/* ---- driver_sizes.c: open sizes in the driver ---- */

/* Writes the instructions that read the array %sizes, and return UK_INVALID_SIZE unless each size is in its
 * range. %z0, %z1, ... become the sizes in steps. */
void uk_driver_put_sizes(struct uk_text *t, const struct uk_network *n);
/* Writes the instructions that compute the form times `factor`; %NAME becomes it. */
void uk_driver_put_form(struct uk_text *t, const struct uk_size_form *f, int64_t factor, const char *name);
/* Writes the declaration of the function and of that which returns its workspace. */
void uk_driver_declare(struct uk_text *t, const struct uk_layer *l);
/* Writes the instructions that compute the largest end of a workspace, at least the plan's bytes. Returns the
 * number k of the variable %mostK. */
int uk_driver_put_memory(struct uk_text *t, const struct uk_network *n);

/* ---- constants.c ---- */

/* Constants that layers read, in the layout that the programs expect, permuted or packed. */
struct uk_constants {
    struct uk_constant *constant;
    const struct uk_graph_value **value; /* the value that each is made of */
    int count;
    struct uk_arena arena; /* permuted and packed elements, and names */
};
/* packing: by function number, the module that packs the function's constants, or NULL; NULL: none packs. */
enum uk_status uk_constants_make(struct uk_network *n, struct uk_module *const *packing,
                                 struct uk_constants *c);
enum { UK_CONSTANT_NAME = 300 };
/* Writes the name of the constant that is the layer's argument i. True if it is packed for the function. */
bool uk_constant_name(const struct uk_network *n, struct uk_module *const *packing, const struct uk_layer *l,
                      int i, char name[UK_CONSTANT_NAME]);
void uk_constants_free(struct uk_constants *c);

#endif
