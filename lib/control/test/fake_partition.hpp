// SPDX-License-Identifier: Apache-2.0
// Stations made by hand: their processes and control ports are a few fields that a test sets, and their time stands
// still until the test moves it.
#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "weir/control/run_control.hpp"

namespace weir::control {

struct FakeStation {
    StationEntry entry;
    int processes = 0;  // that were started so far
    bool alive = false;
    bool mute = false;  // answers nothing, as a process that is stopped
    bool deaf_to_sigterm = false;
    std::string hangs_in;         // never answers this transition
    std::string refuses;          // answers no to this one
    std::string loses_answer_to;  // once: makes it, and the answer is lost
    std::string loses_call_of;    // once: never gets it
    service::StationReport report{};
    service::StationEvents events{};
    std::vector<Peer> peers{};
    std::vector<service::SourceMask> masks{};
    std::optional<RunNumber> started{};
    bool started_again = false;
    bool mute_events = false;  // it answers how it is, but not which events it means
    std::vector<SourceId> sources{};

    /// As run control sends it to others: with its control port.
    [[nodiscard]] Peer as_peer() const {
        auto peer = report.self.value();
        peer.control = fmt::format("{}#{}", entry.name, processes);
        return peer;
    }
};

struct FakeWorld {
    std::map<std::string, FakeStation> stations;
    std::vector<std::string> calls;  // "sfi-1 start"
    std::vector<std::string> kept;   // "7 comment=..."
    std::uint32_t last_run = 0;
    std::optional<std::map<std::string, std::string>> open{};  // the counts of a run that goes on
    std::vector<Peer> peers{};                                 // as they were noted
    RunChanges changes{};
    int changes_noted = 0;
    bool keeping_fails = false;
    bool no_number = false;         // for a run
    bool run_control_dies = false;  // and leaves its stations
    bool left = false;              // by another run control: stations may be adopted
    HandOffAccount files{};         // of every run

    [[nodiscard]] std::size_t place(const std::string& call, std::size_t from = 0) const {
        for (auto i = from; i < calls.size(); ++i) {
            if (calls[i] == call) return i;
        }
        return calls.size() + 1000;
    }
    [[nodiscard]] std::size_t count(const std::string& call) const {
        return static_cast<std::size_t>(std::ranges::count(calls, call));
    }
    void kill(const std::string& name) { stations.at(name).alive = false; }
};

class FakeProcess final : public LaunchedProcess {
public:
    FakeProcess(FakeWorld& world, std::string name, int number)
        : world_(world), name_(std::move(name)), number_(number) {}
    ~FakeProcess() override {
        if (!world_.run_control_dies) kill();
    }
    [[nodiscard]] std::int64_t pid() const noexcept override { return 1000 + number_; }
    [[nodiscard]] std::optional<std::string> announcement() override {
        const auto& station = world_.stations.at(name_);
        return fmt::format(R"({{"station":"{0}","kind":"{1}","control":"{0}#{2}"}})", name_, name(station.entry.kind),
                           number_);
    }
    [[nodiscard]] std::optional<ProcessEnd> ended() override {
        return mine().alive ? std::nullopt : std::optional(ProcessEnd{0, 9, {}});
    }
    void terminate() noexcept override {
        if (!mine().deaf_to_sigterm) mine().alive = false;
    }
    void kill() noexcept override {
        if (mine().processes == number_) mine().alive = false;
    }

private:
    [[nodiscard]] FakeStation& mine() const { return world_.stations.at(name_); }
    FakeWorld& world_;
    const std::string name_;
    const int number_;
};

class FakeLauncher final : public Launcher {
public:
    explicit FakeLauncher(FakeWorld& world) : world_(world) {}
    [[nodiscard]] Result<std::unique_ptr<LaunchedProcess>> launch(const LaunchRequest& request) override {
        auto& station = world_.stations.at(request.name);
        world_.calls.push_back(request.name + " launch");
        ++station.processes;
        station.alive = true;
        station.mute = false;
        station.report = {};
        station.report.kind = station.entry.kind;
        return std::make_unique<FakeProcess>(world_, request.name, station.processes);
    }
    [[nodiscard]] std::unique_ptr<LaunchedProcess> adopt(const LaunchRequest& request) override {
        const auto& station = world_.stations.at(request.name);
        if (!world_.left || !station.alive) return nullptr;
        return std::make_unique<FakeProcess>(world_, request.name, station.processes);
    }

private:
    FakeWorld& world_;
};

class FakeLink final : public StationLink {
public:
    FakeLink(FakeWorld& world, std::string name) : world_(world), name_(std::move(name)) {}

    void call(const service::StationRequest& request) override { request_ = request; }
    [[nodiscard]] std::optional<CallAnswer> answer() override {
        auto& station = world_.stations.at(name_);
        if (!request_ || station.mute) return std::nullopt;
        const std::string what = service::name(*request_);
        if (!station.alive) return CallAnswer(std::unexpected(CallFailure{false, "gone"}));
        if (station.hangs_in == what) return std::nullopt;
        const auto request = *std::exchange(request_, std::nullopt);
        const CallAnswer lost(std::unexpected(CallFailure{false, "did not answer"}));
        if (station.loses_call_of == what) return station.loses_call_of.clear(), lost;
        world_.calls.push_back(name_ + " " + what);
        if (station.refuses == what) return CallAnswer(std::unexpected(CallFailure{true, "will not"}));
        if (!request.peers.empty()) station.peers = request.peers;
        if (request.kind == service::StationRequestKind::mask || request.run) station.masks = request.masks;
        if (request.kind != service::StationRequestKind::transition) return CallAnswer{};
        const auto to = after(station.report.state, request.transition);
        if (!to) return CallAnswer(std::unexpected(CallFailure{true, "not in this state"}));
        station.report.state = *to;
        if (request.transition == service::Transition::configure) {
            station.report.self = Peer{name_,
                                       station.entry.kind,
                                       station.entry.id,
                                       fmt::format("127.0.0.1:{}", number(station.entry.id) * 100 + station.processes),
                                       "",
                                       station.sources};
        }
        if (request.run) {
            station.started = station.report.run = request.run;
            station.started_again = request.again;
        }
        if (station.loses_answer_to == what) return station.loses_answer_to.clear(), lost;
        return CallAnswer{};
    }
    void ask(bool with_events) override { with_events_ = with_events; }
    [[nodiscard]] std::optional<Result<service::StationReport>> report() override {
        const auto& station = world_.stations.at(name_);
        if (station.mute || !station.alive || (with_events_ && station.mute_events)) return std::nullopt;
        auto report = station.report;
        if (with_events_) report.events = std::make_shared<const service::StationEvents>(station.events);
        return Result<service::StationReport>(std::move(report));
    }

private:
    FakeWorld& world_;
    const std::string name_;
    std::optional<service::StationRequest> request_;
    bool with_events_ = false;
};

class FakeLinks final : public StationLinks {
public:
    explicit FakeLinks(FakeWorld& world) : world_(world) {}
    [[nodiscard]] std::unique_ptr<StationLink> open(const std::string& address) override {
        return std::make_unique<FakeLink>(world_, address.substr(0, address.find('#')));
    }

private:
    FakeWorld& world_;
};

class FakeKeeper final : public RunKeeper {
public:
    explicit FakeKeeper(FakeWorld& world) : world_(world) {}
    [[nodiscard]] Result<RunNumber> next_run() override {
        if (world_.no_number) return fail(Errc::io, "the catalogue cannot be opened");
        return RunNumber{++world_.last_run};
    }
    [[nodiscard]] Result<HandOffAccount> hand_off(RunNumber) override { return world_.files; }
    [[nodiscard]] Result<> keep(RunNumber run, const std::map<std::string, std::string>& parameters) override {
        if (world_.keeping_fails) return fail(Errc::io, "the catalogue cannot be opened");
        for (const auto& [key, value] : parameters)
            world_.kept.push_back(fmt::format("{} {}={}", number(run), key, value));
        return {};
    }

    [[nodiscard]] Result<> note(RunNumber run, const std::map<std::string, std::string>& counts) override {
        world_.open = counts;
        world_.changes.run = run;
        return {};
    }
    [[nodiscard]] Result<> note(const RunChanges& changes) override {
        world_.changes = changes;
        ++world_.changes_noted;
        return {};
    }
    [[nodiscard]] Result<> note(RunNumber, const std::vector<Peer>& peers) override {
        world_.peers = peers;
        return {};
    }
    void over() override { world_.open.reset(); }
    [[nodiscard]] Result<std::optional<RunLeft>> left() override {
        if (!world_.open) return std::nullopt;
        return RunLeft{world_.changes, world_.peers, *world_.open};
    }

private:
    FakeWorld& world_;
};

}  // namespace weir::control
