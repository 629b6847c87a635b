#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks what libukernels and its tests need of Debian for another architecture, from the mirrors that this system uses.
# Nothing is installed and apt's own state does not change; what is there already is not fetched again.
# Arguments: the architecture as Debian calls it, the release whose packages are taken ("" for this system's), the folder that
# becomes the sysroot, the packages.
set -euo pipefail
arch=$1 release=$2 root=$3
shift 3

done_with=$root/.unpacked
list=$(printf '%s\n' "$@" | sort)
[[ -e $done_with && $(<"$done_with") == "$list" ]] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/sources" "$root"
apt=(apt-get -q -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::State::lists=$work/lists"
    -o "Dir::Cache=$work" -o Dir::State::status=/dev/null -o APT::Sandbox::User= -o APT::Update::Post-Invoke-Success=
    -o APT::Update::Post-Invoke= -o Acquire::Languages=none)
if [[ $release ]]; then
    # The mirror of this system's own release, and its keys. Mirrors have the release by its name and as "stable", while it is
    # that, in two places: one may be in the middle of an update. What is not the release is never taken.
    own=$(. /etc/os-release && echo "$VERSION_CODENAME")
    mirror=$(apt-get indextargets --format '$(RELEASE) $(REPO_URI)' "Created-By: Packages" | sed -n "s/^$own //p" | sort -u | sed -n 1p)
    for suite in "$release" stable; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] ${mirror:-http://deb.debian.org/debian} $suite main"
    done >"$work/sources/release.list"
    printf 'Package: *\nPin: release n=%s\nPin-Priority: 500\n\nPackage: *\nPin: origin *\nPin-Priority: -1\n' "$release" \
        >"$work/preferences"
    apt+=(-o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$work/sources" -o "Dir::Etc::preferences=$work/preferences"
        -o Dir::Etc::preferencesparts=/dev/null)
fi
cd "$work"
# A mirror may lack one of the lists for a while: the others may do.
if ! { "${apt[@]}" update || true; "${apt[@]}" download "$@"; } >log 2>&1; then
    cat log >&2
    echo "sysroot.sh: could not fetch Debian's $arch packages${release:+ of $release}: $*" >&2
    exit 1
fi
for package in ./*.deb; do
    dpkg -x "$package" "$root"
done
# Programs name their loader by /lib, which Debian's releases since 13 link to /usr/lib.
[[ -z $release || -e $root/lib ]] || ln -s usr/lib "$root/lib"
echo "$list" >"$done_with"
