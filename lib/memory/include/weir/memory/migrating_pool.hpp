// SPDX-License-Identifier: Apache-2.0
// Small blocks for containers, at the speed of a pool that knows no threads, in programs that have many.
//
// A pool that all threads share costs a lock each time. Pools per thread cost none, but memory that one thread takes
// and another frees piles up in the second while the first asks the system for ever more. The way out was shown in 2003
// (Gadomski et al.): leave every thread its own lists, free to the list of the thread that frees, count, and correct
// once in a while. Here the balance `frees - allocations` of every thread and size class is kept. Work that stays in
// its thread never has a surplus and is never corrected, however long its lists are. A thread with a surplus of two
// batches hands one of them (512 blocks, at most 64 KiB) to a stock that all threads share, by one lock; a thread that
// runs dry takes one there.
//
//     MigratingPool pool;
//     std::list<int, MigratingAllocator<int>> list{MigratingAllocator<int>(pool)};   // the fast way
//     std::pmr::map<int, int> map(&pool);                                            // the convenient way
//
// Lifetime: the pool outlives its blocks. It stops the program, with one line on stderr, when blocks are in use at its
// end. Threads may end before or after it. The free blocks of a thread are moved to the stock when it ends; blocks that
// its last destructors free after that go there by a lock.
//
// Memory comes from `upstream` in chunks and stays with the pool until its end. At the limit `try_take` returns
// nullptr; `allocate` throws std::bad_alloc then, because that is what containers expect of a memory_resource.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <memory_resource>
#include <mutex>
#include <new>
#include <type_traits>

#include "weir/base/assert.hpp"
#include "weir/base/bytes.hpp"
#include "weir/memory/pool_thread_cache.hpp"

namespace weir::memory {

class PoolStock;
struct PoolLife;

/// All calls from any thread.
class MigratingPool final : public std::pmr::memory_resource {
public:
    struct Options {
        Bytes limit{std::numeric_limits<std::uint64_t>::max()};  // of what comes from upstream
        Bytes chunk = 1_MiB;                                     // asked of upstream at a time
        std::uint32_t batch = 512;  // blocks handed over at a time (8 to 4096); fewer of a size above `batch_size`
        Bytes batch_size = 64_KiB;
        std::pmr::memory_resource* upstream = std::pmr::new_delete_resource();  // outlives the pool; any thread calls
    };

    struct Stats {
        std::uint64_t allocations = 0;
        std::uint64_t frees = 0;
        std::uint64_t corrections = 0;    // batches that threads with a surplus handed over
        std::uint64_t batches_taken = 0;  // by threads that ran dry
        std::uint64_t large = 0;          // of the allocations, those that went upstream
        std::uint64_t refused = 0;        // answers nullptr, or std::bad_alloc
        Bytes from_upstream;              // held at the moment
        std::uint32_t threads = 0;        // that have a cache at the moment
        std::uint32_t caches = 0;         // the most that threads had at a time
    };

    MigratingPool() : MigratingPool(Options{}) {}
    explicit MigratingPool(Options options);
    ~MigratingPool() override;
    MigratingPool(const MigratingPool&) = delete;
    MigratingPool& operator=(const MigratingPool&) = delete;

    /// `alignment` is a power of two. nullptr: at the limit, or upstream has no more.
    [[nodiscard]] [[gnu::always_inline]] inline void* try_take(
        std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
        const std::size_t size_class = size_classes::of(size, alignment);
        if (size_class == size_classes::count) [[unlikely]]
            return take_large(size, alignment);
        PoolThreadCache* const cache = cache_here();
        void* data = cache != nullptr ? cache->bins[size_class].take() : nullptr;
        if (data == nullptr) [[unlikely]]
            data = take_slowly(size_class);
        unpoison(data, data != nullptr ? size : 0);
        return data;
    }

    /// With the size and alignment it was taken by. nullptr is ignored.
    [[gnu::always_inline]] inline void release(void* data, std::size_t size,
                                               std::size_t alignment = alignof(std::max_align_t)) noexcept {
        if (data == nullptr) [[unlikely]]
            return;
        const std::size_t size_class = size_classes::of(size, alignment);
        if (size_class == size_classes::count) [[unlikely]]
            return release_large(data, size, alignment);
#ifdef WEIR_POISONS
        WEIR_ASSERT(size == 0 || !is_poisoned(data));  // released twice
        poison(data, size_classes::size_of(size_class));
#endif
        PoolThreadCache* const cache = cache_here();
        if (cache == nullptr) [[unlikely]]
            return release_slowly(data, size_class);
        if (cache->bins[size_class].release(data)) [[unlikely]]
            hand_over_surplus(cache->bins[size_class], size_class);
    }

    /// Sums over all threads; exact when none is at work.
    [[nodiscard]] Stats stats() const;

private:
    friend struct PoolThreads;

    [[nodiscard]] PoolThreadCache* cache_here() const noexcept {
        const PoolThreadSlot& slot = pool_thread_slots[number_ % pool_thread_slot_count];
        return slot.pool == number_ ? slot.cache : nullptr;
    }

    void* do_allocate(std::size_t size, std::size_t alignment) override {
        void* data = try_take(size, alignment);
        if (data == nullptr) throw std::bad_alloc();
        return data;
    }
    void do_deallocate(void* data, std::size_t size, std::size_t alignment) override { release(data, size, alignment); }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    void* take_slowly(std::size_t size_class) noexcept;
    void release_slowly(void* data, std::size_t size_class) noexcept;
    void* take_large(std::size_t size, std::size_t alignment) noexcept;
    void release_large(void* data, std::size_t size, std::size_t alignment) noexcept;
    void hand_over_surplus(PoolBin& bin, std::size_t size_class) noexcept;
    void correct(PoolBin& bin, std::size_t size_class) noexcept;
    bool refill(PoolBin& bin, std::size_t size_class, bool believe_hint) noexcept;
    bool refill_at_limit(PoolBin& bin, std::size_t size_class) noexcept;
    void leave(PoolBin& bin, std::size_t size_class) noexcept;
    bool new_slab(PoolBin& bin, std::size_t size_class) noexcept;
    PoolThreadCache* take_cache() noexcept;              // for a thread that comes
    void retire_cache(PoolThreadCache& cache) noexcept;  // of a thread that ends
    std::byte* carve(std::size_t size, std::size_t alignment) noexcept;
    bool new_chunk(std::size_t least) noexcept;  // with memory_mutex_
    void* ask_upstream(std::size_t size, std::size_t alignment) const noexcept;
    bool reserve(std::size_t size) noexcept;  // with memory_mutex_
    void prepare(PoolThreadCache& cache) const noexcept;
    BlockBatch* empty_batch(PoolBin& bin, std::size_t size_class) noexcept;

    struct Chunk {
        Chunk* next;
        std::size_t size;
    };

    // Read by every call, written by none after the start: a pair of cache lines of its own.
    alignas(128) const std::uint64_t number_;
    Options options_;                            // as given, but for a limit that no memory has
    const std::unique_ptr<PoolStock[]> stocks_;  // by size class
    const std::shared_ptr<PoolLife> life_;       // shared with the threads, which must see that the pool is gone

    alignas(128) mutable std::mutex memory_mutex_;
    Chunk* chunks_ = nullptr;  // each begins with its Chunk
    std::byte* unused_ = nullptr;
    std::byte* unused_end_ = nullptr;
    std::uint64_t from_upstream_ = 0;
    std::uint64_t large_taken_ = 0;
    std::uint64_t large_released_ = 0;
    std::uint64_t refused_ = 0;

    mutable std::mutex caches_mutex_;
    PoolThreadCache* caches_ = nullptr;
    PoolThreadCache* idle_ = nullptr;
    std::uint32_t cache_count_ = 0;
    std::uint32_t idle_count_ = 0;

    std::mutex late_mutex_;  // of late_: for threads whose thread_local objects are being destroyed
    PoolThreadCache late_;
};

/// For containers: `std::list<int, MigratingAllocator<int>>`. Containers of different pools may be moved and swapped.
template <class T>
class MigratingAllocator {
public:
    using value_type = T;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    explicit MigratingAllocator(MigratingPool& pool) noexcept : pool_(&pool) {}
    template <class Other>
    MigratingAllocator(const MigratingAllocator<Other>& other) noexcept
        : pool_(&other.pool()) {}  // NOLINT: containers convert

    /// Throws std::bad_alloc, as containers expect it.
    [[nodiscard]] T* allocate(std::size_t count) {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) throw std::bad_array_new_length();
        void* data = pool_->try_take(count * sizeof(T), alignof(T));
        if (data == nullptr) throw std::bad_alloc();
        return static_cast<T*>(data);
    }
    void deallocate(T* data, std::size_t count) noexcept { pool_->release(data, count * sizeof(T), alignof(T)); }

    [[nodiscard]] MigratingPool& pool() const noexcept { return *pool_; }
    template <class Other>
    [[nodiscard]] bool operator==(const MigratingAllocator<Other>& other) const noexcept {
        return pool_ == &other.pool();
    }

private:
    MigratingPool* pool_;
};

}  // namespace weir::memory
