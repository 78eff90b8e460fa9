// SPDX-License-Identifier: Apache-2.0
// The reliable messages to one peer that are not acknowledged yet, with their bytes, numbered from 1 in each run. A
// ring: its slots keep their memory, so that sending does not allocate once the slots have grown.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/wire/datagram.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir::messaging {

class ReliableWindow {
public:
    struct Slot {
        wire::DataflowType type{};
        bool open = false;  // neither acknowledged nor discarded
        unsigned tries = 0;
        SteadyTime sent{};
        SteadyTime due{};
        std::vector<std::byte> bytes{};
    };

    explicit ReliableWindow(std::size_t reliable_max, std::size_t bytes_max)
        : reliable_max_(reliable_max), bytes_max_(bytes_max) {}

    [[nodiscard]] bool has_room(std::size_t size) const noexcept;
    /// Requires has_room(). Returns the number of the new message.
    std::uint64_t push(wire::DataflowType type, std::span<const ConstData> pieces, std::size_t size);
    /// Null when the message is not open any more.
    [[nodiscard]] Slot* find(std::uint64_t number) noexcept;

    /// Marks a range as acknowledged. Returns the round trip of the latest of them that was sent only once.
    std::optional<std::chrono::nanoseconds> acknowledge(wire::SequenceRange range, SteadyTime now);
    /// Discards what is open, and returns how many. Numbers go on.
    std::size_t discard();
    /// Discards what is open, and returns how many. Numbers begin at 1 again.
    std::size_t restart();

    template <class Visit>
    void for_each_open(Visit visit) {
        for (auto number = first_open_; number < next_; ++number) {
            if (auto* slot = find(number)) visit(number, *slot);
        }
    }

    /// The lowest number that is neither acknowledged nor discarded; next() when there is none.
    [[nodiscard]] std::uint64_t first_open() const noexcept { return first_open_; }
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
    [[nodiscard]] std::size_t open() const noexcept { return open_; }

private:
    static constexpr std::size_t kept_capacity_max = 16 * 1024;  // of a slot; larger messages are rare
    [[nodiscard]] Slot& at(std::uint64_t number) noexcept { return ring_[number & (ring_.size() - 1)]; }
    void finish(Slot& slot) noexcept;
    void advance() noexcept;
    void grow();

    const std::size_t reliable_max_, bytes_max_;
    std::vector<Slot> ring_;
    std::uint64_t first_open_ = 1, next_ = 1;
    std::size_t open_ = 0, bytes_ = 0;
};

}  // namespace weir::messaging
