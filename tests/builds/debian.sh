#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs the commands of README on another release of Debian, in a root below the build folder, which is made once:
# ./uk-setup library on a fresh system, then ./uk-setup demo, each with the packages that it needs, then ./uk-setup test
# with the words given. Only root can make and enter that root; debootstrap downloads it. Arguments: the source tree,
# the build folder, the release, the words after `test`.
set -euo pipefail
source=$1 release=$3 folder=$2/debian/$3
root=$folder/root tests=("${@:4}")

. "$(dirname "$0")/debian_root.sh"
mkdir -p "$folder"
make_root "$root"
copy_tree "$source" "$root"

fresh=$([[ -e $root/root/ukernels/build/build.ninja ]] || echo yes)
# setup WORD...: runs ./uk-setup with these words in the root.
setup() {
    inside "$root" bash -c 'cd /root/ukernels && ./uk-setup "$@"' - "$@" >"$folder/log" 2>&1 ||
        { tail -n 60 "$folder/log" >&2; echo "./uk-setup $* failed on Debian's $release; its output is in $folder/log" >&2; exit 1; }
    tail -n 3 "$folder/log"
}
if [[ $fresh ]]; then
    setup library
    grep -E 'packages: [0-9]+, .* to download, .* on disk' "$folder/log"
    if inside "$root" dpkg-query -W | grep -E '^(clang|llvm|lib(llvm|clang))'; then
        echo "./uk-setup library installs what only the compiler needs" >&2
        exit 1
    fi
    inside "$root" bash -c 'cd /root/ukernels/build-library/stage && export PKG_CONFIG_PATH=$PWD/lib/pkgconfig LD_LIBRARY_PATH=$PWD/lib &&
        cc ../../examples/use_kernel.c $(pkg-config --cflags --libs ukernels) -o /tmp/use_kernel && /tmp/use_kernel'
fi
setup demo
grep '^Next: ' "$folder/log"
# The demo must not install packages of the tests.
if [[ $fresh ]] && inside "$root" dpkg-query -W libcmocka-dev >/dev/null 2>&1; then
    echo "./uk-setup demo installs what only tests need" >&2
    exit 1
fi
setup test "${tests[@]}"
grep -E '^[0-9]+ passed, 0 failed' "$folder/log"
