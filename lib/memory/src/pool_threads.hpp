// SPDX-License-Identifier: Apache-2.0
// The caches of each thread, by pool, and the end of either. The pool and its threads share a PoolLife: a thread that
// ends checks there whether the pool still exists, and a pool that ends clears its pointer there. Both hold its lock,
// so that neither uses objects that the other has destroyed.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>

#include "weir/memory/migrating_pool.hpp"

namespace weir::memory {

struct PoolLife {
    std::mutex mutex;
    MigratingPool* pool = nullptr;  // nullptr: it is gone
};

struct PoolThreads {
    /// The calling thread's cache of `pool`, found again or made; nullptr when the thread's own objects are being
    /// destroyed already, or when there is no memory.
    [[nodiscard]] static PoolThreadCache* cache_of(MigratingPool& pool, std::uint64_t number,
                                                   const std::shared_ptr<PoolLife>& life) noexcept;
    /// Never twice the same in a process.
    [[nodiscard]] static std::uint64_t next_pool_number() noexcept;

    static void retire(MigratingPool& pool, PoolThreadCache& cache) noexcept { pool.retire_cache(cache); }
};

}  // namespace weir::memory
