/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of ONNX from a text of lines, each of which is split at blanks:
 *
 *     opset 17 [DOMAIN]                  else 17; said once or more often
 *     input x f32 1,3,batch,4            extents, or names of them; "-" none, "?" no shape
 *     init w i64 2 = 1 2                 raw data; ":" in place of "=": in the list of its type; "~":
 *                                        repeated until there are as many as the shape has, fewer than 2^20
 *     file w f32 2 weights.bin 0         external data, with an offset
 *     meta key value
 *     Conv[@DOMAIN][#NAME] x w _ -> y a=i:1 b=I:1,2 c=f:0.5 d=F:1,2 e=s:text g=t:f32:2:1,2 h=g: k=z:
 *                                        a node; "_": left out; an attribute that is an int, ints, a float,
 *                                        floats, a text, a tensor
 *                                        (type, shape, numbers), a graph, or of type 14
 *     output y
 *
 * Types are by their names in ONNX's order ("f32"), or numbers. In names %XX is the byte of that value. Lines
 * that begin with anything else are nodes; nothing is checked.
 */
#ifndef ONNX_TEXT_H
#define ONNX_TEXT_H

#include <stddef.h>

/* Returns the model's bytes; the caller frees them. NULL: out of memory. */
unsigned char *onnx_of_text(const char *text, size_t *length);

#endif
