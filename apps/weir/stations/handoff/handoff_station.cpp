// SPDX-License-Identifier: Apache-2.0
#include "stations/handoff/handoff_station.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "cli/output.hpp"
#include "stations/handoff/handoff_metrics.hpp"
#include "weir/catalogue/catalogue_place.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr auto carry_deadline_at_end = 5s;  // of what has not reached the shared catalogue at the end

}  // namespace

HandOffStation::HandOffStation(HandOffSettings settings, std::string name, wire::StationId id,
                               const service::StationServices& services)
    : settings_(std::move(settings)), name_(std::move(name)), id_(id), services_(services) {}

HandOffStation::~HandOffStation() {
    static_cast<void>(HandOffStation::disconnect());
    if (!hangs_) return;
    flush_output();
    std::_Exit(exit_bad);
}

Peer HandOffStation::self() const { return {.name = name_, .kind = StationKind::handoff, .id = id_}; }

Result<> HandOffStation::connect(const std::vector<Peer>&) {  // it meets recorders in the catalogue only
    options_ = WEIR_TRY(settings_.to_options());
    destinations_ = WEIR_TRY(settings_.open_destinations(options_));
    return {};
}

/// Nothing is kept of one that fails: the next start begins anew.
Result<> HandOffStation::begin(RunNumber run) {
    if (destinations_.empty()) destinations_ = WEIR_TRY(settings_.open_destinations(options_));
    auto& reports = services_.reports;
    auto lock_of_catalogue =
        WEIR_TRY(catalogue::HandOffLock::take(catalogue::own_catalogue_path(settings_.directory, settings_.catalogue)));
    auto catalogue = WEIR_TRY(
        catalogue::open_catalogue_beside_recorder(settings_.directory, settings_.catalogue, reports.reporter()));
    auto alarms = WEIR_TRY(service::AlarmKeeper::start(
        reports, {.directory = settings_.directory, .station = service::hand_off_station}, services_.clock));
    auto hand_off = WEIR_TRY(handoff::HandOff::create(*catalogue, std::exchange(destinations_, {}), options_,
                                                      services_.clock, reports.reporter()));
    hand_off->start();
    // Outside mutex_: a scrape holds what this waits for, and calls status().
    collection_ = collect_handoff(services_.metrics, *hand_off, *catalogue, services_.clock);
    lock_ = std::move(lock_of_catalogue);
    catalogue_ = std::move(catalogue);
    alarms_ = std::move(alarms);
    const std::scoped_lock lock(mutex_);
    hand_off_ = std::move(hand_off);
    run_ = run;
    before_run_ = {};
    return {};
}

Result<> HandOffStation::start(RunNumber run) {
    if (!hand_off_) return begin(run);
    const std::scoped_lock lock(mutex_);
    run_ = run;
    before_run_ = hand_off_->summary();
    return {};
}

Result<> HandOffStation::stop(std::chrono::milliseconds deadline) {
    if (run_ != RunNumber{})
        static_cast<void>(hand_off_->finish_run(run_, deadline));  // run control names what is left
    return {};
}

Result<> HandOffStation::disconnect() {
    destinations_.clear();
    if (!hand_off_ || hangs_) return {};
    const auto tidy = std::min<std::chrono::milliseconds>(options_.transfer.answer, 3s);
    hangs_ = !hand_off_->stop(tidy * 2 + 10s);
    if (!settings_.catalogue.empty()) {
        not_carried_ = catalogue::carried_over(*catalogue_, carry_deadline_at_end);
        if (not_carried_ && run_ != RunNumber{}) services_.reports.reporter().warning(*not_carried_);
    }
    if (hangs_)
        return fail(Errc::io,
                    "a destination or a disk does not answer; what was begun there is removed by the next start");
    collection_ = {};
    std::unique_ptr<handoff::HandOff> ended;
    {
        const std::scoped_lock lock(mutex_);
        last_ = hand_off_->summary();
        ended = std::move(hand_off_);
    }
    ended.reset();
    alarms_.reset();
    catalogue_.reset();
    lock_.reset();
    return {};
}

Result<> HandOffStation::change_peers(const std::vector<Peer>&) { return {}; }

handoff::HandOffSummary HandOffStation::summary() const {
    const std::scoped_lock lock(mutex_);
    return summary_in_lock();
}

handoff::HandOffSummary HandOffStation::summary_in_lock() const { return hand_off_ ? hand_off_->summary() : last_; }

bool HandOffStation::wait_until_over(std::chrono::milliseconds at_most) { return hand_off_->wait_until_over(at_most); }

service::StationStatus HandOffStation::status() const {
    const std::scoped_lock lock(mutex_);  // both are of one life
    const auto now = summary_in_lock();
    service::StationStatus status;
    status.metered = true;
    auto& ledger = status.ledger;
    ledger.what = "files";
    ledger.stored = now.files_transferred - before_run_.files_transferred;
    ledger.rejected = {{"quarantined", now.files_quarantined - before_run_.files_quarantined},
                       {"without a sum", now.files_without_sum - before_run_.files_without_sum}};
    ledger.in_hand = now.files_open;
    ledger.received = ledger.stored + ledger.in_hand;
    for (const auto& [reason, files] : ledger.rejected) ledger.received += files;
    const auto failures = [](const handoff::HandOffSummary& of) {
        std::uint64_t sum = 0;
        for (const auto& destination : of.destinations) sum += destination.failed + destination.unverified;
        return sum;
    };
    status.counters = {{"failures", static_cast<double>(failures(now) - failures(before_run_))},
                       {"files_deleted", static_cast<double>(now.files_deleted - before_run_.files_deleted)},
                       {"destinations_down", static_cast<double>(std::ranges::count(
                                                 now.destinations, false, &handoff::DestinationSummary::up))}};
    return status;
}

void HandOffStationSettings::declare(service::Settings& settings, const std::string& section) {
    settings_.declare(settings, section);
}

Result<> HandOffStationSettings::check(const StationPlace&) const {
    if (settings_.destinations.empty())
        return fail(Errc::usage, "no destination; name one in `destinations`: root://HOST:PORT//PATH, or a directory");
    WEIR_TRY(settings_.targets());
    WEIR_TRY(settings_.to_options());
    return {};
}

Result<std::unique_ptr<service::Station>> HandOffStationSettings::make(const StationPlace& place,
                                                                       const service::StationServices& services) {
    if (place.directories.empty())
        return fail(Errc::usage, "no directory to hand over from; name the first one of its recorder with --dir");
    auto settings = settings_;
    settings.directory = place.directories.front();
    return std::make_unique<HandOffStation>(std::move(settings), place.name, place.id, services);
}

}  // namespace weir::app
