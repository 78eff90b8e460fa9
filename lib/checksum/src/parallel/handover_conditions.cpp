// SPDX-License-Identifier: Apache-2.0
// Schemes (ii) and (iii): workers sleep on a condition variable until a caller has work. They differ in
// how the caller waits for the last sum: asleep on a condition variable of its own, or busy.
#include <condition_variable>
#include <mutex>
#include <vector>

#include "parallel/handover.hpp"

namespace weir::checksum {
namespace {

/// An event in work, on its caller's stack. Everything but the parts is guarded by the pool's mutex.
struct Job {
    std::span<Part> parts;
    std::size_t next = 1;  // the first part that was not begun; part 0 is the caller's
    std::size_t unfinished = 0;
    Job* later = nullptr;  // the next job in the queue
    std::condition_variable finished;
};

class ConditionHandover final : public Handover {
public:
    ConditionHandover(const ParallelOptions& options, SumFunction* kernel)
        : kernel_(kernel), caller_spins_(options.scheme == Scheme::condition_then_spin) {
        const auto cpus = pinned_cpus(options);
        for (std::size_t i = 0; i < options.threads; ++i) {
            if (!start_thread(workers_.emplace_back(), [this] { work(); })) {
                workers_.pop_back();
                break;
            }
            if (!cpus.empty() && !pin_thread(workers_.back().native_handle(), cpus[i])) ++pins_refused_;
        }
    }

    ~ConditionHandover() override {
        {
            const std::lock_guard lock(mutex_);
            stopping_ = true;
        }
        work_there_.notify_all();
        for (auto& worker : workers_) worker.join();
    }

    std::uint32_t sum(ConstData data, std::uint32_t value) noexcept override {
        if (workers_.empty()) return kernel_(data, value);
        PartList list(workers_.size() + 1);
        Job job;
        job.parts = list.parts();
        job.unfinished = workers_.size();
        split_evenly(data, value, job.parts);
        {
            const std::lock_guard lock(mutex_);
            (last_ != nullptr ? last_->later : first_) = &job;
            last_ = &job;
        }
        work_there_.notify_all();
        job.parts[0].sum = kernel_(job.parts[0].data, job.parts[0].start);
        if (caller_spins_) {
            for (const auto& part : job.parts.subspan(1)) part.wait();
        } else {
            std::unique_lock lock(mutex_);
            job.finished.wait(lock, [&] { return job.unfinished == 0; });
        }
        return join_sums(job.parts);
    }

    unsigned threads() const noexcept override { return static_cast<unsigned>(workers_.size()); }
    unsigned pins_refused() const noexcept override { return pins_refused_; }

private:
    void work() noexcept {
        std::unique_lock lock(mutex_);
        while (true) {
            work_there_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
            if (first_ == nullptr) return;  // stopping, and no caller waits
            Job& job = *first_;
            Part& part = job.parts[job.next++];
            if (job.next == job.parts.size()) {
                first_ = job.later;
                if (first_ == nullptr) last_ = nullptr;
            }
            lock.unlock();
            part.sum = kernel_(part.data, part.start);
            if (caller_spins_) {
                part.done.store(true, std::memory_order_release);  // the job may be gone from here on
                lock.lock();
            } else {
                lock.lock();
                // Under the lock: the caller cannot return and destroy the variable before the lock is released.
                if (--job.unfinished == 0) job.finished.notify_one();
            }
        }
    }

    SumFunction* const kernel_;
    const bool caller_spins_;
    std::mutex mutex_;
    std::condition_variable work_there_;
    Job* first_ = nullptr;  // jobs with parts that were not begun, oldest first
    Job* last_ = nullptr;
    bool stopping_ = false;
    unsigned pins_refused_ = 0;
    std::vector<std::thread> workers_;
};

}  // namespace

std::unique_ptr<Handover> make_condition_handover(const ParallelOptions& options, SumFunction* kernel) {
    return std::make_unique<ConditionHandover>(options, kernel);
}

}  // namespace weir::checksum
