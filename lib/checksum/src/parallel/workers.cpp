// SPDX-License-Identifier: Apache-2.0
#include "weir/checksum/workers.hpp"

#include <atomic>

#include "parallel/fork_generation.hpp"
#include "parallel/task_slots.hpp"

namespace weir::checksum {
namespace {

/// A job of numbered pieces, on its caller's stack.
struct Job {
    using Function = void(const void* work, std::size_t piece);

    void take_pieces() noexcept {
        for (auto i = next.fetch_add(1, std::memory_order_relaxed); i < pieces;
             i = next.fetch_add(1, std::memory_order_relaxed))
            function(work, i);
    }

    const std::size_t pieces;
    Function* const function;
    const void* const work;
    alignas(64) std::atomic<std::size_t> next{0};  // the first piece that was not begun
};

struct Help {
    Job* job;

    void run() noexcept { job->take_pieces(); }
};

}  // namespace

Workers::Workers(const WorkerOptions& options)
    : slots_(std::make_unique<TaskSlots>(options)), born_(fork_generation()) {}

Workers::~Workers() {
    // In a fork's child there are no threads to stop and join, and a mutex may be held for ever.
    if (born_ != fork_generation()) static_cast<void>(slots_.release());
}

void Workers::share(std::size_t pieces, bool lasts, Function* function, const void* work) noexcept {
    Job job{pieces, function, work};
    auto* const here = slots();
    if (here == nullptr || pieces < 2) return job.take_pieces();
    Helpers helpers(*here, pieces - 1, lasts);
    // To wake a sleeper takes as long as some pieces: no further one when those before it leave nothing to do.
    std::size_t asked = 0;
    for (; asked < helpers.count() && job.next.load(std::memory_order_relaxed) < pieces; ++asked)
        helpers.offer(asked, Help{&job});
    job.take_pieces();
    for (; asked > 0; --asked)
        if (!helpers.withdraw(asked - 1)) static_cast<void>(helpers.finished<Help>(asked - 1));
}

unsigned Workers::threads() const noexcept { return born_ == fork_generation() ? slots_->workers() : 0; }

unsigned Workers::pins_refused() const noexcept { return slots_->pins_refused(); }

TaskSlots* Workers::slots() noexcept { return born_ == fork_generation() ? slots_.get() : nullptr; }

}  // namespace weir::checksum
