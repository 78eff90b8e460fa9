// SPDX-License-Identifier: Apache-2.0
// The posts to one peer that were not acknowledged yet, with their bytes, numbered from 1 in each run. A ring: its
// slots keep their memory, so that posting does not allocate once it has warmed up.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/wire/datagram.hpp"
#include "weir/wire/sequence_set.hpp"

namespace weir::messaging {

class PostWindow {
public:
    struct Slot {
        wire::DataflowType type{};
        bool open = false;  // neither acknowledged nor given up
        unsigned tries = 0;
        SteadyTime sent{};
        SteadyTime due{};
        std::vector<std::byte> bytes{};
    };

    explicit PostWindow(std::size_t posts_max, std::size_t bytes_max) : posts_max_(posts_max), bytes_max_(bytes_max) {}

    [[nodiscard]] bool has_room(std::size_t size) const noexcept;
    /// There is room. The number of the new post.
    std::uint64_t push(wire::DataflowType type, std::span<const ConstData> pieces, std::size_t size);
    /// Nothing when it is no longer open.
    [[nodiscard]] Slot* find(std::uint64_t number) noexcept;

    /// Acknowledged: the time that the latest of them needed, if any was sent only once.
    std::optional<std::chrono::nanoseconds> acknowledge(wire::SequenceRange range, SteadyTime now);
    /// Gives up what is open; how many. Numbers go on.
    std::size_t drop();
    /// Gives up what is open; numbers begin at 1 again.
    std::size_t restart();

    template <class Visit>
    void for_each_open(Visit visit) {
        for (auto number = floor_; number < next_; ++number) {
            if (auto* slot = find(number)) visit(number, *slot);
        }
    }

    /// Everything below was acknowledged or given up.
    [[nodiscard]] std::uint64_t floor() const noexcept { return floor_; }
    [[nodiscard]] std::uint64_t next() const noexcept { return next_; }
    [[nodiscard]] std::size_t open() const noexcept { return open_; }

private:
    static constexpr std::size_t kept_capacity_max = 16 * 1024;  // of a slot; larger posts are rare
    [[nodiscard]] Slot& at(std::uint64_t number) noexcept { return ring_[number & (ring_.size() - 1)]; }
    void finish(Slot& slot) noexcept;
    void advance() noexcept;
    void grow();

    const std::size_t posts_max_, bytes_max_;
    std::vector<Slot> ring_;
    std::uint64_t floor_ = 1, next_ = 1;
    std::size_t open_ = 0, bytes_ = 0;
};

}  // namespace weir::messaging
