/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: their names and capabilities. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include "machine/arch.h"
#include "target.h"

bool uk_target_has(const struct uk_target *t, const char *feature) {
    for (const char *const *h = t->has; *h; h++)
        if (!strcmp(*h, feature))
            return true;
    return false;
}

int64_t uk_target_max_bytes(const struct uk_target *t) {
    return t->arch && t->arch->bits == 32 ? INT32_MAX : INT64_MAX;
}

bool uk_target_takes(const struct uk_target *t, const struct uk_kernel *row) {
    return strcmp(uk_kernel_arch(row), "any") ? !strcmp(uk_kernel_arch(row), t->arch->name)
                                              : !t->arch->is_device;
}

const char *uk_target_lacks_scope(const struct uk_target *t, enum uk_exec_scope scope) {
    return scope <= t->arch->widest_scope ? NULL
           : scope == UK_EXEC_WAVE        ? "the waves of a GPU"
                                          : "the blocks of a GPU";
}

const char *uk_target_lacks_state(const struct uk_target *t, enum uk_state state) {
    if (state != UK_STATE_TILES)
        return NULL;
    if (!uk_target_has(t, "amx-tile"))
        return "amx-tile";
    if (strcmp(t->name, "native"))
        return NULL;
    if (uk_state_load(state))
        return "the system's permission to use matrix tiles";
    uk_state_release(state);
    return NULL;
}

bool uk_target_lacks_for(const struct uk_target *t, const struct uk_kernel *row, char *name, size_t size) {
    if (!uk_target_takes(t, row)) {
        snprintf(name, size, "%s", strcmp(uk_kernel_arch(row), "any") ? uk_kernel_arch(row) : "a CPU");
        return true;
    }
    const char *scope = uk_target_lacks_scope(t, uk_kernel_scope(row));

    if (scope) {
        snprintf(name, size, "%s", scope);
        return true;
    }
    for (const char *f = uk_kernel_features(row); *f; f += strcspn(f, ","), f += *f == ',') {
        snprintf(name, size, "%.*s", (int)strcspn(f, ","), f);
        if (!uk_target_has(t, name))
            return true;
    }
    const char *state = uk_target_lacks_state(t, uk_kernel_state(row));

    if (state) {
        snprintf(name, size, "%s", state);
        return true;
    }
    if (size)
        name[0] = 0;
    return false;
}

bool uk_arch_not_in_imports(const struct uk_arch *arch, const char *name) {
    for (const char *const *n = arch->not_in_imports; n && *n; n++)
        if (!strncmp(name, *n, strlen(*n)))
            return true;
    return false;
}

const struct uk_target *uk_target_of_device(const struct uk_kernel *row) {
    const struct uk_target *found = NULL;
    char lacks[64];

    for (const struct uk_target *t = uk_targets; t->name; t++)
        if (t->arch->is_device && !uk_target_lacks_for(t, row, lacks, sizeof lacks))
            found = t;
    return found;
}

/* True if LLVM's list contains "+name". */
static bool listed(const char *features, const char *name) {
    size_t n = strlen(name);

    for (const char *s = features; (s = strstr(s, name)); s += n)
        if (s > features && s[-1] == '+' && (s[n] == ',' || !s[n]))
            return true;
    return false;
}

const char *uk_target_lacks(const struct uk_target *t, const char *features) {
    for (const char *const *f = t->arch->features; *f; f++)
        if (listed(features, *f) && !uk_target_has(t, *f))
            return *f;
    for (const char *const *f = t->arch->import_features; *f; f++)
        if (listed(features, *f))
            return *f;
    return NULL;
}

/* The feature is found by the prefix of the intrinsic's name; otherwise it is the name's first part, as in
 * most of x86's. Any one of the features that follow the same prefix suffices. */
const char *uk_target_lacks_intrinsic(const struct uk_target *t, const char *name) {
    const char *const *i = t->arch->instructions;
    size_t n = strlen(t->arch->intrinsics);

    if (strncmp(name, t->arch->intrinsics, n))
        return NULL;
    name += n;
    while (*i && strncmp(*i, name, strlen(*i)))
        i += 2;
    if (*i) {
        const char *const *first = i;

        for (; *i && !strcmp(*i, *first); i += 2)
            if (uk_target_has(t, i[1]))
                return NULL;
        return first[1];
    }
    n = strcspn(name, ".");
    for (const char *const *f = t->arch->features; *f; f++)
        if (strlen(*f) == n && !strncmp(*f, name, n) && !uk_target_has(t, *f))
            return *f;
    return NULL;
}

/* The target named by the first n characters of `name`, or NULL. */
static const struct uk_target *find_row(const char *name, size_t n) {
    for (const struct uk_target *t = uk_targets; t->name; t++)
        if (strlen(t->name) == n && !strncmp(t->name, name, n))
            return t;
    return NULL;
}

/* The first target of t's architecture that is not named after a core and all of whose features t has; if
 * there is none, the last one. */
static const struct uk_target *plain_target(const struct uk_target *t) {
    const struct uk_target *last = NULL;

    for (const struct uk_target *row = uk_targets; row->name; row++) {
        const char *const *h = row->has;

        if (row->arch != t->arch || strncmp(row->name, t->arch->prefix, strlen(t->arch->prefix)))
            continue;
        last = row;
        while (*h && uk_target_has(t, *h))
            h++;
        if (!*h)
            break;
    }
    return last;
}

/* Sets the machine of a target, with the vectors of `plain`, the core of the plain target with the same
 * features. */
static void set_machine(struct uk_target *t, const struct uk_machine *machine, const struct uk_core *plain) {
    int widest = 0;

    for (int i = 0; i < UK_WIDTHS; i++)
        widest = plain->vectors[i].bytes > widest ? plain->vectors[i].bytes : widest;
    t->machine = *machine;
    t->row = machine->core.name;
    t->vectors = *uk_core_vectors(&t->machine.core, widest);
}

/* True if UK_ISA hides a feature that this CPU has: one of an instruction set of archs.def. */
static bool is_hidden(const struct uk_arch *arch, const char *feature) {
    static const struct {
        const char *arch, *features;
    } rows[] = {
#define UK_ISA_ROW(name, arch, features, flags, private) {#arch, features},
#include "machine/archs.def"
    };
    const size_t n = strlen(feature);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const char *f = rows[i].features; *f && !strcmp(rows[i].arch, arch->name);
             f += strcspn(f, ","), f += *f == ',')
            if (strcspn(f, ",") == n && !strncmp(f, feature, n))
                return !uk_cpu_has(feature);
    return false;
}

/* Sets t->has to the features that are visible, and takes the others away from t->features. */
static bool set_visible(struct uk_arena *a, struct uk_target *t, const char **has, size_t *n) {
    for (const char *const *f = t->arch->features; *f; f++) {
        if (!listed(t->features, *f))
            continue;
        if (!is_hidden(t->arch, *f))
            has[(*n)++] = *f;
        else if (!(t->features = uk_format(a, "%s,-%s", t->features, *f)))
            return false;
    }
    return true;
}

static bool native_host(struct uk_arena *a, struct uk_target *t) {
    const struct uk_arch *arch = uk_own_arch();
    char *cpu = LLVMGetHostCPUName(), *features = LLVMGetHostCPUFeatures();
    size_t capacity = 1, n = 0, length;
    const char *private;

    for (const char *const *f = arch->features; *f; f++)
        capacity++;
    for (int i = 0; uk_private_feature(arch, i, &length); i++)
        capacity++;
    const char **has = uk_alloc(a, capacity * sizeof *has);
    t->cpu = cpu ? uk_strdup(a, cpu) : NULL;
    t->features = features ? uk_strdup(a, features) : NULL;
    LLVMDisposeMessage(cpu);
    LLVMDisposeMessage(features);
    if (!has || !t->cpu || !t->features)
        return false;
    t->arch = arch;
    if (!set_visible(a, t, has, &n))
        return false;
    for (int i = 0; (private = uk_private_feature(arch, i, &length)); i++) {
        const char *name = uk_format(a, "%.*s", (int)length, private);

        if (!name)
            return false;
        if (uk_cpu_has(name))
            has[n++] = name;
    }
    t->has = has;
    t->name = "native";
    set_machine(t, uk_machine(), uk_core_find(plain_target(t)->row));
    return true;
}

/* UK_ISA lowers "native"; it never raises it, since the code has to run here. */
static enum uk_status lower_native(struct uk_context *c, struct uk_target *t) {
    const char *isa = getenv("UK_ISA");
    char *name = uk_format(&c->arena, "%s%s", t->arch->prefix, isa ? isa : "");
    const struct uk_target *row = name ? find_row(name, strlen(name)) : NULL;

    if (!name)
        return uk_out_of_memory(c);
    if (!row || row == plain_target(t))
        return UK_OK;
    for (const char *const *h = row->has; *h; h++)
        if (!uk_target_has(t, *h))
            return UK_OK;
    *t = *row;
    t->name = "native";
    set_machine(t, uk_machine(), uk_core_find(row->row));
    return UK_OK;
}

/* The feature that a part of a target's name means: LLVM's name, f16, or the first n characters of a private
 * feature. */
static const char *find_feature(const struct uk_target *t, const char *name, size_t n) {
    static const char half[] = "fullfp16";

    if (n == 3 && !strncmp(name, "f16", n)) {
        name = half;
        n = sizeof half - 1;
    }
    for (const char *const *f = t->arch->features; *f; f++)
        if (strlen(*f) == n && !strncmp(*f, name, n))
            return *f;
    return uk_is_private(t->arch, name, n) ? name : NULL;
}

static enum uk_status unknown_feature(struct uk_context *c, const struct uk_target *t, const char *name,
                                      size_t n) {
    struct uk_text list = {0};
    const char *private;
    size_t length;

    for (const char *const *f = t->arch->features; *f; f++)
        uk_put(&list, "%s%s", f == t->arch->features ? "" : ", ", strcmp(*f, "fullfp16") ? *f : "f16");
    for (int i = 0; (private = uk_private_feature(t->arch, i, &length)); i++)
        uk_put(&list, ", %.*s", (int)length, private);
    enum uk_status s = list.failed ? uk_out_of_memory(c)
                                   : uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                                             "target %s: unknown feature '%.*s'; those of %s are %s", t->name,
                                             (int)n, name, t->arch->name, list.text);

    uk_text_free(list.text);
    return s;
}

/* Adds the features of the "+feature" parts of a name to those of its base. */
static enum uk_status add_features(struct uk_context *c, struct uk_target *t, const char *plus) {
    size_t room = 0;

    while (t->has[room])
        room++;
    const char **has = uk_alloc(&c->arena, (room + strlen(plus) + 1) * sizeof *has);
    if (!has)
        return uk_out_of_memory(c);
    memcpy(has, t->has, room * sizeof *has);
    while (*plus == '+') {
        size_t n = strcspn(++plus, "+");
        const char *f = find_feature(t, plus, n);

        if (!f)
            return unknown_feature(c, t, plus, n);
        if (uk_is_private(t->arch, plus, n)) /* known only here */
            f = uk_format(&c->arena, "%.*s", (int)n, f);
        else
            t->features = uk_format(&c->arena, "%s%s+%s", t->features, *t->features ? "," : "", f);
        if (!f || !t->features)
            return uk_out_of_memory(c);
        has[room++] = f;
        plus += n;
    }
    t->has = has;
    return UK_OK;
}

/* The target of a name without its architecture's beginning ("avx2"), or of a core that has no target of its
 * own ("zen3"): the one with the core's instruction set. NULL: the name is neither. */
static const char *target_meant(const char *name) {
    const struct uk_core *core = uk_core_find(name);
    const char *isa = core ? core->isa : name;

    for (const struct uk_target *t = uk_targets; t->name; t++) {
        const size_t n = strlen(t->arch->prefix);

        if (!strncmp(t->name, t->arch->prefix, n) && !strcmp(t->name + n, isa) &&
            (!core || !strcmp(uk_archs[core->arch]->name, t->arch->name)))
            return t->name;
    }
    return NULL;
}

/* Lists the targets of the architecture whose prefix the name begins with, or all. */
static enum uk_status unknown_target(struct uk_context *c, const char *name) {
    const struct uk_arch *const *arch = uk_archs;
    struct uk_text list = {0};
    char base[64];
    struct uk_closest_name near = {.word = base};
    const size_t n = strcspn(name, "+");

    snprintf(base, sizeof base, "%.*s", n < sizeof base ? (int)n : 0, name);
    while (*arch && strncmp(name, (*arch)->prefix, strcspn((*arch)->prefix, "-")))
        arch++;
    uk_put(&list, "native");
    for (const struct uk_target *t = uk_targets; t->name; t++)
        if (!t->interpreted && (!*arch || t->arch == *arch))
            uk_put(&list, ", %s", t->name);
    uk_consider_name(&near, "native");
    for (const struct uk_target *t = uk_targets; t->name; t++)
        uk_consider_name(&near, t->name);
    if (target_meant(base))
        near.name = target_meant(base);
    enum uk_status s =
        list.failed
            ? uk_out_of_memory(c)
            : uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                      "unknown target '%s'%s%s%s; the known ones%s%s are %s (each with +feature...) "
                      "and interp",
                      name, near.name ? "; did you mean '" : "", near.name ? near.name : "",
                      near.name ? "'" : "", *arch ? " of " : "", *arch ? (*arch)->name : "", list.text);

    uk_text_free(list.text);
    return s;
}

static enum uk_status find_base(struct uk_context *c, const char *name, size_t n, struct uk_target *t) {
    const struct uk_target *row = find_row(name, n);

    if (n == 6 && !strncmp(name, "native", 6)) {
        const char *why;

        if (uk_machine_is_refused(&why))
            return uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0}, "%s", why);
        return native_host(&c->arena, t) ? lower_native(c, t) : uk_out_of_memory(c);
    }
    if (!row)
        return unknown_target(c, name);
    const struct uk_core *core = uk_core_find(row->row);
    const struct uk_machine machine = uk_machine_of(core);

    *t = *row;
    set_machine(t, &machine, core);
    return UK_OK;
}

const char *uk_target_name(int i) {
    const struct uk_target *t = uk_targets;

    while (i > 0 && t->name) {
        t++;
        i--;
    }
    return i ? NULL : t->name;
}

enum uk_status uk_target_find(struct uk_context *c, const char *name, const struct uk_target **out) {
    if (!name)
        name = "native";
    size_t n = strcspn(name, "+");

    *out = NULL;
    for (struct uk_known_target *k = c->targets; k; k = k->next)
        if (!strcmp(k->target.name, name)) {
            *out = &k->target;
            return UK_OK;
        }
    struct uk_known_target *k = uk_alloc(&c->arena, sizeof *k);
    if (!k)
        return uk_out_of_memory(c);
    enum uk_status s = find_base(c, name, n, &k->target);
    if (!s && name[n] && !k->target.interpreted)
        s = add_features(c, &k->target, name + n);
    if (!s && !(k->target.name = uk_strdup(&c->arena, name)))
        s = uk_out_of_memory(c);
    if (s)
        return s;
    k->next = c->targets;
    c->targets = k;
    *out = &k->target;
    return UK_OK;
}

enum uk_status uk_target_chosen(struct uk_context *c, const struct uk_options *options,
                                const struct uk_target **out) {
    const int threads = options ? options->threads : 0;

    *out = NULL;
    if (threads < 0 || threads > UK_MAX_THREADS)
        return uk_fail(c, UK_INVALID_ARGUMENT, (struct uk_position){0, 0},
                       "%d threads: give the number of threads, at most %d, or 0 for one", threads,
                       UK_MAX_THREADS);
    return uk_target_find(c, options ? options->target : NULL, out);
}

enum uk_status uk_target_runnable(struct uk_context *c, const struct uk_target *t) {
    struct uk_position nowhere = {0, 0};
    const char *missing = NULL;

    if (t->arch != uk_own_arch())
        return uk_fail(
            c, UK_UNSUPPORTED, nowhere,
            "target %s: its code is for %s, and this CPU is %s; emit an object for it, or compile for native",
            t->name, t->arch->name, uk_own_arch()->name);
    char *features = LLVMGetHostCPUFeatures();
    if (!features)
        return uk_out_of_memory(c);
    for (const char *const *h = t->has; *h && !missing; h++)
        if (uk_is_private(t->arch, *h, strlen(*h)) ? !uk_cpu_has(*h) : !listed(features, *h))
            missing = *h;
    LLVMDisposeMessage(features);
    return missing ? uk_fail(c, UK_UNSUPPORTED, nowhere,
                             "target %s: this CPU has no %s; emit an object for it, or compile for native",
                             t->name, missing)
                   : UK_OK;
}
