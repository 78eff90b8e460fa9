// SPDX-License-Identifier: Apache-2.0
// A synthetic workload to send. Making a valid event of a megabyte takes longer than sending it, so a
// set of events is made beforehand, for each kind as many as its share of the rate, with sizes spread
// evenly over its distribution. While sending, an event gets new ids where it lies and goes out again
// once its last use is final. Of each kind the one that rested longest is taken, so all are used equally
// often and the fractions of the workload hold whatever the memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/markers.hpp"
#include "weir/workload/event_source.hpp"
#include "weir/workload/profile.hpp"

namespace weir::workload {

struct SyntheticOptions {
    Profile profile = Profile::atlas2018();
    RunNumber run{1};
    std::uint64_t seed = 1;
    GlobalEventId first_id{1};
    std::optional<std::uint64_t> events{};  // that will be asked for at most: few need less memory
    Bytes memory{256ULL << 20};             // for the events; at least two of each kind are made
    event::ChecksumType checksum = event::ChecksumType::none;
    WallTime begin{};  // when the first bunch crosses
};

class SyntheticSource final : public EventSource {
public:
    /// Makes the events, on all processors; well below a second for 256 MiB.
    explicit SyntheticSource(const SyntheticOptions& options);

    [[nodiscard]] RunNumber run() const override { return run_; }
    void set_run(RunNumber run) override { run_ = run; }
    [[nodiscard]] event::Format format() const override { return event::Format::event_5_0; }
    [[nodiscard]] std::optional<std::uint64_t> events_once() const override { return std::nullopt; }
    [[nodiscard]] bool repeats() const override { return true; }
    [[nodiscard]] Bytes event_size_max() const override { return event_size_max_; }
    [[nodiscard]] std::optional<SourcedEvent> make(std::uint64_t n) override;

    /// Of the events that were made.
    [[nodiscard]] Bytes memory() const noexcept { return memory_; }

private:
    struct PreparedEvent;
    class Shelf;

    [[nodiscard]] static std::vector<PreparedEvent> prepare(const SyntheticOptions& options,
                                                            std::span<const PlannedEvent> plans);
    [[nodiscard]] event::EventIds ids_of(std::uint64_t n) const;

    RunNumber run_;
    const GlobalEventId first_id_;
    const WallTime begin_;
    const std::chrono::seconds lumi_block_length_;
    double rate_hz_ = 0;                // of all streams
    std::vector<std::uint16_t> kinds_;  // of event n: at n modulo size
    Bytes memory_;
    Bytes event_size_max_;
    std::shared_ptr<Shelf> shelf_;  // shared with the events that are underway
};

}  // namespace weir::workload
