// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_triggers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "weir/control/run_result.hpp"

namespace weir::control {
namespace {

constexpr std::string_view busy_prefix = "busy_seconds ";
constexpr double worth_telling = 0.05;  // seconds
constexpr std::size_t ranges_named_max = 40;

std::uint64_t whole(double value) { return static_cast<std::uint64_t>(std::max(0.0, value)); }

std::string joined(std::initializer_list<std::string> texts) {
    std::string all;
    for (const auto& text : texts)
        if (!text.empty()) all += (all.empty() ? "" : ", ") + text;
    return all;
}

}  // namespace

std::string NamedTriggers::text(const char* what) const {
    if (triggers == 0) return {};
    auto text = fmt::format("{} {}", triggers, what);
    if (level1_ids.known() && !level1_ids.empty())
        text +=
            fmt::format(" (level-1 id{} {})", level1_ids.count() == 1 ? "" : "s", level1_ids.ranges(ranges_named_max));
    return text;
}

std::optional<double> TriggerAccount::dead_time() const noexcept {
    if (!dead_seconds || running_seconds <= 0) return std::nullopt;
    return *dead_seconds / running_seconds;
}

std::string TriggerAccount::text() const {
    const auto share = dead_time();
    if (!share) return {};
    auto text = fmt::format("dead time {:.1f} % of {:.1f} s, {} trigger{} in it", 100 * *share, running_seconds,
                            in_dead_time, in_dead_time == 1 ? "" : "s");
    std::vector<std::pair<double, std::string>> causes;
    for (const auto& [cause, seconds] : busy_seconds)
        if (seconds >= worth_telling) causes.emplace_back(-seconds, cause);
    std::ranges::sort(causes);
    for (std::size_t i = 0; i < causes.size(); ++i)
        text += fmt::format("{}{} {:.1f} s", i == 0 ? "; busy: " : ", ", causes[i].second, -causes[i].first);
    return text;
}

std::string TriggerAccount::faults_text() const {
    return joined({lost.text("lost"), out_of_order.text("out of order"), too_far_ahead.text("too far ahead"),
                   doubled.text("doubled"), malformed == 0 ? std::string{} : fmt::format("{} malformed", malformed)});
}

TriggerAccount triggers_of(const std::vector<StationResult>& stations) {
    TriggerAccount account;
    for (const auto& station : stations) {
        if (station.kind != StationKind::supervise) continue;
        for (const auto& [name, value] : station.counters) {
            if (name == "running_seconds") account.running_seconds = value;
            else if (name == "dead_seconds") account.dead_seconds = value;
            else if (name == "triggers_in_dead_time") account.in_dead_time = whole(value);
            else if (name == "triggers_lost") account.lost.triggers = whole(value);
            else if (name == "triggers_out_of_order") account.out_of_order.triggers = whole(value);
            else if (name == "triggers_too_far_ahead") account.too_far_ahead.triggers = whole(value);
            else if (name == "triggers_doubled") account.doubled.triggers = whole(value);
            else if (name == "trigger_plug_in_crashed") account.plug_in_crashed = whole(value);
            else if (name == "trigger_plug_in_hung") account.plug_in_hung = whole(value);
            else if (name.starts_with(busy_prefix)) account.busy_seconds[name.substr(busy_prefix.size())] = value;
        }
        if (const auto found = station.ledger.rejected.find("malformed"); found != station.ledger.rejected.end())
            account.malformed += found->second;
        if (!station.events) continue;
        const auto take = [&](const char* what, NamedTriggers& named) {
            if (const auto found = station.events->find(what); found != station.events->end())
                named.level1_ids = found->second;
        };
        take("triggers lost", account.lost);
        take("triggers out of order", account.out_of_order);
        take("triggers too far ahead", account.too_far_ahead);
        take("triggers doubled", account.doubled);
    }
    return account;
}

std::uint64_t refused_of(const service::StationLedger& ledger) {
    std::uint64_t refused = 0;
    for (const auto& [reason, count] : ledger.rejected)
        if (reason != "level 2") refused += count;
    return refused;
}

std::uint64_t decisions_of(const service::StationLedger& ledger, const std::map<std::string, double>& counters) {
    const auto rejected = ledger.rejected.find("level 2");
    const auto skipped = counters.find("level1_ids_skipped");
    return ledger.stored + (rejected == ledger.rejected.end() ? 0 : rejected->second) +
           (skipped == counters.end() ? 0 : whole(skipped->second));
}

void check_triggers(RunResult& result, const IncompleteLimit& limit) {
    const auto& t = result.triggers;
    const auto times = [](std::uint64_t count, const char* what) {
        return count == 0 ? std::string{} : fmt::format("{} {} time{}", what, count, count == 1 ? "" : "s");
    };
    if (t.plug_in_crashed + t.plug_in_hung > 0)
        result.problems.push_back(
            fmt::format("the trigger plug-in {}: triggers of that time are missing",
                        joined({times(t.plug_in_crashed, "crashed"), times(t.plug_in_hung, "hung")})));
    const auto without_event = t.lost.triggers + t.out_of_order.triggers + t.too_far_ahead.triggers;
    const auto all = result.events.triggers + without_event;
    if (!limit.passed(without_event, all)) return;
    result.problems.push_back(fmt::format(
        "{} of {} triggers did not become events, more than incomplete_max ({}): {}", without_event, all, limit.text(),
        joined({t.lost.text("lost"), t.out_of_order.text("out of order"), t.too_far_ahead.text("too far ahead")})));
}

}  // namespace weir::control
