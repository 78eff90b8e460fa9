// SPDX-License-Identifier: Apache-2.0
// splitmix64 (Steele, Lea, Flood 2014): one addition and a mixing, good enough for synthetic data.
#include "weir/base/random.hpp"

#include <cmath>
#include <numbers>

#include "weir/base/assert.hpp"

namespace weir {

std::uint64_t Random::next() noexcept {
    state_ += 0x9e3779b97f4a7c15;
    auto z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

std::uint64_t Random::below(std::uint64_t limit) noexcept {
    WEIR_ASSERT(limit > 0);
    return next() % limit;  // the bias is below 2^-32 for limits below 2^32
}

double Random::unit() noexcept { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

// Box-Muller; the second number is not kept, so that nothing is hidden between calls.
double Random::normal() noexcept {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - unit()));
    return radius * std::cos(2.0 * std::numbers::pi * unit());
}

}  // namespace weir
