// SPDX-License-Identifier: Apache-2.0
// Switches an instruction set on for the functions between BEGIN and END, and only for them. Use it
// below the standard headers: a shared inline function that is compiled with wider instructions could be
// the copy that the linker keeps, and would then run on a processor without them.
#pragma once

#define WEIR_PRAGMA(text) _Pragma(#text)

#if defined(__clang__)
#define WEIR_TARGET_BEGIN(set) WEIR_PRAGMA(clang attribute push(__attribute__((target(set))), apply_to = function))
#define WEIR_TARGET_END WEIR_PRAGMA(clang attribute pop)
#else
#define WEIR_TARGET_BEGIN(set) WEIR_PRAGMA(GCC push_options) WEIR_PRAGMA(GCC target(set))
#define WEIR_TARGET_END WEIR_PRAGMA(GCC pop_options)
#endif
