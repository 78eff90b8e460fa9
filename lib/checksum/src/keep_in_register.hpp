// SPDX-License-Identifier: Apache-2.0
// Marks values that a loop carries from turn to turn as being in a register; without it g++ moves them to another
// register and back in each turn. Included by the files that bind an algorithm to an instruction set, within their
// anonymous namespace and below WEIR_TARGET_BEGIN.
#pragma once

template <class Vector>
[[gnu::always_inline]] inline void keep_in_register(Vector& value) noexcept {
    __asm__("" : "+v"(value));
}
