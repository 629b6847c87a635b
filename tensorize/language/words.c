/* SPDX-License-Identifier: Apache-2.0 */
/* Word lists of the language: types, steps, reserved words. */
#include <stdio.h>
#include <string.h>
#include "language.h"
#include "lex.h"

static const struct {
    const char *name;
    unsigned char bytes;
} types[UK_TYPES] = {
    [UK_F64] = {"f64", 8}, [UK_F32] = {"f32", 4}, [UK_F16] = {"f16", 2}, [UK_BF16] = {"bf16", 2},
    [UK_I64] = {"i64", 8}, [UK_I32] = {"i32", 4}, [UK_I16] = {"i16", 2}, [UK_I8] = {"i8", 1},
    [UK_U8] = {"u8", 1},   [UK_U16] = {"u16", 2}, [UK_U32] = {"u32", 4}, [UK_U64] = {"u64", 8},
};

const char *uk_type_name(enum uk_type t) {
    return (unsigned)t < UK_TYPES ? types[t].name : "no type";
}

size_t uk_type_bytes(enum uk_type t) {
    return (unsigned)t < UK_TYPES ? types[t].bytes : 0;
}

bool uk_type_is_float(enum uk_type t) {
    return t <= UK_BF16;
}

const char *const uk_scope_names[] = {"global", "shared", "register"};

/* Short names of the argument kinds, as rows use them. */
enum {
#define UK_STEP_ARGUMENT(name) name = UK_STEP_ARGUMENT_##name,
#include "steps.def"
};

const struct uk_step_row uk_steps[UK_STEPS] = {
#define UK_STEP_ROW(id, word, role, apply, names, ...) {word, UK_STEP_ROLE_##role, names, {__VA_ARGS__}},
#include "steps.def"
};

const char *uk_step_word(int i) {
    return uk_steps[i].word;
}

int uk_step_arguments(enum uk_step_kind kind, enum uk_step_argument argument) {
    int n = 0;

    for (const unsigned char *a = uk_steps[kind].argument; *a; a++)
        n += *a == argument;
    return n;
}

char *uk_list_words(struct uk_arena *a, int n, const char *name(int i)) {
    char *list = uk_strdup(a, "");

    for (int i = 0; i < n && list; i++)
        list = uk_format(a, "%s%s%s", list, !i ? "" : i + 1 < n ? ", " : " and ", name(i));
    return list;
}

static const char *type_name(int i) {
    return types[i].name;
}

char *uk_list_types(struct uk_arena *a, const char *before) {
    char *list = uk_list_words(a, UK_TYPES, type_name);

    return list ? uk_format(a, "%s%s", before, list) : NULL;
}

/* Reserved words of the grammar that no list above has, except words of one letter and `ll`, which occur only
 * after `import` or a dot, and `state` and `tiles`, which occur only after a kernel's name. */
static const char *const reserved[] = {
    "size", "tensor",  "temp",   "layout", "stride",    "align",    "over",   "in",     "constant", "finite",
    "lane", "scalar",  "assume", "and",    "or",        "not",      "scan",   "sum",    "prod",     "where",
    "inf",  "pad",     "select", "index",  "intrinsic", "requires", "scope",  "thread", "wave",     "block",
    "end",  "compute", "reset",  "update", "ptr",       "void",     "pragma", "import", "schedule", "parts",
    "at",   "panel",   "along",  "root",   "auto",      "wrap",
};

enum {
    RESERVED = sizeof reserved / sizeof *reserved,
    SCOPES = sizeof uk_scope_names / sizeof *uk_scope_names,
};

const char *uk_reserved_word(size_t i) {
    if (i < RESERVED)
        return reserved[i];
    if ((i -= RESERVED) < UK_TYPES)
        return types[i].name;
    if ((i -= UK_TYPES) < SCOPES)
        return uk_scope_names[i];
    if ((i -= SCOPES) < UK_FUNCTIONS)
        return uk_functions[i].name;
    if ((i -= UK_FUNCTIONS) <
        UK_STEP_IMPORT) /* excludes `pragma import`, the last step, whose words items have too */
        return uk_steps[i].word;
    return NULL;
}

bool uk_is_reserved(const char *s, size_t n) {
    const char *word;

    for (size_t i = 0; (word = uk_reserved_word(i)); i++)
        if (strlen(word) == n && !memcmp(word, s, n))
            return true;
    return false;
}
