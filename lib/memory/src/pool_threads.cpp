// SPDX-License-Identifier: Apache-2.0
#include "pool_threads.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

namespace weir::memory {

constinit thread_local std::array<PoolThreadSlot, pool_thread_slot_count> pool_thread_slots{};

namespace {

struct Entry {
    std::uint64_t number;
    std::shared_ptr<PoolLife> life;
    PoolThreadCache* cache;
};

constinit thread_local bool thread_ends = false;

struct Entries {
    std::vector<Entry> list;  // by number
    ~Entries() {
        thread_ends = true;
        pool_thread_slots = {};
        for (const auto& entry : list) {
            const std::scoped_lock lock(entry.life->mutex);
            if (entry.life->pool != nullptr) PoolThreads::retire(*entry.life->pool, *entry.cache);
        }
    }
};

thread_local Entries entries;

}  // namespace

std::uint64_t PoolThreads::next_pool_number() noexcept {
    static constinit std::atomic<std::uint64_t> last{0};
    return last.fetch_add(1, std::memory_order_relaxed) + 1;  // only its being unique matters
}

PoolThreadCache* PoolThreads::cache_of(MigratingPool& pool, std::uint64_t number,
                                       const std::shared_ptr<PoolLife>& life) noexcept {
    if (thread_ends) return nullptr;
    auto& list = entries.list;
    auto found = std::ranges::lower_bound(list, number, {}, &Entry::number);
    if (found == list.end() || found->number != number) {
        std::erase_if(list, [](const Entry& entry) {
            const std::scoped_lock lock(entry.life->mutex);
            return entry.life->pool == nullptr;
        });
        try {
            list.reserve(list.size() + 1);
        } catch (const std::bad_alloc&) {
            return nullptr;
        }
        PoolThreadCache* const cache = pool.take_cache();
        if (cache == nullptr) return nullptr;
        found = list.insert(std::ranges::lower_bound(list, number, {}, &Entry::number), {number, life, cache});
    }
    pool_thread_slots[number % pool_thread_slot_count] = {number, found->cache};
    return found->cache;
}

}  // namespace weir::memory
