/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wait states that software has to keep around matrix instructions and dot products of gfx90a. The hardware
 * does not wait for a matrix instruction's result unless the next one adds to the same registers. Each
 * instruction between two others is one wait state, `s_nop N` is N + 1.
 *
 * Sources: AMD, "Instinct MI200 Instruction Set Architecture", section Dependency Resolution: Required
 * Independent Instructions; the numbers are those for which LLVM 19 inserts s_nop.
 */
#include "matrix.h"
#include "state.h"

/* Wait states after a matrix instruction of so many passes, before one that reads or overwrites its D or C.
 */
struct uk_hazard {
    uint8_t passes;
    bool is_f64;
    uint8_t valu, memory;  /* D is read */
    uint8_t overwritten;   /* D is overwritten, not by a matrix instruction */
    uint8_t factor;        /* D is read as A or B */
    uint8_t sum;           /* D overlaps C of a matrix instruction, but is not the same registers */
    uint8_t f64_sum;       /* the same, of one of f64 */
    uint8_t c_overwritten; /* C is overwritten, not by a matrix instruction */
};
static const struct uk_hazard uk_hazard_rows[] = {
    {2, false, 5, 5, 5, 5, 2, 3, 1},         {4, true, 6, 9, 6, 6, 0, 4, 0},
    {8, false, 11, 11, 11, 11, 8, 9, 7},     {8, true, 11, 18, 11, 11, 0, 9, 0},
    {16, false, 19, 19, 19, 19, 16, 17, 15},
};
enum { LONGEST = 19 };
enum {
    VALU_TO_MATRIX = 2,    /* after a VALU instruction that writes A, B or C */
    VALU_TO_MEMORY = 2,    /* the same for a load or store, if a matrix instruction of f64 is between them */
    MATRIX_TO_F64_FMA = 2, /* after a matrix instruction of f64 */
    DOT_TO_OTHER = 3,      /* after v_dot4, except before one with the same opcode that adds to its result */
    SAME_SUM_OF_4 = 4      /* v_mfma_f64_4x4x4f64 to one that adds to the same registers */
};

static bool uk_is_f64_matrix(const struct uk_amdgpu_inst *i) {
    return i->op->matrix && i->op->matrix->type == T_f64;
}

static bool uk_is_memory(const struct uk_amdgpu_inst *i) {
    return i->op->run == uk_run_global || i->op->run == uk_run_lds;
}

static bool uk_is_dot(const struct uk_amdgpu_inst *i) {
    return i->op->flags & F_FMA && i->op->types[0] == T_u32;
}

static bool uk_is_f64_fma(const struct uk_amdgpu_inst *i) {
    return i->op && i->op->flags & F_FMA && i->op->types[0] == T_f64 && !(i->op->flags & F_VCC_IN);
}

static const struct uk_hazard *uk_hazard_of(const struct uk_amdgpu_inst *i) {
    const struct uk_hazard *row = uk_hazard_rows;

    while (row->passes != i->op->matrix->passes || row->is_f64 != uk_is_f64_matrix(i))
        ++row;
    return row;
}

static bool uk_overlap(const struct uk_amdgpu_operand *a, const struct uk_amdgpu_operand *b) {
    return a->kind == UK_AMDGPU_OPERAND_V && b->kind == UK_AMDGPU_OPERAND_V &&
           a->index < b->index + b->words && b->index < a->index + a->words;
}

static bool uk_writes(const struct uk_amdgpu_inst *i, const struct uk_amdgpu_operand *o) {
    for (unsigned k = 0; k < UK_AMDGPU_MAX_OPERANDS; ++k)
        if (i->writes >> k & 1 && uk_overlap(&i->o[k], o))
            return true;
    return false;
}

bool uk_needs_states(const struct uk_amdgpu_inst *i) {
    return i->op && (i->op->matrix || uk_is_dot(i));
}

void uk_vector_access(struct uk_amdgpu_inst *i) {
    const struct uk_amdgpu_opcode *op = i->op;
    const bool memory = uk_is_memory(i), swap = op->run == uk_run_swap;
    const uint32_t kept = memory ? F_LOW | F_HIGH : F_KEEP;
    uint8_t vector = 0;

    for (unsigned k = 0; k < UK_AMDGPU_MAX_OPERANDS; ++k)
        vector |= (uint8_t)((i->o[k].kind == UK_AMDGPU_OPERAND_V) << k);
    i->writes = memory && op->flags & F_WRITE ? 0 : vector & (swap ? 3 : 1);
    i->reads = vector & ~i->writes;
    if (swap || op->run == uk_run_writelane || (op->flags & kept && !op->matrix) || i->unused == 'K')
        i->reads = vector;
}

/* Wait states that operand k of i needs after the matrix instruction, whose D it overlaps. */
static unsigned uk_after_matrix(const struct uk_amdgpu_inst *matrix, const struct uk_amdgpu_inst *i,
                                unsigned k) {
    const struct uk_hazard *row = uk_hazard_of(matrix);
    const struct uk_amdgpu_operand *d = &matrix->o[0], *o = &i->o[k];
    unsigned states;

    if (i->op->matrix) {
        if (k == 0)
            return 0;
        if (k < 3)
            return row->factor;
        if (d->index == o->index && d->words == o->words)
            return uk_is_f64_matrix(matrix) && matrix->op == i->op && row->passes == 4 ? SAME_SUM_OF_4 : 0;
        return uk_is_f64_matrix(i) ? row->f64_sum : row->sum;
    }
    states = i->writes >> k & 1 ? row->overwritten : 0;
    if (i->reads >> k & 1) {
        const unsigned read = uk_is_memory(i) ? row->memory : row->valu;

        states = read > states ? read : states;
    }
    return states;
}

/* The same after a VALU instruction that writes registers of operand k; `f64_between`: a matrix instruction
 * of f64 is between the two. */
static unsigned uk_after_valu(const struct uk_amdgpu_inst *valu, const struct uk_amdgpu_inst *i, unsigned k,
                              bool f64_between) {
    const bool read = i->reads >> k & 1;

    if (i->op->matrix)
        return read && !uk_is_dot(valu) ? VALU_TO_MATRIX : 0;
    if (uk_is_dot(valu) && (valu->op != i->op || k == 1 || k == 2))
        return DOT_TO_OTHER;
    return read && uk_is_memory(i) && f64_between ? VALU_TO_MEMORY : 0;
}

static enum uk_amdgpu_step uk_early(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i, unsigned k,
                                    const struct uk_amdgpu_inst *before, unsigned distance, unsigned states) {
    const bool overwritten = i->writes >> k & 1 && !(i->reads >> k & 1);

    return uk_report(w, i, -1, "%s is %s %u wait state%s after %s; %u are needed: add %u by s_nop",
                     uk_register_name(true, i->o[k].index).text, overwritten ? "overwritten" : "used",
                     distance, distance == 1 ? "" : "s", uk_name(before).text, states, states - distance);
}

/* Compares operand k with the wave's last instructions, the latest first. Of several matrix instructions that
 * write its registers the latest counts. */
static enum uk_amdgpu_step uk_check_operand(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i,
                                            unsigned k) {
    const struct uk_amdgpu_operand *o = &i->o[k];
    bool found_d = false, found_c = false, f64_between = false;

    for (uint64_t n = w->n_recent; n && w->n_recent - n < UK_AMDGPU_RECENT; --n) {
        const struct uk_amdgpu_recent *at = &w->recent[(n - 1) % UK_AMDGPU_RECENT];
        const struct uk_amdgpu_inst *before = at->inst;
        const uint64_t distance = w->states - at->end;
        unsigned states = 0;

        if (distance >= LONGEST)
            break;
        if (before->op->matrix) {
            if (!found_d && uk_overlap(&before->o[0], o))
                states = uk_after_matrix(before, i, k);
            found_d = found_d || uk_overlap(&before->o[0], o);
            if (!found_c && i->writes >> k & 1 && !i->op->matrix && uk_overlap(&before->o[3], o)) {
                const unsigned of_c = uk_hazard_of(before)->c_overwritten;

                states = of_c > states ? of_c : states;
                found_c = true;
            }
        } else if (!uk_is_memory(before) && uk_writes(before, o)) {
            states = uk_after_valu(before, i, k, f64_between);
        }
        f64_between = f64_between || uk_is_f64_matrix(before);
        if (states > distance)
            return uk_early(w, i, k, before, (unsigned)distance, states);
    }
    return UK_AMDGPU_STEP_NEXT;
}

static enum uk_amdgpu_step uk_check_f64_fma(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    for (uint64_t n = w->n_recent; n && w->n_recent - n < UK_AMDGPU_RECENT; --n) {
        const struct uk_amdgpu_recent *at = &w->recent[(n - 1) % UK_AMDGPU_RECENT];

        if (w->states - at->end >= MATRIX_TO_F64_FMA)
            break;
        if (uk_is_f64_matrix(at->inst))
            return uk_report(w, i, -1, "an FMA of f64 %u wait states after %s; %u are needed: add s_nop",
                             (unsigned)(w->states - at->end), uk_name(at->inst).text, MATRIX_TO_F64_FMA);
    }
    return UK_AMDGPU_STEP_NEXT;
}

enum uk_amdgpu_step uk_hazards(struct uk_amdgpu_wave *w, const struct uk_amdgpu_inst *i) {
    enum uk_amdgpu_step step = UK_AMDGPU_STEP_NEXT;

    for (unsigned k = 0; k < UK_AMDGPU_MAX_OPERANDS && !step; ++k)
        if ((i->reads | i->writes) >> k & 1)
            step = uk_check_operand(w, i, k);
    if (!step && uk_is_f64_fma(i))
        step = uk_check_f64_fma(w, i);
    w->states += i->states;
    if (i->reads | i->writes)
        w->recent[w->n_recent++ % UK_AMDGPU_RECENT] = (struct uk_amdgpu_recent){i, w->states};
    return step;
}
