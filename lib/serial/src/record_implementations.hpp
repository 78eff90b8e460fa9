// SPDX-License-Identifier: Apache-2.0
// What the files that bind record plans to an instruction set offer to the list in record_kernels.cpp. Each may only be
// called on a processor that has what its line in the list asks for.
#pragma once

#include "weir/serial/record_plan.hpp"

namespace weir::serial {

void write_records_portable(const RecordPlan&, const std::byte* objects, std::size_t count, std::byte* wire) noexcept;
std::size_t read_records_portable(const RecordPlan&, const std::byte* wire, std::size_t count,
                                  std::byte* objects) noexcept;

}  // namespace weir::serial
