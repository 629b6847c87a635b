# SPDX-License-Identifier: Apache-2.0
# Roots of other releases of Debian, for scripts that set `release`, and `folder`, where what belongs to it is. Only root can make
# one and enter it, and debootstrap fetches it. Sourced by debian.sh and packages.sh.

skip() {
    echo "debian, $release skipped: $*"
    exit 77
}

# inside ROOT COMMAND...: its /proc ends with the command: nothing stays mounted.
inside() {
    unshare --mount --pid --fork --mount-proc="$1/proc" chroot "$1" \
        env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${@:2}"
}

# make_root ROOT: the smallest system of the release, made once.
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
    # Hundreds of packages are installed there, and nothing of it has to outlast a power failure.
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
    touch "$root.made"
}

# copy_tree SOURCE ROOT: the tree as it is now; its build folder there stays, for the next time.
copy_tree() {
    mkdir -p "$2/root/ukernels"
    find "$2/root/ukernels" -mindepth 1 -maxdepth 1 ! -name build -exec rm -rf {} +
    tar -C "$1" --exclude=./.git --exclude='./build*' --exclude=./.peers --exclude='./.venv*' --exclude=./.gpu -cf - . |
        tar -C "$2/root/ukernels" -xf -
}
