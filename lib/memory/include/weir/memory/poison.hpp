// SPDX-License-Identifier: Apache-2.0
// Free memory in a pool must not be used: under the address sanitizer it is poisoned, so that a use after the release
// is found as it would be with malloc. Otherwise these functions are empty.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define WEIR_POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WEIR_POISONS 1
#endif
#endif

#ifdef WEIR_POISONS
#include <sanitizer/asan_interface.h>
/// For the functions of a pool that follow its own links through poisoned blocks.
#define WEIR_READS_POISONED __attribute__((no_sanitize("address"), noinline))
#else
#define WEIR_READS_POISONED
#endif

namespace weir::memory {

inline void poison([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t size) noexcept {
#ifdef WEIR_POISONS
    __asan_poison_memory_region(data, size);
#endif
}

inline void unpoison([[maybe_unused]] const void* data, [[maybe_unused]] std::size_t size) noexcept {
#ifdef WEIR_POISONS
    __asan_unpoison_memory_region(data, size);
#endif
}

[[nodiscard]] inline bool is_poisoned([[maybe_unused]] const void* data) noexcept {
#ifdef WEIR_POISONS
    return __asan_address_is_poisoned(data) != 0;
#else
    return false;
#endif
}

}  // namespace weir::memory
