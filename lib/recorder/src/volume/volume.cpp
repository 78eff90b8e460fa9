// SPDX-License-Identifier: Apache-2.0
// The rounds of a volume. When its disk fails: volume_faults.cpp; how files are closed: volume_close.cpp.
#include "volume/volume.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/vfs.h>

#include <algorithm>
#include <utility>

#include "disk/side_by_side.hpp"
#include "weir/base/named_thread.hpp"
#include "weir/base/rename_way.hpp"

namespace weir::recorder {
namespace {

constexpr std::uint32_t idle_rounds_before_release = 20;

std::uint64_t size_of_volume(const std::filesystem::path& directory, FileSystem& system) {
    struct ::statvfs status{};
    if (system.statvfs(directory.c_str(), &status) != 0) return 0;
    return static_cast<std::uint64_t>(status.f_blocks) * status.f_frsize;
}

// To close 64 open files takes some 100 KiB each: an index tail, the end, blocks of directory and catalogue.
Bytes reserve_for(const VolumeOptions& options, FileSystem& system) {
    if (options.reserve.count() > 0) return options.reserve;
    return Bytes{std::clamp<std::uint64_t>(size_of_volume(options.directory, system) / 32, 256U << 10, 16U << 20)};
}

// What is in write memory when the volume pauses is still to be written.
Bytes headroom_for(const VolumeOptions& options, const SegmentPool& pool, FileSystem& system) {
    if (options.headroom.count() > 0) return options.headroom;
    return Bytes{std::min<std::uint64_t>(pool.arena().size(), size_of_volume(options.directory, system) / 16)};
}

}  // namespace

Volume::Volume(const VolumeOptions& options, datafile::DirectoryLock lock, SegmentPool& pool, Settlement& settlement,
               OperatorReports& reports, Callbacks callbacks, const Clock& clock, FileSystem& system)
    : options_(options),
      lock_(std::move(lock)),
      pool_(pool),
      settlement_(settlement),
      reports_(reports),
      callbacks_(std::move(callbacks)),
      clock_(clock),
      system_(system, clock),
      reserve_(options.directory, reserve_for(options, system), system_),
      headroom_(headroom_for(options, pool, system)),
      retry_(options.retry_first) {}

Result<std::unique_ptr<Volume>> Volume::open(const VolumeOptions& options, datafile::DirectoryLock lock,
                                             SegmentPool& pool, Settlement& settlement, OperatorReports& reports,
                                             Callbacks callbacks, const Clock& clock, FileSystem& system) {
    const auto renames = WEIR_TRY(find_rename_way(options.directory));
    std::unique_ptr<Volume> volume(
        new Volume(options, std::move(lock), pool, settlement, reports, std::move(callbacks), clock, system));
    volume->place_ = WEIR_TRY(File::open(options.directory, File::Mode::read, real_file_system(), O_DIRECTORY));
    if (renames != RenameWay::no_replace)
        volume->reports_.warning(fmt::format("{} cannot rename without overwriting; files get their names there by {}",
                                             options.directory.native(), name(renames)));
    const bool want_direct = options.direct == DirectIo::on ||
                             (options.direct == DirectIo::automatic && direct_by_itself(options.directory));
    if (want_direct) {
        auto writer = make_uring_writer(options.queue_depth, pool.arena());
        if (writer) {
            volume->writer_ = std::move(*writer);
            volume->direct_ = true;
        } else if (options.direct == DirectIo::on) {
            return std::unexpected(writer.error());
        }
    }
    if (!volume->writer_) volume->writer_ = make_thread_writer(options.write_threads);
    volume->journal_ = WEIR_TRY(datafile::JournalWriter::open(
        options.directory, volume->session_names(), volume->system_, datafile::JournalWriter::size_max,
        {.run = options.run, .volume = options.id, .recorder = options.recorder}));
    if (auto reserved = volume->reserve_.make(); !reserved) volume->pause(&reserved.error());
    volume->check_space(clock.now());
    return volume;
}

Volume::~Volume() { stop(); }

void Volume::start() {
    thread_ = named_jthread("volume", [this](const std::stop_token& stop) { run(stop); });
    started_ = true;  // after the thread, so that stop() does not wait for one that could not be created
}

datafile::JournalWriter::SessionNames Volume::session_names() const {
    return [&settlement = settlement_](std::uint32_t session) { return settlement.declaration(session); };
}

std::string Volume::description() const {
    return fmt::format("{} ({}{})", options_.directory.native(), writer_->description(),
                       options_.sync ? "" : ", NOT SYNCED");
}

Bytes Volume::usable_space() const noexcept {
    const auto free = free_space();
    return free > headroom_ ? Bytes{free.count() - headroom_.count()} : 0_B;
}

std::size_t Volume::work_in_hand() const {
    const std::scoped_lock lock(files_mutex_);
    return files_.size() + static_cast<std::size_t>(system_.in_flight());
}

bool Volume::make_room(const Error& error) {
    if (state() == VolumeState::failed || !reserve_.release()) return false;
    pause(&error);
    return true;
}

std::vector<std::shared_ptr<Volume::OpenFile>> Volume::open_files() const {
    const std::scoped_lock lock(files_mutex_);
    std::vector<std::shared_ptr<OpenFile>> files;
    for (const auto& [guid, open] : files_) files.push_back(open);
    return files;
}

// Rounds ------------------------------------------------------------------------------------------

void Volume::sync_files(std::vector<FileInRound>& batch) {
    side_by_side(batch.size(), [&](std::size_t i) {
        if (batch[i].error) return;
        if (auto synced = batch[i].open->file->sync(); !synced) batch[i].error = synced.error();
        syncs_.fetch_add(1, std::memory_order_relaxed);
    });
    const auto is_new = [](const FileInRound& one) { return !one.error && one.flush.first; };
    if (std::ranges::none_of(batch, is_new)) return;
    if (auto synced = sync_directory(options_.directory, system_); !synced) {
        for (auto& one : batch) {
            if (is_new(one)) one.error = synced.error();
        }
        if (!may_pass(datafile::disk_fault_of(synced.error()))) take_out_of_use(synced.error(), false);
    }
}

void Volume::write_index(std::vector<FileInRound>& batch) {
    for (auto& [open, flush, error] : batch) {
        if (error || open->file->abandoned()) continue;
        for (const auto& copy : open->file->flushing()) open->index.add(copy.entry);
        auto written = open->index.write();
        if (!written && datafile::disk_fault_of(written.error()) == datafile::DiskFault::no_space &&
            reserve_.release()) {
            pause(&written.error());
            written = open->index.write();
        }
        // Not acknowledged then: recovery relies on an index that names all that was, when the journal is damaged.
        if (!written) error = written.error();
    }
}

Result<> Volume::commit_journal() {
    const auto commit = [&] {
        auto kept = keep_journal();
        return kept ? journal_->commit(options_.sync) : kept;
    };
    auto committed = commit();
    if (!committed && !journal_->sync_failed() &&
        datafile::disk_fault_of(committed.error()) == datafile::DiskFault::no_space && reserve_.release()) {
        pause(&committed.error());
        committed = commit();
    }
    if (committed) return {};
    const bool passes = !journal_->sync_failed() && may_pass(datafile::disk_fault_of(committed.error()));
    // A recovery must not find in the journal what is returned; when it cannot be taken out, the journal is not used
    // any more, and the catalogue has the length of each file that counts.
    if (auto taken_out = journal_->discard(); !taken_out || !passes) take_out_of_use(committed.error(), false);
    return committed;
}

/// Takes what is held, and returns its counts, for the journal. Nothing when the volume is out of use: a call may have
/// hung until now, and whoever found that out looks for what was taken once, and waits for nothing here.
std::optional<std::vector<datafile::RejectedCopies>> Volume::begin_held_round() {
    const std::scoped_lock lock(rounds_mutex_);
    if (state_ == VolumeState::failed) return std::nullopt;
    held_round_ = settlement_.held().take();
    return held_round_->counts;
}

/// Nothing when the disk has hung: then another volume has it, and the settlement may be gone.
std::optional<HeldAnswers::Round> Volume::end_held_round() {
    const std::scoped_lock lock(rounds_mutex_);
    if (hangs_) return std::nullopt;
    return std::exchange(held_round_, std::nullopt);
}

bool Volume::round() {
    const auto begun = clock_.now();
    pool_.wake_refused();
    const std::scoped_lock lock(journal_mutex_);
    const auto files = open_files();  // with the lock: what is discarded meanwhile is forgotten after this round
    if (state() == VolumeState::failed) return false;
    std::vector<FileInRound> batch;
    const bool memory_is_short = pool_.is_short();
    for (const auto& open : files) {
        if (auto flush = open->file->flush()) {
            open->idle_rounds = 0;
            batch.push_back({open, *flush, std::nullopt});
        } else if (const auto failure = open->file->failure()) {
            abandon(open->file, *failure);
        } else if (++open->idle_rounds >= idle_rounds_before_release || memory_is_short) {
            open->file->release_idle();
        }
    }
    if (batch.empty() && settlement_.held().pass_over()) return false;
    for (auto& one : batch) {
        if (auto written = one.open->file->wait_written(one.flush.target); !written) one.error = written.error();
    }
    if (options_.sync) sync_files(batch);
    for (auto& one : batch) {
        if (!one.error) one.error = lost_name(*one.open->file);
    }
    if (state() == VolumeState::failed) return false;  // every file was abandoned
    write_index(batch);
    const auto counts = begin_held_round();
    if (!counts) return false;
    for (const auto& [open, flush, error] : batch) {
        if (error || open->file->abandoned()) continue;
        if (flush.first) journal_->add(open->file->opened());
        for (const auto& copy : open->file->flushing()) journal_->add(copy.entry);
    }
    for (const auto& rejected : *counts) journal_->add(rejected);
    const auto committed = commit_journal();
    auto held = end_held_round();
    if (!held) return false;
    if (committed) settlement_.answer(*held);
    else settlement_.held().not_written(std::move(*held));
    std::vector<PlacedCopy> durable;
    for (auto& [open, flush, error] : batch) {
        if (!committed && !error) error = committed.error();
        if (!error) static_cast<void>(open->file->made_durable(flush, durable));  // else it was abandoned in between
    }
    settlement_.durable(durable);
    for (const auto& [open, flush, error] : batch) {
        if (error) abandon(open->file, *error);
    }
    if (committed) {
        if (auto rolled = journal_->roll(); !rolled) take_out_of_use(rolled.error(), false);
    }
    const auto took = clock_.now() - begun;
    round_durations_.add(took);
    const std::scoped_lock rounds_lock(rounds_mutex_);
    ++stats_.rounds;
    stats_.syncing += took;
    stats_.slowest = std::max<std::chrono::nanoseconds>(stats_.slowest, took);
    return true;
}

void Volume::run(const std::stop_token& stop) {
    while (true) {
        bool ends = false;
        {
            std::unique_lock lock(rounds_mutex_);
            const ScopedWait wait(WaitCause::timer);
            rounds_changed_.wait_for(lock, stop, options_.sync_interval,
                                     [&] { return rounds_wanted_ > rounds_begun_; });
            ends = stop.stop_requested();
        }
        if (!ends || state() != VolumeState::failed) step(clock_.now());
        if (ends) break;
    }
    const std::scoped_lock lock(rounds_mutex_);
    ended_ = true;
    rounds_changed_.notify_all();
}

void Volume::step(SteadyTime now) {
    {
        const std::scoped_lock lock(rounds_mutex_);
        rounds_begun_ = rounds_wanted_;
    }
    if (state() == VolumeState::failed) {
        try_again(now);
    } else if (!is_in_place()) {
        take_out_of_use(not_in_place(), false);
    } else {
        check_space(now);
        look_at_names(now);
        round();
    }
    const std::scoped_lock lock(rounds_mutex_);
    rounds_done_ = rounds_begun_;
    rounds_changed_.notify_all();
}

Result<> Volume::sync_now() {
    std::unique_lock lock(rounds_mutex_);
    const auto wanted = ++rounds_wanted_;
    const auto times_failed = times_failed_;
    rounds_changed_.notify_all();
    if (!started_) {
        lock.unlock();
        step(clock_.now());
        lock.lock();
    }
    rounds_changed_.wait(lock, [&] { return rounds_done_ >= wanted || failure_ || times_failed_ != times_failed; });
    if (failure_) return std::unexpected(*failure_);
    if (times_failed_ != times_failed)
        return fail(Errc::io, fmt::format("{} had failed meanwhile", options_.directory.native()));
    return {};
}

// -------------------------------------------------------------------------------------------------

VolumeState Volume::state() const {
    const std::scoped_lock lock(rounds_mutex_);
    return state_;
}

std::optional<Error> Volume::failure() const {
    const std::scoped_lock lock(rounds_mutex_);
    return failure_;
}

std::uint32_t Volume::failures() const {
    const std::scoped_lock lock(rounds_mutex_);
    return clock_.now() - last_failure_ > failure_counts ? 0 : failures_;
}

bool Volume::hangs() const {
    const std::scoped_lock lock(rounds_mutex_);
    return hangs_;
}

void Volume::stop() {
    if (stopped_) return;
    stopped_ = true;
    if (started_) {
        thread_.request_stop();
        {
            std::unique_lock lock(rounds_mutex_);
            rounds_changed_.wait(lock, [&] { return ended_ || hangs_; });
            if (!ended_) return thread_.detach();
        }
        thread_.join();
    }
    if (hangs()) return;  // what is left is removed by the next start; a thread may be stuck with any of the locks
    static_cast<void>(unless_it_hangs([this] {
        // Else a file that is destroyed waits for its writes, and nobody looks whether they ever end.
        for (const auto& open : open_files()) open->file->wait_quiet();
        {
            const std::scoped_lock lock(unbegun_mutex_);
            remove_all_unbegun();
        }
        reserve_.release();
        const std::scoped_lock lock(journal_mutex_);
        // When it cannot be removed, the next start reads it, finds every file closed, and removes it then.
        if (journal_ && state() != VolumeState::failed) static_cast<void>(journal_->remove_if_unneeded());
        return Result<>{};
    }));
}

void Volume::forget_rejected() {
    if (!sync_now()) return;  // one that hangs holds its journal, and one that failed does not use it any more
    const std::scoped_lock lock(journal_mutex_);
    if (journal_) journal_->clear_rejected();
}

Volume::Stats Volume::stats() const {
    const std::scoped_lock lock(rounds_mutex_);
    auto stats = stats_;
    stats.syncs = syncs_.load(std::memory_order_relaxed);
    stats.closing_steps = closing_steps_.load(std::memory_order_relaxed);
    stats.durations = round_durations_.durations();
    return stats;
}

}  // namespace weir::recorder
