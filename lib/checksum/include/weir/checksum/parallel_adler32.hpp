// SPDX-License-Identifier: Apache-2.0
// adler32 of one event by several threads (F. Le Goff and G. Avolio): the event is split, the parts are
// summed side by side, the sums joined. All hand-over schemes of the paper are kept, so that its figures
// can be drawn again, and one is ours.
//
// The cost of a hand-over decides. Starting a thread or waking a sleeping one costs tens of
// microseconds; a worker that is spinning takes over in the time that a cache line
// travels. With a fast kernel most events are summed sooner than another thread could begin: below the
// cutoff a call is the plain call. Spend further threads on other events first.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "weir/base/data.hpp"
#include "weir/checksum/kernels.hpp"
#include "weir/checksum/workers.hpp"

namespace weir::checksum {

/// How a part reaches another thread, and how its sum comes back.
enum class Scheme {
    thread_per_chunk,     // (i)   a new thread for every part
    condition_both_ways,  // (ii)  condition variables to distribute and to wait for the result
    condition_then_spin,  // (iii) a condition variable to distribute, busy waiting for the result
    spin_then_sleep,      // (iv)  ours: workers look out for a bounded time before they sleep
};

/// Whose loop sums the parts.
enum class AdlerKernel {
    ours,  // the best of adler32_kernels()
    zlib,  // used by programs without weir; the paper's
};

[[nodiscard]] std::string_view name(Scheme scheme) noexcept;
[[nodiscard]] std::string_view name(AdlerKernel kernel) noexcept;

struct ParallelOptions {
    static constexpr unsigned threads_max = WorkerOptions::threads_max;
    static constexpr std::size_t never = std::numeric_limits<std::size_t>::max();

    unsigned threads = 0;    // workers beside the caller, who always sums one part; 0 = off
    std::size_t cutoff = 0;  // bytes from which an event is split; 0 = measure it at construction
    Scheme scheme = Scheme::spin_then_sleep;
    AdlerKernel kernel = AdlerKernel::ours;
    bool pin = false;       // each worker stays on one logical processor
    std::vector<int> cpus;  // for pinning, in this order; empty = cpu_topology() without its first: physical
                            // cores first, one left to the callers
    std::chrono::nanoseconds spin{50'000};  // scheme iv: a worker without work looks out that long
};

class Handover;

/// A drop-in for adler32(). Calls may come from several threads at once; each is independent of the
/// others. Destroy it when no call is in progress: workers of its own are stopped and joined. In a child of fork(),
/// which has no workers, every call is the plain call.
class ParallelAdler32 {
public:
    /// Starts the workers (scheme i has none). Calibration takes a few milliseconds.
    /// At most ParallelOptions::threads_max threads.
    explicit ParallelAdler32(const ParallelOptions& options);
    /// Scheme iv with a pool that others use, too; it lives as long as the last of them. Off when the pool is.
    /// `cutoff` as in the options.
    ParallelAdler32(std::shared_ptr<Workers> workers, std::size_t cutoff, AdlerKernel kernel = AdlerKernel::ours);
    ~ParallelAdler32();
    ParallelAdler32(const ParallelAdler32&) = delete;
    ParallelAdler32& operator=(const ParallelAdler32&) = delete;

    [[nodiscard]] std::uint32_t operator()(ConstData data, std::uint32_t value = 1) noexcept {
        if (data.size() < cutoff_) [[likely]]
            return kernel_(data, value);
        return split(data, value);
    }

    /// Bytes from which a call is split, as set or measured; ParallelOptions::never when off, or when
    /// splitting did not win at any size.
    [[nodiscard]] std::size_t cutoff() const noexcept { return cutoff_; }

    /// Workers that there are; fewer than asked for only when the system had no more threads. 0 when off and in a child
    /// of fork().
    [[nodiscard]] unsigned threads() const noexcept;

    /// Workers that were to be pinned and could not be (their processor is not ours to use).
    [[nodiscard]] unsigned pins_refused() const noexcept;

private:
    void split_by(std::unique_ptr<Handover> handover, std::size_t cutoff);
    [[nodiscard]] std::uint32_t split(ConstData data, std::uint32_t value) noexcept;

    SumFunction* kernel_;
    std::size_t cutoff_ = ParallelOptions::never;
    unsigned born_;  // fork_generation() of the process that has the workers
    std::unique_ptr<Handover> handover_;
};

}  // namespace weir::checksum
