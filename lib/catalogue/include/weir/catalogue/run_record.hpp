// SPDX-License-Identifier: Apache-2.0
// The record of a run: with which partition file and options it was taken, by which weir, and every change while it
// went on. It is enough to take the run again. docs/formats/run-record.md.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::catalogue {

/// What was changed in a run.
struct RunChange {
    WallTime when{};
    std::string what{};     // "mask", "unmask", "pause", "resume", "replace", "stop"
    std::string subject{};  // a source or station
    std::string who{};      // a person; "rule", "run control"
    std::string why{};
    std::optional<Level1Id> from{};  // of a mask: the first event for which it counts; nothing: all of the run

    bool operator==(const RunChange&) const = default;
};

struct RunRecord {
    RunNumber run{};
    std::string weir{};       // the version
    std::string file{};       // where the partition file was
    std::string directory{};  // in which run control was started: relative paths begin there
    std::string text{};       // of the partition file as it was in effect
    std::string sha256{};     // of the text, in hex
    // Options that go before the file.
    std::vector<std::string> sources{};     // files that readouts replay
    std::optional<std::uint64_t> events{};  // how many
    std::string duration{};                 // empty: no limit

    WallTime started{};
    std::map<std::string, std::string> parameters{};  // comment, counts, why it stopped: those of the catalogue
    std::vector<RunChange> changes{};
    std::uint64_t changes_left_out = 0;  // there were more than are kept

    /// Sources that were masked in all of the run: by its changes.
    [[nodiscard]] std::vector<std::string> masked_from_begin() const;

    bool operator==(const RunRecord&) const = default;
};

[[nodiscard]] boost::json::object to_json(const RunChange& change);
/// The document, on one line that ends.
[[nodiscard]] std::string to_text(const RunRecord& record);
/// Errc::corrupt: it is none; Errc::unsupported: of a later version.
[[nodiscard]] Result<RunRecord> parse_run_record(std::string_view text);

}  // namespace weir::catalogue
