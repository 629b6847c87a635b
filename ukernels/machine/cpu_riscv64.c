/* SPDX-License-Identifier: Apache-2.0 */
/* Linux tells the extensions of one letter, a bit for each; others, by hwprobe, no row asks for yet. */
#include <sys/auxv.h>
#include "cpu.h"

bool uk_hardware_has(const char *feature) {
    return feature[0] >= 'a' && feature[0] <= 'z' && !feature[1] &&
           getauxval(AT_HWCAP) >> (feature[0] - 'a') & 1;
}
