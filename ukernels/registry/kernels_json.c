/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the registry as JSON, for importers of the bitcode: an object for each row and each architecture
 * that has it. The build runs it. These members are omitted if they have the default:
 *
 *     private_features    features that LLVM does not know; default: none
 *     scope               default: thread
 *     state               "tiles", as in a declaration; default: none
 *     space               of an operand; default: generic
 */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "registry.h"

/* Adds the first n characters of s to a list. These functions return 0, or not 0 if out of memory. */
static int add_word(cJSON *list, const char *s, size_t n) {
    char word[256];

    snprintf(word, sizeof word, "%.*s", (int)n, s);
    return n >= sizeof word || !cJSON_AddItemToArray(list, cJSON_CreateString(word));
}

static int add_text(cJSON *row, const char *name, const char *value) {
    return !cJSON_AddStringToObject(row, name, value);
}

/* Adds the parameters "(a x, b *y)" as a list of declarations. */
static int add_arguments(cJSON *row, const char *parameters) {
    cJSON *list = cJSON_AddArrayToObject(row, "arguments");

    for (const char *s = parameters + 1; list && *s; s += 1 + (s[1] == ' ')) {
        size_t n = strcspn(s, ",)");

        if (add_word(list, s, n))
            return 1;
        s += n;
        if (*s == ')')
            break;
    }
    return !list;
}

/* True if the row's isa lists the feature, of n characters, as one that LLVM does not know. */
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

/* Adds all features; or, if !all, the private ones, if there are any. */
static int add_features(cJSON *row, const struct uk_kernel *k, bool all) {
    cJSON *list = all ? cJSON_AddArrayToObject(row, "features") : NULL;
    size_t n;

    for (const char *f = k->features; *f; f += n, f += *f == ',') {
        n = strcspn(f, ",");
        if (!all && !is_private(k, f, n))
            continue;
        if (!list)
            list = cJSON_AddArrayToObject(row, "private_features");
        if (add_word(list, f, n))
            return 1;
    }
    return all && !list;
}

/* Adds an attribute of a tensor's line, "stride [1, 6]", as a list of texts of the .uk language; nothing if
 * the line does not have it. */
static int add_list(cJSON *operand, const char *line, size_t length, const char *word) {
    char text[128];

    snprintf(text, sizeof text, "%.*s", (int)length, line);
    const char *s = strstr(text, word);
    if (!s || !(s = strchr(s, '[')))
        return 0;
    cJSON *list = cJSON_AddArrayToObject(operand, *word == '[' ? "shape" : word);
    for (s++; list && *s && *s != ']'; s += strspn(s, ", ")) {
        size_t n = strcspn(s, ",]");

        if (add_word(list, s, n))
            return 1;
        s += n;
    }
    return !list;
}

/* Adds the tensors of the declaration, which are the pointers of the prototype, in order. */
static int add_operands(cJSON *row, const struct uk_kernel *k, const char *declaration) {
    static const char start[] = "\n  tensor ";
    static const char *const spaces[] = {"generic", "global", "shared", "private"};
    const int align[] = {k->a_align, k->b_align, k->c_align};
    const enum uk_space space[] = {k->a_space, k->b_space, k->c_space};
    cJSON *list = cJSON_AddArrayToObject(row, "operands");
    int n = 0;

    for (const char *s = declaration; (s = strstr(s, start)); n++) {
        char name[32], type[8];
        int bytes = 0, most = n < 3 ? align[n] : 1;
        cJSON *operand = cJSON_CreateObject();

        s += sizeof start - 1;
        if (!cJSON_AddItemToArray(list, operand) || sscanf(s, "%31s %7s", name, type) != 2 ||
            sscanf(type, "%*[a-z]%d", &bytes) != 1)
            return 1;
        size_t length = strcspn(s, "\n");
        if (add_text(operand, "name", name) || add_text(operand, "type", type) ||
            !cJSON_AddNumberToObject(operand, "align", most > bytes / 8 ? most : bytes / 8) ||
            (n < 3 && space[n] != UK_SPACE_GENERIC && add_text(operand, "space", spaces[space[n]])) ||
            add_list(operand, s, length, "[") || add_list(operand, s, length, "stride") ||
            add_list(operand, s, length, "layout") || add_list(operand, s, length, "over"))
            return 1;
    }
    return n == 0;
}

static int add_names(cJSON *row, const struct uk_kernel *k, const char *arch) {
    return add_text(row, "symbol", k->symbol) || add_text(row, "op", k->op) ||
           !cJSON_AddNumberToObject(row, "mr", k->mr) || !cJSON_AddNumberToObject(row, "nr", k->nr) ||
           !cJSON_AddNumberToObject(row, "kr", k->kr) || add_text(row, "arch", arch) ||
           add_text(row, "isa", k->isa) || add_text(row, "impl", k->impl);
}

static int add_kernel(cJSON *all, const struct uk_kernel *k, const char *arch) {
    static const char *const edges[] = {[UK_EDGES_ANY] = "any",
                                        [UK_EDGES_ROWS] = "rows",
                                        [UK_EDGES_COLS] = "columns",
                                        [UK_EDGES_FULL] = "none"};
    static const char *const scopes[] = {"thread", "wave", "block"};
    char declaration[4096], prototype[512], bitcode[256], llvm[256];
    cJSON *row = cJSON_CreateObject();

    snprintf(prototype, sizeof prototype, "void %s%s", k->symbol, k->parameters);
    snprintf(bitcode, sizeof bitcode, "%s-%s/%s.bc", arch, k->isa, k->symbol);
    snprintf(llvm, sizeof llvm, "%s-%s/%s.ll", arch, k->isa, k->symbol);
    return uk_kernel_declaration(k, declaration, sizeof declaration) >= sizeof declaration ||
           !cJSON_AddItemToArray(all, row) || add_names(row, k, arch) || add_features(row, k, true) ||
           add_features(row, k, false) ||
           (k->scope != UK_EXEC_THREAD && add_text(row, "scope", scopes[k->scope])) ||
           (k->state == UK_STATE_TILES && add_text(row, "state", "tiles")) ||
           add_text(row, "cores", k->cores ? k->cores : "") || add_text(row, "edges", edges[k->edges]) ||
           add_text(row, "prototype", prototype) || add_arguments(row, k->parameters) ||
           add_operands(row, k, declaration) || add_text(row, "bitcode", bitcode) ||
           add_text(row, "llvm", llvm) || add_text(row, "declaration", declaration);
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
    cJSON *all = cJSON_CreateArray();

    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++)
        for (int i = 0; i < uk_kernel_count(); i++) {
            const struct uk_kernel *k = uk_kernel_at(i);

            if ((strcmp(k->arch, "any") ? !strcmp(k->arch, archs[a].name) : !archs[a].is_device) &&
                add_kernel(all, k, archs[a].name))
                return 1;
        }
    char *text = cJSON_Print(all);

    return !text || puts(text) < 0 || fflush(stdout);
}
