// SPDX-License-Identifier: Apache-2.0
#include "figures/machine.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>

#include "weir/base/cpu.hpp"
#include "weir/checksum/adler32.hpp"
#include "weir/checksum/copy_and_sum.hpp"
#include "weir/checksum/crc32c.hpp"

namespace weir::app {

Machine Machine::here() {
    Machine machine;
    machine.processor = cpu_model();
    utsname system{};
    ::uname(&system);
    machine.kernel = system.release;
#if defined(__clang__)
    machine.compiler = "clang " __clang_version__;
#else
    machine.compiler = "g++ " __VERSION__;
#endif
    machine.kernels = fmt::format("adler32 {}, crc32c {}, copy {}", checksum::adler32_name(), checksum::crc32c_name(),
                                  checksum::non_temporal_name());
    const auto cpus = cpu_topology();
    machine.threads = static_cast<unsigned>(cpus.size());
    machine.cores = static_cast<unsigned>(std::ranges::count(cpus, 0, &LogicalCpu::sibling));
    machine.memory_bytes =
        static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
    return machine;
}

std::chrono::nanoseconds cpu_time() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto nanoseconds = [](const timeval& t) {
        return std::chrono::seconds{t.tv_sec} + std::chrono::microseconds{t.tv_usec};
    };
    return nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime);
}

Spread spread_of(std::vector<double> values) {
    if (values.empty()) return {};
    std::ranges::sort(values);
    const auto middle = values.size() / 2;
    const double median = values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
    return {median, values.front(), values.back(), values.size()};
}

}  // namespace weir::app
