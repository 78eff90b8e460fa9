// SPDX-License-Identifier: Apache-2.0
// The compressed event of format 5.0: everything behind the header is one zlib stream, filled with
// zeros to a word; the header, stream tags included, stays readable. The size that the header
// announces comes from outside: it decides nothing before it was held against a limit.
#pragma once

#include <cstddef>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/event/event_view.hpp"

namespace weir::event {

/// The fragments of an event: payload() itself when it is not compressed, else unpacked into `buffer`
/// (the result lies in it). Errc::limit when `buffer` is too small, Errc::corrupt when the stream is
/// damaged or does not have the announced size.
[[nodiscard]] Result<ConstData> decompress_payload(const EventView& event, MutableData buffer);

/// The same, in memory of its own. Errc::limit when it would be more than `limit`; nothing is allocated then.
[[nodiscard]] Result<std::vector<std::byte>> decompress_payload(const EventView& event, Bytes limit);

/// The same event without compression, sizes and checksum made anew. Errc::limit as above,
/// Errc::unsupported when its checksum is one that we cannot make.
[[nodiscard]] Result<std::vector<std::byte>> decompress_event(const EventView& event, Bytes limit);

/// `payload` as a zlib stream filled to a word. `level` 1 (fast) to 9 (small).
[[nodiscard]] Result<std::vector<std::byte>> compress_payload(ConstData payload, int level = 1);

}  // namespace weir::event
