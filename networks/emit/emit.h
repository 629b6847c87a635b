/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room emit: the network as code. It uses graph, import, rewrite, layers, plan and link. The layers'
 * programs, the constants and a driver in LLVM's IR, which calls them in order, become one piece of code by
 * libuktensorize's bundles.
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
    struct uk_network_tensor *input, *output; /* as they are shown */
    const char *name;
    const char *schedule_file; /* whose schedules layers have, in messages; NULL: there is none */
    struct uk_module *module;
    size_t (*memory)(void);
    int (*run)(void *memory);
    int (*step)(void *memory, int layer);
    struct uk_module **device_layer; /* of each function, for a GPU; NULL: none is compiled */
    bool is_begun, is_read;          /* reading it was tried; succeeded */
};

/* ---- enter.c ---- */

/* Forgets the last error; a network that is NULL, or was not read though that is needed, is one. */
enum uk_status uk_network_enter(struct uk_network *n, bool needs_read);

/* ---- device.c ---- */

/* Frees what was compiled for a GPU. */
void uk_network_forget_device(struct uk_network *n);

/* What is shown of the value, under that name. */
void uk_tensor_show(struct uk_network_tensor *t, const struct uk_graph_value *v, const char *name);

/* ---- layer.c ---- */

/* Adds to what is shown of the layers what follows from their programs and places. */
enum uk_status uk_layers_show(struct uk_network *n);

/* ---- schedule.c ---- */

/* Gives the function's program the steps that were taken for it, if there are some. */
enum uk_status uk_layer_schedule(const struct uk_network *n, const struct uk_layer_function *f,
                                 struct uk_program *p);

/* ---- compile.c ---- */

/* A way of compiling. */
struct uk_compilation {
    struct uk_options options;
    enum uk_emit what;
    bool has_step;             /* NAME_step is wanted */
    struct uk_module **module; /* or NULL, and: */
    char **bytes;
    size_t *length;
};
enum uk_status uk_network_build(struct uk_network *n, const struct uk_options *options,
                                struct uk_compilation *c);

/* ---- driver.c, driver_header.c ---- */

/* The driver as LLVM's IR, so that a network needs no C compiler: NAME_memory, NAME_input, NAME_output,
 * NAME_run, and NAME_step if that is wanted. Free it with free(). NULL: no memory. packing: as for
 * uk_constants_make(). */
char *uk_driver_llvm(const struct uk_network *n, struct uk_module *const *packing, bool with_step);
/* NAME_run in C, for who reads it; as above. */
char *uk_driver_calls(const struct uk_network *n);
/* What the functions are, for C and C++. */
char *uk_driver_header(const struct uk_network *n);

/* ---- constants.c ---- */

/* The constants that layers read, in the order of memory that they want, or packed. */
struct uk_constants {
    struct uk_constant *constant;
    const struct uk_graph_value **value; /* of each */
    int count;
    struct uk_arena arena; /* of those that had to be permuted or packed, and names */
};
/* packing: by the functions' numbers, what packs their constants, or NULL; or NULL for all. */
enum uk_status uk_constants_make(struct uk_network *n, struct uk_module *const *packing,
                                 struct uk_constants *c);
enum { UK_CONSTANT_NAME = 300 };
/* The name of the constant that is the layer's argument i; whether it is packed for that. */
bool uk_constant_name(const struct uk_network *n, struct uk_module *const *packing, const struct uk_layer *l,
                      int i, char name[UK_CONSTANT_NAME]);
void uk_constants_free(struct uk_constants *c);

#endif
