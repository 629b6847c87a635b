# SPDX-License-Identifier: Apache-2.0
"""Compares operators of small networks with their definitions, which modules next to this one state.

    operators.py UK MODULE...
"""

import importlib
import sys

import defined

uk, *modules = sys.argv[1:]
wrong = [line for module in modules for line in defined.failures(uk, importlib.import_module(module).CASES)]
for line in wrong:
    print(line)
sys.exit(bool(wrong) or not modules)
