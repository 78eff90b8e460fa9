// SPDX-License-Identifier: Apache-2.0
// The first lines of every kernel of this library.
#pragma once

#include "weir/base/target.hpp"

// A kernel is one function whose state is in registers, so its pieces have to become part of it.
#define WEIR_INLINE [[gnu::always_inline]] inline
