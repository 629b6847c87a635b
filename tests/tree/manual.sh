#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every manual page is formatted without a warning, and every public function (abi.txt lists them) is named in a page of
# section 3. Arguments: the source tree.
set -euo pipefail
shopt -s nullglob
pages=0
for page in "$1"/{ukernels,tensorize,networks,simulate,uk}/{,*/}*.[1-9]; do
    warnings=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
    if [[ -n $warnings ]]; then
        printf '%s\n' "$warnings"
        exit 1
    fi
    pages=$((pages + 1))
done
((pages >= 5)) || { echo "only $pages pages were found"; exit 1; }

functions=0 missing=()
calls=$(cat "$1"/{ukernels,tensorize,networks}/{,*/}*.3)
for function in $(sed -nE 's/^  (uk_[a-z0-9_]+): .*\(.*/\1/p' "$1/tests/tree/abi.txt"); do
    grep -qwF -- "$function" <<<"$calls" || missing+=("$function")
    functions=$((functions + 1))
done
((functions >= 150)) || { echo "abi.txt lists only $functions functions"; exit 1; }
((${#missing[@]} == 0)) || { echo "no manual page of section 3 names ${missing[*]}"; exit 1; }
echo "$pages pages, which name $functions functions"
