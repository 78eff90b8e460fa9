// SPDX-License-Identifier: Apache-2.0
// The files of a volume: how they begin, and how they end, well or not.
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>
#include <system_error>

#include "weir/storage/checksum_attribute.hpp"
#include "weir/storage/recovery.hpp"
#include "weir/storage/volume.hpp"

namespace weir::storage {

Result<std::shared_ptr<StreamFile>> Volume::create(const FileOpened& opened, bool adler32) {
    std::uint32_t drops = 0;
    {
        const std::scoped_lock lock(rounds_mutex_);
        if (state_ != VolumeState::good) return fail(Errc::io, fmt::format("{} takes no files now", options_.directory.native()));
        drops = drops_;
    }
    const auto failed = [&](const Error& error) -> std::unexpected<Error> {
        note(error);
        return std::unexpected(error);
    };
    std::error_code ignored;
    if (std::filesystem::exists(options_.directory / (opened.name + ".data"), ignored))
        return fail_errno(EEXIST, fmt::format("cannot create {}.writing: the closed file", opened.name));
    const auto path = options_.directory / (opened.name + ".writing");
    auto file = File::open(path, File::Mode::create_new, system_, direct_ ? O_DIRECT : 0);
    if (!file) return file.error().os_errno == EEXIST ? std::unexpected(file.error()) : failed(file.error());
    auto index = IndexWriter::create(options_.directory, opened, callbacks_.lane_names, system_);
    if (!index) {
        static_cast<void>(remove_file(path, system_));
        return failed(index.error());
    }
    auto stream_file = std::make_shared<StreamFile>(opened, std::move(*file), direct_, adler32, pool_, *writer_, system_,
                                                    callbacks_.lost, clock_.now());
    const std::scoped_lock lock(files_mutex_, rounds_mutex_);
    // Dropped in between: then recovery removes what was made here.
    if (drops_ != drops || failure_) return fail(Errc::io, fmt::format("{} takes no files now", options_.directory.native()));
    if (state_ == VolumeState::full) stream_file->stop_taking();
    files_.emplace(opened.guid, std::make_shared<OpenFile>(OpenFile{stream_file, std::move(*index)}));
    return stream_file;
}

void Volume::discard(const std::shared_ptr<StreamFile>& file) {
    leave(file->opened().guid);
    const auto path = options_.directory / file->opened().name;
    static_cast<void>(remove_file(path.native() + ".writing", system_));
    static_cast<void>(remove_file(path.native() + ".index.writing", system_));
    static_cast<void>(sync_directory(options_.directory, system_));  // else a crash may bring empty files back
}

Result<> Volume::close(const std::shared_ptr<StreamFile>& file, const FileClosed& closed) {
    std::shared_ptr<OpenFile> open;
    {
        const std::scoped_lock lock(files_mutex_);
        open = files_.at(closed.guid);
    }
    const auto final = [&](Result<> result) {
        give_up(file, result.error());
        return result;
    };
    const auto later = [&](Result<> result) {  // when it may pass
        const auto fault = disk_fault_of(result.error());
        if (!may_pass(fault)) return final(std::move(result));
        if (fault == DiskFault::no_space) reserve_.release();
        note(result.error());
        return result;
    };
    if (open->next == Closing::data) {
        if (auto synced = sync_now(); !synced) return synced;
        if (auto written = file->wait_written(closed.size); !written) return final(written);
        if (auto cut = file->cut(closed.size); !cut) return final(cut);
        if (file->writes_adler32()) {
            // Without attributes (older tmpfs, some network file systems, no room) the catalogue alone keeps the sum.
            const auto set = write_adler32_attribute(file->file(), closed.adler32, clock_.wall());
            if (!set && set.error().code != Errc::unsupported && !may_pass(disk_fault_of(set.error()))) return final(set);
        }
        if (auto done = file->file().close(); !done) return final(done);
        open->next = Closing::index;
    }
    if (open->next == Closing::index) {
        if (auto written = open->index.complete(closed); !written) return later(written);
        if (auto synced = open->index.sync(); !synced) return final(synced);
        open->next = Closing::names;
    }
    const auto name = options_.directory / file->opened().name;
    if (open->next == Closing::names) {
        std::error_code ignored;
        if (std::filesystem::exists(name.native() + ".index.writing", ignored)) {
            if (auto renamed = open->index.rename(); !renamed) return later(renamed);
        } else if (auto synced = sync_directory(options_.directory, system_); !synced) {
            return later(synced);  // the rename was done, and its sync may not have been
        }
        if (auto renamed = rename_new(name.native() + ".writing", name.native() + ".data", system_); !renamed) return later(renamed);
        open->next = Closing::directory;
    }
    if (auto synced = sync_directory(options_.directory, system_); !synced) {
        if (may_pass(disk_fault_of(synced.error()))) return synced;
        drop(synced.error(), false);
        return synced;
    }
    return {};  // from here on recovery takes what the index says
}

Result<std::optional<FileClosed>> Volume::close_up(const std::shared_ptr<StreamFile>& file, bool also_empty) {
    if (const auto why = failure()) return std::unexpected(*why);
    file->wait_quiet();
    const auto durable = file->durable();
    const auto failed = [&](const Error& error) {
        // A second failure of the same file: this disk is not to be written now. When it can be, recovery comes first.
        if (error.code == Errc::io && !may_pass(disk_fault_of(error))) drop(error, false);
        return std::unexpected(error);
    };
    if (durable.events == 0 && !also_empty) {
        const auto path = options_.directory / file->opened().name;
        if (auto removed = remove_file(path.native() + ".writing", system_); !removed) return failed(removed.error());
        static_cast<void>(remove_file(path.native() + ".index.writing", system_));
        static_cast<void>(sync_directory(options_.directory, system_));  // else a crash may bring empty files back
        return std::nullopt;
    }
    auto recovered = storage::close_up(options_.directory, file->opened(), durable.size, clock_, system_);
    if (!recovered && disk_fault_of(recovered.error()) == DiskFault::no_space && reserve_.release())
        recovered = storage::close_up(options_.directory, file->opened(), durable.size, clock_, system_);
    if (!recovered) return failed(recovered.error());
    return recovered->closed;
}

Result<> Volume::forget(const Guid& guid) {
    leave(guid);
    const std::scoped_lock lock(journal_mutex_);
    return journal_->forget(guid);
}

void Volume::leave(const Guid& guid) {
    std::shared_ptr<OpenFile> last;  // destroyed without the lock: it may wait for a write
    if (hangs()) return;  // it could not be destroyed
    const std::scoped_lock lock(files_mutex_);
    if (const auto found = files_.find(guid); found != files_.end()) {
        last = std::move(found->second);
        files_.erase(found);
    }
}

Result<> Volume::unless_it_hangs(std::function<Result<>()> work) {
    struct Shared {
        std::function<Result<>()> work;
        std::mutex mutex;
        std::condition_variable ended;
        std::optional<Result<>> result;
    };
    if (hangs()) return std::unexpected(*failure());
    auto shared = std::make_shared<Shared>();  // by the thread and by us: it may outlive this call
    shared->work = std::move(work);
    std::thread thread;
    try {
        thread = std::thread([shared] {
            auto result = shared->work();
            const std::scoped_lock lock(shared->mutex);
            shared->result = std::move(result);
            shared->ended.notify_all();
        });
    } catch (const std::system_error&) {  // the system gives no thread now: then without its protection
        return shared->work();
    }
    std::unique_lock lock(shared->mutex);
    while (!shared->ended.wait_for(lock, std::chrono::milliseconds{100}, [&] { return shared->result.has_value(); })) {
        if (!hangs()) continue;
        thread.detach();
        return std::unexpected(*failure());
    }
    lock.unlock();
    thread.join();
    return std::move(*shared->result);
}

}  // namespace weir::storage
