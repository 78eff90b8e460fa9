// SPDX-License-Identifier: Apache-2.0
#include "reliable_window.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir::messaging {

bool ReliableWindow::has_room(std::size_t size) const noexcept {
    // A message that stays open for long keeps the ring behind it: the span is bounded too.
    if (open_ >= reliable_max_ || next_ - first_open_ >= 4 * reliable_max_) return false;
    return open_ == 0 || bytes_ + size <= bytes_max_;
}

std::uint64_t ReliableWindow::push(wire::DataflowType type, std::span<const ConstData> pieces, std::size_t size) {
    WEIR_ASSERT(has_room(size));
    if (next_ - first_open_ == ring_.size()) grow();
    auto& slot = at(next_);
    slot.type = type;
    slot.open = true;
    slot.tries = 0;
    slot.bytes.clear();
    slot.bytes.reserve(size);
    for (const auto piece : pieces) slot.bytes.insert(slot.bytes.end(), piece.begin(), piece.end());
    ++open_;
    bytes_ += size;
    return next_++;
}

ReliableWindow::Slot* ReliableWindow::find(std::uint64_t number) noexcept {
    if (number < first_open_ || number >= next_) return nullptr;
    auto& slot = at(number);
    return slot.open ? &slot : nullptr;
}

std::optional<std::chrono::nanoseconds> ReliableWindow::acknowledge(wire::SequenceRange range, SteadyTime now) {
    std::optional<std::chrono::nanoseconds> needed;
    const auto first = std::max(number(range.first), first_open_);
    const auto end = std::min(number(range.last) + 1, next_);
    for (auto number = first; number < end; ++number) {
        auto* slot = find(number);
        if (slot == nullptr) continue;
        if (slot->tries == 0) needed = now - slot->sent;
        finish(*slot);
    }
    advance();
    return needed;
}

std::size_t ReliableWindow::discard() {
    const auto discarded = open_;
    for_each_open([&](std::uint64_t, Slot& slot) { finish(slot); });
    first_open_ = next_;
    return discarded;
}

std::size_t ReliableWindow::restart() {
    const auto discarded = discard();
    first_open_ = next_ = 1;
    return discarded;
}

void ReliableWindow::finish(Slot& slot) noexcept {
    slot.open = false;
    --open_;
    bytes_ -= slot.bytes.size();
    if (slot.bytes.capacity() > kept_capacity_max) slot.bytes = {};
}

void ReliableWindow::advance() noexcept {
    while (first_open_ < next_ && !at(first_open_).open) ++first_open_;
}

void ReliableWindow::grow() {
    std::vector<Slot> larger(std::max<std::size_t>(16, 2 * ring_.size()));
    for (auto number = first_open_; number < next_; ++number)
        larger[number & (larger.size() - 1)] = std::move(at(number));
    ring_ = std::move(larger);
}

}  // namespace weir::messaging
