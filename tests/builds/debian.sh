#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The commands of README on another release of Debian, in a root of it below the build folder, which is made once: ./uk-setup demo with
# the packages of a fresh system and what that needs, then ./uk-setup test with the words given. Only root can make that root and
# enter it, and debootstrap fetches it. Arguments: the source tree, the build folder, the release, the words behind `test`.
set -euo pipefail
source=$1 release=$3 folder=$2/debian/$3
root=$folder/root tests=("${@:4}")

skip() {
    echo "debian, $release skipped: $*"
    exit 77
}
((EUID == 0)) || skip "only root can make a root of another system"
command -v debootstrap >/dev/null || skip "debootstrap is not installed; ./uk-setup test all installs it"
# Its /proc ends with the command: nothing stays mounted.
inside() {
    unshare --mount --pid --fork --mount-proc="$root/proc" chroot "$root" \
        env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}

if [[ ! -e $folder/made ]]; then
    rm -rf "$folder"
    mkdir -p "$root/proc"
    unshare --mount --pid --fork --mount-proc="$root/proc" true || skip "this system lets nobody mount /proc in a namespace"
    mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' "Created-By: Packages" |
        sed -n "s/^$(. /etc/os-release && echo "$VERSION_CODENAME") //p" | sort -u | sed -n 1p)
    debootstrap --variant=minbase "$release" "$root" "${mirror:-http://deb.debian.org/debian}" >"$folder/log" 2>&1 ||
        { tail -n 20 "$folder/log" >&2; exit 1; }
    touch "$folder/made"
fi

# The tree as it is now; its build folder there stays, for the next time.
mkdir -p "$root/root/ukernels"
find "$root/root/ukernels" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
tar -C "$source" --exclude=./.git --exclude='./build*' --exclude=./.peers --exclude='./.venv*' --exclude=./.gpu -cf - . |
    tar -C "$root/root/ukernels" -xf -

fresh=$([[ -e $root/root/ukernels/build/build.ninja ]] || echo yes)
# setup WORD...: ./uk-setup with these words, in that root.
setup() {
    inside bash -c 'cd /root/ukernels && ./uk-setup "$@"' - "$@" >"$folder/log" 2>&1 ||
        { tail -n 60 "$folder/log" >&2; echo "./uk-setup $* failed on Debian's $release; its output is in $folder/log" >&2; exit 1; }
    tail -n 3 "$folder/log"
}
setup demo
# The demo needs none of the tests' packages.
if [[ $fresh ]] && inside dpkg-query -W libcmocka-dev >/dev/null 2>&1; then
    echo "./uk-setup demo installs what only tests need" >&2
    exit 1
fi
setup test "${tests[@]}"
grep -E '^[0-9]+ passed, 0 failed' "$folder/log"
