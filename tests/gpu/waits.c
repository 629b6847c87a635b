/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulator reports each missing wait and barrier of a compiled program: in its code object every
 * s_waitcnt and every s_barrier is replaced by s_nop, and every count of a wait is raised by one, one at a
 * time. A change that is not reported must be covered by another wait: an earlier one, so that nothing is
 * outstanding there in any call, or a later one, which then finds more outstanding than without the change.
 * What covers it is printed.
 *
 *     waits DIRECTORY
 *
 * The programs are the directory's examples, called as usual; a driver between them and the simulator changes
 * the image.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu.h"
#include "compiled.h"
#include "driver.h"

enum { MOST_CALLS = 8, MOST = 256, MOST_CODE = 4096 };

/* A program, and calls of it that execute all its waits: values of M, N and K, or of the only size; the list
 * ends with a negative one. */
static const struct example {
    const char *name;
    int64_t calls[MOST_CALLS][3];
} examples[] = {
    {"vadd.uk", {{1027}, {1026}, {1025}, {1024}, {3}, {-1}}},
    {"vadd_gpu.uk", {{1000}, {64}, {-1}}},
    {"matmul.uk",
     {{65, 130, 23}, {64, 64, 64}, {127, 191, 19}, {200, 199, 31}, {129, 127, 40}, {1, 1, 1}, {-1}}},
    {"matmul_gpu.uk",
     {{129, 130, 23}, {128, 128, 64}, {127, 191, 19}, {200, 199, 31}, {255, 383, 8}, {1, 1, 1}, {-1}}},
    {"matmul_gfx90a.uk",
     {{129, 257, 23}, {128, 256, 64}, {127, 255, 19}, {200, 379, 31}, {255, 511, 8}, {1, 1, 1}, {-1}}},
};

/* ---- a driver that changes what it loads ---- */

struct change {
    /* offset in the kernel's code, and the changed word */
    uint32_t offset, word;
    /* the original instruction */
    char text[64];
    const char *what;
    /* outstanding accesses without the change, on the counters concerned */
    uint64_t waited;
};

static const struct change *change; /* NULL: none */
static const struct uk_amdgpu_kernel *kernel;

/* The code of an image, which begins with the first kernel's. */
static unsigned char *code_of(unsigned char *image) {
    const Elf64_Ehdr *e = (const void *)image;
    const Elf64_Shdr *s = (const void *)(image + e->e_shoff);

    for (int i = 0; i < e->e_shnum; i++)
        if (s[i].sh_type == SHT_PROGBITS && s[i].sh_flags & SHF_EXECINSTR)
            return image + s[i].sh_offset;
    fail_msg("the image has no code");
    return NULL;
}

static enum uk_status load(void *device, const void *image, size_t bytes, struct uk_gpu_module **module,
                           char *message) {
    unsigned char *copy = malloc(bytes);

    assert_non_null(copy);
    memcpy(copy, image, bytes);
    if (change)
        memcpy(code_of(copy) + change->offset, &change->word, sizeof change->word);
    const enum uk_status status = uk_gpu_sim.load(device, copy, bytes, module, message);
    free(copy);
    if (!status) {
        const struct uk_amdgpu_object *object = (const struct uk_amdgpu_object *)*module;

        assert_true(uk_amdgpu_n_kernels(object) > 0);
        kernel = uk_amdgpu_kernel(object, 0);
    }
    return status;
}

/* ---- one program ---- */

/* Executions of an instruction. */
struct executed {
    uint64_t times, waited[2];
};

struct trial {
    const struct example *example;
    struct run run;
    int ordinal, calls;
    struct random_data data[MOST_CALLS];
    /* over all calls without a change */
    struct executed executed[MOST_CODE];
    struct change changes[MOST];
    int n_changes;
};

/* Prepares a program. False: it is not for the target. */
static bool begin(struct trial *t, const char *directory, const struct example *e, int ordinal) {
    char path[512];

    *t = (struct trial){.example = e, .ordinal = ordinal};
    snprintf(path, sizeof path, "%s/%s", directory, e->name);
    if (!compile_file(&t->run, path, ordinal))
        return false;
    for (; t->calls < MOST_CALLS && e->calls[t->calls][0] >= 0; t->calls++) {
        const int64_t *at = e->calls[t->calls], one[] = {at[0], at[0], at[0]};

        product_data(&t->data[t->calls], t->run.program, uk_program_sizes(t->run.program) == 1 ? one : at,
                     300);
    }
    return true;
}

static void end(struct trial *t) {
    for (int i = 0; i < t->calls; i++)
        random_data_free(&t->data[i]);
    compiled_end(&t->run);
}

/* Calls the program and returns its status; *same, which may be NULL: true if the tensors are as expected. */
static enum uk_status call(struct trial *t, struct uk_gpu *gpu, int number, bool *same) {
    char where[64];

    t->run.device = gpu;
    const int status = run_call(&t->run, &t->data[number]);
    if (same)
        *same = !status && random_data_matches(&t->data[number], t->run.program, where);
    return (enum uk_status)status;
}

/* ---- the changes ---- */

static void add(struct trial *t, const struct uk_amdgpu_instruction *i, uint32_t word, const char *what,
                uint64_t waited) {
    struct change *c = &t->changes[t->n_changes++];

    assert_true(t->n_changes <= MOST);
    *c = (struct change){.offset = i->offset, .word = word, .what = what, .waited = waited};
    snprintf(c->text, sizeof c->text, "%s", i->text);
}

/* Encodes s_waitcnt with these counts; the largest values mean no wait. */
enum { VMCNT_NONE = 63, EXPCNT_NONE = 7, LGKMCNT_NONE = 15 };
static uint32_t wait_word(unsigned vmcnt, unsigned lgkmcnt) {
    return 0xbf8c0000u | (vmcnt & 15) | (vmcnt >> 4) << 14 | EXPCNT_NONE << 4 | lgkmcnt << 8;
}

static void add_wait(struct trial *t, const struct uk_amdgpu_instruction *i, const uint64_t waited[2]) {
    const char *v = strstr(i->text, "vmcnt("), *l = strstr(i->text, "lgkmcnt(");
    const unsigned vmcnt = v ? (unsigned)atoi(v + sizeof "vmcnt(" - 1) : VMCNT_NONE,
                   lgkmcnt = l ? (unsigned)atoi(l + sizeof "lgkmcnt(" - 1) : LGKMCNT_NONE;

    assert_true(v || l);
    if (v)
        add(t, i, wait_word(vmcnt + 1, lgkmcnt), "vmcnt is raised", waited[0]);
    if (l)
        add(t, i, wait_word(vmcnt, lgkmcnt + 1), "lgkmcnt is raised", waited[1]);
    add(t, i, wait_word(VMCNT_NONE, LGKMCNT_NONE), "without it", waited[0] + waited[1]);
}

/* Adds the counts of the last launch. */
static void add_executed(struct executed *e) {
    assert_true(uk_amdgpu_n_instructions(kernel) <= MOST_CODE);
    for (uint32_t i = 0; i < uk_amdgpu_n_instructions(kernel); i++) {
        const struct uk_amdgpu_instruction at = uk_amdgpu_instruction(kernel, i);

        e[i].times += at.executed;
        e[i].waited[0] += at.waited[0];
        e[i].waited[1] += at.waited[1];
    }
}

/* Finds all waits and barriers of the kernel; some call must execute each. */
static void find_changes(struct trial *t) {
    enum { S_NOP = 0xbf800000 };
    struct uk_gpu *gpu = open_gpu("changing", t->ordinal);
    bool same;

    for (int i = 0; i < t->calls; i++) {
        if (call(t, gpu, i, &same) || !same)
            fail_msg("%s on %s: call %d: %s", t->example->name, targets[t->ordinal], i, uk_gpu_message(gpu));
        add_executed(t->executed);
    }
    for (uint32_t k = 0; k < uk_amdgpu_n_instructions(kernel); k++) {
        const struct uk_amdgpu_instruction i = uk_amdgpu_instruction(kernel, k);

        if (i.kind != UK_AMDGPU_WAIT && i.kind != UK_AMDGPU_BARRIER)
            continue;
        if (!t->executed[k].times)
            fail_msg("%s on %s: no call executes %s at 0x%x; add one to the list", t->example->name,
                     targets[t->ordinal], i.text, i.offset);
        if (i.kind == UK_AMDGPU_WAIT)
            add_wait(t, &i, t->executed[k].waited);
        else
            add(t, &i, S_NOP, "without it", t->executed[k].times);
    }
    uk_gpu_close(gpu);
}

/* Finds a wait at which more is outstanding than without the change; NULL: there is none. The text is valid
 * until the device is closed. */
static const char *covering(const struct trial *t, const struct change *c, const struct executed *now,
                            uint32_t *at) {
    for (uint32_t i = 0; i < uk_amdgpu_n_instructions(kernel); i++) {
        const struct uk_amdgpu_instruction other = uk_amdgpu_instruction(kernel, i);

        *at = other.offset;
        for (int q = 0; q < 2; q++)
            if (other.offset != c->offset && now[i].waited[q] > t->executed[i].waited[q])
                return other.text;
    }
    return NULL;
}

enum outcome { REPORTED, COVERED, MISSED };

/* Runs all calls with the change. */
static enum outcome try_change(struct trial *t, const struct change *c) {
    static struct executed now[MOST_CODE];
    const char *by = NULL;
    bool found = false;
    uint32_t at = 0;

    memset(now, 0, sizeof now);
    change = c;
    for (int i = 0; i < t->calls && !found; i++) {
        struct uk_gpu *gpu = open_gpu("changing", t->ordinal);

        found = call(t, gpu, i, NULL) == UK_DEVICE;
        add_executed(now);
        if (!found && i == t->calls - 1 && c->waited && (by = covering(t, c, now, &at)))
            print_message("%s on %s: %s at 0x%x, %s: covered by %s at 0x%x\n", t->example->name,
                          targets[t->ordinal], c->text, c->offset, c->what, by, at);
        uk_gpu_close(gpu);
    }
    if (!found && !c->waited)
        print_message("%s on %s: %s at 0x%x, %s: covered by those before it\n", t->example->name,
                      targets[t->ordinal], c->text, c->offset, c->what);
    change = NULL;
    return found ? REPORTED : by || !c->waited ? COVERED : MISSED;
}

static const char *directory;

static void run(void **state) {
    int missed = 0;

    for (int ordinal = 0; ordinal < TARGETS; ordinal++) {
        static struct trial t;
        int reported = 0;

        if (begin(&t, directory, *state, ordinal)) {
            find_changes(&t);
            for (int i = 0; i < t.n_changes; i++) {
                const struct change *c = &t.changes[i];
                const enum outcome o = try_change(&t, c);

                reported += o == REPORTED;
                missed += o == MISSED;
                if (o == MISSED)
                    print_error("%s on %s: %s at 0x%x, %s: neither reported nor covered\n", t.example->name,
                                targets[ordinal], c->text, c->offset, c->what);
            }
            print_message("%s on %s: %d changes, %d reported\n", t.example->name, targets[ordinal],
                          t.n_changes, reported);
            assert_true(t.n_changes >= 6 && 5 * reported >= 2 * t.n_changes);
        }
        end(&t);
    }
    assert_int_equal(missed, 0);
}

int main(int argc, char **argv) {
    enum { EXAMPLES = sizeof examples / sizeof *examples };
    static struct uk_gpu_driver changing;
    struct CMUnitTest tests[EXAMPLES];

    if (argc != 2)
        return 2;
    directory = argv[1];
    changing = uk_gpu_sim;
    changing.kind = "changing";
    changing.load = load;
    if (uk_gpu_register(&changing))
        return 1;
    for (int i = 0; i < EXAMPLES; i++)
        tests[i] = (struct CMUnitTest){
            .name = examples[i].name, .test_func = run, .initial_state = (void *)(uintptr_t)&examples[i]};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
