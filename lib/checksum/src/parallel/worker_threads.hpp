// SPDX-License-Identifier: Apache-2.0
// Where worker threads run, and threads that may be missing.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <span>
#include <thread>
#include <vector>

#include "weir/base/start_thread.hpp"

namespace weir::checksum {

/// The logical processor of each worker that is to be pinned, in turn from `cpus`; when that is empty, from
/// cpu_topology() without its first.
[[nodiscard]] std::vector<int> worker_cpus(std::size_t workers, std::span<const int> cpus);

/// Moves a thread to one logical processor for good; false when the kernel refuses.
[[nodiscard]] bool pin_thread(pthread_t thread, int cpu) noexcept;

/// While this lives a thread that sleeps is not woken on one logical processor, unless it may run on no other. The
/// kernel likes to wake a thread where it last ran. When its waker runs there now, on a machine with few
/// processors, it takes that one's place: instead of help the caller gets the time that a worker looks out.
class KeptAway {
public:
    KeptAway(pthread_t thread, int cpu) noexcept;
    ~KeptAway();
    KeptAway(const KeptAway&) = delete;
    KeptAway& operator=(const KeptAway&) = delete;

private:
    pthread_t thread_;
    cpu_set_t allowed_;
    bool moved_ = false;
};

}  // namespace weir::checksum
