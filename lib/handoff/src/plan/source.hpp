// SPDX-License-Identifier: Apache-2.0
// The file that is handed over, read by weir's own reader and summed on the way.
#pragma once

#include <filesystem>

#include "transfer/transfer.hpp"

namespace weir::handoff {

/// Where the file lies here.
[[nodiscard]] inline std::filesystem::path path_of(const catalogue::FileRow& file) {
    return std::filesystem::path(file.volume) / file.name;
}

/// The sum of its bytes in the catalogue. Errc::refused: nothing in this algorithm, or no such sum.
[[nodiscard]] Result<digest::Digest> known_sum(const catalogue::FileRow& file, digest::Algorithm algorithm);

struct SourceSum {
    digest::Digest sum;
    std::uint64_t bytes = 0;
};

/// Why it did not work: the source, or the side that takes.
struct ReadFailure {
    Error error;
    bool of_source = true;
};

/// Reads `path` to its end into `upload`, or only for its sum when that is null. Bytes go out at the rate of the
/// options.
[[nodiscard]] std::expected<SourceSum, ReadFailure> read_source(const std::filesystem::path& path, Upload* upload,
                                                                const TransferOptions& options,
                                                                const std::stop_token& stop);

}  // namespace weir::handoff
