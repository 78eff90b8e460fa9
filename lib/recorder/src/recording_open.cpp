// SPDX-License-Identifier: Apache-2.0
// How a recording begins: it takes its directories and the port, recovers what an earlier recorder left, opens the run,
// and puts its parts together. No sender can connect before all of that is done.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "accounts/ledger_change.hpp"
#include "disk/recording_directory.hpp"
#include "recording.hpp"
#include "stepping_thread.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/checksum/kernels.hpp"
#include "weir/datafile/disk_fault.hpp"
#include "weir/datafile/volume_marker.hpp"
#include "weir/recovery/rebuild.hpp"
#include "weir/recovery/recovery.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace weir::recorder {
namespace {

constexpr std::chrono::milliseconds due_files_interval{100};

/// The run that a crash of this recorder left open.
Result<std::optional<RunNumber>> last_open_run(catalogue::Catalogue& catalogue, const std::string& recorder) {
    const auto rows = WEIR_TRY(catalogue.runs());
    std::optional<RunNumber> found;
    for (const auto& row : rows) {
        if (row.recorder == recorder && row.state == catalogue::OpenState::opened) found = row.run;
    }
    return found;
}

}  // namespace

Result<std::unique_ptr<Recording>> Recording::open(RecorderOptions options, Reporter report, const Clock& clock,
                                                   FileSystem& system) {
    WEIR_TRY(options.check_consistency());
    WEIR_TRY(checksum::self_test());
    for (auto& directory : options.directories) {  // one spelling in the catalogue, whatever the user types
        WEIR_TRY(check_directory(directory, options.create_directories));
        std::error_code error;
        if (auto canonical = std::filesystem::canonical(directory, error); !error) directory = std::move(canonical);
    }
    std::unique_ptr<Recording> recorder(new Recording(std::move(options), std::move(report), clock, system));
    auto opened = recorder->open_all();
    if (opened) return recorder;
    if (datafile::disk_fault_of(opened.error()) == datafile::DiskFault::no_space) {
        std::string directories;
        for (const auto& directory : recorder->options_.directories)
            directories += (directories.empty() ? "" : ", ") + directory.native();
        opened.error().context += fmt::format("; free some space for {}, 1 MiB at least, and start again", directories);
    }
    return std::unexpected(opened.error());
}

struct Recording::Directories {
    std::vector<datafile::DirectoryLock> locks;
    std::vector<Guid> ids;
};

Result<> Recording::open_all() {
    auto directories = WEIR_TRY(take_directories());
    // The port first: a recorder that cannot listen must not open a run. No sender can connect before the run is known
    // to be good and all that is here of it was read.
    WEIR_TRY(open_receiver());
    WEIR_TRY(open_catalogue());
    WEIR_TRY(open_run());
    WEIR_TRY(open_volumes(std::move(directories)));
    WEIR_TRY(open_streams());
    if (continued_) {
        WEIR_TRY(restore_promises());
    }
    // From the beginning: a recovery of this run sees that its ids are to be kept.
    if (options_.unique_events) {
        WEIR_TRY(accounts_->write_marks());
    }
    watch_ = std::make_unique<RecordingWatch>(
        RecordingWatchOptions{.certificate = options_.receiver.tls.certificate, .full_warning = options_.full_warning},
        watched(), reports_, clock_);
    watch_->step(clock_.now());
    for (const auto& volume : volumes_) volume->start();
    keeper_->start();
    due_files_ = stepping_thread("due files", due_files_interval, [this] { step_due_files(); });
    return receiver_->listen();
}

Result<Recording::Directories> Recording::take_directories() {
    Directories directories;
    for (const auto& directory : options_.directories) {
        auto lock = WEIR_TRY(datafile::DirectoryLock::take(directory));
        directories.locks.push_back(std::move(lock));
        // Of a recorder that died. The disk may be full but for this; what is left there is closed with it.
        std::error_code ignored;
        std::filesystem::remove(directory / SpaceReserve::file_name, ignored);
        const auto id = WEIR_TRY(datafile::mark_directory(directory, system_));
        directories.ids.push_back(id);
    }
    return directories;
}

Result<> Recording::open_receiver() {
    auto receiver_options = options_.receiver;
    receiver_options.name = options_.recorder;
    receiver_ = WEIR_TRY(delivery::Receiver::open(receiver_options, buffers_, *this, reports_.reporter(), clock_));
    return {};
}

/// And recovers what an earlier recorder left open.
Result<> Recording::open_catalogue() {
    catalogue_ =
        WEIR_TRY(catalogue::open_own_catalogue(options_.directories.front(), options_.catalogue, reports_.reporter()));
    catalogue_watch_ = std::make_unique<CatalogueWatch>(
        *catalogue_, catalogue::own_catalogue_path(options_.directories.front(), options_.catalogue), reports_);
    const auto misses = WEIR_TRY(recovery::catalogue_misses_runs(options_.directories, options_.recorder, *catalogue_));
    if (misses) {
        const auto rebuilt = WEIR_TRY(recovery::rebuild_catalogue(options_.directories, *catalogue_, clock_));
        if (!rebuilt.recovery.failed.empty()) return std::unexpected(rebuilt.recovery.failed.front());
        report_doubts(rebuilt.recovery);
        reports_.warning(
            fmt::format("the catalogue did not know all that is here: {} runs and {} files were entered from the files",
                        rebuilt.runs_added, rebuilt.files_added));
        for (const auto& error : rebuilt.failed) reports_.error(error.message());
    }
    for (const auto& directory : options_.directories) {
        auto recovered =
            WEIR_TRY(recovery::recover_and_record(directory, options_.recorder, *catalogue_, clock_, system_));
        for (const auto& file : recovered.files) {
            reports_.warning(fmt::format("recovered {}: {} events kept, {} bytes cut", file.path.native(),
                                         file.closed.events, file.bytes_cut));
        }
        report_doubts(recovered);
        if (!recovered.failed.empty()) return std::unexpected(recovered.failed.front());
    }
    WEIR_TRY(recovery::keep_marks(options_.directories, *catalogue_));
    return {};
}

Result<> Recording::open_run() {
    catalogue::RunStart start{.run = {},
                              .recorder = options_.recorder,
                              .mode = name(options_.mode),
                              .relaxations = options_.sync ? "" : "no sync",
                              .at = clock_.wall(),
                              .again = options_.run_again};
    auto run = options_.run;
    if (!run) {
        run = WEIR_TRY(last_open_run(*catalogue_, options_.recorder));
    }
    if (!run) {
        run_ = WEIR_TRY(catalogue_->open_free_run(start));
        return {};
    }
    start.run = run_ = *run;
    const auto opening = WEIR_TRY(catalogue_->open_run(start));
    continued_ = opening == catalogue::RunOpening::continued;
    return {};
}

Result<> Recording::open_volumes(Directories directories) {
    auto& [locks, ids] = directories;
    const auto ledgers = WEIR_TRY(catalogue_->ledgers(run_));
    settlement_.begin_run(run_, locks.size() - 1, ledgers);
    for (std::size_t i = 0; i < locks.size(); ++i) {
        const VolumeOptions volume_options{.directory = options_.directories[i],
                                           .run = run_,
                                           .recorder = options_.recorder,
                                           .id = ids[i],
                                           .direct = options_.direct,
                                           .queue_depth = options_.queue_depth,
                                           .write_threads = options_.write_threads,
                                           .sync_interval = options_.sync_interval,
                                           .sync = options_.sync,
                                           .reserve = options_.disk_reserve,
                                           .headroom = options_.disk_headroom,
                                           .retry_first = options_.disk_retry};
        auto volume = WEIR_TRY(Volume::open(volume_options, std::move(locks[i]), *segments_, settlement_, reports_,
                                            {.changed = [this] { receiver_->retry(); },
                                             .recover = [this](Volume& failed) { return recover_volume(failed); }},
                                            clock_, system_));
        volumes_.push_back(std::move(volume));
    }
    catalogue_->on_no_space([this] { return make_room_for_catalogue(); });
    return {};
}

Result<> Recording::open_streams() {
    keeper_ = std::make_unique<FileKeeper>(
        options_, run_, *catalogue_, volumes_, blocks_, settlement_, reports_, [this] { notify_waiting(); }, clock_);
    WEIR_TRY(keeper_->load_sequences());
    streams_ = std::make_unique<StreamSet>(options_, *keeper_, blocks_, clock_);
    const bool direct = std::ranges::all_of(volumes_, [](const auto& volume) { return volume->direct(); });
    intake_ =
        std::make_unique<EventIntake>(options_, *streams_, settlement_, *segments_,
                                      direct ? checksum::Stores::non_temporal : checksum::Stores::ordinary, clock_);
    segments_->on_freed([this] { receiver_->retry(); });
    accounts_ = std::make_unique<CatalogueAccounts>(
        run_, options_.recorder, *catalogue_, settlement_, blocks_,
        CatalogueAccounts::Sources{.ledgers = [this] { return streams_->ledgers(); },
                                   .events_rejected = [this] { return events_rejected(receiver_->stats()); }},
        reports_, clock_);
    return {};
}

/// What a recorder of this run has acknowledged before.
Result<> Recording::restore_promises() {
    auto holdings =
        WEIR_TRY(recovery::run_holdings(run_, options_.directories, *catalogue_, options_.recorder,
                                        options_.unique_events ? recovery::KeepEvents::yes : recovery::KeepEvents::no));
    const auto restore = [&](const wire::SessionKey& key) {
        const auto& durable = holdings.durable[key];
        const auto session = receiver_->restore(key, durable);
        settlement_.restore(session, key, durable);
        return session;
    };
    for (const auto& [key, durable] : holdings.durable) restore(key);
    for (const auto& [event, taken] : holdings.partial)
        settlement_.restore({.session = restore(event.first), .sequence = event.second}, taken);
    if (holdings.events) settlement_.restore(std::move(*holdings.events));
    return {};
}

/// All of it may be called from any thread.
RecordingWatch::Sources Recording::watched() {
    return {.certificate_ends = [this] { return certificate_ends(); },
            .certificate_ends_soon = [this] { return receiver_->certificate_ends_soon(); },
            .closing_waits =
                [this] { return keeper_->may_open() ? std::nullopt : std::optional(keeper_->files_waiting()); },
            .memory_wait =
                [this] {
                    const auto stats = receiver_->stats();
                    const auto since = stats.waiting_for_others_since;
                    return RecordingWatch::MemoryWait{stats.waiting_for_others,
                                                      since ? clock_.now() - *since : std::chrono::nanoseconds{0}};
                },
            .bytes_stored =
                [this] {
                    std::uint64_t bytes = 0;
                    for (const auto* ledger : streams_->ledgers()) bytes += ledger->counts().bytes_stored;
                    return bytes;
                },
            .usable_space =
                [this] {
                    std::uint64_t usable = 0;
                    for (const auto& volume : volumes_)
                        usable += volume->state() == VolumeState::good ? volume->usable_space().count() : 0;
                    return Bytes{usable};
                }};
}

}  // namespace weir::recorder
