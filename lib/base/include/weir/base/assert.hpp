// SPDX-License-Identifier: Apache-2.0
// A broken invariant is our own mistake: stop at once, in release builds too, before a wrong byte is
// stored. Never used for anything that bytes from outside could cause.
#pragma once

namespace weir {

[[noreturn]] void assertion_failed(const char* condition, const char* file, int line) noexcept;

}  // namespace weir

#define WEIR_ASSERT(condition) \
    (static_cast<bool>(condition) ? void(0) : ::weir::assertion_failed(#condition, __FILE__, __LINE__))
