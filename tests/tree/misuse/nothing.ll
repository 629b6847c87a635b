; SPDX-License-Identifier: Apache-2.0
define void @nothing() {
  ret void
}
