// SPDX-License-Identifier: Apache-2.0
// One file from being opened to its outcome. The reading between is one thread's (sum_whole) or many
// threads' (split_file.hpp).
#pragma once

#include <optional>

#include "weir/fixity/file_sum.hpp"
#include "weir/fixity/pieces.hpp"

namespace weir::fixity {

struct FileWork {
    FileSum result;
    std::optional<InputFile> file;              // none: the result stands already
    std::vector<digest::Algorithm> algorithms;  // to be made: the job's, then those of attributes and manifest
    std::size_t asked = 0;                      // how many of them are the job's
    std::uint64_t block = 0;
    AttributeUse attributes = AttributeUse::none;
    bool cross_check = false;  // read by one thread: sum_twice (cross_check.hpp)
};

/// The bytes that were read, or the reason why not all were.
struct ReadOutcome {
    std::expected<std::uint64_t, Failure> bytes;
    std::vector<digest::Digest> sums;  // as FileWork::algorithms
    std::vector<std::uint32_t> block_sums;
};

[[nodiscard]] FileWork begin_file(Job job, const Reading& how);
[[nodiscard]] ReadOutcome sum_whole(const FileWork& work, PieceReader& reader);
/// Holds it against stamps, manifest and attributes; writes attributes; closes.
[[nodiscard]] FileSum finish_file(FileWork work, ReadOutcome outcome, const Clock& clock);

}  // namespace weir::fixity
