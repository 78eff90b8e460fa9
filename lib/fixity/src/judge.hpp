// SPDX-License-Identifier: Apache-2.0
// Compares a file's sums with its manifest and its attributes.
#pragma once

#include <span>

#include "weir/fixity/file_sum.hpp"

namespace weir::fixity {

/// Sets the status from `expected` and, as `use` wants it, from the stored attributes. `sums` has one of every
/// algorithm that they use; size and block map of `result` are of the file as it was read.
void judge(FileSum& result, std::span<const digest::Digest> sums, AttributeUse use);

}  // namespace weir::fixity
