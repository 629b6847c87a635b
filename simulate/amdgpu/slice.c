/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The slice of a kernel: the instructions on which its branches, EXEC and the addresses of its accesses to
 * buffers depend.
 *
 * A backward data flow over the code finds them: a register is live if an instruction of the slice may read
 * the value that it has. What a load returns is data, except of constant buffers, which hold the arguments.
 * Its registers become undefined, and the simulator's tracking of undefined bits reports if a branch, EXEC or
 * an address depends on them.
 *
 * A vector instruction writes only the lanes of EXEC. At first it is assumed that its readers have no other
 * lanes, so that older values of its registers are not live; the other lanes become undefined. If a report
 * shows that the assumption was wrong, the older values are live, too (uk_slice_writes).
 */
#include <stdlib.h>
#include <string.h>
#include "kinds.h"

enum {
    FIRST_S = UK_AMDGPU_V_REGISTERS,
    SCC = FIRST_S + UK_AMDGPU_S_REGISTERS,
    BITS = 64,
    WORDS = SCC / BITS + 1,
};

/* How an instruction writes vector registers: all lanes, as far as was seen; only some, while the other lanes
 * were not needed; some, while the others keep a value that may be needed. */
enum uk_slice_writes { ALL_LANES, SOME_LANES, KEEPS_LANES };

/* The registers that an instruction reads and writes. */
struct effects {
    uint64_t reads[WORDS], writes[WORDS];
};

static void add(uint64_t *set, unsigned first, unsigned n) {
    for (unsigned r = first; r < first + n; ++r)
        set[r / BITS] |= (uint64_t)1 << r % BITS;
}

static void add_operand(uint64_t *set, const struct uk_amdgpu_operand *o) {
    if (o->kind == UK_AMDGPU_OPERAND_V)
        add(set, o->index, o->words);
    else if (o->kind == UK_AMDGPU_OPERAND_S)
        add(set, FIRST_S + o->index, o->words);
    else if (o->kind == UK_AMDGPU_OPERAND_SCC)
        add(set, SCC, 1);
}

static bool meet(const uint64_t *a, const uint64_t *b) {
    uint64_t both = 0;

    for (int k = 0; k < WORDS; ++k)
        both |= a[k] & b[k];
    return both;
}

static bool is_load(const struct uk_amdgpu_inst *i) {
    return (i->run == uk_run_global || i->run == uk_run_lds) && !(i->op->flags & F_WRITE);
}

static bool accesses_buffer(const struct uk_amdgpu_inst *i) {
    return i->run == uk_run_global && !(i->op->flags & (F_BUFFER | F_PRIVATE));
}

static void valu_effects(const struct uk_amdgpu_inst *i, struct effects *e) {
    add_operand(e->writes, &i->o[0]);
    add_operand(e->writes, &i->o[4]);
    for (int k = 1; k <= 3; ++k)
        add_operand(e->reads, &i->o[k]);
    add_operand(e->reads, &i->o[5]);
    if (i->op->flags & F_KEEP || i->sdwa)
        add_operand(e->reads, &i->o[0]);
}

static void salu_effects(const struct uk_amdgpu_inst *i, struct effects *e) {
    const uint32_t flags = i->op->flags;

    if (!(flags & F_NO_D))
        add_operand(e->writes, &i->o[0]);
    add_operand(e->reads, &i->o[1]);
    add_operand(e->reads, &i->o[2]);
    if (flags & F_ACC)
        add_operand(e->reads, &i->o[0]);
    if (flags & (F_SCC_IN | F_SELECT))
        add(e->reads, SCC, 1);
    if (flags & F_SCC_OUT)
        add(e->writes, SCC, 1);
    if (flags & F_EXEC)
        add(e->writes, FIRST_S + EXEC, 2);
}

/* Of an access to memory the slice has only the address. */
static void memory_effects(const struct uk_amdgpu_inst *i, struct effects *e) {
    const bool write = i->op->flags & F_WRITE;

    if (!write)
        add_operand(e->writes, &i->o[0]);
    if (accesses_buffer(i)) {
        add_operand(e->reads, &i->o[!write]);
        add_operand(e->reads, &i->o[2]);
    }
}

static struct effects effects_of(const struct uk_amdgpu_inst *i) {
    struct effects e = {{0}, {0}};

    add(e.reads, FIRST_S + EXEC, 2);
    if (i->run == uk_run_valu) {
        valu_effects(i, &e);
    } else if (i->run == uk_run_salu) {
        salu_effects(i, &e);
    } else if (i->run == uk_run_global || i->run == uk_run_lds) {
        memory_effects(i, &e);
    } else if (i->run == uk_run_branch) {
        add(e.reads, SCC, 1);
        add(e.reads, FIRST_S + VCC, 2);
    } else if (i->run == uk_run_swap) {
        for (int k = 0; k < 2; ++k) {
            add_operand(e.reads, &i->o[k]);
            add_operand(e.writes, &i->o[k]);
        }
    } else if (i->run == uk_run_smem || i->run == uk_run_readlane || i->run == uk_run_writelane ||
               i->run == uk_run_getpc) {
        add_operand(e.writes, &i->o[0]);
        add_operand(e.reads, &i->o[1]);
        add_operand(e.reads, &i->o[2]);
        if (i->run == uk_run_writelane)
            add_operand(e.reads, &i->o[0]);
    }
    return e;
}

/* Branches read only what their names say. */
static void restrict_branch(const struct uk_amdgpu_inst *i, struct effects *e) {
    const char *on = i->op->name[2] == 'c' ? i->op->name + sizeof "s_cbranch_" - 1 : "";

    if (*on != 's')
        e->reads[SCC / BITS] &= ~((uint64_t)1 << SCC % BITS);
    if (*on != 'v')
        e->reads[(FIRST_S + VCC) / BITS] &= ~((uint64_t)3 << (FIRST_S + VCC) % BITS);
}

/* Instructions that are part of any slice. Those that the simulator does not know stop it there. */
static bool is_always(const struct uk_amdgpu_inst *i) {
    return !i->op || i->run != i->op->run || i->run == uk_run_branch || i->run == uk_run_end ||
           i->run == uk_run_setpc || accesses_buffer(i);
}

/* Updates the live registers before instruction n from those after it. Returns true if there are more. */
static bool update(struct uk_slice *s, uint32_t n, bool *is_in_slice) {
    const struct uk_amdgpu_inst *i = &s->code->inst[n];
    const bool branches = i->run == uk_run_branch, jumps = branches && i->op->name[2] == 'b';
    struct effects e = effects_of(i);
    uint64_t after[WORDS] = {0}, *live = s->live + (size_t)n * WORDS, grown = 0;

    if (branches)
        restrict_branch(i, &e);
    for (int k = 0; k < WORDS; ++k) {
        if (n + 1 < s->code->n && !jumps && i->run != uk_run_end)
            after[k] |= live[WORDS + k];
        if (branches)
            after[k] |= s->live[(size_t)i->target * WORDS + (size_t)k];
    }
    add(after, FIRST_S + EXEC, 2);
    *is_in_slice = is_always(i) || meet(e.writes, after);
    for (int k = 0; k < WORDS; ++k) {
        const bool vector = k < FIRST_S / BITS, kills = !vector || s->writes[n] != KEEPS_LANES;
        const uint64_t before =
            (after[k] & ~(kills ? e.writes[k] : 0)) | (*is_in_slice ? e.reads[k] : 0) | live[k];

        grown |= before ^ live[k];
        live[k] = before;
    }
    return grown;
}

static void find_slice(struct uk_slice *s) {
    bool is_in_slice, more = true;

    while (more) {
        more = false;
        for (uint32_t n = s->code->n; n--;)
            more |= update(s, n, &is_in_slice);
    }
    for (uint32_t n = s->code->n, next = n - 1; n--;) {
        update(s, n, &is_in_slice);
        next = is_in_slice ? n : next;
        s->next[n] = next;
    }
}

bool uk_slice_begin(struct uk_slice *s, const struct uk_amdgpu_code *code) {
    *s = (struct uk_slice){.code = code};
    s->next = malloc(code->n * sizeof *s->next);
    s->access = malloc(code->n * sizeof *s->access);
    s->writes = calloc(code->n, sizeof *s->writes);
    s->live = calloc((size_t)code->n * WORDS, sizeof *s->live);
    if (!s->next || !s->access || !s->writes || !s->live)
        return false;
    for (uint32_t n = 0; n < code->n; ++n)
        s->access[n] = accesses_buffer(&code->inst[n]) ? s->accesses++ : UK_NO_ACCESS;
    find_slice(s);
    return true;
}

void uk_slice_end(struct uk_slice *s) {
    free(s->next);
    free(s->access);
    free(s->writes);
    free(s->live);
}

/* ---- execution ---- */

static void make_undefined(struct uk_amdgpu_wave *w, const struct uk_amdgpu_operand *o, uint64_t lanes) {
    for (unsigned r = o->index; r < (unsigned)o->index + o->words; ++r) {
        w->undefined[r] |= lanes;
        for (int l = 0; l < UK_AMDGPU_LANES; ++l)
            w->undefined_bits[r][l] |= lanes >> l & 1 ? UINT32_MAX : 0;
    }
}

/* Constant buffers are loaded at once; others return data. */
static enum uk_amdgpu_step scalar_load(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const struct uk_simt_buffer *b;
    uint64_t base, offset, undefined[2];
    enum uk_amdgpu_step step = uk_scalar_source(w, i, &i->o[1], &base, &undefined[0]);

    if (!step)
        step = uk_scalar_source(w, i, &i->o[2], &offset, &undefined[1]);
    if (step)
        return step;
    b = uk_simt_buffer_at(&w->block->run->gpu->memory, base + offset + (uint64_t)(int64_t)i->address_offset);
    if (!(undefined[0] | undefined[1]) && b && b->constant) {
        step = uk_run_smem(w, i);
        uk_wait(w, UK_AMDGPU_QUEUE_LGKM, 0);
        return step;
    }
    memset(w->s_undefined + i->o[0].index, 255, i->o[0].words * sizeof w->s_undefined[0]);
    return UK_AMDGPU_STEP_NEXT;
}

/* Notes the address, and makes what a load returns undefined. */
static enum uk_amdgpu_step access_memory(const struct uk_slice *s, struct uk_amdgpu_wave *w,
                                         const struct uk_amdgpu_inst *i, uint64_t *address) {
    const struct uk_amdgpu_operand *a = &i->o[!(i->op->flags & F_WRITE)];
    const uint32_t access = s->access[i->number];
    const uint64_t exec = uk_exec(w);
    uint64_t lane[UK_AMDGPU_LANES], undefined = 0;
    enum uk_amdgpu_step step = UK_AMDGPU_STEP_NEXT;

    for (unsigned k = 0; k < a->words && access != UK_NO_ACCESS; ++k)
        undefined |= w->undefined[a->index + k] & exec;
    if (undefined)
        return UK_AMDGPU_STEP_STOPPED;
    if (access != UK_NO_ACCESS && exec && address[access] == UK_NO_ADDRESS) {
        step = uk_addresses(w, i, exec, lane);
        address[access] = lane[__builtin_ctzll(exec)];
    }
    if (is_load(i))
        make_undefined(w, &i->o[0], exec);
    return step;
}

static enum uk_amdgpu_step execute(const struct uk_slice *s, struct uk_amdgpu_wave *w,
                                   const struct uk_amdgpu_inst *i, uint64_t *address) {
    uint8_t *writes = &s->writes[i->number];
    enum uk_amdgpu_step step;

    if (i->run == uk_run_global || i->run == uk_run_lds)
        return access_memory(s, w, i, address);
    if (i->run == uk_run_smem)
        return scalar_load(w, i);
    step = i->run(w, i);
    if (i->run == uk_run_valu && i->o[0].kind == UK_AMDGPU_OPERAND_V && uk_exec(w) != w->alive &&
        *writes != KEEPS_LANES) {
        *writes = SOME_LANES;
        if (!(i->op->flags & F_KEEP || i->sdwa))
            make_undefined(w, &i->o[0], ~uk_exec(w));
    }
    return step;
}

/* A number that differs for other arguments, with a probability of 1 - 2^-64. */
static uint64_t mix(uint64_t before, uint64_t value) {
    const uint64_t x = (before ^ value) * 0x9e3779b97f4a7c15u;

    return x ^ x >> 29;
}

/* Executes the slice for one wave. false: it stopped. */
static bool run_wave(const struct uk_slice *s, struct uk_amdgpu_run_state *run, struct uk_amdgpu_wave *w,
                     uint64_t *kind, uint64_t *address) {
    uint64_t exec = 0;

    for (uint32_t at = s->next[0];;) {
        const struct uk_amdgpu_inst *i = &s->code->inst[at];
        const enum uk_amdgpu_step step =
            run->steps++ >= run->max_steps ? UK_AMDGPU_STEP_STOPPED : execute(s, w, i, address);

        if (step == UK_AMDGPU_STEP_STOPPED || step == UK_AMDGPU_STEP_ENDED)
            return step == UK_AMDGPU_STEP_ENDED;
        at = step == UK_AMDGPU_STEP_JUMPED ? w->pc : at + 1;
        if (i->run == uk_run_branch)
            *kind = mix(*kind, at);
        at = s->next[at];
        if (uk_exec(w) != exec)
            *kind = mix(*kind, exec = uk_exec(w));
    }
}

/* After a stop: values that were thought to be overwritten are kept. false: no instruction wrote only some
 * lanes, so the reason is another one. */
static bool keep_lanes(struct uk_slice *s) {
    bool any = false;

    for (uint32_t n = 0; n < s->code->n; ++n)
        if (s->writes[n] == SOME_LANES) {
            s->writes[n] = KEEPS_LANES;
            any = true;
        }
    if (any)
        find_slice(s);
    return any;
}

enum uk_slice_result uk_slice_block(struct uk_slice *s, struct uk_amdgpu_run_state *run,
                                    const struct uk_amdgpu_descriptor *descriptor, uint64_t *kind,
                                    uint64_t *address) {
    bool done = false;

    do {
        *kind = 0;
        for (uint32_t a = 0; a < s->accesses; ++a)
            address[a] = UK_NO_ADDRESS;
        done = true;
        for (uint32_t n = 0; n < run->block.n_waves && done; ++n) {
            uk_begin_wave(run, descriptor, run->waves[0], n);
            done = run_wave(s, run, run->waves[0], kind, address);
        }
        if (run->status == UK_AMDGPU_NO_MEMORY)
            return UK_SLICE_NO_MEMORY;
        run->status = UK_AMDGPU_OK;
    } while (!done && keep_lanes(s));
    return done ? UK_SLICE_DONE : UK_SLICE_DATA;
}
