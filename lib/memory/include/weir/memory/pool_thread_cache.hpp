// SPDX-License-Identifier: Apache-2.0
// What one thread has of one MigratingPool: for every size class a list of free blocks that only this thread touches.
// A block goes back to the list of the thread that frees it, whoever took it.
//
// The bin counts what was taken and given back here. As long as a thread frees its own blocks, `frees - allocations` is
// never above zero, however long the list is: nothing needs correcting. Only when blocks of other threads end here
// does it grow, and when it reaches `give_at` the pool takes a batch away (see MigratingPool).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weir/memory/poison.hpp"
#include "weir/memory/size_classes.hpp"

namespace weir::memory {

struct BlockBatch;

/// A free block: its first bytes lead to the next one.
struct FreeBlock {
    FreeBlock* next;
};

[[nodiscard]] WEIR_READS_POISONED inline FreeBlock* next_of(const FreeBlock* block) noexcept { return block->next; }
WEIR_READS_POISONED inline void set_next(FreeBlock* block, FreeBlock* next) noexcept { block->next = next; }

/// The free blocks of one size class in one thread: one cache line. The counters are written by the thread alone and
/// may be read by any (relaxed; they guard nothing).
struct alignas(64) PoolBin {
    FreeBlock* head = nullptr;
    std::atomic<std::uint64_t> allocations{0};
    std::atomic<std::uint64_t> frees{0};
    std::int64_t give_at = 0;    // the balance at which a batch is handed over; moves with what was taken and given
    std::byte* fresh = nullptr;  // memory of the slab that was never handed out
    std::byte* fresh_end = nullptr;
    BlockBatch* in_hand = nullptr;  // taken from the shared stock, not all of it in the list yet
    BlockBatch* spare = nullptr;    // an empty one for the next hand-over

    [[nodiscard]] std::int64_t balance() const noexcept {
        return static_cast<std::int64_t>(frees.load(std::memory_order_relaxed) -
                                         allocations.load(std::memory_order_relaxed));
    }
    static void add_one(std::atomic<std::uint64_t>& counter) noexcept {  // no locked instruction: one writer
        counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    /// A block, or nullptr when the list is empty.
    [[nodiscard]] void* take() noexcept {
        FreeBlock* block = head;
        if (block == nullptr) [[unlikely]]
            return nullptr;
        head = next_of(block);
        add_one(allocations);
        return block;
    }

    /// Puts a block in front. True: there is too much here that came from elsewhere.
    [[nodiscard]] bool give_back(void* data) noexcept {
        auto* block = static_cast<FreeBlock*>(data);
        set_next(block, head);
        head = block;
        add_one(frees);
        return balance() >= give_at;
    }
};
static_assert(sizeof(PoolBin) == 64);

/// Two lines apart from anything else: processors fetch lines in pairs.
struct alignas(128) PoolThreadCache {
    std::array<PoolBin, size_classes::count> bins;
    PoolThreadCache* next = nullptr;       // all of a pool
    PoolThreadCache* next_idle = nullptr;  // those without a thread
};

/// Where a thread finds its cache of a pool. Pools are numbered and numbers are never used twice, so that what is left
/// of a pool that is gone is not mistaken for that of a new one at the same address.
struct PoolThreadSlot {
    std::uint64_t pool = 0;
    PoolThreadCache* cache = nullptr;
};
inline constexpr std::size_t pool_thread_slots = 32;  // pools whose numbers are this far apart take turns
extern constinit thread_local std::array<PoolThreadSlot, pool_thread_slots> pool_thread_slot;

}  // namespace weir::memory
