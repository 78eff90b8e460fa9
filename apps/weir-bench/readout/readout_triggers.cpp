// SPDX-License-Identifier: Apache-2.0
#include "readout/readout_triggers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

#include "readout/measured/input_measure.hpp"
#include "readout/measured/worker_seconds.hpp"
#include "readout/plugin/readout_plugins.hpp"
#include "stand_in/roomy_assigner.hpp"
#include "weir/base/system_clock.hpp"
#include "weir/base/thread_account.hpp"
#include "weir/delivery/block_sender.hpp"
#include "weir/selection/supervisor_station.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;
using selection::TriggerKind;

constexpr RunNumber run{1};
constexpr wire::StationId supervisor_id{1}, assigner_id{2};

struct TriggerCase {
    const char* name;
    TriggerKind kind;
    const char* file = nullptr;  // of a plug-in
    std::vector<double> rates{}, cpu{}, plug_in_cpu{};
};

struct TriggerFigures {
    double rate = 0;         // triggers/s
    double cpu = 0;          // of the supervisor's threads, s a trigger
    double plug_in_cpu = 0;  // of the plug-in's process, s a trigger
};

/// A trigger unit outside: sends with the client library as fast as its triggers are taken.
class TriggerUnit {
public:
    [[nodiscard]] static Result<std::unique_ptr<TriggerUnit>> start(std::uint16_t port) {
        delivery::BlockSenderOptions options;
        options.sender.host = fmt::format("127.0.0.1:{}", port);
        options.sender.name = "trigger-unit";
        return std::unique_ptr<TriggerUnit>(
            new TriggerUnit(WEIR_TRY(delivery::TriggerSender::open(std::move(options)))));
    }
    ~TriggerUnit() {
        thread_.request_stop();
        sender_->close();  // a call that waits ends
    }

private:
    explicit TriggerUnit(std::unique_ptr<delivery::TriggerSender> sender) : sender_(std::move(sender)) {
        thread_ = NamedThread(nullptr, "trigger unit", [this](const std::stop_token& stop) {
            wire::InputTrigger trigger{.type = 1, .words = {0x5a5a5a5a, 1}};
            for (std::uint32_t id = 1; !stop.stop_requested(); ++id) {
                trigger.level1_id = Level1Id{id};
                trigger.time_ns = id;
                if (!sender_->send(trigger)) return;
            }
        });
    }
    const std::unique_ptr<delivery::TriggerSender> sender_;
    NamedThread thread_;
};

selection::SupervisorStationOptions supervisor_options(const TriggerCase& what) {
    selection::SupervisorStationOptions options{.name = "l2sv", .id = supervisor_id, .loop = loop_of(supervisor_id)};
    options.supervisor.triggers.kind = what.kind;
    if (what.kind == TriggerKind::network) options.input.emplace();
    if (what.file != nullptr) {
        std::error_code error;
        const auto folder = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
        options.plug_in.emplace();
        options.plug_in->file = folder / what.file;
        options.supervisor.triggers.file = options.plug_in->file;
    }
    return options;
}

double processor_seconds(const ThreadAccounts& accounts) {
    double seconds = 0;
    for (const auto& times : accounts.times())
        if (times.thread != "bench") seconds += std::chrono::duration<double>(times.processor).count();
    return seconds;
}

Result<TriggerFigures> measure_triggers(const TriggerCase& what, std::chrono::milliseconds time) {
    const SystemClock clock;
    memory::BufferPool pool(64_MiB);
    Surrounding<RoomyAssigner> assigner(assigner_id, pool, clock);
    if (!assigner.loop) return std::unexpected(assigner.loop.error());
    ThreadAccounts accounts;  // the threads of the supervisor enter these
    std::optional<ThreadAccounts::Entry> entry(std::in_place, accounts, "bench");
    selection::SupervisorStation supervisor(supervisor_options(what), {}, clock);
    WEIR_TRY(supervisor.configure());
    WEIR_TRY(assigner.begin(run, supervisor.self(), supervisor_id));
    WEIR_TRY(supervisor.connect({supervisor.self(), assigner.peer(StationKind::assign)}));
    WEIR_TRY(supervisor.start(run));
    entry.reset();
    std::unique_ptr<TriggerUnit> unit;
    if (what.kind == TriggerKind::network) {
        const auto port = static_cast<std::uint16_t>(supervisor.status().counters["input_port"]);
        unit = WEIR_TRY(TriggerUnit::start(port));
    }
    struct Look {
        double accepted = 0, workers = 0;
    };
    std::vector<Look> looks;  // the first and the last are those of the figures
    const auto figures = measure_between(
        time,
        [&] {
            looks.push_back({static_cast<double>(assigner.logic->accepted()), worker_seconds()});
            return looks.back().accepted;
        },
        [&] { return processor_seconds(accounts); });
    WEIR_TRY(supervisor.stop(5s));
    const auto ledger = supervisor.status().ledger;
    if (!ledger.balances())
        return fail(Errc::corrupt, fmt::format("the ledger of the supervisor does not balance: received {}, stored {}",
                                               ledger.received, ledger.stored));
    WEIR_TRY(supervisor.disconnect());
    const auto accepted = std::max(looks.back().accepted - looks.front().accepted, 1.0);
    return TriggerFigures{figures.rate, figures.cpu, (looks.back().workers - looks.front().workers) / accepted};
}

}  // namespace

Result<std::vector<BenchRow>> trigger_rows(const ReadoutBenchOptions& options) {
    std::vector<TriggerCase> cases{{"made", TriggerKind::made},
                                   {"client library", TriggerKind::network},
                                   {"plug-in", TriggerKind::plug_in, "weir-bench-triggers.so"}};
    if (has_python()) {
        cases.push_back({"plug-in in Python", TriggerKind::plug_in, "weir_bench_triggers.py"});
    } else {
        fmt::print(stderr, "triggers: there is no Python, so trigger plug-ins in Python are NOT MEASURED\n");
    }
    for (std::size_t repetition = 0; repetition < options.repetitions; ++repetition) {
        for (auto& one : cases) {
            const auto figures = WEIR_TRY(measure_triggers(one, options.build_time));
            one.rates.push_back(figures.rate);
            one.cpu.push_back(figures.cpu);
            one.plug_in_cpu.push_back(figures.plug_in_cpu);
        }
        if (!options.json) fmt::print(stderr, "triggers: round {} of {}\n", repetition + 1, options.repetitions);
    }
    std::vector<BenchRow> rows;
    for (const auto& one : cases) {
        const auto add = [&](const char* name, const std::vector<double>& values, const char* unit) {
            rows.push_back({.name = name,
                            .peer = false,
                            .parameters = {{"triggers", one.name}},
                            .value = spread_of(values),
                            .unit = unit});
        };
        add("trigger_rate", one.rates, "triggers/s");
        add("trigger_cpu", one.cpu, "s/trigger");
        if (one.file != nullptr) add("trigger_plugin_cpu", one.plug_in_cpu, "s/trigger");
    }
    return rows;
}

}  // namespace weir::app
