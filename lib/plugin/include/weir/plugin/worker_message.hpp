// SPDX-License-Identifier: Apache-2.0
// The frame of a message between a station and a worker process, in both directions: u32 magic, kind, size
// (little-endian), then `size` bytes. What the kinds mean is a matter of the two ends. Both belong to the same build of
// weir, so there is one version only; but a plug-in may have overwritten its process's memory: what comes back is
// checked like any bytes from outside.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"

namespace weir::plugin {

inline constexpr std::uint32_t message_magic = 0x41535257;  // "WRSA"
inline constexpr std::size_t message_head = 12;

struct MessageHead {
    std::uint32_t kind = 0;
    std::uint32_t size = 0;
};
/// What an end accepts: kinds 1 to kind_max, bodies of at most size_max bytes.
struct MessageLimits {
    std::uint32_t kind_max = 0;
    std::uint32_t size_max = 1 << 20;
};

/// Of the message_head bytes in `head`. Errc::corrupt, Errc::limit.
[[nodiscard]] Result<MessageHead> read_message_head(ConstData head, const MessageLimits& limits);

/// Appends a head. Returns where the body begins; end_message() sets its size.
[[nodiscard]] std::size_t begin_message(std::uint32_t kind, std::vector<std::byte>& to);
void end_message(std::size_t begin, std::vector<std::byte>& to);
/// A whole one.
void write_message(std::uint32_t kind, ConstData body, std::vector<std::byte>& to);

}  // namespace weir::plugin
