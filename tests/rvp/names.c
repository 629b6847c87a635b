/* SPDX-License-Identifier: Apache-2.0 */
/* Reads lines of assembly in the form in which LLVM prints words of P, and prints the instructions' names;
 * "-": none. */
#include <stdio.h>
#include <string.h>
#include "names.h"

int main(void) {
    char line[128], name[64];

    while (fgets(line, sizeof line, stdin)) {
        const bool known = uk_rvp_print_line(line, strcspn(line, "\n"), name, sizeof name);

        puts(known ? name : "-");
    }
    return 0;
}
