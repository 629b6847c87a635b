# SPDX-License-Identifier: Apache-2.0
"""Counts multiply-adds, loads and other vector instructions of a loop on x86-64. Products that are rounded before they are added
count as multiply-adds, their additions as other instructions. Bits that are flipped while they are loaded count as both: the
operation takes a port of the multiply-adds."""

import re


def count(body, loop, _):
    fma = loads = other = 0
    for text in (body[i].text for i in loop):
        memory = "(" in text and not text.startswith("lea")
        if re.match(r"(vfn?m\w+|vpdpbusd|vdpbf16ps|vpmaddwd|vmulps|tdpb\w+)\s", text):
            fma += 1
            loads += memory
        elif text.startswith(("prefetch", "tileload")) or (memory and re.search(r"%[xyz]mm\d+$|%[xyz]mm\d+ \{", text)):
            loads += 1
            other += text.startswith("vpxor")
        elif re.search(r"%[xyz]mm", text):
            other += 1
    return fma, loads, other
