/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of a few kilobytes without a C library: prints the features of the CPU that it runs on, named as
 * in archs.def. A command of --remote-prefix may present another CPU than the board's.
 */
typedef unsigned long word;
enum { AT_HWCAP_ = 16, AT_HWCAP2_ = 26 };

#if defined __x86_64__
enum { SYS_WRITE = 1, SYS_EXIT = 231 };
#define NUMBER "rax"
#define ARGUMENT_1 "rdi"
#define ARGUMENT_2 "rsi"
#define ARGUMENT_3 "rdx"
#define CALL "syscall"
#define CHANGED "rcx", "r11",
#define START "mov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin"
#elif defined __aarch64__
enum { SYS_WRITE = 64, SYS_EXIT = 94 };
#define NUMBER "x8"
#define ARGUMENT_1 "x0"
#define ARGUMENT_2 "x1"
#define ARGUMENT_3 "x2"
#define CALL "svc 0"
#define CHANGED
#define START "mov x0, sp\n\tbl begin"
#elif defined __riscv
enum { SYS_WRITE = 64, SYS_EXIT = 94 };
#define NUMBER "a7"
#define ARGUMENT_1 "a0"
#define ARGUMENT_2 "a1"
#define ARGUMENT_3 "a2"
#define CALL "ecall"
#define CHANGED
#define START "mv a0, sp\n\tcall begin"
#else /* ARM; compiled as ARM code, because Thumb may use r7 as frame pointer */
enum { SYS_WRITE = 4, SYS_EXIT = 248 };
#define NUMBER "r7"
#define ARGUMENT_1 "r0"
#define ARGUMENT_2 "r1"
#define ARGUMENT_3 "r2"
#define CALL "svc 0"
#define CHANGED
#define START "mov r0, sp\n\tbl begin"
#endif

/* Makes a system call. Its result overwrites the number or the first argument, and is ignored. */
static void call(long number, long a, long b, long c) {
    register long n __asm__(NUMBER) = number, first __asm__(ARGUMENT_1) = a, second __asm__(ARGUMENT_2) = b,
                    third __asm__(ARGUMENT_3) = c;

    __asm__ volatile(CALL : "+r"(n), "+r"(first) : "r"(second), "r"(third) : CHANGED "memory");
}
__asm__(".globl _start\n_start:\n\t" START "\n");

static void put(const char *text) {
    long n = 0;

    while (text[n])
        n++;
    call(SYS_WRITE, 1, (long)text, n);
}

#if defined __x86_64__
static void cpuid(unsigned leaf, unsigned sub, unsigned r[4]) {
    __asm__ volatile("cpuid" : "=a"(r[0]), "=b"(r[1]), "=c"(r[2]), "=d"(r[3]) : "a"(leaf), "c"(sub));
}
/* CPUID leaf, register and bit of each feature; `state`: bits that the system must have enabled in XCR0. */
static const struct {
    const char *name;
    unsigned leaf, sub, reg, bit, state;
} bits[] = {
    {"sse2 ", 1, 0, 3, 26, 0},        {"sse3 ", 1, 0, 2, 0, 0},           {"ssse3 ", 1, 0, 2, 9, 0},
    {"sse4.1 ", 1, 0, 2, 19, 0},      {"sse4.2 ", 1, 0, 2, 20, 0},        {"popcnt ", 1, 0, 2, 23, 0},
    {"movbe ", 1, 0, 2, 22, 0},       {"avx ", 1, 0, 2, 28, 6},           {"avx2 ", 7, 0, 1, 5, 6},
    {"fma ", 1, 0, 2, 12, 6},         {"f16c ", 1, 0, 2, 29, 6},          {"bmi ", 7, 0, 1, 3, 0},
    {"bmi2 ", 7, 0, 1, 8, 0},         {"lzcnt ", 0x80000001, 0, 2, 5, 0}, {"avxvnni ", 7, 1, 0, 4, 6},
    {"avx512f ", 7, 0, 1, 16, 0xe6},  {"avx512cd ", 7, 0, 1, 28, 0xe6},   {"avx512bw ", 7, 0, 1, 30, 0xe6},
    {"avx512dq ", 7, 0, 1, 17, 0xe6}, {"avx512vl ", 7, 0, 1, 31, 0xe6},   {"avx512vnni ", 7, 0, 2, 11, 0xe6},
    {"avx512bf16 ", 7, 1, 0, 5, 0xe6}};

static int has(int i, word hwcap, word hwcap2) {
    unsigned r[4], low = 0, high = 0;

    (void)hwcap;
    (void)hwcap2;
    cpuid(1, 0, r);
    if (r[2] >> 27 & 1)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    cpuid(bits[i].leaf & 0x80000000u, 0, r);
    if (r[0] < bits[i].leaf || (low & bits[i].state) != bits[i].state)
        return 0;
    cpuid(bits[i].leaf, bits[i].sub, r);
    return r[bits[i].reg] >> bits[i].bit & 1;
}
#else
/* Bits of the auxiliary vector's AT_HWCAP and AT_HWCAP2, as in <asm/hwcap.h> of each architecture. */
static const struct {
    const char *name;
    int is_second, bit;
} bits[] =
#if defined __aarch64__
    {{"neon ", 0, 1},     {"fullfp16 ", 0, 10}, {"dotprod ", 0, 20},
     {"fp16fml ", 0, 23}, {"i8mm ", 1, 13},     {"bf16 ", 1, 14}};
#elif defined __riscv
    {{"m ", 0, 'm' - 'a'}, {"a ", 0, 0}, {"f ", 0, 'f' - 'a'}, {"d ", 0, 'd' - 'a'}, {"c ", 0, 'c' - 'a'}};
#else
    {{"neon ", 0, 12}, {"vfp4 ", 0, 16}, {"hwdiv-arm ", 0, 17}};
#endif

static int has(int i, word hwcap, word hwcap2) {
    return (bits[i].is_second ? hwcap2 : hwcap) >> bits[i].bit & 1;
}
#endif

/* `stack` is the initial stack: arguments, environment, auxiliary vector. */
__attribute__((used, noreturn)) void begin(word *stack) {
    word *at = stack + 1 + stack[0] + 1, hwcap = 0, hwcap2 = 0;

    while (*at++)
        ;
    for (; at[0]; at += 2) {
        hwcap = at[0] == AT_HWCAP_ ? at[1] : hwcap;
        hwcap2 = at[0] == AT_HWCAP2_ ? at[1] : hwcap2;
    }
    for (int i = 0; i < (int)(sizeof bits / sizeof *bits); i++)
        if (has(i, hwcap, hwcap2))
            put(bits[i].name);
    put("\n");
    for (;;)
        call(SYS_EXIT, 0, 0, 0);
}
