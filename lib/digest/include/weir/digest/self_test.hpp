// SPDX-License-Identifier: Apache-2.0
// The test at start: known answers of the kernels that are ours (md5, sha1 and sha256 in lanes, blake3), and every
// sum as it is made, by whichever library, against portable code. (lib/checksum has the kernels of adler32 and the
// CRCs.)
#pragma once

#include <span>

#include "weir/base/result.hpp"
#include "weir/digest/algorithm.hpp"

namespace weir::digest {

/// Runs every kernel of these algorithms that this processor can run; of all it takes about a millisecond, and as long
/// again for what the libraries behind them do at their first use. A kernel that is wrong would spoil every sum, so the
/// error (Errc::corrupt) means "do not go on".
[[nodiscard]] Result<> self_test(std::span<const Algorithm> of = algorithms);

}  // namespace weir::digest
