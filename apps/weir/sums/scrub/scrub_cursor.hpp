// SPDX-License-Identifier: Apache-2.0
// How far a scrub has come, as text in a small file (scrub_state.hpp), so that the next one goes on there; and the same
// numbers for Prometheus' node_exporter (its textfile collector).
#pragma once

#include <filesystem>
#include <string>

#include "sums/sum_verdict.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {

struct ScrubCursor {
    std::string root;  // of which directory: its absolute path, and what it is
    std::uint64_t device = 0, inode = 0;
    std::string after;         // everything up to this path below root is done; empty: nothing yet
    std::int64_t begun_s = 0;  // when this pass began, seconds since 1970
    SumVerdict verdict;        // of this pass so far

    bool operator==(const ScrubCursor&) const = delete;
};

/// Text of lines "key value"; names in hexadecimal.
[[nodiscard]] std::string encode(const ScrubCursor& cursor);
/// Errc::corrupt: not a cursor.
[[nodiscard]] Result<ScrubCursor> decode_cursor(std::string_view text);

/// The text for Prometheus; `complete`: the pass came to its end.
[[nodiscard]] std::string metrics(const ScrubCursor& cursor, bool complete, WallTime now);

}  // namespace weir::app
