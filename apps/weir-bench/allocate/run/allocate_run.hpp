// SPDX-License-Identifier: Apache-2.0
// The measured code of `weir bench allocate`, compiled for speed: every allocator in both patterns.
#pragma once

#include <string_view>

#include "allocate/run/allocate_batches.hpp"

namespace weir::app {

/// `allocator` is one of allocate_candidates(); those that are loaded before the program are what operator new is.
/// `passed`: allocated in one thread and freed in another; else every thread for itself.
[[nodiscard]] AllocateFigures run_allocate_pattern(std::string_view allocator, bool passed, const AllocateWork& work);

}  // namespace weir::app
