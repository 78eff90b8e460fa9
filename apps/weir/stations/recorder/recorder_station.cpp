// SPDX-License-Identifier: Apache-2.0
#include "stations/recorder/recorder_station.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "cli/process/open_files.hpp"
#include "stations/recorder/recorder_metrics.hpp"
#include "weir/base/assert.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/service/event_ids.hpp"

namespace weir::app {
namespace {

/// A station's name as a recorder's in file names.
std::string name_part(const std::string& name) {
    auto part = name;
    std::ranges::replace_if(part, [](char c) { return !event::valid_name_part(std::string(1, c)); }, '_');
    return part;
}

}  // namespace

RecorderStation::RecorderStation(recorder::RecorderOptions options, std::string name, wire::StationId id,
                                 const service::StationServices& services, std::chrono::milliseconds senders_at_most)
    : options_(std::move(options)),
      name_(std::move(name)),
      id_(id),
      services_(services),
      senders_at_most_(senders_at_most) {}

RecorderStation::~RecorderStation() { end_recorder(); }

Result<> RecorderStation::configure() {
    auto port = WEIR_TRY(transport::ReservedPort::take(options_.receiver.listen));
    port_.emplace(std::move(port));
    return {};
}

Peer RecorderStation::self() const {
    Peer self{name_, StationKind::record, id_, {}, {}, {}};
    if (port_) {
        auto address = port_->address();
        if (address.host.empty()) address.host = "127.0.0.1";
        self.events = transport::to_string(address);
    }
    return self;
}

Result<> RecorderStation::connect(const std::vector<Peer>&) { return {}; }  // senders come to us

Result<> RecorderStation::record(RunNumber run, bool again) {
    auto options = options_;
    options.run_again = again;
    if (run != RunNumber{}) options.run = run;  // else the recorder finds one
    options.receiver.listen = port_->address();
    const auto lent = port_->lend();
    auto recorder = WEIR_TRY(recorder::Recorder::open(options, services_.reports.reporter(), services_.clock));
    if (!alarms_) {  // the recorder owns the directory now, and with it the alarms that lie there
        auto keeper = WEIR_TRY(service::AlarmKeeper::start(
            services_.reports, {.directory = options.directories.front()}, services_.clock));
        alarms_.emplace(std::move(keeper));
    }
    recorder->start();
    const std::scoped_lock lock(mutex_);
    last_events_.reset();
    recorder_ = std::move(recorder);
    collection_ = collect_recorder(services_.metrics, *recorder_);
    return {};
}

Result<> RecorderStation::stop(std::chrono::milliseconds deadline) {
    auto stopped = recorder_->stop(std::min(deadline, senders_at_most_));
    end_recorder();
    return stopped;
}

void RecorderStation::end_recorder() {
    collection_ = {};
    std::unique_ptr<recorder::Recorder> ended;
    const std::scoped_lock lock(mutex_);
    if (!recorder_) return;
    last_ = recorder_->summary();
    last_events_ = recorder_->stored_events();
    ended = std::move(recorder_);
}

Result<> RecorderStation::disconnect() { return {}; }

Result<> RecorderStation::unconfigure() {
    alarms_.reset();
    port_.reset();
    return {};
}

Result<> RecorderStation::change_peers(const std::vector<Peer>&) { return {}; }

recorder::RecorderSummary RecorderStation::summary() const {
    const std::scoped_lock lock(mutex_);
    return recorder_ ? recorder_->summary() : last_;
}

const recorder::Recorder& RecorderStation::recorder() const {
    WEIR_ASSERT(recorder_ != nullptr);
    return *recorder_;
}

service::StationStatus RecorderStation::status() const {
    const std::scoped_lock lock(mutex_);
    auto now = recorder_ ? recorder_->summary() : last_;
    now.paused = recorder_ && now.paused;
    return status_of(now, options_.unique_events);
}

service::StationStatus status_of(const recorder::RecorderSummary& now, bool unique_events) {
    service::StationStatus status;
    if (now.run != RunNumber{}) status.run = now.run;
    status.metered = true;
    status.ledger.what = "copies";
    status.ledger.received = now.copies_received;
    status.ledger.stored = now.copies_stored;
    status.ledger.rejected = now.copies_rejected;
    status.ledger.in_hand = now.copies_in_hand;
    std::uint64_t events_rejected = 0;
    for (const auto& [reason, count] : now.events_rejected) events_rejected += count;
    status.counters = {{"events", static_cast<double>(now.receiver.received)},
                       {"events_rejected", static_cast<double>(events_rejected)},
                       {"bytes_stored", static_cast<double>(now.bytes_stored)},
                       {"files", static_cast<double>(now.files)},
                       {"events_recorded", static_cast<double>(unique_events ? now.events_stored : now.copies_stored)},
                       {"connections", static_cast<double>(now.receiver.connections)},
                       {"paused", now.paused ? 1.0 : 0.0}};
    return status;
}

service::StationEvents RecorderStation::events() const {
    const std::scoped_lock lock(mutex_);
    if (!last_events_) return {};
    return {{"recorded", service::EventIds(*last_events_, options_.unique_memory_max + options_.unique_memory_max)}};
}

std::filesystem::path catalogue_file(const recorder::RecorderOptions& options) {
    return catalogue::own_catalogue_path(options.directories.front(), options.catalogue);
}

void RecorderStation::serve_files() {
    files_.emplace(control::FilesRouteParts{.here = {.catalogues = {catalogue_file(options_)}}}, services_.clock);
}

std::vector<service::HttpRoute> RecorderStation::routes() {
    if (!files_) return {};
    return {files_->route()};
}

RecorderStationSettings::RecorderStationSettings() {
    settings_.listen.clear();
    settings_.options.unique_events = true;  // events of builders that die are sent again by others
    // A machine without power closes no connection: senders go on with the other recorders within 10 s.
    settings_.options.receiver.heartbeat = std::chrono::milliseconds(1500);
}

void RecorderStationSettings::declare(service::Settings& settings, const std::string& section) {
    settings_.options.recorder = name_part(section.substr(section.find('.') + 1));
    settings_.declare(settings, section);
}

RecorderSettings RecorderStationSettings::with(const StationPlace& place) const {
    auto all = settings_;
    if (!place.directories.empty() &&
        (all.directories.empty() || place.directories != std::vector{place.partition.directory}))
        all.directories = place.directories;
    all.options.create_directories = place.create;
    return all;
}

/// Files of its own section are for senders outside; stations of the partition then show and want those of [security].
Result<recorder::RecorderOptions> RecorderStationSettings::to_options(const StationPlace& place,
                                                                      RecorderSettings all) const {
    const auto parts = place.partition.data_tls();
    const auto given = !all.tls_certificate.empty() + !all.tls_key.empty() + !all.tls_ca.empty();
    if (given != 0 && !parts.any())
        return fail(Errc::usage,
                    "the stations that send to it use plain TCP, so that nothing would be recorded under TLS; give "
                    "[security] too, or take tls_certificate, tls_key and tls_ca away");
    if (given != 0 && given != 3)
        return fail(Errc::usage, "it needs tls_certificate, tls_key and tls_ca together, or none of them");
    const auto where = WEIR_TRY(place.listen(all.listen));
    all.listen = transport::to_string(where);
    all.plain = all.plain || place.partition.network.plain || parts.any();
    auto options = WEIR_TRY(all.to_options());
    (given != 0 ? options.receiver.tls_of_parts : options.receiver.tls) = parts;
    return options;
}

Result<> RecorderStationSettings::check(const StationPlace& place) const {
    auto all = with(place);
    if (all.directories.empty()) all.directories.emplace_back(".");  // perhaps --dir names them later
    WEIR_TRY(to_options(place, std::move(all)));
    return {};
}

Result<std::unique_ptr<service::Station>> RecorderStationSettings::make(const StationPlace& place,
                                                                        const service::StationServices& services) {
    auto all = with(place);
    if (all.directories.empty())
        return fail(
            Errc::usage,
            fmt::format("no directory to record into; name one with --dir, or with `directories` in [record.{}]",
                        place.name));
    auto options = WEIR_TRY(to_options(place, std::move(all)));
    constexpr std::uint64_t for_files = 1024;
    static_cast<void>(allow_open_files(options.receiver.connections_max + for_files));
    auto station = std::make_unique<RecorderStation>(std::move(options), place.name, place.id, services);
    station->serve_files();
    return station;
}

}  // namespace weir::app
