// SPDX-License-Identifier: Apache-2.0
// GET /files?run=N: streams, files and disks of a run. A recorder answers from its own catalogue; run control from the
// catalogues on its machine, and for recorders on other machines from what these answer.
// docs/formats/run-control-protocol.md.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/control/run_archive.hpp"
#include "weir/service/control_client.hpp"
#include "weir/service/http_server.hpp"

namespace weir::control {

class QuestionThread;

/// A recorder that is asked for its files.
struct RecorderPlace {
    std::string name{};
    std::string host{};     // its machine; empty: not known
    std::string control{};  // empty: it is not there
};

struct FilesRouteParts {
    RunArchivePlace here{};  // catalogues that can be read here
    /// On other machines; any thread. Empty function: there are none.
    std::function<std::vector<RecorderPlace>()> recorders{};
    /// The present run, or the last; any thread. Empty function, or no number: the newest that has files.
    std::function<std::optional<RunNumber>()> run{};
    std::optional<service::ControlTls> tls{};  // with which recorders are asked
};

/// Disks and stations are waited for on a thread of its own, one question at a time. An answer serves all that ask
/// within a second. A disk that hangs does not hold back the end.
class FilesRoute {
public:
    /// The clock, and what the functions use, outlive it.
    FilesRoute(FilesRouteParts parts, const Clock& clock);
    ~FilesRoute();
    FilesRoute(const FilesRoute&) = delete;
    FilesRoute& operator=(const FilesRoute&) = delete;

    /// This object outlives the server.
    [[nodiscard]] service::HttpRoute route();

private:
    class Work;
    std::shared_ptr<Work> work_;  // with the thread, which is left behind when a disk hangs
    std::unique_ptr<QuestionThread> thread_;
};

/// "12"; nothing: no number of a run.
[[nodiscard]] std::optional<RunNumber> parse_run_number(std::string_view text) noexcept;

}  // namespace weir::control
