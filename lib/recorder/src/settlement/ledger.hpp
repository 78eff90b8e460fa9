// SPDX-License-Identifier: Apache-2.0
// Promise 1, as numbers: copies received = stored + rejected (by reason) + in hand, per stream, at any time.
// "Returned" is one of the reasons: it stands with the rejected wherever these are listed by name.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "weir/recorder/recorder_summary.hpp"
#include "weir/wire/reject_reason.hpp"

namespace weir::recorder {

/// Counted from any thread; a reader sees each number exact, and the sum exact once nothing is in hand.
class Ledger {
public:
    static constexpr const char* returned_name = "given_back";

    /// Of copies that have no stream.
    Ledger() : Ledger("none", "unplaced") {}
    Ledger(std::string stream_type, std::string stream_name)
        : stream_type_(std::move(stream_type)), stream_name_(std::move(stream_name)) {}

    [[nodiscard]] const std::string& stream_type() const noexcept { return stream_type_; }
    [[nodiscard]] const std::string& stream_name() const noexcept { return stream_name_; }

    using Counts = CopyCounts;

    void received(std::uint64_t copies = 1) noexcept { received_.fetch_add(copies, std::memory_order_relaxed); }
    void stored(std::uint64_t bytes) noexcept {
        stored_.fetch_add(1, std::memory_order_relaxed);
        bytes_stored_.fetch_add(bytes, std::memory_order_relaxed);
    }
    void rejected(wire::RejectReason reason, std::uint64_t copies = 1) noexcept {
        rejected_[wire::index(reason)].fetch_add(copies, std::memory_order_relaxed);
    }
    void returned() noexcept { returned_.fetch_add(1, std::memory_order_relaxed); }

    [[nodiscard]] Counts counts() const noexcept {
        Counts c;
        c.stored = stored_.load(std::memory_order_relaxed);
        c.bytes_stored = bytes_stored_.load(std::memory_order_relaxed);
        for (std::size_t i = 0; i < c.rejected.size(); ++i)
            c.rejected[i] = rejected_[i].load(std::memory_order_relaxed);
        c.returned = returned_.load(std::memory_order_relaxed);
        c.received = received_.load(std::memory_order_relaxed);  // last, so that in hand is never negative
        return c;
    }

private:
    const std::string stream_type_, stream_name_;
    std::atomic<std::uint64_t> received_{0}, stored_{0}, bytes_stored_{0}, returned_{0};
    std::array<std::atomic<std::uint64_t>, wire::reject_reason_count> rejected_{};
};

}  // namespace weir::recorder
