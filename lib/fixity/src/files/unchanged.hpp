// SPDX-License-Identifier: Apache-2.0
// Whether a check may leave a file unread, because it was not written since its sum was made.
#pragma once

#include "weir/fixity/file_sum.hpp"

namespace weir::fixity {

/// Its user.weir.sum is current, was made within `trust`, and has every sum that is expected, as expected. Only
/// that attribute: XRootD's know neither size nor inode. A block map is not asked: its blocks belong to those sums.
[[nodiscard]] bool is_unchanged(const InputFile& file, const ManifestEntry& expected, const Trust& trust);

}  // namespace weir::fixity
