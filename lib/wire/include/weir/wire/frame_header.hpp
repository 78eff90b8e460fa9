// SPDX-License-Identifier: Apache-2.0
// The fixed part that begins every message of the delivery protocol, and the constants of the protocol.
// docs/formats/delivery-protocol.md is the promise; this file holds its numbers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"

namespace weir::wire {

inline constexpr std::array frame_magic{std::byte{'W'}, std::byte{'E'}, std::byte{'I'}, std::byte{'R'}};
inline constexpr std::uint8_t frame_version = 1;
inline constexpr std::uint16_t protocol_version = 2;      // the highest that is known here
inline constexpr std::uint16_t protocol_version_min = 2;  // the lowest that is understood
inline constexpr std::size_t frame_header_size = 24;
inline constexpr std::size_t meta_size_max = 64 * 1024;
inline constexpr std::uint64_t payload_size_max = std::uint64_t{1} << 30;  // of the format; recorders set less
inline constexpr std::size_t tags_max = 64;
inline constexpr std::size_t tag_robs_max = 4096;
inline constexpr std::size_t text_size_max = 512;        // of a reason
inline constexpr std::size_t message_ranges_max = 4000;  // of one WELCOME or ACK

inline constexpr std::size_t refusals_max = 4096;  // of one REFUSED

enum class MessageType : std::uint8_t {
    hello = 1,
    welcome = 2,
    event = 3,
    ack = 4,
    reject = 5,
    bye = 6,
    alive = 7,
    refused = 8
};

inline constexpr std::uint8_t hello_any_run = 0x01;           // in the flags of HELLO's meta
inline constexpr std::uint16_t flag_sent_elsewhere = 0x0001;  // EVENT: was sent before, to this recorder or another
inline constexpr std::uint16_t flag_optional = 0x8000;  // a reader that does not know the type may skip the message

struct FrameHeader {
    std::uint8_t type = 0;  // a MessageType, or one that is not known here
    std::uint16_t flags = 0;
    std::uint32_t meta_size = 0;
    std::uint64_t payload_size = 0;
    std::uint32_t crc = 0;  // crc32c of the 20 bytes before it, then of the meta

    /// A type that is known here and that not every reader may skip.
    [[nodiscard]] bool needed() const noexcept {
        return (type >= 1 && type <= static_cast<std::uint8_t>(MessageType::bye)) || is(MessageType::refused);
    }
    [[nodiscard]] bool is(MessageType wanted) const noexcept { return type == static_cast<std::uint8_t>(wanted); }
    /// The bytes of the whole message; the unit of credit.
    [[nodiscard]] std::uint64_t message_size() const noexcept { return frame_header_size + meta_size + payload_size; }
};

/// Reads the first 24 bytes of `data` (it has them). Checks magic, version and every length; nothing
/// that it returns exceeds the limits above. Error: corrupt, unsupported (version) or limit (a length).
[[nodiscard]] Result<FrameHeader> decode_header(ConstData data);

/// True when header and meta are as they were sent. `header` is the 24 bytes as received.
[[nodiscard]] bool header_intact(ConstData header, ConstData meta) noexcept;

/// Writes the 24 bytes before a meta that is in place already, with their checksum.
void encode_header(MutableData target, MessageType type, std::uint16_t flags, ConstData meta,
                   std::uint64_t payload_size) noexcept;

}  // namespace weir::wire
