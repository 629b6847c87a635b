#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks what libukernels and its tests need of Debian for another architecture, from the mirrors that this system uses.
# Nothing is installed and apt's own state does not change; what is there already is not fetched again.
# Arguments: the architecture as Debian calls it, the folder that becomes the sysroot, the packages.
set -euo pipefail
arch=$1 root=$2
shift 2

done_with=$root/.unpacked
list=$(printf '%s\n' "$@" | sort)
[[ -e $done_with && $(<"$done_with") == "$list" ]] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial" "$root"
apt=(apt-get -q -o "APT::Architecture=$arch" -o "APT::Architectures=$arch" -o "Dir::State::lists=$work/lists"
    -o "Dir::Cache=$work" -o Dir::State::status=/dev/null -o APT::Sandbox::User= -o APT::Update::Post-Invoke-Success=
    -o APT::Update::Post-Invoke= -o Acquire::Languages=none)
cd "$work"
# A mirror may lack one of the lists for a while: the others may do.
if ! { "${apt[@]}" update || true; "${apt[@]}" download "$@"; } >log 2>&1; then
    cat log >&2
    echo "sysroot.sh: could not fetch Debian's $arch packages: $*" >&2
    exit 1
fi
for package in ./*.deb; do
    dpkg -x "$package" "$root"
done
echo "$list" >"$done_with"
