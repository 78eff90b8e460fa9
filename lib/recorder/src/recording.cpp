// SPDX-License-Identifier: Apache-2.0
// A recording while it runs, and its end. How it begins: recording_open.cpp.
#include "recording.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "accounts/ledger_change.hpp"
#include "stepping_thread.hpp"
#include "weir/base/assert.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/datafile/disk_fault.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::recorder {
namespace {

// What is kept of a copy until its round ends (entry, ticket, journal, index) is about 500 bytes.
constexpr std::uint64_t bytes_of_memory_per_copy = 8192;
// What a stop has to close its files when its deadline has passed with events in hand.
constexpr std::chrono::seconds closing_least{5};

}  // namespace

Recording::Recording(RecorderOptions options, Reporter report, const Clock& clock, FileSystem& system)
    : options_(std::move(options)),
      reports_(std::move(report)),
      clock_(clock),
      system_(system),
      buffers_(options_.memory / 2),
      segments_(std::make_unique<SegmentPool>(options_.memory / 2, options_.segment, clock_)),
      blocks_(options_.lumi_block_grace),
      settlement_({.recorder = options_.recorder,
                   .copies_in_hand_max = options_.memory.count() / bytes_of_memory_per_copy,
                   .unique_events = options_.unique_events,
                   .unique_memory_max = options_.unique_memory_max,
                   .clock = &clock_},
                  *this, reports_) {}

Recording::~Recording() {
    // A part that calls into others ends before them: receiving threads, stream threads, closing, syncing.
    if (intake_) intake_->stop_waiting_at({});  // from here on nothing waits for a disk
    if (receiver_) receiver_->stop(std::chrono::milliseconds{0});
    if (streams_) streams_->end_threads();
    due_files_ = {};
    if (keeper_) keeper_->stop(clock_.now() + closing_least);
    for (auto& volume : volumes_) volume->stop();
    disk_watch_ = {};
    segments_->on_freed({});
    streams_.reset();
    keeper_.reset();
    if (catalogue_) catalogue_->on_no_space({});
    // Threads that hang in the kernel still use their volume and its memory: both are leaked, knowingly.
    if (std::ranges::any_of(volumes_, [](const auto& volume) { return volume->hangs(); })) {
        static_cast<void>(segments_.release());
        for (auto& volume : volumes_) {
            if (volume->hangs()) static_cast<void>(volume.release());
        }
    }
    volumes_.clear();
}

void Recording::start() {
    started_ = clock_.now();
    receiver_->start();
    const auto interval = std::clamp<std::chrono::milliseconds>(
        options_.disk_silence_max / 4, std::chrono::milliseconds{5}, std::chrono::milliseconds{500});
    disk_watch_ = stepping_thread("disk watch", interval, [this] { step_disk_watch(); });
}

std::optional<delivery::Refusal> Recording::hello(delivery::SessionId session, const wire::Hello& hello) {
    if (hello.session.run != run_) {
        return delivery::Refusal{wire::ByeReason::wrong_run, fmt::format("run {} is being recorded here, not run {}",
                                                                         number(run_), number(hello.session.run))};
    }
    if (wire::is_block(hello.format))
        return delivery::Refusal{wire::ByeReason::format_mismatch,
                                 fmt::format("{} are taken by a readout or supervisor; this is a recorder of events",
                                             wire::name(hello.format))};
    settlement_.declare(session, hello.session);
    return std::nullopt;
}

void Recording::notify_waiting() {
    if (intake_->take_waits_for_file()) receiver_->retry();
}

void Recording::step_due_files() {
    streams_->close_due();
    notify_waiting();
    const auto now = clock_.now();
    catalogue_watch_->step(now);
    accounts_->step(now);
}

void Recording::step_disk_watch() {
    for (auto& volume : volumes_) volume->check_silence(options_.disk_silence_max);
    watch_->step(clock_.now());
}

bool Recording::make_room_for_catalogue() {
    const auto device_of = [](const std::filesystem::path& path) {
        struct stat status{};
        return ::stat(path.c_str(), &status) == 0 ? std::optional(status.st_dev) : std::nullopt;
    };
    const auto path = catalogue::own_catalogue_path(options_.directories.front(), options_.catalogue);
    const auto device = device_of(path);
    const Error error{Errc::io, ENOSPC, fmt::format("cannot write catalogue {}", path.native())};
    return device && std::ranges::any_of(volumes_, [&](const auto& volume) {
               return device_of(volume->directory()) == device && volume->make_room(error);
           });
}

std::optional<Error> Recording::failure() const {
    for (const auto& volume : volumes_) {
        if (volume->state() != VolumeState::failed) return std::nullopt;
    }
    return volumes_.front()->failure();
}

Result<> Recording::recover_volume(Volume& volume) {
    const auto catalogue = catalogue_;
    const auto recorder = options_.recorder;
    const auto left = WEIR_TRY(catalogue_->files({.run = run_,
                                                  .recorder = options_.recorder,
                                                  .volume = volume.directory().native(),
                                                  .file_state = catalogue::FileState::opened}));
    // What its journal counts is in the catalogue before that journal goes.
    WEIR_TRY(accounts_->write_ledger());
    auto recovered = recovery::recover_and_record(volume.directory(), recorder, *catalogue, clock_, volume.watched(),
                                                  recovery::JournalCounts::known);
    if (volume.hangs()) return std::unexpected(*volume.failure());  // nothing else of this recording may be there
    // Also when not all could be recovered: what is closed or gone now is not found open again.
    for (const auto& row : left) {
        const auto now = WEIR_TRY(catalogue_->file(row.guid));
        if (now && now->file_state == catalogue::FileState::opened) continue;
        blocks_.file_closed(row.stream_type, row.stream_name, row.lumi_block, clock_.now());
    }
    if (!recovered) return std::unexpected(recovered.error());
    report_doubts(*recovered);
    if (!recovered->failed.empty()) return std::unexpected(recovered->failed.front());
    return {};
}

void Recording::report_doubts(const recovery::RecoveryResult& recovered) const {
    for (const auto& error : recovered.doubts) reports_.alarm("acknowledged events in doubt", error.message());
}

/// As the next start would do, if the disk lets us: so that the run can be closed. Also where no file is left but the
/// journal of a volume that had failed.
Result<std::vector<catalogue::FileRow>> Recording::recover_what_is_left(bool also_good_volumes) {
    const catalogue::FileQuery open_files{
        .run = run_, .recorder = options_.recorder, .file_state = catalogue::FileState::opened};
    const auto left = WEIR_TRY(catalogue_->files(open_files));
    for (const auto& volume : volumes_) {
        const auto here =
            std::ranges::any_of(left, [&](const auto& row) { return row.volume == volume->directory().native(); });
        const bool failed = volume->state() == VolumeState::failed;
        if ((!failed && (!here || !also_good_volumes)) || volume->hangs()) continue;
        const auto recover = [this, &left_open = *volume] { return recover_volume(left_open); };
        if (auto recovered = volume->unless_it_hangs(recover); !recovered && here)
            reports_.alarm(fmt::format("files left open: {}", volume->directory().native()),
                           recovered.error().message());
    }
    return catalogue_->files(open_files);
}

Result<> Recording::stop(std::chrono::milliseconds deadline) {
    WEIR_ASSERT(!stopped_);
    stopped_ = true;
    const auto until = clock_.now() + deadline;
    intake_->stop_waiting_at(until);
    const bool nothing_left = receiver_->stop(deadline);
    streams_->end_threads();
    streams_->close_all(nothing_left);
    const auto close_until = std::max(until, clock_.now() + closing_least);
    due_files_ = {};
    const auto left_open = keeper_->stop(close_until);
    accounts_->report_rejections(clock_.now());
    if (accounts_->write_ledger()) {
        for (auto& volume : volumes_) volume->forget_rejected();
    }
    for (auto& volume : volumes_) volume->stop();
    catalogue_watch_->look();
    auto kept = accounts_->write_marks();
    WEIR_TRY(accounts_->write_ledger());
    if (!kept) return kept;
    // What recovery closes now was perhaps not counted as stored.
    const bool counted =
        std::ranges::all_of(volumes_, [](const auto& volume) { return volume->state() != VolumeState::failed; });
    // At the deadline only the next start has the time for it.
    const bool in_time = left_open == 0 || clock_.now() < close_until;
    const auto left = WEIR_TRY(recover_what_is_left(in_time));
    if (!left.empty()) {
        const auto why = failure();
        return fail(Errc::io,
                    fmt::format("{} files are left open for recovery, {} the first; run {} stays open{}{}", left.size(),
                                (std::filesystem::path(left.front().volume) / left.front().name).native(), number(run_),
                                why ? ": " : "", why ? why->message() : ""));
    }
    if (!nothing_left) {
        return fail(Errc::limit,
                    fmt::format("stopped with events in hand after {}; run {} stays open, their senders keep them",
                                to_string(deadline), number(run_)));
    }
    if (counted) {
        WEIR_TRY(accounts_->write_ledger(CatalogueAccounts::RunEnd::yes));
    }
    WEIR_TRY(catalogue_->close_run(run_, options_.recorder, clock_.wall()));
    if (const auto waiting = catalogue::carried_over(*catalogue_, std::chrono::seconds{5})) reports_.warning(*waiting);
    if (const auto interference = reports_.interference(); interference.count > 0)
        return fail(Errc::corrupt,
                    fmt::format("run {} is closed, but its files were interfered with {} times; the first was: {}; "
                                "the alarms have the details",
                                number(run_), interference.count, interference.first));
    return {};
}

std::vector<std::string> Recording::volumes() const {
    std::vector<std::string> lines;
    for (const auto& volume : volumes_) lines.push_back(volume->description());
    return lines;
}

std::optional<wire::EventIdSet> Recording::stored_events() const {
    if (!options_.unique_events || settlement_.unique().unchecked() > 0) return std::nullopt;
    return settlement_.unique().stored();
}

RecorderSummary Recording::summary() const {
    RecorderSummary s;
    s.run = run_;
    s.receiver = receiver_->stats();
    s.events_rejected = events_rejected(s.receiver);
    const auto add = [&](const Ledger::Counts& counts) {
        s.copies_received += counts.received;
        s.copies_stored += counts.stored;
        s.bytes_stored += counts.bytes_stored;
        s.copies_in_hand += counts.in_hand();
        for (const auto reason : wire::reject_reasons) {
            if (const auto n = counts.rejected[wire::index(reason)]; n > 0) s.copies_rejected[wire::name(reason)] += n;
        }
        if (counts.returned > 0) s.copies_rejected[Ledger::returned_name] += counts.returned;
    };
    s.streams = streams_->summary();
    for (const auto& stream : s.streams) add(stream.copies);
    add(settlement_.unplaced().counts());
    s.files = keeper_->files_closed();
    s.files_waiting = keeper_->files_waiting();
    s.waits_for_closing = !keeper_->may_open();
    s.events_unchecked = settlement_.unique().unchecked();
    s.events_stored = settlement_.unique().stored_count();
    s.answers = settlement_.durations();
    s.catalogue_changes_waiting = catalogue_->changes_waiting().value_or(0);
    s.running = clock_.now() - started_;
    const auto pool = buffers_.stats();
    s.buffers_in_use = pool.in_use;
    s.memory_limit = options_.memory;
    s.segments_free = segments_->free_count();
    s.segments = segments_->count();
    std::uint64_t syncs = 0, closing_steps = 0;
    for (const auto& volume : volumes_) {
        const auto stats = volume->stats();
        s.free_space += volume->free_space();
        s.volumes.push_back({volume->directory().native(), volume->state(), volume->free_space(), stats.durations});
        s.sync_rounds += stats.rounds;
        s.syncing += stats.syncing;
        s.slowest_sync = std::max(s.slowest_sync, stats.slowest);
        syncs += stats.syncs;
        closing_steps += stats.closing_steps;
    }
    s.paused = std::ranges::none_of(s.volumes, [](const auto& volume) { return volume.state == VolumeState::good; });
    const auto blocks = segments_->turnover();
    s.duties = {
        {"placing", segments_->is_waited_for(), blocks.taken},
        {"syncing", s.copies_in_hand > 0 && !s.paused, s.copies_stored + s.sync_rounds + syncs + blocks.released},
        {"closing", s.files_waiting > 0, keeper_->attempts() + closing_steps}};
    s.until_full = watch_->until_full();
    return s;
}

}  // namespace weir::recorder
