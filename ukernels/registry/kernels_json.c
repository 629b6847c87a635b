/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the registry as JSON, for importers of the bitcode: each row for each architecture that has it. Run by
 * the build. Left out where a row has the default: private_features (those of its features that LLVM does not know; default
 * none), scope (default thread), and an operand's space (default generic). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ukernels.h"

static void put_string(const char *s, size_t n) {
    putchar('"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n')
            fputs("\\n", stdout);
        else if (s[i] == '"' || s[i] == '\\')
            printf("\\%c", s[i]);
        else
            putchar(s[i]);
    }
    putchar('"');
}

static void put_field(const char *name, const char *value) {
    printf("    \"%s\": ", name);
    put_string(value, strlen(value));
    printf(",\n");
}

/* "(a x, b *y)" as a list of its parts; each is one declaration. */
static void put_arguments(const char *parameters) {
    printf("    \"arguments\": [");
    for (const char *s = parameters + 1; *s; s += 1 + (s[1] == ' ')) {
        size_t n = strcspn(s, ",)");

        put_string(s, n);
        s += n;
        if (*s == ')')
            break;
        printf(", ");
    }
    printf("],\n");
}

/* Whether the feature of n characters is one that LLVM does not know. */
static bool is_private(const struct uk_kernel *k, const char *feature, size_t n) {
    static const struct {
        const char *isa, *features;
    } rows[] = {
#define UK_ISA_ROW(name, arch, features, flags, private) {#name, private},
#include "machine/archs.def"
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (const char *f = rows[i].features; *f; f += strcspn(f, ","), f += *f == ',')
            if (!strcmp(rows[i].isa, k->isa) && strcspn(f, ",") == n && !strncmp(f, feature, n))
                return true;
    return false;
}

/* All features; or the private ones, if there are any. */
static void put_features(const struct uk_kernel *k, bool all) {
    int count = 0;
    size_t n;

    if (all)
        printf("    \"features\": [");
    for (const char *f = k->features; *f; f += n, f += *f == ',') {
        n = strcspn(f, ",");
        if (!all && !is_private(k, f, n))
            continue;
        printf("%s", count++ ? ", " : all ? "" : "    \"private_features\": [");
        put_string(f, n);
    }
    if (all || count)
        printf("],\n");
}

/* One attribute of a tensor's line, "stride [1, 6]": a list of its parts, as texts of the .uk language. */
static void put_list(const char *line, size_t length, const char *word) {
    char text[128];

    snprintf(text, sizeof text, "%.*s", (int)length, line);
    const char *s = strstr(text, word);
    if (!s || !(s = strchr(s, '[')))
        return;
    printf(", \"%s\": [", *word == '[' ? "shape" : word);
    for (s++; *s && *s != ']'; s += strspn(s, ", ")) {
        size_t n = strcspn(s, ",]");

        put_string(s, n);
        s += n;
        if (*s == ',')
            printf(", ");
    }
    putchar(']');
}

/* The tensors of the declaration, which are the pointers of the prototype, in order. */
static int put_operands(const struct uk_kernel *k, const char *declaration) {
    static const char start[] = "\n  tensor ";
    static const char *const spaces[] = {"generic", "global", "shared", "private"};
    const int align[] = {k->a_align, k->b_align, k->c_align};
    const enum uk_space space[] = {k->a_space, k->b_space, k->c_space};
    int n = 0;

    printf("    \"operands\": [");
    for (const char *s = declaration; (s = strstr(s, start)); n++) {
        char name[32], type[8];
        int bytes = 0, most = n < 3 ? align[n] : 1;

        s += sizeof start - 1;
        if (sscanf(s, "%31s %7s", name, type) != 2 || sscanf(type, "%*[a-z]%d", &bytes) != 1)
            return 1;
        size_t length = strcspn(s, "\n");
        printf("%s\n      {\"name\": \"%s\", \"type\": \"%s\", \"align\": %d", n ? "," : "", name, type,
               most > bytes / 8 ? most : bytes / 8);
        if (n < 3 && space[n] != UK_SPACE_GENERIC)
            printf(", \"space\": \"%s\"", spaces[space[n]]);
        put_list(s, length, "[");
        put_list(s, length, "stride");
        put_list(s, length, "layout");
        put_list(s, length, "over");
        putchar('}');
    }
    printf("\n    ],\n");
    return n == 0;
}

static int put_kernel(const struct uk_kernel *k, const char *arch, bool is_first) {
    static const char *const edges[] = {[UK_EDGES_ANY] = "any",
                                        [UK_EDGES_ROWS] = "rows",
                                        [UK_EDGES_COLS] = "columns",
                                        [UK_EDGES_FULL] = "none"};
    static const char *const scopes[] = {"thread", "wave", "block"};
    char declaration[4096], text[512];

    if (uk_kernel_declaration(k, declaration, sizeof declaration) >= sizeof declaration)
        return 1;
    printf("%s  {\n", is_first ? "" : ",\n");
    put_field("symbol", k->symbol);
    put_field("op", k->op);
    printf("    \"mr\": %d,\n    \"nr\": %d,\n    \"kr\": %d,\n", k->mr, k->nr, k->kr);
    put_field("arch", arch);
    put_field("isa", k->isa);
    put_field("impl", k->impl);
    put_features(k, true);
    put_features(k, false);
    if (k->scope != UK_EXEC_THREAD)
        put_field("scope", scopes[k->scope]);
    put_field("cores", k->cores ? k->cores : "");
    put_field("edges", edges[k->edges]);
    snprintf(text, sizeof text, "void %s%s", k->symbol, k->parameters);
    put_field("prototype", text);
    put_arguments(k->parameters);
    if (put_operands(k, declaration))
        return 1;
    snprintf(text, sizeof text, "%s-%s/%s.bc", arch, k->isa, k->symbol);
    put_field("bitcode", text);
    snprintf(text, sizeof text, "%s-%s/%s.ll", arch, k->isa, k->symbol);
    put_field("llvm", text);
    printf("    \"declaration\": ");
    put_string(declaration, strlen(declaration));
    printf("\n  }");
    return 0;
}

int main(void) {
    static const struct {
        const char *name;
        bool is_device;
    } archs[] = {
#define UK_ARCH_ROW(name, ...) {#name, false},
#define UK_DEVICE_ROW(name, ...) {#name, true},
#include "machine/archs.def"
    };
    int count, put = 0;
    const struct uk_kernel *rows = uk_kernels(&count);

    printf("[\n");
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++)
        for (int i = 0; i < count; i++)
            if ((strcmp(rows[i].arch, "any") ? !strcmp(rows[i].arch, archs[a].name) : !archs[a].is_device) &&
                put_kernel(&rows[i], archs[a].name, !put++))
                return 1;
    printf("\n]\n");
    return ferror(stdout) ? 1 : 0;
}
