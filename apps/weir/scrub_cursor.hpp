// SPDX-License-Identifier: Apache-2.0
// How far a scrub has come, in a small file, so that the next one goes on there; and the same numbers for
// Prometheus' node_exporter (its textfile collector). Both are replaced as a whole, never half written.
#pragma once

#include <filesystem>
#include <string>

#include "sum_verdict.hpp"
#include "weir/base/clock.hpp"

namespace weir::app {

struct ScrubCursor {
    std::string root;   // of which directory
    std::string after;  // everything up to this path is done; empty: nothing yet
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
