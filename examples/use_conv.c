/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution with a bias and relu: cc use_conv.c $(pkg-config --cflags --libs ukernels). Weights are
 * packed once, for any number of images. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <ukernels/ukernels.h>

/* Images of 4 x 4 pixels and 2 channels, 3 output channels, 3 x 3 windows with a border of one pixel. */
enum { H = 4, W = 4, C = 2, O = 3, R = 3, S = 3 };

int main(void) {
    const struct uk_conv2d shape = {.n = 1,
                                    .h = H,
                                    .w = W,
                                    .c = C,
                                    .o = O,
                                    .r = R,
                                    .s = S,
                                    .stride_h = 1,
                                    .stride_w = 1,
                                    .dilation_h = 1,
                                    .dilation_w = 1,
                                    .pad_top = 1,
                                    .pad_bottom = 1,
                                    .pad_left = 1,
                                    .pad_right = 1,
                                    .groups = 1,
                                    .layout = UK_NHWC,
                                    .filter = UK_HWIO};
    const struct uk_conv2d_options options = {.weights_packed = true};
    static float x[H][W][C], f[R][S][C][O], y[H][W][O];
    const float bias[O] = {0, -10, -30};
    const struct uk_sgemm_epilogue relu = {
        .flags = UK_EPILOGUE_CLAMP, .low = 0, .high = INFINITY, .column_bias = bias};
    struct uk_conv2d_plan plan;
    enum uk_status status = uk_sconv2d_plan(&plan, &shape, &options);

    for (int i = 0; i < H * W * C; i++)
        (&x[0][0][0])[i] = 1;
    for (int i = 0; i < R * S * C * O; i++)
        (&f[0][0][0][0])[i] = 1;
    const size_t bytes = status ? 0 : uk_conv2d_packed_weights_size(&plan);
    float *packed = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;

    if (packed && !(status = uk_sconv2d_pack_weights(&plan, &f[0][0][0][0], packed)))
        status = uk_sconv2d_run(&plan, &x[0][0][0], packed, &y[0][0][0], &relu, NULL, 0);
    free(packed);
    if (status || !packed) {
        fprintf(stderr, "%s: %s\n", uk_status_text(status), uk_last_message());
        return 1;
    }
    /* 18 terms inside, 8 at a corner. */
    printf("Y[1][1] = %g %g %g, Y[0][0] = %g %g %g\n", (double)y[1][1][0], (double)y[1][1][1],
           (double)y[1][1][2], (double)y[0][0][0], (double)y[0][0][1], (double)y[0][0][2]);
    return y[1][1][0] == 18 && y[1][1][1] == 8 && y[0][0][0] == 8 && y[0][0][1] == 0 ? 0 : 1;
}
