// SPDX-License-Identifier: Apache-2.0
#include "parallel/handover.hpp"

#include "weir/checksum/adler32.hpp"

namespace weir::checksum {

void split_evenly(ConstData data, std::uint32_t value, std::span<Part> parts) noexcept {
    constexpr std::size_t line = 64;
    const std::size_t size = (data.size() / parts.size() + line - 1) / line * line;
    for (auto& part : parts) {
        const bool last = &part == &parts.back();
        part.data = last || data.size() < size ? data : data.first(size);
        data = data.subspan(part.data.size());
        part.start = &part == &parts.front() ? value : adler32_start;
    }
}

std::uint32_t join_sums(std::span<const Part> parts) noexcept {
    std::uint32_t sum = parts.front().sum;
    for (const auto& part : parts.subspan(1)) sum = adler32_combine(sum, part.sum, part.data.size());
    return sum;
}

}  // namespace weir::checksum
