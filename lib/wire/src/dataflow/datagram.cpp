// SPDX-License-Identifier: Apache-2.0
#include "weir/wire/datagram.hpp"

#include <fmt/format.h>

#include "weir/base/assert.hpp"
#include "weir/base/endian.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir::wire {
namespace {

constexpr std::size_t datagram_checked_size = 52;  // the bytes of the header before its checksum
static_assert(datagram_checked_size + 4 == datagram_header_size);
constexpr std::size_t from_at = 8;
constexpr std::uint16_t flag_reliable = 1;
constexpr auto last_type = static_cast<std::uint8_t>(DataflowType::fragment_seen);

/// Sender and size of a datagram, before its checksum is verified.
Result<std::uint32_t> check_lengths(ConstData data) {
    if (data.size() < datagram_header_size)
        return fail(Errc::truncated, fmt::format("{} bytes are no datagram, the header alone has {}", data.size(),
                                                 datagram_header_size));
    if (const auto magic = load_little<std::uint32_t>(data); magic != datagram_magic)
        return fail(Errc::corrupt,
                    fmt::format("no datagram begins with {:#010x}; does another program send to this port?", magic));
    if (const auto version = load_little<std::uint8_t>(data, 4); version != datagram_version)
        return fail(Errc::unsupported,
                    fmt::format("a datagram of version {}, this program reads version {}", version, datagram_version));
    const auto message = load_little<std::uint32_t>(data, 40);
    const auto offset = load_little<std::uint32_t>(data, 44);
    const auto part = load_little<std::uint32_t>(data, 48);
    if (message > dataflow_message_max || part > datagram_size_max - datagram_header_size)
        return fail(Errc::limit, fmt::format("a part of {} bytes of a message of {}, {} and {} are the most", part,
                                             message, datagram_size_max - datagram_header_size, dataflow_message_max));
    if (offset > message || part > message - offset)
        return fail(Errc::corrupt,
                    fmt::format("a part of {} bytes at {} does not lie in its message of {}", part, offset, message));
    if (part == 0 && message != 0)
        return fail(Errc::corrupt, fmt::format("an empty part of a message of {} bytes", message));
    return part;
}

}  // namespace

void encode_datagram_header(std::span<std::byte, datagram_header_size> to, const DatagramHeader& header,
                            std::span<const ConstData> part, std::uint32_t key) noexcept {
    store_little(to, 0, datagram_magic);
    store_little(to, 4, datagram_version);
    store_little(to, 5, static_cast<std::uint8_t>(header.type));
    store_little(to, 6, header.reliable ? flag_reliable : std::uint16_t{0});
    store_little(to, from_at, number(header.from));
    store_little(to, 10, std::uint16_t{0});
    store_little(to, 12, number(header.run));
    store_little(to, 16, number(header.epoch));
    store_little(to, 24, number(header.to_epoch));
    store_little(to, 32, header.message);
    store_little(to, 40, header.message_size);
    store_little(to, 44, header.offset);
    store_little(to, 48, header.part_size);
    auto sum = checksum::crc32c(to.first<datagram_checked_size>(), key);
    for (const auto piece : part) sum = checksum::crc32c(piece, sum);
    store_little(to, datagram_checked_size, sum);
}

Result<DatagramHeader> decode_datagram(ConstData data, std::uint32_t key) {
    const auto part_size = WEIR_TRY(check_lengths(data));
    const auto part = data.subspan(datagram_header_size);
    if (part.size() != part_size)
        return fail(part.size() < part_size ? Errc::truncated : Errc::corrupt,
                    fmt::format("a datagram announces {} bytes and has {}", part_size, part.size()));
    if (checksum::crc32c(part, checksum::crc32c(data.first(datagram_checked_size), key)) !=
        load_little<std::uint32_t>(data, datagram_checked_size))
        return fail(Errc::corrupt,
                    "a datagram fails its checksum: damaged on the way, or the key is of another partition");
    DatagramHeader header{.type = static_cast<DataflowType>(load_little<std::uint8_t>(data, 5)),
                          .reliable = (load_little<std::uint16_t>(data, 6) & flag_reliable) != 0,
                          .from = StationId{load_little<std::uint16_t>(data, from_at)},
                          .run = RunNumber{load_little<std::uint32_t>(data, 12)},
                          .epoch = Epoch{load_little<std::uint64_t>(data, 16)},
                          .to_epoch = Epoch{load_little<std::uint64_t>(data, 24)},
                          .message = load_little<std::uint64_t>(data, 32),
                          .message_size = load_little<std::uint32_t>(data, 40),
                          .offset = load_little<std::uint32_t>(data, 44),
                          .part_size = part_size};
    const auto type = static_cast<std::uint8_t>(header.type);
    if (type == 0 || type > last_type)
        return fail(Errc::unsupported, fmt::format("a datagram of the unknown type {}", type));
    if (header.from == StationId{0} || header.epoch == Epoch{0} || !valid(Sequence{header.message}))
        return fail(Errc::corrupt, fmt::format("a datagram of station {}, epoch {}, message {}; none of them can be 0",
                                               number(header.from), number(header.epoch), header.message));
    if (header.reliable && header.to_epoch == Epoch{0})
        return fail(Errc::corrupt, "a reliable message does not name the process it is for");
    return header;
}

StationId claimed_sender(ConstData datagram) noexcept {
    return datagram.size() < datagram_header_size ? StationId{0}
                                                  : StationId{load_little<std::uint16_t>(datagram, from_at)};
}

Result<std::size_t> datagram_size(ConstData header) {
    const auto part = WEIR_TRY(check_lengths(header));
    return datagram_header_size + part;
}

}  // namespace weir::wire
