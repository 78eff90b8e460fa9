// SPDX-License-Identifier: Apache-2.0
// The interface for authors of monitors: code that sees some of the events that pass, and fills histograms and
// counters. Compiled into a shared library, it is run by `weir monitor` in a process of its own:
//
//     #include <weir/monitor/monitor.hpp>
//     struct Sizes final : weir::monitor::Monitor {
//         explicit Sizes(weir::monitor::Book& book)
//             : size(book.histogram("size", "size of events;bytes;events", {100, 0, 20'000})) {}
//         void see(const weir::monitor::Event& event) override {
//             size.fill(static_cast<double>(event.payload.size()));
//         }
//
//         weir::monitor::Histogram1D& size;
//     };
//     WEIR_MONITOR(Sizes)
//
// All calls come from one thread. A call that takes longer than `time_limit` hangs: its process is killed, and started
// again. docs/monitors.md is the guide.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"
#include "weir/monitor/histogram.hpp"

namespace weir::monitor {

struct Fragment {
    SourceId source{};
    std::uint32_t status = 0;  // of the ROB; not 0 where its data are lost or damaged
    ConstData bytes{};         // the whole ROB fragment
    ConstData data{};          // of its ROD fragment, without headers and trailer; empty: it has none that is good
};

/// Valid during the call only.
struct Event {
    RunNumber run{};
    GlobalEventId global_id{};
    Level1Id level1_id{};
    LumiBlock lumi_block{};
    std::uint32_t bunch_crossing_id = 0;
    std::uint32_t trigger_type = 0;
    std::uint32_t seconds = 0, nanoseconds = 0;  // of the bunch crossing: Unix time
    std::span<const Fragment> fragments{};
    ConstData payload{};  // the whole event, as it passed

    /// Nothing: the event has no fragment of this source.
    [[nodiscard]] const Fragment* find(SourceId source) const noexcept {
        for (const auto& fragment : fragments)
            if (fragment.source == source) return &fragment;
        return nullptr;
    }
};

/// Where a monitor makes its histograms and counters, while it is made itself. They live as long as it does. What
/// breaks HistogramLimits, or comes twice, throws, and the monitor is not run.
class Book {
public:
    [[nodiscard]] virtual Histogram1D& histogram(std::string_view name, std::string_view titles, Axis x) = 0;
    [[nodiscard]] virtual Histogram2D& histogram(std::string_view name, std::string_view titles, Axis x, Axis y) = 0;
    [[nodiscard]] virtual Counter& counter(std::string_view name) = 0;
    [[nodiscard]] virtual RunNumber run() const noexcept = 0;

protected:
    ~Book() = default;
};

/// A new one is made for each run, and for each start of its process. What it throws is reported, and the next event
/// comes.
class Monitor {
public:
    virtual ~Monitor() = default;
    virtual void see(const Event& event) = 0;
    /// Behind the last event, for what is computed of the whole run.
    virtual void end_run() {}
};

/// The description of a library: one that was built against another layout is refused when it is loaded.
struct MonitorFace {
    static constexpr std::uint32_t current = 1;
    std::uint32_t version = current;
    std::uint32_t event_size = sizeof(Event);
    std::uint32_t histogram_size = sizeof(Histogram2D);
    Monitor* (*make)(Book&) = nullptr;
};

template <class Mine>
constexpr MonitorFace monitor_face() noexcept {
    MonitorFace face;
    face.make = [](Book& book) -> Monitor* { return new Mine(book); };
    return face;
}

}  // namespace weir::monitor

/// Once in a shared library: `Class` is its monitor, made of a Book&.
#define WEIR_MONITOR(Class)                                                                          \
    extern "C" __attribute__((visibility("default"))) const weir::monitor::MonitorFace weir_monitor; \
    const weir::monitor::MonitorFace weir_monitor = weir::monitor::monitor_face<Class>();
