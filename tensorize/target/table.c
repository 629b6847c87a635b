/* SPDX-License-Identifier: Apache-2.0 */
/* Architectures and named targets, from the rows of archs.def. */
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include "machine/arch.h"
#include "target.h"

/* Rows override the empty lists that the macro sets in the same initializer. */
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define UK_LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static const char *const nothing[] = {NULL};

#define ARCH(name_, triple_, flag_, is_device_, ...)                 \
    static const struct uk_arch name_ = {.name = #name_,             \
                                         .triple = triple_,          \
                                         .flag = flag_,              \
                                         .is_device = is_device_,    \
                                         .features = nothing,        \
                                         .import_features = nothing, \
                                         .instructions = nothing,    \
                                         __VA_ARGS__};
#define UK_ARCH_ROW(name, llvm, triple, flag, ...) ARCH(name, triple, flag, false, __VA_ARGS__)
#define UK_DEVICE_ROW(name, llvm, triple, flag, ...) ARCH(name, triple, flag, true, __VA_ARGS__)
#include "machine/archs.def"
static const struct uk_arch none = {
    .name = "none", .prefix = "none-", .features = nothing, .import_features = nothing, .bits = 64};

#define UK_ARCH_ROW(name, ...) &name,
const struct uk_arch *const uk_archs[] = {
#include "machine/archs.def"
    NULL};

const struct uk_arch *uk_own_arch(void) {
    return uk_archs[UK_ARCH_HERE];
}

#define UK_TARGET_ROW(name_, arch_, cpu_, has_, features_, row_) \
    {.name = name_, .arch = &arch_, .cpu = cpu_, .has = has_, .features = features_, .row = row_},
const struct uk_target uk_targets[] = {
#include "machine/archs.def"
    {.name = "interp", .arch = &none, .has = nothing, .row = "interp", .interpreted = true},
    {.name = NULL},
};

const char *uk_private_feature(const struct uk_arch *arch, int index, size_t *length) {
    static const struct {
        const char *arch, *features;
    } rows[] = {
#define UK_ISA_ROW(name, arch, features, flags, private) {#arch, private},
#include "machine/archs.def"
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const char *f = rows[i].features; *f && !strcmp(rows[i].arch, arch->name); f += *f == ',') {
            *length = strcspn(f, ",");
            if (!index--)
                return f;
            f += *length;
        }
    return NULL;
}

bool uk_is_private(const struct uk_arch *arch, const char *feature, size_t length) {
    const char *f;
    size_t n;

    for (int i = 0; (f = uk_private_feature(arch, i, &n)); i++)
        if (n == length && !strncmp(f, feature, n))
            return true;
    return false;
}

void uk_llvm_features(const struct uk_arch *arch, const char *features, char *out, size_t size) {
    size_t n = 0, length;

    out[0] = 0;
    for (const char *f = features; *f && n < size; f += length, f += *f == ',') {
        length = strcspn(f, ",");
        if (!uk_is_private(arch, f, length))
            n += (size_t)snprintf(out + n, size - n, "%s+%.*s", n ? "," : "", (int)length, f);
    }
}

const struct uk_arch *uk_arch_of(const struct uk_kernel *k) {
    const struct uk_arch *const *a = uk_archs;

    while (*a && strcmp((*a)->name, uk_kernel_arch(k)))
        a++;
    return *a ? *a : uk_own_arch();
}
