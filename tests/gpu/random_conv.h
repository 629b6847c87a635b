/* SPDX-License-Identifier: Apache-2.0 */
/* Random convolutions of all shapes, as texts of programs. */
#ifndef RANDOM_CONV_H
#define RANDOM_CONV_H

#include "base/base.h"
#include "values.h"

enum { CONV_AXES = 3 };

/* One axis of the images. A window has `taps` elements, `dilation` apart; the border has `before` and `after`
 * elements. */
struct conv_axis {
    int extent, taps, stride, dilation, before, after, outputs;
};

struct random_conv {
    struct uk_text text;
    enum values values;
    int64_t terms; /* products per sum */
    /* the rest describes the text: images, channels, outputs, groups */
    int type, axes, n, c, o, groups;
    struct conv_axis axis[CONV_AXES];
    bool channels_first, outputs_first; /* of images; of weights */
    bool has_names, drops_taps, is_finite, has_bias, has_residual;
    int activation, border;
};

/* Draws convolution `number` of a seed's series from x; types take turns. depthwise: each
 * of its channels has its own weights. The caller frees the text. */
void random_conv_make(struct random_conv *v, int number, bool depthwise, uint64_t x);

#endif
