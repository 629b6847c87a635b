#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests Debian's packages: dpkg-buildpackage builds them without errors of lintian, in a root of a release that has the
# packages in debian/control; they are installed in another root with nothing else, where README's commands run, and
# Python finds the libraries. With `wheel`, ./uk-setup makes a wheel in the first root, which is installed in a third
# one that has only Python, pip and NumPy. Arguments: the source tree, the build folder, the release, `wheel` or
# nothing. UK_BITCODE: the folder with that build's bitcode, which halves the time; unset: the packages make it.
set -euo pipefail
source=$1 release=$3 folder=$2/packages/$3
. "$(dirname "$0")/debian_root.sh"
mkdir -p "$folder"
make_root "$folder/base"

# again NAME: makes a fresh copy of the base root.
again() {
    rm -rf "${folder:?}/$1"
    cp -a "$folder/base" "$folder/$1"
    copy_tree "$source" "$folder/$1"
    rm -rf "$folder/$1/root/ukernels/build"
}
# logged ROOT COMMAND...: runs the command in the root; shows its output if it fails.
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
# Without packages of debug symbols, which take time to build and check, and which this test does not install.
logged build bash -c "cd /root/ukernels && UK_BITCODE=$taken DEB_BUILD_OPTIONS=noautodbgsym dpkg-buildpackage -b -uc -us"
inside "$folder/build" bash -c 'cd /root && lintian --allow-root --fail-on error ./*.changes'
run_paths() {
    python3 "$source/tests/tree/run_paths.py" readelf / "$@"
}
for deb in "$folder/build/root"/*.deb; do
    dpkg-deb -x "$deb" "$folder/build/unpacked"
done
run_paths "$folder/build/unpacked"

if [[ ${4:-} == wheel ]]; then
    # Copies this system's certificates for pip.
    cp -L /etc/ssl/certs/ca-certificates.crt "$folder/build/root"
    logged build bash -c "cd /root/ukernels && UK_BITCODE=$taken PIP_CERT=/root/ca-certificates.crt ./uk-setup wheel"
    wheel=$(basename "$folder/build/root/ukernels/build-wheel"/*.whl)
    [[ $wheel == ukernels-*-py3-none-manylinux_*.whl ]]
    ls -sh "$folder/build/root/ukernels/build-wheel/$wheel"
    python3 -m zipfile -e "$folder/build/root/ukernels/build-wheel/$wheel" "$folder/build/wheel"
    run_paths "$folder/build/wheel"
    again wheel
    logged wheel apt-get update -q
    logged wheel apt-get install -y -q --no-install-recommends python3-pip python3-numpy
    cp "$folder/build/root/ukernels/build-wheel/$wheel" "$folder/wheel/root"
    python3 "$source/tests/networks/small_networks.py" convolutions >"$folder/wheel/root/convolutions.onnx"
    logged wheel bash -c "python3 -m pip install --break-system-packages --no-index /root/$wheel"
    inside "$folder/wheel" bash -c 'cd /tmp && PATH=/usr/local/bin:$PATH python3 /root/ukernels/tests/builds/wheel.py /root/convolutions.onnx'
    rm -rf "$folder/wheel"
fi

again bare
cp "$folder/build/root"/*.deb "$folder/bare/root"
logged bare apt-get update -q
logged bare bash -c 'apt-get install -y -q --no-install-recommends /root/*.deb'
inside "$folder/bare" bash -c 'cd /root/ukernels && python3 tests/tree/listings.py /root/ukernels /usr README.md'
inside "$folder/bare" bash -c 'cd /tmp && python3 -c "import ukernels; print(ukernels.__file__, ukernels.__version__)"'
rm -rf "$folder/bare" "$folder/build"
