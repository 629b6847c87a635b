/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the simulator's files share: decoded instructions, waves, blocks.
 *
 * A kernel's code is decoded once, at its first launch, into an array of struct uk_amdgpu_inst. Vector
 * registers lie in lanes of 64: v[r][lane], AGPR n at r = 256 + n. Beside each register stand its undefined
 * bits: for a scalar register a mask of its bits, for a vector register one for each lane, and a mask of the
 * lanes in which there are any, which is all that most instructions need. A load makes its registers
 * undefined and `pending` when it is issued, and defined when a wait covers it; the value is stored at once,
 * which is not visible to a kernel, as its use before the wait is reported.
 */
#ifndef UK_AMDGPU_STATE_H
#define UK_AMDGPU_STATE_H

#include "amdgpu.h"
#include "../simt.h"

enum {
    UK_AMDGPU_LANES = 64,
    UK_AMDGPU_V_REGISTERS = 512,
    UK_AMDGPU_S_REGISTERS = 128,
    AGPR = 256,
    UK_AMDGPU_MAX_WAVES = 16,
    UK_AMDGPU_QUEUE = 64
};
/* The pair PRIVATE_BASE, which no instruction writes, holds what src_private_base reads. */
enum { FLAT_SCRATCH = 102, VCC = 106, PRIVATE_BASE = 108, M0 = 124, EXEC = 126 };
_Static_assert((int)UK_AMDGPU_MAX_WAVES <= (int)UK_SIMT_MAX_WAVES, "");

/* Of ELF's header. */
enum { MACHINE_AMDGPU = 224, FLAGS_MACH = 0xff };

struct uk_amdgpu_wave;
struct uk_amdgpu_inst;

enum uk_amdgpu_operand_kind {
    UK_AMDGPU_OPERAND_NONE,
    UK_AMDGPU_OPERAND_V,
    UK_AMDGPU_OPERAND_S,
    UK_AMDGPU_OPERAND_CONSTANT,
    UK_AMDGPU_OPERAND_SCC,
    UK_AMDGPU_OPERAND_OFF
};
struct uk_amdgpu_operand {
    uint8_t kind, words; /* words as written: v[0:1] is 2; 0 of a constant */
    bool negative, absolute, sign_extend, negative_high, select_low, select_high;
    uint8_t sdwa; /* first byte and number of bytes: 0, or 16 * first + bytes */
    uint16_t index;
    bool is_float; /* a constant written as a float: its bits depend on the type of the operand */
    double number;
    uint32_t value[2];
};

enum { UK_AMDGPU_MAX_OPERANDS = 6 };
/* Halves of a register, as SDWA names them. */
enum { LOWER_HALF = 0 << 4 | 2, UPPER_HALF = 2 << 4 | 2 };

/* What an instruction does next: */
enum uk_amdgpu_step {
    UK_AMDGPU_STEP_NEXT,
    UK_AMDGPU_STEP_JUMPED,
    UK_AMDGPU_STEP_BARRIER,
    UK_AMDGPU_STEP_ENDED,
    UK_AMDGPU_STEP_STOPPED
};
typedef enum uk_amdgpu_step uk_amdgpu_function(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *);

/* The types of operands in the rows of opcodes.def. */
enum uk_amdgpu_type {
    T_none,
    T_u32,
    T_i32,
    T_f32,
    T_u64,
    T_i64,
    T_f64,
    T_u16,
    T_i16,
    T_f16,
    T_k16,
    T_ku16,
    T_u24,
    T_i24,
    /* Of bits 0 to 7, 8 to 15, ... of a register. */
    T_b0,
    T_b1,
    T_b2,
    T_b3,
    /* What selects bits of other operands, by its lowest 4, 5, 6 or all 32 bits. */
    T_n4,
    T_n5,
    T_n6,
    T_n32
};

typedef void uk_amdgpu_lanes(uint32_t (*restrict d)[UK_AMDGPU_LANES], const uint32_t *const *restrict s,
                             uint64_t mask_in, uint64_t *restrict mask_out);
typedef uint64_t uk_amdgpu_scalar(uint64_t a, uint64_t b, uint64_t d, bool *scc);

/* Flags of the rows of opcodes.def. A VALU row may have those of the first group, a scalar one those of the
 * first and second, a memory one those of the third. */
enum uk_amdgpu_flag {
    F_ACC = 1,         /* the destination is the last source too */
    F_MASK_IN = 2,     /* a mask is the last operand */
    F_MASK_OUT = 4,    /* a mask is the second operand */
    F_VCC_IN = 8,      /* VCC is read and not written in the text */
    F_PK = 16,         /* two 32-bit operations on halves of 64-bit operands */
    F_COMPARE = 32,    /* the destination is a mask */
    F_EXEC = 64,       /* a compare that writes EXEC too; a scalar instruction that does */
    F_SELECT = 128,    /* the mask selects a source; undefined bits of the other do not count */
    F_BITS = 256,      /* each bit of the result is made of at most one bit of each source */
    F_LOW_FIRST = 512, /* a bit of the result depends on the same and lower bits of the sources alone */
    F_FMA = 1024,
    F_FLOP = 2048,
    F_ANY_LANE = 1 << 12,
    F_OP_SEL = 1 << 13,  /* op_sel takes upper halves of 16-bit sources, and writes that of the destination */
    F_HALVES = 1 << 14,  /* v_pk_mov_b32: a half of each source */
    F_PK_HALF = 1 << 15, /* two 16-bit operations on halves of registers */
    F_KEEP = 1 << 16,    /* of the destination the half that is not written is kept */
    F_MIX = 1 << 17,     /* op_sel_hi makes a source one of 16 bits, and neg_hi is its absolute value */
    F_WRITE_HI = 1 << 18, /* the result is the upper half */

    F_SCC_IN = 1 << 20,
    F_SCC_OUT = 1 << 21,
    F_AND = 1 << 22,
    F_OR = 1 << 23,
    F_NOT_B = 1 << 24, /* of undefined bits: each for itself; a known 0, 1 decides */
    F_NO_D = 1 << 25,
    F_ACC_S = 1 << 26,

    F_HIGH = 1 << 20, /* of LDS or a load: the upper half of the register */
    F_LOW = 1 << 21,  /* the lower half, the upper is kept */
    F_SIGNED = 1 << 22,
    F_TWO = 1 << 23,
    F_WRITE = 1 << 24,
    F_ST64 = 1 << 25,
    F_FLAT = 1 << 26,
    F_BUFFER = 1 << 27,  /* buffer_NAME and */
    F_PRIVATE = 1 << 28, /* scratch_NAME, of scratch alone */
};

struct uk_amdgpu_opcode {
    const char *name;
    uk_amdgpu_function *run;
    enum uk_amdgpu_kind kind;
    uint8_t types[4]; /* D A B C; of memory: types[0] is the number of bytes of one element */
    uint32_t flags;
    uk_amdgpu_lanes *lanes, *clamped; /* clamped: integers by the modifier clamp, or NULL */
    uk_amdgpu_scalar *scalar;
};

struct uk_amdgpu_inst {
    const struct uk_amdgpu_opcode *op; /* NULL: not simulated, `why` says which part */
    uk_amdgpu_function *run;
    uint32_t offset, size, number, target;
    uint32_t flops;
    const char *text, *why;
    uint8_t n; /* operands */
    struct uk_amdgpu_operand o[UK_AMDGPU_MAX_OPERANDS];
    int32_t address_offset;
    uint16_t offset0, offset1;
    uint8_t waits[2];       /* vmcnt, lgkmcnt; 255: none */
    bool clamp, offen;      /* offen: a buffer's address has a register */
    bool upper;             /* the result is the upper half of its register */
    uint8_t sdwa;           /* of the destination, as in struct uk_amdgpu_operand */
    uint8_t source_sdwa[2]; /* of the first two sources */
    uint8_t unused;         /* what the rest of the destination becomes: 'P'ad, 'S'ign, 'K'ept */
    uint64_t n_executed, lds_cycles, lds_conflicts, lds_ways, waited[2]; /* of the last launch */
};

/* An outstanding memory access. */
enum uk_amdgpu_queue { UK_AMDGPU_QUEUE_VM, UK_AMDGPU_QUEUE_LGKM };
enum { UK_AMDGPU_MAX_LOADED = 16 };
struct uk_amdgpu_event {
    const struct uk_amdgpu_inst *inst;
    uint64_t exec, shared; /* shared: the lanes whose bytes other waves can access */
    uint32_t id;
    bool scalar, lds, write;
    uint16_t first, n;                        /* registers that it defines */
    uint64_t undefined[UK_AMDGPU_MAX_LOADED]; /* lanes of each of which bits remain undefined then */
    /* Its addresses, this many of each lane: they are recorded again at each barrier that comes before its
     * wait. */
    unsigned parts, part_bytes;
    uint64_t address[2][UK_AMDGPU_LANES];
};
struct uk_amdgpu_events {
    struct uk_amdgpu_event slot[UK_AMDGPU_QUEUE];
    uint64_t used;                  /* slots */
    uint8_t order[UK_AMDGPU_QUEUE]; /* oldest first */
    unsigned n;
};

enum uk_amdgpu_wave_state { UK_AMDGPU_WAVE_READY, UK_AMDGPU_WAVE_AT_BARRIER, UK_AMDGPU_WAVE_ENDED };

struct uk_amdgpu_wave {
    struct uk_amdgpu_block *block;
    uint32_t number, pc; /* pc: index of the instruction */
    enum uk_amdgpu_wave_state state;
    uint64_t alive; /* lanes that began */
    const struct uk_amdgpu_inst *barrier;
    uint8_t *scratch, *scratch_undefined; /* lane after lane; of each byte its undefined bits */
    uint32_t s[UK_AMDGPU_S_REGISTERS], s_undefined[UK_AMDGPU_S_REGISTERS], s_pending[UK_AMDGPU_S_REGISTERS];
    bool scc, scc_undefined;
    uint32_t next_id;
    struct uk_amdgpu_events events[2];
    uint64_t undefined[UK_AMDGPU_V_REGISTERS]; /* lanes that have undefined bits */
    uint32_t pending[UK_AMDGPU_V_REGISTERS];
    uint32_t undefined_bits[UK_AMDGPU_V_REGISTERS][UK_AMDGPU_LANES]; /* which, in those lanes */
    uint32_t v[UK_AMDGPU_V_REGISTERS][UK_AMDGPU_LANES];
};

struct uk_amdgpu_block {
    struct uk_amdgpu_run_state *run;
    uint32_t id[3], number, epoch, n_waves, n_ended;
    uint8_t *lds, *lds_undefined; /* of each byte its bits */
    uint32_t lds_bytes;
    struct uk_simt_shadow shadow;
};

/* Of a launch. */
struct uk_amdgpu_run_state {
    struct uk_amdgpu *gpu;
    const struct uk_amdgpu_kernel *kernel;
    struct uk_amdgpu_code *code;
    enum uk_amdgpu_status status;
    const struct uk_amdgpu_launch *launch;
    struct uk_amdgpu_counts *counts;
    uint64_t steps, max_steps, random;
    uint64_t arguments, packet;
    uint8_t *scratch; /* of a block's waves; then its undefined bits */
    struct uk_amdgpu_wave *waves[UK_AMDGPU_MAX_WAVES];
    struct uk_amdgpu_block block;
};

/* A kernel's code. */
struct uk_amdgpu_code {
    struct uk_amdgpu_inst *inst;
    uint32_t n;
    uint32_t bytes;
    uint32_t v_registers; /* those that it names end before this one */
    int32_t *at;          /* of each 4 bytes the instruction that begins there, or -1 */
    char *texts;
    uint64_t address; /* of the first byte */
};

struct uk_amdgpu_descriptor {
    uint32_t rsrc1, rsrc2, rsrc3, properties, preload;
    uint64_t entry; /* in the image */
};

struct uk_amdgpu_kernel_inside {
    struct uk_amdgpu_kernel kernel;
    struct uk_amdgpu_descriptor descriptor;
    uint64_t code_bytes;
    struct uk_amdgpu_code *code; /* of the first launch on */
};

struct uk_amdgpu_object {
    struct uk_amdgpu *gpu;
    struct uk_amdgpu_object *next;
    uint64_t image; /* its device address */
    uint64_t image_bytes;
    struct uk_amdgpu_kernel_inside *kernels;
    uint32_t n;
};

struct uk_amdgpu {
    char gfx[16];
    unsigned mach;   /* of ELF's flags */
    bool packed_ids; /* all three ids of a thread are in v0 */
    struct uk_simt_memory memory;
    struct uk_amdgpu_object *objects;
    void *disassembler;
    char message[1024];
};

#define UK_PRINTF(f, a) __attribute__((format(printf, f, a)))
enum uk_amdgpu_status uk_amdgpu_fail(struct uk_amdgpu *, enum uk_amdgpu_status, const char *format, ...)
    UK_PRINTF(3, 4);

/* load.c */
enum uk_amdgpu_status uk_amdgpu_read_elf(struct uk_amdgpu_object *, const uint8_t *image, size_t bytes);
/* metadata.c: kernels from the note's MessagePack. */
enum uk_amdgpu_status uk_amdgpu_metadata(struct uk_amdgpu_object *, const uint8_t *data, size_t bytes);
/* decode.c */
enum uk_amdgpu_status uk_amdgpu_decode(struct uk_amdgpu *, struct uk_amdgpu_kernel_inside *);
void uk_amdgpu_code_free(struct uk_amdgpu_code *);
/* operand.c: parses the text of an instruction. NULL, or the part that is not understood. */
const char *uk_amdgpu_parse(struct uk_amdgpu_inst *, char *text);
/* opcodes.c */
const struct uk_amdgpu_opcode *uk_amdgpu_opcode(const char *name);
/* Completes the instruction. NULL, or what is wrong with its operands for its row. */
const char *uk_amdgpu_operands(struct uk_amdgpu_inst *);
/* wave.c */
enum uk_amdgpu_status uk_amdgpu_run(struct uk_amdgpu_run_state *, const struct uk_amdgpu_descriptor *);

/* report.c: writes the message, with the place in the code; all return UK_AMDGPU_STEP_STOPPED. `lane` < 0: no
 * lane. */
enum uk_amdgpu_step uk_report(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, int lane,
                              const char *format, ...) UK_PRINTF(4, 5);
enum uk_amdgpu_step uk_unsupported(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, const char *format,
                                   ...) UK_PRINTF(3, 4);
enum uk_amdgpu_step uk_no_memory(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *);
/* Another instruction, as messages name it. */
struct uk_amdgpu_name {
    char text[300];
};
struct uk_amdgpu_name uk_name(const struct uk_amdgpu_inst *);
struct uk_amdgpu_name uk_register_name(bool vector, unsigned index);

/* wait.c */
struct uk_amdgpu_event *uk_event_new(struct uk_amdgpu_wave *, enum uk_amdgpu_queue,
                                     const struct uk_amdgpu_inst *);
/* Completes accesses of the queue until at most n are outstanding. */
/* Until n are outstanding; returns how many accesses that completed. */
unsigned uk_wait(struct uk_amdgpu_wave *, enum uk_amdgpu_queue, unsigned n);
/* Records the outstanding accesses in the block's new epoch too. false: no memory. */
bool uk_wait_barrier(struct uk_amdgpu_run_state *);
/* Marks the event's registers, with their bits that remain undefined in it. */
void uk_event_marks(struct uk_amdgpu_wave *, const struct uk_amdgpu_event *);
/* The undefined bits of one lane of a register; of a load under way, those that remain. */
static inline uint32_t uk_undefined_bits(const struct uk_amdgpu_wave *w, unsigned r, unsigned lane) {
    return w->undefined[r] >> lane & 1 ? w->undefined_bits[r][lane] : 0;
}
/* UK_AMDGPU_STEP_NEXT, or a report that one of the registers is used, or overwritten, while a load of it is
 * outstanding. */
enum uk_amdgpu_step uk_use_v(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned first,
                             unsigned n, uint64_t exec, const char *use);
enum uk_amdgpu_step uk_use_s(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned first,
                             unsigned n, const char *use);

/* The same for the destination of a load in this queue, which may follow another load of the same register.
 * */
enum uk_amdgpu_step uk_reload(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned first,
                              unsigned n, uint64_t exec, enum uk_amdgpu_queue);

/* memory.c: where each active lane's bytes are, and their undefined bits; NULL: in a buffer, where all are
 * defined. */
struct uk_amdgpu_places {
    uint8_t *bytes[UK_AMDGPU_LANES], *undefined[UK_AMDGPU_LANES];
};
/* A register, or its undefined bits, of those of memory and what it was before. */
uint32_t uk_loaded(const struct uk_amdgpu_inst *, uint32_t before, const uint8_t *bytes);
/* scalar.c: an operand's bits, and which of them are undefined. */
enum uk_amdgpu_step uk_scalar_source(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *,
                                     const struct uk_amdgpu_operand *, uint64_t *value, uint64_t *undefined);
enum uk_amdgpu_step uk_scalar_write(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned index,
                                    unsigned words, uint64_t value, uint64_t undefined);
uk_amdgpu_function uk_run_salu, uk_run_branch, uk_run_getpc, uk_run_setpc, uk_run_waitcnt, uk_run_nop,
    uk_run_barrier, uk_run_end;
/* valu.c: what a VALU instruction works on, and what it makes. */
struct uk_amdgpu_sources {
    const uint32_t *s[6];
    uint64_t undefined; /* lanes of sources that have undefined bits */
    uint64_t mask, mask_undefined;
    uint32_t copy[6][UK_AMDGPU_LANES];
};
/* The words of source k of part 0 or 1, or their undefined bits, as the row's function takes them. */
void uk_source_words(const struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned k, unsigned part,
                     bool bits, const uint32_t **words, uint32_t (*copy)[UK_AMDGPU_LANES]);
/* undefined.c: the undefined bits of both words of a part's result, and the undefined lanes of its mask. */
uint64_t uk_undefined_result(const struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *,
                             const struct uk_amdgpu_sources *, unsigned part,
                             uint32_t (*result)[UK_AMDGPU_LANES]);
/* valu.c, memory.c, lds.c */
uk_amdgpu_function uk_run_valu, uk_run_readlane, uk_run_writelane, uk_run_swap, uk_run_smem, uk_run_global,
    uk_run_lds;
/* scratch.c: memory that is each lane's own. */
enum { SCRATCH_MOST = 131056 }; /* bytes of a thread: 8191 units of 1 KiB of a wave */
/* Where it begins: behind the regions of all buffers. */
#define SCRATCH_ADDRESS ((uint64_t)0xf00000000000)
/* The aperture's addresses that flat_NAME takes for scratch, as Linux sets it. */
#define PRIVATE_APERTURE ((uint64_t)2 << 48)
static inline bool uk_is_private(uint64_t address) {
    return address >> 32 == PRIVATE_APERTURE >> 32;
}
/* NULL, or what is wrong with the operands of buffer_NAME or scratch_NAME. */
const char *uk_check_scratch(struct uk_amdgpu_inst *);
/* The bytes of each active lane, of those instructions; a report if they are not in its scratch. */
enum uk_amdgpu_step uk_scratch_places(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, uint64_t exec,
                                      struct uk_amdgpu_places *);
/* The same of flat_NAME, for the lanes whose addresses are private. */
enum uk_amdgpu_step uk_scratch_flat(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, uint64_t lanes,
                                    const uint64_t *address, struct uk_amdgpu_places *);
/* What registers hold at a wave's begin, and its memory. */
void uk_scratch_begin(struct uk_amdgpu_run_state *, struct uk_amdgpu_wave *);
void uk_scratch_resource(const struct uk_amdgpu_run_state *, uint32_t *words);
uint32_t uk_scratch_offset(const struct uk_amdgpu_run_state *, uint32_t wave);

static inline uint64_t uk_s64(const uint32_t *s, unsigned index) {
    return s[index] | (uint64_t)s[index + 1] << 32;
}
static inline uint64_t uk_exec(const struct uk_amdgpu_wave *w) {
    return uk_s64(w->s, EXEC);
}

#endif
