// SPDX-License-Identifier: Apache-2.0
// The bodies of the datagrams between endpoints: probes, their answers, acknowledgements.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/endian.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir::messaging {

/// A probe, or the answer to one; padding may follow.
struct Probe {
    static constexpr std::size_t size = 24;
    std::uint64_t token = 0;          // of the probing endpoint; its answer repeats it
    std::uint64_t first_open = 0;     // no reliable message of the sender below this number is in flight
    std::uint32_t received_size = 0;  // in an answer: size of the probe's datagram in bytes

    [[nodiscard]] std::array<std::byte, size> encode() const noexcept {
        std::array<std::byte, size> bytes{};
        store_little(bytes, 0, token);
        store_little(bytes, 8, first_open);
        store_little(bytes, 16, received_size);
        return bytes;
    }
    [[nodiscard]] static std::optional<Probe> decode(ConstData body) noexcept {
        if (body.size() < size) return std::nullopt;
        return Probe{load_little<std::uint64_t>(body, 0), load_little<std::uint64_t>(body, 8),
                     load_little<std::uint32_t>(body, 16)};
    }
};

/// Reliable messages that were received: all up to `cumulative`, and ranges above it.
struct Ack {
    static constexpr std::size_t fixed_size = 16;
    static constexpr std::size_t range_size = 16;
    std::uint64_t cumulative = 0;
    ConstData ranges;

    [[nodiscard]] std::size_t count() const noexcept { return ranges.size() / range_size; }
    [[nodiscard]] wire::SequenceRange range(std::size_t i) const noexcept {
        return {Sequence{load_little<std::uint64_t>(ranges, range_size * i)},
                Sequence{load_little<std::uint64_t>(ranges, range_size * i + 8)}};
    }

    static void encode(std::uint64_t cumulative, std::span<const wire::SequenceRange> ranges,
                       std::vector<std::byte>& into) {
        into.resize(fixed_size + range_size * ranges.size());
        store_little(into, 0, cumulative);
        store_little(into, 8, static_cast<std::uint32_t>(ranges.size()));
        store_little(into, 12, std::uint32_t{0});
        for (std::size_t i = 0; i < ranges.size(); ++i) {
            store_little(into, fixed_size + range_size * i, number(ranges[i].first));
            store_little(into, fixed_size + range_size * i + 8, number(ranges[i].last));
        }
    }
    /// Nothing: these bytes are no acknowledgement.
    [[nodiscard]] static std::optional<Ack> decode(ConstData body) noexcept {
        if (body.size() < fixed_size) return std::nullopt;
        const Ack ack{load_little<std::uint64_t>(body, 0), body.subspan(fixed_size)};
        if (ack.cumulative > wire::sequence_max || ack.ranges.size() % range_size != 0 ||
            ack.count() != load_little<std::uint32_t>(body, 8))
            return std::nullopt;
        for (std::size_t i = 0; i < ack.count(); ++i) {
            const auto [first, last] = ack.range(i);
            if (!wire::valid(first) || !wire::valid(last) || first > last) return std::nullopt;
        }
        return ack;
    }
};

}  // namespace weir::messaging
