// SPDX-License-Identifier: Apache-2.0
// The sums of a part of a file, to hold a piece of a copy against the same piece of another.
#pragma once

#include <span>

#include "weir/fixity/file_sum.hpp"

namespace weir::fixity {

struct ByteRange {
    std::uint64_t offset = 0;
    std::optional<std::uint64_t> length;  // none: up to the end
};

/// Reads these bytes of a regular file, in this thread. Status ok, missing, error (also when the file ends before the
/// range does), changed or stopped; `size` is the length of the range, not of the file.
[[nodiscard]] FileSum sum_range(const std::string& path, const ByteRange& range,
                                std::span<const digest::Algorithm> algorithms, const Reading& how);

}  // namespace weir::fixity
