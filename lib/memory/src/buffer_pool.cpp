// SPDX-License-Identifier: Apache-2.0
#include "weir/memory/buffer_pool.hpp"

#include <sys/mman.h>

#include <bit>

#include "weir/base/assert.hpp"
#include "weir/base/thread_account.hpp"

namespace weir::memory {
namespace {

constexpr std::size_t page = BufferPool::alignment;
constexpr std::size_t huge_page = 2U << 20;

std::byte* map_memory(std::size_t capacity) noexcept {
    void* memory = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (capacity >= huge_page) ::madvise(memory, capacity, MADV_HUGEPAGE);  // only a hint; fine when refused
    return static_cast<std::byte*>(memory);
}

}  // namespace

void Buffer::release() noexcept {
    if (data_ == nullptr) return;
    pool_->give_back(std::exchange(data_, nullptr), capacity_);
    size_ = 0;
    capacity_ = 0;
}

std::size_t BufferPool::class_of(std::size_t size) noexcept {
    const std::size_t pages = (size + page - 1) / page;
    if (pages <= 4) return pages == 0 ? 0 : pages - 1;
    const auto power = static_cast<std::size_t>(std::bit_width(pages - 1)) - 1;  // 2^power < pages <= 2^(power+1)
    const std::size_t step = (pages - 1 - (std::size_t{1} << power)) >> (power - 2);
    return 4 * (power - 1) + step;
}

std::size_t BufferPool::capacity_of(std::size_t size_class) noexcept {
    if (size_class < 4) return (size_class + 1) * page;
    const std::size_t power = size_class / 4 + 1;
    const std::size_t step = size_class % 4;
    return ((std::size_t{1} << power) + ((step + 1) << (power - 2))) * page;
}

BufferPool::BufferPool(Bytes limit) : limit_(limit.count()) {}

BufferPool::~BufferPool() {
    WEIR_ASSERT(in_use_ == 0);
    for (auto& list : free_) {
        for (const auto& memory : list) ::munmap(memory.data, memory.capacity);
    }
}

std::size_t BufferPool::largest() const noexcept {
    std::size_t best = 0;
    for (std::size_t c = 0; c < class_count && capacity_of(c) <= limit_; ++c) best = capacity_of(c);
    return best;
}

bool BufferPool::make_room(std::size_t capacity) {
    if (in_use_ + capacity > limit_) return false;
    for (std::size_t c = class_count; c-- > 0 && in_use_ + kept_ + capacity > limit_;) {
        while (!free_[c].empty() && in_use_ + kept_ + capacity > limit_) {
            ::munmap(free_[c].back().data, free_[c].back().capacity);
            kept_ -= free_[c].back().capacity;
            free_[c].pop_back();
        }
    }
    return true;
}

std::optional<Buffer> BufferPool::try_take(std::size_t size) {
    [[maybe_unused]] const auto lock = accounted_lock(mutex_);
    if (size <= limit_) {
        const auto size_class = class_of(size);
        WEIR_ASSERT(size_class < class_count);
        const auto capacity = capacity_of(size_class);
        auto& list = free_[size_class];
        std::byte* data = nullptr;
        if (!list.empty()) {
            data = list.back().data;
            list.pop_back();
            kept_ -= capacity;
        } else if (make_room(capacity)) {
            data = map_memory(capacity);
        }
        if (data != nullptr) {
            in_use_ += capacity;
            ++taken_;
            return Buffer(this, data, size, capacity);
        }
    }
    ++refused_;
    somebody_waits_ = true;
    return std::nullopt;
}

void BufferPool::give_back(std::byte* data, std::size_t capacity) noexcept {
    {
        [[maybe_unused]] const auto lock = accounted_lock(mutex_);
        in_use_ -= capacity;
        kept_ += capacity;
        free_[class_of(capacity)].push_back({data, capacity});
        if (!std::exchange(somebody_waits_, false)) return;
    }
    const std::scoped_lock lock(subscribers_mutex_);
    for (const auto& freed : subscribers_) {
        if (freed) freed();
    }
}

std::size_t BufferPool::subscribe(std::function<void()> freed) {
    const std::scoped_lock lock(subscribers_mutex_);
    subscribers_.push_back(std::move(freed));
    return subscribers_.size() - 1;
}

void BufferPool::unsubscribe(std::size_t ticket) {
    const std::scoped_lock lock(subscribers_mutex_);
    subscribers_.at(ticket) = nullptr;
}

BufferPool::Stats BufferPool::stats() const {
    const std::scoped_lock lock(mutex_);
    return {Bytes{limit_}, Bytes{in_use_}, Bytes{kept_}, taken_, refused_};
}

}  // namespace weir::memory
