# SPDX-License-Identifier: Apache-2.0
# Functions for roots of other releases of Debian. Scripts that source this set `release`, and `folder`, where the
# root's files are. Only root can make and enter a root; debootstrap downloads it. Used by debian.sh and packages.sh.

skip() {
    echo "debian, $release skipped: $*"
    exit 77
}

# inside ROOT COMMAND...: runs the command in the root. /proc is unmounted when it ends.
inside() {
    unshare --mount --pid --fork --mount-proc="$1/proc" chroot "$1" \
        env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${@:2}"
}

# make_root ROOT: installs the smallest system of the release, unless it exists.
make_root() {
    local root=$1 mirror
    ((EUID == 0)) || skip "only root can make a root of another system"
    command -v debootstrap >/dev/null || skip "debootstrap is not installed; ./uk-setup test all installs it"
    [[ ! -e $root.made ]] || return 0
    rm -rf "$root"
    mkdir -p "$root/proc"
    unshare --mount --pid --fork --mount-proc="$root/proc" true || skip "this system lets nobody mount /proc in a namespace"
    mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' "Created-By: Packages" |
        sed -n "s/^$(. /etc/os-release && echo "$VERSION_CODENAME") //p" | sort -u | sed -n 1p)
    debootstrap --variant=minbase "$release" "$root" "${mirror:-http://deb.debian.org/debian}" >"$folder/log" 2>&1 ||
        { tail -n 20 "$folder/log" >&2; exit 1; }
    # Disables fsync in dpkg: the root need not survive a power failure, and hundreds of packages are installed.
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
    touch "$root.made"
}

# copy_tree SOURCE ROOT: copies the source tree; a build folder that the root has is kept for reuse.
copy_tree() {
    mkdir -p "$2/root/ukernels"
    find "$2/root/ukernels" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    tar -C "$1" --exclude=./.git --exclude='./build*' --exclude=./.peers --exclude='./.venv*' --exclude=./.gpu -cf - . |
        tar -C "$2/root/ukernels" -xf -
}
