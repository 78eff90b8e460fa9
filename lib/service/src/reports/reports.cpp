// SPDX-License-Identifier: Apache-2.0
#include "weir/service/reports.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "weir/base/assert.hpp"

namespace weir::service {
namespace {

constexpr std::size_t key_size_max = 256;
constexpr std::size_t causes_max = 8;
constexpr const char* other_keys = "(other keys)";
constexpr const char* more_alarms = "more-alarms";

}  // namespace

std::string one_line(const SubmittedReport& report) {
    auto line = fmt::format("{} {}: {}", name(report.severity), on_one_line(report.who), text_of(report));
    if (!report.causes.empty()) {
        line.append(" (caused by: ");
        for (std::size_t i = 0; i < std::min(report.causes.size(), causes_max); ++i)
            line.append(i == 0 ? "" : ", by: ").append(on_one_line(report.causes[i]));
        if (report.causes.size() > causes_max)
            line.append(fmt::format(" and {} more", report.causes.size() - causes_max));
        line.append(")");
    }
    if (report.held_back > 0) line.append(fmt::format(" [{} more held back]", report.held_back));
    return line;
}

Reports::Reports(std::string who, const Clock& clock, std::vector<std::unique_ptr<ReportSink>> sinks,
                 ReportLimits limits)
    : who_(std::move(who)), clock_(clock), sinks_(std::move(sinks)), limits_(limits) {
    WEIR_ASSERT(limits_.burst > 0 && limits_.keys_max > 0 && limits_.alarms_max > 1);
}

Reports::~Reports() { show_held_back(clock_.now(), true); }

Reports::Limit& Reports::limit_of(const Report& report, SteadyTime now) {
    const auto key = (report.key.empty() ? report.what : report.key).substr(0, key_size_max);
    if (const auto found = by_key_.find(key); found != by_key_.end()) return found->second;
    if (by_key_.size() >= limits_.keys_max) {
        // Erased: keys that have been quiet for a window and have nothing to show.
        std::erase_if(by_key_, [&](const auto& entry) {
            return entry.second.held_back == 0 && now - entry.second.window_start >= limits_.window;
        });
    }
    auto& limit = by_key_[by_key_.size() < limits_.keys_max ? key : other_keys];
    if (limit.shown == 0 && limit.held_back == 0) limit.window_start = now;
    return limit;
}

bool Reports::passes(SubmittedReport& report) {
    const auto now = clock_.now();
    auto& limit = limit_of(report, now);
    if (now - limit.window_start >= limits_.window) {
        limit.window_start = now;
        limit.shown = 0;
    }
    if (limit.shown < limits_.burst || report.severity == Severity::fatal) {
        limit.shown += limit.shown < limits_.burst ? 1 : 0;
        report.held_back = std::exchange(limit.held_back, 0);
        return true;
    }
    ++limit.held_back;
    limit.latest = report;
    return false;
}

void Reports::submit(Report report) {
    SubmittedReport submitted{std::move(report), who_, clock_.wall()};
    submitted.alarm = on_one_line(submitted.alarm);  // it is shown, typed again and kept in lines
    if (!submitted.alarm.empty()) latch(submitted);
    show(std::move(submitted));
}

void Reports::show(SubmittedReport report) {
    bool shown;
    {
        const std::lock_guard lock(mutex_);
        shown = passes(report);
    }
    // Outside the lock: a sink may be slow, and must not stop others from counting.
    for (const auto& sink : sinks_) {
        if (shown) {
            sink->show(report);
        } else {
            sink->hold_back(report);
        }
    }
}

void Reports::latch(const SubmittedReport& report) {
    const auto& alarm = report.alarm;
    const std::lock_guard lock(mutex_);
    const bool known = alarms_.contains(alarm);
    const auto named = [&] { return alarms_.size() - alarms_.count(more_alarms); };
    if (!known && named() >= limits_.alarms_max - 1) {
        // The place of one that was acknowledged, the oldest; else they gather under one name.
        auto oldest = alarms_.end();
        for (auto it = alarms_.begin(); it != alarms_.end(); ++it) {
            if (!it->second.acknowledged_at || it->first == more_alarms) continue;
            if (oldest == alarms_.end() || it->second.last < oldest->second.last) oldest = it;
        }
        if (oldest != alarms_.end()) alarms_.erase(oldest);
    }
    const bool room = known || named() < limits_.alarms_max - 1;
    const std::string key = room ? alarm : more_alarms;
    auto [entry, fresh] = alarms_.try_emplace(key);
    auto& row = entry->second;
    if (fresh || row.acknowledged_at) row = Alarm{key, {}, 0, report.when, report.when, {}, {}};
    ++row.raised;
    row.last = report.when;
    row.report = report;
    if (alarms_changed_) alarms_changed_();
}

bool Reports::acknowledge(const std::string& alarm, const std::string& person) {
    Report report;
    {
        const std::lock_guard lock(mutex_);
        const auto found = alarms_.find(alarm);
        if (found == alarms_.end() || found->second.acknowledged_at || person.empty()) return false;
        found->second.acknowledged_by = person;
        found->second.acknowledged_at = clock_.wall();
        report.what = "alarm acknowledged";
        report.where = alarm;
        report.why = fmt::format("by {}, raised {} times", person, found->second.raised);
        report.key = "acknowledged " + alarm;
        if (alarms_changed_) alarms_changed_();
    }
    submit(std::move(report));
    return true;
}

std::vector<Alarm> Reports::alarms() const {
    const std::lock_guard lock(mutex_);
    std::vector<Alarm> list;
    for (const bool acknowledged : {false, true}) {
        for (const auto& [key, alarm] : alarms_) {
            if (alarm.acknowledged_at.has_value() == acknowledged) list.push_back(alarm);
        }
    }
    return list;
}

std::size_t Reports::latched() const {
    const std::lock_guard lock(mutex_);
    return static_cast<std::size_t>(
        std::ranges::count_if(alarms_, [](const auto& entry) { return !entry.second.acknowledged_at; }));
}

void Reports::restore(const std::vector<Alarm>& alarms) {
    const std::lock_guard lock(mutex_);
    for (const auto& old : alarms) {
        if (alarms_.size() + 1 >= limits_.alarms_max && !alarms_.contains(old.name)) break;
        const auto [entry, fresh] = alarms_.try_emplace(old.name, old);
        if (fresh || old.acknowledged_at) continue;
        entry->second.raised += old.raised;
        entry->second.first = std::min(entry->second.first, old.first);
    }
    if (alarms_changed_) alarms_changed_();
}

void Reports::watch_alarms(std::function<void()> changed) {
    const std::lock_guard lock(mutex_);
    alarms_changed_ = std::move(changed);
}

void Reports::step() { show_held_back(clock_.now(), false); }

void Reports::show_held_back(SteadyTime now, bool all) {
    std::vector<SubmittedReport> due;
    {
        const std::lock_guard lock(mutex_);
        for (auto& [key, limit] : by_key_) {
            if (limit.held_back == 0 || (!all && now - limit.window_start < limits_.window)) continue;
            limit.window_start = now;
            limit.shown = 1;
            auto report = std::move(limit.latest);
            report.held_back = std::exchange(limit.held_back, 0) - 1;  // it is itself one of them
            report.late = true;
            due.push_back(std::move(report));
        }
    }
    for (const auto& report : due) {
        for (const auto& sink : sinks_) sink->show(report);
    }
}

}  // namespace weir::service
