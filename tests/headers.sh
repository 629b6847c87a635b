#!/usr/bin/env bash
# The public headers, each alone, as C17 and as C++17 without a warning. Arguments: the source tree, clang.
set -euo pipefail
source=$1
clang=$2
for header in ukernels/ukernels.h tensorize/tensorize.h; do
    for language in c:c17 c++:c++17; do
        "$clang" -x "${language%:*}" "-std=${language#*:}" -Wall -Wextra -pedantic -Werror \
            -fsyntax-only "-I$source/ukernels" -include "$source/$header" /dev/null
        echo "$header as ${language#*:}"
    done
done
