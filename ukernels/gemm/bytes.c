/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of bytes: the functions that programs call. */
#include "gemm.h"
#include "kernels.h"

#define LEFT uint8_t
#define RIGHT int8_t
#define TYPE uk_gemm_u8_i8
#define UK(name) uk_i##name
#include "calls_bytes.h"

#define LEFT int8_t
#define RIGHT int8_t
#define TYPE uk_gemm_i8
#define UK(name) uk_i8##name
#include "calls_bytes.h"

#define LEFT uint8_t
#define RIGHT uint8_t
#define TYPE uk_gemm_u8
#define UK(name) uk_u8##name
#include "calls_bytes.h"
