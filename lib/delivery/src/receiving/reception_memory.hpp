// SPDX-License-Identifier: Apache-2.0
// Memory for events whose bytes are still coming. It is taken whole when an event's head is here, and how long it is
// held is up to the sender; so events that are not whole may not take all of it. Half of the pool is for any of them.
// An event that is refused waits, and only the one that has waited longest may take of that half: no other one
// overtakes it there. What the first half does not need is for events that are small: no larger than an eighth of what
// remains, so that some always is. So a few large events that come slowly never keep out the ordinary ones of others,
// and these never keep out a large one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "weir/base/clock.hpp"
#include "weir/memory/buffer_pool.hpp"

namespace weir::delivery {

/// All calls from any thread.
class ReceptionMemory {
public:
    explicit ReceptionMemory(const memory::BufferPool& pool) : limit_(pool.stats().limit.count()), half_(limit_ / 2) {}

    /// Permission to hold the memory of one event; moving it is the handover, destroying it releases the memory.
    class Hold {
    public:
        Hold() = default;
        Hold(Hold&& other) noexcept
            : account_(std::exchange(other.account_, nullptr)), size_(other.size_), of_first_(other.of_first_) {}
        Hold& operator=(Hold&& other) noexcept {
            if (this == &other) return *this;
            release();
            account_ = std::exchange(other.account_, nullptr);
            size_ = other.size_;
            of_first_ = other.of_first_;
            return *this;
        }
        ~Hold() { release(); }
        void release() noexcept {
            if (auto* account = std::exchange(account_, nullptr)) account->release(size_, of_first_);
        }
        [[nodiscard]] explicit operator bool() const noexcept { return account_ != nullptr; }

    private:
        friend class ReceptionMemory;
        Hold(ReceptionMemory* account, std::size_t size, bool of_first) noexcept
            : account_(account), size_(size), of_first_(of_first) {}
        ReceptionMemory* account_ = nullptr;
        std::size_t size_ = 0;
        bool of_first_ = false;
    };

    /// The place of one event among those that wait; destroying it, or assigning another one, removes it from the
    /// queue.
    class Place {
    public:
        Place() = default;
        Place(Place&& other) noexcept : account_(std::exchange(other.account_, nullptr)), number_(other.number_) {}
        Place& operator=(Place&& other) noexcept {
            if (this == &other) return *this;
            dequeue();
            account_ = std::exchange(other.account_, nullptr);
            number_ = other.number_;
            return *this;
        }
        ~Place() { dequeue(); }

    private:
        friend class ReceptionMemory;
        void dequeue() noexcept {
            if (auto* account = std::exchange(account_, nullptr)) account->dequeue(number_);
        }
        ReceptionMemory* account_ = nullptr;
        std::uint64_t number_ = 0;
    };

    /// Empty when others hold too much for an event of `size` bytes, or one that waits is to have it first: then the
    /// event waits at `place`, to be given again with the same size. One alone is always permitted.
    [[nodiscard]] Hold try_hold(std::size_t size, Place& place, SteadyTime now = {}) {
        bool others_again = false;
        Hold hold;
        {
            const std::scoped_lock lock(mutex_);
            const bool turn =
                waiting_.empty() || (place.account_ != nullptr && waiting_.begin()->first == place.number_);
            const bool of_first = turn && fits_first(size);
            if (!of_first && !fits_rest(size)) {
                refused_since_ = true;
                if (place.account_ != nullptr) return {};
                waiting_.emplace(next_, Waiting{size, now});
                place.account_ = this;
                place.number_ = next_++;
                return {};
            }
            (of_first ? first_ : rest_) += size;
            ++count_;
            hold = Hold(this, size, of_first);
            if (std::exchange(place.account_, nullptr) != nullptr) others_again = remove(place.number_);
        }
        if (others_again && released_) released_();
        return hold;
    }

    /// How many times the least pace is asked of a sender that holds memory now: 1 when little is held, 9 when half of
    /// the pool is, 17 at most.
    [[nodiscard]] std::uint64_t pace_factor() const {
        const std::scoped_lock lock(mutex_);
        return half_ == 0 ? 1 : 1 + std::min<std::uint64_t>(8 * (first_ + rest_) / half_, 16);
    }

    /// How many events wait, and since when the first of them.
    struct Queue {
        std::size_t events = 0;
        std::optional<SteadyTime> since;
    };
    [[nodiscard]] Queue queue() const {
        const std::scoped_lock lock(mutex_);
        if (waiting_.empty()) return {};
        return {waiting_.size(), waiting_.begin()->second.since};
    }

    /// Called when memory is released or an event waits no more, and an event was refused since the last call. Before
    /// the first try_hold().
    void on_released(std::function<void()> released) { released_ = std::move(released); }

private:
    /// With the mutex. An event that is larger than a half needs more than the first one, of which the small ones take
    /// no more while it waits.
    [[nodiscard]] bool fits_first(std::size_t size) const {
        return count_ == 0 || first_ + size <= half_ || (first_ == 0 && rest_ + size <= limit_);
    }

    /// With the mutex.
    [[nodiscard]] bool fits_rest(std::size_t size) const {
        const auto taken =
            rest_ + std::max({half_, first_, waiting_.empty() ? std::size_t{0} : waiting_.begin()->second.size});
        return size <= (limit_ - std::min(limit_, taken)) / 8;
    }

    /// With the mutex. True: others wait, and are to try again.
    [[nodiscard]] bool remove(std::uint64_t number) noexcept {
        waiting_.erase(number);
        return std::exchange(refused_since_, false) && !waiting_.empty();
    }

    void dequeue(std::uint64_t number) noexcept {
        {
            const std::scoped_lock lock(mutex_);
            if (!remove(number)) return;
        }
        if (released_) released_();
    }

    void release(std::size_t size, bool of_first) noexcept {
        {
            const std::scoped_lock lock(mutex_);
            (of_first ? first_ : rest_) -= size;
            --count_;
            if (!std::exchange(refused_since_, false)) return;
        }
        if (released_) released_();
    }

    struct Waiting {
        std::size_t size = 0;
        SteadyTime since;
    };

    const std::size_t limit_;
    const std::size_t half_;
    mutable std::mutex mutex_;
    std::size_t first_ = 0;                     // bytes held of the first half,
    std::size_t rest_ = 0;                      // and of what it does not need
    std::size_t count_ = 0;                     // of holds
    std::map<std::uint64_t, Waiting> waiting_;  // the one that has waited longest first
    std::uint64_t next_ = 0;
    bool refused_since_ = false;
    std::function<void()> released_;
};

}  // namespace weir::delivery
