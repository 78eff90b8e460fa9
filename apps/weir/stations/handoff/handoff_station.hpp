// SPDX-License-Identifier: Apache-2.0
// The hand-off as a station: a handoff::HandOff that works from the start of its first run until disconnect, also
// between runs. The end of a run waits for the files of that run, within its deadline; what is left then stays in the
// catalogue, and is handed over later.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "stations/frame/station_command.hpp"
#include "stations/handoff/handoff_settings.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/service/alarm_keeper.hpp"

namespace weir::app {

class HandOffStation final : public service::Station {
public:
    /// `settings` have a directory, and their options were checked.
    HandOffStation(HandOffSettings settings, std::string name, wire::StationId id,
                   const service::StationServices& services);
    /// Ends the process when a thread waits for a disk or a server that never answers. Nothing is lost by it: what was
    /// begun there is removed by the next start.
    ~HandOffStation() override;

    [[nodiscard]] Result<> configure() override { return {}; }
    [[nodiscard]] Peer self() const override;
    [[nodiscard]] Result<> connect(const std::vector<Peer>& peers) override;
    [[nodiscard]] Result<> start(RunNumber run) override;
    [[nodiscard]] Result<> stop(std::chrono::milliseconds deadline) override;
    [[nodiscard]] Result<> disconnect() override;
    [[nodiscard]] Result<> unconfigure() override { return {}; }
    [[nodiscard]] Result<> change_peers(const std::vector<Peer>& peers) override;
    /// Files since the run began, also those of earlier runs.
    [[nodiscard]] service::StationStatus status() const override;

    /// Since it began to work, or of all that it did. Any thread.
    [[nodiscard]] handoff::HandOffSummary summary() const;
    /// Of one that hands over only once: everything is done or abandoned. For the process of a station that runs alone.
    [[nodiscard]] bool wait_until_over(std::chrono::milliseconds at_most);
    /// After disconnect(), of one that ran alone: what has not reached the shared catalogue. In a partition it is a
    /// report.
    [[nodiscard]] const std::optional<std::string>& not_carried() const noexcept { return not_carried_; }

private:
    [[nodiscard]] Result<> begin(RunNumber run);
    [[nodiscard]] handoff::HandOffSummary summary_in_lock() const;

    const HandOffSettings settings_;
    const std::string name_;
    const wire::StationId id_;
    const service::StationServices services_;
    std::vector<std::unique_ptr<handoff::Destination>> destinations_;  // from connect() until it begins to work
    handoff::HandOffOptions options_;
    RunNumber run_{};  // none: it runs alone
    std::optional<std::string> not_carried_;

    // While it works:
    std::optional<catalogue::HandOffLock> lock_;
    std::unique_ptr<catalogue::Catalogue> catalogue_;
    std::optional<service::AlarmKeeper> alarms_;
    mutable std::mutex mutex_;  // of the next three, which status() looks at
    std::unique_ptr<handoff::HandOff> hand_off_;
    handoff::HandOffSummary last_{};        // when it does not work any more
    handoff::HandOffSummary before_run_{};  // of the same HandOff as hand_off_ or last_
    service::Metrics::Collection collection_;
    bool hangs_ = false;
};

/// [handoff.NAME] of a partition file.
class HandOffStationSettings final : public StationSettings {
public:
    /// The catalogue of its recorder, as the recorder's section names it.
    explicit HandOffStationSettings(std::string catalogue = {}) { settings_.catalogue = std::move(catalogue); }
    void declare(service::Settings& settings, const std::string& section) override;
    [[nodiscard]] Result<> check(const StationPlace& place) const override;
    [[nodiscard]] Result<std::unique_ptr<service::Station>> make(const StationPlace& place,
                                                                 const service::StationServices& services) override;

private:
    HandOffSettings settings_;
};

}  // namespace weir::app
