// SPDX-License-Identifier: Apache-2.0
// The constants of the raw file's records, and nothing else. docs/formats/atlas-raw.md describes the
// words.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::event {

inline constexpr std::uint32_t file_start_marker = 0x1234aaaa;
inline constexpr std::uint32_t name_strings_marker = 0x1234aabb;
inline constexpr std::uint32_t metadata_strings_marker = 0x1234aabc;  // versions 5 and 6
inline constexpr std::uint32_t run_parameters_marker = 0x1234bbbb;
inline constexpr std::uint32_t separator_marker = 0x1234cccc;
inline constexpr std::uint32_t file_end_marker = 0x1234dddd;
inline constexpr std::uint32_t file_end_last_marker = 0x1234eeee;

inline constexpr std::uint32_t file_version_bes3 = 2;
inline constexpr std::uint32_t file_version_run1 = 5;
inline constexpr std::uint32_t file_version_current = 6;

inline constexpr std::size_t file_start_words = 8;
inline constexpr std::size_t separator_words = 4;
inline constexpr std::size_t file_end_words = 10;
inline constexpr std::size_t run_parameters_words_v2 = 9;
inline constexpr std::size_t run_parameters_words_v5 = 10;
inline constexpr std::size_t run_parameters_words_v6 = 12;

inline constexpr std::size_t separator_size_bytes = separator_words * 4;
inline constexpr std::size_t file_end_size_bytes = file_end_words * 4;
static_assert(separator_size_bytes == 16 && file_end_size_bytes == 40);

// The limits of a reader before the first event, so that no length from a damaged file is trusted.
inline constexpr std::size_t name_string_size_max = 1024;
inline constexpr std::size_t metadata_string_size_max = 64 * 1024;
inline constexpr std::size_t metadata_strings_max = 4096;
inline constexpr std::size_t file_head_size_max = 1024 * 1024;  // all records before the first separator

}  // namespace weir::event
