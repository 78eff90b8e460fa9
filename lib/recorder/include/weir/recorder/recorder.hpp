// SPDX-License-Identifier: Apache-2.0
// The recorder: receives events of one run, stores each once per stream tag, acknowledges what is on stable storage.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/file.hpp"
#include "weir/base/ids.hpp"
#include "weir/base/report.hpp"
#include "weir/base/result.hpp"
#include "weir/recorder/recorder_options.hpp"
#include "weir/recorder/recorder_summary.hpp"
#include "weir/wire/event_id_set.hpp"

namespace weir::recorder {

class Recording;

class Recorder {
public:
    /// Takes the directories, recovers what an earlier recorder left there, opens the run, listens.
    /// `report` may be called from any thread until the recorder is gone.
    [[nodiscard]] static Result<std::unique_ptr<Recorder>> open(RecorderOptions options, Reporter report,
                                                                const Clock& clock,
                                                                FileSystem& system = real_file_system());
    ~Recorder();  // as after a crash when stop() was not called: files stay as they are
    Recorder(const Recorder&) = delete;
    Recorder& operator=(const Recorder&) = delete;

    void start();

    /// No new events; what is in hand is stored and acknowledged (or left to its sender at the deadline), every
    /// file closed, the run closed in the catalogue. Error: what failed while recording or closing.
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline);

    /// Why nothing can be recorded now: every volume has failed. The senders wait; it passes when a volume comes
    /// back. A disk that is full is no failure.
    [[nodiscard]] std::optional<Error> failure() const;

    [[nodiscard]] RunNumber run() const noexcept;
    /// The run was left open by a crash, and goes on.
    [[nodiscard]] bool continued() const noexcept;
    [[nodiscard]] std::uint16_t port() const noexcept;
    [[nodiscard]] RecorderSummary summary() const;
    /// With unique_events: the events of the run of which all copies are durable, whichever process recorded them.
    /// Nothing: some were taken without the check.
    [[nodiscard]] std::optional<wire::EventIdSet> stored_events() const;
    /// One line a volume: directory and how it is written.
    [[nodiscard]] std::vector<std::string> volumes() const;

    /// When the recorder's own certificate ends; nothing without TLS.
    [[nodiscard]] std::optional<WallTime> certificate_ends() const;

private:
    explicit Recorder(std::unique_ptr<Recording> recording);

    const std::unique_ptr<Recording> recording_;
};

}  // namespace weir::recorder
