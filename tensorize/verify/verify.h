/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room verify: compares kernels with their declarations, one form of one intrinsic at a time, in a child
 * process. It uses link and interpret. Data: struct uk_verifier (the form under test), uk_memory (an
 * operand).
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
    UK_VERIFY_BYTES =
        1
        << 30, /* limit for all operands of a case; if strides change their sign one of them is there twice */
    UK_VERIFY_SECONDS = 60,       /* limit of CPU time for a call */
    UK_VERIFY_PATIENCE = 20,      /* limit of wall-clock time in multiples of that: a call may wait, and other
                                     processes may have the CPU */
    UK_VERIFY_WORDS = 32,         /* maximum number of arguments of a form */
    UK_VERIFY_TENSORS = 16,       /* maximum number of operands of a declaration */
    UK_VERIFY_KEPT = 8,           /* number of terms that are not 0 in a sum that is too long to be exact */
    UK_VERIFY_REDUCED = 8,        /* maximum number of iterators of such a sum */
    UK_VERIFY_REGISTERS = 512,    /* maximum number of elements of an operand in a thread's registers */
    UK_VERIFY_DEVICE_CASES = 100, /* each has several tiles, and a block of threads */
    UK_VERIFY_CANARY = 0xca
};

/* The position of an operand between its two inaccessible pages. */
enum uk_placement { UK_AT_END, UK_AT_START, UK_NO_BETTER_ALIGNED, UK_PLACEMENTS };

/* Accessible bytes: `at` in the operand's address space, `kept` in its copies. */
struct uk_span {
    size_t at, length, kept;
};

struct uk_memory {
    const struct uk_tensor *tensor;
    unsigned char *space; /* address space; only the spans are accessible */
    size_t reserved;
    unsigned char *origin;
    int64_t lowest;   /* lowest readable element, counted from the origin: 0, or negative if strides are */
    int64_t elements; /* number of elements from the lowest to the highest readable one */
    enum uk_placement placement;
    struct uk_span *span;
    int spans, room;
    int mapped;  /* number of spans that are mapped */
    bool is_far; /* only the spans are reserved */
    size_t kept;
    unsigned char *before, *expected;
};

/* The current call, or the last one. */
struct uk_call {
    atomic_uint number; /* odd while it runs */
    pid_t process;      /* the process that it runs in, and that process's CPU time in ns before the call */
    int64_t before;
};

/* The child's report to its parent; the child may crash in the middle of a case. */
struct uk_verdict {
    struct uk_call call;
    enum { UK_RUNNING, UK_GOOD, UK_WRONG, UK_FAULTED, UK_GAVE_UP } state;
    int cases;
    char where[512], what[512]; /* the case; and the error, or the reason for giving up */
    enum uk_status status;      /* of UK_GAVE_UP */
    int signal;
    bool is_write, is_address; /* of UK_FAULTED; is_address: `address` is the faulting one */
    uintptr_t address;
    int operands;
    struct uk_range {
        const char *name;
        uintptr_t space, space_end, origin, end;
    } operand[UK_VERIFY_TENSORS];
};

/* The values of operands. Except for UK_ROUNDED, sums are exact in the declared type in any order, and
 * inexact in a narrower type if the declared one has enough bits. */
enum uk_data_kind {
    UK_SMALL,     /* small integers */
    UK_LARGE,     /* as many bits as the sums allow, the same for all operands */
    UK_ONE_LARGE, /* all bits of the type in one operand, one bit in the others */
    UK_EXTREME,   /* integers: nearly all elements of an operand are the minimum or the maximum of the type */
    UK_TINY,      /* floats: products are subnormal numbers */
    UK_SPECIAL,   /* floats: some are infinite or NaN */
    UK_ROUNDED /* floats whose operations round, also at ties; a sum has so few terms that only one addition
                  rounds */
};

/* A float type: bits of the significand, and the exponents of the least subnormal, the least normal and the
 * largest number. */
struct uk_format {
    int digits, min_subnormal, min_normal, max_exponent;
};

/* Values are ± an integer of `bits` bits, times 2^exponent; the exponent is 0 for integer types. */
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

struct uk_verifier {
    struct uk_context *context;
    struct uk_intrinsic *intrinsic;
    int index; /* index of the intrinsic in the object */
    enum uk_form_kind form;
    void (*call)(void);
    char *const *argv;                   /* the command that runs the kernel in another process, or NULL */
    struct uk_remote *remote;            /* the process that it started */
    const struct uk_device_code *device; /* or NULL */
    struct uk_verdict *verdict;          /* shared with the parent */
    uint64_t seed;
    int cases;     /* total number; cases of edges come first */
    int edges;     /* number of cases with combinations of edges */
    int far_sizes; /* number of extents without an upper bound: after the edges there are cases in which they
                      are large */
    int stays_far; /* if two extents are to be large together: which one, the first or the second, stays
                      beyond 16 bits; 2: neither */
    int again;     /* number of attempts at such a case that could not be run */
    int64_t all_edges; /* number of combinations of edges */
    bool is_large;     /* this case is so large that only a sample of its elements is compared */
    int number;        /* number of this case */
    int64_t *size;     /* sizes of this case, by number */
    bool *negative;    /* the strides that become negative for the call */
    double *scalar;
    enum uk_data_kind data;
    int scales; /* number of scales: of the tensors, then of the scalars */
    struct uk_scale scale[UK_VERIFY_TENSORS + UK_VERIFY_WORDS];
    int64_t extreme[UK_VERIFY_TENSORS]; /* UK_EXTREME: 0: most elements are the minimum; 1: the maximum */
    int special;                        /* UK_SPECIAL: inf, -inf or NaN; 3: all of them */
    uint64_t one_in;                    /* UK_SPECIAL: one element in this many is special; 0: a few are */
    int kept, kept_tensor; /* If not 0: the elements of tensor kept_tensor are 0 except at this number of
                              points of the reduced iterators. */
    int kept_dim[UK_VERIFY_REDUCED]; /* the tensor's dimension of each of these iterators */
    int64_t kept_at[UK_VERIFY_KEPT][UK_VERIFY_REDUCED];
    bool left_is_zero, is_long;
    bool has_small_exponents, keeps_normal; /* UK_ROUNDED: exponents are small; no number is subnormal */
    enum uk_type narrowest; /* UK_ROUNDED: the narrowest float type that the declaration computes in */
    int budget;             /* bits that the factors of a product may still use */
    int tensors;
    struct uk_memory memory[UK_VERIFY_TENSORS];
};

/* code.c: compiles every form to one object. uk.verify.<intrinsic>.<form> is a function with the
 * prototype of the form that jumps to it; uk_verify_find gives its address. uk_verify_asm fills asm_found,
 * which has count * UK_FORMS empty texts; the caller frees them in any case. */
enum uk_status uk_verify_compile(struct uk_program *p, const struct uk_target *t,
                                 struct uk_intrinsic *const *list, int count, LLVMMemoryBufferRef *object,
                                 struct uk_text *asm_found);
enum uk_status uk_verify_find(struct uk_context *c, LLVMOrcLLJITRef jit, int intrinsic,
                              enum uk_form_kind form, void (**call)(void));

/* The name of that function; the declaration of the kernel, NULL after a failure; the results of
 * uk_verify_asm for each form. */
char *uk_verify_call_name(struct uk_arena *a, int intrinsic, int form);
LLVMValueRef uk_verify_declare(struct uk_build *b, const struct uk_intrinsic *i, const struct uk_form *form,
                               struct uk_arena *a);
enum uk_status uk_verify_check_asm(struct uk_build *b, struct uk_text *found);

/* device_code.c: the same for a GPU. Each form is inlined into a kernel of one block; `image` is a
 * code object, to be freed by the caller. */
enum uk_status uk_verify_compile_device(struct uk_program *p, const struct uk_target *t,
                                        struct uk_intrinsic *const *list, int count, char **image,
                                        size_t *bytes, struct uk_text *asm_found);
/* uk_verify_unit: the bytes in which shared memory is copied. uk_verify_registers: the number of elements of
 * a tensor in registers; 0: it is too large, or not constant. */
size_t uk_verify_unit(const struct uk_intrinsic *i);
int64_t uk_verify_registers(const struct uk_intrinsic *i, const struct uk_tensor *t);

/* device.c: runs a case, with sizes already chosen, on the device. False: the result is wrong, or the
 * case cannot be run. */
bool uk_verify_device_case(struct uk_verifier *v);
/* True if shared memory has room for one tile of each operand. */
bool uk_verify_device_fits(struct uk_verifier *v);

/* asm/asm.c: the first register that an asm statement of the function, or of one that it calls,
 * changes without declaring it, as a sentence about the kernel; adds nothing if there is none. */
enum uk_status uk_verify_asm(LLVMModuleRef module, const char *symbol, struct uk_text *found);

/* case.c: sets the number of cases; `random` of them have random sizes. */
void uk_verify_plan(struct uk_verifier *v, int random);
/* Chooses sizes, scales and scalars of the next case. False: found none that fulfil the assumptions. */
bool uk_verify_choose(struct uk_verifier *v);
/* True if a case that could not be run is to be tried with other sizes. */
bool uk_verify_should_retry(struct uk_verifier *v);
/* Sets the arguments of the form. */
void uk_verify_set_arguments(struct uk_verifier *v, struct abi_value value[UK_VERIFY_WORDS]);

/* size.c: a random number below n. */
uint64_t uk_verify_random(struct uk_verifier *v, uint64_t n);
/* The bounds that assumptions such as `var <= c` and `c <= var` give; *max is INT64_MAX if there is no upper
 * one. */
void uk_verify_bounds(const struct uk_verifier *v, const struct uk_var *var, int64_t *min, int64_t *max);
int64_t uk_verify_size(const struct uk_var *var, void *verifier);
int64_t uk_verify_value(struct uk_verifier *v, const struct uk_index *e);

/* stride.c: chooses the sizes that are used in strides only, so that the rows of no tensor overlap; in
 * cases of edges each row often has pages of its own. */
void uk_verify_choose_strides(struct uk_verifier *v, bool edges);
/* Lets rows that are only read overlap in some cases. */
void uk_verify_overlap_rows(struct uk_verifier *v);
bool uk_verify_rows_disjoint(struct uk_verifier *v, const struct uk_tensor *t);
/* uk_verify_fits: the form's argument can hold the size. uk_verify_assumptions_hold: the assumptions hold. */
bool uk_verify_fits(const struct uk_verifier *v, const struct uk_var *var);
bool uk_verify_assumptions_hold(struct uk_verifier *v);
/* Chooses the strides that are to be negative; changes their sign. */
void uk_verify_choose_signs(struct uk_verifier *v);
void uk_verify_negate(struct uk_verifier *v);

/* value.c: chooses the scales of operands and scalars of a case. False: with these sizes no sum would
 * be exact. */
bool uk_verify_choose_magnitudes(struct uk_verifier *v);
extern const struct uk_format uk_formats[];
int uk_integer_bits(enum uk_type t);
bool uk_verify_is_half(enum uk_type t);
/* True if this form reads the output. Copies of operands are never read. */
bool uk_verify_reads_output(const struct uk_verifier *v, const struct uk_tensor *t);
/* element.c: an element of tensor n; an index of NULL gives a value that does not depend on the
 * position, and n may then be the number of tensors plus that of a scalar. */
union uk_value uk_verify_element(struct uk_verifier *v, int n, const int64_t *index);
/* Makes all terms of the sum 0 except `count` of them. False: no tensor's zeros do that. */
bool uk_verify_keep_terms(struct uk_verifier *v, int count);
/* True if it calls exp, log, tanh, erf or pow, whose results are not specified to the last bit. */
bool uk_verify_is_inexact(const struct uk_expr *e);
/* True if `got` is an acceptable value of an element of the tensor for which `expected` was computed. */
bool uk_verify_is_acceptable(const struct uk_verifier *v, const struct uk_tensor *t, union uk_value got,
                             union uk_value expected);

/* box.c: iterates over the elements of a tensor, the last dimension fastest. uk_box_begin returns
 * false if there are none. uk_box_offset: elements from the origin to the current one. */
struct uk_box {
    struct uk_verifier *v;
    const struct uk_tensor *tensor;
    bool logical;
    int dims;
    int64_t extent[UK_MAX_DIMS], index[UK_MAX_DIMS];
    int64_t stride[UK_MAX_DIMS]; /* of the stored dimensions */
};
bool uk_box_begin(struct uk_box *b, struct uk_verifier *v, const struct uk_tensor *t, bool logical);
bool uk_box_advance(struct uk_box *b);
int64_t uk_box_offset(struct uk_box *b);

/* large.c: cases of which a sample of the elements is compared.
 * - uk_verify_has_large: true if the form may have such cases
 * - uk_verify_is_inside: true if all subscripts are inside their tensors with these sizes
 * - uk_large_draw, uk_large_compare, uk_large_end: the sample, whose operands exist already
 * - uk_memory_fill_rows: the contents of an operand; false: no memory */
bool uk_verify_has_large(const struct uk_verifier *v);
bool uk_verify_is_inside(struct uk_verifier *v);
struct uk_points;
bool uk_large_draw(struct uk_verifier *v, struct uk_points *points);
bool uk_large_compare(struct uk_verifier *v, const struct uk_points *points);
void uk_large_end(struct uk_points *points);
bool uk_memory_fill_rows(struct uk_verifier *v, int n);

/* memory.c: uk_memory_fits: true if all operands fit into UK_VERIFY_BYTES. uk_memory_make: creates and
 * fills the operands for these sizes; false: no memory. */
bool uk_memory_fits(struct uk_verifier *v);
bool uk_memory_make(struct uk_verifier *v);
void uk_memory_free(struct uk_verifier *v);
/* Copies all operands to `before` or to `expected`; copies `before` back. */
void uk_memory_save(struct uk_verifier *v, bool expected);
void uk_memory_restore(struct uk_verifier *v);
/* Replaces the operands, and their copies, by the same ones for strides of which some are negative now;
 * false: no memory. */
bool uk_memory_mirror(struct uk_verifier *v);
/* Copies all elements of operand n to an image of its bytes, from the lowest element on, or back; sets the
 * bytes of `mask`, unless it is NULL, that belong to elements. */
void uk_memory_exchange(struct uk_verifier *v, int n, unsigned char *image, unsigned char *mask, bool back);
/* Makes operands that are only read writable or not. */
void uk_memory_protect(struct uk_verifier *v, bool writable);
/* If the address is in an operand that is only read, verdict->what names the element that a write to it
 * changes. */
void uk_memory_describe_write(struct uk_verifier *v, const void *address);
/* uk_memory_poison: NaN, or a random integer. The other fills all accessible bytes of an operand with
 * canaries. */
union uk_value uk_memory_poison(struct uk_verifier *v, enum uk_type t);
void uk_memory_fill_with_canaries(struct uk_memory *m);
/* To be called for a byte that differs: returns false if its element's value is acceptable, else describes
 * the difference in verdict->what. */
bool uk_memory_differs(struct uk_verifier *v, struct uk_memory *m, const unsigned char *got_byte,
                       const unsigned char *expected);
/* True if all operands are as expected; else verdict->what describes the first difference. */
bool uk_memory_compare(struct uk_verifier *v);

/* wait.c: the child records the begin of a call, its process, and the end of the call; the parent
 * waits for the child, and kills it if a call exceeds the limit. */
void uk_verify_begin_call(struct uk_verifier *v, pid_t process);
void uk_verify_end_call(struct uk_verifier *v);
enum uk_verify_end {
    UK_VERIFY_ENDED,
    UK_VERIFY_TOO_LONG, /* of CPU time */
    UK_VERIFY_STUCK     /* of wall-clock time */
} uk_verify_wait(pid_t child, struct uk_call *call, int seconds, int *result);

/* remote.c: calls kernels of another architecture in a process that the caller's command starts.
 * uk_verify_guest_source: the C source of that process; uk_remote_start, called in the child, starts it. */
extern const char uk_verify_guest_aarch64[], uk_verify_guest_riscv64[], uk_verify_guest_x86_64[];
bool uk_verify_has_guest(const char *arch);
enum uk_status uk_verify_guest_source(struct uk_context *c, const char *arch,
                                      struct uk_intrinsic *const *list, int count, struct uk_text *out);
bool uk_remote_start(struct uk_verifier *v);
enum uk_remote_result {
    UK_REMOTE_GOOD,
    UK_REMOTE_WRONG,  /* verdict->what describes the error */
    UK_REMOTE_NO_ROOM /* the operands have no place in its address space */
} uk_remote_call(struct uk_verifier *v, const struct abi_value *value);

/* run.c:
 * - uk_verify_describe: writes the sizes and scalars to verdict->where, and returns the length of that text
 * - uk_verify_give_up: records why a case cannot be run; returns false
 * - uk_verify_interpret: computes the form in the operands themselves
 * - uk_verify_has_negative: true if a stride is to be negative */
size_t uk_verify_describe(struct uk_verifier *v);
bool uk_verify_give_up(struct uk_verifier *v, enum uk_status status, const char *what);
enum uk_status uk_verify_interpret(struct uk_verifier *v);
bool uk_verify_has_negative(const struct uk_verifier *v);
/* Runs all cases in the child; the verdict is set when it returns. */
void uk_verify_run(struct uk_verifier *v);

#endif
