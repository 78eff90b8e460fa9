// SPDX-License-Identifier: Apache-2.0
// A thread that reads a file some pieces ahead of its user. Where the system has no thread for it, each
// piece is read when it is asked for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "weir/fixity/pieces.hpp"

namespace weir::fixity {

class ReadAhead {
public:
    using Read = std::function<std::expected<std::size_t, Failure>(std::uint64_t offset, MutableData to)>;

    /// Reads with `read`, one thread at a time, from `begin` until it has `end` or gets less than it asked for.
    ReadAhead(Read read, std::uint64_t begin, std::uint64_t end, std::size_t piece, unsigned pieces);

    [[nodiscard]] bool has_thread() const noexcept { return thread_.joinable(); }

    /// Waits for the next piece, which is the caller's until the next call. Empty: that was all, or failed.
    [[nodiscard]] ConstData next();
    [[nodiscard]] const std::optional<Failure>& failure() const noexcept { return failure_; }  // once next() was empty

private:
    struct Piece {
        std::size_t buffer;
        std::size_t size;
    };
    void run(const std::stop_token& stop);
    [[nodiscard]] Piece read_into(std::size_t buffer);

    const Read read_;
    const std::uint64_t end_;
    std::uint64_t at_;  // the reading thread's, as the next two
    bool more_ = true;
    std::optional<Failure> failed_;
    std::vector<AlignedBuffer> buffers_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::vector<std::size_t> free_;
    std::deque<Piece> full_;
    std::optional<std::size_t> lent_;
    bool over_ = false;
    std::optional<Failure> failure_;
    std::jthread thread_;  // the last member: it stops before what it uses is gone
};

}  // namespace weir::fixity
