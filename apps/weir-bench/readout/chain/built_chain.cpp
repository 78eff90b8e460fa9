// SPDX-License-Identifier: Apache-2.0
#include "readout/chain/built_chain.hpp"

#include <fmt/format.h>

#include <ranges>
#include <string_view>

#include "stand_in/roomy_assigner.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr RunNumber run{1};
constexpr wire::StationId readout_id{1}, builder_id{2}, assigner_id{3}, supervisor_id{4}, recorder_id{5};
constexpr const char* bench_thread = "bench";  // the one that makes the transitions

readout::ReadoutStationOptions with_our_ids(readout::ReadoutStationOptions options) {
    options.id = readout_id;
    options.loop = loop_of(readout_id);
    return options;
}

/// A readout has threads that take fragments and threads that answer and clear; a builder one more that sends events
/// on.
std::string stage_of(std::string_view station, std::string_view thread) {
    if (station == "readout")
        return thread == "network" || thread.starts_with("handler") ? "readout answers" : "readout input";
    return station == "builder" && thread != "builder" ? "builder output" : std::string(station);
}

double seconds(std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); }

}  // namespace

BuiltChain::BuiltChain(readout::ReadoutStationOptions readout)
    : parts_{Part{"readout", &readout_}, Part{"builder", &builder_}, Part{"dfm", &assigner_},
             Part{"supervisor", &supervisor_}},
      readout_(with_our_ids(std::move(readout)), {}, clock_),
      builder_(
          {.id = builder_id,
           .builder = {.events_max = 1024, .building_max = 256, .event_deadline = 2s},
           .loop = loop_of(builder_id),
           .output = {.name = "sfi",
                      .tags = {StreamTag{
                          .type = "physics", .name = "Main", .obeys_lumi_block = true, .robs = {}, .detectors = {}}}},
           .probe = false},
          {}, clock_),
      assigner_({.id = assigner_id, .loop = loop_of(assigner_id)}, {}, clock_),
      supervisor_({.id = supervisor_id, .supervisor = {.regions = 0}, .loop = loop_of(supervisor_id)}, {}, clock_) {}

BuiltChain::~BuiltChain() {
    if (running_) static_cast<void>(finish());
}

Result<std::unique_ptr<BuiltChain>> BuiltChain::start(readout::ReadoutStationOptions readout) {
    std::unique_ptr<BuiltChain> chain(new BuiltChain(std::move(readout)));
    WEIR_TRY(chain->begin());
    return chain;
}

Result<> BuiltChain::begin() {
    {
        const ThreadAccounts::Entry entry(recorder_accounts_, bench_thread);
        recorder_ = WEIR_TRY(TakesAll::start());
    }
    std::vector<Peer> peers{{.name = "recorder",
                             .kind = StationKind::record,
                             .id = recorder_id,
                             .dataflow = {},
                             .events = fmt::format("127.0.0.1:{}", recorder_->port()),
                             .sources = {}}};
    // A thread belongs to the accounts that the thread which starts it has entered.
    const auto each = [this](const auto& work) -> Result<> {
        for (const auto& part : parts_) {
            const ThreadAccounts::Entry entry(*part.accounts, bench_thread);
            WEIR_TRY(work(*part.station));
        }
        return {};
    };
    WEIR_TRY(each([](service::Station& station) { return station.configure(); }));
    for (const auto& part : parts_) peers.push_back(part.station->self());
    WEIR_TRY(each([&](service::Station& station) { return station.connect(peers); }));
    running_ = true;
    return each([](service::Station& station) { return station.start(run); });
}

std::vector<StageTimes> BuiltChain::times() const {
    std::vector<StageTimes> all;
    const auto add = [&](std::string_view station, const ThreadAccounts& accounts) {
        for (const auto& times : accounts.times())
            if (times.thread != bench_thread)
                all.push_back({stage_of(station, times.thread), seconds(times.processor)});
    };
    for (const auto& part : parts_) add(part.name, *part.accounts);
    add("recorder", recorder_accounts_);
    return all;
}

Result<> BuiltChain::finish() {
    running_ = false;
    Result<> first;
    for (auto& part : parts_ | std::views::reverse) {  // what sends stops before what receives
        auto done = part.station->stop(60s);
        if (first && !done) first = done;
    }
    WEIR_TRY(first);
    for (auto& part : parts_ | std::views::reverse) {
        const auto ledger = part.station->status().ledger;
        if (!ledger.balances() || ledger.in_hand != 0)
            return fail(Errc::corrupt,
                        fmt::format("the ledger of the {} does not balance: received {}, stored {}, in hand {}",
                                    part.name, ledger.received, ledger.stored, ledger.in_hand));
        WEIR_TRY(part.station->disconnect());
        WEIR_TRY(part.station->unconfigure());
    }
    return {};
}

}  // namespace weir::app
