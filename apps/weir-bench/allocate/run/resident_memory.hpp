// SPDX-License-Identifier: Apache-2.0
// The memory that this process holds now, as the kernel counts it, read without allocating any.
#pragma once

#include <cstdint>

namespace weir::app {

class ResidentMemory {
public:
    ResidentMemory() noexcept;
    ~ResidentMemory();
    ResidentMemory(const ResidentMemory&) = delete;
    ResidentMemory& operator=(const ResidentMemory&) = delete;

    /// Bytes; 0 when it cannot be read.
    [[nodiscard]] std::uint64_t now() const noexcept;

private:
    int statm_;
    std::uint64_t page_bytes_;
};

}  // namespace weir::app
