// SPDX-License-Identifier: Apache-2.0
// What is left of the runs of a run control: their records in its directory, and their files in the catalogues of the
// recorders, as documents for the page. docs/formats/run-control-protocol.md.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"

namespace weir::control {

struct RunArchivePlace {
    std::filesystem::path directory{};  // of run control: the records
    /// That can be read here; those that are not there yet count as empty.
    std::vector<std::filesystem::path> catalogues{};
};

/// One thread. Reads disks, and so waits.
class RunArchive {
public:
    explicit RunArchive(RunArchivePlace place) : place_(std::move(place)) {}

    /// {"runs":[...], "all":n}: those of which number, comment, parameters or problems contain the text (ASCII letters
    /// alike; in the first 32 KiB of them), 200 at most, the newest first, each with the begin of its texts.
    [[nodiscard]] Result<boost::json::object> runs(std::string_view text);
    /// One run with its partition file and its changes. Errc::refused: there is no record of it.
    [[nodiscard]] Result<boost::json::object> run(RunNumber number) const;
    /// {"run", "streams", "files", "left_out", "volumes", "troubles", "silent"}: of a run, or of the newest that has
    /// files.
    [[nodiscard]] Result<boost::json::object> files(std::optional<RunNumber> number) const;

private:
    struct Known {
        std::filesystem::file_time_type changed{};
        boost::json::object summary{};
        std::string text{};  // in which is searched, in lower case
    };
    const RunArchivePlace place_;
    std::map<std::filesystem::path, Known> known_;  // so that each record is read once
};

}  // namespace weir::control
