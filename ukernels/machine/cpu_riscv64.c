/* SPDX-License-Identifier: Apache-2.0 */
/* Linux reports extensions of one letter, a bit for each, in the auxiliary vector. No row needs others, which
 * hwprobe reports. */
#include <sys/auxv.h>
#include "cpu.h"

bool uk_hardware_has(const char *feature) {
    return feature[0] >= 'a' && feature[0] <= 'z' && !feature[1] &&
           getauxval(AT_HWCAP) >> (feature[0] - 'a') & 1;
}
