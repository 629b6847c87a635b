/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the simulator's files: decoded instructions, waves, blocks.
 *
 * A kernel's code is decoded once, at its first launch, into an array of struct uk_amdgpu_inst. A vector
 * register has 64 lanes: v[r][lane]; AGPR n is r = 256 + n. Undefined bits are recorded for each register:
 * one mask for a scalar register, one for each lane of a vector register, and a mask of the lanes with any
 * undefined bit, which is all that most instructions need. When a load is issued its registers become
 * undefined and `pending`; a wait that covers it makes them defined. The value is stored at issue, which a
 * kernel cannot observe, because a use before the wait is reported.
 */
#ifndef UK_AMDGPU_STATE_H
#define UK_AMDGPU_STATE_H

#include "amdgpu.h"
#include "machine/machine.h"
#include "../simt.h"

enum {
    UK_AMDGPU_LANES = 64,
    UK_AMDGPU_V_REGISTERS = 512,
    UK_AMDGPU_S_REGISTERS = 128,
    AGPR = 256,
    UK_AMDGPU_MAX_WAVES = 16,
    UK_AMDGPU_QUEUE = 64,
    UK_AMDGPU_RECENT = 32
};
/* Indices of special registers. The pair PRIVATE_BASE, which no instruction writes, holds the value of
 * src_private_base. */
enum { FLAT_SCRATCH = 102, VCC = 106, PRIVATE_BASE = 108, M0 = 124, EXEC = 126 };
_Static_assert((int)UK_AMDGPU_MAX_WAVES <= (int)UK_SIMT_MAX_WAVES, "");

/* Values in ELF's header. */
enum { MACHINE_AMDGPU = 224, FLAGS_MACH = 0xff };

struct uk_amdgpu_wave;
struct uk_amdgpu_inst;
struct uk_footprint;

enum uk_amdgpu_operand_kind {
    UK_AMDGPU_OPERAND_NONE,
    UK_AMDGPU_OPERAND_V,
    UK_AMDGPU_OPERAND_S,
    UK_AMDGPU_OPERAND_CONSTANT,
    UK_AMDGPU_OPERAND_SCC,
    UK_AMDGPU_OPERAND_OFF
};
struct uk_amdgpu_operand {
    uint8_t kind, words; /* size as written: v[0:1] has 2; a constant 0 */
    bool negative, absolute, sign_extend, negative_high, select_low, select_high;
    uint8_t sdwa; /* first byte and number of bytes: 0, or 16 * first + bytes */
    uint16_t index;
    /* A constant written as a float; its bits depend on the type of the operand. */
    bool is_float;
    double number;
    uint32_t value[2];
};

enum { UK_AMDGPU_MAX_OPERANDS = 6 };
/* Halves of a register, in SDWA's encoding. */
enum { LOWER_HALF = 0 << 4 | 2, UPPER_HALF = 2 << 4 | 2 };

/* The wave's state after an instruction. */
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
    /* 16-bit immediates of scalar instructions: sign-extended, zero-extended. */
    T_k16,
    T_ku16,
    T_u24,
    T_i24,
    /* Bits 0 to 7, 8 to 15, ... of a register. */
    T_b0,
    T_b1,
    T_b2,
    T_b3,
    /* Elements of A and B of matrix instructions. */
    T_bf16,
    T_i8,
    /* Control operands, which select bits of other operands, by their lowest 4, 5, 6 or all 32 bits. */
    T_n4,
    T_n5,
    T_n6,
    T_n32
};

typedef void uk_amdgpu_lanes(uint32_t (*restrict d)[UK_AMDGPU_LANES], const uint32_t *const *restrict s,
                             uint64_t mask_in, uint64_t *restrict mask_out);
typedef uint64_t uk_amdgpu_scalar(uint64_t a, uint64_t b, uint64_t d, bool *scc);

/* Flags of the rows of opcodes.def. VALU rows have those of the first group, scalar rows those of the first
 * and second, memory rows those of the third. */
enum uk_amdgpu_flag {
    F_ACC = 1,         /* the destination is also the last source */
    F_MASK_IN = 2,     /* the last operand is a mask */
    F_MASK_OUT = 4,    /* the second operand is a mask */
    F_VCC_IN = 8,      /* VCC is read although the text does not name it */
    F_PK = 16,         /* two 32-bit operations on halves of 64-bit operands */
    F_COMPARE = 32,    /* the destination is a mask */
    F_EXEC = 64,       /* a scalar instruction that also writes EXEC */
    F_SELECT = 128,    /* the mask selects a source; undefined bits of the other source have no effect */
    F_BITS = 256,      /* each bit of the result depends on at most one bit of each source */
    F_LOW_FIRST = 512, /* each bit of the result depends only on the same and lower bits of the sources */
    F_FMA = 1024,
    F_FLOP = 2048,
    F_ANY_LANE = 1 << 12, /* v_readlane_b32: the third operand is the lane's number */
    /* op_sel selects upper halves of 16-bit sources, and the upper half of the destination. */
    F_OP_SEL = 1 << 13,
    F_HALVES = 1 << 14,  /* v_pk_mov_b32: half of each source */
    F_PK_HALF = 1 << 15, /* two 16-bit operations on halves of registers */
    F_KEEP = 1 << 16,    /* the half of the destination that is not written keeps its value */
    /* op_sel_hi marks a source as 16-bit, and neg_hi takes its absolute value. */
    F_MIX = 1 << 17,
    F_WRITE_HI = 1 << 18, /* the result goes to the upper half */

    F_SCC_IN = 1 << 20,
    F_SCC_OUT = 1 << 21,
    F_AND = 1 << 22,     /* a defined 0 decides against an undefined bit */
    F_OR = 1 << 23,      /* a defined 1 does */
    F_NOT_B = 1 << 24,   /* with the second source inverted */
    F_NO_D = 1 << 25,    /* no destination except SCC */
    F_ACC_S = 1 << 26,   /* the destination is also the first source */
    F_MOVES = 1 << 27,   /* with F_BITS: bits of the sources get to other positions */
    F_CONTROL = 1 << 28, /* the second source says to which */

    F_STATES = 1u << 30, /* s_nop: the operand is the number of further wait states */
    F_SLOW = 1u << 29,   /* takes four times as long as other VALU instructions */

    F_HIGH = 1 << 20, /* LDS and loads: into the upper half of the register */
    F_LOW = 1 << 21,  /* into the lower half; the upper one is kept */
    F_SIGNED = 1 << 22,
    F_TWO = 1 << 23, /* LDS: two addresses per lane, by two offsets */
    F_WRITE = 1 << 24,
    F_ST64 = 1 << 25, /* LDS: offsets are in units of 64 elements */
    F_FLAT = 1 << 26, /* flat_NAME: addresses of buffers or of scratch */
    /* buffer_NAME and scratch_NAME, which access only scratch. */
    F_BUFFER = 1 << 27,
    F_PRIVATE = 1 << 28,
};

struct uk_amdgpu_opcode {
    const char *name;
    uk_amdgpu_function *run;
    enum uk_amdgpu_kind kind;
    uint8_t types[4]; /* D, A, B, C; memory: types[0] is the bytes of one element */
    uint32_t flags;
    uk_amdgpu_lanes *lanes, *clamped; /* clamped: the integer function with the modifier clamp, or NULL */
    uk_amdgpu_scalar *scalar;
    const struct uk_matrix *matrix; /* NULL: not a matrix instruction */
};

struct uk_amdgpu_inst {
    const struct uk_amdgpu_opcode *op; /* NULL: not simulated; `why` names the part that is not */
    uk_amdgpu_function *run;
    uint32_t offset, size, number, target;
    uint32_t flops;
    const char *text, *why;
    uint8_t n; /* number of operands */
    struct uk_amdgpu_operand o[UK_AMDGPU_MAX_OPERANDS];
    int32_t address_offset;
    uint16_t offset0, offset1;
    uint8_t cbsz, abid, blgp;
    uint8_t states;         /* wait states that it takes: 1, or more for s_nop */
    uint8_t reads, writes;  /* masks of operands that are vector registers */
    uint8_t waits[2];       /* vmcnt, lgkmcnt; 255: none */
    bool clamp, offen;      /* offen: the address of a buffer instruction has a register */
    bool upper;             /* the result goes to the upper half of its register */
    uint8_t sdwa;           /* the destination's, as in struct uk_amdgpu_operand */
    uint8_t source_sdwa[2]; /* of the first two sources */
    uint8_t cycles;         /* of the SIMD's unit that executes it */
    uint8_t unused;         /* treatment of the rest of the destination: 'P'ad, 'S'ign-extend, 'K'eep */
    uint64_t n_executed, lds_cycles, lds_conflicts, lds_ways, waited[2]; /* of the last launch */
};

/* An outstanding memory access. */
enum uk_amdgpu_queue { UK_AMDGPU_QUEUE_VM, UK_AMDGPU_QUEUE_LGKM };
enum { UK_AMDGPU_MAX_LOADED = 16 };
struct uk_amdgpu_event {
    const struct uk_amdgpu_inst *inst;
    uint64_t exec, shared; /* shared: lanes whose bytes other waves can access */
    uint64_t done;         /* the wave's clock when it has completed */
    uint32_t id;
    bool scalar, lds, write;
    uint16_t first, n; /* the registers that it defines */
    /* For each register, the lanes with bits that remain undefined after the load. */
    uint64_t undefined[UK_AMDGPU_MAX_LOADED];
    /* Its addresses, `parts` per lane; they are recorded again at each barrier before its wait. */
    unsigned parts, part_bytes;
    uint64_t address[2][UK_AMDGPU_LANES];
};
struct uk_amdgpu_events {
    struct uk_amdgpu_event slot[UK_AMDGPU_QUEUE];
    uint64_t used;                  /* mask of slots in use */
    uint8_t order[UK_AMDGPU_QUEUE]; /* oldest first */
    unsigned n;
};

/* A vector instruction that the wave has executed, and the wave's count of wait states after it. */
struct uk_amdgpu_recent {
    const struct uk_amdgpu_inst *inst;
    uint64_t end;
};

enum uk_amdgpu_wave_state { UK_AMDGPU_WAVE_READY, UK_AMDGPU_WAVE_AT_BARRIER, UK_AMDGPU_WAVE_ENDED };

struct uk_amdgpu_wave {
    struct uk_amdgpu_block *block;
    uint32_t number, pc; /* pc: index of the instruction */
    enum uk_amdgpu_wave_state state;
    uint64_t alive; /* lanes that exist */
    const struct uk_amdgpu_inst *barrier;
    /* Cycles since the block began, if it alone ran. */
    uint64_t clock, matrix_free; /* matrix_free: when its last matrix instruction ends */
    /* If the code has hazards: wait states so far, and the last vector instructions. */
    uint64_t states, n_recent;
    struct uk_amdgpu_recent recent[UK_AMDGPU_RECENT];
    uint8_t *scratch, *scratch_undefined; /* lane after lane; undefined bits per byte */
    uint32_t s[UK_AMDGPU_S_REGISTERS], s_undefined[UK_AMDGPU_S_REGISTERS], s_pending[UK_AMDGPU_S_REGISTERS];
    bool scc, scc_undefined;
    uint32_t next_id;
    struct uk_amdgpu_events events[2];
    uint64_t undefined[UK_AMDGPU_V_REGISTERS]; /* lanes with undefined bits */
    uint32_t pending[UK_AMDGPU_V_REGISTERS];
    uint32_t undefined_bits[UK_AMDGPU_V_REGISTERS][UK_AMDGPU_LANES]; /* the undefined bits of those lanes */
    uint32_t v[UK_AMDGPU_V_REGISTERS][UK_AMDGPU_LANES];
};

struct uk_amdgpu_block {
    struct uk_amdgpu_run_state *run;
    uint32_t id[3], number, epoch, n_waves, n_ended;
    uint8_t *lds, *lds_undefined; /* undefined bits per byte */
    uint32_t lds_bytes;
    struct uk_block_time *time; /* or NULL */
    struct uk_simt_shadow shadow;
};

/* A running launch. */
struct uk_amdgpu_run_state {
    struct uk_amdgpu *gpu;
    const struct uk_amdgpu_kernel *kernel;
    struct uk_amdgpu_code *code;
    enum uk_amdgpu_status status;
    const struct uk_amdgpu_launch *launch;
    struct uk_amdgpu_counts *counts;
    uint64_t steps, max_steps, random;
    uint64_t lds_cycles, lines;     /* of the launch before this block; with `times` */
    struct uk_footprint *footprint; /* per access to buffers, of the present block; NULL: not recorded */
    const uint32_t *access;         /* per instruction: which access it is */
    bool in_l2;                     /* loads of lines take L2's latency, new ones too */
    uint64_t arguments, packet;
    uint8_t *scratch; /* of all waves of a block, followed by its undefined bits */
    struct uk_amdgpu_wave *waves[UK_AMDGPU_MAX_WAVES];
    struct uk_amdgpu_block block;
};

/* The decoded code of a kernel. */
struct uk_amdgpu_code {
    struct uk_amdgpu_inst *inst;
    uint32_t n;
    uint32_t bytes;
    uint32_t vgprs, agprs; /* registers of a thread, by the descriptor */
    bool has_hazards;      /* instructions have to keep wait states after some of it */
    uint32_t v_registers;  /* the highest vector register that the code names, plus 1 */
    int32_t *at;           /* per 4 bytes, the index of the instruction that begins there, or -1 */
    char *texts;
    uint64_t address; /* device address of the first byte */
};

struct uk_amdgpu_descriptor {
    uint32_t rsrc1, rsrc2, rsrc3, properties, preload;
    uint64_t entry; /* offset in the image */
};

struct uk_amdgpu_kernel_inside {
    struct uk_amdgpu_kernel kernel;
    struct uk_amdgpu_descriptor descriptor;
    uint64_t code_bytes;
    struct uk_amdgpu_code *code; /* set by the first launch */
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
    unsigned mach;        /* EF_AMDGPU_MACH of its code objects */
    uint8_t vgpr_granule; /* unit of vector registers in descriptors */
    bool has_agprs;       /* which are counted with the vector registers */
    bool packed_ids;      /* all three ids of a thread are in v0 */
    bool matrix_flush;    /* matrix instructions of f16 and bf16 treat subnormal numbers as 0 */
    struct uk_simt_memory memory;
    struct uk_amdgpu_object *objects;
    void *disassembler;
    char message[1024];
};

#define UK_PRINTF(f, a) __attribute__((format(printf, f, a)))
enum uk_amdgpu_status uk_amdgpu_fail(struct uk_amdgpu *, enum uk_amdgpu_status, const char *format, ...)
    UK_PRINTF(3, 4);

/* load.c: ELF. */
enum uk_amdgpu_status uk_amdgpu_read_elf(struct uk_amdgpu_object *, const uint8_t *image, size_t bytes);
/* metadata.c: kernels from the note's MessagePack. */
enum uk_amdgpu_status uk_amdgpu_metadata(struct uk_amdgpu_object *, const uint8_t *data, size_t bytes);
/* decode.c */
enum uk_amdgpu_status uk_amdgpu_decode(struct uk_amdgpu *, struct uk_amdgpu_kernel_inside *);
void uk_amdgpu_code_free(struct uk_amdgpu_code *);
/* operand.c: parses the text of an instruction. NULL, or the name of the part that it does not understand. */
const char *uk_amdgpu_parse(struct uk_amdgpu_inst *, char *text);
/* opcodes.c. uk_amdgpu_operands completes the instruction; it returns NULL, or the name of the operand that
 * its row does not allow. */
const struct uk_amdgpu_opcode *uk_amdgpu_opcode(const char *name);
const char *uk_amdgpu_operands(struct uk_amdgpu_inst *);
/* Sets the bits of a constant in the operand's type. */
void uk_constant(struct uk_amdgpu_operand *, enum uk_amdgpu_type);
/* matrix.c: the same check for a matrix instruction. */
const char *uk_check_matrix(struct uk_amdgpu_inst *);
/* wave.c: runs a launch, by the function if that is not NULL and does not return false; one of its blocks;
 * sets the block's id; the state in which a wave of it begins. */
enum uk_amdgpu_status uk_amdgpu_run(struct uk_amdgpu_run_state *, const struct uk_amdgpu_descriptor *,
                                    bool by_kind(struct uk_amdgpu_run_state *,
                                                 const struct uk_amdgpu_descriptor *));
void uk_amdgpu_run_block(struct uk_amdgpu_run_state *, const struct uk_amdgpu_descriptor *, uint64_t block);
void uk_block_begin(struct uk_amdgpu_run_state *, uint64_t block);
void uk_begin_wave(struct uk_amdgpu_run_state *, const struct uk_amdgpu_descriptor *, struct uk_amdgpu_wave *,
                   uint32_t number);

/* time.c: the cycles of a block, for launches with `times`. */
uint8_t uk_cycles(const struct uk_core *, const struct uk_amdgpu_inst *);
void uk_time_begin(struct uk_amdgpu_run_state *, uint64_t block);
void uk_time_step(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *);
void uk_time_end(struct uk_amdgpu_run_state *);
/* Records the lines of these lanes' accesses of `size` bytes, and when a load of them has completed. false:
 * no memory. */
bool uk_time_lines(struct uk_amdgpu_wave *, struct uk_amdgpu_event *, uint64_t lanes, const uint64_t *address,
                   unsigned size);

/* report.c: records a message with the place in the code. All of these return UK_AMDGPU_STEP_STOPPED. A
 * negative lane is left out. */

enum uk_amdgpu_step uk_report(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, int lane,
                              const char *format, ...) UK_PRINTF(4, 5);
enum uk_amdgpu_step uk_unsupported(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, const char *format,
                                   ...) UK_PRINTF(3, 4);
enum uk_amdgpu_step uk_no_memory(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *);
/* Names of other instructions and of registers in messages. */
struct uk_amdgpu_name {
    char text[300];
};
struct uk_amdgpu_name uk_name(const struct uk_amdgpu_inst *);
struct uk_amdgpu_name uk_register_name(bool vector, unsigned index);

/* wait.c: outstanding accesses. */
struct uk_amdgpu_event *uk_event_new(struct uk_amdgpu_wave *, enum uk_amdgpu_queue,
                                     const struct uk_amdgpu_inst *);
/* Completes accesses of the queue until at most n are outstanding; returns how many it completed. */
unsigned uk_wait(struct uk_amdgpu_wave *, enum uk_amdgpu_queue, unsigned n);
/* Records the outstanding accesses in the block's new epoch as well. false: no memory. */
bool uk_wait_barrier(struct uk_amdgpu_run_state *);
/* Marks the event's registers as pending and undefined. */
void uk_event_marks(struct uk_amdgpu_wave *, const struct uk_amdgpu_event *);
/* The undefined bits of one lane of a register; during a load, those that remain after it. */
static inline uint32_t uk_undefined_bits(const struct uk_amdgpu_wave *w, unsigned r, unsigned lane) {
    return w->undefined[r] >> lane & 1 ? w->undefined_bits[r][lane] : 0;
}
/* UK_AMDGPU_STEP_NEXT, or a report that one of the registers is used, or overwritten, while a load of it is
 * outstanding. */
enum uk_amdgpu_step uk_use_v(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned first,
                             unsigned n, uint64_t exec, const char *use);
enum uk_amdgpu_step uk_use_s(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned first,
                             unsigned n, const char *use);

/* The same for the destination of a load in this queue; another load of the same register may precede it. */
enum uk_amdgpu_step uk_reload(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned first,
                              unsigned n, uint64_t exec, enum uk_amdgpu_queue);

/* hazard.c: sets the masks of operands that are vector registers. */
void uk_vector_access(struct uk_amdgpu_inst *);
/* True if the instructions after it have to keep wait states, on a GPU with matrix units. */
bool uk_needs_states(const struct uk_amdgpu_inst *);
/* Before the instruction is executed: a report if a matrix instruction, or the VALU instruction before one,
 * is too near. */
enum uk_amdgpu_step uk_hazards(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *);
/* memory.c: checks the registers of data and address of a memory instruction; NULL, or the operand that it
 * does not allow. */
const char *uk_check_access(struct uk_amdgpu_inst *);
/* The address of each active lane's bytes and of their undefined bits; the latter is NULL in a
 * buffer, where all bits are defined. */
struct uk_amdgpu_places {
    uint8_t *bytes[UK_AMDGPU_LANES], *undefined[UK_AMDGPU_LANES];
};
/* The new value of a register, or of its undefined bits, from the bytes of memory and the old value. */
uint32_t uk_loaded(const struct uk_amdgpu_inst *, uint32_t before, const uint8_t *bytes);
/* The address of each active lane's access to a buffer; a report if one is undefined. */
enum uk_amdgpu_step uk_addresses(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, uint64_t exec,
                                 uint64_t *address);
/* scalar.c: the bits of an operand, and which of them are undefined. */
enum uk_amdgpu_step uk_scalar_source(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *,
                                     const struct uk_amdgpu_operand *, uint64_t *value, uint64_t *undefined);
enum uk_amdgpu_step uk_scalar_write(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned index,
                                    unsigned words, uint64_t value, uint64_t undefined);
uk_amdgpu_function uk_run_salu, uk_run_branch, uk_run_getpc, uk_run_setpc, uk_run_waitcnt, uk_run_nop,
    uk_run_barrier, uk_run_end;
/* valu.c: the sources of a VALU instruction. */
struct uk_amdgpu_sources {
    const uint32_t *s[6];
    uint64_t undefined; /* lanes with undefined bits in a source */
    uint64_t mask, mask_undefined;
    uint32_t copy[6][UK_AMDGPU_LANES];
};
/* Sets the words of source k of part 0 or 1, or their undefined bits, for the row's function. */
void uk_source_words(const struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, unsigned k, unsigned part,
                     bool bits, const uint32_t **words, uint32_t (*copy)[UK_AMDGPU_LANES]);
/* undefined.c: sets the undefined bits of both words of a part's result; returns the undefined lanes of its
 * mask. */
uint64_t uk_undefined_result(const struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *,
                             const struct uk_amdgpu_sources *, unsigned part,
                             uint32_t (*result)[UK_AMDGPU_LANES]);
/* matrix.c, valu.c, memory.c, lds.c */
uk_amdgpu_function uk_run_matrix, uk_run_valu, uk_run_readlane, uk_run_writelane, uk_run_swap, uk_run_smem,
    uk_run_global, uk_run_lds;
/* scratch.c: the private memory of lanes. */
enum { MAX_SCRATCH = 131056 }; /* bytes of a thread: the largest wave part is 8191 units of 1 KiB */
/* Device address of scratch, after the regions of all buffers. */
#define SCRATCH_ADDRESS ((uint64_t)0xf00000000000)
/* Addresses that flat_NAME treats as scratch, as Linux sets the aperture. */
#define PRIVATE_APERTURE ((uint64_t)2 << 48)
static inline bool uk_is_private_address(uint64_t address) {
    return address >> 32 == PRIVATE_APERTURE >> 32;
}
/* NULL, or the name of the operand that buffer_NAME or scratch_NAME does not allow. */
const char *uk_check_scratch(struct uk_amdgpu_inst *);
/* Finds the bytes of each active lane of buffer_NAME and scratch_NAME; a report if they are not in its
 * scratch. */
enum uk_amdgpu_step uk_scratch_places(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, uint64_t exec,
                                      struct uk_amdgpu_places *);
/* The same for flat_NAME and the lanes with private addresses. */
enum uk_amdgpu_step uk_scratch_flat(struct uk_amdgpu_wave *, const struct uk_amdgpu_inst *, uint64_t lanes,
                                    const uint64_t *address, struct uk_amdgpu_places *);
/* Initial state of a wave: its scratch, the registers of the resource, and the wave's offset. */
void uk_scratch_begin(struct uk_amdgpu_run_state *, struct uk_amdgpu_wave *);
void uk_scratch_resource(const struct uk_amdgpu_run_state *, uint32_t *words);
uint32_t uk_scratch_offset(const struct uk_amdgpu_run_state *, uint32_t wave);

static inline bool uk_is_mask(const struct uk_amdgpu_operand *o) {
    return o->kind == UK_AMDGPU_OPERAND_S && o->words == 2;
}
static inline uint64_t uk_s64(const uint32_t *s, unsigned index) {
    return s[index] | (uint64_t)s[index + 1] << 32;
}
static inline uint64_t uk_exec(const struct uk_amdgpu_wave *w) {
    return uk_s64(w->s, EXEC);
}

#endif
