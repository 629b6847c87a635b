# SPDX-License-Identifier: Apache-2.0
"""Compares operators of small networks with their definitions, which modules next to this one state.

    operators.py UK EVALUATE EVERY MODULE...

Each EVERY-th network is compiled; the others are interpreted only. 1: the cases MORE of a module are added.
"""

import importlib
import sys

import defined

uk, evaluate, every, *modules = sys.argv[1:]
every = int(every)


def cases(module):
    loaded = importlib.import_module(module)
    return loaded.CASES if every > 1 else {**loaded.CASES, **getattr(loaded, "MORE", {})}


wrong = [line for module in modules for line in defined.failures(uk, evaluate, cases(module), every)]
for line in wrong:
    print(line)
sys.exit(bool(wrong) or not modules)
