// SPDX-License-Identifier: Apache-2.0
// The flag of a class whose version has been used, set by every streamed object: in ROOT's TClass it shares a
// cache line with the version that every thread reads, and the unconditional store stopped threads from scaling (R.
// Jones; root-project/root#6062). What we do is LoadThenStore, once per vector. The other ways exist so that the
// benchmark can show their cost.
#pragma once

#include <atomic>
#include <cstdint>

#include "weir/serial/shape.hpp"

namespace weir::serial {

/// The data of a class that all threads share. Flag and version stand together, as in TClass.
struct alignas(64) ClassRecord {
    std::atomic<bool> version_used{false};
    std::atomic<std::uint16_t> version{0};
};

template <Object T>
inline constinit ClassRecord class_record{false, static_cast<std::uint16_t>(Parts<T>::version)};

/// True when an object of T was written by this process.
template <Object T>
[[nodiscard]] bool version_used() noexcept {
    return class_record<T>.version_used.load(std::memory_order_relaxed);
}

/// The cure: a line that is only read stays in every core's cache. Relaxed: no thread waits for the flag.
struct LoadThenStore {
    static void use(ClassRecord& of) noexcept {
        if (!of.version_used.load(std::memory_order_relaxed)) of.version_used.store(true, std::memory_order_relaxed);
    }
};
struct LoadThenStoreSeqCst {
    static void use(ClassRecord& of) noexcept {
        if (!of.version_used.load()) of.version_used.store(true);
    }
};
/// The bug, as it was: `flag = true`.
struct StoreSeqCst {
    static void use(ClassRecord& of) noexcept { of.version_used.store(true); }
};
struct StoreRelaxed {
    static void use(ClassRecord& of) noexcept { of.version_used.store(true, std::memory_order_relaxed); }
};

/// How a writer uses the flag: in which way, and whether for every element or once for a whole vector of a flat class.
template <class Way = LoadThenStore, bool each_element = false>
struct VersionUse {
    static constexpr bool per_element = each_element;
    template <class T>
    static void mark() noexcept {
        Way::use(class_record<T>);
    }
    /// The version to be written.
    template <class T>
    static std::uint16_t used() noexcept {
        mark<T>();
        return class_record<T>.version.load(std::memory_order_relaxed);
    }
};

}  // namespace weir::serial
