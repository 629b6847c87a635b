/* SPDX-License-Identifier: Apache-2.0 */
/* uk-sim-amdgpu: runs a kernel of a code object in the simulator. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "amdgpu.h"

static const char uk_usage[] =
    "usage: uk-sim-amdgpu FILE.hsaco                 lists the kernels and their arguments\n"
    "       uk-sim-amdgpu FILE.hsaco KERNEL [--grid=X,Y,Z] [--block=X,Y,Z] [OPTION...] ARG...\n"
    "ARG:   NUMBER, f32:NUMBER, f64:NUMBER    a value, as wide as the argument\n"
    "       @FILE[=OUT]                       a buffer with the bytes of FILE; after the launch they are "
    "written to OUT\n"
    "       zero:BYTES[=OUT]                  a buffer of zeros\n"
    "--grid in blocks, --block in threads (default 1,1,1); --lds=BYTES in addition to the kernel's own; "
    "--seed=N: "
    "another order of\n"
    "waves and blocks; --max-steps=N: instructions of waves (default 2^32); --count: what was executed, by "
    "kind\n"
    "Exit status: 0; 1: the launch was refused or had an error, printed as one line; 2: usage.\n";

enum { MAX_ARGUMENTS = 64 };
struct uk_sim_argument {
    union {
        uint64_t u;
        float f;
        double d;
        unsigned char bytes[64];
    } value;
    uint64_t bytes;
    const char *out;
};
struct uk_sim {
    const char *file, *kernel;
    struct uk_amdgpu_launch launch;
    bool count, listing;
    const char *text[MAX_ARGUMENTS];
    struct uk_sim_argument argument[MAX_ARGUMENTS];
    uint32_t n;
    struct uk_amdgpu *gpu;
};

__attribute__((format(printf, 1, 2))) static int uk_sim_error(const char *format, ...) {
    va_list list;

    fputs("uk-sim-amdgpu: ", stderr);
    va_start(list, format);
    vfprintf(stderr, format, list);
    va_end(list);
    fputc('\n', stderr);
    return 1;
}

/* Reads a whole file, of less than 8 GiB; NULL after a message. */
static unsigned char *uk_sim_read(const char *name, size_t *bytes) {
    FILE *file = fopen(name, "rb");
    unsigned char *data = NULL;
    size_t room = 0, n;

    if (!file) {
        uk_sim_error("%s: %s", name, strerror(errno));
        return NULL;
    }
    for (*bytes = 0;; *bytes += n) {
        if (*bytes == room) {
            unsigned char *more = realloc(data, room = 2 * room + 65536);

            if (!more || room > (size_t)8 << 30) {
                free(more ? more : data);
                fclose(file);
                uk_sim_error("%s: no memory", name);
                return NULL;
            }
            data = more;
        }
        n = fread(data + *bytes, 1, room - *bytes, file);
        if (!n)
            break;
    }
    if (ferror(file)) {
        uk_sim_error("%s: cannot be read", name);
        free(data);
        data = NULL;
    }
    fclose(file);
    return data;
}

static bool uk_sim_triple(const char *text, uint32_t *three) {
    int n = 0, end = 0;
    unsigned long value[3] = {1, 1, 1};

    for (; n < 3; ++n) {
        char *rest;

        errno = 0;
        value[n] = strtoul(text + end, &rest, 10);
        if (rest == text + end || errno || value[n] > UINT32_MAX || text[end] == '-')
            return false;
        three[n] = (uint32_t)value[n];
        end = (int)(rest - text);
        if (text[end] != ',')
            return text[end] == 0;
        ++end;
    }
    return false;
}

static bool uk_sim_number(const char *text, uint64_t *value) {
    char *rest;

    errno = 0;
    *value = *text == '-' ? (uint64_t)strtoll(text, &rest, 0) : strtoull(text, &rest, 0);
    return rest != text && !*rest && !errno;
}

static int uk_sim_option(struct uk_sim *sim, const char *text) {
    uint64_t number;

    sim->count = sim->count || strcmp(text, "--count") == 0;
    sim->listing = sim->listing || strcmp(text, "--listing") == 0;
    if (strcmp(text, "--count") == 0 || strcmp(text, "--listing") == 0)
        return 0;
    if (strncmp(text, "--grid=", 7) == 0 && uk_sim_triple(text + 7, sim->launch.grid))
        return 0;
    if (strncmp(text, "--block=", 8) == 0 && uk_sim_triple(text + 8, sim->launch.block))
        return 0;
    if (strncmp(text, "--seed=", 7) == 0 && uk_sim_number(text + 7, &sim->launch.seed))
        return 0;
    if (strncmp(text, "--max-steps=", 12) == 0 && uk_sim_number(text + 12, &sim->launch.max_steps))
        return 0;
    if (strncmp(text, "--lds=", 6) == 0 && uk_sim_number(text + 6, &number) && number <= UINT32_MAX) {
        sim->launch.lds_bytes = (uint32_t)number;
        return 0;
    }
    uk_sim_error("%s: not an option, or not its value", text);
    fputs(uk_usage, stderr);
    return 2;
}

static int uk_sim_buffer(struct uk_sim *sim, uint32_t i) {
    char name[4096];
    const char *text = sim->text[i], *out = strchr(text, '=');
    struct uk_sim_argument *a = &sim->argument[i];
    unsigned char *data = NULL;
    size_t bytes = 0;
    uint64_t number;

    snprintf(name, sizeof name, "%.*s", out ? (int)(out - text) : (int)strlen(text), text);
    a->out = out ? out + 1 : NULL;
    if (*name == '@') {
        data = uk_sim_read(name + 1, &bytes);
        if (!data)
            return 1;
    } else {
        if (!uk_sim_number(name + 5, &number) || number > (uint64_t)1 << 32)
            return uk_sim_error("argument %u, %s: not a number of bytes", i, text);
        data = calloc(1, number + 1);
        bytes = number;
        if (!data)
            return uk_sim_error("argument %u, %s: no memory", i, text);
    }
    a->bytes = bytes;
    if (uk_amdgpu_alloc(sim->gpu, bytes, &a->value.u) || uk_amdgpu_write(sim->gpu, a->value.u, data, bytes)) {
        free(data);
        return uk_sim_error("argument %u, %s: %s", i, text, uk_amdgpu_message(sim->gpu));
    }
    free(data);
    return 0;
}

/* Parses argument i as the metadata describes it. */
static int uk_sim_value(struct uk_sim *sim, uint32_t i, const struct uk_amdgpu_argument *to) {
    const char *text = sim->text[i];
    const bool buffer = *text == '@' || strncmp(text, "zero:", 5) == 0, f32 = strncmp(text, "f32:", 4) == 0;
    const bool real = f32 || strncmp(text, "f64:", 4) == 0;
    struct uk_sim_argument *a = &sim->argument[i];
    char *rest;
    double number;

    if (buffer != (to->kind == UK_AMDGPU_BUFFER))
        return uk_sim_error("argument %u, %s: the kernel takes %s there, %u bytes", i, text,
                            to->kind == UK_AMDGPU_BUFFER ? "a buffer (@FILE, zero:BYTES)" : "a value",
                            to->size);
    if (buffer)
        return uk_sim_buffer(sim, i);
    if (to->size > 8 || (real && to->size != (f32 ? 4 : 8)))
        return uk_sim_error("argument %u, %s: the kernel takes %u bytes there", i, text, to->size);
    if (real) {
        number = strtod(text + 4, &rest);
        if (*rest || rest == text + 4)
            return uk_sim_error("argument %u, %s: not a number", i, text);
        if (f32)
            a->value.f = (float)number;
        else
            a->value.d = number;
    } else if (!uk_sim_number(text, &a->value.u)) {
        return uk_sim_error("argument %u, %s: not a number, f32:NUMBER, f64:NUMBER, @FILE or zero:BYTES", i,
                            text);
    }
    return 0;
}

static int uk_sim_write(struct uk_sim *sim, const struct uk_sim_argument *a) {
    unsigned char *data = malloc(a->bytes + 1);
    FILE *file = data ? fopen(a->out, "wb") : NULL;
    int status = 0;

    if (!file)
        status = uk_sim_error("%s: %s", a->out, strerror(errno));
    else if (uk_amdgpu_read(sim->gpu, data, a->value.u, a->bytes) ||
             fwrite(data, 1, a->bytes, file) != a->bytes)
        status = uk_sim_error("%s: cannot be written", a->out);
    if (file && fclose(file) && !status)
        status = uk_sim_error("%s: %s", a->out, strerror(errno));
    free(data);
    return status;
}

static void uk_sim_counts(const struct uk_amdgpu_counts *c) {
    for (int kind = 0; kind < UK_AMDGPU_N_KINDS; ++kind)
        printf("%-20s %llu\n", uk_amdgpu_kind_names[kind], (unsigned long long)c->instructions[kind]);
    printf("%-20s %llu\n%-20s %llu\n%-20s %llu\n%-20s %llu\n", "flops", (unsigned long long)c->flops,
           "matrix_multiply_adds", (unsigned long long)c->matrix_multiply_adds, "load_bytes",
           (unsigned long long)c->load_bytes, "store_bytes", (unsigned long long)c->store_bytes);
    printf("%-20s %llu\n%-20s %llu\n%-20s %llu\n%-20s %llu\n%-20s %llu\n", "lds_read_cycles",
           (unsigned long long)c->lds_read_cycles, "lds_read_conflicts",
           (unsigned long long)c->lds_read_conflicts, "lds_write_cycles",
           (unsigned long long)c->lds_write_cycles, "lds_write_conflicts",
           (unsigned long long)c->lds_write_conflicts, "max_conflict_ways",
           (unsigned long long)c->max_conflict_ways);
}

static void uk_sim_listing(const struct uk_amdgpu_kernel *kernel) {
    for (uint32_t i = 0; i < uk_amdgpu_n_instructions(kernel); ++i) {
        const struct uk_amdgpu_instruction at = uk_amdgpu_instruction(kernel, i);

        printf("%6x %10llu  %s", at.offset, (unsigned long long)at.executed, at.text);
        if (at.lds_cycles)
            printf(" // %llu cycles, %llu of conflicts, at most %llu-way", (unsigned long long)at.lds_cycles,
                   (unsigned long long)at.lds_conflicts, (unsigned long long)at.max_conflict_ways);
        if (at.kind == UK_AMDGPU_WAIT)
            printf(" // %llu accesses by vmcnt, %llu by lgkmcnt", (unsigned long long)at.waited[0],
                   (unsigned long long)at.waited[1]);
        putchar('\n');
    }
}

static void uk_sim_list(const struct uk_amdgpu_object *object) {
    for (uint32_t i = 0; i < uk_amdgpu_n_kernels(object); ++i) {
        const struct uk_amdgpu_kernel *k = uk_amdgpu_kernel(object, i);

        printf("%s: %u VGPR, %u AGPR, %u SGPR, %u bytes of LDS, %u of scratch\n", k->name, k->vgprs, k->agprs,
               k->sgprs, k->lds_bytes, k->scratch_bytes);
        for (uint32_t j = 0; j < k->n_arguments + k->n_hidden; ++j)
            printf("  %3u: %u bytes at %u, %s %s\n", j, k->arguments[j].size, k->arguments[j].offset,
                   k->arguments[j].value_kind, k->arguments[j].name);
    }
}

static int uk_sim_launch(struct uk_sim *sim, const struct uk_amdgpu_object *object) {
    const struct uk_amdgpu_kernel *kernel = uk_amdgpu_find(object, sim->kernel);
    const void *arguments[MAX_ARGUMENTS];
    struct uk_amdgpu_counts counts;
    int status = 0;

    if (!kernel)
        return uk_sim_error("%s has no kernel %s; without a name its kernels are listed", sim->file,
                            sim->kernel);
    if (sim->n != kernel->n_arguments)
        return uk_sim_error("%s takes %u arguments, not %u", sim->kernel, kernel->n_arguments, sim->n);
    for (uint32_t i = 0; i < sim->n && !status; ++i) {
        arguments[i] = &sim->argument[i].value;
        status = uk_sim_value(sim, i, &kernel->arguments[i]);
    }
    if (status)
        return status;
    if (uk_amdgpu_launch(sim->gpu, kernel, &sim->launch, arguments, sim->n, &counts))
        return uk_sim_error("%s", uk_amdgpu_message(sim->gpu));
    for (uint32_t i = 0; i < sim->n && !status; ++i)
        if (sim->argument[i].out)
            status = uk_sim_write(sim, &sim->argument[i]);
    if (!status && sim->count)
        uk_sim_counts(&counts);
    if (!status && sim->listing)
        uk_sim_listing(kernel);
    return status;
}

static int uk_sim_run(struct uk_sim *sim) {
    size_t bytes;
    unsigned char *image = uk_sim_read(sim->file, &bytes);
    const char *gfx = image ? uk_amdgpu_gfx(image, bytes) : NULL;
    struct uk_amdgpu_object *object;
    int status = 0;

    if (!image)
        return 1;
    /* Any GPU's loader refuses a file that is not a code object, with a message. */
    sim->gpu = uk_amdgpu_open(gfx ? gfx : "gfx90a");
    if (!sim->gpu)
        status = uk_sim_error("no memory, or this LLVM has no disassembler for AMDGPU");
    else if (uk_amdgpu_load(sim->gpu, image, bytes, &object))
        status = uk_sim_error("%s: %s", sim->file, uk_amdgpu_message(sim->gpu));
    free(image);
    if (!status && !sim->kernel)
        uk_sim_list(object);
    else if (!status)
        status = uk_sim_launch(sim, object);
    uk_amdgpu_close(sim->gpu);
    return status;
}

int main(int argc, char **argv) {
    static struct uk_sim sim = {.launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};

    for (int i = 1; i < argc; ++i) {
        int status = 0;

        if (strcmp(argv[i], "--help") == 0) {
            fputs(uk_usage, stdout);
            return 0;
        }
        if (strncmp(argv[i], "--", 2) == 0)
            status = uk_sim_option(&sim, argv[i]);
        else if (!sim.file)
            sim.file = argv[i];
        else if (!sim.kernel)
            sim.kernel = argv[i];
        else if (sim.n < MAX_ARGUMENTS)
            sim.text[sim.n++] = argv[i];
        else
            status = uk_sim_error("more than %d arguments", MAX_ARGUMENTS);
        if (status)
            return status;
    }
    if (!sim.file) {
        fputs(uk_usage, stderr);
        return 2;
    }
    return uk_sim_run(&sim);
}
