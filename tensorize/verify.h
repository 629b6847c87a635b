/* Inside the check of kernels against their declarations: one form of one intrinsic at a time, in a child process. */
#ifndef UK_VERIFY_H
#define UK_VERIFY_H

#include "backend.h"

enum {
    UK_VERIFY_CASES = 500,
    UK_VERIFY_SECONDS = 60,
    UK_VERIFY_WORDS = 32,         /* arguments of a form, at most */
    UK_VERIFY_TENSORS = 16,       /* operands of a declaration, at most */
    UK_VERIFY_ELEMENTS = 1 << 16, /* of one operand, at most */
    UK_VERIFY_INSTANCES = 1 << 18 /* of the statement in one case, at most */
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
    int64_t elements; /* from the origin to the last one that may be read */
    enum uk_placement placement;
    struct uk_span *span;
    int spans, room;
    size_t kept;
    unsigned char *before, *expected;
};

/* What the child tells its parent; the parent may find it in the middle of a case. */
struct uk_verdict {
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

/* Calls a form: the arguments lie in words, each in the low bytes of one. */
typedef void uk_form_call(const int64_t *words);

struct uk_verifier {
    struct uk_context *context;
    struct uk_intrinsic *intrinsic;
    enum uk_form_kind form;
    uk_form_call *call;
    struct uk_verdict *verdict; /* shared with the parent */
    uint64_t seed;
    int cases;
    int64_t *size; /* of this case, by number */
    double *scalar;
    int tensors;
    struct uk_memory memory[UK_VERIFY_TENSORS];
};

/* verify_code.c: machine code of every form, each behind an uk_form_call. */
enum uk_status uk_verify_compile(struct uk_program *p, const struct uk_target *t,
                                 struct uk_intrinsic *const *list, int count, LLVMOrcLLJITRef *jit);
enum uk_status uk_verify_find(struct uk_context *c, LLVMOrcLLJITRef jit, int intrinsic,
                              enum uk_form_kind form, uk_form_call **call);

/* verify_case.c: a number below n; sizes and scalars for the next case. False: none fulfils the assumptions. */
uint64_t uk_verify_random(struct uk_verifier *v, uint64_t n);
bool uk_verify_choose(struct uk_verifier *v);
int64_t uk_verify_size(const struct uk_var *var, void *verifier);
/* The arguments of the form. */
void uk_verify_words(const struct uk_verifier *v, int64_t words[UK_VERIFY_WORDS]);

/* verify_memory.c: operands for these sizes, filled; false: no memory. */
bool uk_memory_make(struct uk_verifier *v);
void uk_memory_free(struct uk_verifier *v);
/* Copies all operands to `before` or to `expected`; puts back what was before. */
void uk_memory_keep(struct uk_verifier *v, bool expected);
void uk_memory_restore(struct uk_verifier *v);
/* Whether all operands are as expected; if not, verdict->what says where. */
bool uk_memory_compare(struct uk_verifier *v);

/* verify_run.c: all cases, in the child; returns with the verdict in place. */
void uk_verify_run(struct uk_verifier *v);

#endif
