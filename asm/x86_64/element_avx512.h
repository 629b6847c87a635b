/* SPDX-License-Identifier: Apache-2.0 */
/* The element of AVX-512 kernels, float or double; a vector has V of them. */
#ifdef UK_DOUBLE
typedef double element;
#define V 8
#define BYTES "8"
#define VECTOR "8"
#define P "pd"
#define S "sd"
#else
typedef float element;
#define V 16
#define BYTES "4"
#define VECTOR "16"
#define P "ps"
#define S "ss"
#endif
static const int64_t size = sizeof(element);
