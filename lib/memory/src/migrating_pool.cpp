// SPDX-License-Identifier: Apache-2.0
#include "weir/memory/migrating_pool.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "pool_stock.hpp"
#include "pool_threads.hpp"
#include "weir/base/thread_account.hpp"

namespace weir::memory {
namespace {

constexpr std::size_t slab_size = 16384;
constexpr std::uint64_t piece = 32;  // blocks linked into the list at a time: as many cache misses may be in flight

[[nodiscard]] std::byte* aligned_up(std::byte* data, std::size_t alignment) noexcept {
    return data + (-reinterpret_cast<std::uintptr_t>(data) & (alignment - 1));
}

void fetch(BlockBatch& batch, std::uint64_t begin, std::uint64_t end) noexcept {
    for (std::uint64_t i = begin; i < end; ++i) __builtin_prefetch(batch.blocks()[i], 1);
}

// The blocks of a batch come from another processor's cache. A piece is linked while the next one is fetched.
bool link_piece(PoolBin& bin) noexcept {
    BlockBatch* const batch = bin.batches;
    if (batch == nullptr || batch->count == 0) return false;
    const std::uint64_t end = batch->count;
    const std::uint64_t begin = end - std::min(end, piece);
    fetch(*batch, begin - std::min(begin, piece), begin);
    FreeBlock* head = nullptr;
    for (std::uint64_t i = begin; i < end; ++i) {
        FreeBlock* const block = batch->blocks()[i];
        set_next(block, head);
        head = block;
    }
    bin.head = head;
    batch->count = begin;
    return true;
}

BlockBatch*& first_empty(PoolBin& bin) noexcept {
    return bin.batches != nullptr && bin.batches->count > 0 ? bin.batches->next : bin.batches;
}

// A batch as a chain, off the front of the list.
BlockChain cut(PoolBin& bin) noexcept {
    BlockChain chain;
    while (bin.head != nullptr && chain.count < bin.batch) {
        FreeBlock* const block = bin.head;
        bin.head = next_of(block);
        set_next(block, nullptr);
        chain.put({block, block, 1});
    }
    return chain;
}

void add_empty(PoolBin& bin, BlockBatch* empty) noexcept {
    if (empty != nullptr) empty->next = std::exchange(first_empty(bin), empty);
}

/// A mistake of the program, not of the pool: its blocks would lie in memory that is gone.
[[noreturn]] void ended_before_its_blocks(std::uint64_t blocks) noexcept {
    std::fprintf(
        stderr,
        "weir: a MigratingPool ends while %llu blocks that were taken from it are in use; destroy the containers and "
        "objects that use it first\n",
        static_cast<unsigned long long>(blocks));
    std::abort();
}

}  // namespace

MigratingPool::MigratingPool(Options options)
    : number_(PoolThreads::next_pool_number()),
      options_(options),
      stocks_(std::make_unique<PoolStock[]>(size_classes::count)),
      life_(std::make_shared<PoolLife>()) {
    // No object is larger; and no sum of a size below this and an alignment wraps, here or in upstream.
    options_.limit = std::min(options_.limit, Bytes{PTRDIFF_MAX});
    WEIR_ASSERT(options_.batch >= 8 && options_.batch <= 4096 && options_.chunk >= 128_KiB);
    life_->pool = this;
    prepare(late_);
}

MigratingPool::~MigratingPool() {
    {
        const std::scoped_lock lock(life_->mutex);
        life_->pool = nullptr;
    }
    const Stats last = stats();
    if (last.allocations != last.frees) ended_before_its_blocks(last.allocations - last.frees);
    while (chunks_ != nullptr) {
        const Chunk chunk = *chunks_;
        unpoison(chunks_, chunk.size);
        options_.upstream->deallocate(chunks_, chunk.size, size_classes::alignment_max);
        chunks_ = chunk.next;
    }
}

void MigratingPool::prepare(PoolThreadCache& cache) const noexcept {
    for (std::size_t c = 0; c < size_classes::count; ++c) {
        const std::uint64_t fitting = options_.batch_size.count() / size_classes::size_of(c);
        cache.bins[c].batch = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fitting, 8, options_.batch));
        cache.bins[c].give_at = 2 * std::int64_t{cache.bins[c].batch};
    }
}

bool MigratingPool::reserve(std::size_t size) noexcept {
    if (size > options_.limit.count() || from_upstream_ > options_.limit.count() - size) return false;
    from_upstream_ += size;
    return true;
}

void* MigratingPool::ask_upstream(std::size_t size, std::size_t alignment) const noexcept {
    try {
        return options_.upstream->allocate(size, alignment);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

std::byte* MigratingPool::carve(std::size_t size, std::size_t alignment) noexcept {
    [[maybe_unused]] const auto lock = accounted_lock(memory_mutex_);
    const std::size_t room = static_cast<std::size_t>(unused_end_ - unused_);
    if (room < size + alignment && !new_chunk(sizeof(Chunk) + size + alignment)) return nullptr;
    std::byte* const begin = aligned_up(unused_, alignment);
    unused_ = begin + size;
    return begin;
}

bool MigratingPool::new_chunk(std::size_t least) noexcept {
    for (std::size_t wish = options_.chunk.count(); wish >= least; wish /= 2) {  // near the limit less may still fit
        if (!reserve(wish)) continue;
        void* const memory = ask_upstream(wish, size_classes::alignment_max);
        if (memory == nullptr) {
            from_upstream_ -= wish;
            continue;
        }
        chunks_ = ::new (memory) Chunk{chunks_, wish};
        unused_ = static_cast<std::byte*>(memory) + sizeof(Chunk);
        unused_end_ = static_cast<std::byte*>(memory) + wish;
        return true;
    }
    return false;
}

bool MigratingPool::new_slab(PoolBin& bin, std::size_t size_class) noexcept {
    PoolStock& stock = stocks_[size_class];
    if (const auto [begin, bytes] = stock.take_fresh(); begin != nullptr) {
        bin.fresh = begin;
        bin.fresh_size = static_cast<std::uint32_t>(bytes);
        return true;
    }
    // Whole pairs of cache lines, so that slabs of two threads share none.
    const std::size_t size = size_classes::size_of(size_class);
    const std::size_t bytes = std::max(slab_size / size, std::size_t{8}) * size;
    std::byte* const slab =
        carve((bytes + 127) / 128 * 128, std::clamp(size & -size, std::size_t{128}, size_classes::alignment_max));
    if (slab == nullptr) return false;
    poison(slab, bytes);
    bin.fresh = slab;
    bin.fresh_size = static_cast<std::uint32_t>(bytes);
    return true;
}

bool MigratingPool::refill(PoolBin& bin, std::size_t size_class, bool believe_hint) noexcept {
    if (link_piece(bin)) return true;
    PoolStock& stock = stocks_[size_class];
    if (!believe_hint || stock.may_have()) {
        const auto taken = stock.take(bin.batches, bin.batch);
        const std::uint64_t count = taken.batch != nullptr ? taken.batch->count : taken.chain.count;
        if (taken.migrated)
            bin.give_at -= static_cast<std::int64_t>(count);  // all of it may be released in this thread
        bin.head = taken.chain.head;
        if (taken.batch != nullptr) {
            bin.batches = taken.batch;
            fetch(*taken.batch, count - std::min(count, piece), count);
            return link_piece(bin);
        }
        if (count > 0) return true;
    }
    if (bin.fresh_size == 0 && !new_slab(bin, size_class)) return false;
    const std::size_t size = size_classes::size_of(size_class);
    const std::size_t count = std::min<std::size_t>(bin.fresh_size / size, piece);
    for (std::size_t i = count; i-- > 0;) {
        auto* const block = reinterpret_cast<FreeBlock*>(bin.fresh + i * size);
        set_next(block, bin.head);
        bin.head = block;
    }
    bin.fresh += count * size;
    bin.fresh_size -= static_cast<std::uint32_t>(count * size);
    return true;
}

void* MigratingPool::take_slowly(std::size_t size_class) noexcept {
    PoolThreadCache* cache = cache_here();
    if (cache == nullptr) cache = PoolThreads::cache_of(*this, number_, life_);
    std::unique_lock lock(late_mutex_, std::defer_lock);
    if (cache == nullptr) {
        lock.lock();
        cache = &late_;
    }
    PoolBin& bin = cache->bins[size_class];
    if (bin.head == nullptr && !refill(bin, size_class, true) && !refill_at_limit(bin, size_class)) {
        const std::scoped_lock memory_lock(memory_mutex_);
        ++refused_;
        return nullptr;
    }
    return bin.take();
}

// Threads without a cache free to late_: mostly those that begin when there is no memory for a cache. The blocks there
// are moved to the stock, and the stock is locked even if its hint is "empty".
bool MigratingPool::refill_at_limit(PoolBin& bin, std::size_t size_class) noexcept {
    if (PoolBin& late = late_.bins[size_class]; &bin != &late) {
        const std::scoped_lock lock(late_mutex_);
        leave(late, size_class);
    }
    return refill(bin, size_class, false);
}

void MigratingPool::release_slowly(void* data, std::size_t size_class) noexcept {
    PoolThreadCache* cache = PoolThreads::cache_of(*this, number_, life_);
    std::unique_lock lock(late_mutex_, std::defer_lock);
    if (cache == nullptr) {
        lock.lock();
        cache = &late_;
    }
    if (cache->bins[size_class].release(data)) hand_over_surplus(cache->bins[size_class], size_class);
}

BlockBatch* MigratingPool::empty_batch(PoolBin& bin, std::size_t size_class) noexcept {
    BlockBatch*& first = first_empty(bin);
    if (first != nullptr) return std::exchange(first, std::exchange(first->next, nullptr));
    if (BlockBatch* const empty = stocks_[size_class].take_empty(); empty != nullptr) return empty;
    std::byte* const memory = carve(BlockBatch::size_for(bin.batch), alignof(BlockBatch));
    return memory == nullptr ? nullptr : ::new (memory) BlockBatch;
}

void MigratingPool::hand_over_surplus(PoolBin& bin, std::size_t size_class) noexcept {
    if (bin.too_much()) correct(bin, size_class);
}

// The surplus is two batches; one is moved to the stock. So the next visit there, in either direction, is a batch away.
void MigratingPool::correct(PoolBin& bin, std::size_t size_class) noexcept {
    bin.give_at += bin.batch;
    bin.look_after(bin.batch);
    BlockBatch* const batch = empty_batch(bin, size_class);
    if (batch == nullptr) return stocks_[size_class].put(cut(bin));  // no memory even for the list of addresses
    FreeBlock** const blocks = batch->blocks();
    FreeBlock* block = bin.head;
    std::uint64_t count = 0;
    for (; count < bin.batch && block != nullptr; block = next_of(block)) blocks[count++] = block;
    bin.head = block;
    batch->count = count;
    add_empty(bin, stocks_[size_class].put(batch));
}

PoolThreadCache* MigratingPool::take_cache() noexcept {
    const std::scoped_lock lock(caches_mutex_);
    if (idle_ != nullptr) {
        --idle_count_;
        PoolThreadCache* const cache = idle_;
        idle_ = std::exchange(cache->next_idle, nullptr);
        return cache;
    }
    std::byte* const memory = carve(sizeof(PoolThreadCache), alignof(PoolThreadCache));
    if (memory == nullptr) return nullptr;
    auto* const cache = ::new (memory) PoolThreadCache;
    prepare(*cache);
    cache->next = std::exchange(caches_, cache);
    ++cache_count_;
    return cache;
}

// A thread ends. Blocks that came from other threads go to the stock as migrated ones; the thread's own blocks stay
// own, for the next thread that takes them.
void MigratingPool::leave(PoolBin& bin, std::size_t size_class) noexcept {
    const std::int64_t zero = bin.give_at - 2 * std::int64_t{bin.batch};
    const std::uint64_t in_hand = bin.batches == nullptr ? 0 : bin.batches->count;
    const auto surplus = static_cast<std::uint64_t>(std::max<std::int64_t>(bin.balance() - zero, 0));
    const std::uint64_t most = surplus > in_hand ? surplus - in_hand : 0;
    BlockChain migrated;
    BlockChain own;
    for (FreeBlock* block = bin.head; block != nullptr;) {
        FreeBlock* const next = next_of(block);
        set_next(block, nullptr);
        (migrated.count < most ? migrated : own).put({block, block, 1});
        block = next;
    }
    bin.head = nullptr;
    bin.give_at = bin.balance() + 2 * std::int64_t{bin.batch};
    bin.look_after(2 * std::uint64_t{bin.batch});
    stocks_[size_class].leave(migrated, own, bin.fresh, std::exchange(bin.fresh_size, 0),
                              std::exchange(bin.batches, nullptr));
}

void MigratingPool::retire_cache(PoolThreadCache& cache) noexcept {
    for (std::size_t c = 0; c < size_classes::count; ++c) leave(cache.bins[c], c);
    const std::scoped_lock lock(caches_mutex_);
    cache.next_idle = std::exchange(idle_, &cache);
    ++idle_count_;
}

void* MigratingPool::take_large(std::size_t size, std::size_t alignment) noexcept {
    void* data = nullptr;
    std::unique_lock lock(memory_mutex_);
    if (reserve(size)) {
        lock.unlock();  // upstream may take its time: the kernel's, for large blocks
        data = ask_upstream(size, alignment);
        lock.lock();
        if (data == nullptr) from_upstream_ -= size;
    }
    ++(data != nullptr ? large_taken_ : refused_);
    return data;
}

void MigratingPool::release_large(void* data, std::size_t size, std::size_t alignment) noexcept {
    options_.upstream->deallocate(data, size, alignment);
    const std::scoped_lock lock(memory_mutex_);
    from_upstream_ -= size;
    ++large_released_;
}

MigratingPool::Stats MigratingPool::stats() const {
    Stats sum;
    const auto add = [&sum](const PoolThreadCache& cache) {
        for (const auto& bin : cache.bins) {
            sum.allocations += bin.allocations.load(std::memory_order_relaxed);
            sum.frees += bin.frees();
        }
    };
    {
        const std::scoped_lock lock(caches_mutex_);
        for (const auto* cache = caches_; cache != nullptr; cache = cache->next) add(*cache);
        sum.threads = cache_count_ - idle_count_;
        sum.caches = cache_count_;
    }
    add(late_);
    for (std::size_t c = 0; c < size_classes::count; ++c) {
        const auto counts = stocks_[c].counts();
        sum.corrections += counts.corrections;
        sum.batches_taken += counts.batches_taken;
    }
    const std::scoped_lock lock(memory_mutex_);
    sum.allocations += large_taken_;
    sum.frees += large_released_;
    sum.large = large_taken_;
    sum.refused = refused_;
    sum.from_upstream = Bytes{from_upstream_};
    return sum;
}

}  // namespace weir::memory
