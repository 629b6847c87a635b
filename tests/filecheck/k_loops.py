# SPDX-License-Identifier: Apache-2.0
"""Finds the loops with fused multiply-adds in a disassembly.

    llvm-objdump -d FILE | k_loops.py

Prints a line for each innermost loop that has any: their number, their registers, and whether the loop reads
or writes the stack; then a line for each instruction that does. A value that changes in the loop and is on
the stack shows as a write; one that is only read may be a mask for which an edge tile has no register.
"""

import collections
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rvp"))
import word_names  # noqa: E402

# Of x86-64; of AArch64 and ARM, b.ne, bne, cbz and tbz; of RISC-V, whose jumps compare registers.
JUMP = r"(?:j\w*|b(?:\.?[a-z]{2})?|cbn?z\s+\w+,|tbn?z\s+\w+,\s+#\w+,|b\w+\s+\w+,(?:\s+\w+,)?)\s+0x([0-9a-f]+)"


class Instruction:
    def __init__(self, address, text):
        self.address = address
        self.text = text
        target = re.match(JUMP, text)
        self.target = int(target[1], 16) if target else None
        # An indirect jump goes into the code behind it: edge tiles enter a row of cases.
        self.falls_through = not re.match(r"ret|j(?:mp\w*)?\s+0x|ud2|b\s+0x|bx\s|udf", text)


def functions(lines):
    body = None
    for line in lines:
        if re.match(r"[0-9a-f]+ <.*>:$", line.strip()):
            if body:
                yield body
            body = []
        found = re.match(r"\s*([0-9a-f]+): (?:((?:[0-9a-f]+ )+) *\t)?\s*(\S.*)", line)
        if found and body is not None:
            text = re.split(r" <| *# |\s+(?://|@) ", found[3])[0].strip()
            text = re.sub(r"^\{vex\}\s*", "", text)  # LLVM's mark of the encoding that AVX-VNNI has
            # What LLVM does not know may be RISC-V P's.
            word = re.fullmatch(r"[0-9a-f]{8} ", found[2] or "")
            named = word_names.print_word(int(word[0], 16)) if word and text == "<unknown>" else None
            body.append(Instruction(int(found[1], 16), named or text))
    if body:
        yield body


def graph(body):
    at = {instruction.address: i for i, instruction in enumerate(body)}
    edges = {}
    for i, instruction in enumerate(body):
        edges[i] = [at[instruction.target]] if instruction.target in at else []
        if instruction.falls_through and i + 1 < len(body):
            edges[i].append(i + 1)
    return edges


def components(nodes, edges):
    """Strongly connected components that contain a cycle, by Tarjan's algorithm without recursion."""
    index, low, stack, on_stack = {}, {}, [], set()
    for root in sorted(nodes):
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(edges[root]))]
        while work:
            node, successors = work[-1]
            for s in successors:
                if s not in nodes:
                    continue
                if s not in index:
                    index[s] = low[s] = len(index)
                    stack.append(s)
                    on_stack.add(s)
                    work.append((s, iter(edges[s])))
                    break
                if s in on_stack:
                    low[node] = min(low[node], index[s])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == index[node]:
                    members = set()
                    while node not in members:
                        members.add(stack.pop())
                    on_stack -= members
                    if len(members) > 1 or node in edges[node]:
                        yield members


def innermost(nodes, edges):
    """True for a loop without an inner one: without its entry instruction it has no cycle."""
    for loop in components(nodes, edges):
        entries = {s for n in nodes - loop for s in edges[n] if s in loop} or {min(loop)}
        inner = list(innermost(loop - {min(entries)}, edges))
        yield from inner or [loop]


def fma(text):
    """The kind of multiply-add, or None."""
    found = re.match(r"(vfn?m\w+)\s.*%([xyz]mm)", text)
    if found:
        return f"{found[1]} {found[2]}"
    found = re.match(r"(fml[as])\s+v\d+\.(\w+),.*?(\[\d+\])?$", text) or \
        re.match(r"(v(?:fm|ml)[as]\.f\d+)\s+([qd])\d+,.*?(\[\d+\])?$", text) or \
        re.match(r"(smaqa(?:\.su)?|umaqa|fn?m(?:add|sub)\.[sd])()()\s", text)
    return f"{found[1]} {found[2]}{' by lane' if found[3] else ''}".strip() if found else None


def stack_uses(body, loop):
    """Instructions of a loop that access the stack frame, and those that write it."""
    if any("%" in i.text for i in body):
        frame = r"\(%r[sb]p" if any(re.match(r"movq\s+%rsp, %rbp", i.text) for i in body) else r"\(%rsp"
        used = [body[i].text for i in loop if re.search(frame, body[i].text)]
        return used, [u for u in used if re.search(frame + r"[^)]*\)$", u) and not re.match("cmp|test|prefetch", u)]
    frames = [found[1] for i in body if (found := re.match(r"(?:mov|addi?)\s+(x29|r11|s0), sp", i.text))]
    # Of RISC-V, an offset in front of parentheses.
    frame = rf"[\[(](?:{'|'.join(['sp', *frames])})\b|(?:push|pop)\s"
    used = [body[i].text for i in loop if re.search(frame, body[i].text)]
    return used, [u for u in used if re.match(r"st|vst|push|f?s[bhwd]\s", u)]


def main():
    for body in functions(sys.stdin):
        edges = graph(body)
        loops = sorted(sorted(loop) for loop in innermost(set(edges), edges))
        for loop in loops:
            count = collections.Counter(filter(None, (fma(body[i].text) for i in loop)))
            if count:
                used, written = stack_uses(body, loop)
                what = ", ".join(f"{n} {what}" for what, n in sorted(count.items()))
                print(f"K loop: {what}, stack", "written" if written else "read" if used else "untouched")
                for text in used:
                    print("  ", text)


if __name__ == "__main__":
    main()
