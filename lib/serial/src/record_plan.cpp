// SPDX-License-Identifier: Apache-2.0
// Choice of the kernel.
#include "weir/serial/record_plan.hpp"

#include "weir/serial/record_kernels.hpp"

namespace weir::serial {
namespace {

const RecordKernel& chosen() noexcept {
    static const RecordKernel& kernel = best(record_kernels(), CpuFeatures::detect());
    return kernel;
}

void choose_and_write(const RecordPlan& plan, const std::byte* objects, std::size_t count, std::byte* wire) noexcept {
    kernels_in_use.write.store(chosen().write, std::memory_order_relaxed);
    chosen().write(plan, objects, count, wire);
}

std::size_t choose_and_read(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                            std::byte* objects) noexcept {
    kernels_in_use.read.store(chosen().read, std::memory_order_relaxed);
    return chosen().read(plan, wire, count, objects);
}

}  // namespace

constinit KernelsInUse kernels_in_use{choose_and_write, choose_and_read};

std::string_view record_kernel_name() noexcept { return chosen().name; }

RecordPlan prepare_at_run_time(std::span<const WireByte> bytes, std::size_t object_size, std::span<RecordField> fields,
                               std::span<RecordStep<16>> narrow, std::span<RecordStep<64>> wide) noexcept {
    return prepare(bytes, object_size, fields, narrow, wide);
}

}  // namespace weir::serial
