/* Prints the registry as JSON, for importers of the bitcode. Run by the build; the argument is the
 * architecture. */
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

static void put_features(const char *features) {
    printf("    \"features\": [");
    while (*features) {
        size_t n = strcspn(features, ",");

        put_string(features, n);
        features += n;
        if (*features)
            printf(", "), features++;
    }
    printf("],\n");
}

int main(int argc, char **argv) {
    char declaration[4096], text[512];
    int count;
    const struct uk_kernel *k = uk_kernels(&count);

    if (argc != 2)
        return 2;
    printf("[\n");
    for (int i = 0; i < count; i++, k++) {
        if (uk_kernel_declaration(k, declaration, sizeof declaration) >= sizeof declaration)
            return 1;
        printf("  {\n");
        put_field("symbol", k->symbol);
        put_field("op", k->op);
        printf("    \"mr\": %d,\n    \"nr\": %d,\n    \"kr\": %d,\n", k->mr, k->nr, k->kr);
        put_field("isa", k->isa);
        put_field("impl", k->impl);
        put_features(k->features);
        snprintf(text, sizeof text, "void %s%s", k->symbol, k->parameters);
        put_field("prototype", text);
        put_arguments(k->parameters);
        snprintf(text, sizeof text, "%s-%s/%s.bc", argv[1], k->isa, k->symbol);
        put_field("bitcode", text);
        printf("    \"declaration\": ");
        put_string(declaration, strlen(declaration));
        printf("\n  }%s\n", i + 1 < count ? "," : "");
    }
    printf("]\n");
    return ferror(stdout) ? 1 : 0;
}
