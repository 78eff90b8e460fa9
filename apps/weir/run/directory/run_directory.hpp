// SPDX-License-Identifier: Apache-2.0
// What lies where below the directory of a weir run: D/log/NAME.log, D/run-number, D/run-control.json,
// D/run-partition.toml, D/run-result.json; the recorder's files in D itself, or, when there are several recorders, in
// D/NAME of each, unless their sections name directories.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/control/catalogue_keeper.hpp"
#include "weir/control/partition.hpp"

namespace weir::app {

class RunDirectory {
public:
    /// Makes what is not there.
    [[nodiscard]] static Result<RunDirectory> prepare(const std::filesystem::path& directory, std::string_view text,
                                                      const control::Partition& partition);

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return directory_; }
    /// The partition file that is in effect, from which every station reads: what becomes of the file that it was read
    /// from does not change a run.
    [[nodiscard]] std::filesystem::path partition_file() const { return partition_file(directory_); }
    [[nodiscard]] static std::filesystem::path partition_file(const std::filesystem::path& directory) {
        return directory / "run-partition.toml";
    }
    [[nodiscard]] Result<> write_partition_file(std::string_view text) const;
    /// What the last run left, as weir run --json prints it: for who asks when run control has just ended.
    [[nodiscard]] static std::filesystem::path result_file(const std::filesystem::path& directory) {
        return directory / "run-result.json";
    }
    [[nodiscard]] std::filesystem::path log_of(const std::string& name) const {
        return directory_ / "log" / (name + ".log");
    }
    /// What a recorder needs on its command line, unless its section names directories, and what a hand-off needs to
    /// find the files of its recorder. Nothing for other stations.
    [[nodiscard]] std::vector<std::string> arguments_of(const control::StationEntry& station) const;
    /// The books of a recorder on another machine: its name, its first directory, the text of its key `catalogue`.
    using BooksOf =
        std::function<std::shared_ptr<control::RunBooks>(const std::string&, const std::string&, const std::string&)>;
    [[nodiscard]] std::vector<control::RecorderCatalogue> catalogues(const BooksOf& books_elsewhere) const;
    /// Of the recorders on this machine, be they there already or not.
    [[nodiscard]] std::vector<std::filesystem::path> catalogue_files() const;

private:
    struct Recorder {
        std::string name;
        std::filesystem::path directory;        // the first
        std::string catalogue;                  // as in its section
        bool named = false;                     // by its section
        std::optional<std::string> checksum{};  // of the hand-off that hands its files over
    };
    RunDirectory() = default;

    std::filesystem::path directory_;
    bool on_hosts_ = false;
    std::vector<Recorder> recorders_;
};

}  // namespace weir::app
