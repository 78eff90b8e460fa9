// SPDX-License-Identifier: Apache-2.0
#include "weir/recorder/segment_pool.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"
#include "weir/base/system_clock.hpp"

namespace weir::recorder {
namespace {

std::byte* map_arena(std::size_t size) {
    void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    WEIR_ASSERT(memory != MAP_FAILED);       // at start-up, of a size that the configuration was checked for
    ::madvise(memory, size, MADV_HUGEPAGE);  // a hint; fine when refused
    return static_cast<std::byte*>(memory);
}

}  // namespace

SegmentPool::SegmentPool(Bytes total, Bytes segment) : SegmentPool(total, segment, system_clock()) {}

SegmentPool::SegmentPool(Bytes total, Bytes segment, const Clock& clock)
    : clock_(clock),
      segment_(segment.count()),
      count_(std::max<std::size_t>(2, total.count() / segment.count())),
      arena_(map_arena(segment_ * count_)) {
    WEIR_ASSERT(segment_ > 0 && segment_ % alignment == 0);
    free_.reserve(count_);
    for (std::size_t i = count_; i-- > 0;) free_.push_back(arena_ + i * segment_);
}

SegmentPool::~SegmentPool() { ::munmap(arena_, segment_ * count_); }

bool SegmentPool::try_take(std::size_t count, std::vector<std::byte*>& to) {
    const std::scoped_lock lock(mutex_);
    std::size_t left_to_others = 0;
    auto own = wishes_.end();
    if (!wishes_.empty()) {  // the clock is read only when memory is short
        std::erase_if(wishes_, [now = clock_.now()](const Wish& wish) { return wish.until <= now; });
        own = std::ranges::find(wishes_, count, &Wish::count);
        for (auto earlier = wishes_.begin(); earlier != own; ++earlier) left_to_others += earlier->count;
    }
    if (free_.size() < left_to_others + count) {
        if (own == wishes_.end()) own = wishes_.insert(own, {count, {}});
        own->until = clock_.now() + wish_lifetime;
        any_refused_ = true;
        return false;
    }
    if (own != wishes_.end()) wishes_.erase(own);  // the next of the same count queues up behind the others
    turnover_.taken += count;
    for (; count > 0; --count) {
        to.push_back(free_.back());
        free_.pop_back();
    }
    return true;
}

void SegmentPool::wait_for_freed(std::chrono::milliseconds at_most) {
    std::unique_lock lock(mutex_);
    released_.wait_for(lock, at_most);
}

void SegmentPool::release(std::byte* segment) {
    {
        const std::scoped_lock lock(mutex_);
        free_.push_back(segment);
        ++turnover_.released;
    }
    wake_refused();
}

void SegmentPool::wake_refused() {
    std::function<void()> freed;
    {
        const std::scoped_lock lock(mutex_);
        if (!std::exchange(any_refused_, false)) return;
        freed = freed_;
    }
    released_.notify_all();
    if (freed) freed();
}

void SegmentPool::on_freed(std::function<void()> freed) {
    const std::scoped_lock lock(mutex_);
    freed_ = std::move(freed);
}

std::size_t SegmentPool::free_count() const {
    const std::scoped_lock lock(mutex_);
    return free_.size();
}

bool SegmentPool::is_waited_for() const {
    constexpr std::chrono::seconds moment{2};  // what waits comes again after each sync round
    const std::scoped_lock lock(mutex_);
    const auto since = clock_.now() - moment;
    return std::ranges::any_of(wishes_, [&](const Wish& wish) { return wish.until > since; });
}

SegmentPool::Turnover SegmentPool::turnover() const {
    const std::scoped_lock lock(mutex_);
    return turnover_;
}

bool SegmentPool::is_short() const {
    const std::scoped_lock lock(mutex_);
    return free_.size() < count_ / 4 || !wishes_.empty();
}

}  // namespace weir::recorder
