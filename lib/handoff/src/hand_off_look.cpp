// SPDX-License-Identifier: Apache-2.0
// The part of a hand-off that looks into the catalogue: what is to be handed over, what earlier processes left,
// and what every destination has by now.
#include <fmt/format.h>

#include <algorithm>

#include "hand_off_work.hpp"
#include "plan/source.hpp"

namespace weir::handoff {

void HandOff::Work::look(const std::stop_token& stop) {
    unsigned failures = 0;
    bool begun = false;
    bool orphans_found = false;
    while (!stop.stop_requested()) {
        bool failed = false;
        if (!options_.once || !looked_) {
            const auto wanted = [&] {
                const std::scoped_lock lock(mutex_);
                return looks_wanted_;
            }();
            auto done = begun ? Result<>() : begin();
            begun = begun || done;
            if (done) done = refresh();
            if (done && !orphans_found) done = find_orphans(), orphans_found = done.has_value();
            failures = done ? 0 : failures + 1;
            failed = !done;
            if (!done) {
                report_(report_of(Severity::warning, "the catalogue cannot be read; tried again", done.error()));
                const std::scoped_lock lock(mutex_);
                ++counts_.catalogue_failures;
            }
            const std::scoped_lock lock(mutex_);
            looked_ = looked_ || done || (options_.once && failures >= options_.tries);
            if (done) looks_done_ = wanted;
            changed_.notify_all();
        }
        complete_files();
        if (!options_.once) alarm_the_late();
        std::unique_lock lock(mutex_);
        if (options_.once && over_in_lock()) break;
        if (failed || looks_done_ == looks_wanted_) wait(lock, options_.poll, stop);
    }
    if (options_.once && !stop.stop_requested() && options_.deletion.above_percent < 100) delete_files(stop);
}

/// Once: what earlier processes left, and what changed since they ran.
Result<> HandOff::Work::begin() {
    const auto failed = WEIR_TRY(deletion_->restore_names());
    for (const auto& why : failed) {
        report_({.severity = Severity::error,
                 .what = "a file that was about to be deleted has not its name back",
                 .why = why,
                 .advice = "its bytes are there, in NAME.leaving",
                 .alarm = "handoff-kept"});
    }
    return find_missing_copies();
}

/// Files that were handed over before a destination of today was one, or had its name.
Result<> HandOff::Work::find_missing_copies() {
    const auto files = WEIR_TRY(catalogue_.files({.recorder = options_.recorder,
                                                  .file_state = catalogue::FileState::closed,
                                                  .transfer_state = catalogue::TransferState::transferred}));
    for (const auto& file : files) {
        if (!to_be_handed_over(file)) continue;
        const auto rows =
            WEIR_TRY(catalogue_.transfers({.guid = file.guid, .state = catalogue::CopyState::transferred}));
        const bool everywhere = std::ranges::all_of(destinations_, [&](const auto& destination) {
            return std::ranges::find(rows, destination->name(), &catalogue::TransferRow::destination) != rows.end();
        });
        const std::scoped_lock lock(mutex_);
        if (!everywhere) missing_.insert(file.guid);
    }
    return {};
}

/// A file without a sum of the wanted kind is reported once: nothing could verify its copy.
bool HandOff::Work::to_be_handed_over(const catalogue::FileRow& file) {
    if (file.file_health == catalogue::FileHealth::quarantined)
        return false;  // what recovery cut is whole up to there, and goes
    const auto sum = known_sum(file, options_.transfer.algorithm);
    if (sum) return true;
    const std::scoped_lock lock(mutex_);
    const bool first = without_sum_.empty();
    if (without_sum_.insert(file.guid).second) ++counts_.files_without_sum;
    if (first) {
        auto report = report_of(Severity::warning, "files without a sum are not handed over", sum.error());
        report.advice = "they stay here; weir_handoff_files_without_sum_total counts them";
        report_(std::move(report));
    }
    return false;
}

Result<> HandOff::Work::refresh() {
    const auto files = WEIR_TRY(catalogue_.files({.recorder = options_.recorder,
                                                  .file_state = catalogue::FileState::closed,
                                                  .transfer_state = catalogue::TransferState::on_disk}));
    const auto open = WEIR_TRY(catalogue_.files({.file_state = catalogue::FileState::opened}));
    std::set<std::string> busy;
    for (const auto& file : open) busy.insert(file.volume);
    std::set<Guid> offered;
    for (const auto& file : files) {
        if (!to_be_handed_over(file)) continue;
        offered.insert(file.guid);
        WEIR_TRY(offer(file));
    }
    for (const auto& guid : missing_) {
        const auto file = WEIR_TRY(catalogue_.file(guid));
        if (!file || file->file_state != catalogue::FileState::closed || !to_be_handed_over(*file)) continue;
        offered.insert(guid);
        WEIR_TRY(offer(*file));
    }
    const std::scoped_lock lock(mutex_);
    plan_.set_busy(std::move(busy));
    plan_.keep_only(offered);
    std::erase_if(missing_, [&](const Guid& guid) { return plan_.complete(guid); });
    return {};
}

/// Into the plan, unless it is there.
Result<> HandOff::Work::offer(const catalogue::FileRow& file) {
    {
        const std::scoped_lock lock(mutex_);
        if (plan_.knows(file.guid)) return {};
    }
    const auto rows = WEIR_TRY(catalogue_.transfers({.guid = file.guid}));
    const std::scoped_lock lock(mutex_);
    plan_.add(file, rows, clock_.wall(), clock_.now(), options_.retry_most, options_.once);
    if (plan_.complete(file.guid)) to_be_completed_.emplace(file.guid, Completion{file.run});
    return {};
}

/// Copies that were begun for files that are not handed over any more, or not by us, before this start.
Result<> HandOff::Work::find_orphans() {
    for (const auto state :
         {catalogue::CopyState::copying, catalogue::CopyState::failed, catalogue::CopyState::unverified}) {
        const auto rows = WEIR_TRY(catalogue_.transfers({.state = state}));
        for (const auto& row : rows) {
            const auto session = std::ranges::find_if(
                sessions_, [&](const auto& l) { return l->destination->name() == row.destination; });
            if (session == sessions_.end()) continue;
            {
                const std::scoped_lock lock(mutex_);
                if (plan_.knows(row.guid)) continue;  // its next attempt cleans
            }
            const auto file = WEIR_TRY(catalogue_.file(row.guid));
            if (!file || (options_.recorder && file->recorder != *options_.recorder)) continue;
            const auto place = place_of(*file, (*session)->pattern);
            if (!place) continue;
            const std::scoped_lock lock(mutex_);
            (*session)->orphans.emplace_back(*place, row);
        }
    }
    return {};
}

void HandOff::Work::complete_files() {
    std::vector<Guid> guids;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [guid, completion] : to_be_completed_) guids.push_back(guid);
    }
    for (const auto& guid : guids) {
        const auto entered = catalogue_.file_transferred(guid);
        const bool refused =
            !entered && entered.error().code == Errc::refused;  // for ever: quarantined meanwhile, or unknown
        if (!entered)
            report_(report_of(Severity::error,
                              refused ? "a file that was handed over is not called so"
                                      : "a file that was handed over cannot be called so; tried again",
                              entered.error()));
        const std::scoped_lock lock(mutex_);
        const auto entry = to_be_completed_.find(guid);
        if (entry == to_be_completed_.end()) continue;  // another thread was first
        if (entered) {
            ++counts_.files_transferred;
            to_be_completed_.erase(entry);
        } else {
            ++counts_.catalogue_failures;
            const bool abandoned = ++entry->second.tries >= options_.tries && options_.once;
            if (refused || abandoned) to_be_completed_.erase(entry);
        }
    }
    if (!guids.empty()) changed_.notify_all();
}

}  // namespace weir::handoff
