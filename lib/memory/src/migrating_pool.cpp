// SPDX-License-Identifier: Apache-2.0
#include "weir/memory/migrating_pool.hpp"

#include <algorithm>
#include <utility>

#include "pool_stock.hpp"
#include "pool_threads.hpp"
#include "weir/base/thread_account.hpp"

namespace weir::memory {
namespace {

constexpr std::size_t slab_size = 16384;
constexpr std::uint64_t piece = 32;  // blocks linked into the list at a time: as many cache misses may be under way

[[nodiscard]] std::byte* aligned_up(std::byte* data, std::size_t alignment) noexcept {
    return data + (-reinterpret_cast<std::uintptr_t>(data) & (alignment - 1));
}

}  // namespace

MigratingPool::MigratingPool(Options options)
    : number_(PoolThreads::next_pool_number()),
      options_(options),
      stocks_(std::make_unique<PoolStock[]>(size_classes::count)),
      life_(std::make_shared<PoolLife>()) {
    WEIR_ASSERT(options_.batch >= 8 && options_.batch <= 4096 && options_.chunk >= 128_KiB);
    life_->pool = this;
    for (std::size_t c = 0; c < size_classes::count; ++c) late_.bins[c].give_at = 2 * std::int64_t{batch_of(c)};
}

MigratingPool::~MigratingPool() {
    {
        const std::scoped_lock lock(life_->mutex);
        life_->pool = nullptr;
    }
    const Stats last = stats();
    WEIR_ASSERT(last.allocations == last.frees);  // what was taken here is given back before the pool ends
    while (chunks_ != nullptr) {
        const Chunk chunk = *chunks_;
        unpoison(chunks_, chunk.size);
        options_.upstream->deallocate(chunks_, chunk.size, size_classes::alignment_max);
        chunks_ = chunk.next;
    }
}

std::uint32_t MigratingPool::batch_of(std::size_t size_class) const noexcept {
    const std::uint64_t fitting = options_.batch_size.count() / size_classes::size_of(size_class);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fitting, 8, options_.batch));
}

void* MigratingPool::ask_upstream(std::size_t size, std::size_t alignment) noexcept {
    if (size > options_.limit.count() || from_upstream_ > options_.limit.count() - size) return nullptr;
    try {
        void* data = options_.upstream->allocate(size, alignment);
        from_upstream_ += size;
        return data;
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
        void* const memory = ask_upstream(wish, size_classes::alignment_max);
        if (memory == nullptr) continue;
        chunks_ = ::new (memory) Chunk{chunks_, wish};
        unused_ = static_cast<std::byte*>(memory) + sizeof(Chunk);
        unused_end_ = static_cast<std::byte*>(memory) + wish;
        return true;
    }
    return false;
}

bool MigratingPool::new_slab(PoolBin& bin, std::size_t size_class) noexcept {
    PoolStock& stock = stocks_[size_class];
    if (const auto [begin, end] = stock.take_fresh(); begin != nullptr) {
        bin.fresh = begin;
        bin.fresh_end = end;
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
    bin.fresh_end = slab + bytes;
    return true;
}

bool MigratingPool::link_in_hand(PoolBin& bin, std::size_t size_class) noexcept {
    BlockBatch* const batch = bin.in_hand;
    if (batch == nullptr || batch->count == 0) return false;
    FreeBlock** const blocks = batch->blocks();
    const std::uint64_t end = batch->count;
    const std::uint64_t begin = end > piece ? end - piece : 0;
    const std::uint64_t soon = begin > piece ? begin - piece : 0;
    if (end == batch_of(size_class)) {  // just arrived: nothing was fetched yet
        for (std::uint64_t i = begin; i < end; ++i) __builtin_prefetch(blocks[i], 1);
    }
    for (std::uint64_t i = soon; i < begin; ++i) __builtin_prefetch(blocks[i], 1);
    FreeBlock* head = nullptr;
    for (std::uint64_t i = begin; i < end; ++i) {
        set_next(blocks[i], head);
        head = blocks[i];
    }
    bin.head = head;
    batch->count = begin;
    return true;
}

bool MigratingPool::refill(PoolBin& bin, std::size_t size_class) noexcept {
    if (link_in_hand(bin, size_class)) return true;
    PoolStock& stock = stocks_[size_class];
    if (stock.may_have()) {
        const auto taken = stock.take(bin.in_hand, batch_of(size_class));
        const std::uint64_t count = taken.batch != nullptr ? taken.batch->count : taken.chain.count;
        if (count > 0) {
            if (taken.migrated) bin.give_at -= static_cast<std::int64_t>(count);
            bin.head = taken.chain.head;
            if (taken.batch == nullptr) return true;
            bin.in_hand = taken.batch;
            return link_in_hand(bin, size_class);
        }
    }
    if (bin.fresh == bin.fresh_end && !new_slab(bin, size_class)) return false;
    const std::size_t size = size_classes::size_of(size_class);
    FreeBlock* last = nullptr;
    for (std::uint64_t i = 0; i < piece && bin.fresh != bin.fresh_end; ++i, bin.fresh += size) {
        auto* const block = reinterpret_cast<FreeBlock*>(bin.fresh);
        (last == nullptr ? bin.head = block : (set_next(last, block), block));
        last = block;
    }
    set_next(last, nullptr);
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
    if (bin.head == nullptr && !refill(bin, size_class)) {
        const std::scoped_lock memory_lock(memory_mutex_);
        ++refused_;
        return nullptr;
    }
    return bin.take();
}

void MigratingPool::give_back_slowly(void* data, std::size_t size_class) noexcept {
    PoolThreadCache* cache = PoolThreads::cache_of(*this, number_, life_);
    std::unique_lock lock(late_mutex_, std::defer_lock);
    if (cache == nullptr) {
        lock.lock();
        cache = &late_;
    }
    if (cache->bins[size_class].give_back(data)) correct(cache->bins[size_class], size_class);
}

BlockBatch* MigratingPool::empty_batch(PoolBin& bin, std::size_t size_class) noexcept {
    if (bin.spare != nullptr) return std::exchange(bin.spare, nullptr);
    if (bin.in_hand != nullptr && bin.in_hand->count == 0) return std::exchange(bin.in_hand, nullptr);
    if (BlockBatch* const empty = stocks_[size_class].take_empty(); empty != nullptr) return empty;
    std::byte* const memory = carve(BlockBatch::size_for(batch_of(size_class)), alignof(BlockBatch));
    return memory == nullptr ? nullptr : ::new (memory) BlockBatch;
}

// The surplus is two batches; one goes. So the next visit to the stock, in either direction, is a batch away.
void MigratingPool::correct(PoolBin& bin, std::size_t size_class) noexcept {
    const std::uint32_t most = batch_of(size_class);
    bin.give_at += most;
    BlockBatch* const batch = empty_batch(bin, size_class);
    if (batch == nullptr) return;  // no memory even for the list of addresses: the blocks stay here for now
    FreeBlock** const blocks = batch->blocks();
    FreeBlock* block = bin.head;
    std::uint64_t count = 0;
    for (; count < most && block != nullptr; block = next_of(block)) blocks[count++] = block;
    bin.head = block;
    batch->count = count;
    bin.spare = stocks_[size_class].put(batch);
}

PoolThreadCache* MigratingPool::adopt_cache() noexcept {
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
    for (std::size_t c = 0; c < size_classes::count; ++c) cache->bins[c].give_at = 2 * std::int64_t{batch_of(c)};
    cache->next = std::exchange(caches_, cache);
    ++cache_count_;
    return cache;
}

// What came from elsewhere goes back as that; what the thread had of its own will be the own of the next that takes it.
void MigratingPool::retire_cache(PoolThreadCache& cache) noexcept {
    for (std::size_t c = 0; c < size_classes::count; ++c) {
        PoolBin& bin = cache.bins[c];
        const std::int64_t zero = bin.give_at - 2 * std::int64_t{batch_of(c)};
        const std::uint64_t in_hand = bin.in_hand == nullptr ? 0 : bin.in_hand->count;
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
        bin.give_at = bin.balance() + 2 * std::int64_t{batch_of(c)};
        stocks_[c].leave(migrated, own, std::exchange(bin.fresh, nullptr), std::exchange(bin.fresh_end, nullptr),
                         std::exchange(bin.in_hand, nullptr), std::exchange(bin.spare, nullptr));
    }
    const std::scoped_lock lock(caches_mutex_);
    cache.next_idle = std::exchange(idle_, &cache);
    ++idle_count_;
}

void* MigratingPool::take_large(std::size_t size, std::size_t alignment) noexcept {
    const std::scoped_lock lock(memory_mutex_);
    void* const data = ask_upstream(size, alignment);
    ++(data != nullptr ? large_taken_ : refused_);
    return data;
}

void MigratingPool::give_back_large(void* data, std::size_t size, std::size_t alignment) noexcept {
    const std::scoped_lock lock(memory_mutex_);
    options_.upstream->deallocate(data, size, alignment);
    from_upstream_ -= size;
    ++large_given_back_;
}

MigratingPool::Stats MigratingPool::stats() const {
    Stats sum;
    const auto add = [&sum](const PoolThreadCache& cache) {
        for (const auto& bin : cache.bins) {
            sum.allocations += bin.allocations.load(std::memory_order_relaxed);
            sum.frees += bin.frees.load(std::memory_order_relaxed);
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
    sum.frees += large_given_back_;
    sum.large = large_taken_;
    sum.refused = refused_;
    sum.from_upstream = Bytes{from_upstream_};
    return sum;
}

}  // namespace weir::memory
