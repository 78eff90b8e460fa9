// SPDX-License-Identifier: Apache-2.0
// What a run control that is killed leaves of its run: small files with the run's number, its counts and its peers,
// removed at its end. Who finds the first one knows that the run was not stopped.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/ids.hpp"
#include "weir/base/result.hpp"
#include "weir/wire/peer.hpp"

namespace weir::control {

/// One thread.
class OpenRun {
public:
    struct Left {
        RunNumber run{};
        std::map<std::string, std::string> counts{};  // none: a power cut took them
        std::vector<Peer> peers{};
    };

    /// In a directory: run-open.json, run-counts.json and run-peers.json.
    explicit OpenRun(std::filesystem::path directory) : directory_(std::move(directory)) {}
    [[nodiscard]] static std::filesystem::path file(const std::filesystem::path& directory) {
        return directory / "run-open.json";
    }

    /// The first note of a run is synced; later counts are not: after a power cut older ones, or none, may be found.
    [[nodiscard]] Result<> note(RunNumber run, const std::map<std::string, std::string>& counts);
    [[nodiscard]] Result<> note(RunNumber run, const std::vector<Peer>& peers);
    void over() noexcept;
    /// Nothing: no run was left. Errc::corrupt: a file that is none of ours.
    [[nodiscard]] Result<std::optional<Left>> left() const;
    /// Of that, the number alone: a look at one small file.
    [[nodiscard]] Result<std::optional<RunNumber>> number_left() const;

private:
    [[nodiscard]] Result<> open(RunNumber run);

    std::filesystem::path directory_;
    RunNumber noted_{};
};

}  // namespace weir::control
