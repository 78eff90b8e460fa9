// SPDX-License-Identifier: Apache-2.0
// The sums of one read, made twice: by the kernels in use and by portable code. A kernel that is wrong for some data
// only, or a processor that computes wrong now and then, is found where no known answer finds it.
#pragma once

#include "files/file_work.hpp"

namespace weir::fixity {

/// As sum_whole. When the two differ the outcome is a failure without an offset that names the algorithm.
[[nodiscard]] ReadOutcome sum_twice(const FileWork& work, PieceReader& reader);

}  // namespace weir::fixity
