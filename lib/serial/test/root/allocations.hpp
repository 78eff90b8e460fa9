// SPDX-License-Identifier: Apache-2.0
// The largest allocation of this thread since it was last set to 0: what damaged bytes made a reader ask for.
#pragma once

#include <cstddef>

extern thread_local std::size_t largest_allocation;
/// What is larger ends in std::bad_alloc.
extern thread_local std::size_t allocation_max;
