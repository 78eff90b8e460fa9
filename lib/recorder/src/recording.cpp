// SPDX-License-Identifier: Apache-2.0
#include "recording.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <utility>

#include "accounts/ledger_change.hpp"
#include "disk/recording_directory.hpp"
#include "weir/base/assert.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/checksum/kernels.hpp"
#include "weir/datafile/volume_marker.hpp"
#include "weir/recovery/rebuild.hpp"
#include "weir/recovery/recovery.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace weir::recorder {
namespace {

// What is kept of a copy until its round ends (entry, ticket, journal, index) is about 500 bytes.
constexpr std::uint64_t bytes_of_memory_per_copy = 8192;
// What a stop has to close its files when its deadline has passed with events in hand.
constexpr std::chrono::seconds closing_least{5};

/// Calls `step` every now and then until it is asked to stop. What is called takes its time from a clock; only how long
/// it rests in between is real time.
std::jthread stepping_thread(std::string name, std::chrono::milliseconds interval, std::function<void()> step) {
    return named_jthread(std::move(name), [interval, step = std::move(step)](const std::stop_token& stop) {
        std::mutex mutex;
        std::condition_variable_any never;
        std::unique_lock lock(mutex);
        while (!never.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) step();
    });
}

}  // namespace

Recording::Recording(RecorderOptions options, Reporter report, const Clock& clock, FileSystem& system)
    : options_(std::move(options)),
      reports_(std::move(report)),
      clock_(clock),
      system_(system),
      buffers_(options_.memory / 2),
      segments_(std::make_unique<SegmentPool>(options_.memory / 2, options_.segment, clock_)),
      unique_(options_.unique_memory_max),
      copies_in_hand_max_(options_.memory.count() / bytes_of_memory_per_copy),
      blocks_(options_.lumi_block_grace) {}

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

namespace {

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

Result<> Recording::open_catalogue_and_run() {
    auto catalogue =
        catalogue::open_own_catalogue(options_.directories.front(), options_.catalogue, reports_.reporter());
    if (!catalogue) return std::unexpected(catalogue.error());
    catalogue_ = std::move(*catalogue);
    catalogue_watch_ = std::make_unique<CatalogueWatch>(
        *catalogue_, catalogue::own_catalogue_path(options_.directories.front(), options_.catalogue), reports_);
    const auto misses = WEIR_TRY(recovery::catalogue_misses_runs(options_.directories, options_.recorder, *catalogue_));
    if (misses) {
        const auto rebuilt = WEIR_TRY(recovery::rebuild_catalogue(options_.directories, *catalogue_, clock_));
        if (!rebuilt.recovery.failed.empty()) return std::unexpected(rebuilt.recovery.failed.front());
        doubt(rebuilt.recovery);
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
        doubt(recovered);
        if (!recovered.failed.empty()) return std::unexpected(recovered.failed.front());
    }
    WEIR_TRY(recovery::keep_marks(options_.directories, *catalogue_));
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

Result<> Recording::open_all() {
    std::vector<datafile::DirectoryLock> locks;
    std::vector<Guid> ids;
    for (const auto& directory : options_.directories) {
        auto lock = WEIR_TRY(datafile::DirectoryLock::take(directory));
        locks.push_back(std::move(lock));
        // Of a recorder that died. The disk may be full but for this; what is left there is closed with it.
        std::error_code ignored;
        std::filesystem::remove(directory / SpaceReserve::file_name, ignored);
        const auto id = WEIR_TRY(datafile::mark_directory(directory, system_));
        ids.push_back(id);
    }
    // The port first: a recorder that cannot listen must not open a run. Nobody can connect before the run is known to
    // be good and all that is here of it was read.
    auto receiver_options = options_.receiver;
    receiver_options.name = options_.recorder;
    auto receiver = delivery::Receiver::open(receiver_options, buffers_, *this, reports_.reporter());
    if (!receiver) return std::unexpected(receiver.error());
    WEIR_TRY(open_catalogue_and_run());
    receiver_ = std::move(*receiver);
    const auto ledgers = WEIR_TRY(catalogue_->ledgers(run_));
    held_.begin(run_, options_.recorder, locks.size() - 1, ledgers);

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
        auto volume =
            Volume::open(volume_options, std::move(locks[i]), *segments_, reports_,
                         {.session_names = [this](std::uint32_t session) { return sessions_.declaration(session); },
                          .durable = [this](auto& copies) { on_durable(copies); },
                          .lost = [this](auto& copies) { on_lost(copies); },
                          .held = &held_,
                          .answer = [this](auto& round) { answer(round); },
                          .changed = [this] { receiver_->retry(); },
                          .recover = [this](const auto& directory) { return recover_volume(directory); }},
                         clock_, system_);
        if (!volume) return std::unexpected(volume.error());
        volumes_.push_back(std::move(*volume));
    }
    catalogue_->on_no_space([this] { return make_room_for_catalogue(); });
    const bool direct = std::ranges::all_of(volumes_, [](const auto& v) { return v->direct(); });
    copier_ =
        std::make_unique<EventCopier>(options_, direct ? checksum::Stores::non_temporal : checksum::Stores::ordinary);
    keeper_ =
        std::make_unique<FileKeeper>(options_, run_, *catalogue_, volumes_, blocks_, reports_,
                                     FileKeeper::Callbacks{.marks = [this] { return take_changed_marks(); },
                                                           .tick =
                                                               [this] {
                                                                   {
                                                                       const std::shared_lock lock(streams_mutex_);
                                                                       for (auto& [key, entry] : streams_)
                                                                           entry.stream->close_due();
                                                                   }
                                                                   if (nowhere_.exchange(false)) receiver_->retry();
                                                                   catalogue_watch_->step(clock_.now());
                                                                   tell_ledger_now_and_then();
                                                                   close_blocks();
                                                               },
                                                           .closed =
                                                               [this] {
                                                                   if (nowhere_.exchange(false)) receiver_->retry();
                                                               }},
                                     clock_);
    WEIR_TRY(keeper_->load_sequences());
    segments_->on_freed([this] { receiver_->retry(); });

    if (continued_) {
        WEIR_TRY(restore_promises());
    }
    // From the beginning: whoever recovers this run sees that its ids are to be kept.
    if (options_.unique_events) {
        WEIR_TRY(catalogue_->set_marks(take_changed_marks()));
    }
    watch_ = std::make_unique<RecordingWatch>(
        RecordingWatchOptions{.certificate = options_.receiver.tls.certificate, .full_warning = options_.full_warning},
        watched(), reports_, clock_);
    watch_->step(clock_.now());
    return receiver_->listen();
}

Recording::~Recording() {
    // Whoever calls into others ends before them: receiving threads, stream threads, closing, syncing.
    give_up_at_.store(0, std::memory_order_relaxed);  // nobody waits for a disk any more
    if (receiver_) receiver_->stop(std::chrono::milliseconds{0});
    for (auto& [key, entry] : streams_) entry.thread.reset();
    if (keeper_) keeper_->stop(clock_.now() + closing_least);
    for (auto& volume : volumes_) volume->stop();
    disk_watch_ = {};
    segments_->on_freed({});
    streams_.clear();
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
    disk_watch_ = stepping_thread("disk watch", interval, [this] { watch_disks(); });
}

std::optional<delivery::Refusal> Recording::hello(delivery::SessionId session, const wire::Hello& hello) {
    if (hello.session.run != run_) {
        return delivery::Refusal{wire::ByeReason::wrong_run, fmt::format("run {} is being recorded here, not run {}",
                                                                         number(run_), number(hello.session.run))};
    }
    sessions_.declare(number(session), hello.session);
    return std::nullopt;
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

Result<> Recording::recover_volume(const std::filesystem::path& directory) {
    const auto left = WEIR_TRY(catalogue_->files({.run = run_,
                                                  .recorder = options_.recorder,
                                                  .volume = directory.native(),
                                                  .file_state = catalogue::FileState::opened}));
    // What its journal counts is in the catalogue before that journal goes.
    WEIR_TRY(tell_ledger(false));
    auto recovered = recovery::recover_and_record(directory, options_.recorder, *catalogue_, clock_, system_,
                                                  recovery::JournalCounts::known);
    // Also when not all could be recovered: what is closed or gone now is not found open again.
    for (const auto& row : left) {
        const auto now = WEIR_TRY(catalogue_->file(row.guid));
        if (now && now->file_state == catalogue::FileState::opened) continue;
        blocks_.file_closed(row.stream_type, row.stream_name, row.lumi_block, clock_.now());
    }
    if (!recovered) return std::unexpected(recovered.error());
    doubt(*recovered);
    if (!recovered->failed.empty()) return std::unexpected(recovered->failed.front());
    return {};
}

void Recording::doubt(const recovery::RecoveryResult& recovered) const {
    for (const auto& error : recovered.doubts) reports_.alarm("acknowledged events in doubt", error.message());
}

void Recording::watch_disks() {
    for (auto& volume : volumes_) volume->check_silence(options_.disk_silence_max);
    watch_->step(clock_.now());
}

/// Everything that the watch looks at; all of it may be asked from any thread.
RecordingWatch::Sources Recording::watched() {
    return {.certificate_ends = [this] { return certificate_ends(); },
            .closing_waits =
                [this] { return keeper_->may_open() ? std::nullopt : std::optional(keeper_->files_waiting()); },
            .memory_wait =
                [this] {
                    const auto stats = receiver_->stats();
                    const auto since = stats.waiting_for_others_since;  // by the receiver's clock
                    return RecordingWatch::MemoryWait{
                        stats.waiting_for_others,
                        since ? delivery::Receiver::default_clock().now() - *since : std::chrono::nanoseconds{0}};
                },
            .bytes_stored =
                [this] {
                    std::uint64_t bytes = 0;
                    const std::shared_lock lock(streams_mutex_);
                    for (const auto& [key, entry] : streams_) bytes += entry.stream->ledger().counts().bytes_stored;
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
        if (auto recovered = recover_volume(volume->directory()); !recovered && here)
            reports_.alarm(fmt::format("files left open: {}", volume->directory().native()),
                           recovered.error().message());
    }
    return catalogue_->files(open_files);
}

Result<> Recording::stop(std::chrono::milliseconds deadline) {
    WEIR_ASSERT(!std::exchange(stopped_, true));
    const auto until = clock_.now() + deadline;
    give_up_at_.store(until.time_since_epoch().count(), std::memory_order_relaxed);
    const bool nothing_left = receiver_->stop(deadline);
    {
        const std::shared_lock lock(streams_mutex_);
        for (auto& [key, entry] : streams_) entry.thread.reset();
        for (auto& [key, entry] : streams_) entry.stream->close_all(nothing_left);
    }
    const auto close_until = std::max(until, clock_.now() + closing_least);
    const auto left_open = keeper_->stop(close_until);
    report_rejections(true);  // after the keeper's thread, which does it too
    if (tell_ledger(false)) {
        for (auto& volume : volumes_) volume->forget_rejected();
    }
    for (auto& volume : volumes_) volume->stop();
    catalogue_watch_->look();
    const auto marks = take_changed_marks();
    auto kept = catalogue_->set_marks(marks);
    WEIR_TRY(tell_ledger(false));
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
        WEIR_TRY(tell_ledger(true));
    }
    WEIR_TRY(catalogue_->close_run(run_, options_.recorder, clock_.wall()));
    if (const auto waiting = catalogue::carried_over(*catalogue_, std::chrono::seconds{5})) reports_.warning(*waiting);
    if (const auto interference = reports_.interference(); interference.count > 0)
        return fail(
            Errc::corrupt,
            fmt::format("run {} is closed, but somebody has interfered with its files {} times; the first was: {}; "
                        "the alarms say what became of them",
                        number(run_), interference.count, interference.first));
    return {};
}

std::vector<std::string> Recording::volumes() const {
    std::vector<std::string> lines;
    for (const auto& volume : volumes_) lines.push_back(volume->description());
    return lines;
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
        if (counts.given_back > 0) s.copies_rejected[Ledger::given_back_name] += counts.given_back;
    };
    {
        const std::shared_lock lock(streams_mutex_);
        for (const auto& [key, entry] : streams_) {
            s.streams.push_back({key, entry.stream->ledger().counts(), entry.stream->files_opened()});
            add(s.streams.back().copies);
        }
    }
    add(unplaced_.counts());
    s.files = keeper_->files_closed();
    s.files_waiting = keeper_->files_waiting();
    s.waits_for_closing = !keeper_->may_open();
    s.events_unchecked = unique_.unchecked();
    s.events_stored = unique_.stored_count();
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
        s.volumes.push_back({volume->directory().native(), volume->state(), volume->free_space()});
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
        {"syncing", s.copies_in_hand > 0 && !s.paused, s.copies_stored + s.sync_rounds + syncs + blocks.given_back},
        {"closing", s.files_waiting > 0, keeper_->attempts() + closing_steps}};
    s.until_full = watch_->until_full();
    return s;
}

}  // namespace weir::recorder
