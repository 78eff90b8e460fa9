// SPDX-License-Identifier: Apache-2.0
// What a person must know of a hand-off: which failure is a line, and which an alarm that stays.
#include <fmt/format.h>

#include "hand_off_work.hpp"

namespace weir::handoff {
namespace {

constexpr unsigned failures_of_alarm = 3;  // in sequence, by one destination

}  // namespace

void HandOff::Work::report_failure(const Session& session, const Job& job, const TransferResult& result) {
    if (result.outcome == Outcome::transferred || result.outcome == Outcome::gone || result.outcome == Outcome::stopped)
        return;
    Report report;
    report.where = fmt::format("{}, to {}", job.file.name, session.destination->name());
    report.why = result.why;
    report.severity = Severity::warning;
    if (result.outcome == Outcome::quarantined) {
        report.severity = Severity::error;
        report.what = "a file is damaged and was quarantined";
        report.advice = "it is not handed over and not deleted; look for another copy of its events";
        report.alarm = "handoff-quarantined";
    } else if (result.trouble == Trouble::wrong_bytes) {
        report.severity = Severity::error;
        report.what = "a destination has stored other bytes than it was sent";
        report.advice = "the copy was removed and is made again; if this repeats, do not trust that storage";
        report.alarm = "handoff-wrong-bytes:" + session.destination->name();
    } else if (result.trouble == Trouble::name_taken) {
        report.severity = Severity::error;
        report.what = "a file's name is taken at the destination";
        report.alarm = "handoff-name-taken:" + session.destination->name();
    } else if (result.trouble == Trouble::source) {
        report.severity = Severity::error;
        report.what = "a file cannot be handed over";
        report.alarm = "handoff-source";
    } else if (result.trouble == Trouble::catalogue) {
        report.what = "the catalogue cannot be written; the copy does not count yet";
    } else {
        report.what = result.outcome == Outcome::unverified ? "a copy is not verified; its sum is queried again"
                                                            : "a copy failed; tried again";
        const std::scoped_lock lock(mutex_);
        if (session.failures + 1 >= failures_of_alarm)
            report.alarm = "handoff-destination:" + session.destination->name();
    }
    report.key = report.what + session.destination->name();
    report_(std::move(report));
}

void HandOff::Work::alarm_the_late() {
    struct Late {
        std::string name, error;
        std::size_t waiting;
        std::chrono::seconds age;
    };
    std::vector<Late> late;
    {
        const std::scoped_lock lock(mutex_);
        for (std::size_t i = 0; i < sessions_.size(); ++i) {
            const auto standing = plan_.standing(i);
            if (!standing.oldest) continue;
            const auto age = std::chrono::duration_cast<std::chrono::seconds>(clock_.wall() - *standing.oldest);
            if (age > options_.alarm_age)
                late.push_back(
                    {sessions_[i]->counts.name, sessions_[i]->counts.error, standing.waiting + standing.in_hand, age});
        }
    }
    for (const auto& one : late) {
        report_({.severity = Severity::error,
                 .what = "the hand-off is late",
                 .where = one.name,
                 .why = fmt::format("{} files wait, the oldest was closed {} s ago{}{}", one.waiting, one.age.count(),
                                    one.error.empty() ? "" : "; last error: ", one.error),
                 .advice = "look at the destination; nothing is deleted here meanwhile",
                 .key = "handoff-late:" + one.name,
                 .alarm = "handoff-late:" + one.name});
    }
}

}  // namespace weir::handoff
