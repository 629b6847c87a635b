#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test's Python script that needs onnx and ONNX Runtime. Arguments: the source tree, the test's name, the script,
# its arguments.
set -euo pipefail
python=$1/.venv-networks/bin/python3
if [[ ! -x $python ]]; then
    echo "$2 skipped: no ONNX Runtime in .venv-networks; ./uk-setup networks installs it"
    exit 77
fi
exec "$python" "${@:3}"
