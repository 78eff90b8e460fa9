// SPDX-License-Identifier: Apache-2.0
#include "weir/event/event_pieces.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "payload_sum.hpp"
#include "words.hpp"

namespace weir::event {

void EventPieces::clear() noexcept {
    pieces_.clear();
    made_.clear();
    size_ = 0;
}

void EventPieces::refer(ConstData piece) {
    if (piece.empty()) return;
    size_ += piece.size();
    if (!pieces_.empty() && pieces_.back().outside != nullptr &&
        pieces_.back().outside + pieces_.back().size == piece.data()) {
        pieces_.back().size += piece.size();
    } else {
        pieces_.push_back({.outside = piece.data(), .begin = 0, .size = piece.size()});
    }
}

void EventPieces::make(ConstData bytes) {
    if (bytes.empty()) return;
    if (pieces_.empty() || pieces_.back().outside != nullptr)
        pieces_.push_back({.outside = nullptr, .begin = made_.size(), .size = 0});
    append(made_, bytes);
    pieces_.back().size += bytes.size();
    size_ += bytes.size();
}

void EventPieces::make_word(std::uint32_t word) {
    std::array<std::byte, word_bytes> bytes{};
    store_little(MutableData(bytes), 0, word);
    make(bytes);
}

void EventPieces::set_made_word(std::size_t position, std::uint32_t word) {
    store_little(MutableData(made_), position, word);
}

ConstData EventPieces::piece(std::size_t i) const noexcept {
    WEIR_ASSERT(i < pieces_.size());
    const auto& p = pieces_[i];
    return {p.outside != nullptr ? p.outside : made_.data() + p.begin, p.size};
}

std::uint32_t EventPieces::adler32_from(std::size_t from) const noexcept {
    std::uint32_t sum = adler32_start;
    for (std::size_t i = 0; i < count(); ++i) {
        const auto data = piece(i);
        const auto skipped = std::min(from, data.size());
        from -= skipped;
        if (skipped < data.size()) sum = payload_adler32(data.subspan(skipped), sum);
    }
    return sum;
}

void EventPieces::copy_to(MutableData to) const noexcept {
    WEIR_ASSERT(to.size() >= size_);
    for (std::size_t i = 0; i < count(); ++i) {
        const auto data = piece(i);
        std::memcpy(to.data(), data.data(), data.size());
        to = to.subspan(data.size());
    }
}

std::vector<std::byte> EventPieces::to_bytes() const {
    std::vector<std::byte> bytes(size_);
    copy_to(bytes);
    return bytes;
}

}  // namespace weir::event
