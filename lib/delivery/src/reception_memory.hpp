// SPDX-License-Identifier: Apache-2.0
// Memory for events whose bytes are still coming. It is taken whole when an event's head is here, and how long it is
// held is up to the sender; so events that are not whole may not take all of it. Half of the pool is for any of them.
// The other half is for those that are no larger than a fair share of it: that half divided by the number of senders
// that hold memory now, and one. So a few large events that come slowly never keep out the ordinary ones of others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <utility>

#include "weir/memory/buffer_pool.hpp"

namespace weir::delivery {

/// All calls from any thread.
class ReceptionMemory {
public:
    explicit ReceptionMemory(const memory::BufferPool& pool) : half_(pool.stats().limit.count() / 2) {}

    /// Leave to hold the memory of one event; moving it is the handover, destroying it gives it back.
    class Hold {
    public:
        Hold() = default;
        Hold(Hold&& other) noexcept : account_(std::exchange(other.account_, nullptr)), size_(other.size_) {}
        Hold& operator=(Hold&& other) noexcept {
            if (this == &other) return *this;
            release();
            account_ = std::exchange(other.account_, nullptr);
            size_ = other.size_;
            return *this;
        }
        ~Hold() { release(); }
        void release() noexcept {
            if (auto* account = std::exchange(account_, nullptr)) account->give_back(size_);
        }
        [[nodiscard]] explicit operator bool() const noexcept { return account_ != nullptr; }

    private:
        friend class ReceptionMemory;
        Hold(ReceptionMemory* account, std::size_t size) noexcept : account_(account), size_(size) {}
        ReceptionMemory* account_ = nullptr;
        std::size_t size_ = 0;
    };

    /// Empty when others hold too much for an event of `size` bytes. One alone is always given leave.
    [[nodiscard]] Hold try_hold(std::size_t size) {
        const std::scoped_lock lock(mutex_);
        if (count_ > 0 && held_ + size > half_ && size > half_ / (count_ + 1)) {
            somebody_was_refused_ = true;
            return {};
        }
        held_ += size;
        ++count_;
        return {this, size};
    }

    /// How many times the least pace is asked of a sender that holds memory now: 1 when little is held, 9 when half of
    /// the pool is, 17 at most.
    [[nodiscard]] std::uint64_t pace_factor() const {
        const std::scoped_lock lock(mutex_);
        return half_ == 0 ? 1 : 1 + std::min<std::uint64_t>(8 * held_ / half_, 16);
    }

    /// Called, by whoever gives back, when somebody was refused since the last call. Before the first try_hold().
    void on_released(std::function<void()> released) { released_ = std::move(released); }

private:
    void give_back(std::size_t size) noexcept {
        {
            const std::scoped_lock lock(mutex_);
            held_ -= size;
            --count_;
            if (!std::exchange(somebody_was_refused_, false)) return;
        }
        if (released_) released_();
    }

    const std::size_t half_;
    mutable std::mutex mutex_;
    std::size_t held_ = 0;
    std::size_t count_ = 0;
    bool somebody_was_refused_ = false;
    std::function<void()> released_;
};

}  // namespace weir::delivery
