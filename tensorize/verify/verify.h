/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room verify: the check of kernels against their declarations: one form of one intrinsic at a time, in a
 * child process. It uses link and interpret. Data: struct uk_verifier (a form that is checked), uk_memory (an
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
        1 << 30,            /* of all operands of a case, one of them twice where strides change their sign */
    UK_VERIFY_SECONDS = 60, /* of CPU time, for a call */
    UK_VERIFY_PATIENCE =
        20, /* on the clock it may take so many times as long: it may wait, and others may have the CPU */
    UK_VERIFY_WORDS = 32,         /* arguments of a form, at most */
    UK_VERIFY_TENSORS = 16,       /* operands of a declaration, at most */
    UK_VERIFY_KEPT = 8,           /* terms of a sum that has too many to be exact */
    UK_VERIFY_REDUCED = 8,        /* iterators of such a sum, at most */
    UK_VERIFY_REGISTERS = 512,    /* elements of one in a thread's registers, at most */
    UK_VERIFY_DEVICE_CASES = 100, /* each has several tiles, and a block of threads */
    UK_VERIFY_CANARY = 0xca
};

/* Where an operand lies between two pages that must not be touched. */
enum uk_placement { UK_AT_END, UK_AT_START, UK_NO_BETTER_ALIGNED, UK_PLACEMENTS };

/* Bytes that exist: at `at` of the operand's address space, and at `kept` of its copies. */
struct uk_span {
    size_t at, length, kept;
};

struct uk_memory {
    const struct uk_tensor *tensor;
    unsigned char *space; /* address space, of which only the spans exist */
    size_t reserved;
    unsigned char *origin;
    int64_t lowest;   /* element that may be read, from the origin: 0, or less where strides are negative */
    int64_t elements; /* from the lowest to the last one that may be read */
    enum uk_placement placement;
    struct uk_span *span;
    int spans, room;
    int mapped;  /* of the spans, so many exist */
    bool is_far; /* nothing is reserved but the spans */
    size_t kept;
    unsigned char *before, *expected;
};

/* The call that runs, or ran last. */
struct uk_call {
    atomic_uint number; /* odd: it has not returned */
    pid_t process;      /* where it runs, and the CPU time in ns that this had used before */
    int64_t before;
};

/* What the child reports to its parent; it may crash in the middle of a case. */
struct uk_verdict {
    struct uk_call call;
    enum { UK_RUNNING, UK_GOOD, UK_WRONG, UK_FAULTED, UK_GAVE_UP } state;
    int cases;
    char where[512], what[512]; /* the case; and what is wrong with it, or why it gave up */
    enum uk_status status;      /* UK_GAVE_UP */
    int signal;
    bool is_write, is_address; /* UK_FAULTED: is `address` what the access was to? */
    uintptr_t address;
    int operands;
    struct uk_range {
        const char *name;
        uintptr_t space, space_end, origin, end;
    } operand[UK_VERIFY_TENSORS];
};

/* The values of operands. But for UK_ROUNDED, sums are exact in the declared type in any order; and, where
 * the type has enough bits, not exact in a narrower type. */
enum uk_data_kind {
    UK_SMALL,     /* small integers */
    UK_LARGE,     /* as many bits as the sums leave, in all operands alike */
    UK_ONE_LARGE, /* as many bits as there are in one operand, one bit in the others */
    UK_EXTREME,   /* integers: nearly all of an operand the least or the greatest of its type */
    UK_TINY,      /* floats: products are subnormal numbers */
    UK_SPECIAL,   /* floats: some infinities and NaN among them */
    UK_ROUNDED /* floats: what operations round, ties among them; sums have so few terms that only one does */
};

/* Of a float type: bits of a number, exponents of the last bit of the least subnormal and of the least normal
 * number, and of the largest number. */
struct uk_format {
    int digits, tiny, least, largest;
};

/* Values are integers of `bits` bits and a sign, times a power of two; of integer types all bits. */
struct uk_scale {
    enum uk_type type;
    int bits, exponent;
};

/* The code of kernels for a GPU, and what runs it. */
struct uk_device_code {
    const struct uk_target *target;
    const struct uk_verify_runner *runner;
    char *image; /* a code object */
    size_t bytes;
};

struct uk_verifier {
    struct uk_context *context;
    struct uk_intrinsic *intrinsic;
    int index; /* of the intrinsic among those of the object */
    enum uk_form_kind form;
    void (*call)(void);
    char *const *argv;                   /* what runs the kernel in a process of its own, or NULL */
    struct uk_remote *remote;            /* that process */
    const struct uk_device_code *device; /* or NULL */
    struct uk_verdict *verdict;          /* shared with the parent */
    uint64_t seed;
    int cases;     /* in all, those of edges first */
    int edges;     /* cases that go through the edges */
    int far_sizes; /* sizes that have none: after the edges, cases in which they are large */
    int stays_far; /* of two sizes that are to be large together the first or the second stays beyond 16 bits;
                      2: neither */
    int again;     /* how often such a case could not be run */
    int64_t all_edges; /* combinations of edges */
    bool is_large;     /* this case: so large that a sample of its elements is compared */
    int number;        /* of this case */
    int64_t *size;     /* of this case, by number */
    bool *negative;    /* which of the strides become negative for the call */
    double *scalar;
    enum uk_data_kind data;
    int scales; /* of the tensors, then of the scalars */
    struct uk_scale scale[UK_VERIFY_TENSORS + UK_VERIFY_WORDS];
    int64_t extreme[UK_VERIFY_TENSORS]; /* UK_EXTREME: what the tensor mostly holds */
    int special;                        /* UK_SPECIAL: which of inf, -inf and NaN; 3: all */
    uint64_t one_in;                    /* and one in how many elements is; 0: a few */
    int kept, kept_tensor; /* not 0: only at so many points of the reduced iterators that tensor's elements
                              are not 0 */
    int kept_dim[UK_VERIFY_REDUCED]; /* of each of these iterators */
    int64_t kept_at[UK_VERIFY_KEPT][UK_VERIFY_REDUCED];
    bool left_is_zero, is_long;
    bool is_near, keeps_normal; /* UK_ROUNDED: exponents are small; no number is subnormal */
    enum uk_type narrowest;     /* UK_ROUNDED: of the float types that the declaration computes in */
    int budget;                 /* of the factors of a product, bits that are left */
    int tensors;
    struct uk_memory memory[UK_VERIFY_TENSORS];
};

/* verify_code.c: machine code of every form as an object, each behind a function of its prototype that jumps
 * to it, uk.verify.<intrinsic>.<form>; and where that lies. asm_found, of count * UK_FORMS empty texts, gets
 * what uk_verify_asm finds; free them in any case. */
enum uk_status uk_verify_compile(struct uk_program *p, const struct uk_target *t,
                                 struct uk_intrinsic *const *list, int count, LLVMMemoryBufferRef *object,
                                 struct uk_text *asm_found);
enum uk_status uk_verify_find(struct uk_context *c, LLVMOrcLLJITRef jit, int intrinsic,
                              enum uk_form_kind form, void (**call)(void));

/* The name of that function; the kernel as its declaration says, NULL after a failure; what asm changes, of
 * each form. */
char *uk_verify_call_name(struct uk_arena *a, int intrinsic, int form);
LLVMValueRef uk_verify_declare(struct uk_build *b, const struct uk_intrinsic *i, const struct uk_form *form,
                               struct uk_arena *a);
enum uk_status uk_verify_look_at_asm(struct uk_build *b, struct uk_text *found);

/* verify_device_code.c: the same for a GPU, each form inlined into a kernel of one block, as a code object:
 * free(*image). */
enum uk_status uk_verify_compile_device(struct uk_program *p, const struct uk_target *t,
                                        struct uk_intrinsic *const *list, int count, char **image,
                                        size_t *bytes, struct uk_text *asm_found);
/* The bytes in which shared memory is copied; the elements of a tensor in registers, 0: too many, or no
 * constant number. */
size_t uk_verify_unit(const struct uk_intrinsic *i);
int64_t uk_verify_registers(const struct uk_intrinsic *i, const struct uk_tensor *t);

/* verify_device.c: runs a case, whose sizes are chosen, on the device. False: it is wrong, or cannot be run.
 * */
bool uk_verify_device_case(struct uk_verifier *v);
/* Whether shared memory has room for one tile of each operand. */
bool uk_verify_device_fits(struct uk_verifier *v);

/* asm/verify_asm.c: the first register that an asm statement in the function, or in one that it calls,
 * changes and does not declare, as a sentence about the kernel; nothing is added if there is none. */
enum uk_status uk_verify_asm(LLVMModuleRef module, const char *symbol, struct uk_text *found);

/* verify_case.c: sets how many cases there are, `random` of them with sizes at random. */
void uk_verify_plan(struct uk_verifier *v, int random);
/* Sizes, scales and scalars for the next case. False: none fulfils the assumptions. */
bool uk_verify_choose(struct uk_verifier *v);
/* Whether a case that could not be run with the sizes chosen is to be tried with others. */
bool uk_verify_again(struct uk_verifier *v);
/* The arguments of the form. */
void uk_verify_words(struct uk_verifier *v, struct abi_value value[UK_VERIFY_WORDS]);

/* verify_size.c: a number below n. */
uint64_t uk_verify_random(struct uk_verifier *v, uint64_t n);
/* What `var <= c` and `c <= var` among the assumptions say; *most is INT64_MAX if nothing bounds it. */
void uk_verify_bounds(const struct uk_verifier *v, const struct uk_var *var, int64_t *least, int64_t *most);
int64_t uk_verify_size(const struct uk_var *var, void *verifier);
int64_t uk_verify_value(struct uk_verifier *v, const struct uk_index *e);

/* verify_stride.c: names that stand only in strides become at least what keeps the rows of every tensor
 * apart; beside edges, most often so much that each row has pages of its own. */
void uk_verify_strides(struct uk_verifier *v, bool edges);
/* Rows that are only read overlap, once in a while. */
void uk_verify_overlap(struct uk_verifier *v);
bool uk_verify_apart(struct uk_verifier *v, const struct uk_tensor *t);
/* Whether the form can pass the size; whether the assumptions hold. */
bool uk_verify_fits(const struct uk_verifier *v, const struct uk_var *var);
bool uk_verify_holds(struct uk_verifier *v);
/* Which strides are to be negative; changes their sign. */
void uk_verify_signs(struct uk_verifier *v);
void uk_verify_negate(struct uk_verifier *v);

/* verify_value.c: the scales of the operands and scalars of a case; false: with these sizes no sum would be
 * exact. */
bool uk_verify_weigh(struct uk_verifier *v);
extern const struct uk_format uk_formats[];
int uk_integer_bits(enum uk_type t);
bool uk_verify_is_half(enum uk_type t);
/* Does this form read what the output holds? Copies of operands are never read. */
bool uk_verify_reads(const struct uk_verifier *v, const struct uk_tensor *t);
/* verify_element.c: one element of the n-th tensor, at that index, or, without, of all scalars the n-th after
 * the tensors. */
union uk_value uk_verify_element(struct uk_verifier *v, int n, const int64_t *index);
/* Only so many terms of the sum are not to be 0; false: no tensor decides that. */
bool uk_verify_keep(struct uk_verifier *v, int count);
/* Whether it calls exp, log, tanh, erf or pow, which have no one right result. */
bool uk_verify_is_inexact(const struct uk_expr *e);
/* Whether `got` is as good as what is expected of an element of the tensor. */
bool uk_verify_same(const struct uk_verifier *v, const struct uk_tensor *t, union uk_value got,
                    union uk_value expected);

/* verify_box.c: the first index of the box, false if it has none; the next one, the last dimension first;
 * elements from the origin to it. */
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

/* verify_large.c: whether the form may have cases of which a sample of elements is compared; whether all
 * subscripts are inside with these sizes; such a case, its operands being there; what an operand of it holds;
 * false: no memory. */
bool uk_verify_has_large(const struct uk_verifier *v);
bool uk_verify_is_inside(struct uk_verifier *v);
struct uk_points;
bool uk_large_draw(struct uk_verifier *v, struct uk_points *points);
bool uk_large_compare(struct uk_verifier *v, const struct uk_points *points);
void uk_large_end(struct uk_points *points);
bool uk_memory_fill_rows(struct uk_verifier *v, int n);

/* verify_memory.c: whether all operands have room in UK_VERIFY_BYTES; operands for these sizes, filled,
 * false: no memory. */
bool uk_memory_fits(struct uk_verifier *v);
bool uk_memory_make(struct uk_verifier *v);
void uk_memory_free(struct uk_verifier *v);
/* Copies all operands to `before` or to `expected`; puts back what was before. */
void uk_memory_keep(struct uk_verifier *v, bool expected);
void uk_memory_restore(struct uk_verifier *v);
/* The same operands, with what is kept of them, for strides of which some are negative now; false: no memory.
 * */
bool uk_memory_mirror(struct uk_verifier *v);
/* Every byte from the n-th operand's lowest element to its last one that is of an element, to an image of
 * them or back; those in mask, if it is not NULL, are set. */
void uk_memory_exchange(struct uk_verifier *v, int n, unsigned char *image, unsigned char *mask, bool back);
/* Whether operands that are only read can be written. */
void uk_memory_protect(struct uk_verifier *v, bool writable);
/* If it is an operand that is only read, verdict->what says which element a write to the address changes. */
void uk_memory_describe_write(struct uk_verifier *v, const void *address);
/* Any value, or NaN; canaries, in all that exists of an operand. */
union uk_value uk_memory_poison(struct uk_verifier *v, enum uk_type t);
void uk_memory_fill_with_canaries(struct uk_memory *m);
/* A byte is not as expected: verdict->what says so; false if the value of its element is. */
bool uk_memory_differs(struct uk_verifier *v, struct uk_memory *m, const unsigned char *got_byte,
                       const unsigned char *expected);
/* Whether all operands are as expected; if not, verdict->what says where. */
bool uk_memory_compare(struct uk_verifier *v);

/* verify_wait.c: the child says when a call begins, in which process, and when it has returned; the parent
 * waits for the child's end, and ends it if a call takes longer than so many seconds. */
void uk_verify_begin_call(struct uk_verifier *v, pid_t process);
void uk_verify_end_call(struct uk_verifier *v);
enum uk_verify_end {
    UK_VERIFY_ENDED,
    UK_VERIFY_TOO_LONG, /* of CPU time */
    UK_VERIFY_STUCK     /* on the clock */
} uk_verify_wait(pid_t child, struct uk_call *call, int seconds, int *result);

/* verify_remote.c: kernels of another architecture, called in a process that somebody else's command starts.
 * Whether there is C for such a process; that C; starting it, in the child; the call of a case. */
extern const char uk_verify_guest_aarch64[], uk_verify_guest_riscv64[], uk_verify_guest_x86_64[];
bool uk_verify_has_guest(const char *arch);
enum uk_status uk_verify_guest_source(struct uk_context *c, const char *arch,
                                      struct uk_intrinsic *const *list, int count, struct uk_text *out);
bool uk_remote_start(struct uk_verifier *v);
enum uk_remote_result {
    UK_REMOTE_GOOD,
    UK_REMOTE_WRONG,  /* verdict->what says why */
    UK_REMOTE_NO_ROOM /* the operands have no place in the other's address space */
} uk_remote_call(struct uk_verifier *v, const struct abi_value *value);

/* verify_run.c: the sizes and scalars of the case in verdict->where, and how long that text is; what keeps a
 * case from being run, returns false; the form as declared, in the operands themselves; whether a stride is
 * to be negative. */
size_t uk_verify_describe(struct uk_verifier *v);
bool uk_verify_gave_up(struct uk_verifier *v, enum uk_status status, const char *what);
enum uk_status uk_verify_interpret(struct uk_verifier *v);
bool uk_verify_has_negative(const struct uk_verifier *v);
/* All cases, in the child; returns with the verdict in place. */
void uk_verify_run(struct uk_verifier *v);

#endif
