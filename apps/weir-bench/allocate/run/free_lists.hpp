// SPDX-License-Identifier: Apache-2.0
// The pool of 2003's experiment: a free list for each size, filled by cutting up large pieces of memory that are never
// given back. It is for one thread; `weir bench allocate` uses it in the two ways that went wrong then, behind one lock
// and once for each thread. Nothing else uses it: weir's own pool is memory::MigratingPool.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>

namespace weir::app {

class FreeLists {
public:
    constexpr FreeLists() = default;

    [[nodiscard]] void* take(std::size_t bytes) {
        if (bytes > largest) return ::operator new(bytes);
        auto& list = free_[(bytes + step - 1) / step];
        if (list == nullptr) return cut((bytes + step - 1) / step * step);
        return std::exchange(list, list->next);
    }

    /// `bytes` as it was asked for.
    void give(void* memory, std::size_t bytes) noexcept {
        if (bytes > largest) return ::operator delete(memory, bytes);
        auto& list = free_[(bytes + step - 1) / step];
        list = ::new (memory) Free{list};
    }

private:
    struct Free {
        Free* next;
    };
    static constexpr std::size_t step = 16, largest = 1024, piece = 64 * 1024;

    void* cut(std::size_t bytes) {
        if (left_ < bytes) {
            rest_ = static_cast<std::byte*>(::operator new(piece));
            left_ = piece;
        }
        left_ -= bytes;
        return std::exchange(rest_, rest_ + bytes);
    }

    std::array<Free*, largest / step + 1> free_{};
    std::byte* rest_ = nullptr;  // of the piece that is being cut up
    std::size_t left_ = 0;
};

/// One pool for all threads, behind one lock: where 2003's study began.
class LockedPool {
public:
    [[nodiscard]] void* take(std::size_t bytes) {
        const std::scoped_lock lock(mutex_);
        return lists_.take(bytes);
    }
    void give(void* memory, std::size_t bytes) noexcept {
        const std::scoped_lock lock(mutex_);
        lists_.give(memory, bytes);
    }

private:
    std::mutex mutex_;
    FreeLists lists_;
};

/// A pool for each thread, and memory goes to the pool of the thread that frees it. When one thread allocates and
/// another frees, the second hoards and the first takes more and more from the system: the leak that MigratingPool was
/// made against.
struct NaivePools {
    [[nodiscard]] static void* take(std::size_t bytes) { return mine().take(bytes); }
    static void give(void* memory, std::size_t bytes) noexcept { mine().give(memory, bytes); }

private:
    static FreeLists& mine() noexcept {
        static constinit thread_local FreeLists lists;  // what it holds when the thread ends is lost
        return lists;
    }
};

}  // namespace weir::app
