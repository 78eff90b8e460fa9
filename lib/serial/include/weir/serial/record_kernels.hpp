// SPDX-License-Identifier: Apache-2.0
// The one list of implementations of record plans: the choice, the tests and the benchmarks all walk it. The
// portable one, which defines what is right, stands first; the best one last.
#pragma once

#include <span>
#include <string_view>

#include "weir/base/cpu.hpp"
#include "weir/serial/record_plan.hpp"

namespace weir::serial {

struct RecordKernel {
    std::string_view name;
    bool (*usable)(const CpuFeatures&) noexcept;  // on a processor with these features
    WriteRecordsFunction* write;
    ReadRecordsFunction* read;
};

[[nodiscard]] std::span<const RecordKernel> record_kernels() noexcept;

/// The best kernel of a list for a processor with these features.
[[nodiscard]] constexpr const RecordKernel& best(std::span<const RecordKernel> kernels,
                                                 const CpuFeatures& features) noexcept {
    const auto* chosen = &kernels.front();
    for (const auto& kernel : kernels)
        if (kernel.usable(features)) chosen = &kernel;
    return *chosen;
}

}  // namespace weir::serial
