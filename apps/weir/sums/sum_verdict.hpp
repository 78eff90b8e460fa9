// SPDX-License-Identifier: Apache-2.0
// The result of many files, in numbers, and as an exit code. Shared by sum, check and scrub.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/fixity/file_sum.hpp"

namespace weir::app {

inline constexpr int exit_mismatch = 1;
inline constexpr int exit_read_error = 4;  // opened or read with an error
inline constexpr int exit_malformed = 5;   // a manifest that is empty or not understood
inline constexpr int exit_changed = 6;     // a file was written to while it was read
inline constexpr int exit_interrupted = 130;

struct SumVerdict {
    std::uint64_t ok = 0, mismatch = 0, missing = 0, error = 0, changed = 0, unverified = 0, stale = 0;
    std::uint64_t unchanged = 0;             // not read, their attributes are current and as in the manifest
    std::uint64_t extra = 0;                 // no file of a manifest
    std::uint64_t moved = 0, duplicate = 0;  // the same, with the bytes of one
    std::uint64_t not_stored = 0;            // of the others: their sums were to become attributes and did not
    std::uint64_t taken = 0;                 // of the unverified: sums from attributes
    std::uint64_t special = 0;               // FIFOs, sockets, devices that recursion met
    std::uint64_t links = 0;                 // symbolic links that it did not follow
    std::uint64_t stopped = 0;
    std::uint64_t malformed = 0;  // lines, or whole manifests
    std::uint64_t bytes = 0;
    bool interrupted = false;

    void count(const fixity::FileSum& file);
    [[nodiscard]] std::uint64_t files() const noexcept {
        return ok + mismatch + missing + error + changed + unverified + stale + unchanged;
    }
    /// The worst there was: mismatch before read errors, changed files, malformed manifests, missing files.
    [[nodiscard]] int exit_code() const noexcept;
};

/// The work could not begin or not be stored, reported in one line. As fail_with, but never the code of a mismatch.
[[nodiscard]] int fail_work(std::string_view command, const Error& error);
/// Runs the command; what it throws (no memory) is such an error too.
[[nodiscard]] int run_or_fail(std::string_view command, const std::function<int()>& run);
/// The exit code once stdout is checked too: what did not arrive there is an error, reported here.
[[nodiscard]] int end_with(std::string_view command, int code);

/// "3 of 5 files good, 1 mismatch, 1 missing; 12 GB in 3.10 s (3.9 GB/s)"
[[nodiscard]] std::string summary(const SumVerdict& verdict, double seconds);

/// "cannot read a.raw at offset 5242880: Input/output error; no sum was made"; empty when all is well. One line.
[[nodiscard]] std::string complaint(const fixity::FileSum& file);
/// "MISMATCH (crc32c is 00000000, expected 12345678; 1 of 9 blocks differs, at offset 1048576)": what a check prints.
[[nodiscard]] std::string finding(const fixity::FileSum& file);
/// {offset, errno, text}, null where there is no failure.
[[nodiscard]] boost::json::value json_error(const fixity::FileSum& file);
/// `path` and what else belongs to a file, for JSON: status, error and the rest, as fields behind others.
[[nodiscard]] std::string json_fields(const fixity::FileSum& file);
/// The fields at the end of the document, with a comma in front.
[[nodiscard]] std::string json_fields(const SumVerdict& verdict, double seconds);

}  // namespace weir::app
