// SPDX-License-Identifier: Apache-2.0
// What the memory of this machine allows, for benches: the ceiling under which sums and copies are to be judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weir/base/data.hpp"

namespace weir::app {

/// Touches every byte with the widest loads and does as little as possible with them.
[[nodiscard]] std::uint64_t read_all(ConstData data) noexcept;

/// Memory for measurements: huge pages where there are some, all of it touched, filled with noise.
class NoisyMemory {
public:
    explicit NoisyMemory(std::size_t size);
    ~NoisyMemory();
    NoisyMemory(const NoisyMemory&) = delete;
    NoisyMemory& operator=(const NoisyMemory&) = delete;

    [[nodiscard]] MutableData data() const noexcept { return {memory_, size_}; }

private:
    std::byte* memory_;
    std::size_t size_;
};

}  // namespace weir::app
