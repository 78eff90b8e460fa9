// SPDX-License-Identifier: Apache-2.0
// Messages of several parts while their parts come, in any order, some of them twice. All parts but the last have one
// size (docs/formats/dataflow-protocol.md), so one bit records each part. Memory is bounded: a table of a fixed number
// of messages, and buffers from a pool. When the table is full, the message that has waited longest for its next part
// is discarded.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/memory/buffer_pool.hpp"
#include "weir/wire/datagram.hpp"

namespace weir::messaging {

inline constexpr std::size_t part_size_min = 256;  // of all parts but the last: bounds the bits that a message needs

class Reassembly {
public:
    enum class Outcome { more, complete, duplicate, inconsistent, no_memory };

    Reassembly(std::uint32_t messages_max, std::chrono::milliseconds timeout, memory::BufferPool& pool);

    /// A part of a message that has several. `complete` is filled when it was the last one missing.
    [[nodiscard]] Outcome add(const wire::DatagramHeader& header, ConstData part, SteadyTime now,
                              memory::Buffer& complete);

    void discard_from(wire::StationId from);
    void clear();
    /// Discards messages that have waited too long for their next part.
    void expire(SteadyTime now);
    [[nodiscard]] std::optional<SteadyTime> next_expiry() const;

    [[nodiscard]] std::uint64_t discarded() const noexcept { return discarded_; }
    [[nodiscard]] std::size_t incomplete() const noexcept { return incomplete_; }

private:
    using Index = std::uint32_t;
    static constexpr Index none = ~Index{0};
    struct Message {
        wire::StationId from{};
        wire::DataflowType type{};
        bool reliable = false;
        std::uint64_t number = 0;
        memory::Buffer buffer{};
        std::uint32_t unit = 0;         // size of all parts but the last; 0: only the last one has come
        std::uint32_t last_offset = 0;  // of the last part, when unit is 0
        std::uint32_t missing = 0;      // bytes
        std::vector<std::uint64_t> come{};
        SteadyTime touched{};
        Index chain = none;  // the next one in its bucket, or of the free ones
        Index older = none, newer = none;
    };

    [[nodiscard]] std::size_t bucket(wire::StationId from, bool reliable, std::uint64_t number) const noexcept;
    [[nodiscard]] Index find(const wire::DatagramHeader& header) const noexcept;
    [[nodiscard]] Index open(const wire::DatagramHeader& header);
    [[nodiscard]] bool settle_unit(Message& message, const wire::DatagramHeader& header) const;
    void touch(Index index, SteadyTime now);
    void unlink_age(Index index);
    void close(Index index);
    void discard(Index index);

    const std::uint32_t messages_max_;
    const std::chrono::milliseconds timeout_;
    memory::BufferPool& pool_;
    std::vector<Message> messages_;  // grows up to messages_max_; entries keep their memory
    std::vector<Index> buckets_;
    Index free_ = none;
    Index oldest_ = none, newest_ = none;
    std::size_t incomplete_ = 0;
    std::uint64_t discarded_ = 0;
};

}  // namespace weir::messaging
