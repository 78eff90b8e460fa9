// SPDX-License-Identifier: Apache-2.0
// The blocks of one size class that all threads of a MigratingPool share: those that threads with a surplus handed
// over, and those of threads that ended. One lock a visit, and a visit moves a batch.
//
// A batch is a list of addresses, not a chain: the thread that takes it can fetch many of its blocks from the other
// processor's cache at a time, where a chain would have to be followed miss by miss.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "weir/memory/pool_thread_cache.hpp"

namespace weir::memory {

struct BlockBatch {
    BlockBatch* next = nullptr;
    std::uint64_t count = 0;

    /// In the memory behind this.
    [[nodiscard]] FreeBlock** blocks() noexcept { return reinterpret_cast<FreeBlock**>(this + 1); }
    [[nodiscard]] static constexpr std::size_t size_for(std::size_t blocks) noexcept {
        return sizeof(BlockBatch) + blocks * sizeof(FreeBlock*);
    }
};

struct BlockChain {
    FreeBlock* head = nullptr;
    FreeBlock* tail = nullptr;
    std::uint64_t count = 0;

    void put(BlockChain chain) noexcept;
    [[nodiscard]] BlockChain take(std::uint64_t most) noexcept;
};

/// Memory of a slab that was never handed out; the note lies in its first bytes.
struct FreshMemory {
    FreshMemory* next;
    std::size_t size;
};

class alignas(128) PoolStock {
public:
    /// Blocks that other threads had allocated. Returns an empty batch for the next time, or nullptr.
    [[nodiscard]] BlockBatch* put(BlockBatch* batch) noexcept;
    void put(BlockChain migrated) noexcept;  // likewise, where there is no memory for a batch

    struct Taken {
        BlockBatch* batch = nullptr;  // or
        BlockChain chain;
        bool migrated = false;  // else it belongs to the thread as if it had been carved there
    };
    /// A batch, or what ended threads left (at most `most` blocks). `empty`, a chain, is kept if a batch is taken.
    [[nodiscard]] Taken take(BlockBatch*& empty, std::uint64_t most) noexcept;
    [[nodiscard]] bool may_have() const noexcept { return filled_.load(std::memory_order_relaxed); }

    /// The free memory of a thread that ends: blocks that others allocated, its own, memory never used, a chain of
    /// batches.
    void leave(BlockChain migrated, BlockChain own, std::byte* fresh, std::size_t fresh_size,
               BlockBatch* batches) noexcept;
    [[nodiscard]] std::pair<std::byte*, std::size_t> take_fresh() noexcept;
    [[nodiscard]] BlockBatch* take_empty() noexcept;

    struct Counts {
        std::uint64_t corrections = 0;
        std::uint64_t batches_taken = 0;
    };
    [[nodiscard]] Counts counts() const;

private:
    void note_filling() noexcept;
    void keep(BlockBatch* batches) noexcept;

    mutable std::mutex mutex_;
    std::atomic<bool> filled_{false};  // a hint: written under the lock, read without (relaxed)
    BlockBatch* batches_ = nullptr;
    BlockBatch* empty_ = nullptr;
    BlockChain migrated_;
    BlockChain own_;
    FreshMemory* fresh_ = nullptr;
    Counts counts_;
};

}  // namespace weir::memory
