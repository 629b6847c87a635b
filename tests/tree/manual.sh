#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every manual page is set without a warning. Arguments: the source tree.
set -euo pipefail
shopt -s nullglob
pages=0
for page in "$1"/{ukernels,tensorize,simulate,uk}/{,*/}*.[1-9]; do
    warnings=$(groff -man -ww -Tutf8 "$page" 2>&1 >/dev/null)
    if [[ -n $warnings ]]; then
        printf '%s\n' "$warnings"
        exit 1
    fi
    pages=$((pages + 1))
done
((pages >= 5)) || { echo "only $pages pages were found"; exit 1; }
echo "$pages pages"
