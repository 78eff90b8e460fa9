// SPDX-License-Identifier: Apache-2.0
#include "read_ahead.hpp"

#include <algorithm>

namespace weir::fixity {

ReadAhead::ReadAhead(Read read, std::uint64_t begin, std::uint64_t end, std::size_t piece, unsigned pieces)
    : read_(std::move(read)), begin_(begin), end_(end) {
    for (std::size_t i = 0; i < pieces; ++i) {
        buffers_.emplace_back(piece);
        free_.push_back(i);
    }
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void ReadAhead::run(const std::stop_token& stop) {
    bool more = true;
    for (auto at = begin_; more && at < end_;) {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return !free_.empty(); })) return;
        const auto buffer = free_.back();
        free_.pop_back();
        lock.unlock();
        // A whole piece even at the end: a direct read wants its grid. What lies behind `end_` is not handed out.
        const auto to = buffers_[buffer].data();
        const auto got = read_(at, to);
        const auto size = got ? static_cast<std::size_t>(std::min<std::uint64_t>(*got, end_ - at)) : 0;
        more = got && *got == to.size();
        at += size;
        lock.lock();
        if (size > 0) full_.push_back({buffer, size});
        if (!got) failure_ = got.error();
        over_ = !more || at >= end_;
        changed_.notify_all();
    }
    const std::scoped_lock lock(mutex_);
    over_ = true;
    changed_.notify_all();
}

ConstData ReadAhead::next() {
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
