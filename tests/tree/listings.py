# SPDX-License-Identifier: Apache-2.0
"""Runs the listings of README.md and of the pages in docs/ with installed files, as a reader would.

    listings.py SOURCE STAGE [PAGE...]

Every block of a page between ``` and ``` has one of these kinds, named by the word after the first ```:

    console   a line that begins with "$ " is a command; one that ends in \\ continues in the next line. The lines after a command are
              its complete output: "..." alone matches any lines, within a line any text. Figures that depend on the
              machine (times, rates, shares of a peak) must be written so; others are errors. No lines: any output.
    sh        each line is a command, with any output
    picture   the words between two | in it occur in a file of the page or in the output of its commands
    others    a file, whose name is the first word of the comment in its first line; it is written where the commands run

After that word may follow:

    fails             the last command of the block ends with exit status 1 or 2; all others end with 0
    needs=WORD        skipped, with a message, unless there is such a command, or module (python3:NAME), header (NAME.h), file of the
                      source tree (with a /), or feature of the CPU (cpu:NAME)
    not run: REASON   never run

The commands of a page run in one shell, in a folder with the files of the source tree and build/stage. Those
of a page in docs/ are preceded by the lines of README.md that set the shell's variables and change into
build/try, where all files are written. Links between pages must have targets.
"""

import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SECONDS = 3000
MARK = "@@ listing "
FIGURE = re.compile(r"\d\s?(?:[munμ]?s|seconds|[GTM]?(?:FLOP|flop|op|B)/s|% of (?:the|its))(?![\w/])")
NAMED = re.compile(r'(?:/\*|#|//|"""|--)\s*([\w./-]*\w)[\s:,.*]')
# Blocks of README.md on which other pages rely contain these.
SETUP = ("export PATH=", "mkdir -p build/try")
# Octave 7 prints this whenever it exits without a display.
OCTAVE_ENDS = "error: ignoring const execution_exception&"


@dataclasses.dataclass
class Block:
    line: int
    kind: str
    rest: str
    lines: list


@dataclasses.dataclass
class Command:
    line: int
    text: str
    expected: list
    fails: bool = False


class Page:
    """The blocks of a page, what is wrong with it, and how much of it ran."""

    def __init__(self, name, text):
        self.name, self.text = name, text
        self.blocks, self.failures, self.left_out = [], [], []
        self.commands, self.files = [], []
        self.script, self.seen = [], ""
        self.read()

    def fail(self, line, what):
        self.failures.append(f"{self.name}:{line}: {what[:4000]}")

    def read(self):
        block, before = None, ""
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.startswith("```"):
                if block:
                    self.blocks.append(block)
                    block = None
                else:
                    kind, _, rest = line[3:].strip().partition(" ")
                    block = Block(number, kind, rest.strip(), [])
            elif block:
                block.lines.append(line)
            elif line.startswith("    ") and not before.strip():
                self.fail(number, "a listing that is not between ``` and ```, so nothing runs it")
            before = line
        if block:
            self.fail(block.line, "the block does not end")

    def plan(self, source):
        """The script of the page's commands, with its files between them."""
        for block in self.blocks:
            words = block.rest.partition("not run:")
            reason = words[2].strip()
            options = words[0].split()
            missing = [word[6:] for word in options if word.startswith("needs=") and not is_there(word[6:], source)]
            unknown = [word for word in options if word != "fails" and not word.startswith("needs=")]
            if unknown or not block.kind or (words[1] and not reason):
                self.fail(block.line, f"the block says neither what it is nor why it is not run: {block.kind} {block.rest}")
            elif reason or missing:
                why = f"not run, {reason}" if reason else f"skipped, it needs {', '.join(missing)}"
                self.left_out.append(f"{self.name}:{block.line}: {why}: {block.lines[0].removeprefix('$ ')}")
            elif block.kind in ("console", "sh"):
                self.plan_commands(block, "fails" in options)
            elif block.kind != "picture":
                self.plan_file(block)

    def plan_file(self, block):
        named = NAMED.match(block.lines[0] + " ") if block.lines else None
        if not named:
            self.fail(block.line, "the first line is no comment that begins with the name of the file")
            return
        text = "\n".join(block.lines) + "\n"
        self.seen += text
        self.files.append(named[1])
        self.script.append(f"cat >{named[1]} <<'{MARK}'\n{text}{MARK}\n")

    def plan_commands(self, block, fails):
        first = len(self.commands)
        going_on = False
        for number, line in enumerate(block.lines, block.line + 1):
            if going_on:
                self.commands[-1].text += "\n" + line
            elif block.kind == "sh":
                if line.strip() and not line.startswith("#"):
                    self.commands.append(Command(number, line, []))
            elif line.startswith("$ "):
                self.commands.append(Command(number, line[2:], []))
            elif len(self.commands) == first:
                self.fail(number, "a line of output stands before the first command")
            else:
                self.commands[-1].expected.append(line.rstrip())
                if FIGURE.search(line):
                    self.fail(number, f"a figure that depends on the machine, in the place of ...: {line}")
            going_on = line.endswith("\\") and (going_on or line.startswith("$ ") or block.kind == "sh")
        if len(self.commands) == first:
            self.fail(block.line, "the block has no command")
        for command in self.commands[first:]:
            self.script.append(f"{command.text}\nprintf '\\n{MARK}%d %d\\n' {self.commands.index(command)} $?\n")
        if fails and self.commands:
            self.commands[-1].fails = True

    def compare(self, output):
        """Compares the script's output with the page, command by command."""
        parts = re.split(rf"\n{MARK}(\d+) (\d+)\n", output)
        if len(parts) // 3 < len(self.commands):
            last = self.commands[len(parts) // 3]
            self.fail(last.line, f"the shell ended in: {last.text}\n{parts[-1]}")
        for text, number, status in zip(parts[0::3], parts[1::3], parts[2::3]):
            command = self.commands[int(number)]
            self.seen += text
            if command.fails != (int(status) in (1, 2)) or int(status) > 2:
                self.fail(command.line, f"exit status {status}: {command.text}\n{text}")
            elif command.expected and not same(command.expected, text):
                shown = "\n".join(command.expected)
                self.fail(command.line, f"{command.text}\nprints\n{text}\nand the page has\n{shown}")
        for block in self.blocks:
            cells = [cell.strip() for line in block.lines for cell in line.split("|")[1:-1]] if block.kind == "picture" else []
            for cell in cells:
                if cell not in self.seen:
                    self.fail(block.line, f"the picture shows what the page does not print: {cell}")


# What a command prints after some seconds, on a loaded machine too, so that its user waits.
PROGRESS = re.compile(r"uk: .*, \d+ s")


def same(expected, text):
    pattern = ""
    for line in [line for line in expected if line]:
        pattern += r"(?:.*\n)*?" if line == "..." else ".*".join(map(re.escape, line.split("..."))) + r"\n"
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in text.splitlines() if line.strip() and line != OCTAVE_ENDS and not PROGRESS.fullmatch(line)))


def is_there(what, source):
    kind, _, name = what.rpartition(":")
    if kind == "cpu":
        return name in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    if kind:
        return not subprocess.run([f"/usr/bin/{kind}", "-c", f"import {name}"], capture_output=True, check=False).returncode
    if what.endswith(".h"):
        return not subprocess.run(["cc", "-fsyntax-only", "-xc", "-"], input=f"#include <{what}>\n", text=True,
                                  capture_output=True, check=False).returncode
    return (source / what).exists() if "/" in what else shutil.which(what) is not None


def run(page, source, stage, setup):
    """Runs a page's commands in a folder of their own."""
    page.plan(source)
    kept = {name: value for name, value in os.environ.items()
            if name not in ("CC", "LD_LIBRARY_PATH", "LD_PRELOAD", "MANPATH", "PKG_CONFIG_PATH") and not name.startswith("UK_")}
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder) / "ukernels"
        (tree / "build").mkdir(parents=True)
        (tree / "build/stage").symlink_to(stage)
        for path in source.iterdir():
            if path.name not in (".git", "build"):
                (tree / path.name).symlink_to(path)
        before = everything(tree)
        environment = dict(
            kept, PATH=f"/usr/bin:{kept['PATH']}", HOME=folder, LC_ALL="C.UTF-8", TERM="dumb", MANPAGER="cat", MANWIDTH="100",
            OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_rmaps_base_oversubscribe="1")
        done = subprocess.run(
            ["bash"], input=setup + "".join(page.script), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd=tree, env=environment, check=False, timeout=SECONDS)
        page.compare(done.stdout)
        for path in sorted(everything(tree) - before):
            page.fail(1, f"{path} is left in the source tree; write it into build/try")
    return page


def everything(tree):
    """Paths in the folder where a page begins, and in its build/, except build/try."""
    return {str(path.relative_to(tree)) for folder in (tree, tree / "build") for path in folder.iterdir()} - {"build/try"}


def slug(title):
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def check_links(page, source):
    for number, line in enumerate(page.text.splitlines(), 1):
        for target in re.findall(r"\]\(([^)\s]+)\)", line):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            file = (source / page.name).parent / path if path else source / page.name
            if not file.exists():
                page.fail(number, f"{target} leads nowhere")
            elif anchor and anchor not in map(slug, re.findall(r"^#+ (.*)$", file.read_text(encoding="utf-8"), re.M)):
                page.fail(number, f"{target}: {file.name} has no such title")


def check_itself(source, stage):
    """Pages with a mistake: each must fail with a message that contains a given word."""
    for text, word in (
        ("```console\n$ echo one; echo two\none\n```\n", "prints"),
        ("```console\n$ echo one\none\n...\ntwo\n```\n", "prints"),
        ("```console\n$ false\n```\n", "exit status 1"),
        ("```console fails\n$ true\n```\n", "exit status 0"),
        ("```console fails\n$ kill -SEGV $BASHPID\n```\n", "shell ended"),
        ("```console\n$ exit 0\n```\n", "shell ended"),
        ("```console\n$ no_such_command\n```\n", "exit status 127"),
        ("```console\n$ echo time: 5 ms\ntime: 5 ms\n```\n", "depends on the machine"),
        ("```c\nint x;\n```\n", "name of the file"),
        ("```\nanything\n```\n", "neither what it is"),
        ("```console later\n$ true\n```\n", "neither what it is"),
        ("text\n\n    $ true\n", "not between"),
        ("```picture\n| of nothing |\n```\n", "the picture shows"),
        ("[a page](nowhere.md)\n", "leads nowhere"),
        ("```console\n$ true\n", "does not end"),
        ("```sh\n: >left\n```\n", "left in the source tree"),
    ):
        page = run(Page("docs/itself.md", text), source, stage, "")
        check_links(page, source)
        if not any(word in failure for failure in page.failures):
            sys.exit(f"this page does not fail with '{word}', but with {page.failures}:\n{text}")
    page = run(Page("docs/itself.md", f"```console\n$ echo one; echo '{OCTAVE_ENDS}'; echo 'uk: joining the code of all layers, 5 s'\none\n```\n"), source, stage, "")
    if page.failures:
        sys.exit(f"what Octave prints at its end, or progress, is a failure: {page.failures}")


def main():
    source, stage = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    if not (stage / "bin/uk").exists():
        sys.exit(f"{stage}/bin/uk is not there; run ./uk-setup test, or meson install first")
    if not is_there("cpu:avx2", source):
        print("skipped: this CPU has no AVX2, which listings name")
        sys.exit(77)
    check_itself(source, stage)
    paths = [pathlib.Path(name).resolve() for name in sys.argv[3:]] or [source / "README.md", *sorted((source / "docs").glob("*.md"))]
    readme = Page("README.md", (source / "README.md").read_text(encoding="utf-8"))
    setup = []
    for words in SETUP:
        found = ["\n".join(block.lines) + "\n" for block in readme.blocks if any(words in line for line in block.lines)]
        if len(found) != 1:
            sys.exit(f"README.md has {len(found)} blocks with {words}")
        setup += found
    pages = [Page(str(path.relative_to(source)), path.read_text(encoding="utf-8")) for path in paths]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda page: run(page, source, stage, "" if page.name == readme.name else "".join(setup)), pages))
    for page in pages:
        check_links(page, source)
        print(f"{page.name}: {len(page.commands)} commands, {len(page.files)} files")
        print("".join(line + "\n" for line in page.left_out + page.failures), end="")
    commands, left_out = sum(len(page.commands) for page in pages), sum(len(page.left_out) for page in pages)
    print(f"{commands} commands run, {left_out} blocks not run or skipped")
    sys.exit(any(page.failures for page in pages) or not commands)


if __name__ == "__main__":
    main()
