// SPDX-License-Identifier: Apache-2.0
// The files of a volume: how they begin, and how they end, well or not.
#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "disk/side_by_side.hpp"
#include "volume/volume.hpp"
#include "weir/datafile/checksum_attribute.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::recorder {

Result<std::shared_ptr<StreamFile>> Volume::create(const datafile::FileOpened& opened, bool adler32) {
    std::uint32_t times_failed = 0;
    {
        const std::scoped_lock lock(rounds_mutex_);
        if (state_ != VolumeState::good)
            return fail(Errc::io, fmt::format("{} takes no files now", options_.directory.native()));
        times_failed = times_failed_;
    }
    const auto failed = [&](const Error& error) -> std::unexpected<Error> {
        note(error);
        return std::unexpected(error);
    };
    if (opened.start.size() > StreamFile::start_size_max)
        return fail(
            Errc::limit,
            fmt::format("cannot create {}.writing: its start would have {} bytes, {} is the most; give project, "
                        "recorder or stream a shorter name",
                        opened.name, opened.start.size(), StreamFile::start_size_max));
    // While the list is locked no other thread removes the name that begins here.
    const std::scoped_lock unbegun_lock(unbegun_mutex_);
    {
        const std::scoped_lock lock(rounds_mutex_);  // it may have failed while this waited
        if (state_ != VolumeState::good || times_failed_ != times_failed)
            return fail(Errc::io, fmt::format("{} takes no files now", options_.directory.native()));
    }
    remove_all_unbegun();
    if (std::ranges::find(unbegun_, opened.name) != unbegun_.end())
        return fail_errno(
            EEXIST, fmt::format("cannot create {}.writing: what is left of its name cannot be removed", opened.name));
    std::error_code ignored;
    for (const auto* ending :
         {".data", ".index"}) {  // the index alone: left by a file that a crash has kept from its name
        if (std::filesystem::exists(options_.directory / (opened.name + ending), ignored))
            return fail_errno(EEXIST, fmt::format("cannot create {}.writing: the closed file", opened.name));
    }
    const auto path = options_.directory / (opened.name + ".writing");
    auto file = File::open(path, File::Mode::create_new, system_, direct_ ? O_DIRECT : 0);
    if (!file) return file.error().os_errno == EEXIST ? std::unexpected(file.error()) : failed(file.error());
    auto index = datafile::IndexWriter::create(options_.directory, opened, session_names(), system_);
    // Its head, so that what lies there after a crash shows by itself that it held nothing.
    if (index) {
        if (auto written = index->write(); !written) index = std::unexpected(written.error());
    }
    if (!index) {
        remove_unbegun(opened.name);
        return failed(index.error());
    }
    auto stream_file = std::make_shared<StreamFile>(opened, std::move(*file), direct_, adler32, pool_, *writer_,
                                                    system_, settlement_, clock_.now());
    const std::scoped_lock lock(files_mutex_, rounds_mutex_);
    // Out of use in between: recovery may have looked before this file was there, so it is removed when the next one
    // begins, at the latest.
    if (times_failed_ != times_failed || failure_) {
        unbegun_.push_back(opened.name);
        return fail(Errc::io, fmt::format("{} takes no files now", options_.directory.native()));
    }
    if (state_ == VolumeState::full) stream_file->stop_taking();
    files_.emplace(opened.guid, std::make_shared<OpenFile>(OpenFile{stream_file, std::move(*index)}));
    return stream_file;
}

void Volume::remove_unbegun(const std::string& name) {
    bool gone = true;
    for (const auto* ending : {".writing", ".index.writing"}) {
        const auto removed = remove_file(options_.directory / (name + ending), system_);
        gone = gone && (removed || removed.error().os_errno == ENOENT);
    }
    if (!gone) unbegun_.push_back(name);
}

void Volume::remove_all_unbegun() {
    for (const auto& name : std::exchange(unbegun_, {})) remove_unbegun(name);
}

void Volume::discard(const std::shared_ptr<StreamFile>& file) {
    leave(file->opened().guid);
    {
        const std::scoped_lock lock(unbegun_mutex_);
        remove_unbegun(file->opened().name);
        static_cast<void>(sync_directory(options_.directory, system_));  // else a crash may bring empty files back
    }
    const std::scoped_lock lock(journal_mutex_);
    if (journal_) static_cast<void>(journal_->release(file->opened().guid));  // a round may have named it
}

/// An error that may pass is tried again later; after any other the file is abandoned.
Result<> Volume::close_failed(const std::shared_ptr<StreamFile>& file, Result<> result) {
    const auto fault = datafile::disk_fault_of(result.error());
    if (!may_pass(fault)) {
        abandon(file, result.error());
        return result;
    }
    if (fault == datafile::DiskFault::no_space) reserve_.release();
    note(result.error());
    return result;
}

void Volume::close(std::span<FileToClose> files) {
    std::vector<std::shared_ptr<OpenFile>> open;
    {
        const std::scoped_lock lock(files_mutex_);
        for (const auto& file : files) {
            open.push_back(files_.at(file.closed.guid));
            open.back()->closing = true;
        }
    }
    close_data(files, open);
    close_names(files, open);
}

/// The file is cut to its size and its index complete; neither is synced yet.
Result<> Volume::end_data(OpenFile& open, const datafile::FileClosed& closed) {
    auto& file = *open.file;
    if (auto written = file.wait_written(closed.size); !written) return abandon(open.file, written.error()), written;
    if (const auto error = lost_name(file)) return abandon(open.file, *error), std::unexpected(*error);
    if (const auto size = file.durable().size; size != closed.size)
        return fail(Errc::limit, fmt::format("{} is durable up to {} of its {} bytes; it is closed later",
                                             path_of(file, ".writing").native(), size, closed.size));
    if (auto cut = file.file().truncate(closed.size); !cut) return abandon(open.file, cut.error()), cut;
    if (file.writes_adler32()) {
        // Without attributes (older tmpfs, some network file systems, no room) the catalogue alone keeps the sum.
        const auto set = datafile::write_adler32_attribute(file.file(), closed.adler32, clock_.wall());
        if (!set && set.error().code != Errc::unsupported && !may_pass(datafile::disk_fault_of(set.error())))
            return abandon(open.file, set.error()), set;
    }
    auto written = keep_index(open);
    if (written) written = open.index.complete(closed);
    return written ? written : close_failed(open.file, written);
}

void Volume::close_data(std::span<FileToClose> files, std::span<const std::shared_ptr<OpenFile>> open) {
    std::vector<std::size_t> here;
    for (std::size_t i = 0; i < files.size(); ++i) {
        if (open[i]->next == CloseStep::data) here.push_back(i);
    }
    if (here.empty()) return;
    if (auto synced = sync_now(); !synced) {
        for (const auto i : here) files[i].done = synced;
        return;
    }
    // All changes first and then all syncs, side by side: the file system makes few commits of its own for all of them.
    for (const auto i : here) files[i].done = end_data(*open[i], files[i].closed);
    std::erase_if(here, [&](std::size_t i) { return !files[i].done; });
    side_by_side(here.size(), [&](std::size_t n) {
        auto& one = *open[here[n]];
        auto& done = files[here[n]].done;
        done = one.file->sync();
        if (done) done = one.index.sync();
        if (done) done = one.file->file().close();
        closing_steps_.fetch_add(1, std::memory_order_relaxed);
    });
    for (const auto i : here) {
        if (files[i].done) open[i]->next = CloseStep::names;
        else abandon(open[i]->file, files[i].done.error());
    }
}

namespace {

std::unexpected<Error> removed_when_complete(const std::string& path) {
    return fail_errno(
        ENOLINK, fmt::format("{} was removed or renamed when it was complete, before it had its final name", path));
}

}  // namespace

void Volume::close_names(std::span<FileToClose> files, std::span<const std::shared_ptr<OpenFile>> open) {
    const auto at = [&](CloseStep step) {
        std::vector<std::size_t> here;
        for (std::size_t i = 0; i < files.size(); ++i) {
            if (open[i]->next == step && files[i].done) here.push_back(i);
        }
        return here;
    };
    const auto name_of = [&](std::size_t i) { return (options_.directory / files[i].file->opened().name).native(); };
    auto here = at(CloseStep::names);
    for (const auto i : here) {
        std::error_code ignored;
        if (!std::filesystem::exists(name_of(i) + ".index.writing", ignored)) {
            if (std::filesystem::exists(name_of(i) + ".index", ignored)) continue;  // renamed before; its sync failed
            files[i].done = close_failed(files[i].file, removed_when_complete(name_of(i) + ".index.writing"));
            continue;
        }
        auto renamed = make_way(name_of(i) + ".index", name_of(i) + ".index.writing");
        if (renamed) renamed = open[i]->index.rename();
        open[i]->index_named = renamed.has_value();
        if (!renamed) files[i].done = close_failed(files[i].file, renamed);
    }
    std::erase_if(here, [&](std::size_t i) { return !files[i].done; });
    if (!here.empty()) {  // each index is there under its name before its file is
        if (auto synced = sync_directory(options_.directory, system_); !synced) {
            for (const auto i : here) files[i].done = close_failed(files[i].file, synced);
        }
    }
    for (const auto i : here) {
        if (!files[i].done) continue;
        auto renamed = make_way(name_of(i) + ".data", name_of(i) + ".writing");
        if (renamed) renamed = rename_new(name_of(i) + ".writing", name_of(i) + ".data", system_);
        if (!renamed && renamed.error().os_errno == ENOENT && is_in_place())
            renamed = removed_when_complete(name_of(i) + ".writing");
        if (renamed) open[i]->next = CloseStep::directory;
        else files[i].done = close_failed(files[i].file, renamed);
        closing_steps_.fetch_add(1, std::memory_order_relaxed);
    }
    here = at(CloseStep::directory);
    if (here.empty()) return;
    if (auto synced = sync_directory(options_.directory, system_); !synced) {
        for (const auto i : here) files[i].done = synced;
        if (!may_pass(datafile::disk_fault_of(synced.error()))) take_out_of_use(synced.error(), false);
    }
    // From here on recovery relies on the index.
}

Result<std::optional<datafile::FileClosed>> Volume::close_up(const std::shared_ptr<StreamFile>& file, bool also_empty) {
    if (const auto why = failure()) return std::unexpected(*why);
    std::shared_ptr<OpenFile> open;
    {
        const std::scoped_lock lock(files_mutex_);
        open = files_.at(file->opened().guid);
    }
    file->wait_quiet();
    const auto durable = file->durable();
    const auto failed = [&](const Error& error) {
        // A second failure of the same file: this disk is not to be written now. When it can be, recovery comes first.
        if (error.code == Errc::io && !keeps_file_good(datafile::disk_fault_of(error))) take_out_of_use(error, false);
        return std::unexpected(error);
    };
    if (durable.events == 0 && !also_empty) {
        const auto path = path_of(*file, ".writing"),
                   index = path_of(*file, open->index_named ? ".index" : ".index.writing");
        // Its descriptor is open until the catalogue has forgotten the file, and that may need the space.
        if (file->file().is_open()) static_cast<void>(file->file().truncate(0));
        if (leads_to(path, file->file())) {  // else the name is another file's now
            if (auto removed = remove_file(path, system_); !removed && removed.error().os_errno != ENOENT)
                return failed(removed.error());
        }
        static_cast<void>(remove_file(index, system_));
        {
            const std::scoped_lock lock(journal_mutex_);  // a round that began before may be writing it
            open->index.abandon();
        }
        static_cast<void>(sync_directory(options_.directory, system_));  // else a crash may bring empty files back
        return std::nullopt;
    }
    auto saved = save(*file);
    if (!saved && datafile::disk_fault_of(saved.error()) == datafile::DiskFault::no_space && reserve_.release())
        saved = save(*file);
    if (!saved) return failed(saved.error());
    {
        const std::scoped_lock lock(journal_mutex_);
        if (auto kept = keep_journal(); !kept) return failed(kept.error());
    }
    if (auto way = make_way(path_of(*file, ".data"), path_of(*file, ".writing")); !way) return failed(way.error());
    if (!std::exchange(open->index_named, true)) {  // else it is replaced
        if (auto way = make_way(path_of(*file, ".index"), {}); !way) return failed(way.error());
    }
    const auto close = [&](recovery::IndexPlace place) {
        return recovery::close_up(options_.directory, file->opened(), durable.size, durable.events, clock_, system_,
                                  place);
    };
    const auto lacks_space = [](const auto& result) {
        return !result && datafile::disk_fault_of(result.error()) == datafile::DiskFault::no_space;
    };
    auto recovered = close(recovery::IndexPlace::beside);
    if (lacks_space(recovered) && reserve_.release()) recovered = close(recovery::IndexPlace::beside);
    if (lacks_space(recovered)) recovered = close(recovery::IndexPlace::over);
    if (!recovered) return failed(recovered.error());
    return recovered->closed;
}

Result<> Volume::forget(std::span<const Guid> guids) {
    for (const auto& guid : guids) leave(guid);
    const std::scoped_lock lock(journal_mutex_);
    Result<> forgotten;
    for (const auto& guid : guids) {
        if (auto one = journal_->release(guid); !one && forgotten) forgotten = std::move(one);
    }
    return forgotten;
}

void Volume::leave(const Guid& guid) {
    std::shared_ptr<OpenFile> last;  // destroyed without the lock: it may wait for a write
    if (hangs()) return;             // it could not be destroyed
    const std::scoped_lock lock(files_mutex_);
    if (const auto found = files_.find(guid); found != files_.end()) {
        last = std::move(found->second);
        files_.erase(found);
    }
}

Result<> Volume::unless_it_hangs(std::function<Result<>()> work) {
    struct Shared {
        std::function<Result<>()> work;
        std::optional<Result<>> result;  // with rounds_mutex_
    };
    auto shared = std::make_shared<Shared>();  // by the thread and by us: it may outlive this call
    shared->work = std::move(work);
    std::unique_lock lock(rounds_mutex_);
    if (hangs_) return std::unexpected(*failure_);
    lock.unlock();
    std::thread thread;
    try {
        thread = std::thread([this, shared] {  // a volume that hangs is never destroyed
            auto result = shared->work();
            const std::scoped_lock done(rounds_mutex_);
            shared->result = std::move(result);
            rounds_changed_.notify_all();
        });
    } catch (const std::system_error&) {  // the system gives no thread now: then without its protection
        return shared->work();
    }
    lock.lock();
    rounds_changed_.wait(lock, [&] { return shared->result || hangs_; });
    if (!shared->result) {
        thread.detach();
        return std::unexpected(*failure_);
    }
    lock.unlock();
    thread.join();
    return std::move(*shared->result);
}

}  // namespace weir::recorder
