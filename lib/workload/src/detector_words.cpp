// SPDX-License-Identifier: Apache-2.0
#include "detector_words.hpp"

#include <algorithm>

namespace weir::workload {

void fill_with_samples(std::vector<std::uint32_t>& words, std::size_t count, Random& random) {
    words.resize(count);
    std::uint64_t bits = 0;
    for (std::size_t i = 0; i < count; ++i) {
        bits = i % 2 == 0 ? random.next() : bits >> 32;
        std::uint32_t value = 0;
        for (unsigned channel = 0; channel < 2; ++channel) {
            const auto mine = static_cast<std::uint32_t>(bits >> (16 * channel));
            std::uint32_t adc = 200 + (mine & 0xf) + (mine >> 4 & 0xf);
            if ((mine >> 8 & 0x3f) == 0)
                adc = static_cast<std::uint32_t>(std::min<std::uint64_t>(adc + random.below(3000), 4095));
            value |= ((static_cast<std::uint32_t>(i) * 2 + channel) % 16 << 12 | adc) << (16 * channel);
        }
        words[i] = value;
    }
}

}  // namespace weir::workload
