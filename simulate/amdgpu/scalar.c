/* SPDX-License-Identifier: Apache-2.0 */
/* SALU, branches, waits. Each scalar register has a mask of its undefined bits. */
#include "state.h"

enum uk_amdgpu_step uk_scalar_source(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                     const struct uk_amdgpu_operand *o, uint64_t *value,
                                     uint64_t *undefined) {
    *undefined = 0;
    switch (o->kind) {
    case UK_AMDGPU_OPERAND_S:
        *value = o->words == 2 ? uk_s64(w->s, o->index) : w->s[o->index];
        *undefined = o->words == 2 ? uk_s64(w->s_undefined, o->index) : w->s_undefined[o->index];
        return *undefined ? uk_use_s(w, i, o->index, o->words, "used") : UK_AMDGPU_STEP_NEXT;
    case UK_AMDGPU_OPERAND_SCC:
        *value = w->scc;
        *undefined = w->scc_undefined ? UINT64_MAX : 0;
        return UK_AMDGPU_STEP_NEXT;
    default:
        *value = o->value[0] | (uint64_t)o->value[1] << 32;
        return UK_AMDGPU_STEP_NEXT;
    }
}

enum uk_amdgpu_step uk_scalar_write(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned index,
                                    unsigned words, uint64_t value, uint64_t undefined) {
    const enum uk_amdgpu_step step = uk_use_s(w, i, index, words, "overwritten");

    if (step)
        return step;
    if (index >= EXEC && undefined)
        return uk_report(w, i, -1, "EXEC becomes undefined: it depends on bits that were never written");
    w->s[index] = (uint32_t)value;
    w->s_undefined[index] = (uint32_t)undefined;
    if (words == 2) {
        w->s[index + 1] = (uint32_t)(value >> 32);
        w->s_undefined[index + 1] = (uint32_t)(undefined >> 32);
    }
    return UK_AMDGPU_STEP_NEXT;
}

/* The bits of the result that change when undefined bits of sources are flipped, in any combination of
 * sources. */
static uint64_t uk_changed(const struct uk_amdgpu_inst *i, const uint64_t *value, const uint64_t *undefined) {
    const uint64_t a = value[0], b = value[1], other[] = {a ^ undefined[0], b ^ undefined[1]};
    bool scc = false;
    const uint64_t result = i->op->scalar(a, b, value[2], &scc);

    return (result ^ i->op->scalar(other[0], b, value[2], &scc)) |
           (result ^ i->op->scalar(a, other[1], value[2], &scc)) |
           (result ^ i->op->scalar(other[0], other[1], value[2], &scc));
}

/* The undefined bits of the result. In AND and OR a defined 0 or 1 decides; in sums and products the lowest
 * undefined bit makes all bits above it undefined; in rows that do not work bit by bit one makes all
 * undefined. */
static uint64_t uk_undefined(const struct uk_amdgpu_inst *i, const uint64_t *value,
                             const uint64_t *undefined) {
    const uint32_t flags = i->op->flags;
    const uint64_t a = value[0], b = flags & F_NOT_B ? ~value[1] : value[1], ua = undefined[0],
                   ub = undefined[1];
    uint64_t all = i->o[0].words == 2 ? UINT64_MAX : UINT32_MAX;

    if (flags & F_LOW_FIRST)
        return (0 - ((ua | ub) & (0 - (ua | ub)))) & all;
    if (!(flags & F_BITS) || (flags & F_CONTROL && ub))
        return ua | ub ? all : 0;
    if (flags & F_MOVES)
        return uk_changed(i, value, undefined) & all;
    if (flags & F_AND)
        all &= (a | ua) & (b | ub);
    if (flags & F_OR)
        all &= (~a | ua) & (~b | ub);
    return (ua | ub) & all;
}

static enum uk_amdgpu_step uk_run_saveexec(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                           uint64_t a, uint64_t undefined) {
    const uint64_t exec = uk_exec(w);
    enum uk_amdgpu_step step;

    w->scc_undefined = false;
    step = uk_scalar_write(w, i, EXEC, 2, i->op->scalar(a, 0, exec, &w->scc), undefined);
    return step ? step : uk_scalar_write(w, i, i->o[0].index, 2, exec, 0);
}

enum uk_amdgpu_step uk_run_salu(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const uint32_t flags = i->op->flags;
    uint64_t value[3] = {0}, undefined[3] = {0}, result, unknown;
    enum uk_amdgpu_step step;

    for (unsigned n = 0; n < 3; ++n) {
        const struct uk_amdgpu_operand *o = &i->o[n == 2 ? 0 : 1 + n];

        /* Only some instructions read the destination's old value. */
        if (o->kind == UK_AMDGPU_OPERAND_NONE || (n == 2 && !(flags & F_ACC)))
            continue;
        step = uk_scalar_source(w, i, o, &value[n], &undefined[n]);
        if (step)
            return step;
    }
    if (flags & F_EXEC)
        return uk_run_saveexec(w, i, value[0], undefined[0]);
    if (flags & F_SELECT) {
        unknown = undefined[w->scc ? 0 : 1] | (w->scc_undefined ? UINT64_MAX : 0);
    } else {
        undefined[0] |= undefined[2] | (flags & F_SCC_IN && w->scc_undefined ? UINT64_MAX : 0);
        unknown = uk_undefined(i, value, undefined);
    }
    result = i->op->scalar(value[0], value[1], value[2], &w->scc);
    if (flags & F_SCC_OUT)
        w->scc_undefined = unknown || (!(flags & F_BITS) && (undefined[0] | undefined[1]));
    return flags & F_NO_D ? UK_AMDGPU_STEP_NEXT
                          : uk_scalar_write(w, i, i->o[0].index, i->o[0].words, result, unknown);
}

/* The name contains the condition: s_cbranch_vccnz branches if VCC is not 0. */
enum uk_amdgpu_step uk_run_branch(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const char *on = i->op->name[2] == 'c' ? i->op->name + 10 : "";
    bool taken = true;

    if (on[0] == 's') {
        if (w->scc_undefined)
            return uk_report(w, i, -1, "SCC is undefined: it depends on bits that were never written");
        taken = w->scc == (on[3] == '1');
    } else if (on[0]) {
        const unsigned index = on[0] == 'v' ? VCC : EXEC;
        const bool nonzero = on[on[0] == 'v' ? 3 : 4] == 'n';
        const enum uk_amdgpu_step step = uk_use_s(w, i, index, 2, "used");

        if (step)
            return step;
        if (uk_s64(w->s_undefined, index))
            return uk_report(w, i, -1, "VCC is undefined: it depends on bits that were never written");
        taken = (uk_s64(w->s, index) != 0) == nonzero;
    }
    if (!taken)
        return UK_AMDGPU_STEP_NEXT;
    w->pc = i->target;
    return UK_AMDGPU_STEP_JUMPED;
}

enum uk_amdgpu_step uk_run_getpc(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    return uk_scalar_write(w, i, i->o[0].index, 2, w->block->run->code->address + i->offset + i->size, 0);
}

/* Jumps too far for a branch's 16 bits. */
enum uk_amdgpu_step uk_run_setpc(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_code *code = w->block->run->code;
    uint64_t address, undefined;
    enum uk_amdgpu_step step = uk_scalar_source(w, i, &i->o[0], &address, &undefined);

    if (step)
        return step;
    if (undefined)
        return uk_report(w, i, -1, "the address is undefined: it depends on bits that were never written");
    address -= code->address;
    if (address % 4 || address >= code->bytes || code->at[address / 4] < 0)
        return uk_report(w, i, -1, "a jump to where no instruction of the kernel begins");
    w->pc = (uint32_t)code->at[address / 4];
    return UK_AMDGPU_STEP_JUMPED;
}

enum uk_amdgpu_step uk_run_waitcnt(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    for (int queue = 0; queue < 2; ++queue)
        if (i->waits[queue] != 255)
            w->block->run->code->inst[i->number].waited[queue] +=
                uk_wait(w, (enum uk_amdgpu_queue)queue, i->waits[queue]);
    return UK_AMDGPU_STEP_NEXT;
}

enum uk_amdgpu_step uk_run_nop(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    (void)w, (void)i;
    return UK_AMDGPU_STEP_NEXT;
}

enum uk_amdgpu_step uk_run_barrier(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    if (uk_exec(w) != w->alive)
        return uk_report(w, i, -1,
                         "a barrier in divergent code: EXEC is 0x%llx, and the wave's threads are 0x%llx",
                         (unsigned long long)uk_exec(w), (unsigned long long)w->alive);
    w->barrier = i;
    return UK_AMDGPU_STEP_BARRIER;
}

enum uk_amdgpu_step uk_run_end(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    w->barrier = i;
    return UK_AMDGPU_STEP_ENDED;
}
