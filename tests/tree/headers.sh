#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the public headers, each alone, as C and as C++ from the oldest dialect on, without a warning; and builds and
# runs a C++ program that includes them. Arguments: the source tree, the build folder, the C and C++ compilers: clang
# clang++ gcc g++.
set -euo pipefail
source=$1
build=$2
shift 2
warnings=(-Wall -Wextra -Wpedantic -Werror)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for compiler in "$@"; do
    dialects="c:c11 c:c17"
    [[ $compiler == *++* ]] && dialects="c++:c++11 c++:c++17 c++:c++20"
    for header in ukernels/ukernels.h ukernels/convolutions.h ukernels/low_precision.h ukernels/weights.h ukernels/kernels.h ukernels/gpu/gpu.h tensorize/tensorize.h \
        tensorize/tensorize_calls.h tensorize/tensorize_verify.h networks/networks.h; do
        for language in $dialects; do
            "$compiler" -x "${language%:*}" "-std=${language#*:}" "${warnings[@]}" \
                -fsyntax-only "-I$source/ukernels" "-I$source/tensorize" -include "$source/$header" /dev/null
            echo "$header as ${language#*:} for ${compiler##*/}"
        done
    done
    [[ $compiler == *++* && -e $build/tensorize/libuktensorize.so ]] || continue
    for dialect in c++11 c++20; do
        "$compiler" "-std=$dialect" "${warnings[@]}" "-I$source/ukernels" "-I$source/tensorize" "$source/tests/tree/cplusplus.cc" \
            "-L$build/tensorize" "-L$build/ukernels" "-Wl,-rpath,$build/tensorize:$build/ukernels" \
            -luktensorize -lukernels -o "$work/cplusplus"
        "$work/cplusplus"
        echo "cplusplus.cc as $dialect by ${compiler##*/} runs"
    done
done
