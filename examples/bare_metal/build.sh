#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh UK MODEL.onnx FOLDER: makes FOLDER/net.elf, the network with start code for qemu-system-riscv64, without an
# operating system:
#
#     .venv-networks/bin/python3 examples/networks/make.py mobilenet_v1-0.25-96 --int8
#     examples/bare_metal/build.sh uk mobilenet_v1-0.25-96-int8.onnx bare
#     qemu-system-riscv64 -M virt -bios none -display none -monitor none -serial stdio -kernel bare/net.elf
#
# Instructions of P, which qemu lacks, are emulated by a trap (simulate/rvp). RISCV_CC is a compiler for riscv64.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
sources=$here/../..
rvp=$sources/simulate/rvp
read -ra cc <<<"${RISCV_CC:-riscv64-linux-gnu-gcc}"
[[ $# == 3 ]] || { sed -n '3s/^# //p' "$0" >&2; exit 2; }
mkdir -p "$3"
"$1" compile "$2" --name=net --target=riscv64-p -o "$3/net.o"
"$1" compile "$2" --name=net --target=riscv64-p --emit=header -o "$3/net.h"
if grep -q 'sizes\[\]' "$3/net.h"; then
    echo "build.sh: main.c runs networks of fixed sizes, and sizes of $2 are open; give --size with one value" >&2
    exit 1
fi
"${cc[@]}" -std=c17 -O2 -Wall -Wextra -mcmodel=medany -ffreestanding -fno-builtin -static -nostdlib -nostartfiles -Wl,--build-id=none \
    -I"$sources/ukernels" -I"$rvp" -I"$3" -T "$rvp/bare.ld" -o "$3/net.elf" \
    "$rvp"/{bare.S,bare.c,decode.c} "$here"/{main.c,memory.c} "$3/net.o"
