// SPDX-License-Identifier: Apache-2.0
// One pool of threads for data in memory that several threads sum: the parts of an event (ParallelAdler32). Workers
// help callers. A caller without help does everything itself, so a busy pool, a small one or none at all costs it no
// more than the offer.
//
// A worker without work spins for a bounded time before it sleeps: it begins a task that comes then within some hundred
// nanoseconds, while waking it costs tens of microseconds. So tasks must not block in the kernel: code that reads files
// has threads of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

namespace weir::checksum {

struct WorkerOptions {
    static constexpr unsigned threads_max = 64;

    unsigned threads = 0;        // beside the callers; 0 = off: callers do everything themselves
    bool pin = false;            // each worker stays on one logical processor
    std::vector<int> cpus = {};  // for pinning, in this order; empty = cpu_topology() without its first: physical
                                 // cores first, one left to the callers
    std::chrono::nanoseconds spin{50'000};  // a worker without work looks out that long
};

class TaskSlots;

/// Any number of threads may call at once, also a worker from within its work. Destroy it when no call is in
/// progress: workers are stopped and joined. In a child of fork(), which has no workers, callers do everything
/// themselves.
class Workers {
public:
    /// Work that lasts longer than this for one thread alone is worth waking workers: a waking takes 20 to 50 us.
    static constexpr std::chrono::microseconds worth_waking{60};

    /// At most WorkerOptions::threads_max threads.
    explicit Workers(const WorkerOptions& options);
    ~Workers();
    Workers(const Workers&) = delete;
    Workers& operator=(const Workers&) = delete;

    /// Calls work(0) to work(pieces - 1), each once, side by side, and returns when all are done. A free
    /// thread takes the next piece, so the wait for a thread that began late is one piece at most. `lasts`: one
    /// thread alone would need longer than worth_waking; if not, workers that sleep are only woken when such
    /// calls follow closely on each other. `work` does not throw.
    template <class Work>
    void share(std::size_t pieces, bool lasts, const Work& work) noexcept {
        share(pieces, lasts, [](const void* of, std::size_t piece) { (*static_cast<const Work*>(of))(piece); }, &work);
    }

    /// Workers that there are; fewer than asked for only when the system had no more threads. 0 when off and in
    /// a child of fork().
    [[nodiscard]] unsigned threads() const noexcept;

    /// Workers that were to be pinned and could not be (their processor is not ours to use).
    [[nodiscard]] unsigned pins_refused() const noexcept;

    /// Where the workers are met; null in a child of fork(). For the hand-over of lib/checksum.
    [[nodiscard]] TaskSlots* slots() noexcept;

private:
    using Function = void(const void* work, std::size_t piece);

    void share(std::size_t pieces, bool lasts, Function* function, const void* work) noexcept;

    std::unique_ptr<TaskSlots> slots_;
    unsigned born_;  // fork_generation() of the process that has the workers
};

}  // namespace weir::checksum
