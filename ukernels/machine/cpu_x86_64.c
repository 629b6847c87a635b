/* SPDX-License-Identifier: Apache-2.0 */
/* __builtin_cpu_supports checks CPUID and the state that the system saves (XGETBV); it takes only literals.
 */
#include <string.h>
#include "cpu.h"

bool uk_hardware_has(const char *feature) {
#define HAS(name)               \
    if (!strcmp(feature, name)) \
        return __builtin_cpu_supports(name);
    HAS("avx")
    HAS("avx2")
    HAS("fma")
    HAS("f16c")
    HAS("avxvnni")
    HAS("avx512f")
    HAS("avx512vl")
    HAS("avx512dq")
    HAS("avx512bw")
    HAS("avx512vnni")
    HAS("avx512bf16")
    HAS("avx512fp16")
    HAS("amx-tile")
    HAS("amx-int8")
    HAS("amx-bf16")
#undef HAS
    return false;
}
