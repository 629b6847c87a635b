/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests the emulation apart from its results: rvp_cases CASE, for riscv64, linked with simulate/rvp/. Returns
 * 0, or prints the condition that failed.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include "registry/rvp.h"
#include "shared.h"

#define ADD32_A0_A0_A1 WORD("0x40b52500")

static bool patched(void) {
    const char *patch = getenv("UK_RVP_PATCH");

    return !patch || strcmp(patch, "0");
}

/* Defines a function with these lines of assembly, whose words of P operate on a0 and a1. */
#define FUNCTION(name, align, ...)                                                                   \
    uint64_t name(uint64_t a0, uint64_t a1);                                                         \
    extern uint32_t name##_word[];                                                                   \
    __asm__(".text\n" align ".globl " #name "\n.type " #name ", @function\n" #name ":\n" __VA_ARGS__ \
            "ret\n.size " #name ", . - " #name "\n")

FUNCTION(plain, ".balign 4\n", ".globl plain_word\nplain_word:\n" ADD32_A0_A0_A1);
/* After a compressed nop at the end of a page: the word is in two pages. */
FUNCTION(straddles, ".balign 4096\n.space 4092\n",
         "c.nop\n.globl straddles_word\nstraddles_word:\n" ADD32_A0_A0_A1);
FUNCTION(unaligned, ".balign 4\n", "c.nop\n.globl unaligned_word\nunaligned_word:\n" ADD32_A0_A0_A1);
/* add32 a0, sp, a0; add32 a0, a0, sp; add32 sp, t0, a0, where t0 holds sp. */
FUNCTION(and_sp, ".balign 4\n", ".globl and_sp_word\nand_sp_word:\n" WORD("0x40252500"));
FUNCTION(from_sp, ".balign 4\n", ".globl from_sp_word\nfrom_sp_word:\n" WORD("0x40a12500"));
FUNCTION(
    to_sp, ".balign 4\n",
    "mv t0, sp\n.balign 4\n.globl to_sp_word\nto_sp_word:\n" WORD("0x40a2a100") "mv a0, sp\nmv sp, t0\n");
FUNCTION(unknown_word, ".balign 4\n", ".globl unknown_word_word\nunknown_word_word:\n" WORD("0x40b57500"));
FUNCTION(illegal_word, ".balign 4\n", ".globl illegal_word_word\nillegal_word_word:\n.2byte 0\n");
/* 17000 words, no two of them adjacent: more than there is space for stubs. */
FUNCTION(many, ".balign 4\n",
         ".globl many_word\nmany_word:\n.option push\n.option norvc\n.rept 17000\n" ADD32_A0_A0_A1
         "nop\n.endr\n.option pop\n");
/* Seven adjacent words; the loop's second iteration begins at the third word. The page ends after the
 * fifth. */
FUNCTION(runs, ".balign 4096\n.space 4096 - 24\n",
         ".option push\n.option norvc\nli t0, 3\n.globl runs_word\nruns_word:\n" ADD32_A0_A0_A1 ADD32_A0_A0_A1
         "1:\n" ADD32_A0_A0_A1 ADD32_A0_A0_A1 ADD32_A0_A0_A1 ADD32_A0_A0_A1 ADD32_A0_A0_A1
         "addi t0, t0, -1\nbnez t0, 1b\n.option pop\n");
/* 1331 different adjacent words: 11 registers in each of three fields. */
FUNCTION(different, ".balign 4\n",
         "mv t0, a0\nmv t1, a1\nmv t2, a0\nmv a2, a1\nmv a3, a0\nmv t3, a1\nmv t4, a0\nmv t5, a1\nmv t6, "
         "a0\n.balign 4\n.globl different_word\ndifferent_word:\n"
         ".irp d, 5, 6, 7, 10, 11, 12, 13, 28, 29, 30, 31\n"
         ".irp s, 5, 6, 7, 10, 11, 12, 13, 28, 29, 30, 31\n"
         ".irp t, 5, 6, 7, 10, 11, 12, 13, 28, 29, 30, 31\n"
         ".4byte 0x40002000 + (\\d << 7) + (\\s << 15) + (\\t << 20) + " OPCODE_TEXT(
             UK_RVP_OPCODE) "\n"
                            ".endr\n.endr\n.endr\n");

/* Executes 2 + 4 x 1000 instructions. */
FUNCTION(counted, ".balign 4\n",
         ".option push\n.option norvc\nli t0, 1000\n.option pop\n.option push\n.option norvc\n1:\n.globl "
         "counted_word\ncounted_word:\n" ADD32_A0_A0_A1 WORD(
             "0x40a52500") "addi t0, t0, -1\nbnez t0, 1b\n.option pop\n");

/* smaqa twice on a0, mv a2, a0, smalda a4, sd a4: instructions that wait for the results in a0 and a4.
 * Executes 2 + 7 x 1000 instructions. */
FUNCTION(
    waits, ".balign 4\n",
    ".option push\n.option norvc\nli t0, 1000\n1:\n.globl waits_word\nwaits_word:\n" WORD("0xc8b58500")
        WORD("0xc8b58500") "mv a2, a0\n" WORD("0x8cb59700") "addi t0, t0, -1\nsd a4, -8(sp)\nbnez t0, 1b\n"
                                                            ".option pop\n");

static uint64_t add32(uint64_t a, uint64_t b) {
    uint64_t ov = 0;

    return uk_rvp_c_add32(0, a, b, &ov);
}

static uint32_t at(const uint32_t *word) {
    uint32_t now;

    memcpy(&now, word, sizeof now);
    return now;
}

/* The word is executed twice with the right result, and is replaced or not. */
#define TWICE(name, replaced)                                                 \
    do {                                                                      \
        const uint32_t word_before = at(name##_word);                         \
        CHECK(name(A, B) == add32(A, B));                                     \
        CHECK((at(name##_word) != word_before) == ((replaced) && patched())); \
        CHECK(name(A, B) == add32(A, B));                                     \
    } while (0)

static void replaced(void) {
    TWICE(plain, true);
    TWICE(unaligned, true);
    TWICE(straddles, true);
}

static void stack_pointer(void) {
    const uint32_t from = at(from_sp_word), and = at(and_sp_word), to = at(to_sp_word);

    for (int i = 0; i < 2; i++) {
        const uint64_t sp = from_sp(0, 0);

        CHECK(and_sp(16, 0) == add32(sp, 16));
        CHECK(sp > 4096 && from_sp(16, 0) == add32(sp, 16) && to_sp(0, 0) == sp &&
              to_sp(32, 0) == add32(sp, 32));
    }
    CHECK(at(from_sp_word) == from && at(and_sp_word) == and&&at(to_sp_word) == to);
}

/* Words outside the program's code, and in a shared object, are executed but not replaced. */
static void unreachable(void) {
    uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const uint32_t word = at(plain_word);

    CHECK(code != MAP_FAILED);
    code[0] = word;
    code[1] = 0x00008067; /* ret */
    __builtin___clear_cache((char *)code, (char *)(code + 2));
    for (int i = 0; i < 2; i++) {
        CHECK(((uint64_t (*)(uint64_t, uint64_t))code)(A, B) == add32(A, B));
        CHECK(code[0] == word);
        CHECK(shared_add32(A, B) == add32(A, B));
    }
}

static void used_up(void) {
    const uint32_t word = at(many_word + 2 * 16999);
    uint64_t sum = A;

    for (int i = 0; i < 17000; i++)
        sum = add32(sum, B);
    for (int i = 0; i < 3; i++)
        CHECK(many(A, B) == sum);
    CHECK((at(many_word) != word) == patched() && at(many_word + 2 * 16999) == word);
}

static int changed_words(const uint32_t *now, const uint32_t *before, int count) {
    int n = 0;

    for (int i = 0; i < count; i++)
        n += at(now + i) != before[i];
    return n;
}

/* No word is trapped twice: of 64 words one becomes a jump, and the first one of each page. */
static void many_words(void) {
    enum { WORDS = 1331 };
    uint32_t before[WORDS];

    memcpy(before, different_word, sizeof before);
    const uint64_t first = different(A, B);
    const int jumps = changed_words(different_word, before, WORDS);

    CHECK(patched() ? jumps >= WORDS / 64 && jumps <= WORDS / 64 + 3 : !jumps);
    for (int i = 0; i < 3; i++)
        CHECK(different(A, B) == first);
    CHECK(changed_words(different_word, before, WORDS) == jumps);
    printf("%" PRIx64 "\n", first);
}

/* Adjacent words of which one is the target of a jump, one begins a page, and one is changed by the
 * program. */
static void in_runs(void) {
    enum { WORDS = 7, TURNS = 3 };
    const uint64_t page = (uint64_t)(runs_word + 5) & ~UINT64_C(4095);
    uint32_t before[WORDS], sub32 = at(plain_word) + 0x02000000;
    uint64_t sum = A, ov = 0;

    memcpy(before, runs_word, sizeof before);
    for (int i = 0; i < 2 + TURNS * 5; i++)
        sum = add32(sum, B);
    for (int i = 0; i < TURNS; i++) {
        CHECK(runs(A, B) == sum);
        for (int k = 0; k < WORDS; k++)
            CHECK((at(runs_word + k) != before[k]) == (patched() && (k == 0 || k == 2 || k == 5)));
    }
    /* Changes the second and the last word, which run in the stub of the first word and of the sixth. */
    CHECK(!mprotect((void *)(page - 4096), 8192, PROT_READ | PROT_WRITE | PROT_EXEC));
    memcpy(runs_word + 1, &sub32, 4);
    memcpy(runs_word + 6, &sub32, 4);
    __builtin___clear_cache((char *)(runs_word + 1), (char *)(runs_word + 7));
    sum = uk_rvp_c_sub32(0, add32(A, B), B, &ov);
    for (int i = 0; i < TURNS; i++)
        sum = uk_rvp_c_sub32(0, add32(add32(add32(add32(sum, B), B), B), B), B, &ov);
    for (int i = 0; i < TURNS; i++)
        CHECK(runs(A, B) == sum);
}

/* vxsat is per thread; all forms of CSR instructions read and write it. */
static uint64_t vxsat(void) {
    uint64_t ov;

    __asm__ __volatile__("csrr %0, 0x009" : "=r"(ov)::"memory");
    return ov;
}

static void *saturate(void *unused) {
    CHECK(vxsat() == 0);
    CHECK(uk_rvp_kadd32(INT32_MAX, 1) == INT32_MAX && vxsat() == 1);
    return unused;
}

static void overflow(void) {
    pthread_t thread;
    uint64_t old;

    for (int i = 0; i < 2; i++) {
        CHECK(!pthread_create(&thread, NULL, saturate, NULL) && !pthread_join(thread, NULL));
        CHECK(vxsat() == 0);
        saturate(NULL);
        CHECK(uk_rvp_kadd32(1, 1) == 2 && vxsat() == 1);
        __asm__ __volatile__("csrrw %0, 0x009, %1" : "=r"(old) : "r"(UINT64_C(6)));
        CHECK(old == 1 && vxsat() == 0);
        __asm__ __volatile__("csrrs %0, 0x009, %1" : "=r"(old) : "r"(UINT64_C(3)));
        CHECK(old == 0 && vxsat() == 1);
        __asm__ __volatile__("csrrc %0, 0x009, %1" : "=r"(old) : "r"(UINT64_C(2)));
        CHECK(old == 1 && vxsat() == 1);
        __asm__ __volatile__("csrrci %0, 0x009, 1" : "=r"(old));
        CHECK(old == 1 && vxsat() == 0);
        __asm__ __volatile__("csrrsi %0, 0x009, 1" : "=r"(old));
        CHECK(old == 0 && vxsat() == 1);
        __asm__ __volatile__("csrrwi zero, 0x009, 0");
        CHECK(vxsat() == 0);
    }
}

/* Many words in one function, by number n; they are replaced while eight threads execute them. */
#define STEP(n)                                                                                            \
    d = uk_rvp_smaqa_su(d, d ^ a, b + (n)), d = uk_rvp_kadd32(d, a), a = uk_rvp_srai32_u(a ^ d, (n) % 31), \
    b = uk_rvp_pkbt16(b, d), d = uk_rvp_insb(d, b, (n) % 8);
#define TEN(step, n)                                                                              \
    step(n) step((n) + 1) step(n + 2) step(n + 3) step(n + 4) step(n + 5) step(n + 6) step(n + 7) \
        step(n + 8) step(n + 9)
#define HUNDRED(step) \
    TEN(step, 0)      \
    TEN(step, 10)     \
    TEN(step, 20)     \
    TEN(step, 30)     \
    TEN(step, 40)     \
    TEN(step, 50)     \
    TEN(step, 60)     \
    TEN(step, 70)     \
    TEN(step, 80)     \
    TEN(step, 90)

__attribute__((noinline)) static uint64_t by_p(uint64_t d, uint64_t a, uint64_t b) {
    HUNDRED(STEP)
    return d;
}

static uint64_t by_c(uint64_t d, uint64_t a, uint64_t b) {
    uint64_t ov = 0;

    for (uint64_t n = 0; n < 100; n++) {
        d = uk_rvp_c_smaqa_su(d, d ^ a, b + n, &ov);
        d = uk_rvp_c_kadd32(0, d, a, &ov);
        a = uk_rvp_c_srai32_u(0, a ^ d, n % 31, &ov);
        b = uk_rvp_c_pkbt16(0, b, d, &ov);
        d = uk_rvp_c_insb(d, b, n % 8, &ov);
    }
    return d;
}

static pthread_barrier_t barrier;

static void *goes_through(void *number) {
    const uint64_t a = A * (uint64_t)(uintptr_t)number;

    pthread_barrier_wait(&barrier);
    for (uint64_t i = 0; i < 20; i++)
        CHECK(by_p(i, a, B) == by_c(i, a, B));
    return NULL;
}

static void in_threads(void) {
    enum { THREADS = 8 };
    pthread_t threads[THREADS];
    const uint32_t before = at(unaligned_word);

    pthread_barrier_init(&barrier, NULL, THREADS);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, goes_through, (void *)(i + 1)));
    /* A word that is not aligned is not replaced, because another thread might read half of it. */
    TWICE(unaligned, false);
    for (size_t i = 0; i < THREADS; i++)
        CHECK(!pthread_join(threads[i], NULL));
    CHECK(at(unaligned_word) == before);
    /* The child of fork executes replaced words and new ones. */
    const pid_t child = fork();
    int status;

    if (!child) {
        TWICE(plain, true);
        _exit(by_p(1, A, B) == by_c(1, A, B) ? 0 : 1);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

/* Handlers that the program installs after the emulation's. */
static sigjmp_buf back;
static volatile sig_atomic_t caught;

static void leave(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)context;
    caught++;
    CHECK(info->si_signo == SIGILL && (uintptr_t)info->si_addr == (uintptr_t)illegal_word_word);
    siglongjmp(back, 1);
}

static void count(int number) {
    CHECK(number == SIGILL);
    caught++;
}

/* Executes the illegal word, which only the program's handler ends; then words of P. */
static void meets_illegal(void) {
    const int before = caught;

    if (!sigsetjmp(back, 1)) {
        illegal_word(0, 0);
        CHECK(!"executed");
    }
    CHECK(caught == before + 1);
    CHECK(by_p(2, A, B) == by_c(2, A, B) && caught == before + 1);
}

static void handlers(void) {
    struct sigaction action = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO}, old, now;

    CHECK(!sigaction(SIGILL, &action, &old) && old.sa_handler == SIG_DFL);
    CHECK(by_p(1, A, B) == by_c(1, A, B) && !caught);
    meets_illegal();
    meets_illegal();
    CHECK(!sigaction(SIGILL, NULL, &now) && now.sa_sigaction == leave && now.sa_flags & SA_SIGINFO);
    /* Also if a shared object installs the handler, in a dynamic program. */
    CHECK(!shared_sigaction(SIGILL, &old, &now) && now.sa_sigaction == leave);
    TWICE(plain, true);
    CHECK(signal(SIGILL, count) == SIG_DFL);
    CHECK(!raise(SIGILL) && caught == 3);
    CHECK(signal(SIGILL, SIG_IGN) == count);
    CHECK(!raise(SIGILL) && caught == 3);
    TWICE(unaligned, true);
    action.sa_flags |= SA_RESETHAND;
    CHECK(!shared_sigaction(SIGILL, &action, NULL));
    meets_illegal();
    CHECK(!sigaction(SIGILL, NULL, &now) && now.sa_handler == SIG_DFL);
}

static volatile uint64_t sums;
static volatile bool wrong;

static void uses_p(int number) {
    sums++;
    if (number == SIGALRM ? by_p(sums, A, B) != by_c(sums, A, B) : plain(A, B) != add32(A, B))
        wrong = true;
    if (number == SIGALRM)
        raise(SIGUSR1);
}

/* Signal handlers that use P interrupt P, its stubs and the emulation, with all signals blocked. */
static void nested(void) {
    struct sigaction action = {.sa_handler = uses_p};
    sigset_t all, old;

    sigfillset(&action.sa_mask);
    CHECK(!sigaction(SIGALRM, &action, NULL) && !sigaction(SIGUSR1, &action, NULL));
    /* One signal at a time, after different times. */
    for (int i = 0; i < 100; i++) {
        const struct itimerval once = {{0, 0}, {0, 50 + i * 37 % 400}};
        const uint64_t before = sums;

        CHECK(!setitimer(ITIMER_REAL, &once, NULL));
        while (sums < before + 2)
            CHECK(by_p(before, A, B) == by_c(before, A, B));
    }
    CHECK(!wrong);

    sigfillset(&all);
    CHECK(!sigprocmask(SIG_SETMASK, &all, &old) && !sigprocmask(SIG_BLOCK, NULL, &old));
    CHECK(!sigismember(&old, SIGILL) && sigismember(&old, SIGUSR1) && sigismember(&old, SIGALRM));
    TWICE(unaligned, true);
    CHECK(!pthread_sigmask(SIG_UNBLOCK, &all, NULL) && !pthread_sigmask(SIG_BLOCK, &all, &old));
    CHECK(!sigismember(&old, SIGUSR1));
    TWICE(straddles, true);
}

static void counts(void) {
    const uint64_t first = counted(A, B), waited = waits(A, B);

    for (int i = 1; i < 20; i++)
        CHECK(counted(A, B) == first && waits(A, B) == waited);
}

static void unknown(void) {
    unknown_word(A, B);
}

static void illegal(void) {
    illegal_word(A, B);
}

static void sent(void) {
    raise(SIGILL);
}

static const struct rvp_case cases[] = {
    {"replaced", replaced},       {"stack_pointer", stack_pointer},
    {"unreachable", unreachable}, {"used_up", used_up},
    {"many_words", many_words},   {"runs", in_runs},
    {"overflow", overflow},       {"threads", in_threads},
    {"handlers", handlers},       {"nested", nested},
    {"unknown", unknown},         {"counts", counts},
    {"illegal", illegal},         {"sent", sent},
};

int main(int argc, char **argv) {
    return run_case(argc, argv, cases, sizeof cases / sizeof *cases);
}
