// SPDX-License-Identifier: Apache-2.0
#include "parallel/worker_threads.hpp"

#include "weir/base/cpu.hpp"

namespace weir::checksum {

std::vector<int> worker_cpus(std::size_t workers, std::span<const int> cpus) {
    std::vector<int> from(cpus.begin(), cpus.end());
    if (from.empty()) {
        for (const auto& cpu : cpu_topology()) from.push_back(cpu.number);
        if (from.size() > 1) from.erase(from.begin());
    }
    std::vector<int> of_workers;
    for (std::size_t i = 0; i < workers; ++i) of_workers.push_back(from[i % from.size()]);
    return of_workers;
}

bool pin_thread(pthread_t thread, int cpu) noexcept {
    if (cpu < 0 || cpu >= CPU_SETSIZE) return false;
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(cpu), &set);
    return pthread_setaffinity_np(thread, sizeof set, &set) == 0;
}

KeptAway::KeptAway(pthread_t thread, int cpu) noexcept : thread_(thread) {
    if (cpu < 0 || cpu >= CPU_SETSIZE || pthread_getaffinity_np(thread, sizeof allowed_, &allowed_) != 0) return;
    auto others = allowed_;
    CPU_CLR(static_cast<unsigned>(cpu), &others);
    moved_ = CPU_COUNT(&others) != 0 && pthread_setaffinity_np(thread, sizeof others, &others) == 0;
}

KeptAway::~KeptAway() {
    if (moved_) static_cast<void>(pthread_setaffinity_np(thread_, sizeof allowed_, &allowed_));
}

}  // namespace weir::checksum
