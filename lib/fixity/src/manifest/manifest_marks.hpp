// SPDX-License-Identifier: Apache-2.0
// Words and limits of manifests that reader and writer share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::fixity {

inline constexpr std::string_view hashdeep_mark = "%%%% HASHDEEP-1.0";
inline constexpr std::string_view csv_mark = "path,size,";             // then the algorithms
inline constexpr std::string_view blocks_mark = "weir-blocks crc32c";  // then block size, offset, sums
inline constexpr std::size_t blocks_in_line = 1024;
inline constexpr std::size_t line_size_max = 1U << 20;       // a name has at most 4095 bytes; some have escapes
inline constexpr std::size_t blocks_in_file_max = 1U << 26;  // 64 TiB of 1 MiB: the memory that one file may take

}  // namespace weir::fixity
