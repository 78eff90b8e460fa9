// SPDX-License-Identifier: Apache-2.0
// What a sum adds to reading a file: the same file read and summed by one thread in turn, and read by a thread
// ahead while another sums. A part of `weir bench checksum`.
#pragma once

#include <filesystem>
#include <vector>

#include "figures/rows.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/result.hpp"

namespace weir::app {

/// Writes a file of `size` into `directory` and removes it again. Rows "file" in GB/s of elapsed time, since waiting is
/// what it is about: reading alone, md5 and adler32, in turn and overlapped, from the page cache and from the device.
[[nodiscard]] Result<std::vector<BenchRow>> bench_file_reading(const std::filesystem::path& directory, Bytes size,
                                                               std::size_t repetitions);

}  // namespace weir::app
