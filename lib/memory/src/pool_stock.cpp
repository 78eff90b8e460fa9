// SPDX-License-Identifier: Apache-2.0
#include "pool_stock.hpp"

#include <new>

#include "weir/base/thread_account.hpp"

namespace weir::memory {

void BlockChain::put(BlockChain chain) noexcept {
    if (chain.head == nullptr) return;
    set_next(chain.tail, head);
    if (head == nullptr) tail = chain.tail;
    head = chain.head;
    count += chain.count;
}

BlockChain BlockChain::take(std::uint64_t most) noexcept {
    if (count <= most) return std::exchange(*this, {});
    BlockChain taken{head, head, 1};
    for (; taken.count < most; ++taken.count) taken.tail = next_of(taken.tail);
    head = next_of(taken.tail);
    count -= taken.count;
    set_next(taken.tail, nullptr);
    return taken;
}

void PoolStock::note_filling() noexcept {
    filled_.store(batches_ != nullptr || migrated_.head != nullptr || own_.head != nullptr, std::memory_order_relaxed);
}

void PoolStock::keep(BlockBatch* batches) noexcept {
    while (batches != nullptr) {
        BlockBatch* const next = batches->next;
        BlockBatch*& list = batches->count > 0 ? batches_ : empty_;
        batches->next = std::exchange(list, batches);
        batches = next;
    }
}

BlockBatch* PoolStock::put(BlockBatch* batch) noexcept {
    [[maybe_unused]] const auto lock = accounted_lock(mutex_);
    batch->next = std::exchange(batches_, batch);
    ++counts_.corrections;
    note_filling();
    BlockBatch* empty = empty_;
    if (empty != nullptr) empty_ = std::exchange(empty->next, nullptr);
    return empty;
}

void PoolStock::put(BlockChain migrated) noexcept {
    [[maybe_unused]] const auto lock = accounted_lock(mutex_);
    migrated_.put(migrated);
    ++counts_.corrections;
    note_filling();
}

PoolStock::Taken PoolStock::take(BlockBatch*& empty, std::uint64_t most) noexcept {
    [[maybe_unused]] const auto lock = accounted_lock(mutex_);
    Taken taken;
    if (batches_ != nullptr) {
        taken.batch = batches_;
        taken.migrated = true;
        batches_ = std::exchange(taken.batch->next, nullptr);
        keep(std::exchange(empty, nullptr));
    } else if (own_.head != nullptr) {
        taken.chain = own_.take(most);
    } else if (migrated_.head != nullptr) {
        taken.chain = migrated_.take(most);
        taken.migrated = true;
    } else {
        return taken;
    }
    if (taken.migrated) ++counts_.batches_taken;
    note_filling();
    return taken;
}

void PoolStock::leave(BlockChain migrated, BlockChain own, std::byte* fresh, std::size_t fresh_size,
                      BlockBatch* batches) noexcept {
    [[maybe_unused]] const auto lock = accounted_lock(mutex_);
    migrated_.put(migrated);
    own_.put(own);
    if (fresh_size > 0) {
        unpoison(fresh, sizeof(FreshMemory));
        fresh_ = ::new (fresh) FreshMemory{fresh_, fresh_size};
    }
    keep(batches);
    note_filling();
}

std::pair<std::byte*, std::size_t> PoolStock::take_fresh() noexcept {
    [[maybe_unused]] const auto lock = accounted_lock(mutex_);
    if (fresh_ == nullptr) return {nullptr, 0};
    const FreshMemory found = *fresh_;
    auto* const begin = reinterpret_cast<std::byte*>(fresh_);
    poison(begin, sizeof(FreshMemory));
    fresh_ = found.next;
    return {begin, found.size};
}

BlockBatch* PoolStock::take_empty() noexcept {
    [[maybe_unused]] const auto lock = accounted_lock(mutex_);
    BlockBatch* empty = empty_;
    if (empty != nullptr) empty_ = std::exchange(empty->next, nullptr);
    return empty;
}

PoolStock::Counts PoolStock::counts() const {
    const std::scoped_lock lock(mutex_);
    return counts_;
}

}  // namespace weir::memory
