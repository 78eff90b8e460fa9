// SPDX-License-Identifier: Apache-2.0
// The crc32c of each block of a file, by which a check locates damage (EOS keeps the same). The last
// block may be short. It stands in docs/formats/manifest.md.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/digest/summer.hpp"

namespace weir::fixity {

struct BlockMap {
    std::uint64_t block = 0;  // bytes; 0: there is no map
    std::vector<std::uint32_t> sums;

    bool operator==(const BlockMap&) const = default;
    [[nodiscard]] bool empty() const noexcept { return block == 0; }
};

inline constexpr std::uint64_t block_size_min = 4096;

/// The index of the first block that is not as `expected`, a missing or surplus one included.
[[nodiscard]] std::optional<std::uint64_t> first_difference(const BlockMap& expected, const BlockMap& found) noexcept;
/// How many blocks differ, missing and surplus ones included.
[[nodiscard]] std::uint64_t differences(const BlockMap& expected, const BlockMap& found) noexcept;

/// Makes the sums of the blocks of consecutive data.
class BlockSummer {
public:
    /// `sum`: of crc32c, new.
    explicit BlockSummer(std::uint64_t block, digest::Summer sum = digest::Summer(digest::Algorithm::crc32c))
        : block_(block), sum_(std::move(sum)) {}

    void add(ConstData data);
    /// Of everything added; the last block may be short.
    [[nodiscard]] std::vector<std::uint32_t> finish();

private:
    std::uint64_t block_;
    std::uint64_t in_block_ = 0;
    digest::Summer sum_;
    std::vector<std::uint32_t> sums_;
};

}  // namespace weir::fixity
