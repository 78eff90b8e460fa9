// SPDX-License-Identifier: Apache-2.0
// The parts of the module; module.cpp puts them together.
#pragma once

#include <nanobind/nanobind.h>

namespace weir::python {

void bind_numbers(nanobind::module_& module);  // adler32, crc32, ...: the shapes of zlib
void bind_hash(nanobind::module_& module);     // new: the shape of hashlib
void bind_sums(nanobind::module_& module);     // sums, combine
void bind_file(nanobind::module_& module);     // sum: of a file
void bind_reading(nanobind::module_& module);  // what weir/reading.py stands on
void bind_senders(nanobind::module_& module);  // what weir/sending.py stands on

}  // namespace weir::python
