#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests the files that `meson install` puts into the default prefix (Debian's libdir is lib/<triple>), found by
# pkg-config and by CMake, both where they were installed (the folder staged by the build) and after a move. Arguments:
# the source tree, the build folder, the staged folder, and what is moved: `staged`: a copy of that folder; `built`: a
# build with Debian's folders inside this one, with its kernels in UK_OBJECTS and UK_BITCODE, from the tarball that
# `meson dist` makes or, without git or with uncommitted files, from the source tree.
set -Eeuo pipefail
source=$1 build=$2/installed stage=$3
examples=$source/examples
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'echo "install.sh: line $LINENO: $BASH_COMMAND failed" >&2' ERR

if [[ $4 == staged ]]; then
    cp -a "$stage" "$work/moved"
else
    tree=$source
    if [[ -e $source/.git && -z $(git -C "$source" status --porcelain --untracked-files=no) ]]; then
        meson dist -C "$2" --no-tests --formats xztar >"$build.log" || { cat "$build.log"; exit 1; }
        tree=$build.tree build=$build.dist
        rm -rf "$tree"
        mkdir "$tree"
        tar -C "$tree" --strip-components=1 -xf "$2"/meson-dist/ukernels-*.tar.xz
    fi
    # Meson chooses this libdir itself if dpkg-dev is installed.
    [[ -f $build/build.ninja ]] || meson setup "$build" "$tree" --buildtype=plain --libdir="lib/$(gcc -print-multiarch)" \
        -Dtests=disabled -Dbitcode="$UK_BITCODE" -Dobjects="$UK_OBJECTS" >"$build.log" || { cat "$build.log"; exit 1; }
    { ninja -C "$build" && DESTDIR=$work/first meson install -C "$build" --no-rebuild; } >"$build.log" ||
        { tail -n 50 "$build.log"; exit 1; }
    mv "$work/first/usr/local" "$work/moved"
fi

cat >"$work/matmul.uk" <<'TEXT'
tensor A f32 [M, K]
tensor B f32 [K, N]
tensor C f32 [M, N]
C[m, n] = sum(k) A[m, k] * B[k, n]
TEXT

# An import that includes a header of the library.
cat >"$work/added.uk" <<'TEXT'
pragma import c """
#include <ukernels/rvp.h>
void add_2(const int *a, const int *b, int *c) {
    *(unsigned long *)c = uk_rvp_add32(*(const unsigned long *)a, *(const unsigned long *)b);
}
"""
intrinsic add_2
  tensor a i32 [2]
  tensor b i32 [2]
  tensor c i32 [2]
  c[i] = a[i] + b[i]
  compute void add_2(ptr a, ptr b, ptr c)
end
tensor X i32 [N]
tensor Y i32 [N]
tensor Z i32 [N]
Z[i] = X[i] + Y[i]
schedule
  split Z.i 2 -> io ii
  tensorize ii add_2
TEXT

# prints WHAT COMMAND...: checks that the command succeeds and prints WHAT.
prints() {
    "${@:2}" >"$work/out" 2>&1 && grep -qF -- "$1" "$work/out" && return
    echo "$(printf '%q ' "${@:2}") does not print '$1':" >&2
    cat "$work/out" >&2
    exit 1
}

# The shell lines of README that set paths, for the commands below.
lines=$(sed -n '/^export PATH=/,/^```$/{/^```$/!p}' "$source/README.md")
grep -q PKG_CONFIG_PATH <<<"$lines" && grep -q MANPATH <<<"$lines" && grep -q LD_LIBRARY_PATH <<<"$lines"

# check PREFIX: tests an installation. The second build's archive has no kernels: it uses those of the first.
check() {
    echo "in $1"
    (
        libraries=$(dirname "$(find "$1" -name libukernels.a)")
        lines=${lines//\$PWD\/build\/stage\/lib/$libraries}
        eval "${lines//\$PWD\/build\/stage/$1}"
        [[ $(command -v uk) == "$1/bin/uk" ]]
        prints 'check: equal' uk run "$work/matmul.uk" --size M=20 --size N=30 --size K=10 --check
        prints add32 uk compile "$work/added.uk" --target=riscv64-p --emit=asm
        prints .globl uk compile "$work/added.uk" --target=x86_64-avx2 --emit=asm
        for page in 1/uk 5/uk 3/uk_tensorize 3/ukblas 3/ukernels; do
            [[ $(man -w "${page%/*}" "${page#*/}") == "$1/"* ]]
        done
        cd "$work"
        for program in use_kernel:ukernels use_blas:ukblas compile_program:uktensorize; do
            read -ra flags < <(pkg-config --cflags --libs "${program#*:}")
            cc -std=c17 -Werror "$examples/${program%:*}.c" "${flags[@]}" -o program
            prints "$(printed "${program%:*}")" ./program
        done
        # libukernels finds the simulator next to itself, also after a move; without it that kind of GPU does not exist.
        for part in object:o header:h; do
            uk compile "$examples/matmul.uk" --target=amdgcn-gfx90a --emit="${part%:*}" -o "matmul.${part#*:}"
        done
        read -ra flags < <(pkg-config --cflags --libs ukernels)
        cc -std=c17 -Werror -I. "$examples/gpu_gemm.c" matmul.o "${flags[@]}" "-Wl,-rpath,$libraries" -o program
        prints 'gfx90a, simulated: 0 of 60 elements are wrong' env -u LD_LIBRARY_PATH ./program sim 60 1
        if [[ $1 != "$stage" ]]; then
            simulator=$(readlink "$libraries/libukgpusim.so")
            mv "$libraries/$simulator" "$libraries/elsewhere"
            ! ./program sim 60 1 2>out
            mv "$libraries/elsewhere" "$libraries/$simulator"
            grep -qF "the simulator is not installed: $simulator" out
        fi
        read -ra flags < <(pkg-config --cflags --libs ukgpusim)
        cc -std=c17 -Werror -I. "$examples/gpu_gemm.c" matmul.o "${flags[@]}" -o program
        prints '0 of 60 elements are wrong' ./program sim 60 1
        archive=()
        if [[ $1 == "$stage" ]]; then
            archive=(use_kernel:ukernels_static)
            read -ra flags < <(pkg-config --static --cflags --libs ukernels)
            cc -std=c17 -Werror "$examples/use_kernel.c" "${flags[@]/-lukernels/-l:libukernels.a}" -o program
            prints "$(printed use_kernel)" ./program
            ! ldd program | grep -F libukernels
        fi

        rm -rf project
        mkdir project
        cat >project/CMakeLists.txt <<TEXT
cmake_minimum_required(VERSION 3.20)
project(uses C)
find_package(ukernels 0.2 REQUIRED COMPONENTS tensorize)
foreach(program use_kernel:ukernels ${archive[@]} use_blas:ukblas compile_program:uktensorize)
  string(REPLACE ":" ";" words \${program})
  list(GET words 0 file)
  list(GET words 1 library)
  add_executable(\${file}_\${library} $examples/\${file}.c)
  target_link_libraries(\${file}_\${library} PRIVATE ukernels::\${library})
endforeach()
add_executable(gpu_gemm $examples/gpu_gemm.c $work/matmul.o)
target_include_directories(gpu_gemm PRIVATE $work)
target_link_libraries(gpu_gemm PRIVATE ukernels::ukgpusim)
TEXT
        cmake -G Ninja -S project -B project/build -DCMAKE_PREFIX_PATH="$1" >log 2>&1 && cmake --build project/build >>log 2>&1 ||
            { cat log >&2; exit 1; }
        for program in project/build/*_uk*; do
            file=${program##*/}
            prints "$(printed "${file%_uk*}")" "$program"
        done
        prints '0 of 60 elements are wrong' project/build/gpu_gemm sim 60 1
        sed -i 's/COMPONENTS tensorize/COMPONENTS nothing/' project/CMakeLists.txt
        ! cmake -G Ninja -S project -B project/other -DCMAKE_PREFIX_PATH="$1" >log 2>&1
        grep -q 'has no component nothing' log
        sed -i 's/0\.2 REQUIRED COMPONENTS nothing/0.3 REQUIRED/' project/CMakeLists.txt
        ! cmake -G Ninja -S project -B project/newer -DCMAKE_PREFIX_PATH="$1" >log 2>&1
    )
}

# printed PROGRAM: prints a line of the example's output.
printed() {
    case $1 in
    use_kernel) echo 'C[1][2] = 4' ;;
    use_blas | compile_program) echo '10 11' ;;
    esac
}

check "$stage"
check "$work/moved"
diff -r "$(dirname "$(find "$stage" -name kernels.json)")" "$(dirname "$(find "$work/moved" -name kernels.json)")"
# Proves that the header used above was the moved one.
echo '#error "moved"' >"$work/moved/include/ukernels/rvp.h"
! "$work/moved/bin/uk" compile "$work/added.uk" --target=riscv64-p --emit=asm 2>"$work/said"
prints '#error "moved"' cat "$work/said"
