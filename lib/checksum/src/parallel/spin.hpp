// SPDX-License-Identifier: Apache-2.0
// Waiting with open eyes.
#pragma once

#include <thread>

namespace weir::checksum {

inline void pause_processor() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/// A pause takes up to 140 cycles (Intel since Skylake), as long as a cache line travels: so it is not made at each
/// look.
inline constexpr unsigned looks_a_pause = 4;

/// Until done() returns true. After a while it yields to other threads, because the one that is to make it true
/// may be waiting for this very processor.
template <class Done>
void spin_until(const Done& done) noexcept {
    for (unsigned rounds = 0; !done(); ++rounds) {
        if (rounds < 16384) {
            if (rounds % looks_a_pause == 0) pause_processor();
        } else {
            std::this_thread::yield();
        }
    }
}

}  // namespace weir::checksum
