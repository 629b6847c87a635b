/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room verify: compares kernels with their declarations, one form of one intrinsic at a time, in a child
 * process. It uses link and interpret. Data: struct uk_verifier (the form under test), uk_memory (an
 * operand).
 *
 * Words:
 *
 *     intrinsic  a microkernel with its declaration (struct uk_intrinsic)
 *     form       one of an intrinsic's functions: compute, reset, update
 *     case       one call with chosen sizes and operands, and its comparison with the interpreter
 *     edge       an extent that the declaration's assumptions bound from above, such as `I <= 14`
 *     far        said of an extent without such a bound: it is beyond 16 bits in this case
 *     span       a range of accessible pages of an operand
 *     copies     of an operand: its bytes before the call, and the bytes expected after it
 */
#ifndef UK_VERIFY_H
#define UK_VERIFY_H

#include <stdatomic.h>
#include <sys/types.h>
#include "abi.h"
#include "link/link.h"
#include "interpret/interpret.h"

enum {
    UK_VERIFY_CASES = 500,
    /* Limit for the sum of a case's operands plus the largest of them again: while the signs of strides
       change, an operand exists twice (uk_memory_mirror). */
    UK_VERIFY_BYTES = 1 << 30,
    UK_VERIFY_SECONDS = 60,           /* limit of CPU time for a call */
    UK_VERIFY_WALL_CLOCK_FACTOR = 20, /* limit of wall-clock time in multiples of that: a call may wait, and
                                other processes may have the CPU */
    UK_VERIFY_WORDS = 32,             /* maximum number of arguments of a form */
    UK_VERIFY_TENSORS = 16,           /* maximum number of operands of a declaration */
    UK_VERIFY_NONZERO_TERMS = 8,      /* terms that are not 0 in a sum that is too long to be exact */
    UK_VERIFY_REDUCED = 8,            /* maximum number of iterators of such a sum */
    UK_VERIFY_REGISTERS = 512,        /* maximum number of elements of an operand in a thread's registers */
    UK_VERIFY_DEVICE_CASES = 100, /* cases on a GPU; each is run by a block of threads, with several tiles */
    UK_VERIFY_CANARY = 0xca       /* content of the accessible bytes that belong to no element */
};

/* The position of an operand in its accessible pages, which lie between inaccessible ones. All satisfy the
 * declared alignment. */
enum uk_placement {
    UK_AT_END,            /* the last element ends before the inaccessible page, or closely before it */
    UK_AT_START,          /* the first element begins after the inaccessible page, or closely after it */
    UK_NO_BETTER_ALIGNED, /* the origin is at an odd multiple of the declared alignment */
    UK_PLACEMENTS
};

/* `at` and `length` are in bytes, from the begin of the operand's address range. `copy_offset` is the offset
 * of these bytes in the copies, which hold all spans one after the other. */
struct uk_span {
    size_t at, length, copy_offset;
};

struct uk_memory {
    const struct uk_tensor *tensor;
    unsigned char *space; /* begin of its address range, in which only the spans are accessible */
    size_t reserved;      /* length of the range in bytes */
    unsigned char *origin;
    int64_t lowest;   /* lowest readable element, counted from the origin: 0, or negative if strides are */
    int64_t elements; /* number of elements from the lowest to the highest readable one */
    enum uk_placement placement;
    struct uk_span *span; /* in the order of addresses */
    int spans, room;      /* number of spans; number that the array has memory for */
    int mapped;           /* number of spans that are mapped */
    /* The range is too wide to be reserved as a whole: only the spans are mapped, the addresses between them
     * are free. */
    bool is_far;
    size_t copy_bytes;                /* length of each copy in bytes: the sum of all spans */
    unsigned char *before, *expected; /* the copies; NULL in large cases */
};

/* The current call, or the last one. */
struct uk_call {
    atomic_uint number; /* odd while a call runs */
    pid_t process;      /* where it runs */
    int64_t before;     /* CPU time of that process before the call, in ns; -1: unknown */
};

/* The child's report to its parent; the child may crash in the middle of a case. */
struct uk_verdict {
    struct uk_call call;
    enum { UK_RUNNING, UK_GOOD, UK_WRONG, UK_FAULTED, UK_GAVE_UP } state;
    int cases;                  /* number of cases that were run */
    char where[512], what[512]; /* the case; and the error, or the reason for giving up */
    enum uk_status status;      /* of UK_GAVE_UP */
    int signal;                 /* of UK_FAULTED, as the next three */
    bool is_write, is_address;  /* the access was a write; `address` is that of a faulting access */
    uintptr_t address;
    int operands;
    struct uk_range {
        const char *name;
        uintptr_t space, space_end, origin, end; /* addresses: of its range, and of its elements */
    } operand[UK_VERIFY_TENSORS];
};

/* The values of operands. They are chosen so that there is one right result: every sum is exact in the
 * declared type, in any order of its terms (or infinite or NaN, in UK_SPECIAL); UK_ROUNDED says how it
 * ensures this. With the kinds of many bits, a sum that a kernel computes in a narrower type would be
 * inexact. */
enum uk_data_kind {
    UK_SMALL,     /* small integers */
    UK_LARGE,     /* as many bits as an exact sum allows, spread over all operands */
    UK_ONE_LARGE, /* floats: as many bits as an exact sum allows in one operand, one bit in the others */
    UK_EXTREME,   /* integers: nearly all elements of an operand are the minimum or the maximum of the type */
    UK_TINY,      /* floats: products are subnormal numbers */
    UK_SPECIAL,   /* floats: some are infinite or NaN */
    UK_ROUNDED /* floats whose operations round, also at ties; a sum has so few terms that are not 0 that it
                  rounds once, in any order */
};

/* A float type: bits of the significand; and the exponents of the smallest subnormal number, the smallest
 * normal one, and the largest one. */
struct uk_format {
    int digits, min_subnormal, min_normal, max_exponent;
};

/* The set of values of an operand: ± an integer of at most `bits` bits, times 2^exponent; the exponent is 0
 * for integer types. */
struct uk_scale {
    enum uk_type type;
    int bits, exponent;
};

/* The code of kernels for a GPU, and its runner. */
struct uk_device_code {
    const struct uk_target *target;
    const struct uk_verify_runner *runner;
    char *image; /* a code object */
    size_t bytes;
};

/* The places of an operand's elements in the registers of a wave's lanes. */
struct uk_lane_map {
    const struct uk_map *layout; /* NULL: the operand is not spread over lanes */
    int64_t elements;            /* of each lane */
    int64_t stride[UK_MAX_DIMS]; /* of the layout's indices in a lane's registers */
};

struct uk_verifier {
    struct uk_context *context;
    struct uk_intrinsic *intrinsic;
    int index; /* number of the intrinsic in the object, from 0 */
    enum uk_form_kind form;
    void (*call)(void);                  /* the form's function, to be cast to its prototype */
    char *const *argv;                   /* the command that runs the kernel in another process, or NULL */
    struct uk_remote *remote;            /* the process that it started */
    const struct uk_device_code *device; /* or NULL */
    struct uk_verdict *verdict;          /* shared with the parent */
    uint64_t seed;
    /* The plan (case.c): first cases with combinations of edges, then cases with far extents, then cases with
     * random sizes. */
    int cases;     /* total number of cases; before uk_verify_plan the number of random ones */
    int edges;     /* number of cases with combinations of edges; not all of them if there are too many */
    int far_sizes; /* number of extents that are no edges, and can be far */
    /* Far extents are reduced if the operands are too large. Of two that are far together one may stay far:
     * 0: the first; 1: the second; 2: neither. */
    int stays_far;
    int failed_attempts; /* number of attempts at this case so far, if it is a far one, that could not be run
                          */
    int64_t all_edges;   /* number of combinations of edges, each with odd and with even other sizes */
    bool is_large;       /* this case is so large that only a sample of its elements is compared (large.c) */
    int number;          /* number of this case, from 0 */
    int64_t *size;       /* sizes of this case, by number */
    bool *negative;      /* by number of the size: a stride that becomes negative for the call */
    double *scalar;
    /* The contents of operands (value.c, element.c). */
    enum uk_data_kind data;
    int scales; /* number of scales: of the tensors, then of the scalars */
    struct uk_scale scale[UK_VERIFY_TENSORS + UK_VERIFY_WORDS];
    int64_t extreme[UK_VERIFY_TENSORS]; /* UK_EXTREME: 0: most elements are the minimum; 1: the maximum */
    int special;                        /* UK_SPECIAL: 0: inf; 1: -inf; 2: NaN; 3: all of them */
    uint64_t one_in;                    /* UK_SPECIAL: one element in this many is special; 0: a few are */
    /* If nonzero_terms is not 0, all but that many terms of each sum are 0: the elements of tensor number
     * nonzero_tensor are 0 except where the reduced iterators have the values nonzero_at[i], i <
     * nonzero_terms. nonzero_dim: the tensor's dimension that each reduced iterator indexes. */
    int nonzero_terms, nonzero_tensor;
    int nonzero_dim[UK_VERIFY_REDUCED];
    int64_t nonzero_at[UK_VERIFY_NONZERO_TERMS][UK_VERIFY_REDUCED];
    /* left_is_zero: UK_ROUNDED: the elements of the output are 0 before the call. is_long: the sum has so
     * many terms that factors are only 1 or -1. */
    bool left_is_zero, is_long;
    bool has_small_exponents, keeps_normal; /* UK_ROUNDED: exponents are small; no number is subnormal */
    enum uk_type narrowest; /* UK_ROUNDED: the float type with the fewest exponents that is computed in */
    int budget; /* a reduction by product, of floats: bits that its factors may still use in all */
    int tensors;
    struct uk_memory memory[UK_VERIFY_TENSORS];
    struct uk_lane_map spread[UK_VERIFY_TENSORS];
};

/* ---- code.c ---- */

/* Compiles all forms of the `count` intrinsics into one object. In it, for each form, a function
 * uk.verify.I.F (numbers of the intrinsic and of the form, from 0) has the form's prototype and only jumps to
 * the kernel; uk_verify_find gives its address. asm_found: count * UK_FORMS empty texts that uk_verify_asm
 * fills; the caller frees them in any case. */
enum uk_status uk_verify_compile(struct uk_program *p, const struct uk_target *t,
                                 struct uk_intrinsic *const *list, int count, LLVMMemoryBufferRef *object,
                                 struct uk_text *asm_found);
enum uk_status uk_verify_find(struct uk_context *c, LLVMOrcLLJITRef jit, int intrinsic,
                              enum uk_form_kind form, void (**call)(void));

/* The name uk.verify.I.F; NULL: no memory. */
char *uk_verify_call_name(struct uk_arena *a, int intrinsic, int form);
/* Declares the kernel of a form in the module; NULL after a failure. */
LLVMValueRef uk_verify_declare(struct uk_build *b, const struct uk_intrinsic *i, const struct uk_form *form,
                               struct uk_arena *a);
/* Calls uk_verify_asm for all forms; found[intrinsic * UK_FORMS + form] gets the result. */
enum uk_status uk_verify_check_asm(struct uk_build *b, struct uk_text *found);

/* ---- device_code.c ---- */

/* uk_verify_compile for a GPU: each form is inlined into a GPU kernel, an entry function that one block of
 * threads runs. *image is a code object; the caller frees it. */
enum uk_status uk_verify_compile_device(struct uk_program *p, const struct uk_target *t,
                                        struct uk_intrinsic *const *list, int count, char **image,
                                        size_t *bytes, struct uk_text *asm_found);
/* The size, in bytes, of the units in which shared memory is copied: the smallest element in it, at most 4.
 */
size_t uk_verify_unit(const struct uk_intrinsic *i);
/* The number of elements of a tensor in registers; 0: it exceeds UK_VERIFY_REGISTERS, or is not constant. */
int64_t uk_verify_registers(const struct uk_intrinsic *i, const struct uk_tensor *t);

/* ---- device.c ---- */

/* Runs a case, with sizes already chosen, on the GPU. False: the result is wrong, or the case cannot be run;
 * the verdict says which. */
bool uk_verify_device_case(struct uk_verifier *v);
/* True if shared memory has room for one tile of each operand. */
bool uk_verify_device_fits(struct uk_verifier *v);

/* ---- wave.c: kernels of a whole wave ---- */

/* Refuses a kernel of a scope that cannot be verified for the target; and a layout that does not map the
 * elements of an operand one to one to the registers of a wave's lanes. */
enum uk_status uk_verify_check_scope(struct uk_context *c, const struct uk_target *target,
                                     const struct uk_intrinsic *i);
/* Called in the child, once: moves the layouts over lanes to v->spread, so that the declaration has tiles
 * stored by rows in their place. False: no memory. */
bool uk_verify_join_lanes(struct uk_verifier *v);
/* The number of threads that call the kernel together: 1, or the lanes of a wave. */
int uk_verify_lanes(const struct uk_verifier *v);
/* uk_memory_exchange for an operand that is spread over lanes: `image` has the registers of one lane after
 * the other. */
void uk_verify_exchange_lanes(struct uk_verifier *v, int n, unsigned char *image, unsigned char *mask,
                              bool back);
/* Writes the lane and register of an element of operand n; nothing if it is not spread. Returns the length of
 * that text. */
int uk_verify_put_lane(const struct uk_verifier *v, int n, const int64_t *index, char *text, size_t room);

/* ---- asm/asm.c ---- */

/* Finds the first register that an asm statement of the function `symbol`, or of one that it calls, changes
 * without declaring it, and adds a sentence about it to *found; adds nothing if there is none. */
enum uk_status uk_verify_asm(LLVMModuleRef module, const char *symbol, struct uk_text *found);

/* ---- case.c ---- */

/* Sets the numbers of cases; `random` of them have random sizes. */
void uk_verify_plan(struct uk_verifier *v, int random);
/* Chooses sizes, scales and scalars of the next case. False: found none that fulfil the assumptions. */
bool uk_verify_choose(struct uk_verifier *v);
/* True if the case, which could not be run, is to be tried with other sizes; counts the attempt. */
bool uk_verify_should_retry(struct uk_verifier *v);
/* Sets the arguments of the form's call. */
void uk_verify_set_arguments(struct uk_verifier *v, struct abi_value value[UK_VERIFY_WORDS]);

/* ---- size.c ---- */

/* A random number in 0..n - 1. */
uint64_t uk_verify_random(struct uk_verifier *v, uint64_t n);
/* The bounds, inclusive, that assumptions such as `var <= c` and `c <= var` give; without them *min is 0 and
 * *max INT64_MAX. */
void uk_verify_bounds(const struct uk_verifier *v, const struct uk_var *var, int64_t *min, int64_t *max);
/* The value of a size in this case; for uk_index_eval. */
int64_t uk_verify_size(const struct uk_var *var, void *verifier);
/* The value of an expression over sizes in this case; -1: it overflows. */
int64_t uk_verify_value(struct uk_verifier *v, const struct uk_index *e);

/* ---- stride.c ---- */

/* Chooses the sizes that are used in strides only, so that the rows of no tensor overlap. edges: in this case
 * each row often gets pages of its own. */
void uk_verify_choose_strides(struct uk_verifier *v, bool edges);
/* Reduces strides in some cases, so that rows of tensors that are only read overlap. */
void uk_verify_overlap_rows(struct uk_verifier *v);
bool uk_verify_rows_disjoint(struct uk_verifier *v, const struct uk_tensor *t);
/* True if all arguments of the form that pass the size can hold its value. */
bool uk_verify_fits(const struct uk_verifier *v, const struct uk_var *var);
/* True if the sizes of this case fulfil the declaration's assumptions. */
bool uk_verify_assumptions_hold(struct uk_verifier *v);
/* Chooses the strides that are negative in the call (uk_verifier.negative); most cases have none. */
void uk_verify_choose_signs(struct uk_verifier *v);
/* Changes the sign of these strides: makes them negative, or positive again. */
void uk_verify_negate(struct uk_verifier *v);

/* ---- value.c ---- */

/* Chooses the kind of data, and the scales of operands and scalars. False: no kind has one right result with
 * these sizes. */
bool uk_verify_choose_magnitudes(struct uk_verifier *v);
extern const struct uk_format uk_formats[]; /* by enum uk_type; float types only */
/* True for f16 and bf16. */
bool uk_verify_is_half(enum uk_type t);
/* True if t is the tensor that the declaration computes, and this form reads its elements. Tensors that
 * earlier statements of the declaration fill do not count: they are written before they are read. */
bool uk_verify_reads_output(const struct uk_verifier *v, const struct uk_tensor *t);

/* ---- element.c ---- */

/* Draws the element of tensor number n at `index`. index NULL: draws a value for any position; n may then be
 * the number of tensors plus the number of a scalar. */
union uk_value uk_verify_element(struct uk_verifier *v, int n, const int64_t *index);
/* Makes all terms of the sum 0 except `count` of them, by zeros in one tensor (uk_verifier.nonzero_terms).
 * False: no tensor's zeros do that. */
bool uk_verify_keep_terms(struct uk_verifier *v, int count);
/* True if e calls an approximate function, whose results are not specified to the last bit. */
bool uk_verify_is_inexact(const struct uk_expr *e);
/* True if `got` is an acceptable value of an element of the tensor for which `expected` was computed. */
bool uk_verify_is_acceptable(const struct uk_verifier *v, const struct uk_tensor *t, union uk_value got,
                             union uk_value expected);

/* ---- box.c ---- */

/* An iteration over the elements of a tensor, the last dimension fastest. */
struct uk_box {
    struct uk_verifier *v;
    const struct uk_tensor *tensor;
    bool logical; /* over the elements of its shape; else over all stored ones, padding included */
    int dims;
    int64_t extent[UK_MAX_DIMS], index[UK_MAX_DIMS];
    int64_t stride[UK_MAX_DIMS]; /* of the stored dimensions */
};
/* False: there are no elements. */
bool uk_box_begin(struct uk_box *b, struct uk_verifier *v, const struct uk_tensor *t, bool logical);
/* False: the current element was the last one. */
bool uk_box_advance(struct uk_box *b);
/* Elements from the tensor's origin to the current one. */
int64_t uk_box_offset(struct uk_box *b);

/* ---- large.c: large cases, of which a sample of the elements is compared ---- */

/* True if the form may have such cases. */
bool uk_verify_has_large(const struct uk_verifier *v);
/* True if all subscripts are inside their tensors with these sizes. */
bool uk_verify_is_inside(struct uk_verifier *v);
struct uk_points;
/* Draws the points of the sample, after the operands have been made. False: no memory; uk_large_end has to
 * be called in any case. */
bool uk_large_draw(struct uk_verifier *v, struct uk_points *points);
/* True if these elements, and all bytes between elements, are as expected after the call; else verdict->what
 * describes the difference. Overwrites the elements. */
bool uk_large_compare(struct uk_verifier *v, const struct uk_points *points);
void uk_large_end(struct uk_points *points);
/* Fills operand n of a large case. False: no memory. */
bool uk_memory_fill_rows(struct uk_verifier *v, int n);

/* ---- memory.c ---- */

/* True if all operands fit into UK_VERIFY_BYTES, with the sizes of this case. */
bool uk_memory_fits(struct uk_verifier *v);
/* Creates and fills the operands for these sizes. False: no memory. */
bool uk_memory_make(struct uk_verifier *v);
void uk_memory_free(struct uk_verifier *v);
/* Copies all operands to their `expected`, or to `before` if the argument is false. */
void uk_memory_save(struct uk_verifier *v, bool expected);
/* Copies `before` back to the operands. */
void uk_memory_restore(struct uk_verifier *v);
/* After uk_verify_negate: replaces the operands, and their copies, by ones with the same elements at the
 * places that the new strides give. False: no memory. */
bool uk_memory_mirror(struct uk_verifier *v);
/* Copies all elements of operand n to `image`, which has its bytes from the lowest element on, or back from
 * there. Sets the bytes of `mask`, unless it is NULL, that belong to elements to 1. */
void uk_memory_exchange(struct uk_verifier *v, int n, unsigned char *image, unsigned char *mask, bool back);
/* Makes the operands that the kernel only reads writable, or write-protected if the argument is false. */
void uk_memory_protect(struct uk_verifier *v, bool writable);
/* If the address is in an operand that is only read, verdict->what names the element that a write to it
 * changes. */
void uk_memory_describe_write(struct uk_verifier *v, const void *address);
/* A value for elements that must not affect results: NaN, or a random integer. */
union uk_value uk_memory_poison(struct uk_verifier *v, enum uk_type t);
/* Fills all accessible bytes of an operand with UK_VERIFY_CANARY. */
void uk_memory_fill_with_canaries(struct uk_memory *m);
/* To be called for a byte that differs. False: its element's value is acceptable all the same. True:
 * describes the difference in verdict->what. */
bool uk_memory_differs(struct uk_verifier *v, struct uk_memory *m, const unsigned char *got_byte,
                       const unsigned char *expected);
/* True if all operands are as expected; else verdict->what describes the first difference. */
bool uk_memory_compare(struct uk_verifier *v);

/* ---- wait.c ---- */

/* The child records the begin of a call, with the process in which it runs, and its end. */
void uk_verify_begin_call(struct uk_verifier *v, pid_t process);
void uk_verify_end_call(struct uk_verifier *v);
/* The parent waits for the child, and kills it if a call takes more than `seconds` of CPU time, or
 * UK_VERIFY_WALL_CLOCK_FACTOR times as long by the clock. *result: the child's, as from waitpid. */
enum uk_verify_end {
    UK_VERIFY_ENDED,    /* by itself */
    UK_VERIFY_TOO_LONG, /* killed: the call exceeded its limit of CPU time */
    UK_VERIFY_STUCK     /* killed: the call exceeded its limit of wall-clock time */
} uk_verify_wait(pid_t child, struct uk_call *call, int seconds, int *result);

/* ---- remote.c: kernels of another architecture, in a process that the caller's command starts ---- */

extern const char uk_verify_guest_aarch64[], uk_verify_guest_riscv64[], uk_verify_guest_x86_64[];
/* True if there is a source of that process for the architecture. */
bool uk_verify_has_guest(const char *arch);
/* Appends that process's C source, with a table of the intrinsics' forms. */
enum uk_status uk_verify_guest_source(struct uk_context *c, const char *arch,
                                      struct uk_intrinsic *const *list, int count, struct uk_text *out);
/* Starts that process; called in the child. */
bool uk_remote_start(struct uk_verifier *v);
/* Calls the form there. */
enum uk_remote_result {
    UK_REMOTE_GOOD,
    UK_REMOTE_WRONG,  /* verdict->what describes the error */
    UK_REMOTE_NO_ROOM /* that process has no free addresses for the operands */
} uk_remote_call(struct uk_verifier *v, const struct abi_value *value);

/* ---- run.c ---- */

/* Writes the sizes and scalars of the case to verdict->where; returns the length of that text. */
size_t uk_verify_describe(struct uk_verifier *v);
/* Records why the case cannot be run, as the state UK_GAVE_UP; returns false. */
bool uk_verify_give_up(struct uk_verifier *v, enum uk_status status, const char *what);
/* Computes the form by the interpreter, in the operands themselves. */
enum uk_status uk_verify_interpret(struct uk_verifier *v);
/* True if the call has a negative stride. */
bool uk_verify_has_negative(const struct uk_verifier *v);
/* Runs all cases; called in the child. The verdict is set when it returns. */
void uk_verify_run(struct uk_verifier *v);

#endif
