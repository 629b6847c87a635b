/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A code object's metadata, a map in MessagePack with a launch's parameters. The same code reads it twice:
 * first to count kernels, arguments and bytes of names, then to fill in the arrays allocated for them.
 */
#include <stdlib.h>
#include <string.h>
#include "state.h"

struct uk_pack {
    const uint8_t *at, *end;
    bool bad;
};

enum uk_pack_kind { PACK_INTEGER, PACK_TEXT, PACK_LIST, PACK_MAP, PACK_OTHER };
/* n: an integer, the number of elements of a list or map, or the length of a text. */
struct uk_amdgpu_value {
    enum uk_pack_kind kind;
    uint64_t n;
    const char *text;
};

static uint64_t uk_pack_number(struct uk_pack *p, unsigned bytes) {
    uint64_t value = 0;

    if ((size_t)(p->end - p->at) < bytes) {
        p->bad = true;
        return 0;
    }
    for (unsigned i = 0; i < bytes; ++i)
        value = value << 8 | *p->at++;
    return value;
}

static struct uk_amdgpu_value uk_pack_bytes(struct uk_pack *p, enum uk_pack_kind kind, uint64_t n) {
    const struct uk_amdgpu_value value = {kind, n, (const char *)p->at};

    if (n > (uint64_t)(p->end - p->at))
        p->bad = true;
    else
        p->at += n;
    return value;
}

static struct uk_amdgpu_value uk_pack_next(struct uk_pack *p) {
    const uint8_t tag = (uint8_t)uk_pack_number(p, 1);

    if (tag < 0x80)
        return (struct uk_amdgpu_value){PACK_INTEGER, tag, NULL};
    if (tag < 0x90)
        return (struct uk_amdgpu_value){PACK_MAP, tag & 15, NULL};
    if (tag < 0xa0)
        return (struct uk_amdgpu_value){PACK_LIST, tag & 15, NULL};
    if (tag < 0xc0)
        return uk_pack_bytes(p, PACK_TEXT, tag & 31);
    switch (tag) {
    case 0xc0: /* nil, false, true */
    case 0xc2:
    case 0xc3:
        return (struct uk_amdgpu_value){PACK_OTHER, tag == 0xc3, NULL};
    case 0xc4:
    case 0xc5:
    case 0xc6:
        return uk_pack_bytes(p, PACK_OTHER, uk_pack_number(p, 1u << (tag - 0xc4)));
    case 0xca:
    case 0xcb:
        return uk_pack_bytes(p, PACK_OTHER, tag == 0xca ? 4 : 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        return (struct uk_amdgpu_value){PACK_INTEGER, uk_pack_number(p, 1u << (tag - 0xcc)), NULL};
    case 0xd0: /* signed integers; none is needed */
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return uk_pack_bytes(p, PACK_OTHER, 1u << (tag - 0xd0));
    case 0xd9:
    case 0xda:
    case 0xdb:
        return uk_pack_bytes(p, PACK_TEXT, uk_pack_number(p, 1u << (tag - 0xd9)));
    case 0xdc:
    case 0xdd:
        return (struct uk_amdgpu_value){PACK_LIST, uk_pack_number(p, tag == 0xdc ? 2 : 4), NULL};
    case 0xde:
    case 0xdf:
        return (struct uk_amdgpu_value){PACK_MAP, uk_pack_number(p, tag == 0xde ? 2 : 4), NULL};
    default:
        if (tag >= 0xe0)
            return (struct uk_amdgpu_value){PACK_OTHER, 0, NULL};
        p->bad = true;
        return (struct uk_amdgpu_value){PACK_OTHER, 0, NULL};
    }
}

/* Skips the rest of a value whose beginning was read. */
static void uk_pack_skip(struct uk_pack *p, struct uk_amdgpu_value value, unsigned depth) {
    uint64_t n = value.kind == PACK_LIST ? value.n : value.kind == PACK_MAP ? 2 * value.n : 0;

    if (depth > 16)
        p->bad = true;
    for (; n && !p->bad; --n)
        uk_pack_skip(p, uk_pack_next(p), depth + 1);
}

static bool uk_is(struct uk_amdgpu_value value, const char *text) {
    return value.kind == PACK_TEXT && value.n == strlen(text) && memcmp(value.text, text, value.n) == 0;
}

/* The output; in the first pass the pointers are NULL. */
struct uk_filled {
    struct uk_amdgpu_kernel_inside *kernels;
    struct uk_amdgpu_argument *arguments;
    char *names;
    size_t n_kernels, n_arguments, n_names;
};

static const char *uk_keep(struct uk_filled *f, struct uk_amdgpu_value value) {
    char *kept = f->names ? f->names + f->n_names : NULL;

    if (value.kind != PACK_TEXT)
        return "";
    if (kept) {
        memcpy(kept, value.text, value.n);
        kept[value.n] = 0;
    }
    f->n_names += value.n + 1;
    return kept;
}

static enum uk_amdgpu_argument_kind uk_kind_of(struct uk_amdgpu_value value) {
    return uk_is(value, "by_value")                 ? UK_AMDGPU_BY_VALUE
           : uk_is(value, "global_buffer")          ? UK_AMDGPU_BUFFER
           : uk_is(value, "dynamic_shared_pointer") ? UK_AMDGPU_LDS_POINTER
           : value.kind == PACK_TEXT && value.n > 7 && !memcmp(value.text, "hidden_", 7) ? UK_AMDGPU_HIDDEN
                                                                                         : UK_AMDGPU_BY_VALUE;
}

static void uk_pack_argument(struct uk_pack *p, struct uk_filled *f) {
    const struct uk_amdgpu_value map = uk_pack_next(p);
    struct uk_amdgpu_argument argument = {.name = "", .value_kind = ""};

    if (map.kind != PACK_MAP)
        p->bad = true;
    for (uint64_t i = 0; i < map.n && !p->bad; ++i) {
        const struct uk_amdgpu_value key = uk_pack_next(p), value = uk_pack_next(p);

        if (uk_is(key, ".name"))
            argument.name = uk_keep(f, value);
        else if (uk_is(key, ".offset"))
            argument.offset = (uint32_t)value.n;
        else if (uk_is(key, ".size"))
            argument.size = (uint32_t)value.n;
        else if (uk_is(key, ".value_kind")) {
            argument.kind = uk_kind_of(value);
            argument.value_kind = uk_keep(f, value);
        }
        uk_pack_skip(p, value, 0);
    }
    if (f->arguments)
        f->arguments[f->n_arguments] = argument;
    ++f->n_arguments;
}

/* The field of the kernel for a number that needs no conversion; NULL if the key is another one. */
static uint32_t *uk_number_of(struct uk_amdgpu_kernel *k, struct uk_amdgpu_value key) {
    const struct {
        const char *name;
        uint32_t *to;
    } numbers[] = {
        {".kernarg_segment_size", &k->argument_bytes},
        {".group_segment_fixed_size", &k->lds_bytes},
        {".private_segment_fixed_size", &k->scratch_bytes},
        {".vgpr_count", &k->vgprs},
        {".agpr_count", &k->agprs},
        {".sgpr_count", &k->sgprs},
        {".vgpr_spill_count", &k->vgpr_spills},
        {".sgpr_spill_count", &k->sgpr_spills},
        {".max_flat_workgroup_size", &k->max_threads},
        {".wavefront_size", &k->wave},
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i)
        if (uk_is(key, numbers[i].name))
            return numbers[i].to;
    return NULL;
}

static void uk_pack_kernel(struct uk_pack *p, struct uk_filled *f) {
    const struct uk_amdgpu_value map = uk_pack_next(p);
    struct uk_amdgpu_kernel kernel = {.name = ""};

    if (map.kind != PACK_MAP)
        p->bad = true;
    for (uint64_t i = 0; i < map.n && !p->bad; ++i) {
        const struct uk_amdgpu_value key = uk_pack_next(p), value = uk_pack_next(p);
        uint32_t *number = uk_number_of(&kernel, key);

        if (number && (value.kind != PACK_INTEGER || value.n > UINT32_MAX))
            p->bad = true;
        else if (number)
            *number = (uint32_t)value.n;
        if (uk_is(key, ".name"))
            kernel.name = uk_keep(f, value);
        if (uk_is(key, ".args") && value.kind == PACK_LIST) {
            kernel.arguments = f->arguments ? f->arguments + f->n_arguments : NULL;
            for (uint64_t j = 0; j < value.n && !p->bad; ++j)
                uk_pack_argument(p, f);
            kernel.n_hidden = (uint32_t)value.n;
        } else {
            uk_pack_skip(p, value, 0);
        }
    }
    if (f->kernels)
        f->kernels[f->n_kernels].kernel = kernel;
    ++f->n_kernels;
}

static void uk_pack_all(struct uk_pack *p, struct uk_filled *f) {
    const struct uk_amdgpu_value map = uk_pack_next(p);

    if (map.kind != PACK_MAP)
        p->bad = true;
    for (uint64_t i = 0; i < map.n && !p->bad; ++i) {
        const struct uk_amdgpu_value key = uk_pack_next(p), value = uk_pack_next(p);

        if (!uk_is(key, "amdhsa.kernels") || value.kind != PACK_LIST)
            uk_pack_skip(p, value, 0);
        else
            for (uint64_t j = 0; j < value.n && !p->bad; ++j)
                uk_pack_kernel(p, f);
    }
}

/* False if a value is out of range. Hidden arguments come last; each argument lies inside the segment. */
static bool uk_arguments_good(struct uk_amdgpu_kernel *k) {
    const uint32_t n = k->n_hidden;

    if (!*k->name || !k->max_threads || k->max_threads > 1024 || k->argument_bytes > 1 << 16 ||
        k->agprs > k->vgprs)
        return false;
    k->n_hidden = 0;
    for (uint32_t i = 0; i < n; ++i) {
        const struct uk_amdgpu_argument *a = &k->arguments[i];

        if (a->offset > k->argument_bytes || a->size > k->argument_bytes - a->offset || !a->size)
            return false;
        if (a->kind == UK_AMDGPU_HIDDEN)
            ++k->n_hidden;
        else if (k->n_hidden || (a->kind == UK_AMDGPU_BUFFER && a->size != 8) ||
                 (a->kind == UK_AMDGPU_LDS_POINTER && a->size != 4))
            return false;
    }
    k->n_arguments = n - k->n_hidden;
    k->vgprs -= k->agprs;
    return true;
}

enum uk_amdgpu_status uk_amdgpu_metadata(struct uk_amdgpu_object *object, const uint8_t *data, size_t bytes) {
    struct uk_pack p = {data, data + bytes, false};
    struct uk_filled f = {0};
    size_t arguments_at, names_at;

    uk_pack_all(&p, &f);
    if (p.bad)
        return uk_amdgpu_fail(object->gpu, UK_AMDGPU_BAD_OBJECT, "the code object is damaged: its metadata");
    /* The counts are at most the metadata's bytes, so these sums do not overflow. */
    arguments_at = f.n_kernels * sizeof *f.kernels;
    names_at = arguments_at + f.n_arguments * sizeof *f.arguments;
    object->kernels = calloc(1, names_at + f.n_names + 1);
    if (!object->kernels)
        return uk_amdgpu_fail(object->gpu, UK_AMDGPU_NO_MEMORY, "no memory for the code object");
    f = (struct uk_filled){.kernels = object->kernels,
                           .arguments = (void *)((char *)object->kernels + arguments_at),
                           .names = (char *)object->kernels + names_at};
    p = (struct uk_pack){data, data + bytes, false};
    uk_pack_all(&p, &f);
    object->n = (uint32_t)f.n_kernels;
    for (uint32_t i = 0; i < object->n; ++i) {
        object->kernels[i].kernel.object = object;
        if (!uk_arguments_good(&object->kernels[i].kernel))
            return uk_amdgpu_fail(
                object->gpu, UK_AMDGPU_BAD_OBJECT,
                "the code object is damaged: the metadata of a kernel's arguments or sizes");
    }
    return UK_AMDGPU_OK;
}
