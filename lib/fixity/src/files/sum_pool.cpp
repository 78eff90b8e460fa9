// SPDX-License-Identifier: Apache-2.0
#include "files/sum_pool.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>

#include "weir/base/start_thread.hpp"

namespace weir::fixity {
namespace {

constexpr unsigned threads_max = 256;

// A batch passes over a file that is not of its kind, but not for long: results come in order.
constexpr std::uint64_t overtaken_max = 64;

/// Half of this process's limit: the rest is for other uses.
std::size_t files_open_max() noexcept {
    struct rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1U << 16U) / 2);
}

}  // namespace

SumPool::SumPool(const Reading& how, const Parallel& parallel, const Clock& clock)
    : how_(how),
      parallel_(parallel),
      clock_(clock),
      files_open_max_(files_open_max()),
      limits_(parallel.threads),
      tools_{PieceReader(how), {}} {
    threads_.reserve(threads_max);
}

SumPool::~SumPool() {
    {
        const std::scoped_lock lock(mutex_);
        closing_ = true;
    }
    work_.notify_all();
    for (auto& thread : threads_) thread.join();
}

void SumPool::add(Job job) {
    auto slot = std::make_unique<Slot>();
    if (job.settled) {
        slot->result = finish_file(begin_file(std::move(job), how_), {}, clock_);
        order_.push_back(std::move(slot));
        return;
    }
    bool is_regular = job.device.has_value();
    if (!job.device) {
        struct stat status{};
        if (::stat(job.path.c_str(), &status) == 0) {
            job.device = status.st_dev;
            is_regular = S_ISREG(status.st_mode);
        }
    }
    if (is_regular) slot->lanes = FileBatch::lanes_of(job, how_);
    slot->number = added_++;
    slot->device = job.device.value_or(0);
    slot->limit = std::clamp(limits_.of(slot->device, job.path.c_str()), 1U, threads_max);
    slot->job = std::move(job);
    auto& added = *order_.emplace_back(std::move(slot));
    {
        const std::scoped_lock lock(mutex_);
        auto& device = devices_[added.device];
        waiting_.push_back(&added);
        if (!added.lanes.empty()) ++device.waiting;
        if (idle_ == 0 && threads_.size() < added.limit) add_thread();
    }
    work_.notify_one();
}

/// Or not, when the system has none left. Under the lock.
void SumPool::add_thread() {
    std::thread thread;
    if (start_thread(thread, [this] { run(); })) threads_.push_back(std::move(thread));
    else if (how_.thread_refused) how_.thread_refused();
}

std::optional<FileSum> SumPool::next(std::chrono::milliseconds at_most) {
    if (order_.empty()) return std::nullopt;
    {
        std::unique_lock lock(mutex_);
        awaited_ = order_.front().get();
        const auto there = [this] { return awaited_->result.has_value() || failure_; };
        while (threads_.empty() && at_most.count() > 0 && !there() && step(lock, tools_)) {
        }
        if (!there() && (at_most.count() == 0 || !finished_.wait_for(lock, at_most, there))) return std::nullopt;
        if (failure_) std::rethrow_exception(failure_);
    }
    auto result = std::move(*order_.front()->result);
    order_.pop_front();
    return result;
}

void SumPool::run() {
    Tools tools{PieceReader(how_), {}};
    std::unique_lock lock(mutex_);
    try {
        while (!closing_) {
            if (step(lock, tools)) continue;
            ++idle_;
            work_.wait(lock);
            --idle_;
        }
    } catch (...) {  // no memory: not for a file's bytes (PieceReader), but for the work itself
        if (!lock.owns_lock()) lock.lock();
        failure_ = std::current_exception();
        finished_.notify_one();
    }
}

/// One file, batch, or the rest of a split one. False: there is nothing to do now.
bool SumPool::step(std::unique_lock<std::mutex>& lock, Tools& tools) {
    auto split = take_split();
    auto* slot = split ? nullptr : take_slot();
    if (!split && slot == nullptr) return false;
    lock.unlock();
    if (split) help(*split, tools.reader);
    else if (slot->lanes.empty()) work_on(*slot, tools.reader);
    else work_on_batch(*slot, tools.batch);
    lock.lock();
    return true;
}

/// The first file whose device has room.
SumPool::Slot* SumPool::take_slot() {
    const auto found = std::ranges::find_if(waiting_, [this](const Slot* slot) { return has_room(*slot); });
    if (found == waiting_.end()) return nullptr;
    ++devices_[(*found)->device].readers;
    return take(found);
}

/// The next file for a batch that has `size` files. Nothing: it has its share, or it is another one's turn.
SumPool::Slot* SumPool::take_another(const Kind& kind, std::size_t size) {
    const std::scoped_lock lock(mutex_);
    const auto& device = devices_[kind.device];
    if (size >= (device.waiting + device.batched + kind.limit - 1) / kind.limit) return nullptr;
    const auto found = std::ranges::find_if(
        waiting_, [&](const Slot* slot) { return slot->device == kind.device && slot->lanes == kind.lanes; });
    if (found == waiting_.end()) return nullptr;
    // One that could be read now, or by this thread in place of the batch.
    const auto oldest = std::ranges::find_if(
        waiting_, [&](const Slot* slot) { return slot->device == kind.device || has_room(*slot); });
    if ((*found)->number > (*oldest)->number + overtaken_max) return nullptr;
    return take(found);
}

SumPool::Slot* SumPool::take(std::deque<Slot*>::iterator at) {
    auto* slot = *at;
    waiting_.erase(at);
    if (!slot->lanes.empty()) {
        --devices_[slot->device].waiting;
        ++devices_[slot->device].batched;
    }
    return slot;
}

std::optional<SumPool::Split> SumPool::take_split() {
    std::erase_if(splits_, [](const Split& split) { return !split.file->has_more(); });
    for (auto& split : splits_) {
        if (split.helpers_left == 0) continue;
        --split.helpers_left;
        return split;
    }
    return std::nullopt;
}

void SumPool::work_on(Slot& slot, PieceReader& reader) {
    auto work = slot.begun ? std::move(*slot.begun) : begin_file(std::move(*slot.job), how_);
    slot.begun.reset();
    slot.job.reset();
    if (slot.limit == 1 || !SplitFile::fits(work, parallel_.split_min.count(), parallel_.split_range.count())) {
        const auto device = slot.device;
        auto outcome = work.file ? sum_whole(work, reader) : ReadOutcome{0, {}, {}};
        done(slot, finish_file(std::move(work), std::move(outcome), clock_));
        return release(device);
    }
    const Split split{std::make_shared<SplitFile>(std::move(work), parallel_.split_range.count()), &slot,
                      slot.limit - 1};
    {
        const std::scoped_lock lock(mutex_);
        splits_.push_back(split);
        // With a single file there is one thread so far; it adds helpers.
        for (auto n = idle_; n < split.helpers_left && threads_.size() < slot.limit; ++n) add_thread();
    }
    work_.notify_all();
    help(split, reader);
}

void SumPool::help(const Split& split, PieceReader& reader) {
    if (!split.file->help(reader)) return;
    const auto device = split.slot->device;
    auto outcome = split.file->take_outcome();
    done(*split.slot, finish_file(split.file->take_work(), std::move(outcome), clock_));
    release(device);
}

/// Reads `first` and, as long as there are some, others of its kind.
void SumPool::work_on_batch(Slot& first, std::optional<FileBatch>& batch) {
    const Kind kind{first.device, first.limit, first.lanes};  // `first` may be returned before the others
    if (!batch || batch->lanes() != kind.lanes)
        batch.emplace(kind.lanes, std::max<std::size_t>(files_open_max_ / kind.limit, 1), how_);
    std::vector<Slot*> slots(batch->room());
    bool more = true;
    const auto next = [&] { return more && batch->room() > 0 ? take_another(kind, batch->size()) : nullptr; };
    for (auto* slot = &first; slot != nullptr || batch->size() > 0; slot = next()) {
        for (; slot != nullptr; slot = next()) more = add_to_batch(*slot, *batch, slots) && more;
        batch->step([&](std::size_t place, FileWork work, ReadOutcome outcome) {
            {
                const std::scoped_lock lock(mutex_);
                --devices_[kind.device].batched;
            }
            done(*slots[place], finish_file(std::move(work), std::move(outcome), clock_));
        });
    }
    release(kind.device);
}

/// False: it is to be read alone, and goes back to be the next that is taken.
bool SumPool::add_to_batch(Slot& slot, FileBatch& batch, std::vector<Slot*>& slots) {
    auto work = begin_file(std::move(*slot.job), how_);
    slot.job.reset();
    if (work.file && FileBatch::takes(work, how_)) {
        slots[batch.add(std::move(work))] = &slot;
        return true;
    }
    std::unique_lock lock(mutex_);
    --devices_[slot.device].batched;
    if (!work.file) {  // its sum stands already
        lock.unlock();
        done(slot, finish_file(std::move(work), {}, clock_));
        return true;
    }
    slot.begun.emplace(std::move(work));
    slot.lanes.clear();
    waiting_.push_front(&slot);
    lock.unlock();
    work_.notify_one();
    return false;
}

void SumPool::done(Slot& slot, FileSum result) {
    bool is_awaited;
    {
        const std::scoped_lock lock(mutex_);
        slot.result = std::move(result);  // from here on the slot is the adding thread's
        is_awaited = awaited_ == &slot;
    }
    if (is_awaited) finished_.notify_one();
}

/// One reader of the device less.
void SumPool::release(std::uint64_t device) {
    bool worker_needed;
    {
        const std::scoped_lock lock(mutex_);
        --devices_[device].readers;
        worker_needed = idle_ > 0 && !waiting_.empty();
    }
    if (worker_needed) work_.notify_one();
}

}  // namespace weir::fixity
