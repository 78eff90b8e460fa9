// SPDX-License-Identifier: Apache-2.0
#include "reading/read_ahead.hpp"

#include <algorithm>

#include "weir/base/start_thread.hpp"

namespace weir::fixity {

ReadAhead::ReadAhead(Read read, std::uint64_t begin, std::uint64_t end, std::size_t piece, unsigned pieces)
    : read_(std::move(read)), end_(end), at_(begin) {
    for (std::size_t i = 0; i < pieces; ++i) {
        buffers_.emplace_back(piece);
        free_.push_back(i);
    }
    // Without a thread next() reads, into the first buffer.
    static_cast<void>(start_thread(thread_, [this](const std::stop_token& stop) { run(stop); }));
}

/// The next piece; with fewer bytes than its buffer it is the last one.
ReadAhead::Piece ReadAhead::read_into(std::size_t buffer) {
    // A whole piece even at the end: a direct read wants its grid. Bytes behind `end_` are not handed out.
    const auto to = buffers_[buffer].data();
    const auto got = read_(at_, to);
    const auto size = got ? static_cast<std::size_t>(std::min<std::uint64_t>(*got, end_ - at_)) : 0;
    at_ += size;
    more_ = got && *got == to.size() && at_ < end_;
    if (!got) failed_ = got.error();
    return {buffer, size};
}

void ReadAhead::run(const std::stop_token& stop) {
    more_ = at_ < end_;
    while (more_) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return !free_.empty(); })) return;
        const auto buffer = free_.back();
        free_.pop_back();
        lock.unlock();
        const auto piece = read_into(buffer);
        lock.lock();
        if (piece.size > 0) full_.push_back(piece);
        failure_ = failed_;
        over_ = !more_;
        changed_.notify_all();
    }
    const std::scoped_lock lock(mutex_);
    over_ = true;
    changed_.notify_all();
}

ConstData ReadAhead::next() {
    if (!has_thread()) {
        if (!more_ || at_ >= end_) return {};
        const auto piece = read_into(0);
        failure_ = failed_;
        return buffers_[piece.buffer].data().first(piece.size);
    }
    std::unique_lock lock(mutex_);
    if (lent_) {
        free_.push_back(*lent_);
        lent_.reset();
        changed_.notify_all();
    }
    changed_.wait(lock, [this] { return !full_.empty() || over_; });
    if (full_.empty()) return {};
    const auto piece = full_.front();
    full_.pop_front();
    lent_ = piece.buffer;
    return buffers_[piece.buffer].data().first(piece.size);
}

}  // namespace weir::fixity
