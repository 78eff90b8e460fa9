// SPDX-License-Identifier: Apache-2.0
#include "reassembly.hpp"

#include <algorithm>
#include <bit>

#include "weir/base/assert.hpp"

namespace weir::messaging {

Reassembly::Reassembly(std::uint32_t messages_max, std::chrono::milliseconds timeout, memory::BufferPool& pool)
    : messages_max_(messages_max),
      timeout_(timeout),
      pool_(pool),
      buckets_(std::bit_ceil(std::max(messages_max, 16U)), none) {
    WEIR_ASSERT(messages_max > 0);
}

std::size_t Reassembly::bucket(wire::StationId from, bool reliable, std::uint64_t number) const noexcept {
    auto mixed = (number << 1 | (reliable ? 1U : 0U)) ^ (static_cast<std::uint64_t>(from) << 47);
    mixed *= 0x9e3779b97f4a7c15ULL;
    return static_cast<std::size_t>(mixed >> 32) & (buckets_.size() - 1);
}

Reassembly::Index Reassembly::find(const wire::DatagramHeader& header) const noexcept {
    auto index = buckets_[bucket(header.from, header.reliable, header.message)];
    while (index != none) {
        const auto& message = messages_[index];
        if (message.number == header.message && message.from == header.from && message.reliable == header.reliable)
            break;
        index = message.chain;
    }
    return index;
}

Reassembly::Index Reassembly::open(const wire::DatagramHeader& header) {
    auto buffer = pool_.try_take(header.message_size);
    if (!buffer) return none;
    if (free_ == none && messages_.size() == messages_max_) discard(oldest_);
    Index index = free_;
    if (index != none) {
        free_ = messages_[index].chain;
    } else {
        index = static_cast<Index>(messages_.size());
        messages_.emplace_back();
    }
    auto& message = messages_[index];
    message.from = header.from;
    message.type = header.type;
    message.reliable = header.reliable;
    message.number = header.message;
    message.buffer = std::move(*buffer);
    message.unit = 0;
    message.last_offset = 0;
    message.missing = header.message_size;
    auto& head = buckets_[bucket(header.from, header.reliable, header.message)];
    message.chain = std::exchange(head, index);
    ++incomplete_;
    return index;
}

/// Whether the part fits this message. The first part that is not the last sets the size of the parts.
bool Reassembly::settle_unit(Message& message, const wire::DatagramHeader& header) const {
    const bool last = header.offset + header.part_size == header.message_size;
    if (message.unit == 0 && !last) {
        if (header.part_size < part_size_min || header.offset % header.part_size != 0) return false;
        if (message.last_offset != 0) {  // the last part came first
            const auto size = header.message_size - message.last_offset;
            if (message.last_offset % header.part_size != 0 || size > header.part_size) return false;
        }
        message.unit = header.part_size;
        const std::size_t parts = (std::size_t{header.message_size} + message.unit - 1) / message.unit;
        message.come.assign((parts + 63) / 64, 0);
        if (message.last_offset != 0) message.come[(parts - 1) / 64] |= std::uint64_t{1} << (parts - 1) % 64;
        return true;
    }
    if (message.unit == 0) return message.last_offset == 0 || message.last_offset == header.offset;
    if (header.offset % message.unit != 0) return false;
    return last ? header.part_size <= message.unit : header.part_size == message.unit;
}

Reassembly::Outcome Reassembly::add(const wire::DatagramHeader& header, ConstData part, SteadyTime now,
                                    memory::Buffer& complete) {
    if (header.part_size == 0 || header.part_size == header.message_size) return Outcome::inconsistent;
    auto index = find(header);
    const bool fresh = index == none;
    if (fresh) {
        index = open(header);
        if (index == none) return Outcome::no_memory;
        touch(index, now);
    }
    auto& message = messages_[index];
    if (message.type != header.type || message.buffer.size() != header.message_size || !settle_unit(message, header)) {
        if (fresh) close(index);
        return Outcome::inconsistent;
    }
    if (message.unit == 0) {  // it is the last part, and all that has come
        if (message.last_offset != 0) return Outcome::duplicate;
        message.last_offset = header.offset;
    } else {
        const auto place = header.offset / message.unit;
        auto& bits = message.come[place / 64];
        const auto bit = std::uint64_t{1} << place % 64;
        if ((bits & bit) != 0) return Outcome::duplicate;
        bits |= bit;
    }
    std::ranges::copy(part, message.buffer.data().begin() + header.offset);
    message.missing -= header.part_size;
    touch(index, now);
    if (message.missing > 0) return Outcome::more;
    complete = std::move(message.buffer);
    close(index);
    return Outcome::complete;
}

void Reassembly::touch(Index index, SteadyTime now) {
    auto& message = messages_[index];
    message.touched = now;
    if (newest_ == index) return;
    unlink_age(index);
    message.older = newest_;
    if (newest_ != none) messages_[newest_].newer = index;
    else oldest_ = index;
    newest_ = index;
}

void Reassembly::unlink_age(Index index) {
    auto& message = messages_[index];
    if (message.older != none) messages_[message.older].newer = message.newer;
    else if (oldest_ == index) oldest_ = message.newer;
    if (message.newer != none) messages_[message.newer].older = message.older;
    else if (newest_ == index) newest_ = message.older;
    message.older = message.newer = none;
}

void Reassembly::close(Index index) {
    auto& message = messages_[index];
    unlink_age(index);
    auto* at = &buckets_[bucket(message.from, message.reliable, message.number)];
    while (*at != index) at = &messages_[*at].chain;
    *at = message.chain;
    message.buffer.release();
    message.chain = std::exchange(free_, index);
    --incomplete_;
}

void Reassembly::discard(Index index) {
    close(index);
    ++discarded_;
}

void Reassembly::discard_from(wire::StationId from) {
    for (auto index = oldest_; index != none;) {
        const auto newer = messages_[index].newer;
        if (messages_[index].from == from) discard(index);
        index = newer;
    }
}

void Reassembly::clear() {
    while (oldest_ != none) discard(oldest_);
}

void Reassembly::expire(SteadyTime now) {
    while (oldest_ != none && now - messages_[oldest_].touched >= timeout_) discard(oldest_);
}

std::optional<SteadyTime> Reassembly::next_expiry() const {
    if (oldest_ == none) return std::nullopt;
    return messages_[oldest_].touched + timeout_;
}

}  // namespace weir::messaging
