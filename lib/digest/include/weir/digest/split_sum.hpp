// SPDX-License-Identifier: Apache-2.0
// The sum of a whole of known length that is cut into parts of one size, the last of which may be shorter: each is
// summed apart, by any thread and in any order, and their values are put together. adler32 and the CRCs can
// be split anywhere. blake3 is a tree: a part of 2^k KiB that begins at a multiple of its size is a whole
// subtree of it. Parts of any sizes, for combinable algorithms, are range_sum.hpp.
//
//     SplitSum sum(algorithm, length, part_size);
//     for each index below sum.parts(), in any thread:
//         engine = sum.begin(index); engine->add(...); value = engine->value()
//         sum.add(index, value)                   // one thread at a time
//     sum.value()
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "weir/digest/range_sum.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {

class Blake3Tree;

class SplitSum {
public:
    /// Whether parts of this many bytes can be put together.
    [[nodiscard]] static bool possible(Algorithm algorithm, std::uint64_t part_size) noexcept;

    /// possible(algorithm, part_size) holds.
    SplitSum(Algorithm algorithm, std::uint64_t length, std::uint64_t part_size);
    ~SplitSum();
    SplitSum(SplitSum&&) noexcept;
    SplitSum& operator=(SplitSum&&) noexcept;

    /// None when there are no bytes.
    [[nodiscard]] std::uint64_t parts() const noexcept { return parts_; }
    /// To be given the bytes of this part. Any thread, and it is that thread's. Of blake3 its value is that of a
    /// node within the tree, which means nothing alone.
    [[nodiscard]] std::unique_ptr<Engine> begin(std::uint64_t index) const;
    /// The engine's result for all bytes of the part; each part once. Neighbours are joined when both are there,
    /// so memory grows with the gaps only.
    void add(std::uint64_t index, const Digest& value);
    /// Of the whole; none while a part is missing.
    [[nodiscard]] std::optional<Digest> value() const;

private:
    Algorithm algorithm_;
    std::uint64_t length_, part_size_, parts_;
    std::optional<RangeSum> ranges_;    // of a combinable algorithm
    std::unique_ptr<Blake3Tree> tree_;  // of blake3
};

}  // namespace weir::digest
