// SPDX-License-Identifier: Apache-2.0
// A message whose header and meta lie whole in the input is read in place; one that comes in pieces is
// gathered in `partial_`, which holds only bytes that came, at most header and meta of one message.
#include "weir/wire/frame_assembler.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::wire {
namespace {
constexpr std::size_t partial_kept_max = 4096;  // memory that a connection keeps between messages
}

FrameAssembler::Step FrameAssembler::break_off(Error error) {
    state_ = State::broken;
    error_ = std::move(error);
    partial_ = {};
    head_in_partial_ = false;
    meta_ = {};
    return Step::broken;
}

void FrameAssembler::erase_head() noexcept {
    meta_ = {};
    if (!std::exchange(head_in_partial_, false)) return;
    if (partial_.capacity() > partial_kept_max) partial_ = {};
    partial_.clear();
}

FrameAssembler::Step FrameAssembler::feed(ConstData& input) {
    if (state_ != State::asking) erase_head();
    switch (state_) {
        case State::broken: return Step::broken;
        case State::asking: WEIR_ASSERT(state_ != State::asking); return Step::broken;  // keep() or skip() comes first
        case State::keeping: {
            const auto count = std::min<std::size_t>(input.size(), room_.size());
            if (count > 0) std::memcpy(room_.data(), input.data(), count);
            input = input.subspan(count);
            return filled(count);
        }
        case State::skipping: {
            const auto count = std::min<std::uint64_t>(input.size(), payload_missing_);
            payload_missing_ -= count;
            input = input.subspan(count);
            if (payload_missing_ > 0) return Step::more;
            state_ = State::between;
            return Step::payload_end;
        }
        case State::between: break;
    }
    // The header, then the meta, in place when they are whole there.
    if (partial_.empty() && input.size() >= frame_header_size) {
        const auto header = decode_header(input);
        if (!header) return break_off(header.error());
        const auto head_size = frame_header_size + header->meta_size;
        if (input.size() >= head_size) {
            const auto head = input.first(head_size);
            input = input.subspan(head_size);
            header_ = *header;
            return head_complete(head);
        }
    }
    const auto gather = [&](std::size_t size) {
        const auto count = std::min(input.size(), size - partial_.size());
        partial_.insert(partial_.end(), input.begin(), input.begin() + static_cast<std::ptrdiff_t>(count));
        input = input.subspan(count);
        return partial_.size() == size;
    };
    if (partial_.size() < frame_header_size) {
        // A foreign protocol is recognised by its first bytes; it need not send 24.
        const bool whole = gather(frame_header_size);
        const auto known = std::min(partial_.size(), frame_magic.size());
        if (!whole &&
            std::equal(partial_.begin(), partial_.begin() + static_cast<std::ptrdiff_t>(known), frame_magic.begin()))
            return Step::more;
        partial_.resize(frame_header_size);
        const auto header = decode_header(partial_);
        if (!header) return break_off(header.error());
        header_ = *header;
    }
    if (!gather(frame_header_size + header_.meta_size)) return Step::more;
    head_in_partial_ = true;
    return head_complete(partial_);
}

FrameAssembler::Step FrameAssembler::head_complete(ConstData head) {
    meta_ = head.subspan(frame_header_size);
    if (!header_intact(head, meta_))
        return break_off({Errc::corrupt, 0, "a message head does not have the checksum that it states"});
    payload_missing_ = header_.payload_size;
    crc_ = 0;
    if (payload_missing_ == 0) return Step::message;
    state_ = State::asking;
    return Step::payload;
}

void FrameAssembler::keep(MutableData room) {
    WEIR_ASSERT(state_ == State::asking && room.size() == header_.payload_size);
    state_ = State::keeping;
    room_ = room;
}

void FrameAssembler::skip() {
    WEIR_ASSERT(state_ == State::asking);
    state_ = State::skipping;
}

MutableData FrameAssembler::payload_room() const noexcept { return state_ == State::keeping ? room_ : MutableData{}; }

FrameAssembler::Step FrameAssembler::filled(std::size_t count) {
    WEIR_ASSERT(state_ == State::keeping && count <= room_.size());
    if (sum_payloads_) crc_ = checksum::crc32c(room_.first(count), crc_);
    room_ = room_.subspan(count);
    payload_missing_ -= count;
    if (payload_missing_ > 0) return Step::more;
    state_ = State::between;
    return Step::payload_end;
}

}  // namespace weir::wire
