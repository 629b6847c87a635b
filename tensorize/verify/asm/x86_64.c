/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registers that instructions of x86-64 write: the last operand (AT&T's syntax) if it is a register; the
 * tables below are the exceptions. rsp, flags, MXCSR and the x87 are not checked: they cannot be declared, or
 * the check of the call sees the change.
 */
#include <string.h>
#include "asm.h"

/* Instructions that write no operand. */
static const char *const silent = "cmp cmpb cmpw cmpl cmpq test testb testw testl testq push push* j* call* "
                                  "ret* prefetch* bt btw btl btq vptest ptest "
                                  "vtestps vtestpd ucomis* comis* vucomis* vcomis* kortest* ktest* nop* "
                                  "clflush* clwb ldmxcsr vldmxcsr f* lock rep repz "
                                  "repnz repe repne sfence lfence mfence pause ud2 emms std cld endbr64 out*";

static const char *const
    rax[] = {"rax", NULL},
    *const rcx[] = {"rcx", NULL}, *const rdx[] = {"rdx", NULL}, *const rax_rdx[] = {"rax", "rdx", NULL},
    *const rsi_rdi[] = {"rsi", "rdi", "rcx", NULL}, *const cpuid[] = {"rax", "rbx", "rcx", "rdx", NULL},
    *const system_call[] = {"rax", "rcx", "r11", NULL}, *const xmm0[] = {"xmm0", NULL},
    *const halves[] = {"ymm0", "ymm1",  "ymm2",  "ymm3",  "ymm4",  "ymm5",  "ymm6",  "ymm7", "ymm8",
                       "ymm9", "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15", NULL};

/* Instructions that write registers which are not among their operands. */
static const struct implicit {
    const char *names;
    int operands; /* number of operands; -1: any */
    const char *const *writes;
} implicit[] = {
    {"mul mulb mulw mull mulq imul imulb imulw imull imulq div divb divw divl divq idiv idivb idivw idivl "
     "idivq",
     1, rax_rdx},
    {"cpuid", 0, cpuid},
    {"rdtsc rdpmc xgetbv", 0, rax_rdx},
    {"rdtscp", 0, cpuid},
    {"cltd cqto cdq cqo cwd cwtd", 0, rdx},
    {"cltq cdqe cwtl cwde cbtw cbw lahf", 0, rax},
    {"vzeroupper vzeroall", 0, halves},
    {"syscall", 0, system_call},
    {"movsb movsw movsl movsq stosb stosw stosl stosq lodsb lodsw lodsl lodsq scasb scasw scasl scasq", 0,
     rsi_rdi},
    {"cmpxchg*", -1, rax},
    {"cmpxchg8b cmpxchg16b", 1, rax_rdx},
    {"loop*", -1, rcx},
    {"pcmpestri pcmpistri vpcmpestri vpcmpistri", -1, rcx},
    {"pcmpestrm pcmpistrm vpcmpestrm vpcmpistrm", -1, xmm0}};

/* The mask of AVX-512's gathers and scatters, which is in the first braces of an operand. */
static void write_mask(struct uk_asm_text operand, struct uk_asm_writes *w) {
    const char *open = memchr(operand.at, '{', operand.length);
    const char *close = open ? memchr(open, '}', operand.length - (size_t)(open - operand.at)) : NULL;

    if (close)
        uk_asm_write(w, (struct uk_asm_text){open + 1, (size_t)(close - open - 1)});
}

static void writes(const struct uk_asm_instruction *i, struct uk_asm_writes *w) {
    const int last = i->operands - 1;

    for (size_t k = 0; k < sizeof implicit / sizeof *implicit; k++)
        if (uk_asm_is_one(i->name, implicit[k].names) &&
            (implicit[k].operands < 0 || implicit[k].operands == i->operands)) {
            uk_asm_write_all(w, implicit[k].writes);
            if (implicit[k].writes != rax || !i->operands)
                return;
        }
    if (last < 0 || uk_asm_is_one(i->name, silent))
        return;
    uk_asm_write(w, i->operand[last]);
    if (last > 0 && uk_asm_is_one(i->name, "xchg* xadd*"))
        uk_asm_write(w, i->operand[0]);
    if (last > 1 && uk_asm_is_one(i->name, "mulx mulxl mulxq"))
        uk_asm_write(w, i->operand[last - 1]);
    if (last == 2 && uk_asm_is_one(i->name, "vgather* vpgather*"))
        uk_asm_write(w, i->operand[0]);
    if (last == 1 && uk_asm_is_one(i->name, "vgather* vpgather* vscatter* vpscatter*"))
        write_mask(i->operand[last], w);
}

static const struct general {
    const char *names;
    int number;
} general[] = {{"rax eax ax al ah", 0}, {"rcx ecx cx cl ch", 1}, {"rdx edx dx dl dh", 2},
               {"rbx ebx bx bl bh", 3}, {"rbp ebp bp bpl", 5},   {"rsi esi si sil", 6},
               {"rdi edi di dil", 7}};

static struct uk_asm_register find(struct uk_asm_text name) {
    static const char *const vectors[] = {"xmm", "ymm", "zmm"};

    if (name.length && *name.at == '%') {
        name.at++;
        name.length--;
    }
    for (size_t i = 0; i < sizeof general / sizeof *general; i++)
        if (uk_asm_is_one(name, general[i].names))
            return (struct uk_asm_register){'g', general[i].number, 1, 64};
    for (int i = 0; i < 3; i++)
        if (name.length > 3 && !memcmp(name.at, vectors[i], 3))
            return (struct uk_asm_register){'v', uk_asm_number(name.at + 3, name.length - 3), 1, 128 << i};
    if (name.length == 2 && *name.at == 'k')
        return (struct uk_asm_register){'k', uk_asm_number(name.at + 1, 1), 1, 64};
    if (name.length > 1 && *name.at == 'r' && strchr("dwb", name.at[name.length - 1]))
        name.length--;
    if (name.length > 1 && *name.at == 'r' && uk_asm_number(name.at + 1, name.length - 1) >= 8)
        return (struct uk_asm_register){'g', uk_asm_number(name.at + 1, name.length - 1), 1, 64};
    return (struct uk_asm_register){0};
}

const struct uk_asm_rules uk_asm_x86_64 = {"x86_64", writes, find};
