// SPDX-License-Identifier: Apache-2.0
// The list: portable first, best last.
#include "weir/serial/record_kernels.hpp"

#include "record_implementations.hpp"

namespace weir::serial {
namespace {

constexpr bool always(const CpuFeatures&) noexcept { return true; }

constexpr RecordKernel list[] = {
    {"portable", always, write_records_portable, read_records_portable},
};

}  // namespace

std::span<const RecordKernel> record_kernels() noexcept { return list; }

}  // namespace weir::serial
