# SPDX-License-Identifier: Apache-2.0
"""Checks where the loader looks for libraries: run_paths.py READELF BUILD FOLDER...

Every entry of DT_RUNPATH and DT_RPATH of each program and shared library in the folders is $ORIGIN or a path
below it, or an absolute path outside the folder BUILD. The loader would resolve any other entry from the
current folder, or in a folder that exists only on this machine. BUILD is `-` for files of a build folder,
which may name it, and `/` if no absolute path is allowed.
"""

import pathlib
import re
import subprocess
import sys


def fault(entry, build):
    """Returns what is wrong with an entry of a run path; None: nothing."""
    if re.fullmatch(r"\$ORIGIN(/.*)?", entry):
        return None
    if not entry.startswith("/"):
        return "is looked for in the current folder"
    if build in (pathlib.Path(entry), *pathlib.Path(entry).parents):
        return f"is in {build}"
    return None


def is_linked(path):
    """True for a program or shared library of this machine's byte order."""
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        head = file.read(18)
    return head[:4] == b"\x7fELF" and int.from_bytes(head[16:], sys.byteorder) in (2, 3)


def run_paths(readelf, file):
    """The entries of the file's run paths."""
    text = subprocess.run([readelf, "-dW", file], capture_output=True, text=True, check=True).stdout
    return [entry for path in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", text) for entry in path.split(":")]


def check_itself():
    """Good and bad entries."""
    build = pathlib.Path("/somewhere/build")
    for entry, word in (("$ORIGIN", None), ("$ORIGIN/../lib", None), ("/usr/lib/llvm-19/lib", None), ("/somewhere/builds/lib", None),
                        ("XXXXXXX", "current"), ("", "current"), ("lib", "current"), ("$ORIGINAL", "current"), ("./$ORIGIN", "current"),
                        ("/somewhere/build", "is in /somewhere"), ("/somewhere/build/stage/lib", "is in /somewhere")):
        found = fault(entry, build)
        if (word is None) != (found is None) or (word and word not in found):
            sys.exit(f"the entry '{entry}' is answered with {found}")
    if fault("/usr/lib", pathlib.Path("/")) is None or fault("/somewhere/build", None):
        sys.exit("BUILD is not as it was given")


def main():
    readelf, build, *folders = sys.argv[1:]
    refused = None if build == "-" else pathlib.Path(build).resolve()
    check_itself()
    files = [path for folder in folders for path in sorted(pathlib.Path(folder).rglob("*")) if is_linked(path)]
    failures, entries = [], 0
    for path in files:
        for entry in run_paths(readelf, path):
            entries += 1
            what = fault(entry, refused)
            if what:
                failures.append(f"{path}: the run path has '{entry}', which {what}")
    print("\n".join(failures) or f"{len(files)} files, {entries} entries")
    sys.exit(bool(failures) or not files)


if __name__ == "__main__":
    main()
