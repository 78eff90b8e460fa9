// SPDX-License-Identifier: Apache-2.0
// What goes wrong with data between memory and disk, as patterns that can be applied to any data: swapped and stuck
// lanes of a bus, lost and displaced blocks, flipped bits. For `weir bench undetected`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "weir/base/data.hpp"

namespace weir::app {

using Randomness = std::mt19937_64;

/// Data as detectors and files have it.
enum class DataKind {
    random,    // compressed or encrypted
    pedestal,  // words of 16 bits around a pedestal: a calorimeter without a signal
    hits,      // zero-suppressed: channel numbers that rise, and small amplitudes
};
[[nodiscard]] const char* name(DataKind kind) noexcept;
void fill(MutableData data, DataKind kind, Randomness& random);

struct Corruption {
    std::string name;
    std::size_t size;     // of the data that it is applied to
    std::uint64_t sites;  // how many places are touched; 0: not a matter of places
    /// Changes the data; what it did may be nothing (equal bytes swapped).
    std::function<void(MutableData, Randomness&)> apply;
};

/// Lanes of a bus 16 bytes wide: what each of `sites` words in a row suffers.
[[nodiscard]] std::vector<Corruption> lane_corruptions(std::uint64_t sites);

/// Blocks and bits.
[[nodiscard]] std::vector<Corruption> block_corruptions();
[[nodiscard]] std::vector<Corruption> bit_corruptions();

}  // namespace weir::app
