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
    void *block; /* constants that the module's code reads */
    size_t (*memory)(void);
    /* Of networks without open sizes the arrays of sizes do not exist, and the arguments are not passed. */
    int (*run)(void *memory, const int64_t *sizes);
    int (*step)(void *memory, int layer, const int64_t *sizes);
    struct uk_network_size size[UK_MAX_OPEN]; /* the open sizes */
    int64_t chosen[UK_MAX_OPEN];              /* of uk_network_choose(); the graph has them, in steps */
    struct uk_module **device_layer;          /* a module per function, for a GPU; NULL: none is compiled */
    /* is_opening: the network can be read at its largest sizes, so that a failure is due to open sizes.
     * is_trial: no advice is wanted. */
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

/* ---- single.c ---- */

/* Makes the second program of a function, for runs in which its size number f->single is 1. *single: NULL,
 * and f->single -1, if the function needs none. range: its program for all sizes. */
enum uk_status uk_single_make(struct uk_network *n, const struct uk_options *options,
                              struct uk_layer_function *f, struct uk_program *range,
                              struct uk_program **single);

/* ---- compile.c ---- */

/* Options and destination of a compilation. */
struct uk_compilation {
    struct uk_options options;
    enum uk_emit what;
    bool has_step, has_each; /* adds NAME_step, NAME_each */
    uk_network_write *write; /* writes the constants' file; NULL: they are in the object */
    void *user;
    bool has_written;          /* it was called */
    struct uk_module **module; /* code for this process; NULL: bytes are emitted instead */
    void *block;               /* constants of that code; the caller frees them after the module */
    char **bytes;
    size_t *length;
};
enum uk_status uk_network_build(struct uk_network *n, const struct uk_options *options,
                                struct uk_compilation *c);

/* ---- constants.c ---- */

/* Where the code finds constants: in its object; in a file of their own, mapped by the caller; or at fixed
 * addresses of this process. */
enum uk_home { UK_IN_OBJECT, UK_IN_FILE, UK_IN_PROCESS };

/* A constant that layers read, in the layout that their code expects. */
struct uk_placed {
    const struct uk_graph_value *value;
    /* A layer that reads it, as this argument; each layer whose code packs it alike reads the same one. */
    const struct uk_layer *layer;
    int argument;
    struct uk_module *packing; /* packs it; NULL: it is in the value's order of dimensions */
    size_t bytes;
    uint64_t offset;     /* in the file, or in the block of this process */
    const void *address; /* in this process; NULL: not known */
};

struct uk_constants {
    struct uk_network *n;
    /* By function number, the module that packs the function's constants, or NULL; NULL: none packs. */
    struct uk_module *const *packing;
    enum uk_home home;
    struct uk_placed *placed;
    int count;
    uint64_t length; /* of the file or block */
    void *block;     /* elements in this process */
};
/* Lists the constants of c->n, for c->packing and c->home, which the caller sets, without their
 * elements. Call uk_constants_free() in any case. */
enum uk_status uk_constants_list(struct uk_constants *c);
/* Returns the constant that is the layer's argument i; NULL: it is not listed. */
const struct uk_placed *uk_constant_find(const struct uk_constants *c, const struct uk_layer *l, int i);
/* Writes its elements to memory at a multiple of 64. */
enum uk_status uk_constant_write(const struct uk_constants *c, const struct uk_placed *k, void *to);
/* The elements if they need no copy, else NULL. */
const void *uk_constant_elements(const struct uk_placed *k);
/* Gives each constant an address in this process, where it stays until uk_constants_free(). */
enum uk_status uk_constants_load(struct uk_constants *c);
enum { UK_CONSTANT_NAME = 300 };
/* Writes the name of the constant that is the layer's argument i. */
void uk_constant_name(const struct uk_network *n, const struct uk_layer *l, int i, bool is_packed,
                      char name[UK_CONSTANT_NAME]);
void uk_constants_free(struct uk_constants *c);

/* ---- constants_file.c: constants in a file of their own ---- */

/* What distinguishes the file from those that other objects need. */
struct uk_stamp {
    uint64_t word[2], length; /* length: of the file */
};
/* Bytes of the file's header, which the constants follow. */
enum { UK_FILE_HEADER = 64 };
/* Writes the file through the function, the header last, and sets the stamp. */
enum uk_status uk_constants_save(const struct uk_constants *c, const char *target, uk_network_write *write,
                                 void *user, struct uk_stamp *stamp);
/* Writes NAME_constants, which checks a file and keeps its address. */
void uk_driver_put_constants(struct uk_text *t, const struct uk_network *n);
/* Writes the instructions that set %constants, or return UK_INVALID_ARGUMENT if NAME_constants has not
 * succeeded. */
void uk_driver_put_constants_check(struct uk_text *t, const struct uk_network *n);

/* ---- driver.c, driver_header.c ---- */

/* Returns the driver as LLVM IR, so that a network needs no C compiler: NAME_memory, NAME_input, NAME_output,
 * NAME_run, NAME_state if there are states, NAME_step and NAME_each if wanted, and NAME_constants if they are
 * in a file. Free it with free(). NULL: no memory. */
char *uk_driver_llvm(const struct uk_constants *c, bool with_step, bool with_each);
/* Returns NAME_run in C, for readers; memory as above. */
char *uk_driver_calls(const struct uk_network *n);
/* Returns the header that declares the functions, for C and C++. */
char *uk_driver_header(const struct uk_network *n, enum uk_home home);

/* ---- driver_sizes.c: open sizes in the driver ---- */

/* Writes the instructions that read the array %sizes, and return UK_INVALID_SIZE unless each size is in its
 * range. %z0, %z1, ... become the sizes in steps. */
void uk_driver_put_sizes(struct uk_text *t, const struct uk_network *n);
/* Writes the instructions that compute the form times `factor`; %NAME becomes it. */
void uk_driver_put_form(struct uk_text *t, const struct uk_size_form *f, int64_t factor, const char *name);
/* Writes the declarations of the layer's functions and of those which return their workspaces. */
void uk_driver_declare(struct uk_text *t, const struct uk_layer *l);
/* Writes the instructions that compute the largest end of a workspace, at least the plan's bytes. Returns the
 * number k of the variable %mostK. */
int uk_driver_put_memory(struct uk_text *t, const struct uk_network *n);

#endif
