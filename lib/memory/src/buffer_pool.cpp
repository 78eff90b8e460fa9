// SPDX-License-Identifier: Apache-2.0
#include "weir/memory/buffer_pool.hpp"

#include <sys/mman.h>

#include <bit>
#include <cstdio>
#include <cstdlib>

#include "weir/base/assert.hpp"
#include "weir/base/thread_account.hpp"

namespace weir::memory {
namespace {

constexpr std::size_t page = BufferPool::alignment;

std::byte* map_pages(std::size_t size) noexcept {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

// A mapping begins at any page: one that is a huge page too long has an aligned part; the rest goes back at once.
std::byte* map_aligned(std::size_t capacity) noexcept {
    constexpr std::size_t huge_page = BufferPool::huge_page;
    std::byte* const memory = map_pages(capacity + huge_page);
    if (memory == nullptr) return nullptr;
    const std::size_t before = -reinterpret_cast<std::uintptr_t>(memory) & (huge_page - 1);
    if (before > 0) ::munmap(memory, before);
    ::munmap(memory + before + capacity, huge_page - before);
    return memory + before;
}

/// A mistake of the program, not of the pool: the buffers would release their memory to a pool that is gone.
[[noreturn]] void ended_before_its_buffers(std::size_t bytes) noexcept {
    std::fprintf(stderr,
                 "weir: a BufferPool ends while buffers of %zu bytes that were taken from it are in use; destroy or "
                 "release them first\n",
                 bytes);
    std::abort();
}

}  // namespace

void Buffer::release() noexcept {
    if (memory_.data == nullptr) return;
    pool_->release(std::exchange(memory_, {}));
    size_ = 0;
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

BufferPool::BufferPool(Bytes limit, HugePages huge_pages) : limit_(limit.count()), huge_pages_(huge_pages) {}

BufferPool::~BufferPool() {
    if (in_use_ > 0) ended_before_its_buffers(in_use_);
    for (auto& list : free_) {
        for (const auto& memory : list) unmap(memory);
    }
}

BufferMemory BufferPool::map(std::size_t capacity) noexcept {
    if (capacity < huge_page) return {map_pages(capacity), capacity};
    BufferMemory memory{map_aligned(capacity), capacity};
    memory.transparent = memory.data != nullptr && huge_pages_ != HugePages::none &&
                         ::madvise(memory.data, capacity, MADV_HUGEPAGE) == 0;
    if (memory.transparent) transparent_ += capacity;
    return memory;
}

void BufferPool::unmap(const BufferMemory& memory) noexcept {
    if (memory.transparent) transparent_ -= memory.capacity;
    ::munmap(memory.data, memory.capacity);
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
            unmap(free_[c].back());
            kept_ -= free_[c].back().capacity;
            free_[c].pop_back();
        }
    }
    return true;
}

std::optional<Buffer> BufferPool::try_take(std::size_t size) {
    [[maybe_unused]] const auto lock = accounted_lock(mutex_);
    if (size <= limit_ && size <= capacity_of(class_count - 1)) {
        const auto size_class = class_of(size);
        const auto capacity = capacity_of(size_class);
        auto& list = free_[size_class];
        BufferMemory memory;
        if (!list.empty()) {
            memory = list.back();
            list.pop_back();
            kept_ -= capacity;
        } else if (make_room(capacity)) {
            memory = map(capacity);
        }
        if (memory.data != nullptr) {
            in_use_ += capacity;
            ++taken_;
            return Buffer(this, memory, size);
        }
    }
    ++refused_;
    taker_refused_ = true;
    return std::nullopt;
}

void BufferPool::keep(const BufferMemory& memory) noexcept {
    in_use_ -= memory.capacity;
    kept_ += memory.capacity;
    free_[class_of(memory.capacity)].push_back(memory);
}

void BufferPool::release(const BufferMemory& memory) noexcept {
    {
        [[maybe_unused]] const auto lock = accounted_lock(mutex_);
        keep(memory);
        if (!std::exchange(taker_refused_, false)) return;
    }
    notify();
}

void BufferPool::release(std::span<Buffer> buffers) noexcept {
    {
        [[maybe_unused]] const auto lock = accounted_lock(mutex_);
        for (auto& buffer : buffers) {
            if (!buffer) continue;
            WEIR_ASSERT(buffer.pool_ == this);
            keep(std::exchange(buffer.memory_, {}));
            buffer.size_ = 0;
        }
        if (!std::exchange(taker_refused_, false)) return;
    }
    notify();
}

void BufferPool::notify() noexcept {
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
    return {Bytes{limit_}, Bytes{in_use_}, Bytes{kept_}, taken_, refused_, Bytes{transparent_}};
}

}  // namespace weir::memory
