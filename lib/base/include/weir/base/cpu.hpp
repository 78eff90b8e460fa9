// SPDX-License-Identifier: Apache-2.0
// What the processor can do and how its cores are laid out. Read once and kept by the caller: in a virtual machine
// CPUID is a call to the hypervisor (about 4 us here), so it never stands on a call path.
#pragma once

#include <string>
#include <vector>

namespace weir {

/// Instruction sets that are present and enabled by the operating system. All false on other processors.
struct CpuFeatures {
    bool sse42 = false, pclmul = false, ssse3 = false;
    bool avx2 = false, vpclmul = false;
    bool avx512 = false;       // F, BW, VL and DQ together
    bool avx512_vnni = false;  // with avx512 and BMI2
    bool avx512_vbmi = false;  // with avx512
    bool avx_vnni = false;
    bool gfni = false;
    bool prefetch_helps =
        false;  // no instruction: asking for lines ahead pays when reading from memory (Intel's processors)
    bool neon = false, arm_crc32 = false;

    bool operator==(const CpuFeatures&) const = default;

    /// Asks the processor.
    [[nodiscard]] static CpuFeatures detect();
};

/// One logical processor that this process may run on.
struct LogicalCpu {
    int number = 0;   // as the kernel counts
    int core = 0;     // physical core (unique together with package)
    int package = 0;  // socket
    int sibling = 0;  // 0 = first thread of its core, 1 = second (SMT) ...

    bool operator==(const LogicalCpu&) const = default;
};

/// Physical cores first, their SMT siblings after them: the order in which threads should be placed.
[[nodiscard]] std::vector<LogicalCpu> cpu_topology();

/// Lays out raw (number, core, package) triples in that order; cpu_topology() of a test.
[[nodiscard]] std::vector<LogicalCpu> order_by_core(std::vector<LogicalCpu> cpus);

/// "AMD EPYC", from /proc/cpuinfo; "unknown" when that has no name.
[[nodiscard]] std::string cpu_model();

}  // namespace weir
