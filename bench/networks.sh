#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# networks.sh [NETWORK...] [--json=FILE] [OPTION...]: prints a table of the instructions of quantized networks on RISC-V
# P and without P; options are those of network_counts.py. Run ./uk-setup networks and ./uk-setup test (or meson
# install) first.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
python=$here/../.venv-networks/bin/python3
uk=${UK_STAGE:-$here/../build/stage}/bin/uk
[[ -x $python ]] || { echo "networks.sh: no ONNX Runtime in .venv-networks; ./uk-setup networks installs it" >&2; exit 1; }
[[ -x $uk ]] || { echo "networks.sh: $uk: not there; meson install writes it" >&2; exit 1; }
exec "$python" "$here/network_counts.py" "$uk" "$@"
