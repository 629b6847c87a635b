# SPDX-License-Identifier: Apache-2.0
"""Tensor programs, matrix products and networks of ukernels on arrays of NumPy.

    import numpy as np
    import ukernels as uk

    f = uk.compile("tensor A f32 [M, K]\\ntensor B f32 [K, N]\\ntensor C f32 [M, N]\\nC[m, n] = sum(k) A[m, k] * B[k, n]")
    A, B = np.ones((6, 5), np.float32), np.ones((5, 4), np.float32)
    C = f(A, B)

Programs and products do not copy arrays; objects other than NumPy's arrays are taken by numpy.from_dlpack. An array with the wrong type,
shape or strides, one that is read-only but written, and one that overlaps an output is refused by name before anything is computed. All
exceptions derive from Error. Other threads run while the library computes.

The libraries are those installed with this package. The environment variable UK_PREFIX names another installation, such as build/stage of
a source tree.
"""

from __future__ import annotations

from . import library as _library
from .errors import (ArgumentError, ArrayTypeError, Error, FileError, OutOfMemoryError, ProgramError, UnsupportedError, WrongResultError)
from .function import Bound, Function, Tensor, compile
from .gemm import Epilogue, Requantization, bgemm, dgemm, hgemm, i8gemm, igemm, num_threads, set_num_threads, sgemm, u8gemm
from .networks import Network, network
from .registry import Kernel, kernels, verify
from .tuning import tune

__version__: str = _library.kernels().uk_version().decode()
__all__ = [
    "ArgumentError", "ArrayTypeError", "Bound", "Epilogue", "Error", "FileError", "Function", "Kernel", "Network", "OutOfMemoryError",
    "ProgramError", "Requantization", "Tensor", "UnsupportedError", "WrongResultError", "bgemm", "compile", "dgemm", "hgemm", "i8gemm", "igemm", "kernels", "network",
    "num_threads", "set_num_threads", "sgemm", "tune", "u8gemm", "verify",
]
