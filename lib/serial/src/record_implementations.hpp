// SPDX-License-Identifier: Apache-2.0
// The functions of the files that bind record plans to an instruction set, for the list in record_kernels.cpp. Each may
// only be called on a processor with the features that its line in the list requires.
#pragma once

#include "weir/serial/record_plan.hpp"

namespace weir::serial {

void write_records_portable(const RecordPlan&, const std::byte* objects, std::size_t count, std::byte* wire) noexcept;
std::size_t read_records_portable(const RecordPlan&, const std::byte* wire, std::size_t count,
                                  std::byte* objects) noexcept;
/// Integers of 2, 4 or 8 bytes into the other byte order.
void turn_portable(std::uint32_t integer, const std::byte* from, std::size_t size, std::byte* to) noexcept;

#if defined(__x86_64__)
void write_records_ssse3(const RecordPlan&, const std::byte* objects, std::size_t count, std::byte* wire) noexcept;
std::size_t read_records_ssse3(const RecordPlan&, const std::byte* wire, std::size_t count,
                               std::byte* objects) noexcept;
void write_records_avx2(const RecordPlan&, const std::byte* objects, std::size_t count, std::byte* wire) noexcept;
std::size_t read_records_avx2(const RecordPlan&, const std::byte* wire, std::size_t count, std::byte* objects) noexcept;
void write_records_avx512(const RecordPlan&, const std::byte* objects, std::size_t count, std::byte* wire) noexcept;
std::size_t read_records_avx512(const RecordPlan&, const std::byte* wire, std::size_t count,
                                std::byte* objects) noexcept;
void write_records_avx512_vbmi(const RecordPlan&, const std::byte* objects, std::size_t count,
                               std::byte* wire) noexcept;
std::size_t read_records_avx512_vbmi(const RecordPlan&, const std::byte* wire, std::size_t count,
                                     std::byte* objects) noexcept;
#endif

#if defined(__aarch64__)
void write_records_neon(const RecordPlan&, const std::byte* objects, std::size_t count, std::byte* wire) noexcept;
std::size_t read_records_neon(const RecordPlan&, const std::byte* wire, std::size_t count, std::byte* objects) noexcept;
#endif

}  // namespace weir::serial
