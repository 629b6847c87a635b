/* SPDX-License-Identifier: Apache-2.0 */
/* Linux reports single-letter extensions, a bit each, in the auxiliary vector. Longer names need hwprobe; no
 * row has one. */
#include <sys/auxv.h>
#include "cpu.h"

bool uk_hardware_has(const char *feature) {
    return feature[0] >= 'a' && feature[0] <= 'z' && !feature[1] &&
           getauxval(AT_HWCAP) >> (feature[0] - 'a') & 1;
}
