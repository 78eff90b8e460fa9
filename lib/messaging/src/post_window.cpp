// SPDX-License-Identifier: Apache-2.0
#include "post_window.hpp"

#include <algorithm>

#include "weir/base/assert.hpp"

namespace weir::messaging {

bool PostWindow::has_room(std::size_t size) const noexcept {
    // One that is open for long holds the ring behind it: the span has its bound too.
    if (open_ >= posts_max_ || next_ - floor_ >= 4 * posts_max_) return false;
    return open_ == 0 || bytes_ + size <= bytes_max_;
}

std::uint64_t PostWindow::push(wire::DataflowType type, std::span<const ConstData> pieces, std::size_t size) {
    WEIR_ASSERT(has_room(size));
    if (next_ - floor_ == ring_.size()) grow();
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

PostWindow::Slot* PostWindow::find(std::uint64_t number) noexcept {
    if (number < floor_ || number >= next_) return nullptr;
    auto& slot = at(number);
    return slot.open ? &slot : nullptr;
}

std::optional<std::chrono::nanoseconds> PostWindow::acknowledge(wire::SequenceRange range, SteadyTime now) {
    std::optional<std::chrono::nanoseconds> needed;
    const auto first = std::max(number(range.first), floor_);
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

std::size_t PostWindow::drop() {
    const auto dropped = open_;
    for_each_open([&](std::uint64_t, Slot& slot) { finish(slot); });
    floor_ = next_;
    return dropped;
}

std::size_t PostWindow::restart() {
    const auto dropped = drop();
    floor_ = next_ = 1;
    return dropped;
}

void PostWindow::finish(Slot& slot) noexcept {
    slot.open = false;
    --open_;
    bytes_ -= slot.bytes.size();
    if (slot.bytes.capacity() > kept_capacity_max) slot.bytes = {};
}

void PostWindow::advance() noexcept {
    while (floor_ < next_ && !at(floor_).open) ++floor_;
}

void PostWindow::grow() {
    std::vector<Slot> larger(std::max<std::size_t>(16, 2 * ring_.size()));
    for (auto number = floor_; number < next_; ++number) larger[number & (larger.size() - 1)] = std::move(at(number));
    ring_ = std::move(larger);
}

}  // namespace weir::messaging
