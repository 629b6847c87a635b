#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Debian's packages: built by dpkg-buildpackage in a root of a release that has what debian/control names, without errors of
# lintian; installed in another root, which has nothing else, where README's commands run, and Python finds the libraries.
# Arguments: the source tree, the build folder, the release. UK_BITCODE: the folder with the bitcode of that build, which is half of the
# time that the packages' own would take; unset: they make it.
set -euo pipefail
source=$1 release=$3 folder=$2/packages/$3
. "$(dirname "$0")/debian_root.sh"
mkdir -p "$folder"
make_root "$folder/base"

# again NAME: a root as the base is.
again() {
    rm -rf "${folder:?}/$1"
    cp -a "$folder/base" "$folder/$1"
    copy_tree "$source" "$folder/$1"
    rm -rf "$folder/$1/root/ukernels/build"
}
# logged ROOT COMMAND...: what it prints is shown if it fails.
logged() {
    inside "$folder/$1" "${@:2}" >>"$folder/log" 2>&1 || { tail -n 60 "$folder/log" >&2; exit 1; }
}

: >"$folder/log"
again build
logged build apt-get update -q
logged build apt-get install -y -q --no-install-recommends build-essential lintian
logged build bash -c 'cd /root/ukernels && apt-get build-dep -y -q --no-install-recommends ./'
taken=
if [[ ${UK_BITCODE:-} ]]; then
    taken=/root/bitcode
    mkdir "$folder/build$taken"
    cp "$UK_BITCODE"/*.uk_*.{bc,ll} "$folder/build$taken"
fi
# Packages of what debuggers read would be built, compressed and checked, and then nobody would install them.
logged build bash -c "cd /root/ukernels && UK_BITCODE=$taken DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -uc -us"
inside "$folder/build" bash -c 'cd /root && lintian --allow-root --fail-on error ./*.changes'
again bare
cp "$folder/build/root"/*.deb "$folder/bare/root"
logged bare apt-get update -q
logged bare bash -c 'apt-get install -y -q --no-install-recommends /root/*.deb'
inside "$folder/bare" bash -c 'cd /root/ukernels && python3 tests/tree/listings.py /root/ukernels /usr README.md'
inside "$folder/bare" bash -c 'cd /tmp && python3 -c "import ukernels; print(ukernels.__file__, ukernels.__version__)"'
rm -rf "$folder/bare" "$folder/build"
