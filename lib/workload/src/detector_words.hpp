// SPDX-License-Identifier: Apache-2.0
// Data words as a detector gives them.
#pragma once

#include <cstdint>
#include <vector>

#include "weir/base/random.hpp"

namespace weir::workload {

/// `words` becomes `count` words: two channels a word, each 12 bits of ADC under 4 bits of gain and channel; a pedestal
/// with noise, and a pulse in one channel of 64.
void fill_with_samples(std::vector<std::uint32_t>& words, std::size_t count, Random& random);

}  // namespace weir::workload
