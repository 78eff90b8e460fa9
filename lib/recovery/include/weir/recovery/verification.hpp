// SPDX-License-Identifier: Apache-2.0
// Proof of stored bytes: every byte of a closed file is read and held against what was promised when
// it was recorded. With the index every byte has a witness, so damage is named by file, event and
// offset, and what is damaged never hides what follows. Without one (files of other recorders) the
// structure and the checksums inside the events are checked, up to where the structure breaks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weir/catalogue/rows.hpp"
#include "weir/event/check.hpp"

namespace weir::recovery {

/// Something that is not as it was recorded.
struct Damage {
    std::filesystem::path path;
    std::optional<std::uint64_t> event;  // number in the file, from 1; nothing: not inside an event
    std::uint64_t offset = 0;            // in the file, of the damaged thing
    std::string reason;
    /// Its sums are those of its receipt: the sender made it so, and nothing happened to it here.
    bool as_received = false;
};

struct VerificationOptions {
    event::Depth depth = event::Depth::fragments;
    event::RodRules rules;
    unsigned threads = 1;              // files side by side
    bool from_disk = false;            // removes the file from the page cache before it is read
    std::size_t damages_max = 10'000;  // named in each file: so many damages, and as many that are as received
    std::function<void(std::uint64_t bytes)> progress;  // bytes read since the last call; from any thread
};

struct FileVerification {
    std::filesystem::path path;
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;  // read
    bool has_index = false;
    std::optional<std::uint32_t> adler32;  // of all bytes, when all could be read
    std::vector<Damage> damages;
};

/// `row`: its row in the catalogue, when it is known there.
[[nodiscard]] FileVerification verify_file(const std::filesystem::path& path, const catalogue::FileRow* row,
                                           const VerificationOptions& options);

struct VerificationReport {
    std::vector<FileVerification> files;  // in the order given
    std::vector<Damage> damages;          // of all files, and of what only shows between files

    [[nodiscard]] bool good() const noexcept { return damages.empty(); }
    [[nodiscard]] std::uint64_t files_good() const noexcept;
};

struct FileToVerify {
    std::filesystem::path path;
    std::optional<catalogue::FileRow> row;
};

/// Each file, that the data block numbers run on over the files of each sequence (but for files that count alone), and
/// that no recorder has stored a
/// copy of an event twice (its files' indexes name the sender and the number).
[[nodiscard]] VerificationReport verify_files(std::span<const FileToVerify> files, const VerificationOptions& options);

}  // namespace weir::recovery
