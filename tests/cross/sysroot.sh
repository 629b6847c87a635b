#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks Debian packages that libukernels and its tests need for another architecture, from the mirrors that this
# system uses. Installs nothing, does not change apt's state, and downloads only what is missing. Arguments: Debian's
# name of the architecture, the release ("": this system's), the folder that becomes the sysroot, the packages.
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
    # Uses the mirror and the keys of this system's release. Mirrors have a release under its name and, for a time, as
    # "stable"; one of the two may be in the middle of an update. Packages of other releases are never used.
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
# Ignores a missing list, which mirrors may lack for a while: the others may suffice.
if ! { "${apt[@]}" update || true; "${apt[@]}" download "$@"; } >log 2>&1; then
    cat log >&2
    echo "sysroot.sh: could not fetch Debian's $arch packages${release:+ of $release}: $*" >&2
    exit 1
fi
for package in ./*.deb; do
    dpkg -x "$package" "$root"
done
# Links /lib, where programs expect their loader; releases of Debian since 13 have it in /usr/lib.
[[ -z $release || -e $root/lib ]] || ln -s usr/lib "$root/lib"
echo "$list" >"$done_with"
