// SPDX-License-Identifier: Apache-2.0
#include "weir/event/compression.hpp"

#include <zlib.h>

#include <algorithm>

#include "fault.hpp"
#include "payload_sum.hpp"
#include "words.hpp"

namespace weir::event {
namespace {

// The most bytes that zlib can make of one; a header that announces more is wrong before anything is unpacked.
constexpr std::uint64_t expansion_max = 1032;

Result<> check_announced(const EventView& event, std::uint64_t limit) {
    const auto announced = event.uncompressed_payload_size();
    if (announced > limit)
        return fault(Errc::limit, Level::event, 0,
                     fmt::format("unpacks to {} bytes where {} are allowed; raise the limit if that is right",
                                 announced, limit));
    if (event.compression() != Compression::none && announced > event.payload().size() * expansion_max)
        return fault(Errc::corrupt, Level::event, 0,
                     fmt::format("{} compressed bytes cannot unpack to {}", event.payload().size(), announced));
    return {};
}

}  // namespace

Result<ConstData> decompress_payload(const EventView& event, MutableData buffer) {
    const auto packed = event.payload();
    if (event.compression() == Compression::none) return packed;
    WEIR_TRY(check_announced(event, buffer.size()));

    const auto announced = event.uncompressed_payload_size();
    auto size = static_cast<uLongf>(announced);
    auto used = static_cast<uLong>(packed.size());
    const int status = ::uncompress2(reinterpret_cast<Bytef*>(buffer.data()), &size,
                                     reinterpret_cast<const Bytef*>(packed.data()), &used);
    if (status != Z_OK)
        return fault(
            Errc::corrupt, Level::event, 0,
            fmt::format("its compressed fragments do not unpack to {} bytes (zlib: {})", announced, ::zError(status)));
    if (size != announced)
        return fault(Errc::corrupt, Level::event, 0, fmt::format("unpacks to {} bytes, not {}", size, announced));
    const auto filling = packed.subspan(used);
    if (filling.size() >= word_bytes || std::ranges::any_of(filling, [](std::byte b) { return b != std::byte{0}; }))
        return fault(Errc::corrupt, Level::event, 0,
                     fmt::format("{} bytes follow its compressed fragments", filling.size()));
    return buffer.first(announced);
}

Result<std::vector<std::byte>> decompress_payload(const EventView& event, Bytes limit) {
    WEIR_TRY(check_announced(event, limit.count()));
    std::vector<std::byte> plain(static_cast<std::size_t>(event.uncompressed_payload_size()));
    if (event.compression() == Compression::none) {
        std::ranges::copy(event.payload(), plain.begin());
    } else {
        WEIR_TRY(decompress_payload(event, MutableData(plain)));
    }
    return plain;
}

Result<std::vector<std::byte>> decompress_event(const EventView& event, Bytes limit) {
    if (event.compression() == Compression::none) return std::vector(event.bytes().begin(), event.bytes().end());
    if (event.checksum_type() == ChecksumType::crc16_ccitt)
        return fault(Errc::unsupported, Level::event, 0, "a CRC16 checksum cannot be made anew");
    WEIR_TRY(check_announced(event, limit.count()));

    const auto header_size = event.header().size();
    const auto payload_size = static_cast<std::size_t>(event.uncompressed_payload_size());
    const std::size_t sum_size = event.checksum_type() == ChecksumType::none ? 0 : word_bytes;
    std::vector<std::byte> plain(header_size + payload_size + sum_size);
    std::ranges::copy(event.header(), plain.begin());
    auto payload = WEIR_TRY(decompress_payload(event, MutableData(plain).subspan(header_size, payload_size)));
    if (plain.size() / word_bytes > 0xffff'ffff)
        return fault(Errc::limit, Level::event, 0, "its unpacked size does not fit the size word");
    set_word(plain, 1, static_cast<std::uint32_t>(plain.size() / word_bytes));
    store_little(MutableData(plain), event.fragment().specific_position(10),
                 static_cast<std::uint32_t>(Compression::none));
    if (sum_size != 0) store_little(MutableData(plain), plain.size() - sum_size, payload_adler32(payload));
    return plain;
}

Result<std::vector<std::byte>> compress_payload(ConstData payload, int level) {
    auto size = ::compressBound(static_cast<uLong>(payload.size()));
    std::vector<std::byte> packed(size);
    const int status =
        ::compress2(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(payload.data()),
                    static_cast<uLong>(payload.size()), std::clamp(level, 1, 9));
    if (status != Z_OK)
        return fail(Errc::limit, fmt::format("compressing {} bytes of an event: {}", payload.size(), ::zError(status)));
    packed.resize(size);
    packed.resize((size + word_bytes - 1) / word_bytes * word_bytes);
    return packed;
}

}  // namespace weir::event
