// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/frame_header.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/base/endian.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::wire {
namespace {

constexpr std::size_t frame_checked_size = 20;  // the bytes of the header before its checksum
static_assert(frame_checked_size + 4 == frame_header_size);

std::uint32_t checksum_of(ConstData header, ConstData meta) noexcept {
    return checksum::crc32c(meta, checksum::crc32c(header.first(frame_checked_size)));
}

}  // namespace

Result<FrameHeader> decode_header(ConstData data) {
    WEIR_ASSERT(data.size() >= frame_header_size);
    if (!std::ranges::equal(data.first(4), frame_magic))
        return fail(Errc::corrupt, fmt::format("no message begins with bytes {:02x} {:02x} {:02x} {:02x}; is this "
                                               "program meant to talk to a recorder?",
                                               load_little<std::uint8_t>(data, 0), load_little<std::uint8_t>(data, 1),
                                               load_little<std::uint8_t>(data, 2), load_little<std::uint8_t>(data, 3)));
    if (const auto version = load_little<std::uint8_t>(data, 4); version != frame_version)
        return fail(Errc::unsupported,
                    fmt::format("framing version {} is not known (this program reads {})", version, frame_version));
    FrameHeader header;
    header.type = load_little<std::uint8_t>(data, 5);
    header.flags = load_little<std::uint16_t>(data, 6);
    header.meta_size = load_little<std::uint32_t>(data, 8);
    header.payload_size = load_little<std::uint64_t>(data, 12);
    header.crc = load_little<std::uint32_t>(data, frame_checked_size);
    if (header.meta_size > meta_size_max)
        return fail(Errc::limit,
                    fmt::format("a meta of {} bytes is announced, {} is the most", header.meta_size, meta_size_max));
    if (header.payload_size > payload_size_max)
        return fail(Errc::limit, fmt::format("a payload of {} bytes is announced, {} is the most", header.payload_size,
                                             payload_size_max));
    return header;
}

bool header_intact(ConstData header, ConstData meta) noexcept {
    return load_little<std::uint32_t>(header, frame_checked_size) == checksum_of(header, meta);
}

void encode_header(MutableData target, MessageType type, std::uint16_t flags, ConstData meta,
                   std::uint64_t payload_size) noexcept {
    WEIR_ASSERT(meta.size() <= meta_size_max && payload_size <= payload_size_max);
    std::ranges::copy(frame_magic, target.begin());
    store_little(target, 4, frame_version);
    store_little(target, 5, static_cast<std::uint8_t>(type));
    store_little(target, 6, flags);
    store_little(target, 8, static_cast<std::uint32_t>(meta.size()));
    store_little(target, 12, payload_size);
    store_little(target, frame_checked_size, checksum_of(target, meta));
}

}  // namespace weir::wire
