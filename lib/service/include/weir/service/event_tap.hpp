// SPDX-License-Identifier: Apache-2.0
// Events of those that pass by, for programs that ask for the next one of some kind. A request is for one event, and
// waits for it a moment; so nothing is kept of who asks, and a program that asks no more costs nothing. While nobody
// asks, a passing event costs one load. While somebody does, the threads that offer spend at most one part in 200
// of one thread's time here: after each look there is none for 200 times as long as it took.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/base/stream_tag.hpp"

namespace weir::service {

/// Which events.
struct TapWish {
    std::string stream{};  // "physics_Main"; empty: any
    std::optional<SourceId> source{};
    std::uint64_t size_min = 0, size_max = UINT64_MAX;  // bytes
    bool incomplete = false;                            // only those with empty ROBs in place of lost ones
    std::chrono::milliseconds wait{1000};               // 0 to 10 s
};

/// Reads "stream=physics_Main&source=0x420000&size_min=1&size_max=2&incomplete=1&wait=500". Error: Errc::usage.
[[nodiscard]] Result<TapWish> parse_tap_wish(std::string_view query);

/// The streams and sources of an event, which this library cannot read. Called on the thread that offers.
using TapMatches = std::function<bool(ConstData event, const TapWish& wish)>;

/// What a request gets: an event, or how many passed meanwhile.
struct Tapped {
    std::optional<std::string> event{};  // its bytes
    std::uint64_t passed = 0;            // that were looked at meanwhile
    std::uint64_t too_large = 0;         // of them, which would have taken more memory than there is for it
    std::vector<std::string> streams{};  // of them, where one is wished for: the others that are known, each once
    bool refused = false;                // too many wait already
};

class EventTap {
public:
    static constexpr std::size_t waiting_max = 8;
    static constexpr std::size_t streams_max = 32;  // that an answer names
    static constexpr Bytes event_max{16U << 20};

    using Done = std::function<void(Tapped)>;  // called once, from any thread; must not wait

    EventTap() = default;
    ~EventTap() { expire(SteadyTime::max()); }
    EventTap(const EventTap&) = delete;
    EventTap& operator=(const EventTap&) = delete;

    /// Before any event is offered. Without it, every event has every stream and source.
    void match_by(TapMatches matches) { matches_ = std::move(matches); }

    /// Whether somebody waits for an event. From any thread.
    [[nodiscard]] bool wanted() const noexcept { return waiting_count_.load(std::memory_order_relaxed) > 0; }

    /// Whether offer() would look at one now: else what it is to be given need not be made ready. From any thread.
    [[nodiscard]] bool due(SteadyTime now) const noexcept {
        return wanted() && now.time_since_epoch().count() >= next_.load(std::memory_order_relaxed);
    }

    struct Facts {
        bool incomplete = false;
        std::span<const StreamTag> tags{};  // where they are known; none: they stand in the event
    };
    /// From any thread; never waits. The pieces lie one behind the other in the event, and are read before it returns.
    void offer(std::span<const ConstData> pieces, const Facts& facts, const Clock& clock);

    void ask(TapWish wish, SteadyTime now, Done done);
    /// Answers who has waited long enough: now and then, from one thread.
    void expire(SteadyTime now);

private:
    struct Waiting {
        TapWish wish;
        SteadyTime until;
        Done done;
        Tapped so_far{};
    };
    TapMatches matches_;
    std::atomic<std::size_t> waiting_count_{0};  // relaxed: one event more or less does not matter
    std::atomic<SteadyTime::rep> next_{0};       // no look before this; relaxed, as above
    std::mutex mutex_;                           // of those that wait; an offer that finds it taken goes on
    std::vector<Waiting> waiting_;
};

}  // namespace weir::service
