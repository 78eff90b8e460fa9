// SPDX-License-Identifier: Apache-2.0
// The constants of the ATLAS event format, and nothing else. docs/formats/atlas-raw.md describes the
// words; every size here is in words of 4 bytes unless its name has bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weir::event {

inline constexpr std::size_t word_bytes = 4;

inline constexpr std::uint32_t event_marker = 0xaa1234aa;
inline constexpr std::uint32_t subdetector_marker = 0xbb1234bb;  // version 3 only
inline constexpr std::uint32_t ros_marker = 0xcc1234cc;          // version 3 only
inline constexpr std::uint32_t rob_marker = 0xdd1234dd;
inline constexpr std::uint32_t rod_marker = 0xee1234ee;

inline constexpr std::uint32_t version_5_0 = 0x0500;  // major version: the high half of a version word
inline constexpr std::uint32_t version_3_0 = 0x0300;
inline constexpr std::uint32_t rod_version_3_1 = 0x0301;

// The common header: marker, size, header size, version, source, number of status words, the status
// words, then the checksum type (5.0) or the number of specific words (3.0), then the specific words.
inline constexpr std::size_t common_header_words = 7;                     // without status and specific words
inline constexpr std::size_t rob_header_words = common_header_words + 1;  // of the ROBs that we make: one status word

inline constexpr std::size_t event_5_0_specific_words = 16;  // without the four lists
inline constexpr std::size_t event_3_0_specific_words = 10;
inline constexpr std::size_t subdetector_specific_words = 1;
inline constexpr std::size_t ros_specific_words = 3;

inline constexpr std::size_t rod_header_words = 9;
inline constexpr std::size_t rod_trailer_words = 3;
inline constexpr std::size_t smallest_rob_words = 21;  // one status word in ROB and ROD, no data

static_assert(common_header_words + event_5_0_specific_words == 23);
static_assert(common_header_words + 1 + rod_header_words + 1 + rod_trailer_words == smallest_rob_words);

enum class ChecksumType : std::uint32_t { none = 0, crc16_ccitt = 1, adler32 = 2 };
enum class Compression : std::uint32_t { none = 0, zlib = 1 };

// Status words: the low half is the same for every fragment, the high half depends on its kind.
namespace status {
inline constexpr std::uint32_t bunch_crossing_id = 0x1;
inline constexpr std::uint32_t level1_id = 0x2;
inline constexpr std::uint32_t timeout = 0x4;
inline constexpr std::uint32_t data_corruption = 0x8;
inline constexpr std::uint32_t overflow = 0x10;
inline constexpr std::uint32_t dummy_fragment = 0x20;

inline constexpr std::uint32_t rob_lost = 0x2000'0000;
inline constexpr std::uint32_t rob_pending = 0x4000'0000;
inline constexpr std::uint32_t rob_discarded = 0x8000'0000;
inline constexpr std::uint32_t rob_truncated = 0x0800'0000;
inline constexpr std::uint32_t dummy_incomplete_region = 0x0001'0000;   // with dummy_fragment
inline constexpr std::uint32_t dummy_collection_timeout = 0x0002'0000;  // with dummy_fragment

inline constexpr std::uint32_t event_duplicate = 0x0400'0000;
inline constexpr std::uint32_t event_recovered = 0x0800'0000;
inline constexpr std::uint32_t event_forced_accept = 0x2000'0000;
inline constexpr std::uint32_t event_partial = 0x8000'0000;
}  // namespace status

}  // namespace weir::event
