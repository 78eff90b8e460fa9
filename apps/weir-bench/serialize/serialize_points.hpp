// SPDX-License-Identifier: Apache-2.0
// What was measured of one candidate at one place (a subject, a way, a number of threads), and what follows from it:
// the scaling with threads, the distance from the limit, the distance from ROOT.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "figures/rows.hpp"
#include "peers/windows.hpp"

namespace weir::app {

struct SerializePoint {
    std::string candidate, subject;  // "weir object-wise"; "10", "1000", "event"
    bool writes = true;
    unsigned threads = 1;
    std::uint64_t bytes = 0;
    std::vector<jobs::Figures> visits{};

    [[nodiscard]] bool ours() const { return candidate.starts_with("weir"); }
    [[nodiscard]] const char* way() const { return writes ? "serialise" : "deserialise"; }
    [[nodiscard]] std::size_t counted() const;
    [[nodiscard]] std::size_t taken() const;
    /// Seconds of one operation of one thread: the best batch that counts, 0 when none does; the medians of the visits.
    [[nodiscard]] double best() const;
    [[nodiscard]] Spread medians() const;
};

using SerializePoints = std::vector<SerializePoint>;

[[nodiscard]] const SerializePoint* find_point(const SerializePoints& points, std::string_view candidate,
                                               std::string_view subject, bool writes, unsigned threads = 1);

/// How many times what one thread does all of them do together: by the best batches, and visit by visit.
[[nodiscard]] double scaling(const SerializePoint& one, const SerializePoint& many);
[[nodiscard]] Spread scaling_of_visits(const SerializePoint& one, const SerializePoint& many);

/// One thing that one run has to show.
struct SerializeTarget {
    std::string what;
    double value = 0, wanted = 0;
    bool at_least = true;
    [[nodiscard]] bool met() const { return at_least ? value >= wanted : value <= wanted; }
};
/// Those for which all that they compare was measured.
[[nodiscard]] std::vector<SerializeTarget> serialize_targets(const SerializePoints& points);

[[nodiscard]] std::vector<BenchRow> serialize_rows(const SerializePoints& points);

}  // namespace weir::app
