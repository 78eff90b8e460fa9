// SPDX-License-Identifier: Apache-2.0
// Which synthetic events a run has: the mix of streams, rates and sizes of an ATLAS physics run in 2018. Most bytes are
// in one stream, a fifth of the events is small, two streams are partial. The same seed gives the same plan, on every
// compiler.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/bytes.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/random.hpp"
#include "weir/base/result.hpp"

namespace weir::workload {

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

struct Profile {
    std::string name{};
    std::vector<StreamProfile> streams{};
    std::chrono::seconds lumi_block_length{60};

    /// physics_Main (2 % of it express_express too), physics_Delayed, the partial calibration_LArCells and
    /// calibration_TLA, and, rarely, debug_HltTimeout.
    [[nodiscard]] static Profile atlas2018();
};

/// The profile of that name. Errc::usage: unknown, with the nearest.
[[nodiscard]] Result<Profile> find_profile(std::string_view name);

/// The properties of the next event. EventGenerator makes it, its tags and the ROBs of a partial stream included.
struct PlannedEvent {
    std::size_t stream = 0;  // index in the profile
    Bytes stored_size{};     // aimed at: in its own stream, after cutting
    bool express = false;
    std::chrono::nanoseconds at{};  // since the start of the run, at the profile's rates
    LumiBlock lumi_block{1};
};

/// Which event comes next: streams in proportion to their rates, sizes from their distributions.
class Sampler {
public:
    Sampler(Profile profile, std::uint64_t seed);
    [[nodiscard]] PlannedEvent next();
    [[nodiscard]] const Profile& profile() const noexcept { return profile_; }

private:
    Profile profile_;
    Random random_;
    std::vector<double> cumulative_rates_;
    std::vector<double> log_medians_;
    std::uint64_t events_ = 0;
};

}  // namespace weir::workload
