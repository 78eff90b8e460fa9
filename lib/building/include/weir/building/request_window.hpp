// SPDX-License-Identifier: Apache-2.0
// Traffic shaping: how many bytes of answers may be in flight to a builder. Many sources that answer one
// builder at the same moment overflow the queue before it (in a switch, in its socket); what is lost there comes late,
// if at all. So the window shrinks when answers get lost *and* trips get longer, which a full queue does and bad cables
// do not, or when the kernel says that the socket overflowed; otherwise it grows again. Trips are also long where a
// machine is busy: loss that stays when the window has shrunk to a third does not come of it, and gives it its size
// back.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace weir::building {

class RequestWindow {
public:
    struct Limits {
        bool shaping = true;  // false: no limit, to see what happens
        std::uint64_t least = 64 << 10;
        std::uint64_t most = 4 << 20;  // below what the socket's buffer holds
    };
    explicit RequestWindow(const Limits& limits) noexcept : limits_(limits), size_(limits.most) {}

    /// Room for an answer of that size? One may always be in flight.
    [[nodiscard]] bool room(std::uint64_t bytes) const noexcept {
        return !limits_.shaping || in_flight_ == 0 || in_flight_ + bytes <= size_;
    }
    void asked(std::uint64_t bytes) noexcept { in_flight_ += bytes; }
    void answered(std::uint64_t bytes, std::chrono::nanoseconds trip) noexcept {
        released(bytes);
        ++answered_;
        shortest_ = shortest_.count() == 0 ? trip : std::min(shortest_, trip);
        trips_ += trip;
        if (answered_ + lost_ >= round) evaluate();
    }
    /// Neither answered in a time that was measured nor lost.
    void released(std::uint64_t bytes) noexcept { in_flight_ -= std::min(bytes, in_flight_); }
    void lost(std::uint64_t bytes) noexcept {
        released(bytes);
        ++lost_;
        if (answered_ + lost_ >= round) evaluate();
    }
    /// The kernel discarded datagrams for want of room in the socket.
    void overflowed() noexcept { overflowed_ = true; }

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] std::uint64_t in_flight() const noexcept { return in_flight_; }

private:
    static constexpr std::uint64_t round = 256;  // answers between two decisions
    static constexpr unsigned unmoved = 1024;    // decisions for which loss leaves the window alone when not

    void evaluate() noexcept {
        const auto mean = answered_ == 0 ? shortest_ * 4 : trips_ / static_cast<std::int64_t>(answered_);
        const bool longer = mean > 2 * shortest_ + std::chrono::microseconds(200);
        const bool losing = lost_ * 100 > round;
        if (unmoved_ > 0 && lost_ > 2 * usual_ + round / 8) unmoved_ = 0;
        if (lost_ == 0 || unmoved_ > 0) shrunk_from_ = 0;
        if (unmoved_ > 0) --unmoved_;
        if (overflowed_ || (losing && longer && unmoved_ == 0)) {
            shrink();
        } else {
            size_ = std::min(limits_.most, size_ + size_ / 16 + 4096);
        }
        answered_ = lost_ = 0;
        trips_ = {};
        overflowed_ = false;
    }

    void shrink() noexcept {
        if (size_ >= shrunk_from_) {
            shrunk_from_ = compared_ = size_;
            lost_before_ = lost_;
        } else if (size_ <= std::max(limits_.least, compared_ / 3)) {
            // A queue that less than half of the answers find full loses much less with a third of the window.
            if (!overflowed_ && lost_before_ > 0 && lost_before_ * 2 <= round && lost_ * 4 >= lost_before_ * 3) {
                usual_ = std::max(lost_, lost_before_);
                size_ = shrunk_from_;
                unmoved_ = unmoved;
                return;
            }
            compared_ = size_;
            lost_before_ = lost_;
        }
        size_ = std::max(limits_.least, size_ * 3 / 4);
    }

    Limits limits_;
    std::uint64_t size_;
    std::uint64_t in_flight_ = 0, answered_ = 0, lost_ = 0;
    std::uint64_t usual_ = 0;        // lost of a round, when its size was found not to be the cause
    std::uint64_t shrunk_from_ = 0;  // what it was before loss began
    std::uint64_t compared_ = 0,
                  lost_before_ = 0;  // size and loss of the round that a third of the size is compared with
    unsigned unmoved_ = 0;
    std::chrono::nanoseconds trips_{0}, shortest_{0};
    bool overflowed_ = false;
};

}  // namespace weir::building
