/* SPDX-License-Identifier: Apache-2.0 */
/* Linux passes the features that all cores have in the auxiliary vector. cpuinfo would read /proc/cpuinfo,
 * which under an emulator is the host's. */
#include <stddef.h>
#include <string.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include "cpu.h"

bool uk_hardware_has(const char *feature) {
    static const struct {
        const char *name;
        unsigned long type, bit;
    } features[] = {
        {"neon", AT_HWCAP, HWCAP_ASIMD},      {"fullfp16", AT_HWCAP, HWCAP_ASIMDHP},
        {"dotprod", AT_HWCAP, HWCAP_ASIMDDP}, {"i8mm", AT_HWCAP2, HWCAP2_I8MM},
        {"bf16", AT_HWCAP2, HWCAP2_BF16},
    };

    for (size_t i = 0; i < sizeof features / sizeof *features; i++)
        if (!strcmp(feature, features[i].name))
            return getauxval(features[i].type) & features[i].bit;
    return false;
}
