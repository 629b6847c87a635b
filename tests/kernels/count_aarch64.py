# SPDX-License-Identifier: Apache-2.0
from count_arm import count  # noqa: F401
