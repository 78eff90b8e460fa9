// SPDX-License-Identifier: Apache-2.0
#include "files/unchanged.hpp"

#include <algorithm>

namespace weir::fixity {

bool is_unchanged(const InputFile& file, const ManifestEntry& expected, const Trust& trust) {
    if (expected.sums.empty() && expected.one_of.empty()) return false;  // nothing would be proven, nor was it
    if (expected.size && *expected.size != file.stamp().size) return false;
    const auto stored = read_current_weir_sums(file.fd(), file.stamp());
    if (!stored || stored->at_s < trust.from_s || stored->at_s > trust.until_s) return false;
    if (!is_untouched_since(*stored, file.stamp())) return false;  // the mtime can be set back, the ctime cannot
    const auto is_stored = [&](const digest::Digest& sum) {
        return std::ranges::find(stored->sums, sum) != stored->sums.end();
    };
    return std::ranges::all_of(expected.sums, is_stored) &&
           (expected.one_of.empty() || std::ranges::any_of(expected.one_of, is_stored));
}

}  // namespace weir::fixity
