// SPDX-License-Identifier: Apache-2.0
#include "weir/control/host_engines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "engines/host_engine.hpp"
#include "weir/base/stoppable_sleep.hpp"

namespace weir::control {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds pause_first = 1s;
constexpr std::chrono::milliseconds pause_max = 15s;
constexpr std::ptrdiff_t attempts_max = 16;  // at once: each is a process
constexpr auto end_deadline = 5s;
constexpr std::size_t reported_max = 100;  // texts of one machine
constexpr auto token_kept = 9min;          // it is good for ten

std::unique_ptr<HostEngine> engine_of(const HostEntry& host, const Clock& clock) {
    switch (host.start.engine) {
        case EngineKind::none: return nullptr;
        case EngineKind::ssh: return make_ssh_engine(host, clock);
        case EngineKind::slurm: return make_slurm_engine(host, clock);
    }
    return nullptr;
}

/// A run control before has asked for it.
bool engine_has_begun(const HostEntry& host) { return !host.place.job.empty(); }

}  // namespace

struct HostEngines::Machine {
    const HostEntry& entry;
    std::unique_ptr<HostEngine> engine;
    bool trying = false, begun = false;
    SteadyTime next{};
    std::chrono::milliseconds pause = pause_first;
    std::set<std::string> reported{};  // since an agent answered
    std::string token{};               // that was made for it, and may not be used yet
    SteadyTime token_made{};

    /// What came of what is under way.
    void look(const Reporter& report, SteadyTime now) {
        if (const auto outcome = engine->step()) came(*outcome, report, now);
    }
    void came(const Result<std::string>& outcome, const Reporter& report, SteadyTime now) {
        trying = false;
        next = now + pause;
        pause = std::min(pause * 2, pause_max);
        auto text = outcome ? *outcome : outcome.error().message();
        if (reported.size() >= reported_max) reported.clear();
        if (!reported.insert(text).second) return;  // once, and not with each attempt
        report({.severity = outcome ? Severity::information : Severity::warning,
                .what = outcome ? fmt::format("{}: {}", entry.name, text)
                                : fmt::format("{} did not bring {}", name(entry.start.engine), entry.name),
                .why = outcome ? "" : text,
                .advice = outcome ? "" : "it is tried again"});
    }
};

HostEngines::HostEngines(const Partition& partition, MakeToken make_token, Reporter report, const Clock& clock)
    : make_token_(std::move(make_token)), report_(std::move(report)), clock_(clock) {
    for (const auto& host : partition.hosts) {
        auto engine = engine_of(host, clock);
        machines_.push_back(engine ? std::make_unique<Machine>(host, std::move(engine)) : nullptr);
        if (engine_has_begun(host) && machines_.back()) machines_.back()->begun = true;
    }
}

HostEngines::~HostEngines() = default;

void HostEngines::step(const std::vector<HostView>& hosts) {
    const auto now = clock_.now();
    auto attempts = std::ranges::count_if(machines_, [](const auto& machine) { return machine && machine->trying; });
    const auto count = std::min(hosts.size(), machines_.size());
    const auto first = first_++;  // another one each time: those behind many that are away have their turn
    for (std::size_t k = 0; k < count; ++k) {
        const auto i = (first + k) % count;
        auto* machine = machines_[i].get();
        if (machine == nullptr) continue;
        if (machine->trying) {
            machine->look(report_, now);
            continue;
        }
        const auto& host = hosts[i];
        const bool missing = host.asked && !host.answers && (host.state == "unknown" || host.state == "lost");
        if (!missing) {
            if (host.answers) machine->engine->answered();
            machine->pause = pause_first;
            machine->next = {};
            machine->reported.clear();
            machine->token.clear();
            continue;
        }
        if (now < machine->next || attempts >= attempts_max) continue;
        bring(*machine, now);
        if (machine->trying) ++attempts;
    }
}

/// A token is used for several attempts: not every one comes to use it, and how many there are is limited.
void HostEngines::bring(Machine& machine, SteadyTime now) {
    if (!machine.entry.start.join.empty() && (machine.token.empty() || now - machine.token_made >= token_kept)) {
        auto token = make_token_ ? make_token_(machine.entry.name)
                                 : Result<std::string>(fail(Errc::usage, "there is nobody who makes join tokens"));
        if (!token) return machine.came(std::unexpected(token.error()), report_, now);
        machine.token = std::move(*token);
        machine.token_made = now;
    }
    if (machine.entry.in_group()) machine.engine->avoid(nodes_of_others(machine));
    machine.engine->bring(machine.token);
    machine.trying = machine.begun = true;
}

/// Slurm gives a whole node to a job of a group; but where its administrator has others share it, or the partition file
/// names a node, two machines would want one port.
std::vector<std::string> HostEngines::nodes_of_others(const Machine& machine) const {
    std::vector<std::string> nodes;
    for (const auto& other : machines_) {
        if (!other || other.get() == &machine || other->entry.start.engine != EngineKind::slurm) continue;
        const auto* place = other->engine->place();
        const auto& node = place != nullptr ? place->node : other->entry.start.machine;
        if (!node.empty()) nodes.push_back(node);
    }
    return nodes;
}

const HostPlace* HostEngines::place(std::size_t host) const noexcept {
    return host < machines_.size() && machines_[host] ? machines_[host]->engine->place() : nullptr;
}

bool HostEngines::has_begun(std::size_t host) const noexcept {
    return host < machines_.size() && machines_[host] && machines_[host]->begun;
}

void HostEngines::settle() {
    const auto until = clock_.now() + end_deadline;
    const auto try_on = [&] {
        bool trying = false;
        for (const auto& machine : machines_) {
            if (!machine || !machine->trying) continue;
            machine->look(report_, clock_.now());
            trying = trying || machine->trying;
        }
        return trying;
    };
    while (try_on() && clock_.now() < until) static_cast<void>(stoppable_sleep(10ms, {}));
}

void HostEngines::end(const std::vector<HostView>& hosts) {
    std::vector<Machine*> taken_back;
    for (std::size_t i = 0; i < std::min(hosts.size(), machines_.size()); ++i) {
        auto* machine = machines_[i].get();
        if (machine != nullptr && machine->entry.in_group() && hosts[i].ends) machine->engine->over();
        // One that answers and does not end obeys another run control.
        if (machine == nullptr || !machine->begun || hosts[i].ends || hosts[i].answers) continue;
        machine->engine->take_back();
        machine->trying = true;
        taken_back.push_back(machine);
    }
    settle();
    for (const auto* machine : taken_back) {
        const auto remains = machine->engine->remains();
        if (remains.empty()) continue;
        report_({.severity = Severity::warning,
                 .what = fmt::format("{} of {} may still be there", remains, machine->entry.name),
                 .why = fmt::format("{} did not take it back", name(machine->entry.start.engine)),
                 .advice = "an agent that has no run control ends after ten minutes"});
    }
}

}  // namespace weir::control
