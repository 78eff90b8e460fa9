// SPDX-License-Identifier: Apache-2.0
#include "weir/digest/range_sum.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>

#include "weir/base/assert.hpp"
#include "weir/digest/summer.hpp"

namespace weir::digest {
namespace {

Digest join(const Digest& a, std::uint64_t length_of_a, const Digest& b, std::uint64_t length_of_b) {
    const auto joined = combine(a, b, length_of_b, length_of_a);
    WEIR_ASSERT(joined.has_value());  // one algorithm, which was found to be combinable
    return *joined;
}

}  // namespace

Result<RangeSum> RangeSum::of(Algorithm algorithm) {
    if (!combinable(algorithm))
        return fail(Errc::usage,
                    fmt::format("{} cannot be made from parts; adler32 and the CRCs can", name(algorithm)));
    return RangeSum(algorithm);
}

Result<> RangeSum::add(std::uint64_t offset, const Digest& sum, std::uint64_t length) {
    if (sum.algorithm() != algorithm_)
        return fail(Errc::usage,
                    fmt::format("a part's sum is of {}, the whole's of {}", name(sum.algorithm()), name(algorithm_)));
    if (length == 0) return {};
    if (length > std::numeric_limits<std::uint64_t>::max() - offset)
        return fail(Errc::usage, fmt::format("a part of {} bytes at {} ends beyond 2^64", length, offset));
    auto next = parts_.lower_bound(offset);
    if (next != parts_.end() && next->first < offset + length)
        return fail(Errc::usage,
                    fmt::format("the part of {} bytes at {} overlaps the one at {}", length, offset, next->first));
    auto before = next == parts_.begin() ? parts_.end() : std::prev(next);
    if (before != parts_.end() && before->first + before->second.length > offset)
        return fail(Errc::usage,
                    fmt::format("the part of {} bytes at {} overlaps the one at {}", length, offset, before->first));

    Part part{length, sum};
    if (next != parts_.end() && next->first == offset + length) {
        part.sum = join(part.sum, part.length, next->second.sum, next->second.length);
        part.length += next->second.length;
        parts_.erase(next);
    }
    if (before != parts_.end() && before->first + before->second.length == offset) {
        before->second.sum = join(before->second.sum, before->second.length, part.sum, part.length);
        before->second.length += part.length;
    } else {
        parts_.emplace(offset, part);
    }
    return {};
}

Result<Digest> RangeSum::value(std::uint64_t length) const {
    if (length == 0) return digest::sum(algorithm_, {});
    const auto first = parts_.begin();
    const std::uint64_t reach = first != parts_.end() && first->first == 0 ? first->second.length : 0;
    if (reach < length) return fail(Errc::usage, fmt::format("the bytes from {} on are missing of {}", reach, length));
    if (reach > length) return fail(Errc::usage, fmt::format("{} bytes were added, more than {}", reach, length));
    return first->second.sum;
}

}  // namespace weir::digest
