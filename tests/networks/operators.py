# SPDX-License-Identifier: Apache-2.0
"""Compares operators of small networks with their definitions, which modules next to this one state.

    operators.py UK EVALUATE EVERY [--target=TARGET]... MODULE...

Each EVERY-th network is compiled; most of the others are interpreted only. 1: the cases MORE of a module are added.
"""

import importlib
import sys

import defined

uk, evaluate, every, *words = sys.argv[1:]
every = int(every)
targets = [word.removeprefix("--target=") for word in words if word.startswith("--target=")]
modules = words[len(targets) :]


def cases(module):
    loaded = importlib.import_module(module)
    return loaded.CASES if every > 1 else {**loaded.CASES, **getattr(loaded, "MORE", {})}


wrong = defined.failures(uk, evaluate, {f"{module}.{name}": case for module in modules for name, case in cases(module).items()}, every, targets)
for line in wrong:
    print(line)
sys.exit(bool(wrong) or not modules)
