/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libukernels: matrix products, convolutions, and the micro-kernels that they are made of, called directly.
 * Link with -lukernels.
 *
 * Units: sizes, strides and leading dimensions count elements, in int64_t. What counts bytes says so:
 * alignments, workspaces, packed operands. Layout: a matrix is row-major or column-major as a call says.
 * Element (i, j) of a row-major one is at x[i * ldx + j], of a column-major one at x[i + j * ldx]. Ownership:
 * the library keeps no pointer that it is given after the call. Nothing that it hands out has to be freed:
 * what is returned as `const` is constant, and lives as long as the library is loaded. Memory: only matrix
 * products and convolutions that are given no workspace allocate, and they keep the memory for the next ones
 * until uk_release_memory frees it. The threads of uk_parallel_for are kept, too. Features and caches of the
 * CPU are detected once, by libcpuinfo, which allocates, and prints a line on standard error if it fails:
 * caches are then assumed to be those of a common CPU. Threads: every function may be called by any number of
 * threads at once, and after fork. Errors: functions that can fail return enum uk_status, and have written
 * nothing if that is not UK_OK. Nothing in here aborts or exits, and only UK_VERBOSE=1 in the environment
 * makes calls print: a line each to standard error.
 *
 * kernels.h declares each kernel by its name; registry/kernel_contract.h is the contract that all of them
 * keep.
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

/* ---- errors ---- */

/* What every function of both libraries that can fail, and every generated function, returns. The values do
 * not change; others may be added. */
enum uk_status {
    UK_OK = 0,
    UK_INVALID_ARGUMENT = 1, /* a null pointer, an unknown name, an option out of range */
    /* negative or overflowing sizes, strides smaller than extents, sizes that break an assumption */
    UK_INVALID_SIZE = 2,
    UK_OVERLAP = 3, /* an output overlaps another operand */
    UK_OUT_OF_MEMORY = 4,
    UK_SYNTAX = 5,      /* the text is not in the language */
    UK_REFUSED = 6,     /* in the language, but not legal: the message says which step, which loop, why */
    UK_NO_MATCH = 7,    /* tensorize: no kernel computes this nest; the message has the first difference */
    UK_UNSUPPORTED = 8, /* this CPU, target or build cannot do it */
    UK_LINK = 9,        /* bitcode that cannot be linked or inlined */
    UK_IO = 10,
    UK_WRONG_RESULT = 11,  /* a check found a difference */
    UK_INTERNAL = 12,      /* a defect of ours; please report the message */
    UK_DEVICE = 13,        /* a GPU or its driver reports an error */
    UK_INVALID_INDEX = 14, /* an element that is a subscript lies outside of the dimension */
};

/* A short English text for any value, never NULL:
 *
 *     fprintf(stderr, "%s\n", uk_status_text(UK_INVALID_SIZE)); // invalid size
 */
const char *uk_status_text(enum uk_status status);

/* What was wrong with the arguments of the last matrix product, convolution, plan or batch of this thread
 * that failed, in a sentence that names the argument ("lda = 3 is less than 4, the elements of a row of A");
 * "" if none has failed. It is the thread's until its next failure. */
const char *uk_last_message(void);

/* The version of the library that is loaded, "0.2.0": MAJOR.MINOR.PATCH. Libraries of one MAJOR.MINOR have
 * the same soname; a later one only adds. */
const char *uk_version(void);

/* ---- the kernels ----
 *
 * A kernel computes one tile of its operation, MR rows by NR columns. The registry has a row for each: what
 * it computes, what it needs of the CPU, and its function, which is called through a pointer of the type
 * uk_<op>_function of kernels.h. c[i][j] = sum over p < K of a[p*6 + i] * b[p*16 + j], for 6 rows and 16
 * columns, where the rows of c are ldc elements apart:
 *
 *     #include <ukernels/kernels.h>
 *     const struct uk_kernel *k = uk_kernel_find("uk_sgemm_6x16_avx2_asm");
 *     if (k && uk_kernel_runs_here(k)) {
 *         uk_sgemm_function *sgemm = (uk_sgemm_function *)uk_kernel_function(k);
 *         sgemm(K, a, b, c, ldc, 0, 6, 16);
 *     }
 *
 * Kernels do not check their arguments, report no errors, and keep no state between calls.
 */

/* A row of the registry. Rows are the library's, and constant; the functions below read them. Of NULL they
 * return NULL, 0 or the first value of an enum. */
struct uk_kernel;

/* How many rows there are, those of other architectures included; and the i-th, from 0 on, in the order in
 * which kernels that are estimated to take the same time are preferred: NULL if there is none. */
int uk_kernel_count(void);
const struct uk_kernel *uk_kernel_at(int i);
/* The row of that symbol, or NULL. */
const struct uk_kernel *uk_kernel_find(const char *symbol);
/* "uk_sgemm_6x16_avx2_asm". */
const char *uk_kernel_symbol(const struct uk_kernel *kernel);
/* "sgemm": a row of registry/ops.def, which says what it computes. */
const char *uk_kernel_op(const struct uk_kernel *kernel);
/* "avx2". */
const char *uk_kernel_isa(const struct uk_kernel *kernel);
/* "asm", "intrin", "c", "peachpy"; "asm_a53" where several rows differ in nothing else. */
const char *uk_kernel_impl(const struct uk_kernel *kernel);
/* "x86_64", "aarch64", "arm", ...; or "any". */
const char *uk_kernel_arch(const struct uk_kernel *kernel);
/* What it needs of the CPU, separated by commas: "avx2,fma". "" is nothing. */
const char *uk_kernel_features(const struct uk_kernel *kernel);
/* The cores, separated by commas ("cortex-a53"), that the order of its instructions is chosen for, where
 * another row has the same operation and tile for all cores; else NULL. Schedules made for such a core prefer
 * it. Other schedules take it by name only, and uk_sgemm, whose threads may run on cores of two kinds, does
 * not take it. */
const char *uk_kernel_cores(const struct uk_kernel *kernel);
/* Of its C prototype, "(int64_t k, ...)". */
const char *uk_kernel_parameters(const struct uk_kernel *kernel);
/* Its tile has mr rows and nr columns; panels are in groups of kr elements of k, one where the operation has
 * no groups. */
int uk_kernel_mr(const struct uk_kernel *kernel);
int uk_kernel_nr(const struct uk_kernel *kernel);
int uk_kernel_kr(const struct uk_kernel *kernel);
/* A tile of fewer rows or columns takes the time of one whose rows are rounded up to a multiple of row_step,
 * and whose columns are to one of column_step: MR and NR if it takes the time of a whole tile. The same
 * holds for the channels of a depthwise tile, and column_step. */
int uk_kernel_row_step(const struct uk_kernel *kernel);
int uk_kernel_column_step(const struct uk_kernel *kernel);
/* Vector instructions of the inner loop, per k iteration: per group of kr (per call, if there is no k). Where
 * it is made for cores that load halves of vectors beside FMAs, these loads are counted as other. */
double uk_kernel_fma(const struct uk_kernel *kernel);
double uk_kernel_loads(const struct uk_kernel *kernel);
double uk_kernel_other(const struct uk_kernel *kernel);

/* Which threads run one call of a kernel together: one thread (always so on CPUs), a wave (warp), or a block
 * of a GPU. */
enum uk_exec_scope { UK_EXEC_THREAD, UK_EXEC_WAVE, UK_EXEC_BLOCK };
enum uk_exec_scope uk_kernel_scope(const struct uk_kernel *kernel);
/* The address space of an operand, on GPUs: any; or the memory of all threads, of a block's threads, or of
 * one thread. Operands are counted from 0, in the order of the declaration. */
enum uk_space { UK_SPACE_GENERIC, UK_SPACE_GLOBAL, UK_SPACE_SHARED, UK_SPACE_PRIVATE };
enum uk_space uk_kernel_space(const struct uk_kernel *kernel, int operand);

/* State of the core, beside the operands, that a kernel needs while it runs. UK_STATE_TILES is the
 * configuration of x86's matrix tiles, AMX: palette 1, eight tiles of 16 rows of 64 bytes. A kernel may
 * change the tiles' contents, not the configuration.
 *
 * A program that calls such a kernel loads the state before and releases it afterwards, on the same thread,
 * around any number of calls:
 *
 *     if (uk_state_load(uk_kernel_state(kernel)) == UK_OK) {
 *         // calls of the kernel
 *         uk_state_release(uk_kernel_state(kernel));
 *     }
 */
enum uk_state { UK_STATE_NONE, UK_STATE_TILES };
enum uk_state uk_kernel_state(const struct uk_kernel *kernel);
/* Loads the state on the calling thread. UK_UNSUPPORTED: the CPU lacks it, UK_ISA hides it, or the system
 * does not permit it; nothing has changed. Linux permits tiles to a process that asks, which the first call
 * does; from then on signal frames may be larger, and sigaltstack() refuses stacks that are too small for
 * them. A permission lasts until exec, also in threads made before and in children by fork. A refusal is
 * remembered. UK_STATE_NONE: UK_OK, there is nothing to do. UK_INVALID_ARGUMENT: there is no such state. */
enum uk_status uk_state_load(enum uk_state state);
/* Releases it: the tiles are as after the start of the thread, and cost nothing at context switches. */
void uk_state_release(enum uk_state state);

/* Any kernel's function: cast it to uk_<op>_function. NULL: a kernel of another architecture than this
 * build's. */
typedef void uk_function(void);
uk_function *uk_kernel_function(const struct uk_kernel *kernel);
/* Whether the kernel is in this build, and this CPU has its features and UK_ISA does not hide them. */
bool uk_kernel_runs_here(const struct uk_kernel *kernel);
/* Writes the kernel's declaration, an `intrinsic ... end` of the .uk language, into the caller's buffer of
 * `size` bytes, and returns its length without the closing NUL, as snprintf does: if that is >= size, the
 * text was cut. */
size_t uk_kernel_declaration(const struct uk_kernel *kernel, char *buffer, size_t size);

/* ---- the CPU ----
 *
 * What this CPU can run, which the environment variable UK_ISA may restrict (UK_ISA=avx2, UK_ISA=generic),
 * and as which core products are planned for it, which UK_MACHINE may name (UK_MACHINE=zen4; the names are
 * those of `uk machine --list`). Each is read once. One value adds a feature: Linux does not report the
 * extension P of RISC-V, whose kernels are used with UK_ISA=rvp, or if the library was built for it (meson's
 * -Dcpu_has=rvp). Where the processor lacks it, the program has to emulate it (-lrvp_emulate).
 *
 *     const char *why;
 *     if (uk_cpu_status(&why))
 *         fprintf(stderr, "%s; only generic kernels run\n", why);
 *     bool fast = uk_cpu_has("avx2") && uk_cpu_has("fma");
 */

/* Whether this CPU and its system have a feature ("avx2", "fma", "avx512f", ...) and UK_ISA does not hide it.
 * */
bool uk_cpu_has(const char *feature);
/* The first feature of a list "avx2,fma" that this CPU lacks or UK_ISA hides, copied to name (cut to
 * size, which may be 0); false and "" if there is none. */
bool uk_cpu_lacks(const char *features, char *name, size_t size);
/* Whether UK_ISA and UK_MACHINE in the environment are valid: UK_OK; UK_INVALID_ARGUMENT if no such
 * instruction set or no such core exists, UK_UNSUPPORTED if this CPU lacks the set. *message is then a
 * sentence that says so, a constant of the library. With such a UK_ISA only generic kernels run, with such a
 * UK_MACHINE products are planned for the core that this CPU has; no other function reports it. With UK_OK
 * *message is "", or says whether a feature that the system does not report is used, and why. */
enum uk_status uk_cpu_status(const char **message);

/* ---- threads ----
 *
 * One pool of threads, which matrix products and generated functions share with programs:
 *
 *     // static void add_one(void *context, int64_t index, int64_t thread) { ((int *)context)[index]++; }
 *     uk_parallel_for(add_one, values, 1000); // adds 1 to each of values[0] to values[999]
 */

/* How many threads uk_parallel_for and matrix products use: what uk_set_num_threads has set, or else
 * UK_NUM_THREADS if it is a number from 1 to 1024 (any other text is ignored), or else the number of CPUs
 * that this process may run on, at most the CPU quota of its control groups, rounded up. */
int uk_num_threads(void);
/* Sets the number for later calls of all threads of the process: 1 to 1024; 0: the default again.
 * UK_INVALID_ARGUMENT: any other number, and nothing has changed. Any thread may call it at any time, also
 * while others compute: calls that have begun keep their number. No result of a matrix product depends on it.
 * Plans keep the number that they were made with. Memory that a caller has allocated for each thread, such as
 * a workspace of the size that a generated function's NAME_workspace returned, must be allocated anew when
 * the number grows. A build without threads always uses one. */
enum uk_status uk_set_num_threads(int threads);
/*
 * Runs task(context, index, thread) for each index in [0, count), in any order and in parallel, and returns
 * when all are done. `thread` is less than uk_num_threads(), and less than what uk_num_threads() last
 * returned to the calling thread, whatever others have set since; tasks of one call that run at the same time
 * have different values. The pool is made by the first call, again after fork, and by the first call with
 * another number of threads; its threads sleep between calls. Any number of threads may call at the same
 * time. Called from inside a task, or when no pool can be made because threads or memory lack, it runs the
 * tasks one after another, on thread 0.
 */
void uk_parallel_for(void (*task)(void *context, int64_t index, int64_t thread), void *context,
                     int64_t count);

/* ---- matrix products ----
 *
 *   C = alpha * op(A) * op(B) + beta * C
 *
 * as BLAS defines it. op(X) is X or its transpose, op(A) is m x k, op(B) is k x n, C is m x n. Row-major, the
 * rows of a stored matrix are `ld` elements apart; column-major, its columns are. ld is no smaller than a row
 * (a column), and no smaller than 1.
 *
 *     // 2 x 3 times 3 x 2, all row-major
 *     enum uk_status status = uk_sgemm(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 2, 2, 3, 1, a, 3, b,
 *     2, 0, c, 2);
 *
 * If beta is 0, C is written and not read: a NaN there does not matter. If alpha or k is 0, neither A nor B
 * is read. If m or n is 0, nothing is done. C must not overlap A or B; that is not checked. Memory outside of
 * the operands is neither read nor written.
 *
 * Large products are blocked and packed for the caches as in Goto and van de Geijn, "Anatomy of
 * high-performance matrix multiplication" (ACM TOMS 34, 2008), unless operands can be read in place; small
 * ones run in one or a few calls of a kernel.
 *
 * Errors: UK_INVALID_ARGUMENT is an enum out of range, or a null operand that would be read or written.
 * UK_INVALID_SIZE is a negative size, a leading dimension that is too small, or a matrix of 2^56 bytes and
 * more (2^31, where addresses have 32 bits). UK_OUT_OF_MEMORY says that the workspace could not be allocated,
 * UK_UNSUPPORTED that this build has no kernel of the type for this CPU.
 *
 * Threads: large products use those of uk_parallel_for. Element (i, j) of C is the same to the last bit
 * whatever their number, and whether an operand was packed beforehand or not. A call, and each of its tasks
 * on other threads, takes up to 16 KB of stack, if the compiler optimizes and no sanitizer is in it.
 */
enum uk_layout { UK_ROW_MAJOR, UK_COLUMN_MAJOR };
enum uk_transpose { UK_NO_TRANSPOSE, UK_TRANSPOSE };

/* The workspace, if one is needed, is kept from an earlier call or allocated. */
enum uk_status uk_sgemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, float alpha, const float *a, int64_t lda, const float *b,
                        int64_t ldb, float beta, float *c, int64_t ldc);
enum uk_status uk_dgemm(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                        int64_t n, int64_t k, double alpha, const double *a, int64_t lda, const double *b,
                        int64_t ldb, double beta, double *c, int64_t ldc);

/* ---- batches ----
 *
 * `count` products of one shape, distributed over the threads. No two of the matrices C may overlap; A and B
 * may. Errors as above; UK_INVALID_SIZE is a negative count too.
 *
 *     // ten products of 4 x 4: those of A and C follow one another, all have the same B
 *     uk_sgemm_batch_strided(UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, 4, 4, 4, 1, a, 4, 16, b, 4, 0,
 *     0, c, 4, 16, 10);
 */

/* Operands of product i are at a[i], b[i] and c[i]. */
enum uk_status uk_sgemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, float alpha, const float *const *a, int64_t lda,
                              const float *const *b, int64_t ldb, float beta, float *const *c, int64_t ldc,
                              int64_t count);
enum uk_status uk_dgemm_batch(enum uk_layout layout, enum uk_transpose ta, enum uk_transpose tb, int64_t m,
                              int64_t n, int64_t k, double alpha, const double *const *a, int64_t lda,
                              const double *const *b, int64_t ldb, double beta, double *const *c, int64_t ldc,
                              int64_t count);
/* Operands of product i are at a + i * stride_a, b + i * stride_b and c + i * stride_c; strides count
 * elements. stride_a and stride_b may be 0 or negative. stride_c must keep the matrices C apart.
 * UK_INVALID_SIZE: a matrix C begins within the first row (column-major: column) of the one before, or the
 * first and the last of the matrices A, B or C are 2^56 bytes apart. */
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

/* ---- plans ----
 *
 * A plan is a call resolved beforehand: path, kernel, blocking and threads are chosen once for a shape, and
 * products of it are computed any number of times, by any number of threads, in the caller's memory or the
 * library's:
 *
 *     struct uk_gemm_plan plan;
 *     enum uk_status status =
 *         uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, m, n, k, lda, ldb, ldc, NULL);
 *     size_t bytes = status ? 0 : uk_gemm_workspace(&plan);
 *     void *workspace = bytes ? aligned_alloc(64, (bytes + 63) / 64 * 64) : NULL;
 *     struct uk_sgemm_epilogue relu = {.flags = UK_EPILOGUE_CLAMP, .low = 0, .high = INFINITY, .column_bias =
 *     bias};
 *     if (!status)
 *         status = uk_sgemm_run(&plan, 1, a, b, 0, c, &relu, workspace); // c = max(a b + bias, 0)
 *     free(workspace);
 */

/* Types of the elements of C, in products of low precision (low_precision.h). */
enum uk_c_element {
    UK_C_DEFAULT, /* that of the function's calls without a plan */
    UK_C_I32,
    UK_C_I8,
    UK_C_U8,
    UK_C_F32,
    UK_C_F16,
    UK_C_BF16,
};

/* How a plan is to be made. Zero-initialize; all zero is what uk_sgemm does. */
struct uk_gemm_options {
    int threads; /* the most threads; 0: uk_num_threads(), 1: the caller's alone */
    /* The caller's pool (a pthreadpool_t), whose number of threads bounds `threads`; NULL: the library's. The
     * plan waits for other threads that use the pool. A task of the pool itself must not run the plan:
     * pthreadpool would wait for the loop that the task belongs to. Make plans for tasks with threads = 1. */
    struct pthreadpool *pool;
    bool a_packed, b_packed; /* uk_sgemm_run gets what uk_sgemm_pack_a, _b wrote */
    /* The plan of another machine, a core as `uk machine --list` names it, with the caches and the
     * instruction set of its row; NULL: of this one. It says what is done there, by uk_gemm_explain, and
     * cannot be run: UK_INVALID_ARGUMENT. */
    const char *machine;
    enum uk_c_element c_element; /* of C; other products than those of low precision: UK_C_DEFAULT */
    bool f16_sums;               /* uk_hgemm_plan: sums are of f16, rounded at each step, not of f32 */
};

/* Made by uk_sgemm_plan or uk_dgemm_plan. It may be copied, owns no memory, and need not be freed. Its
 * contents are private to the library; the size leaves room for what later versions need. */
struct uk_gemm_plan {
    unsigned char opaque[1280] __attribute__((aligned(16)));
};

/* options may be NULL: all zero. On failure *plan is not written. */
enum uk_status uk_sgemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options);
enum uk_status uk_dgemm_plan(struct uk_gemm_plan *plan, enum uk_layout layout, enum uk_transpose ta,
                             enum uk_transpose tb, int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
                             int64_t ldc, const struct uk_gemm_options *options);

/* What is done to each element of C last, while its tile is in L1:
 *
 *   c = min(max(scale * c + row_bias[i] + column_bias[j], low), high)
 *
 * i and j are the row and column of C in the caller's layout. Zero-initialize: what has no flag and no
 * pointer is not done. A scale of 0 is as a beta of 0: the product and C are not read, and every element
 * becomes its biases, clamped, also where it would have been NaN. Otherwise a NaN is kept. */
enum uk_epilogue_flag {
    UK_EPILOGUE_SCALE = 1, /* multiplies by scale */
    UK_EPILOGUE_CLAMP = 2, /* to [low, high]; relu: 0 and INFINITY */
    /* adds `residual`; of convolutions, since a product's beta adds C */
    UK_EPILOGUE_RESIDUAL = 4,
};
struct uk_sgemm_epilogue {
    unsigned flags;           /* the flags of what is done, or 0 */
    float scale;              /* 0 without its flag */
    float low, high;          /* both 0 without their flag */
    const float *row_bias;    /* m elements, or NULL */
    const float *column_bias; /* n elements, or NULL */
    const float *residual;    /* read with its flag only */
};
struct uk_dgemm_epilogue {
    unsigned flags;
    double scale;
    double low, high;
    const double *row_bias;
    const double *column_bias;
};

/* The bytes of workspace that uk_sgemm_run and uk_dgemm_run need for this plan; 0: none. */
size_t uk_gemm_workspace(const struct uk_gemm_plan *plan);
/* Computes the plan's product, in the sense above. epilogue may be NULL. workspace is uk_gemm_workspace(plan)
 * bytes aligned to 64, used by one call at a time: nothing is allocated then. If it is NULL, the call takes
 * memory that an earlier one kept, or allocates. UK_INVALID_ARGUMENT: the plan is of the other type, or was
 * not made; the epilogue has an unknown flag, or a scale or bounds without their flag. The plan may not be
 * NULL, which alone is not looked at: a small product takes ten cycles. */
enum uk_status uk_sgemm_run(const struct uk_gemm_plan *plan, float alpha, const float *a, const float *b,
                            float beta, float *c, const struct uk_sgemm_epilogue *epilogue, void *workspace);
enum uk_status uk_dgemm_run(const struct uk_gemm_plan *plan, double alpha, const double *a, const double *b,
                            double beta, double *c, const struct uk_dgemm_epilogue *epilogue,
                            void *workspace);

/* Products that are given no workspace keep theirs for the next calls: at most 8 blocks, none above 64 MiB,
 * and no more than calls have run at once. This frees those that no call is using; so does the end of the
 * process. Any thread may call it at any time. */
void uk_release_memory(void);

/* ---- packing beforehand ----
 *
 * An operand that many products share is packed once, with a plan. Plans with a_packed or b_packed set then
 * take what was packed in its place, as often and from as many threads as one likes:
 *
 *     struct uk_gemm_plan plan;
 *     struct uk_gemm_options options = {.b_packed = true};
 *     uk_sgemm_plan(&plan, UK_ROW_MAJOR, UK_NO_TRANSPOSE, UK_NO_TRANSPOSE, m, n, k, k, n, n, &options);
 *     float *packed = (float *)aligned_alloc(64, (uk_gemm_packed_b_size(&plan) + 63) / 64 * 64);
 *     if (packed && !uk_sgemm_pack_b(&plan, b, packed))
 *         uk_sgemm_run(&plan, 1, a, packed, 0, c, NULL, NULL);
 *     free(packed);
 *
 * A packed operand is for plans of the same type, layout, ta, tb, m, n, k, lda, ldb and ldc; their options
 * may differ. `packed` is the caller's memory, of as many bytes as these functions return, and is best
 * aligned to 64. 0 bytes: the operand is not read. SIZE_MAX: it is more than 32-bit addresses reach. The
 * layout of packed operands may change between versions: do not store them. */
size_t uk_gemm_packed_a_size(const struct uk_gemm_plan *plan);
size_t uk_gemm_packed_b_size(const struct uk_gemm_plan *plan);
enum uk_status uk_sgemm_pack_a(const struct uk_gemm_plan *plan, const float *a, float *packed);
enum uk_status uk_sgemm_pack_b(const struct uk_gemm_plan *plan, const float *b, float *packed);
enum uk_status uk_dgemm_pack_a(const struct uk_gemm_plan *plan, const double *a, double *packed);
enum uk_status uk_dgemm_pack_b(const struct uk_gemm_plan *plan, const double *b, double *packed);

/* Writes in English which path, kernel, blocking and threads a plan takes, line by line, into the caller's
 * buffer of `size` bytes, and returns the length without the closing NUL, as snprintf does: if that is >=
 * size, the text was cut. */
size_t uk_gemm_explain(const struct uk_gemm_plan *plan, char *buffer, size_t size);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif

/* Convolutions; products of bytes, bf16 and f16, and with weights of 4 and 8 bits. */
#include "convolutions.h"
#include "low_precision.h"
#include "weights.h"

#endif
