// SPDX-License-Identifier: Apache-2.0
// One file: the request and its outcome. A sum is there only when every byte was read without error
// from a file that was not changed meanwhile.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/digest/digest.hpp"
#include "weir/fixity/attributes.hpp"
#include "weir/fixity/block_map.hpp"
#include "weir/fixity/file_stamp.hpp"
#include "weir/fixity/input_file.hpp"
#include "weir/fixity/manifest.hpp"

namespace weir::fixity {

enum class Status {
    ok,          // summed; and as expected where something was expected
    mismatch,    // read without error, and not as expected
    missing,     // not there
    error,       // not opened, or not read to its end
    changed,     // it was written while it was read
    unverified,  // there was nothing to hold it against
    stale,       // there was, but some of it is of an older state of the file
    unchanged,   // not read: its attribute is current and has the expected sum (Job::trust)
    extra,       // it is there, and no manifest names it
    moved,  // the same, with the bytes of a file that a manifest names and that is not at its place (FileSum::same_as)
    duplicate,  // the same, with the bytes of one that is
    skipped,    // found by recursion, and nothing that has a sum: a FIFO, a socket, a symbolic link, what
                // Reading::leave_out says
    stopped,    // the work ended before this file did
};
/// "ok", "mismatch", ...
[[nodiscard]] const char* name(Status status) noexcept;

/// When the attribute of a file that is not read again must have been made: seconds since 1970.
struct Trust {
    std::int64_t from_s, until_s;
};

/// One file to sum.
struct Job {
    std::string path;
    Origin origin = Origin::named;
    std::vector<digest::Algorithm> algorithms;
    std::uint64_t block = 0;  // of a block map; 0: none
    AttributeUse attributes = AttributeUse::none;
    std::optional<std::uint64_t> device;  // of a file that is known to be regular: how many are read there at once

    /// The expected entry; none: nothing to compare with.
    std::unique_ptr<ManifestEntry> expected;
    /// Of a file with `expected`: it is not read when it is Status::unchanged. None: it is read.
    std::optional<Trust> trust;
    /// There is nothing to read, the outcome is known: a directory that cannot be read, a FIFO.
    std::optional<Status> settled;
    std::optional<Failure> failure;  // with `settled`
};

/// The outcome.
struct FileSum {
    std::string path;
    Status status = Status::ok;
    FileStamp stamp;                   // of a regular file that was opened
    std::uint64_t size = 0;            // bytes that were read
    std::vector<digest::Digest> sums;  // as the job's algorithms; empty unless all was read
    BlockMap blocks;
    std::optional<Failure> failure;  // with missing, error, changed
    Cache read_through = Cache::keep;
    AttributeOutcome attributes;
    std::unique_ptr<ManifestEntry> expected;
    Origin origin = Origin::named;
    std::string same_as;  // with moved and duplicate: the name that a manifest has for these bytes
};

}  // namespace weir::fixity
