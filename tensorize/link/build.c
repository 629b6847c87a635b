/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by all steps of a compilation: failures with LLVM's diagnostics, and attributes. */
#include <stdlib.h>
#include <string.h>
#include "link.h"

void uk_build_forget(struct uk_build *b) {
    free(b->diagnostics.text);
    b->diagnostics = (struct uk_text){0};
}

enum uk_status uk_build_fail(struct uk_build *b, enum uk_status status, const char *what, const char *error) {
    struct uk_position nowhere = {0, 0};
    const char *heard = b->diagnostics.text;
    enum uk_status s;

    if (error && *error)
        s = uk_fail(b->context, status, nowhere, "%s: %s%s%s", what, error, heard ? "; " : "",
                    heard ? heard : "");
    else
        s = uk_fail(b->context, status, nowhere, "%s: %s", what, heard ? heard : "LLVM gave no reason");
    uk_build_forget(b);
    return s;
}

LLVMAttributeRef uk_enum_attribute(LLVMContextRef llvm, const char *name) {
    return LLVMCreateEnumAttribute(llvm, LLVMGetEnumAttributeKindForName(name, strlen(name)), 0);
}
