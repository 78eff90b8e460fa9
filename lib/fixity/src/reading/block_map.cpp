// SPDX-License-Identifier: Apache-2.0
#include "weir/fixity/block_map.hpp"

#include <algorithm>
#include <utility>

namespace weir::fixity {

std::optional<std::uint64_t> first_difference(const BlockMap& expected, const BlockMap& found) noexcept {
    const auto [a, b] = std::ranges::mismatch(expected.sums, found.sums);
    if (a == expected.sums.end() && b == found.sums.end()) return std::nullopt;
    return static_cast<std::uint64_t>(a - expected.sums.begin());
}

std::uint64_t differences(const BlockMap& expected, const BlockMap& found) noexcept {
    const auto both = std::min(expected.sums.size(), found.sums.size());
    std::uint64_t count = std::max(expected.sums.size(), found.sums.size()) - both;
    for (std::size_t i = 0; i < both; ++i) count += expected.sums[i] != found.sums[i] ? 1U : 0U;
    return count;
}

void BlockSummer::add(ConstData data) {
    while (!data.empty()) {
        const auto part =
            data.first(static_cast<std::size_t>(std::min<std::uint64_t>(block_ - in_block_, data.size())));
        sum_.add(part);
        in_block_ += part.size();
        data = data.subspan(part.size());
        if (in_block_ < block_) continue;
        sums_.push_back(static_cast<std::uint32_t>(sum_.value().number()));
        sum_.reset();
        in_block_ = 0;
    }
}

std::vector<std::uint32_t> BlockSummer::finish() {
    if (in_block_ > 0) sums_.push_back(static_cast<std::uint32_t>(sum_.value().number()));
    sum_.reset();
    in_block_ = 0;
    return std::exchange(sums_, {});
}

}  // namespace weir::fixity
