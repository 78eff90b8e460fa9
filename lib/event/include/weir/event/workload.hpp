// SPDX-License-Identifier: Apache-2.0
// Synthetic events with the mix of streams, rates and sizes of an ATLAS physics run in 2018: most bytes
// in one stream, a fifth of the events small, two partial streams. Every event is valid and its words
// look like a detector's (pedestals and hits, not zeros), so that compression and checksums behave as
// they would. The same seed gives the same events, on every compiler.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/event/event_view.hpp"
#include "weir/event/markers.hpp"

namespace weir::event {

/// Numbers that look random, from a seed; the same ones everywhere.
class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
    [[nodiscard]] std::uint64_t next() noexcept;                      // all 64 bits
    [[nodiscard]] std::uint64_t below(std::uint64_t limit) noexcept;  // 0 .. limit-1
    [[nodiscard]] double unit() noexcept;                             // [0, 1)
    [[nodiscard]] double normal() noexcept;                           // mean 0, sigma 1

private:
    std::uint64_t state_;
};

/// `count` words as a detector gives them: two channels a word, each 12 bits of ADC under 4 bits of gain and channel; a
/// pedestal with noise, and a pulse in one channel of 64.
void fill_with_samples(std::vector<std::uint32_t>& words, std::size_t count, Random& random);

/// One kind of event: the stream it goes to, how often, how large.
struct StreamProfile {
    std::string type{};
    std::string name{};
    double rate_hz = 0;
    Bytes size_mean{};
    Bytes size_min{};
    Bytes size_max{};
    double sigma = 0.3;           // of the logarithm of the size
    bool partial = false;         // its tag names ROBs; the event carries a few per cent more than the stream takes
    double express_fraction = 0;  // of these events: they carry the tag express_express too
};

struct WorkloadProfile {
    std::string name{};
    std::vector<StreamProfile> streams{};
    std::chrono::seconds lumi_block_length{60};

    /// physics_Main (2 % of it express_express too), physics_Delayed, the partial calibration_LArCells and
    /// calibration_TLA, and, rarely, debug_HltTimeout.
    [[nodiscard]] static WorkloadProfile atlas2018();
};

/// What the next event shall be. EventGenerator makes it, its tags and the ROBs of a partial stream included.
struct PlannedEvent {
    std::size_t stream = 0;  // index in the profile
    Bytes stored_size{};     // aimed at: in its own stream, after cutting
    bool express = false;
    std::chrono::nanoseconds at{};  // since the start of the run, at the profile's rates
    LumiBlock lumi_block{1};
};

/// Which event comes next: streams in proportion to their rates, sizes from their distributions.
class WorkloadSampler {
public:
    WorkloadSampler(WorkloadProfile profile, std::uint64_t seed);
    [[nodiscard]] PlannedEvent next();
    [[nodiscard]] const WorkloadProfile& profile() const noexcept { return profile_; }

private:
    WorkloadProfile profile_;
    Random random_;
    std::vector<double> cumulative_rates_;
    std::vector<double> log_medians_;
    std::uint64_t events_ = 0;
};

struct GeneratedEvent {
    std::vector<StreamTag> tags;  // as they stand in the event
    std::vector<std::byte> bytes;
};

/// Makes the events (format 5.0). ROBs hold about 1 kB each.
class EventGenerator {
public:
    EventGenerator(WorkloadProfile profile, std::uint64_t seed, ChecksumType checksum = ChecksumType::none);

    /// `into` keeps its memory from event to event.
    void generate(const PlannedEvent& plan, const EventIds& ids, GeneratedEvent& into);

private:
    WorkloadProfile profile_;
    Random random_;
    ChecksumType checksum_;
    std::vector<std::uint32_t> words_;
    std::vector<std::byte> robs_;
};

}  // namespace weir::event
