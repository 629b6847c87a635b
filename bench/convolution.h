/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions by several libraries: sets of shapes, their operands, the check of results. bench.h includes
 * this file.
 *
 * Y[n, p, q, o] = sum X[n, stride p + dilation r - before, ..., c] F[r, s, c, o]; row-major (NHWC). Elements
 * outside of the image are 0. Windows are odd, and `before` is half of their extent, so that with stride 1
 * the result has the image's extents.
 */
#ifndef BENCH_CONVOLUTION_H
#define BENCH_CONVOLUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "ukernels.h"

struct bench_call;
struct bench_library;

/* u8i8: activations u8, weights i8, sums i32, results u8 by a scale per channel: rounded to the nearest, ties
 * to even, and saturated. */
enum bench_conv_type { BENCH_CONV_F32, BENCH_CONV_U8I8 };

enum { BENCH_CONV_NAME = 32, BENCH_CONV_TEXT = 96 };

struct bench_conv_shape {
    char set[BENCH_CONV_NAME], label[BENCH_CONV_NAME];
    /* images, image, channels, window, channels of the result */
    int64_t n, h, w, c, r, s, o;
    int64_t stride, dilation, groups;
};

struct bench_conv_shapes {
    int count, room;
    struct bench_conv_shape *shape;
};

/* ---- conv_shapes.c ---- */

/* The built-in sets: the text of bench/conv_shapes.txt. */
extern const char bench_conv_shapes_text[];
/* As bench_shapes_parse(), of the form that conv_shapes.txt describes. */
enum uk_status bench_conv_shapes_parse(const char *text, struct bench_conv_shapes *shapes, char *message,
                                       size_t size);
enum uk_status bench_conv_shapes_add(struct bench_conv_shapes *shapes, const struct bench_conv_shape *shape);
void bench_conv_shapes_free(struct bench_conv_shapes *shapes);
bool bench_conv_is_depthwise(const struct bench_conv_shape *s);
/* Extents of the result, and of the border before the image. */
int64_t bench_conv_rows(const struct bench_conv_shape *s);
int64_t bench_conv_columns(const struct bench_conv_shape *s);
int64_t bench_conv_above(const struct bench_conv_shape *s);
int64_t bench_conv_left(const struct bench_conv_shape *s);
/* Elements of the image, of the weights and of the result. */
int64_t bench_conv_elements(const struct bench_conv_shape *s, int64_t *weights, int64_t *results);
/* Multiply-adds; `inside`: without those of elements outside of the image. */
double bench_conv_multiply_adds(const struct bench_conv_shape *s, bool inside);
/* Writes the shape, such as "56x56 64>128 3x3 s2 d1 g1 n1" without what is 1. */
void bench_conv_text(const struct bench_conv_shape *s, char *text, size_t size);

/* ---- conv_sweep.c ---- */

/* Adds `count` drawn shapes to each of the type's sweeps; 0: the usual number. f32: sets `dense` (80) and
 * `depthwise` (60); u8i8: `bytes` (60). The same seed draws the same shapes. */
enum uk_status bench_conv_sweep(struct bench_conv_shapes *shapes, enum bench_conv_type type, int count,
                                uint64_t seed);

/* ---- convolution.c: operands and the check of results ---- */

/* Values are integers small enough that all sums are exact in any order: every library must have the same
 * results. */
struct bench_convolution {
    enum bench_conv_type type;
    const struct bench_conv_shape *shape;
    void *x, *y;  /* NHWC; f32, or u8 */
    void *f;      /* [R, S, C / groups, O]; f32, or i8 */
    float *scale; /* u8i8: a power of two per channel of the result; else NULL */
    size_t x_bytes, f_bytes, y_bytes;
};

/* Free them by bench_convolution_free, which accepts a convolution that could not be created. */
enum uk_status bench_convolution_create(struct bench_convolution *v, const struct bench_conv_shape *shape,
                                        enum bench_conv_type type);
void bench_convolution_free(struct bench_convolution *v);
/* Makes one call and compares Y with sums of a plain loop: all elements of a small Y, samples of a large one
 * that include its corners. */
bool bench_convolution_check(const struct bench_convolution *v, struct bench_call *call);

/* ---- conv_libraries.c: libraries that compute convolutions ---- */

/* oneDNN: two versions, each with NHWC and with blocked operands; ONNX Runtime. */
enum { BENCH_ONEDNN_VERSIONS = 2, BENCH_CONV_LIBRARIES = 2 * BENCH_ONEDNN_VERSIONS + 1 };

/* How libraries are called. */
struct bench_conv_options {
    enum bench_conv_type type;
    int isa, threads;
    bool weights_are_arguments; /* each call gets weights as [R, S, C / groups, O] */
};

/* Opens the libraries below the directory, ONNX Runtime also below .venv-networks. ONNX Runtime takes part
 * only with the widest instruction set, as it cannot be set to another, and with constant weights. The
 * process must be bound to as many CPUs as there are threads: oneDNN has one for each CPU that it may use.
 * What bench_peers_open says about the environment holds here too. */
void bench_conv_libraries_open(struct bench_library *libraries, const char *directory,
                               const struct bench_conv_options *how);
/* onednn_conv.c: the n-th version that is installed, with both layouts. */
void bench_onednn_conv_open(struct bench_library *two, const char *directory, int version,
                            const struct bench_conv_options *how);
/* onnxruntime.c */
void bench_onnxruntime_open(struct bench_library *l, const char *directory, int threads);

#endif
