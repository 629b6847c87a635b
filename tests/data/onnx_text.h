/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Models of ONNX, written as text. Each line is split at blanks:
 *
 *     opset 17 [DOMAIN]                  17 if there is no such line; there may be several
 *     input x f32 1,3,batch,4            extents or their names; "-": none, "?": no shape
 *     init w i64 2 = 1 2                 as raw data; ":" in place of "=": in the list of the type; "~":
 *                                        repeated up to the shape's number of elements, fewer than 2^20
 *     file w f32 2 weights.bin 0         external data, with an offset
 *     meta key value
 *     Conv[@DOMAIN][#NAME] x w _ -> y a=i:1 b=I:1,2 c=f:0.5 d=F:1,2 e=s:text f=S:a,b g=t:f32:2:1,2 h=g: k=z:
 *                                        a node; "_": omitted value. Attributes: int (i), ints (I),
 *                                        float (f), floats (F), text (s), texts (S), tensor (t: type,
 *                                        shape, numbers), graph (g; empty without a name), of the
 *                                        unknown type 14 (z)
 *     output y
 *     graph b                            begins a graph with its own lines, up to "end"; later nodes have it
 *     end                                as attributes h=g:b. At most 16, 4 within each other
 *
 * Types are named in ONNX's order ("f32"), or numbers. In names, %XX is the byte with that value. Lines that
 * begin with any other word are nodes. Nothing is checked.
 */
#ifndef ONNX_TEXT_H
#define ONNX_TEXT_H

#include <stddef.h>

/* Returns the model's bytes; the caller frees them. NULL: out of memory. */
unsigned char *onnx_of_text(const char *text, size_t *length);

#endif
