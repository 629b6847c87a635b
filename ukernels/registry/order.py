# SPDX-License-Identifier: Apache-2.0
"""Prints the order of preference among the rows of kernels.def: the indices of rows in the file, from 0 on, sorted by rank. Rows
without a rank come last, in the order of the file."""

import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parent / "kernels.def"
rows = re.findall(r"^UK_KERNEL\(.*", TABLE.read_text(encoding="utf-8"), re.M)
ranks = {}
for place, row in enumerate(rows):
    rank = re.search(r"\.rank = (\d+)[,)]", row)
    if rank and int(rank[1]) in ranks.values():
        sys.exit(f"{TABLE}: two rows have rank {rank[1]}; give this one another, or none: {row}")
    ranks[place] = int(rank[1]) if rank else sys.maxsize
print(", ".join(str(place) for place in sorted(ranks, key=lambda place: (ranks[place], place))))
