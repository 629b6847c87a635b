# SPDX-License-Identifier: Apache-2.0
"""Programs and arrays shared by the tests."""

import sys
from pathlib import Path

import numpy as np
import pytest

import ukernels as uk

sys.path.append(str(Path(__file__).parents[1] / "networks"))
MATMUL = """tensor A f32 [M, K] stride [lda, 1]
tensor B f32 [K, N]
tensor C f32 [M, N]
C[m, n] = sum(k) A[m, k] * B[k, n]
"""


def numbers(*shape, dtype=np.float32, seed=1):
    """Random integers, whose sums are exact."""
    return np.random.default_rng(seed).integers(-8 if np.dtype(dtype).kind != "u" else 0, 8, shape).astype(dtype)


class Foreign:
    """An array of another package: memory that __dlpack__ exports."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


@pytest.fixture(scope="session")
def matmul():
    return uk.compile(MATMUL, name="matmul")
