// A program that is built by calls, compiled and run: what C++11 takes of the public headers.
#include <cstdio>
#include <cstring>
#include "tensorize.h"

namespace {

int fail(const uk_context *context) {
    std::fprintf(stderr, "%s\n", uk_context_message(context));
    return 1;
}

// The tensor's type is written `struct uk_tensor`: a function has the same name.
uk_program *build(uk_context *context) {
    uk_program *p;

    if (uk_program_create(context, "matmul", &p))
        return nullptr;
    uk_index *M = uk_size(p, "M"), *K = uk_size(p, "K"), *N = uk_size(p, "N");
    uk_index *m = uk_iterator(p, "m"), *n = uk_iterator(p, "n"), *k = uk_iterator(p, "k");
    uk_index *const of_a[] = {M, K}, *const of_b[] = {K, N}, *const of_c[] = {M, N};
    uk_index *const at_a[] = {m, k}, *const at_b[] = {k, n}, *const at_c[] = {m, n};
    struct uk_tensor *A = uk_tensor(p, "A", UK_F32, 2, of_a, nullptr);
    struct uk_tensor *B = uk_tensor(p, "B", UK_F32, 2, of_b, nullptr);
    struct uk_tensor *C = uk_tensor(p, "C", UK_F32, 2, of_c, nullptr);
    uk_reduction sum = uk_reduction();

    sum.kind = UK_REDUCE_SUM;
    sum.iterators = 1;
    sum.iterator[0] = k;
    uk_statement(p, nullptr, C, at_c, UK_ASSIGN, &sum,
                 uk_multiply(p, uk_element(p, A, at_a), uk_element(p, B, at_b)));
    return p;
}

int run(uk_program *p, const uk_context *context) {
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, c[4];
    uk_module *module;

    if (uk_compile(p, nullptr, &module))
        return fail(context);
    int (*matmul)(int64_t, int64_t, int64_t, const float *, const float *, float *);
    void *address = uk_module_function(module);

    std::memcpy(&matmul, &address, sizeof matmul);
    const int status = matmul(2, 3, 2, a, b, c);

    uk_module_destroy(module);
    return status || c[0] != 4 || c[1] != 5 || c[2] != 10 || c[3] != 11;
}

// A convolution of one pixel, 2 channels to 2; C++11 has no designated initializers.
int convolve() {
    const float x[] = {3, 4}, f[] = {1, 0, 0, 2};
    float y[2];
    uk_conv2d shape = uk_conv2d();
    uk_conv2d_plan plan;

    shape.n = shape.h = shape.w = shape.r = shape.s = shape.groups = 1;
    shape.stride_h = shape.stride_w = shape.dilation_h = shape.dilation_w = 1;
    shape.c = shape.o = 2;
    shape.layout = UK_NHWC;
    shape.filter = UK_HWIO;
    return uk_sconv2d_plan(&plan, &shape, nullptr) || uk_sconv2d_run(&plan, x, f, y, nullptr, nullptr, 0) ||
           y[0] != 3 || y[1] != 8;
}

} // namespace

int main() {
    uk_context *context = uk_context_create();
    uk_program *p = context ? build(context) : nullptr;
    const int failed = !p || run(p, context);
    float a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 0, 0, 1, 1, 1}, c[4];

    uk_program_destroy(p);
    uk_context_destroy(context);
    return failed || convolve() || uk_sgemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 3, 1, a, 3, b, 2, 0, c, 2) ||
           c[3] != 11;
}
