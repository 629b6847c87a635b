# SPDX-License-Identifier: Apache-2.0
"""Counts multiply-adds, loads and other vector instructions of a loop on ARM and AArch64."""

import re


def count(body, loop, kernel):
    """Kernels for Cortex-A53 and A55 load registers in parts, by ldr d, ldr x and ins. These dual-issue
    with other instructions, so they do not count as loads, except ldr d on A53, which is half a load."""
    fma = loads = other = 0
    core = kernel[-4:]
    for text in (body[i].text for i in loop):
        registers = re.search(r"\{(.*?)\}", text)
        registers = len(registers[1].split(",")) if registers else 1
        if core in ("_a53", "_a55") and re.match(r"ldr\s+[dx]\d", text):
            half = core == "_a53" and re.match(r"ldr\s+d", text)
            loads += 0.5 if half else 0
            other += 0 if half else 1
        elif re.match(r"v?fml[as]|vmla|vfma|[us]+dot|(us|[us]|bf)mmla|v?[us]?mull", text):
            fma += 1
        elif text.startswith(("prf", "pld")):
            loads += 1
        elif re.match(r"ldn?p\s+[qds]\d", text):
            loads += 2
        elif re.match(r"ldu?r\s+[qds]\d|vldr", text):
            loads += 1
        elif re.match(r"ld\dr?\s+\{", text):
            loads += registers
        elif text.startswith("vld"):
            loads += (registers + 1) // 2
        elif re.match(r"v|\S+.*\b[vqds]\d+\b", text):
            other += 1
    return fma, loads, other
