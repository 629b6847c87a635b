/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ukernels: micro-kernels for GEMM and convolution, called directly.
 *
 * Link with -lukernels. Nothing in here prints or aborts, and nothing allocates but matrix products that are given no
 * workspace. Two things stay: the pool of threads that uk_parallel_for makes, and the memory of such products
 * (uk_release_memory). What is asked of the CPU is asked once, of libcpuinfo, which allocates, and prints a line on standard
 * error if it cannot: caches are then taken to be those of a common CPU.
 */
#ifndef UKERNELS_H
#define UKERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/* What every function of both libraries, and every generated function, returns. The values are part of the
 * ABI. */
enum uk_status {
    UK_OK = 0,
    UK_INVALID_ARGUMENT = 1, /* a null pointer, an unknown name, an option out of range */
    UK_INVALID_SIZE =
        2, /* negative or overflowing sizes, strides smaller than extents, sizes that break an assumption */
    UK_OVERLAP = 3, /* an output overlaps another operand */
    UK_OUT_OF_MEMORY = 4,
    UK_SYNTAX = 5,      /* the text is not in the language */
    UK_REFUSED = 6,     /* understood, and not legal: the message says which step, which loop, why */
    UK_NO_MATCH = 7,    /* tensorize: no kernel computes this nest; the message has the first difference */
    UK_UNSUPPORTED = 8, /* this CPU, target or build cannot do it */
    UK_LINK = 9,        /* bitcode that cannot be linked or inlined */
    UK_IO = 10,
    UK_WRONG_RESULT = 11, /* a check found a difference */
    UK_INTERNAL = 12,     /* a defect of ours; please report the message */
};

/* A short English text, never NULL. */
const char *uk_status_text(enum uk_status status);

/*
 * ---- The kernel contract ----
 *
 * A kernel computes one tile of C, mr x nr at most, for any k. What each operation computes is in ops.def;
 * this is what all of its kernels share, and what the tests check and break, clause by clause.
 *
 *   A in panels, [k][MR]         B in panels, [k][NR]          C, rows ldc apart
 *
 *     a -> p=0 | 0 1 .. MR-1 |     b -> p=0 | 0 1 ... NR-1 |             c -> | 0 1 .. nr-1 | ...
 *          p=1 | 0 1 .. MR-1 |          p=1 | 0 1 ... NR-1 |        c + ldc -> | 0 1 .. nr-1 | ...
 *          ...                          ...                                    ...
 *        p=k-1 | 0 1 .. MR-1 |        p=k-1 | 0 1 ... NR-1 | c+(mr-1)*ldc -> | 0 1 .. nr-1 |
 *
 *   Element (i, p) of A is a[p*MR + i], element (p, j) of B is b[p*NR + j]. Where .kr > 1, panels are groups
 *   of kr terms, [k/kr][MR or NR][kr], and k is a multiple of kr: who packs fills the last group with zeros.
 *   Panels always have their full width MR or NR, however few rows or columns the tile has: the rest may be
 *   read, and does not change the result. f16 and bf16 are passed as uint16_t, their bits.
 *
 *   1. Freestanding: no libc, no globals but static const, no question to the CPU, no helper that is not
 *      inlined.
 *   2. Sizes and strides are int64_t; strides are in elements and may be anything that keeps rows apart.
 *   3. It reads the elements of its operands and, past them, only what .a_over and panels allow; it
 *      writes the mr x nr elements of its output, and nothing else.
 *   4. C is not read unless acc is nonzero: a NaN there must not leak into the result.
 *   5. k may be 0: the tile is then set to 0, or left as it is if acc.
 *   6. Edges: 1 <= mr <= MR and 1 <= nr <= NR are passed, as far as .edges says; without edges mr = MR and
 *      nr = NR.
 *   7. Operands are aligned to their elements and no more, unless .a_align, .b_align, .c_align say so.
 *   8. The ABI: callee-saved registers, MXCSR, the direction flag and the caller's stack are left as found; a
 *      native call ends with clean upper halves of the vector registers (compilers insert vzeroupper; asm
 *      declares what it clobbers by its widest name so that they can).
 *   9. Denormals: as the CPU's vector instructions have them. ARMv7's NEON takes and gives 0 in their place, whatever FPSCR
 *      says, while its VFP keeps them: two kernels of one operation, and full tiles and edges of one kernel, may differ by
 *      the smallest normal number for each product there. And it rounds a product before it is added. Elsewhere denormals
 *      are kept, unless the caller has asked the CPU to flush them.
 *  10. Inlined twice into one function it must still assemble and work: `%=` or numeric labels in asm; what
 *      asm changes is a read-write or output operand, and early-clobber ("+&r"): a compiler may else give an
 *      input of the same value, such as a constant ldc equal to k, the same register.
 */

/* What a kernel of small products (sgemm_small, dgemm_small) computes from sizes and strides alone, once for calls that
 * are repeated. The fields are the kernel's. */
struct uk_small_call {
    /* Returns UK_OK: a program's call may end with this one. */
    enum uk_status (*run)(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc);
    /* The same for many rows of A that come from afar; left as it was by kernels that have none. */
    enum uk_status (*ahead)(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc);
    /* The same for a C that comes from behind the first cache; left as it was, too. */
    enum uk_status (*asking)(const struct uk_small_call *s, const void *a, const void *b, void *c, int acc);
    int64_t turns, lda, ldb, ldc, m, rows, longer, before, b_before, steps;
    int64_t a1, a2, a3, c1, c2, c3, a_last, c_last;
    int32_t enter;
    uint32_t all, half, rows_of_a, first[4], mask[4];
};

/* Which edge tiles a kernel takes. */
enum uk_edges {
    UK_EDGES_ANY,  /* 1 <= mr <= MR, 1 <= nr <= NR */
    UK_EDGES_ROWS, /* fewer rows; nr = NR */
    UK_EDGES_COLS, /* fewer columns; mr = MR */
    UK_EDGES_FULL, /* neither */
};

struct uk_kernel {
    const char *symbol; /* "uk_sgemm_6x16_avx2_asm" */
    const char *op;     /* "sgemm": a row of ops.def */
    const char *isa;    /* "avx2": a row of isas.def */
    const char *impl;   /* "asm", "intrin", "c", "peachpy"; "asm_..." names what sets it apart: "asm_a53" */
    const char *arch;   /* "x86_64", "aarch64", "arm", or "any" */
    /* The source, if the row shares it with others: "intrinsics/any/name.c"; else NULL. */
    const char *file;
    /* What it needs of the CPU, separated by commas; default: the isa's. "" is nothing. */
    const char *features;
    /* The cores, separated by commas ("cortex-a53"), whose pipes the order of its instructions is for, where another row
     * has the same operation and tile for all. Default NULL: any core. Schedules made for such a core prefer it; others, and
     * uk_sgemm, which threads may run on cores of two kinds, take it by name only. */
    const char *cores;
    const char *parameters;  /* of its C prototype, "(int64_t k, ...)" */
    const char *declaration; /* its op's, not filled in: see uk_kernel_declaration */
    /* Cast it to uk_<op>_function. NULL: a kernel of another architecture than this build's. */
    void (*function)(void);
    int mr, nr;          /* the tile */
    int kr;              /* k elements per group of a panel; default 1 */
    enum uk_edges edges; /* default UK_EDGES_ANY */
    /* A tile of mr rows costs as one of mr rounded up to this; default MR: an edge costs a whole tile. */
    int row_step;
    int a_over;                    /* elements of the first operand it may read past the end of a row */
    int a_align, b_align, c_align; /* bytes; default 1: as the elements are, no more */
    /* Vector instructions of the inner loop, per step of k: per group of kr (per call, if there is no k). Where .cores load
     * halves of vectors beside FMAs, these are other. */
    double fma, loads, other;
};

/* All rows, also those of other architectures, whose kernels are no functions here. The array is constant; *count may not be NULL. */
const struct uk_kernel *uk_kernels(int *count);
/* The row of that symbol, or NULL. */
const struct uk_kernel *uk_kernel_find(const char *symbol);
/* Whether the kernel is in this build, and this CPU has its features and UK_ISA does not hide them. */
bool uk_kernel_runs_here(const struct uk_kernel *kernel);
/* Writes the kernel's declaration, an `intrinsic ... end` of the .uk language, and returns its length without
 * the closing NUL, as snprintf does: if that is >= size, the text was cut. */
size_t uk_kernel_declaration(const struct uk_kernel *kernel, char *buffer, size_t size);

/* ---- the CPU ---- */

/* Whether this CPU and its system have a feature ("avx2", "fma", "avx512f", ...) and UK_ISA leaves it. */
bool uk_cpu_has(const char *feature);
/* The first feature of a list "avx2,fma" that this CPU lacks or UK_ISA hides, copied to name (cut to
 * size, which may be 0); false and "" if there is none. */
bool uk_cpu_lacks(const char *features, char *name, size_t size);
/* UK_OK; or what is wrong with UK_ISA in the environment, with a sentence in *message (static):
 * UK_INVALID_ARGUMENT if no such instruction set exists, UK_UNSUPPORTED if this CPU lacks it. Only generic
 * kernels run then; nothing else tells. */
enum uk_status uk_cpu_status(const char **message);

/* ---- threads ---- */

/* How many threads uk_parallel_for and matrix products use: what uk_set_num_threads has set, or else UK_NUM_THREADS if it is a
 * number from 1 to 1024 (any other text is ignored), or else the CPUs that this process may run on. */
int uk_num_threads(void);
/* Sets the number for calls that begin later, of all threads of the process: 1 to 1024; 0: what it was at first.
 * UK_INVALID_ARGUMENT: any other, and nothing has changed. Any thread may call it at any time, also while others compute: their
 * calls end as they began. No result of a matrix product depends on it. Plans keep the number that they were made with. Memory
 * that a caller has made for each thread, such as what NAME_workspace of a generated function returned, has to be made anew when
 * the number grows. A build without threads always uses one. */
enum uk_status uk_set_num_threads(int threads);
/*
 * Runs task(context, index, thread) for each index in [0, count), in any order and in parallel, and returns
 * when all are done. `thread` is less than uk_num_threads(), and than what that last returned to the calling thread, whatever
 * others have set since; no two tasks of one call run at once with the same. The pool is made by the first call, again
 * after fork, and by the first call with another number of threads; its threads sleep between calls. Any number
 * of threads may call at the same time. Called from inside a task, or when no pool can be made because
 * threads or memory lack, it runs the tasks one after another, on thread 0.
 */
void uk_parallel_for(void (*task)(void *context, int64_t index, int64_t thread), void *context,
                     int64_t count);

/*
 * ---- matrix products ----
 *
 *     C = alpha * op(A) * op(B) + beta * C        op(A) is m x k, op(B) k x n, C m x n; op(X) is X or its transpose
 *
 * as BLAS defines it: row-major, a stored matrix has its rows `ld` elements apart (column-major: its columns), ld
 * no smaller than a row (a column) and no smaller than 1. beta = 0: C is written and not read, NaN there does not
 * matter. alpha = 0 or k = 0: neither A nor B is read. m = 0 or n = 0: nothing is done. C must not overlap A or B;
 * that is not checked.
 *
 * On anything but UK_OK nothing has been written: UK_INVALID_ARGUMENT is an enum out of range, or a null operand that
 * would be read or written; UK_INVALID_SIZE a negative size, a leading dimension that is too small, or a matrix of
 * 2^56 bytes and more (2^31, where addresses have 32 bits); UK_OUT_OF_MEMORY that the workspace could not be allocated; UK_UNSUPPORTED that this build
 * has no kernel of the type for this CPU. Memory outside the operands is neither read nor written.
 *
 * Element (i, j) of C is the same to the last bit whatever the number of threads, and whether an operand was packed
 * beforehand or not. All functions may be called from any number of threads at once, and after fork. A call, and
 * each of its tasks on other threads, takes up to 16 KB of stack, if the compiler optimizes and no sanitizer is in it.
 */
enum uk_layout { UK_ROW_MAJOR, UK_COLUMN_MAJOR };
enum uk_transpose { UK_NO_TRANSPOSE, UK_TRANSPOSE };

/* On the threads of uk_parallel_for where the work is worth it, in a workspace that is allocated or kept from an earlier
 * call. */
enum uk_status uk_sgemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                        int64_t ldb, float beta, float *c, int64_t ldc);
enum uk_status uk_dgemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, double alpha, const double *a, int64_t lda, const double *b,
                        int64_t ldb, double beta, double *c, int64_t ldc);

/* `count` products of one shape: operand i is at a[i], b[i], c[i]. No two C may overlap. */
enum uk_status uk_sgemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, float alpha, const float *const *a, int64_t lda,
                              const float *const *b, int64_t ldb, float beta, float *const *c, int64_t ldc,
                              int64_t count);
enum uk_status uk_dgemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, double alpha, const double *const *a, int64_t lda,
                              const double *const *b, int64_t ldb, double beta, double *const *c, int64_t ldc,
                              int64_t count);
/* The same, operand i at a + i * stride_a and so on. A stride of A or B may be 0 or negative; stride_c must keep
 * the matrices apart. */
enum uk_status uk_sgemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, float alpha, const float *a,
                                      int64_t lda, int64_t stride_a, const float *b, int64_t ldb,
                                      int64_t stride_b, float beta, float *c, int64_t ldc, int64_t stride_c,
                                      int64_t count);
enum uk_status uk_dgemm_batch_strided(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb,
                                      int64_t m, int64_t n, int64_t k, double alpha, const double *a,
                                      int64_t lda, int64_t stride_a, const double *b, int64_t ldb,
                                      int64_t stride_b, double beta, double *c, int64_t ldc, int64_t stride_c,
                                      int64_t count);

/* How a plan is to be made. All zero is what uk_sgemm does. */
struct uk_gemm_options {
    int threads; /* at most so many; 0: uk_num_threads(), 1: the caller's alone */
    struct pthreadpool
        *pool; /* the caller's (a pthreadpool_t), whose threads bound `threads`; NULL: the library's */
    /* Other threads that use the pool are waited for. A task of the pool itself must not run the plan: pthreadpool would
     * wait for the loop that the task belongs to. Make plans for tasks with threads = 1. */
    bool a_packed, b_packed; /* uk_sgemm_run gets what uk_sgemm_pack_a, _b wrote */
};

/* A resolved call: shape, strides and flags, and the path, kernel, blocking and threads chosen for them. Made by
 * uk_sgemm_plan or uk_dgemm_plan; it may be copied, holds no memory, and needs no end. The fields are the library's. */
struct uk_gemm_plan {
    struct uk_small_call small[3];   /* for the kernels of `direct`; first, as it is passed on */
    int64_t m, n, k;                 /* of the row-major product that is computed */
    int64_t a_row, a_step;           /* strides of A along m and k */
    int64_t b_step, b_column;        /* of B along k and n */
    int64_t ldc;                     /* C's rows, contiguous, are so far apart; or its columns */
    int64_t rows, mc, nc, kc;        /* a tile's rows; blocks */
    int64_t row_tasks, column_tasks; /* the grid that threads share */
    int64_t a_block, b_block;        /* elements of a task's packed blocks */
    int64_t a_leading;               /* of rows of A that are copied */
    int64_t a_padding;               /* elements behind the first panel, which is rows; 0: it is none */
    const struct gemm_type *type;
    const struct gemm_tile *tile;
    const struct uk_kernel *tail;     /* of the last columns; NULL: the tile's */
    const struct uk_kernel *first;    /* of the first rows, which packs B as it reads it; NULL: the tile's */
    void (*asking)(void);             /* the tile that asks for what is packed next; NULL: none does */
    const struct gemm_direct *direct; /* a small product's kernels; NULL: it is none */
    struct pthreadpool *pool;
    double cycles; /* estimated, on one thread */
    int threads;
    unsigned char path, form, tail_form, a_source, b_source;
    bool swapped; /* column-major, or turned, but not both: A and B have changed places */
    bool turned;  /* C's columns are contiguous, not its rows */
    bool a_packed, b_packed;
    bool whole; /* k is not cut */
    /* What a call with floats, or with doubles, comes to where alpha is 1 and beta 0 or 1; NULL: nothing so short. And where
     * A and B have changed places. */
    enum uk_status (*resolved[2])(const struct uk_small_call *s, const void *a, const void *b, void *c,
                                  int acc);
    enum uk_status (*resolved_swapped[2])(const struct uk_small_call *s, const void *a, const void *b,
                                          void *c, int acc);
};

/* options may be NULL: all zero. On failure *plan is not written. */
enum uk_status uk_sgemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options);
enum uk_status uk_dgemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options);

/* What is done to each element of C last, while its tile is in the first cache:
 *     c = min(max(scale * c + row_bias[i] + column_bias[j], low), high)
 * i and j are the row and column of C in the caller's layout. A NaN in c stays. Zero-initialize; every zero means that
 * nothing is done: a scale of 0 is one of 1, and low and high that are both 0 do not clamp. A clamp sets both. */
struct uk_sgemm_epilogue {
    float scale;              /* 0 or 1: none */
    float low, high;          /* relu: 0 and INFINITY; no clamp: both 0, or -INFINITY and INFINITY */
    const float *row_bias;    /* m elements, or NULL */
    const float *column_bias; /* n elements, or NULL */
};
struct uk_dgemm_epilogue {
    double scale;
    double low, high;
    const double *row_bias;
    const double *column_bias;
};

/* The bytes of workspace that uk_sgemm_run and uk_dgemm_run need for this plan; 0: none. */
size_t uk_gemm_workspace(const struct uk_gemm_plan *plan);
/* Computes. epilogue may be NULL. workspace: uk_gemm_workspace(plan) bytes aligned to 64, used by one call at a time, and
 * then nothing is allocated; NULL: the call takes what was kept, or allocates. UK_INVALID_ARGUMENT if the plan is of the
 * other type. */
enum uk_status uk_sgemm_run(const struct uk_gemm_plan *plan, float alpha, const float *a, const float *b,
                            float beta, float *c, const struct uk_sgemm_epilogue *epilogue, void *workspace);
enum uk_status uk_dgemm_run(const struct uk_gemm_plan *plan, double alpha, const double *a, const double *b,
                            double beta, double *c, const struct uk_dgemm_epilogue *epilogue,
                            void *workspace);

/* Products that are given no workspace keep theirs for the next calls: at most 8 blocks, none above 64 MiB, of which as
 * many exist as calls have run at once. This frees those that no call is using; so does the end of the process. Any
 * thread may call it at any time. */
void uk_release_memory(void);

/* Packing beforehand: pack with a plan, then run plans with a_packed or b_packed set and `packed` in the operand's
 * place, as often and from as many threads as one likes. What was packed is for plans of the same type, layout, ta, tb,
 * m, n, k, lda, ldb and ldc: their options may differ. `packed` has uk_gemm_packed_a_size(plan) bytes (_b_) and is
 * best aligned to 64; 0 bytes: an empty operand; SIZE_MAX: more than 32 bits address. */
size_t uk_gemm_packed_a_size(const struct uk_gemm_plan *plan);
size_t uk_gemm_packed_b_size(const struct uk_gemm_plan *plan);
enum uk_status uk_sgemm_pack_a(const struct uk_gemm_plan *plan, const float *a, float *packed);
enum uk_status uk_sgemm_pack_b(const struct uk_gemm_plan *plan, const float *b, float *packed);
enum uk_status uk_dgemm_pack_a(const struct uk_gemm_plan *plan, const double *a, double *packed);
enum uk_status uk_dgemm_pack_b(const struct uk_gemm_plan *plan, const double *b, double *packed);

/* Says in English which path, kernel, blocking and threads a plan takes, line by line, and returns the length without
 * the closing NUL, as snprintf does: if that is >= size, the text was cut. */
size_t uk_gemm_explain(const struct uk_gemm_plan *plan, char *buffer, size_t size);

/* ---- the kernels, by name ---- */

/* typedef void uk_sgemm_function(int64_t k, ...); and so on */
#define UK_OP_ROW(name, parameters, declaration) typedef void uk_##name##_function parameters;
#include "registry/ops.def"
#undef UK_OP_ROW

/* A row may list no attributes, or several: only its name matters here. */
#define UK_KERNEL(op, mr, nr, isa, impl, ...) uk_##op##_function uk_##op##_##mr##x##nr##_##isa##_##impl;
#include "registry/kernels.def"
#undef UK_KERNEL

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
#endif
