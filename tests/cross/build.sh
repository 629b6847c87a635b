#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes the build folder of libukernels for another architecture: cross-<arch> in the build folder given. Packages for
# which Debian has no cross package are unpacked to sysroot/<arch> there. Arguments: the architecture, for which there
# is an .ini file here, the source tree, the build folder. Kernels are made from the bitcode in that build folder.
# UK_LLVM: version of LLVM's tools, if not that of meson_options.txt.
set -euo pipefail
arch=$1 source=$(realpath "$2") build=$(realpath "$3")
llvm=${UK_LLVM:-$(sed -n "s/^option('llvm', .* value: '\(.*\)',/\1/p" "$source/meson_options.txt")}

ini=$source/tests/cross/$arch.ini
[[ -e $ini ]] || { echo "build.sh: there is no $ini" >&2; exit 2; }
constant() { sed -n "s/^$1 = '\(.*\)'/\1/p" "$ini"; }
mapfile -t packages < <(sed -n "s/^\(cross\|$arch\) unpack //p" "$source/dependencies.txt" | tr ' ' '\n')
"$source/tests/cross/sysroot.sh" "$(constant debian)" "$(constant suite)" "$build/sysroot/$arch" "${packages[@]}"
# Links the header that the alternatives of libblas-dev and libblas3 would select.
for headers in "$build/sysroot/$arch"/usr/include/*-linux-gnu*; do
    ln -sf cblas-netlib.h "$headers/cblas.h"
done

folder=$build/cross-$arch
if [[ ! -f $folder/build.ninja ]]; then
    printf "[constants]\nsysroot = '%s'\nllvm = '%s'\n" "$build/sysroot/$arch" "$llvm" >"$build/sysroot/$arch.ini"
    meson setup "$folder" "$source" --cross-file "$build/sysroot/$arch.ini" \
        --cross-file "$ini" -Dtensorize=false -Dllvm="$llvm" -Dbitcode="$build/ukernels" >"$folder.log" || { cat "$folder.log" >&2; exit 1; }
fi
