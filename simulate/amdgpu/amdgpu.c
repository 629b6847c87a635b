/* SPDX-License-Identifier: Apache-2.0 */
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <llvm-c/Disassembler.h>
#include <llvm-c/Target.h>
#include "kinds.h"

const char *const uk_amdgpu_kind_names[UK_AMDGPU_N_KINDS] = {
    "fma",   "valu",     "matrix",    "salu", "smem",    "load",
    "store", "lds_read", "lds_write", "wait", "barrier", "other",
};

/* The simulated GPUs: LLVM's name, EF_AMDGPU_MACH of ELF's flags, and fields of struct uk_amdgpu. */
static const struct {
    const char *gfx;
    unsigned mach;
    uint8_t vgpr_granule;
    bool has_agprs, packed_ids;
} uk_gpus[] = {{"gfx906", 0x2f, 4, false, false}, {"gfx90a", 0x3f, 8, true, true}};
enum { MAX_LDS = 65536, PACKET = 64, MODE = 0xff, MODE_KEEPS_SUBNORMALS = 0xf0 };

/* Device facts of the GPU's row in cores.def. */
static struct uk_device uk_device_of(const char *gfx) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#define KIB(n) ((int64_t)(n) << 10)
#define UK_CORE_ROW(name_, arch_, ...) \
    if (strcmp(gfx, name_) == 0)       \
        return ((struct uk_core){__VA_ARGS__}).device;
#include "machine/cores.def"
#pragma GCC diagnostic pop
    return (struct uk_device){0};
}

static int uk_gpu_index(const char *gfx) {
    for (int i = 0; i < (int)(sizeof uk_gpus / sizeof uk_gpus[0]); ++i)
        if (strcmp(gfx, uk_gpus[i].gfx) == 0)
            return i;
    return -1;
}
bool uk_amdgpu_simulates(const char *gfx) {
    return uk_gpu_index(gfx) >= 0;
}

const char *uk_amdgpu_gfx(const void *image, size_t bytes) {
    Elf64_Ehdr header;

    if (bytes < sizeof header)
        return NULL;
    memcpy(&header, image, sizeof header);
    for (size_t i = 0; i < sizeof uk_gpus / sizeof uk_gpus[0]; ++i)
        if (memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == MACHINE_AMDGPU &&
            (header.e_flags & FLAGS_MACH) == uk_gpus[i].mach)
            return uk_gpus[i].gfx;
    return NULL;
}

const char *uk_amdgpu_message(const struct uk_amdgpu *gpu) {
    return gpu->message;
}

/* LLVM's tables of targets are initialized once in a process. */
static void uk_initialize(void) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
}

struct uk_amdgpu *uk_amdgpu_open(const char *gfx) {
    static once_flag once = ONCE_FLAG_INIT;
    const int index = uk_gpu_index(gfx);
    struct uk_amdgpu *gpu = index < 0 ? NULL : calloc(1, sizeof *gpu);

    if (!gpu)
        return NULL;
    strcpy(gpu->gfx, gfx);
    gpu->mach = uk_gpus[index].mach;
    gpu->vgpr_granule = uk_gpus[index].vgpr_granule;
    gpu->has_agprs = uk_gpus[index].has_agprs;
    gpu->packed_ids = uk_gpus[index].packed_ids;
    gpu->matrix_flush = uk_device_of(gfx).matrix_flush;
    call_once(&once, uk_initialize);
    gpu->disassembler = LLVMCreateDisasmCPU("amdgcn-amd-amdhsa", gfx, NULL, 0, NULL, NULL);
    if (!gpu->disassembler) {
        free(gpu);
        return NULL;
    }
    return gpu;
}

void uk_amdgpu_close(struct uk_amdgpu *gpu) {
    if (!gpu)
        return;
    while (gpu->objects)
        uk_amdgpu_unload(gpu->objects);
    uk_simt_free_all(&gpu->memory);
    LLVMDisasmDispose(gpu->disassembler);
    free(gpu);
}

enum uk_amdgpu_status uk_amdgpu_alloc(struct uk_amdgpu *gpu, size_t bytes, uint64_t *address) {
    if (bytes > UK_SIMT_MAX_BUFFER)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_INVALID, "a buffer of %zu bytes is too large; the limit is %llu",
                              bytes, (unsigned long long)UK_SIMT_MAX_BUFFER);
    if (!uk_simt_alloc(&gpu->memory, bytes, 0xa5, address))
        return uk_amdgpu_fail(gpu, UK_AMDGPU_NO_MEMORY, "no memory for a buffer of %zu bytes", bytes);
    return UK_AMDGPU_OK;
}

enum uk_amdgpu_status uk_amdgpu_free(struct uk_amdgpu *gpu, uint64_t address) {
    const struct uk_simt_buffer *b = uk_simt_buffer_at(&gpu->memory, address);

    if (!b || b->constant || !uk_simt_free(&gpu->memory, address))
        return uk_amdgpu_fail(gpu, UK_AMDGPU_INVALID, "no buffer begins at 0x%llx",
                              (unsigned long long)address);
    return UK_AMDGPU_OK;
}

static struct uk_simt_buffer *uk_host_access(struct uk_amdgpu *gpu, uint64_t address, size_t bytes) {
    struct uk_simt_buffer *b = uk_simt_buffer_at(&gpu->memory, address);

    if (b && !b->constant && uk_simt_inside(b, address, bytes))
        return b;
    uk_amdgpu_fail(gpu, UK_AMDGPU_INVALID, "%zu bytes at 0x%llx lie in no buffer", bytes,
                   (unsigned long long)address);
    return NULL;
}

enum uk_amdgpu_status uk_amdgpu_write(struct uk_amdgpu *gpu, uint64_t address, const void *data,
                                      size_t bytes) {
    struct uk_simt_buffer *b = uk_host_access(gpu, address, bytes);

    if (b && bytes)
        memcpy(b->bytes + (address - b->address), data, bytes);
    return b ? UK_AMDGPU_OK : UK_AMDGPU_INVALID;
}

enum uk_amdgpu_status uk_amdgpu_read(struct uk_amdgpu *gpu, void *data, uint64_t address, size_t bytes) {
    const struct uk_simt_buffer *b = uk_host_access(gpu, address, bytes);

    if (b && bytes)
        memcpy(data, b->bytes + (address - b->address), bytes);
    return b ? UK_AMDGPU_OK : UK_AMDGPU_INVALID;
}

enum uk_amdgpu_status uk_amdgpu_load(struct uk_amdgpu *gpu, const void *image, size_t bytes,
                                     struct uk_amdgpu_object **out) {
    struct uk_amdgpu_object *object = calloc(1, sizeof *object);
    enum uk_amdgpu_status status;

    *out = NULL;
    if (!object)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_NO_MEMORY, "no memory for the code object");
    object->gpu = gpu;
    object->next = gpu->objects;
    gpu->objects = object;
    status = uk_amdgpu_read_elf(object, image, bytes);
    if (status)
        uk_amdgpu_unload(object);
    else
        *out = object;
    return status;
}

void uk_amdgpu_unload(struct uk_amdgpu_object *object) {
    struct uk_amdgpu_object **at;

    if (!object)
        return;
    for (at = &object->gpu->objects; *at != object;)
        at = &(*at)->next;
    *at = object->next;
    if (object->image)
        uk_simt_free(&object->gpu->memory, object->image);
    for (uint32_t i = 0; i < object->n; ++i)
        uk_amdgpu_code_free(object->kernels[i].code);
    free(object->kernels);
    free(object);
}

uint32_t uk_amdgpu_n_kernels(const struct uk_amdgpu_object *object) {
    return object->n;
}
const struct uk_amdgpu_kernel *uk_amdgpu_kernel(const struct uk_amdgpu_object *object, uint32_t i) {
    return &object->kernels[i].kernel;
}
const struct uk_amdgpu_kernel *uk_amdgpu_find(const struct uk_amdgpu_object *object, const char *name) {
    for (uint32_t i = 0; i < object->n; ++i)
        if (strcmp(object->kernels[i].kernel.name, name) == 0)
            return &object->kernels[i].kernel;
    return NULL;
}

/* Refuses a launch that cannot be simulated, before anything is executed. */
static enum uk_amdgpu_status uk_check_launch(struct uk_amdgpu *gpu, const struct uk_amdgpu_kernel_inside *k,
                                             const struct uk_amdgpu_launch *launch, uint32_t n_arguments) {
    const uint64_t threads = (uint64_t)launch->block[0] * launch->block[1] * launch->block[2];
    const char *name = k->kernel.name;

    if (launch->block[0] > 1024 || launch->block[1] > 1024 || launch->block[2] > 1024 || !threads ||
        threads > k->kernel.max_threads)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_INVALID, "a block of %u,%u,%u threads; %.100s takes 1 to %u",
                              launch->block[0], launch->block[1], launch->block[2], name,
                              k->kernel.max_threads);
    if ((uint64_t)launch->grid[0] * launch->grid[1] > UINT32_MAX ||
        (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2] >= UINT32_MAX ||
        launch->grid[1] > 65535 || launch->grid[2] > 65535)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_INVALID,
                              "a grid of %u,%u,%u blocks; y and z end at 65535, all at 2^32 - 2",
                              launch->grid[0], launch->grid[1], launch->grid[2]);
    if (n_arguments != k->kernel.n_arguments)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_INVALID, "%.100s takes %u arguments, not %u", name,
                              k->kernel.n_arguments, n_arguments);
    if ((uint64_t)k->kernel.lds_bytes + launch->lds_bytes > MAX_LDS)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_INVALID, "%llu bytes of LDS for %.100s; a block has %u",
                              (unsigned long long)k->kernel.lds_bytes + launch->lds_bytes, name, MAX_LDS);
    if (k->kernel.scratch_bytes > MAX_SCRATCH)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_INVALID, "%u bytes of scratch for %.100s; a thread has %u",
                              k->kernel.scratch_bytes, name, MAX_SCRATCH);
    if (k->kernel.wave != UK_AMDGPU_LANES)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_UNSUPPORTED, "%.100s has waves of %u lanes; simulated are %d",
                              name, k->kernel.wave, UK_AMDGPU_LANES);
    if ((k->descriptor.rsrc1 >> 12 & MODE) != MODE_KEEPS_SUBNORMALS)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_UNSUPPORTED,
                              "%.100s flushes subnormal numbers, or does not round to nearest (FLOAT_MODE "
                              "0x%x), which is not simulated",
                              name, k->descriptor.rsrc1 >> 12 & MODE);
    if (k->descriptor.preload)
        return uk_amdgpu_fail(gpu, UK_AMDGPU_UNSUPPORTED,
                              "%.100s wants arguments preloaded in registers, which is not simulated", name);
    return UK_AMDGPU_OK;
}

static void uk_hidden_argument(uint8_t *to, const struct uk_amdgpu_argument *a,
                               const struct uk_amdgpu_launch *launch) {
    static const char axes[] = "xyz";
    uint64_t value = 0;

    for (unsigned axis = 0; axis < 3; ++axis) {
        const struct {
            const char *name;
            uint64_t value;
        } known[] = {{"hidden_block_count_", launch->grid[axis]},
                     {"hidden_group_size_", launch->block[axis]}};

        for (unsigned i = 0; i < 2; ++i)
            if (strncmp(a->value_kind, known[i].name, strlen(known[i].name)) == 0 &&
                a->value_kind[strlen(known[i].name)] == axes[axis])
                value = known[i].value;
    }
    if (strcmp(a->value_kind, "hidden_grid_dims") == 0)
        value = launch->grid[2] > 1 || launch->block[2] > 1   ? 3
                : launch->grid[1] > 1 || launch->block[1] > 1 ? 2
                                                              : 1;
    memcpy(to, &value, a->size < 8 ? a->size : 8);
}

/* Allocates the argument segment and the packet that starts a kernel (hsa_kernel_dispatch_packet_t) as
 * constant buffers and fills them in. */
static bool uk_arguments(struct uk_amdgpu *gpu, const struct uk_amdgpu_kernel *k,
                         const struct uk_amdgpu_launch *launch, const void *const *arguments,
                         struct uk_amdgpu_run_state *run) {
    uint8_t *to;
    uint16_t sizes[3];
    uint32_t grid[3];

    /* HSA allocates the segment in units of 16 bytes, so compilers may read past the last argument. */
    if (!uk_simt_alloc(&gpu->memory, (k->argument_bytes + 15) & ~15u, 0xa5, &run->arguments))
        return false;
    if (!uk_simt_alloc(&gpu->memory, PACKET, 0, &run->packet))
        return false;
    uk_simt_buffer_at(&gpu->memory, run->arguments)->constant =
        uk_simt_buffer_at(&gpu->memory, run->packet)->constant = true;
    to = uk_simt_buffer_at(&gpu->memory, run->arguments)->bytes;
    for (uint32_t i = 0; i < k->n_arguments; ++i)
        memcpy(to + k->arguments[i].offset, arguments[i], k->arguments[i].size);
    for (uint32_t i = k->n_arguments; i < k->n_arguments + k->n_hidden; ++i)
        uk_hidden_argument(to + k->arguments[i].offset, &k->arguments[i], launch);
    to = uk_simt_buffer_at(&gpu->memory, run->packet)->bytes;
    for (unsigned axis = 0; axis < 3; ++axis) {
        sizes[axis] = (uint16_t)launch->block[axis];
        grid[axis] = launch->grid[axis] * launch->block[axis];
    }
    memcpy(to + 4, sizes, sizeof sizes);
    memcpy(to + 12, grid, sizeof grid);
    memcpy(to + 28, &run->block.lds_bytes, 4);
    memcpy(to + 40, &run->arguments, 8);
    return true;
}

/* Accesses are compared within one launch only. */
static void uk_forget_shadows(struct uk_amdgpu *gpu) {
    for (uint32_t i = 0; i < gpu->memory.n; ++i) {
        struct uk_simt_buffer *b = &gpu->memory.buffers[i];

        uk_simt_shadow_end(&b->shadow);
        free(b->lines);
        b->lines = NULL;
    }
}

enum uk_amdgpu_status uk_amdgpu_launch(struct uk_amdgpu *gpu, const struct uk_amdgpu_kernel *kernel,
                                       const struct uk_amdgpu_launch *launch, const void *const *arguments,
                                       uint32_t n_arguments, struct uk_amdgpu_counts *counts) {
    struct uk_amdgpu_kernel_inside *k = (struct uk_amdgpu_kernel_inside *)kernel;
    struct uk_amdgpu_counts unused;
    struct uk_amdgpu_run_state run = {.gpu = gpu, .kernel = kernel, .launch = launch};
    enum uk_amdgpu_status status;

    run.counts = counts ? counts : &unused;
    memset(run.counts, 0, sizeof *run.counts);
    status = uk_check_launch(gpu, k, launch, n_arguments);
    if (!status)
        status = uk_amdgpu_decode(gpu, k);
    if (status)
        return status;
    run.code = k->code;
    run.random = launch->seed + 1;
    run.max_steps = launch->max_steps ? launch->max_steps : (uint64_t)1 << 32;
    run.block.lds_bytes = kernel->lds_bytes + launch->lds_bytes;
    if (uk_arguments(gpu, kernel, launch, arguments, &run))
        status = uk_amdgpu_run(&run, &k->descriptor, launch->by_kind && launch->core ? uk_run_kinds : NULL);
    else
        status = uk_amdgpu_fail(gpu, UK_AMDGPU_NO_MEMORY, "no memory for arguments");
    uk_forget_shadows(gpu);
    if (run.arguments)
        uk_simt_free(&gpu->memory, run.arguments);
    if (run.packet)
        uk_simt_free(&gpu->memory, run.packet);
    return status;
}

/* The array's last element reports a wave that runs past the end of the code. */
uint32_t uk_amdgpu_n_instructions(const struct uk_amdgpu_kernel *kernel) {
    const struct uk_amdgpu_code *code = ((const struct uk_amdgpu_kernel_inside *)kernel)->code;

    return code ? code->n - 1 : 0;
}
struct uk_amdgpu_instruction uk_amdgpu_instruction(const struct uk_amdgpu_kernel *kernel, uint32_t i) {
    const struct uk_amdgpu_inst *inst = &((const struct uk_amdgpu_kernel_inside *)kernel)->code->inst[i];

    return (struct uk_amdgpu_instruction){
        inst->text,
        inst->offset,
        inst->op ? inst->op->kind : UK_AMDGPU_OTHER,
        inst->n_executed,
        inst->lds_cycles,
        inst->lds_conflicts,
        inst->lds_ways,
        {inst->waited[0], inst->waited[1]},
    };
}
