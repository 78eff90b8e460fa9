// SPDX-License-Identifier: Apache-2.0
// The functions of zlib that libweir-zlib.so takes the place of, declared as zlib.h does it for 64-bit Linux.
// zlib.h itself is not used: the library has to be built, and has to be right, without zlib.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#define WEIR_ZLIB_API extern "C" __attribute__((visibility("default")))

using uLong = unsigned long;
using uInt = unsigned int;
using Bytef = unsigned char;
using z_size_t = std::size_t;
using z_off_t = off_t;
using z_off64_t = off64_t;
using z_crc_t = std::uint32_t;
static_assert(sizeof(z_off_t) == sizeof(z_off64_t), "zlib's combines with and without 64 are then the same");

WEIR_ZLIB_API uLong adler32(uLong adler, const Bytef* buffer, uInt length) noexcept;
WEIR_ZLIB_API uLong adler32_z(uLong adler, const Bytef* buffer, z_size_t length) noexcept;
WEIR_ZLIB_API uLong adler32_combine(uLong adler1, uLong adler2, z_off_t length2) noexcept;
WEIR_ZLIB_API uLong adler32_combine64(uLong adler1, uLong adler2, z_off64_t length2) noexcept;

WEIR_ZLIB_API uLong crc32(uLong crc, const Bytef* buffer, uInt length) noexcept;
WEIR_ZLIB_API uLong crc32_z(uLong crc, const Bytef* buffer, z_size_t length) noexcept;
WEIR_ZLIB_API uLong crc32_combine(uLong crc1, uLong crc2, z_off_t length2) noexcept;
WEIR_ZLIB_API uLong crc32_combine64(uLong crc1, uLong crc2, z_off64_t length2) noexcept;
WEIR_ZLIB_API uLong crc32_combine_gen(z_off_t length2) noexcept;
WEIR_ZLIB_API uLong crc32_combine_gen64(z_off64_t length2) noexcept;
WEIR_ZLIB_API uLong crc32_combine_op(uLong crc1, uLong crc2, uLong op) noexcept;
WEIR_ZLIB_API const z_crc_t* get_crc_table() noexcept;
