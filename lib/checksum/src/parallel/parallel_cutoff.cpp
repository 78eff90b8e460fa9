// SPDX-License-Identifier: Apache-2.0
#include "parallel/parallel_cutoff.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

namespace weir::checksum {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t smallest = std::size_t{4} << 10;
constexpr std::size_t largest = std::size_t{1} << 20;
constexpr std::size_t believable = std::size_t{256} << 20;  // a crossing beyond that is no answer
constexpr auto time_limit = std::chrono::milliseconds(5);
constexpr double clear_win = 0.9;

template <class Sum>
double seconds_of(Sum&& sum, std::vector<std::byte>& event, std::size_t size, std::uint32_t& value) {
    std::memset(event.data(), static_cast<int>(value & 0xff), size);  // written here, now; and the sums are needed
    const auto begin = SteadyClock::now();
    value = sum(ConstData(event).first(size), value);
    return std::chrono::duration<double>(SteadyClock::now() - begin).count();
}

}  // namespace

std::size_t cutoff_from(std::span<const CutoffSample> samples) noexcept {
    std::size_t cutoff = ParallelOptions::never;
    for (auto i = samples.size(); i > 0 && samples[i - 1].split < clear_win * samples[i - 1].alone; --i)
        cutoff = samples[i - 1].size;
    if (cutoff != ParallelOptions::never || samples.size() < 3) return cutoff;

    const auto& far = samples.back();
    const auto& near = samples[samples.size() - 3];
    const auto distance = static_cast<double>(far.size - near.size);
    const double alone_per_byte = (far.alone - near.alone) / distance;
    const double split_per_byte = (far.split - near.split) / distance;
    if (!(split_per_byte < clear_win * alone_per_byte)) return ParallelOptions::never;  // more bytes do not help
    const double crossing = static_cast<double>(far.size) + (far.split - far.alone) / (alone_per_byte - split_per_byte);
    if (!(crossing < static_cast<double>(believable))) return ParallelOptions::never;
    return std::max(far.size, static_cast<std::size_t>(crossing * 1.25));
}

std::size_t measure_cutoff(Handover& handover, SumFunction* kernel) {
    std::vector<std::byte> event(largest);
    std::vector<CutoffSample> samples;
    std::uint32_t value = 1;
    const auto split = [&](ConstData data, std::uint32_t start) { return handover.sum(data, start); };
    const auto begin = SteadyClock::now();
    while (SteadyClock::now() - begin < time_limit / 10) seconds_of(split, event, smallest, value);  // workers awake
    for (std::size_t size = smallest; size <= largest; size *= 2) {
        CutoffSample best{size, 1e9, 1e9};
        // One behind the other, as in a stream of events: between two split ones workers stay awake.
        for (int trial = 0; trial < 5; ++trial)
            best.alone = std::min(best.alone, seconds_of(kernel, event, size, value));
        for (int trial = 0; trial < 5; ++trial)
            best.split = std::min(best.split, seconds_of(split, event, size, value));
        samples.push_back(best);
        if (SteadyClock::now() - begin > time_limit) break;
    }
    return cutoff_from(samples);
}

}  // namespace weir::checksum
