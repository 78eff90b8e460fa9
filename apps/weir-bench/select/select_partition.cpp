// SPDX-License-Identifier: Apache-2.0
#include "select/select_partition.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "stand_in/roomy_assigner.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/selection/supervisor_station.hpp"
#include "weir/selection/unit_station.hpp"
#include "weir/wire/dataflow.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using wire::DataflowType;

constexpr wire::StationId supervisor_id{1}, assigner_id{2}, readout_id{3}, unit_id{4};
constexpr std::size_t rob_size = 1024;
constexpr std::uint32_t first_source = 0x420000;
constexpr RunNumber run{1};

/// Answers each question after the same time, however many there are.
class LateReadout final : public messaging::MessageHandler {
public:
    LateReadout(messaging::Endpoint& endpoint, std::chrono::nanoseconds latency)
        : endpoint_(endpoint), latency_(latency), rob_(rob_size, std::byte{0x5a}) {}

    void on_message(const messaging::IncomingMessage& message, SteadyTime now) override {
        wire::DataRequest request;
        if (message.type != DataflowType::data_request || !decode(message.body, request)) return;
        waiting_.push_back({now + latency_, message.from, std::move(request)});
    }
    void on_peer(wire::StationId, messaging::PeerChange, SteadyTime) override {}
    std::optional<SteadyTime> step(SteadyTime now) override {
        for (; !waiting_.empty() && waiting_.front().due <= now; waiting_.pop_front()) answer(waiting_.front());
        if (waiting_.empty()) return std::nullopt;
        return waiting_.front().due;
    }

private:
    struct Waiting {
        SteadyTime due;
        wire::StationId from;
        wire::DataRequest request;
    };
    void answer(const Waiting& what) {
        wire::DataHead head{.request = what.request.request, .level1_id = what.request.events.front(), .robs = {}};
        std::vector<ConstData> pieces(1);
        for (const auto rob : what.request.robs) {
            head.robs.push_back({rob, wire::RobState::here, rob_size});
            pieces.emplace_back(rob_);
        }
        bytes_.clear();
        encode(head, bytes_);
        pieces.front() = bytes_;
        endpoint_.send(what.from, DataflowType::data, pieces);
    }
    messaging::Endpoint& endpoint_;
    const std::chrono::nanoseconds latency_;
    const std::vector<std::byte> rob_;
    std::deque<Waiting> waiting_;
    std::vector<std::byte> bytes_;
};

double processor_seconds(const ThreadAccounts& accounts) {
    double seconds = 0;
    for (const auto& times : accounts.times())
        if (times.thread != "bench") seconds += std::chrono::duration<double>(times.processor).count();
    return seconds;
}

}  // namespace

std::string selection_in_steps(std::uint32_t steps) {
    std::string text;
    for (std::uint32_t step = 0; step < steps; ++step)
        text += fmt::format("{}{:#x}+{:#x}", step == 0 ? "request:" : "/", first_source + 1 + 2 * step,
                            first_source + 2 + 2 * step);
    return text;
}

Result<SelectFigures> measure_select(const SelectCase& what, std::chrono::milliseconds time) {
    const SystemClock clock;
    memory::BufferPool pool(64_MiB);
    Surrounding<RoomyAssigner> assigner(assigner_id, pool, clock);
    Surrounding<LateReadout> readout(readout_id, pool, clock);
    if (!assigner.loop) return std::unexpected(assigner.loop.error());
    if (!readout.loop) return std::unexpected(readout.loop.error());

    selection::SupervisorOptions supervisor_options;
    if (what.steps > 0)  // one fragment is there when the selection begins, the others are never among it
        supervisor_options.regions_of = [](const wire::EventTicket&, std::vector<SourceId>& regions) -> Result<> {
            regions.push_back(SourceId{first_source});
            return {};
        };
    selection::SupervisorStation supervisor({.name = "l2sv",
                                             .id = supervisor_id,
                                             .supervisor = std::move(supervisor_options),
                                             .loop = loop_of(supervisor_id)},
                                            {}, clock);
    selection::UnitStationOptions unit_options;
    unit_options.id = unit_id;
    unit_options.loop = loop_of(unit_id);
    unit_options.selection.selection = what.steps > 0 ? selection_in_steps(what.steps) : what.selection;
    unit_options.unit.workers = what.workers;
    unit_options.unit.depth = what.depth;
    ThreadAccounts accounts;  // the threads of the unit enter these
    std::optional<ThreadAccounts::Entry> entry(std::in_place, accounts, "bench");
    selection::UnitStation unit(unit_options, {}, clock);
    WEIR_TRY(unit.configure());
    WEIR_TRY(supervisor.configure());

    auto readout_peer = readout.peer(StationKind::readout);
    for (std::uint32_t rob = 0; rob < std::max(12U, 1 + 2 * what.steps); ++rob)
        readout_peer.sources.push_back(SourceId{first_source + rob});
    const std::vector<Peer> peers{supervisor.self(), unit.self(), assigner.peer(StationKind::assign), readout_peer};
    WEIR_TRY(assigner.begin(run, supervisor.self(), supervisor_id));
    WEIR_TRY(readout.begin(run, unit.self(), what.latency));
    WEIR_TRY(unit.connect(peers));
    WEIR_TRY(unit.start(run));
    entry.reset();
    WEIR_TRY(supervisor.connect(peers));
    WEIR_TRY(supervisor.start(run));

    // The first events find out the round trips.
    for (int waited = 0; waited < 100 && unit.status().ledger.stored < what.workers; ++waited)
        std::this_thread::sleep_for(10ms);
    std::this_thread::sleep_for(60ms);
    const auto before = unit.status().ledger.stored;
    const auto cpu_before = processor_seconds(accounts);
    const auto began = clock.now();
    std::this_thread::sleep_for(time);
    const auto after = unit.status().ledger.stored;
    const std::chrono::duration<double> seconds = clock.now() - began;
    const auto cpu = processor_seconds(accounts) - cpu_before;
    SelectFigures figures;
    const auto events = static_cast<double>(after - before);
    figures.events_per_s = events / seconds.count();
    figures.cpu_per_event = events > 0 ? cpu / events : 0;
    figures.decision_seconds = supervisor.status().counters["decision_seconds"];
    static_cast<void>(supervisor.stop(200ms));
    static_cast<void>(unit.stop(200ms));
    static_cast<void>(supervisor.disconnect());
    static_cast<void>(unit.disconnect());
    return figures;
}

}  // namespace weir::app
