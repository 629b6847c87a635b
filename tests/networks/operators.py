# SPDX-License-Identifier: Apache-2.0
"""Compares operators of small networks with their definitions, which modules next to this one state.

    operators.py UK [--all] MODULE...

--all: also the cases MORE of a module.
"""

import importlib
import sys

import defined

uk, *modules = sys.argv[1:]
adds_more = modules[:1] == ["--all"]
if adds_more:
    del modules[0]
loaded = [importlib.import_module(module) for module in modules]
wrong = [line for module in loaded for line in defined.failures(uk, {**module.CASES, **(module.MORE if adds_more else {})})]
for line in wrong:
    print(line)
sys.exit(bool(wrong) or not modules)
