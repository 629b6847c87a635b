/* SPDX-License-Identifier: Apache-2.0 */
/* gelu, gelu_tanh and swish on double. The arguments of their exponentials are sums of two numbers, as the
 * rounding of a large argument would change many digits of the result. */
#include <math.h>
#include "interpret.h"

/* x / (1 + exp(-z - low)) */
static double logistic(double x, double z, double low) {
    if (z >= 0 || isnan(z))
        return x / (1 + exp(-z));
    if (z > -700)
        return x * (exp(z) * (1 + low) / (1 + exp(z)));
    /* The exponential may be subnormal where the result is not. */
    const double root = exp(z / 2);

    return (1 + (isfinite(z) ? low : 0)) * (x * root) * root;
}

/* a times the normal distribution function of -a, for a >= 30: exp(-a^2 / 2) / sqrt(2 pi) times the
 * asymptotic series 1 - 1 / a^2 + 3 / a^4 - 15 / a^6 ... */
static double far_tail(double a) {
    const double square = a * a, low = fma(a, a, -square);
    double series = 1;

    for (int k = 13; k > 0; k -= 2)
        series = 1 - series * k / square;
    const double root = exp(-square / 4);
    return series * 0.3989422804014327 * (1 - low / 2) * root * root;
}

double uk_real_gelu(double x) {
    /* sqrt(1 / 2) = scale + scale_low */
    const double scale = 0x1.6a09e667f3bcdp-1, scale_low = -0x1.bdd3413b26456p-55, h = -x * scale;

    if (isinf(x))
        return x > 0 ? x : x * 0.0;
    if (x < -30)
        return x < -40 ? -0.0 : -far_tail(-x);
    const double low = fma(-x, scale, -h) - x * scale_low;
    /* The derivative of erfc is -2 / sqrt(pi) exp(-h^2). */
    return 0.5 * x * (erfc(h) - 1.1283791670955126 * exp(-h * h) * low);
}

double uk_real_gelu_tanh(double x) {
    /* 2 sqrt(2 / pi) and 0.044715 times that, as sums */
    const double linear = 0x1.9884533d43651p+0, linear_low = -0x1.cbc0d30ebfd15p-54,
                 cubic = 0x1.2444f2a4d8b4bp-4, cubic_low = -0x1.6c843a29d1c70p-61;
    const double square = x * x, square_low = fma(x, x, -square);
    const double term = cubic * square,
                 term_low = fma(cubic, square, -term) + cubic * square_low + cubic_low * square;
    const double sum = linear + term, other = sum - linear;
    const double sum_low = (linear - (sum - other)) + (term - other) + linear_low + term_low;
    const double z = x * sum;

    return logistic(x, z, fma(x, sum, -z) + x * sum_low);
}

double uk_real_swish(double x, double factor) {
    const double z = x * factor;

    return logistic(x, z, fma(x, factor, -z));
}
