// SPDX-License-Identifier: Apache-2.0
// The write memory of a recorder: one aligned arena cut into equal segments. One arena, so that
// io_uring can register it once; equal segments, so that memory never fragments. When none is free the
// answer is "full" and the senders wait. Requests that were refused are served in their order, or else small events
// would take every segment that is released, and one that needs many at once would wait for ever.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"

namespace weir::recorder {

/// All calls from any thread.
class SegmentPool {
public:
    static constexpr std::size_t alignment = 4096;
    /// How long segments are left for a refused request that does not come again: its sender may be gone.
    static constexpr std::chrono::milliseconds wish_lifetime{100};

    /// `total` is rounded down to whole segments; at least two. `segment` is a multiple of `alignment`.
    SegmentPool(Bytes total, Bytes segment, const Clock& clock);
    SegmentPool(Bytes total, Bytes segment);  // by the system's clock
    ~SegmentPool();
    SegmentPool(const SegmentPool&) = delete;
    SegmentPool& operator=(const SegmentPool&) = delete;

    /// `count` segments, all or none, appended to `to`. Contents undefined. What earlier refused requests
    /// wish for is left to them. A refused one is known again by its count.
    [[nodiscard]] bool try_take(std::size_t count, std::vector<std::byte*>& to);

    /// Sleeps until a segment is released or the time is over. For threads that may sleep; they try again.
    void wait_for_freed(std::chrono::milliseconds at_most);

    void release(std::byte* segment);

    /// Calls `freed` for refused requests although no segment was released: what is free may be reserved for a request
    /// that does not come again. Called every now and then.
    void wake_refused();

    /// `freed` is called, by the thread that releases or wakes, when a request that was refused may come again.
    /// A call that has begun may end after another is set.
    void on_freed(std::function<void()> freed);

    [[nodiscard]] std::size_t segment_size() const noexcept { return segment_; }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    [[nodiscard]] std::size_t free_count() const;
    /// Nearly everything is taken, or a request waits: an idle holder should release what it can.
    [[nodiscard]] bool is_short() const;
    /// A request was refused a moment ago and has not come again with success.
    [[nodiscard]] bool is_waited_for() const;
    /// Segments taken, and released, since the beginning.
    struct Turnover {
        std::uint64_t taken = 0, released = 0;
    };
    [[nodiscard]] Turnover turnover() const;
    [[nodiscard]] MutableData arena() const noexcept { return {arena_, segment_ * count_}; }

private:
    /// What a refused request still wants.
    struct Wish {
        std::size_t count;
        SteadyTime until;
    };

    const Clock& clock_;
    const std::size_t segment_;
    const std::size_t count_;
    std::byte* const arena_;
    mutable std::mutex mutex_;
    std::condition_variable released_;
    std::vector<std::byte*> free_;
    std::vector<Wish> wishes_;  // the oldest first; one for each count
    Turnover turnover_;
    bool any_refused_ = false;
    std::function<void()> freed_;
};

}  // namespace weir::recorder
