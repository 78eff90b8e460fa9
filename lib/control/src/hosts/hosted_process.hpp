// SPDX-License-Identifier: Apache-2.0
// What run control holds of a station on another machine: its process, the link to it, and the lines of its log, all
// through the agent there.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "hosts/host_table.hpp"
#include "weir/control/launcher.hpp"
#include "weir/control/station_link.hpp"

namespace weir::control {

class HostedProcess final : public LaunchedProcess {
public:
    HostedProcess(std::shared_ptr<HostTable> table, HostTable::SlotPointer slot)
        : table_(std::move(table)), slot_(std::move(slot)) {}
    ~HostedProcess() override { table_->drop(slot_); }
    HostedProcess(const HostedProcess&) = delete;
    HostedProcess& operator=(const HostedProcess&) = delete;

    [[nodiscard]] std::int64_t pid() const noexcept override;
    [[nodiscard]] std::optional<std::string> announcement() override;
    [[nodiscard]] std::optional<ProcessEnd> ended() override;
    void terminate() noexcept override { table_->terminate(slot_); }
    void kill() noexcept override { table_->kill(slot_); }
    [[nodiscard]] bool waits() const override;
    [[nodiscard]] std::string waits_for() const override { return table_->waits_for(slot_); }
    [[nodiscard]] std::string host() const override;

private:
    const std::shared_ptr<HostTable> table_;
    const HostTable::SlotPointer slot_;
};

/// Calls, and reports with events, go to the station through its agent; other reports come with the agent's polls.
class HostedLink final : public StationLink {
public:
    /// `address`: as HostedProcess announces it, "10.77.0.11:7400/stations/ros-1".
    HostedLink(std::shared_ptr<HostTable> table, const std::string& address);

    void call(const service::StationRequest& request) override { direct_->call(request); }
    [[nodiscard]] std::optional<CallAnswer> answer() override { return direct_->answer(); }
    void ask(bool with_events) override;
    [[nodiscard]] std::optional<Result<service::StationReport>> report() override;

private:
    const std::shared_ptr<HostTable> table_;
    const std::string name_;
    const std::unique_ptr<StationLink> direct_;
    bool direct_asked_ = false;
    std::optional<std::uint64_t> poll_;
};

class HostedLines final : public LogLines {
public:
    HostedLines(std::shared_ptr<HostTable> table, std::string name)
        : table_(std::move(table)), name_(std::move(name)) {}
    void read(const std::function<void(std::string_view line)>& line) override;

private:
    const std::shared_ptr<HostTable> table_;
    const std::string name_;
};

}  // namespace weir::control
