/* SPDX-License-Identifier: Apache-2.0 */
/* Reads windows of convolutions and pools from ONNX's attributes, and writes them as text. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "layers/window.h"

enum { TEXT = 192, TURNS = 6 };

static char *buffer(void) {
    static _Thread_local char text[TURNS][TEXT];
    static _Thread_local int turn;
    char *t = text[turn++ % TURNS];

    *t = 0;
    return t;
}

enum uk_status uk_window_numbers(struct uk_graph *g, const struct uk_graph_node *n, const char *name,
                                 int count, int64_t least, int64_t otherwise, int64_t *out) {
    int64_t list[UK_MAX_LISTED_INTS];
    int given;
    enum uk_status s = uk_need_ints(g, n, name, -1, list, &given);

    if (!s && given >= 0 && given != count)
        s = uk_graph_fail(g, UK_REFUSED, n, "%s has %d numbers; %d are needed", name, given, count);
    for (int i = 0; i < count && !s; i++) {
        out[i] = given < 0 ? otherwise : list[i];
        if (out[i] < least || out[i] > UK_MAX_IMAGE_EXTENT)
            s = uk_graph_fail(g, UK_REFUSED, n, "%s: %" PRId64 " is out of range", name, out[i]);
    }
    return s;
}

/* Number of elements from a window's first to its last, both included. */
static int64_t span(const struct uk_window *w, int d) {
    return (w->kernel[d] - 1) * w->dilation[d] + 1;
}

static void pad_same(struct uk_window *w, bool lower) {
    for (int d = 0; d < w->dimensions; d++) {
        const int64_t out = (w->in[d] + w->stride[d] - 1) / w->stride[d];
        const int64_t more = (out - 1) * w->stride[d] + span(w, d) - w->in[d], total = more > 0 ? more : 0;
        w->before[d] = lower ? total - total / 2 : total / 2;
        w->after[d] = total - w->before[d];
    }
}

static enum uk_status outputs(struct uk_graph *g, const struct uk_graph_node *n, struct uk_window *w) {
    const bool ceil = uk_attribute_int(n, "ceil_mode", 0);

    for (int d = 0; d < w->dimensions; d++) {
        const int64_t room = w->in[d] + w->before[d] + w->after[d] - span(w, d);
        if (room < 0)
            return uk_graph_fail(g, UK_REFUSED, n,
                                 "the window spans %" PRId64 " elements of dimension %d, which has %" PRId64,
                                 span(w, d), d + 2, w->in[d] + w->before[d] + w->after[d]);
        w->out[d] = (room + (ceil ? w->stride[d] - 1 : 0)) / w->stride[d] + 1;
        /* No window begins after the image and the padding before it. */
        if (ceil && (w->out[d] - 1) * w->stride[d] >= w->in[d] + w->before[d])
            w->out[d]--;
    }
    return UK_OK;
}

enum uk_status uk_window_attributes(struct uk_graph *g, const struct uk_graph_node *n, const int64_t *kernel,
                                    struct uk_window *w) {
    const struct uk_graph_value *x = n->input[0];
    int64_t pads[2 * UK_WINDOW_DIMENSIONS] = {0};

    *w = (struct uk_window){.dimensions = x->rank - 2};
    if (w->dimensions < 1 || w->dimensions > UK_WINDOW_DIMENSIONS)
        return uk_graph_fail(g, UK_REFUSED, n,
                             "its input of shape %s has %d dimensions; 3 to 5 are supported",
                             uk_value_shape(x), x->rank);
    memcpy(w->in, x->extent + 2, (size_t)w->dimensions * sizeof *w->in);
    enum uk_status s = uk_window_numbers(g, n, "kernel_shape", w->dimensions, 1, kernel ? 1 : 0, w->kernel);
    if (!s && kernel && !uk_attribute_find(n, "kernel_shape"))
        memcpy(w->kernel, kernel, (size_t)w->dimensions * sizeof *kernel);
    for (int d = 0; kernel && !s && d < w->dimensions; d++)
        if (w->kernel[d] != kernel[d])
            s = uk_graph_fail(g, UK_REFUSED, n, "kernel_shape differs from the filter's extents");
    for (int d = 0; !s && d < w->dimensions; d++)
        if (w->kernel[d] < 1 || w->kernel[d] > UK_MAX_IMAGE_EXTENT || w->in[d] > UK_MAX_IMAGE_EXTENT)
            s = uk_graph_fail(g, UK_REFUSED, n,
                              "windows of extent %" PRId64 " over a dimension of %" PRId64
                              " elements are not supported",
                              w->kernel[d], w->in[d]);
    if (!s)
        s = uk_window_numbers(g, n, "strides", w->dimensions, 1, 1, w->stride);
    if (!s)
        s = uk_window_numbers(g, n, "dilations", w->dimensions, 1, 1, w->dilation);
    if (!s)
        s = uk_window_numbers(g, n, "pads", 2 * w->dimensions, 0, 0, pads);
    memcpy(w->before, pads, (size_t)w->dimensions * sizeof *pads);
    memcpy(w->after, pads + w->dimensions, (size_t)w->dimensions * sizeof *pads);
    const char *automatic = uk_attribute_string(n, "auto_pad", "NOTSET");
    static const char *const known[] = {"", "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"};
    bool is_known = false;
    for (int i = 0; i < 5; i++)
        is_known |= !strcmp(automatic, known[i]);
    return s || is_known ? s : uk_graph_fail(g, UK_REFUSED, n, "auto_pad=%s is not supported", automatic);
}

enum uk_status uk_window_of(struct uk_graph *g, const struct uk_graph_node *n, const int64_t *kernel,
                            struct uk_window *w) {
    const char *automatic = uk_attribute_string(n, "auto_pad", "NOTSET");
    enum uk_status s = uk_window_attributes(g, n, kernel, w);

    if (s)
        return s;
    if (!strncmp(automatic, "SAME", 4))
        pad_same(w, !strcmp(automatic, "SAME_LOWER"));
    return outputs(g, n, w);
}

bool uk_window_pads(const struct uk_window *w) {
    for (int d = 0; d < w->dimensions; d++)
        if (w->before[d] > 0 || (w->out[d] - 1) * w->stride[d] + span(w, d) > w->in[d] + w->before[d])
            return true;
    return false;
}

const char *uk_window_subscripts(const struct uk_window *w) {
    char *t = buffer();
    size_t used = 0;

    for (int d = 0; d < w->dimensions; d++) {
        if (w->stride[d] > 1)
            used += (size_t)snprintf(t + used, TEXT - used, ", %" PRId64 "*i%d", w->stride[d], d + 2);
        else
            used += (size_t)snprintf(t + used, TEXT - used, ", i%d", d + 2);
        if (w->kernel[d] > 1 && w->dilation[d] > 1)
            used += (size_t)snprintf(t + used, TEXT - used, " + %" PRId64 "*r%d", w->dilation[d], d);
        else if (w->kernel[d] > 1)
            used += (size_t)snprintf(t + used, TEXT - used, " + r%d", d);
        if (w->before[d])
            used += (size_t)snprintf(t + used, TEXT - used, w->before[d] > 0 ? " - %" PRId64 : " + %" PRId64,
                                     w->before[d] > 0 ? w->before[d] : -w->before[d]);
    }
    return t;
}

const char *uk_window_filter(const struct uk_window *w) {
    char *t = buffer();
    size_t used = 0;

    for (int d = 0; d < w->dimensions; d++)
        used += (size_t)snprintf(t + used, TEXT - used, w->kernel[d] > 1 ? ", r%d" : ", 0", d);
    return t;
}

const char *uk_window_iterators(const struct uk_window *w) {
    char *t = buffer();
    size_t used = 0;

    for (int d = 0; d < w->dimensions; d++)
        if (w->kernel[d] > 1)
            used += (size_t)snprintf(t + used, TEXT - used, "%sr%d", used ? ", " : "", d);
    return t;
}

const char *uk_window_ranges(const struct uk_window *w) {
    char *t = buffer();
    size_t used = 0;

    for (int d = 0; d < w->dimensions; d++)
        if (w->kernel[d] > 1)
            used += (size_t)snprintf(t + used, TEXT - used, "%sr%d < %" PRId64, used ? " and " : "", d,
                                     w->kernel[d]);
    return t;
}
