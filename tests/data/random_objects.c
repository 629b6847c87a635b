/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <cmocka.h>
#include "registry/half.h"
#include "target/target.h"
#include "random_data.h"
#include "random_objects.h"

/* For each architecture that an emulator runs, programs are compiled alternately for its first and its last
 * target. */
enum { TARGETS = 2, PATH = 1024, MOST = 8 };

static struct architecture {
    const char *name, *targets[TARGETS];
    int programs;                           /* number compiled so far */
    struct uk_text prototypes, calls, rows; /* contents of programs.h */
    FILE *data;                             /* data of all cases, concatenated */
} architectures[MOST];
static int count;

static const char *folder;

static FILE *create(const struct architecture *a, const char *name, const char *extension) {
    char path[PATH];

    snprintf(path, sizeof path, "%s/%s/%s%s", folder, a->name, name, extension);
    FILE *f = fopen(path, "wb");
    if (!f)
        fail_msg("%s cannot be written", path);
    return f;
}

static void write_and_close(FILE *f, const char *bytes, size_t length) {
    const bool written = fwrite(bytes, 1, length, f) == length;

    assert_true(!fclose(f) && written);
}

static void find_architectures(void) {
    for (const struct uk_arch *const *arch = uk_archs; *arch; arch++) {
        struct architecture *a = &architectures[count];

        if (*arch == uk_own_arch() || !(*arch)->emulator.program)
            continue;
        assert_true(count++ < MOST);
        a->name = (*arch)->name;
        for (const struct uk_target *t = uk_targets; t->name; t++)
            if (t->arch == *arch)
                a->targets[a->targets[0] != NULL] = t->name;
        if (!a->targets[1])
            a->targets[1] = a->targets[0];
    }
}

void random_objects_begin(const char *path) {
    folder = path;
    find_architectures();
    for (struct architecture *a = architectures; folder && a < architectures + count; a++) {
        char inner[PATH];

        snprintf(inner, sizeof inner, "%s/%s", folder, a->name);
        mkdir(inner, 0777);
        a->data = create(a, "data", "");
    }
}

/* ---- a case: a program with one set of operands ---- */

static void put_scalar(struct uk_text *t, enum uk_type type, double value) {
    if (type == UK_F16)
        uk_put(t, "0x%04x", uk_to_f16((float)value));
    else if (type == UK_BF16)
        uk_put(t, "0x%04x", uk_to_bf16((float)value));
    else
        uk_put(t, "%a", value);
}

/* Writes the call. The data hold the operands in order, each first before the call and then as expected. */
static void put_call(struct architecture *a, struct uk_program *p, const char *name, int which,
                     const struct random_data *d) {
    struct uk_text *t = &a->calls;
    size_t at = RANDOM_DATA_MARGIN;
    const char *between = "";
    int k = 0;

    uk_put(t, "static int %s_%d(char *data) {\n    (void)data;\n    return %s(", name, which, name);
    for (const struct uk_var *v = p->sizes; v; v = v->next)
        if (!v->defined) {
            uk_put(t, "%sINT64_C(%" PRId64 ")", between, d->size[v->number]);
            between = ", ";
        }
    for (const struct uk_scalar *s = p->scalars; s; s = s->next, between = ", ") {
        uk_put(t, "%s", between);
        put_scalar(t, s->type, d->scalar[k++]);
    }
    for (int i = 0; i < d->tensors; i++, between = ", ") {
        uk_put(t, "%s(void *)(data + %zu)", between, at);
        at += 2 * random_data_room(d, i);
    }
    uk_put(t, ");\n}\n");
}

static void put_row(struct architecture *a, struct uk_program *p, const char *name, const char *target,
                    int which, const struct random_data *d) {
    char shape[1024] = "";

    random_data_shape(p, d, shape, sizeof shape);
    uk_put(&a->rows, "    {\"%s for %s:%s\", %s_%d, %d, %d, {", name, target, shape, name, which, d->status,
           d->tensors);
    for (int i = 0; i < d->tensors; i++) {
        const enum uk_type type = uk_program_tensor_type(p, i);

        uk_put(&a->rows, "{\"%s\", %zu, %zu, %d, %d}, ", uk_program_tensor_name(p, i), random_data_room(d, i),
               d->bytes[i], (int)uk_type_bytes(type), random_data_mantissa(type));
    }
    uk_put(&a->rows, "}},\n");
}

static void put_case(struct architecture *a, struct uk_program *p, uint64_t x, const char *name,
                     const char *target, int which) {
    struct random_data d = {0};

    random_data_make(&d, p, x + (uint64_t)which * 977, which);
    put_call(a, p, name, which, &d);
    put_row(a, p, name, target, which, &d);
    for (int i = 0; i < d.tensors; i++) {
        const size_t room = random_data_room(&d, i);

        assert_true(fwrite(d.start[i], 1, room, a->data) == room &&
                    fwrite(d.wanted[i], 1, room, a->data) == room);
    }
    random_data_free(&d);
}

/* ---- programs ---- */

static bool add(struct architecture *a, struct uk_program *p, uint64_t x, const char *name,
                const char *target) {
    const struct uk_options o = {.target = target};
    char *object = NULL, *header = NULL;
    size_t length, header_length;
    enum uk_status status = uk_emit(p, &o, UK_EMIT_OBJECT, &object, &length);

    if (!status && folder && !(status = uk_emit(p, &o, UK_EMIT_HEADER, &header, &header_length))) {
        write_and_close(create(a, name, ".o"), object, length);
        uk_put(&a->prototypes, "%s", header);
        for (int which = 0; which < RANDOM_DATA_SHAPES; which++)
            put_case(a, p, x, name, target, which);
    }
    a->programs += !status;
    uk_text_free(object);
    uk_text_free(header);
    return !status || status == UK_REFUSED || status == UK_NO_MATCH || status == UK_UNSUPPORTED;
}

bool random_objects_add(struct uk_program *p, uint64_t x, const char *name, const char **target) {
    const char *before = p->name;
    bool right = true;

    p->name = name;
    for (struct architecture *a = architectures; a < architectures + count && right; a++) {
        *target = a->targets[a->programs % TARGETS];
        right = add(a, p, x, name, *target);
    }
    p->name = before;
    return right;
}

void random_objects_end(void) {
    for (struct architecture *a = architectures; a < architectures + count; a++) {
        struct uk_text all = {0};

        uk_put(&all, "%s%sstatic const struct program programs[] = {\n%s};\n", a->prototypes.text,
               a->calls.text, a->rows.text);
        if (folder) {
            assert_true(!all.failed && !fclose(a->data));
            write_and_close(create(a, "programs", ".h"), all.text, all.length);
            print_message("%d programs for %s\n", a->programs, a->name);
        }
        free(all.text);
        free(a->prototypes.text);
        free(a->calls.text);
        free(a->rows.text);
    }
}
