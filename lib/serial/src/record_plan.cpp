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

}  // namespace

void write_records(const RecordPlan& plan, const std::byte* objects, std::size_t count, std::byte* wire) noexcept {
    static WriteRecordsFunction* const write = chosen().write;
    write(plan, objects, count, wire);
}

std::size_t read_records(const RecordPlan& plan, const std::byte* wire, std::size_t count,
                         std::byte* objects) noexcept {
    static ReadRecordsFunction* const read = chosen().read;
    return read(plan, wire, count, objects);
}

std::string_view record_kernel_name() noexcept { return chosen().name; }

RecordPlan prepare_at_run_time(std::span<const WireByte> bytes, std::size_t object_size, std::span<RecordField> fields,
                               std::span<RecordStep<16>> narrow, std::span<RecordStep<64>> wide) noexcept {
    return prepare(bytes, object_size, fields, narrow, wide);
}

}  // namespace weir::serial
