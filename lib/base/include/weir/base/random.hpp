// SPDX-License-Identifier: Apache-2.0
// Pseudo-random numbers from a seed, the same on every machine and with every compiler, which the distributions of the
// standard library are not. For synthetic data and simulated choices, never for secrets.
#pragma once

#include <cstdint>

namespace weir {

class Random {
public:
    explicit Random(std::uint64_t seed) noexcept : state_(seed) {}
    [[nodiscard]] std::uint64_t next() noexcept;                      // all 64 bits
    [[nodiscard]] std::uint64_t below(std::uint64_t limit) noexcept;  // 0 .. limit-1; limit > 0
    [[nodiscard]] double unit() noexcept;                             // [0, 1)
    [[nodiscard]] double normal() noexcept;                           // mean 0, sigma 1

private:
    std::uint64_t state_;
};

}  // namespace weir
