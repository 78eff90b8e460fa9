// SPDX-License-Identifier: Apache-2.0
#include "send/answer_times.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weir::app {
namespace {

constexpr auto relaxed = std::memory_order_relaxed;

}  // namespace

void AnswerTimes::add(std::chrono::nanoseconds time) noexcept {
    const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(time.count(), 1 << steps_bits));
    const auto power = static_cast<unsigned>(std::bit_width(ns)) - 1 - steps_bits;  // 0 or more
    counts_[(static_cast<std::size_t>(power) << steps_bits) + ((ns >> power) & ((1U << steps_bits) - 1))].fetch_add(
        1, relaxed);
    auto longest = longest_.load(relaxed);
    while (time.count() > longest && !longest_.compare_exchange_weak(longest, time.count(), relaxed)) {
    }
}

std::uint64_t AnswerTimes::count() const noexcept {
    std::uint64_t all = 0;
    for (const auto& n : counts_) all += n.load(relaxed);
    return all;
}

std::chrono::nanoseconds AnswerTimes::quantile(double share) const noexcept {
    const auto all = count();
    if (all == 0) return {};
    const auto wanted =
        std::max<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all))), 1);
    std::uint64_t so_far = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
        so_far += counts_[i].load(relaxed);
        if (so_far < wanted) continue;
        // The upper end of the class, and never more than there was.
        const auto power = static_cast<unsigned>(i >> steps_bits);
        const auto end = (((i & ((1U << steps_bits) - 1)) | (1U << steps_bits)) + 1) << power;
        return std::chrono::nanoseconds{
            static_cast<std::int64_t>(std::min<std::uint64_t>(end, static_cast<std::uint64_t>(longest().count())))};
    }
    return longest();
}

std::chrono::nanoseconds AnswerTimes::longest() const noexcept {
    return std::chrono::nanoseconds{longest_.load(relaxed)};
}

}  // namespace weir::app
