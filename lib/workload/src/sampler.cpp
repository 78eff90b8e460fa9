// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weir/base/assert.hpp"
#include "weir/base/suggest.hpp"
#include "weir/workload/profile.hpp"

namespace weir::workload {
namespace {

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::numbers::sqrt2); }

/// The mean of a lognormal distribution (of exp(log_median)) that is drawn again outside [min, max].
double clipped_mean(double log_median, const StreamProfile& s) {
    const double low = (std::log(static_cast<double>(s.size_min.count())) - log_median) / s.sigma;
    const double high = (std::log(static_cast<double>(s.size_max.count())) - log_median) / s.sigma;
    const double inside = normal_cdf(high) - normal_cdf(low);
    return std::exp(log_median + s.sigma * s.sigma / 2) * (normal_cdf(high - s.sigma) - normal_cdf(low - s.sigma)) /
           inside;
}

/// The logarithm of the median for which the clipped distribution has the wanted mean: between the limits, by halving.
double find_log_median(const StreamProfile& s) {
    WEIR_ASSERT(s.size_min < s.size_mean && s.size_mean < s.size_max && s.sigma > 0);
    double low = std::log(static_cast<double>(s.size_min.count()));
    double high = std::log(static_cast<double>(s.size_max.count()));
    for (int i = 0; i < 60; ++i) {
        const double middle = (low + high) / 2;
        (clipped_mean(middle, s) < static_cast<double>(s.size_mean.count()) ? low : high) = middle;
    }
    return low;
}

StreamProfile whole_events(const char* type, const char* name, double rate_hz, double express_fraction) {
    return {.type = type,
            .name = name,
            .rate_hz = rate_hz,
            .size_mean = Bytes{1'000'000},
            .size_min = Bytes{600'000},
            .size_max = Bytes{2'500'000},
            .sigma = 0.3,
            .partial = false,
            .express_fraction = express_fraction};
}

}  // namespace

Profile Profile::atlas2018() {
    Profile profile;
    profile.name = "atlas2018";
    profile.streams = {
        whole_events("physics", "Main", 1000, 0.02),
        whole_events("physics", "Delayed", 350, 0),
        {.type = "calibration",
         .name = "LArCells",
         .rate_hz = 500,
         .size_mean = Bytes{100'000},
         .size_min = Bytes{40'000},
         .size_max = Bytes{200'000},
         .sigma = 0.4,
         .partial = true,
         .express_fraction = 0},
        {.type = "calibration",
         .name = "TLA",
         .rate_hz = 410,
         .size_mean = Bytes{14'000},
         .size_min = Bytes{2'000},
         .size_max = Bytes{31'000},
         .sigma = 0.5,
         .partial = true,
         .express_fraction = 0},
        whole_events("debug", "HltTimeout", 0.5, 0),
    };
    return profile;
}

Result<Profile> find_profile(std::string_view name) {
    auto profile = Profile::atlas2018();
    if (profile.name == name) return profile;
    const std::vector<std::string> known{profile.name};
    return fail(Errc::usage,
                fmt::format("there is no profile \"{}\"{}; known: {}", name, did_you_mean(name, known), profile.name));
}

Sampler::Sampler(Profile profile, std::uint64_t seed) : profile_(std::move(profile)), random_(seed) {
    WEIR_ASSERT(!profile_.streams.empty() && profile_.lumi_block_length.count() > 0);
    double sum = 0;
    for (const auto& stream : profile_.streams) {
        WEIR_ASSERT(stream.rate_hz > 0);
        sum += stream.rate_hz;
        cumulative_rates_.push_back(sum);
        log_medians_.push_back(find_log_median(stream));
    }
}

PlannedEvent Sampler::next() {
    const double total_rate = cumulative_rates_.back();
    const double drawn = random_.unit() * total_rate;
    const auto chosen = std::ranges::upper_bound(cumulative_rates_, drawn);
    const auto stream =
        std::min(static_cast<std::size_t>(chosen - cumulative_rates_.begin()), cumulative_rates_.size() - 1);
    const auto& profile = profile_.streams[stream];

    double size = 0;
    const auto size_min = static_cast<double>(profile.size_min.count());
    const auto size_max = static_cast<double>(profile.size_max.count());
    do {  // a profile keeps most of its distribution between the limits, so this ends soon
        size = std::exp(log_medians_[stream] + profile.sigma * random_.normal());
    } while (size < size_min || size > size_max);

    PlannedEvent plan;
    plan.stream = stream;
    plan.stored_size = Bytes{static_cast<std::uint64_t>(size)};
    plan.express = profile.express_fraction > 0 && random_.unit() < profile.express_fraction;
    plan.at = std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(events_++) / total_rate * 1e9));
    plan.lumi_block = LumiBlock{static_cast<std::uint32_t>(1 + plan.at / profile_.lumi_block_length)};
    return plan;
}

}  // namespace weir::workload
