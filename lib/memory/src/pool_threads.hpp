// SPDX-License-Identifier: Apache-2.0
// Which caches of which pools a thread has, and what happens when either ends. The pool and its threads share a
// PoolLife: the thread that ends asks it whether the pool is still there, the pool that ends says there that it is not;
// both under its lock, so that neither goes on with what the other has destroyed.
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
