// SPDX-License-Identifier: Apache-2.0
// The recorder as a station of a partition: a recorder::Recorder for each run, on a port that stays the same. What is
// counted of a run can be asked for until the next one begins.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "stations/frame/station_command.hpp"
#include "stations/recorder/recorder_settings.hpp"
#include "weir/control/files_route.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/service/alarm_keeper.hpp"
#include "weir/transport/reserved_port.hpp"

namespace weir::app {

class RecorderStation final : public service::Station {
public:
    /// `senders_at_most`: how long a stop waits for senders, if its deadline is longer; what follows, the closing of
    /// files, takes as long as the disks take.
    RecorderStation(recorder::RecorderOptions options, std::string name, wire::StationId id,
                    const service::StationServices& services,
                    std::chrono::milliseconds senders_at_most = std::chrono::milliseconds::max());
    ~RecorderStation() override;

    [[nodiscard]] Result<> configure() override;
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override { return record(run, false); }
    [[nodiscard]] Result<> start_again(RunNumber run) override { return record(run, true); }
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override;
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    [[nodiscard]] service::StationStatus status() const override;
    [[nodiscard]] service::StationEvents events() const override;
    /// GET /files, once serve_files() was called.
    [[nodiscard]] std::vector<service::HttpRoute> routes() override;

    /// Its control port answers which files it has: in a partition, where it has no page of its own. Called before the
    /// frame starts.
    void serve_files();
    /// Of the run that goes on, or of the latest. Any thread.
    [[nodiscard]] recorder::RecorderSummary summary() const;
    /// The run's recorder, from start() until stop(): for the command that drives this station.
    [[nodiscard]] const recorder::Recorder& recorder() const;

private:
    Result<> record(RunNumber run, bool again);
    void end_recorder();

    const recorder::RecorderOptions options_;
    const std::string name_;
    const wire::StationId id_;
    const service::StationServices services_;
    const std::chrono::milliseconds senders_at_most_;
    std::optional<transport::ReservedPort> port_;
    std::optional<service::AlarmKeeper> alarms_;
    std::optional<control::FilesRoute> files_;

    mutable std::mutex mutex_;  // of what status() looks at
    std::unique_ptr<recorder::Recorder> recorder_;
    recorder::RecorderSummary last_{};
    std::optional<wire::EventIdSet> last_events_;  // of the run that has ended: see Recorder::stored_events()
    service::Metrics::Collection collection_;
};

/// The catalogue file of a recorder: its own, also when it is shared in a database.
[[nodiscard]] std::filesystem::path catalogue_file(const recorder::RecorderOptions& options);

/// What a recorder says of itself in a run. `unique_events`: each event counts once, however many streams it has.
[[nodiscard]] service::StationStatus status_of(const recorder::RecorderSummary& summary, bool unique_events);

/// [record.NAME] of a partition file.
class RecorderStationSettings final : public StationSettings {
public:
    RecorderStationSettings();
    void declare(service::Settings& settings, const std::string& section) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    [[nodiscard]] RecorderSettings with(const StationPlace& place) const;
    [[nodiscard]] Result<recorder::RecorderOptions> to_options(const StationPlace& place, RecorderSettings all) const;
    RecorderSettings settings_;
};

}  // namespace weir::app
