/* Targets: their names, what they can do, and the cost rule's view of them. */
#include <stdlib.h>
#include <string.h>
#include <cpuinfo.h>
#include <pthread.h>
#include <llvm-c/Target.h>
#include "backend.h"

/* Every feature that a kernel row or a target's name may ask for, in LLVM's spelling. */
static const char *const x86_features[] = {
    "sse2",       "sse3",       "ssse3",       "sse4.1",      "sse4.2",       "popcnt",
    "movbe",      "avx",        "avx2",        "fma",         "f16c",         "bmi",
    "bmi2",       "lzcnt",      "avxvnni",     "avxvnniint8", "avxifma",      "avx512f",
    "avx512cd",   "avx512bw",   "avx512dq",    "avx512vl",    "avx512vnni",   "avx512bf16",
    "avx512fp16", "avx512vbmi", "avx512vbmi2", "avx512ifma",  "avx512bitalg", "avx512vpopcntdq",
    "gfni",       "vaes",       "vpclmulqdq",  "amx-tile",    "amx-int8",     "amx-bf16",
    NULL};

#define UK_HAS_BASE "sse2"
#define UK_HAS_AVX2                                                                                    \
    UK_HAS_BASE, "sse3", "ssse3", "sse4.1", "sse4.2", "popcnt", "movbe", "avx", "avx2", "fma", "f16c", \
        "bmi", "bmi2", "lzcnt"
#define UK_HAS_AVX512 UK_HAS_AVX2, "avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"

static const char *const has_base[] = {UK_HAS_BASE, NULL};
static const char *const has_avx2[] = {UK_HAS_AVX2, NULL};
static const char *const has_avx512[] = {UK_HAS_AVX512, NULL};
static const char *const has_nothing[] = {NULL};

#define UK_TRIPLE "x86_64-unknown-linux-gnu"

/* The caches of a cross target are the smallest of the CPUs that have the ISA. */
static const struct uk_target rows[] = {
    {.name = "x86_64-avx512",
     .arch = "x86_64",
     .triple = UK_TRIPLE,
     .cpu = "skylake-avx512",
     .features = "",
     .has = has_avx512,
     .machine = {64, 2, 2, 4, 32 << 10, 1 << 20}},
    {.name = "x86_64-avx2",
     .arch = "x86_64",
     .triple = UK_TRIPLE,
     .cpu = "haswell",
     .features = "",
     .has = has_avx2,
     .machine = {32, 2, 2, 4, 32 << 10, 256 << 10}},
    {.name = "x86_64-generic",
     .arch = "x86_64",
     .triple = UK_TRIPLE,
     .cpu = "x86-64",
     .features = "",
     .has = has_base,
     .machine = {16, 1, 2, 4, 32 << 10, 256 << 10}},
    {.name = "interp",
     .arch = "none",
     .has = has_nothing,
     .interpreted = true,
     .machine = {32, 2, 2, 4, 32 << 10, 256 << 10}},
};

bool uk_target_has(const struct uk_target *t, const char *feature) {
    for (const char *const *h = t->has; *h; h++)
        if (!strcmp(*h, feature))
            return true;
    return false;
}

struct uk_backend *uk_backend(struct uk_context *c) {
    if (!c->backend && !(c->backend = calloc(1, sizeof *c->backend)))
        uk_out_of_memory(c);
    return c->backend;
}

void uk_backend_destroy(struct uk_backend *b) {
    if (!b)
        return;
    for (struct uk_known_target *t = b->targets; t; t = t->next)
        if (t->machine)
            LLVMDisposeTargetMachine(t->machine);
    uk_cache_clear(b);
    while (b->compiled) {
        struct uk_compiled *next = b->compiled->next;

        free(b->compiled->source);
        free(b->compiled->target);
        free(b->compiled->bitcode);
        free(b->compiled);
        b->compiled = next;
    }
    while (b->tried) {
        struct uk_tried *next = b->tried->next;

        free(b->tried->bytes);
        free(b->tried->target);
        free(b->tried);
        b->tried = next;
    }
    free(b);
}

/* "+name," or "+name" at the end of LLVM's list. */
static bool listed(const char *features, const char *name) {
    size_t n = strlen(name);

    for (const char *s = features; (s = strstr(s, name)); s += n)
        if (s > features && s[-1] == '+' && (s[n] == ',' || !s[n]))
            return true;
    return false;
}

const char *uk_target_lacks(const struct uk_target *t, const char *features) {
    for (const char *const *f = x86_features; *f; f++)
        if (listed(features, *f) && !uk_target_has(t, *f))
            return *f;
    return NULL;
}

const char *uk_target_lacks_intrinsic(const struct uk_target *t, const char *name) {
    static const char prefix[] = "llvm.x86.";

    if (strncmp(name, prefix, sizeof prefix - 1))
        return NULL;
    name += sizeof prefix - 1;
    size_t n = strcspn(name, ".");
    if (n == 6 && !strncmp(name, "avx512", n))
        return uk_target_has(t, "avx512f") ? NULL : "avx512f";
    for (const char *const *f = x86_features; *f; f++)
        if (strlen(*f) == n && !strncmp(*f, name, n) && !uk_target_has(t, *f))
            return *f;
    return NULL;
}

static int64_t clamp(int64_t v, int64_t least, int64_t most) {
    return v < least ? least : v > most ? most : v;
}

/* Virtual machines report whatever their host pleases; a core's own caches lie within these bounds. */
static void native_caches(struct uk_machine *m) {
    if (!cpuinfo_initialize())
        return;
    const struct cpuinfo_cache *l1 = cpuinfo_get_l1d_cache(0), *l2 = cpuinfo_get_l2_cache(0);

    if (l1)
        m->l1_bytes = clamp(l1->size, 16 << 10, 128 << 10);
    if (l2)
        m->l2_bytes = clamp(l2->size, 128 << 10, 4 << 20);
}

/* Cores that are not the two full-width FMAs a cycle of the rows above. */
static void native_pipes(struct uk_machine *m, const char *cpu) {
    if (!strcmp(cpu, "znver4"))
        m->fma_per_cycle = m->load_per_cycle = m->vector_bytes == 64 ? 1 : 2;
    if (!strcmp(cpu, "znver1"))
        m->fma_per_cycle = m->load_per_cycle = 1;
    if (!strcmp(cpu, "znver4") || !strcmp(cpu, "znver5") || !strcmp(cpu, "sapphirerapids") ||
        !strcmp(cpu, "emeraldrapids") || !strcmp(cpu, "graniterapids"))
        m->issue_width = 6;
}

static bool native_host(struct uk_arena *a, struct uk_target *t) {
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    const char **has = uk_alloc(a, sizeof x86_features);
    int n = 0;

    t->cpu = cpu ? uk_strdup(a, cpu) : NULL;
    t->features = features ? uk_strdup(a, features) : NULL;
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    if (!has || !t->cpu || !t->features)
        return false;
    for (const char *const *f = x86_features; *f; f++)
        if (listed(t->features, *f))
            has[n++] = *f;
    t->has = has;
    t->triple = UK_TRIPLE;
    t->arch = "x86_64";
    t->name = "native";
    t->machine = rows[uk_target_has(t, "avx512f") ? 0 : uk_target_has(t, "avx2") ? 1 : 2].machine;
    native_caches(&t->machine);
    native_pipes(&t->machine, t->cpu);
    return true;
}

/* UK_ISA lowers what "native" is; it never raises it, since the code still has to run here. */
static void lower_native(struct uk_target *t) {
    const char *isa = getenv("UK_ISA");
    const struct uk_target *row = NULL;

    if (isa && !strcmp(isa, "avx2") && uk_target_has(t, "avx2"))
        row = &rows[1];
    else if (isa && !strcmp(isa, "generic"))
        row = &rows[2];
    if (!row)
        return;
    int64_t l1 = t->machine.l1_bytes, l2 = t->machine.l2_bytes;
    *t = *row;
    t->name = "native";
    t->machine.l1_bytes = l1;
    t->machine.l2_bytes = l2;
}

/* Adds the "+feature" parts of a name to what its base has. */
static enum uk_status add_features(struct uk_context *c, struct uk_target *t, const char *plus) {
    struct uk_position nowhere = {0, 0};
    size_t room = 0;

    while (t->has[room])
        room++;
    const char **has = uk_alloc(&c->arena, (room + strlen(plus) + 1) * sizeof *has);
    if (!has)
        return uk_out_of_memory(c);
    memcpy(has, t->has, room * sizeof *has);
    while (*plus == '+') {
        size_t n = strcspn(++plus, "+");
        const char *const *f = x86_features;

        while (*f && (strlen(*f) != n || strncmp(*f, plus, n)))
            f++;
        if (!*f)
            return uk_fail(
                c, UK_INVALID_ARGUMENT, nowhere,
                "target %s: unknown feature '%.*s'; take LLVM's spelling, for instance +avx512vnni", t->name,
                (int)n, plus);
        has[room++] = *f;
        t->features = uk_format(&c->arena, "%s%s+%s", t->features, *t->features ? "," : "", *f);
        if (!t->features)
            return uk_out_of_memory(c);
        plus += n;
    }
    t->has = has;
    return UK_OK;
}

static enum uk_status find_base(struct uk_context *c, const char *name, size_t n, struct uk_target *t) {
    struct uk_position nowhere = {0, 0};

    if (n == 6 && !strncmp(name, "native", 6)) {
        if (!native_host(&c->arena, t))
            return uk_out_of_memory(c);
        lower_native(t);
        return UK_OK;
    }
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == n && !strncmp(rows[i].name, name, n)) {
            *t = rows[i];
            return UK_OK;
        }
    return uk_fail(
        c, UK_INVALID_ARGUMENT, nowhere,
        "unknown target '%s'; the known ones are native, x86_64-avx2, x86_64-avx512, x86_64-generic "
        "(each with +feature...) and interp",
        name);
}

enum uk_status uk_target_find(struct uk_context *c, const char *name, const struct uk_target **out) {
    struct uk_backend *b = uk_backend(c);
    size_t n = strcspn(name, "+");

    *out = NULL;
    if (!b)
        return UK_OUT_OF_MEMORY;
    for (struct uk_known_target *k = b->targets; k; k = k->next)
        if (!strcmp(k->target.name, name)) {
            *out = &k->target;
            return UK_OK;
        }
    struct uk_known_target *k = uk_alloc(&c->arena, sizeof *k);
    if (!k)
        return uk_out_of_memory(c);
    enum uk_status s = find_base(c, name, n, &k->target);
    if (!s && name[n] && !k->target.interpreted)
        s = add_features(c, &k->target, name + n);
    if (!s && !(k->target.name = uk_strdup(&c->arena, name)))
        s = uk_out_of_memory(c);
    if (s)
        return s;
    k->next = b->targets;
    b->targets = k;
    *out = &k->target;
    return UK_OK;
}

static void initialize_llvm(void) {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser();
}

void uk_initialize_llvm(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, initialize_llvm);
}

enum uk_status uk_target_machine(struct uk_context *c, const struct uk_target *t, LLVMTargetMachineRef *out) {
    struct uk_position nowhere = {0, 0};
    struct uk_known_target *k =
        (struct uk_known_target *)((char *)t - offsetof(struct uk_known_target, target));
    LLVMTargetRef llvm_target;
    char *error = NULL;

    uk_initialize_llvm();
    if (!k->machine) {
        if (LLVMGetTargetFromTriple(t->triple, &llvm_target, &error)) {
            enum uk_status s =
                uk_fail(c, UK_UNSUPPORTED, nowhere, "target %s: this LLVM cannot: %s", t->name, error);

            LLVMDisposeMessage(error);
            return s;
        }
        k->machine = LLVMCreateTargetMachine(llvm_target, t->triple, t->cpu, t->features,
                                             LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
        if (!k->machine)
            return uk_fail(c, UK_UNSUPPORTED, nowhere, "target %s: this LLVM has no code generator for %s",
                           t->name, t->triple);
    }
    *out = k->machine;
    return UK_OK;
}

enum uk_status uk_target_runnable(struct uk_context *c, const struct uk_target *t) {
    struct uk_position nowhere = {0, 0};
    char *features = LLVMGetHostCPUFeatures();
    const char *missing = NULL;

    if (!features)
        return uk_out_of_memory(c);
#ifndef __x86_64__
    missing = "x86_64";
#endif
    for (const char *const *h = t->has; *h && !missing; h++)
        if (!listed(features, *h))
            missing = *h;
    LLVMDisposeMessage(features);
    return missing ? uk_fail(c, UK_UNSUPPORTED, nowhere,
                             "target %s: this CPU has no %s; emit an object for it, or compile for native",
                             t->name, missing)
                   : UK_OK;
}
