// SPDX-License-Identifier: Apache-2.0
// The free blocks of one MigratingPool in one thread: for every size class a list that only this thread touches. A
// block is released to the list of the thread that frees it, also when another thread took it.
//
// The bin counts allocations and frees. As long as a thread frees its own blocks, `frees - allocations` is never above
// zero, however long the list is: nothing needs correcting. Only blocks that other threads allocated raise this
// balance. When it reaches `give_at`, the pool takes a batch away (see MigratingPool). A release costs one counter: the
// bin counts down the frees until the balance can reach `give_at` at the earliest, and compares then.
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
    std::atomic<std::uint64_t> frees_left{1};  // until the balance is looked at
    std::atomic<std::uint64_t> frees_then{1};  // what the frees will have been by then
    std::int64_t give_at = 0;    // the balance that is too much; moves with batches that were taken and handed over
    std::byte* fresh = nullptr;  // memory of the slab that was never handed out
    std::uint32_t fresh_size = 0;
    std::uint32_t batch = 0;        // blocks handed over at a time
    BlockBatch* batches = nullptr;  // the first may hold blocks taken from the shared stock; others are empty

    [[nodiscard]] std::uint64_t frees() const noexcept {
        return frees_then.load(std::memory_order_relaxed) - frees_left.load(std::memory_order_relaxed);
    }
    [[nodiscard]] std::int64_t balance() const noexcept {
        return static_cast<std::int64_t>(frees() - allocations.load(std::memory_order_relaxed));
    }

    /// A block, or nullptr when the list is empty.
    [[nodiscard]] void* take() noexcept {
        FreeBlock* block = head;
        if (block == nullptr) [[unlikely]]
            return nullptr;
        head = next_of(block);
        allocations.store(allocations.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // one writer
        return block;
    }

    /// Puts a block in front. True: time to look at the balance, with too_much().
    [[nodiscard]] bool release(void* data) noexcept {
        auto* block = static_cast<FreeBlock*>(data);
        set_next(block, head);
        head = block;
        const std::uint64_t left = frees_left.load(std::memory_order_relaxed) - 1;
        frees_left.store(left, std::memory_order_relaxed);
        return left == 0;
    }

    /// There are too many blocks of other threads. If not, the next comparison is after as many frees as are missing
    /// to that.
    [[nodiscard]] bool too_much() noexcept {
        const std::int64_t missing = give_at - balance();
        look_after(missing > 0 ? static_cast<std::uint64_t>(missing) : 1);
        return missing <= 0;
    }
    void look_after(std::uint64_t more_frees) noexcept {
        frees_then.store(frees() + more_frees, std::memory_order_relaxed);
        frees_left.store(more_frees, std::memory_order_relaxed);
    }
};
static_assert(sizeof(PoolBin) == 64);

/// Two lines apart from anything else: processors fetch lines in pairs.
struct alignas(128) PoolThreadCache {
    std::array<PoolBin, size_classes::count> bins;
    PoolThreadCache* next = nullptr;       // all of a pool
    PoolThreadCache* next_idle = nullptr;  // those without a thread
};

/// Where a thread finds its cache of a pool. Pools are numbered and numbers are never used twice, so that entries
/// of a pool that is gone are not mistaken for those of a new one at the same address.
struct PoolThreadSlot {
    std::uint64_t pool = 0;
    PoolThreadCache* cache = nullptr;
};
inline constexpr std::size_t pool_thread_slot_count = 8;  // pools whose numbers are this far apart take turns
[[gnu::tls_model("initial-exec")]] extern constinit thread_local std::array<PoolThreadSlot, pool_thread_slot_count>
    pool_thread_slots;

}  // namespace weir::memory
