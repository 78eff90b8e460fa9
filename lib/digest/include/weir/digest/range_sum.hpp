// SPDX-License-Identifier: Apache-2.0
// The sum of a file whose parts come in any order: from other threads, from retries, over several
// connections. Only for combinable algorithms.
#pragma once

#include <cstdint>
#include <map>

#include "weir/base/result.hpp"
#include "weir/digest/digest.hpp"

namespace weir::digest {

class RangeSum {
public:
    /// Errc::usage when the algorithm cannot be combined.
    [[nodiscard]] static Result<RangeSum> of(Algorithm algorithm);

    /// The sum of the bytes [offset, offset + length). A part may not overlap another (Errc::usage); an
    /// empty one changes nothing. Neighbours are joined at once, so memory grows with the gaps only.
    [[nodiscard]] Result<> add(std::uint64_t offset, const Digest& sum, std::uint64_t length);

    /// The sum of the first `length` bytes. Errc::usage while one of them is missing, naming the first gap.
    [[nodiscard]] Result<Digest> value(std::uint64_t length) const;

    /// Parts that do not touch.
    [[nodiscard]] std::size_t pieces() const noexcept { return parts_.size(); }

private:
    struct Part {
        std::uint64_t length;
        Digest sum;
    };

    explicit RangeSum(Algorithm algorithm) : algorithm_(algorithm) {}

    Algorithm algorithm_;
    std::map<std::uint64_t, Part> parts_;  // by offset; no two touch
};

}  // namespace weir::digest
