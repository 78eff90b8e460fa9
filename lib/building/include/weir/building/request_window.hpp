// SPDX-License-Identifier: Apache-2.0
// Traffic shaping: how many bytes of answers may be on their way to a builder at once. Many sources that answer one
// builder at the same moment overflow the queue before it (in a switch, in its socket); what is lost there comes late, if
// at all. So the window shrinks when answers get lost *and* trips get longer, which a full queue does and bad cables do not,
// or when the kernel says that the socket overflowed; otherwise it grows again.
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

    /// Room for an answer of that size? One may always be on its way.
    [[nodiscard]] bool room(std::uint64_t bytes) const noexcept {
        return !limits_.shaping || on_their_way_ == 0 || on_their_way_ + bytes <= size_;
    }
    void asked(std::uint64_t bytes) noexcept { on_their_way_ += bytes; }
    void answered(std::uint64_t bytes, std::chrono::nanoseconds trip) noexcept {
        end(bytes);
        ++answered_;
        shortest_ = shortest_.count() == 0 ? trip : std::min(shortest_, trip);
        trips_ += trip;
        if (answered_ + lost_ >= round) evaluate();
    }
    void lost(std::uint64_t bytes) noexcept {
        end(bytes);
        ++lost_;
        if (answered_ + lost_ >= round) evaluate();
    }
    /// The kernel dropped datagrams for want of room in the socket.
    void overflowed() noexcept { overflowed_ = true; }

    [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
    [[nodiscard]] std::uint64_t on_their_way() const noexcept { return on_their_way_; }

private:
    static constexpr std::uint64_t round = 256;  // answers between two decisions
    static constexpr unsigned in_vain = 4;       // decisions with loss and short trips, without one that saw no loss between
    static constexpr unsigned unmoved = 1024;    // decisions for which loss leaves the window alone then

    void end(std::uint64_t bytes) noexcept { on_their_way_ -= std::min(bytes, on_their_way_); }
    void evaluate() noexcept {
        const auto mean = answered_ == 0 ? shortest_ * 4 : trips_ / static_cast<std::int64_t>(answered_);
        const bool longer = mean > 2 * shortest_ + std::chrono::microseconds(200);
        const bool losing = lost_ * 100 > round;
        if (lost_ == 0) {
            in_vain_ = 0;
        } else if (losing && !longer && unmoved_ == 0) {
            usual_ = in_vain_ == 0 ? lost_ : std::max(usual_, lost_);
            if (++in_vain_ >= in_vain) {
                unmoved_ = unmoved;
                size_ = std::max(size_, shrunk_from_);
            }
        }
        if (lost_ == 0 || unmoved_ > 0) shrunk_from_ = 0;
        if (unmoved_ > 0 && lost_ > 2 * usual_ + round / 8) unmoved_ = in_vain_ = 0;
        if (overflowed_ || (losing && longer && unmoved_ == 0)) {
            if (shrunk_from_ == 0) shrunk_from_ = size_;
            size_ = std::max(limits_.least, size_ * 3 / 4);
        } else {
            size_ = std::min(limits_.most, size_ + size_ / 16 + 4096);
        }
        if (unmoved_ > 0 && --unmoved_ == 0) in_vain_ = 0;
        answered_ = lost_ = 0;
        trips_ = {};
        overflowed_ = false;
    }

    Limits limits_;
    std::uint64_t size_;
    std::uint64_t on_their_way_ = 0, answered_ = 0, lost_ = 0;
    std::uint64_t usual_ = 0;  // lost of a round, when its size was found not to be the cause
    std::uint64_t shrunk_from_ = 0;  // what it was before loss began
    unsigned in_vain_ = 0, unmoved_ = 0;
    std::chrono::nanoseconds trips_{0}, shortest_{0};
    bool overflowed_ = false;
};

}  // namespace weir::building
