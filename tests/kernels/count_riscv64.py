# SPDX-License-Identifier: Apache-2.0
"""Counts multiply-adds, loads and all other instructions of a loop on RISC-V, which has no vectors here."""

import re


def count(body, loop, kernel):
    texts = [body[i].text for i in loop]
    fma = sum(bool(re.match(r"smaqa|umaqa|smalda|fmadd", text)) for text in texts)
    loads = sum(bool(re.match(r"l[bhwd]u?\s|fl[wd]\s", text)) for text in texts)
    return fma, loads, len(texts) - fma - loads
