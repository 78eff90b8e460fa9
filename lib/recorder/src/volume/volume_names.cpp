// SPDX-License-Identifier: Apache-2.0
// What others do to the names of a volume while it is written: a file removed, renamed or replaced, the directory moved
// or unmounted. The descriptors go on to work, so nothing else would show it before they are closed, and then it is too
// late.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "volume/volume.hpp"
#include "weir/datafile/open_name.hpp"

namespace weir::recorder {
namespace {

constexpr std::chrono::seconds look_interval{1};

}  // namespace

std::filesystem::path Volume::path_of(const StreamFile& file, const char* ending) const {
    return options_.directory / (file.opened().name + ending);
}

/// As has_name(); a disk that hangs in it is noticed as in any other call.
bool Volume::leads_to(const std::filesystem::path& path, const File& file) {
    return system_.watched([&] { return datafile::has_name(file, path); });
}

bool Volume::is_taken(const std::filesystem::path& path) {
    std::error_code ignored;
    return system_.watched([&] { return std::filesystem::exists(std::filesystem::symlink_status(path, ignored)); });
}

bool Volume::is_in_place() { return leads_to(options_.directory, place_); }

Error Volume::not_in_place() const {
    return {
        Errc::io, ENOLINK,
        fmt::format(
            "{} is not the directory any more that is recorded into: it was renamed, removed, or its disk unmounted; "
            "restore it",
            options_.directory.native())};
}

/// A file of which a name is missing may be one that this volume has removed since it was looked up.
bool Volume::was_discarded(const StreamFile& file) const {
    const std::scoped_lock lock(files_mutex_);
    return !files_.contains(file.opened().guid);
}

/// Why the file cannot be found any more under its name.
std::optional<Error> Volume::lost_name(StreamFile& file) {
    const auto path = path_of(file, ".writing");
    if (leads_to(path, file.file())) return std::nullopt;
    if (!is_in_place()) return not_in_place();
    if (was_discarded(file)) return std::nullopt;
    return Error{Errc::io, ENOLINK,
                 fmt::format("{} was removed, renamed or replaced while it was written", path.native())};
}

/// Writes a file whose name was taken away again, from its descriptor.
template <class Writer>
Result<> Volume::restore_name(Writer& writer) {
    const auto path = writer.file().path();  // by value: the file is replaced
    if (leads_to(path, writer.file()) || !is_in_place()) return {};
    Result<> done;
    if (is_taken(path)) {
        if (auto aside = datafile::set_foreign_aside(path, system_); !aside) done = std::unexpected(aside.error());
    }
    if (done) done = writer.restore_name();
    if (hangs()) return done;  // who is reported to may be gone
    reports_.interfered(fmt::format("file removed: {}", path.filename().native()),
                        fmt::format("{} was removed, renamed or replaced while it was written; {}", path.native(),
                                    done ? "it was written again from the open file" : done.error().message()));
    return done;
}

/// Before anything is acknowledged that it names. Sync thread, with journal_mutex_.
Result<> Volume::keep_journal() { return restore_name(*journal_); }

/// Recovery relies on it where the journal is damaged, and its name is looked after once a second. By the thread that
/// writes it.
Result<> Volume::keep_index(OpenFile& open) {
    const auto& file = open.index.file();
    if (leads_to(file.path(), file) || was_discarded(*open.file)) return {};
    return restore_name(open.index);
}

/// Whatever has the name that `ours` is to have, and is not it under a second name, is renamed.
Result<> Volume::make_way(const std::filesystem::path& path, const std::filesystem::path& ours) {
    std::error_code ignored;
    if (!is_taken(path) || system_.watched([&] { return std::filesystem::equivalent(path, ours, ignored); })) return {};
    const auto aside = datafile::set_foreign_aside(path, system_);
    if (hangs()) return fail(Errc::io, "the disk did not answer");
    reports_.interfered(
        fmt::format("foreign file: {}", path.filename().native()),
        fmt::format("{} is the name of a file of this recording and was given to another one; {}", path.native(),
                    aside ? fmt::format("that one is {} now", aside->filename().native()) : aside.error().message()));
    if (!aside) return std::unexpected(aside.error());
    return {};
}

/// Once a second: what a round does not look at.
void Volume::look_at_names(SteadyTime now) {
    if (now < next_look_) return;
    next_look_ = now + look_interval;
    if (!leads_to(lock_.file().path(), lock_.file())) {
        auto taken = system_.watched([&] { return datafile::DirectoryLock::take(options_.directory); });
        if (hangs()) return;
        reports_.interfered(fmt::format("file removed: {}", lock_.file().path().native()),
                            taken ? "it was made again" : taken.error().message());
        if (taken) lock_ = std::move(*taken);
        else if (taken.error().code == Errc::refused)
            return take_out_of_use(taken.error(), false);  // another recorder has the directory
    }
    std::vector<std::shared_ptr<OpenFile>> open;
    {
        const std::scoped_lock lock(files_mutex_);
        for (const auto& [guid, file] : files_) {
            if (!file->closing) open.push_back(file);
        }
    }
    for (const auto& one : open) {
        if (one->file->abandoned()) continue;
        if (const auto error = lost_name(*one->file)) {
            abandon(one->file, *error);
            continue;
        }
        if (auto kept = keep_index(*one); !kept && !may_pass(datafile::disk_fault_of(kept.error())))
            abandon(one->file, kept.error());
        static_cast<void>(
            make_way(path_of(*one->file, ".data"), path_of(*one->file, ".writing")));  // the close tries again
    }
    const std::scoped_lock lock(journal_mutex_);
    static_cast<void>(keep_journal());  // the next round needs it, and tries again
}

/// Restores the name of a file that was abandoned, with all that is durable, from its descriptor.
Result<> Volume::save(StreamFile& file) {
    const auto path = path_of(file, ".writing");
    const bool open = file.file().is_open();  // else it was complete, and may have been moved
    std::error_code ignored;
    const auto is_there = [&] { return std::filesystem::exists(path, ignored); };
    if (open ? leads_to(path, file.file()) : system_.watched(is_there)) return {};
    if (!is_in_place()) return std::unexpected(not_in_place());
    if (!open)
        return fail_errno(ENOLINK, fmt::format("{} is gone, and {} acknowledged events with it; restore it",
                                               path.native(), file.durable().events));
    WEIR_TRY(make_way(path, {}));
    WEIR_TRY(datafile::write_again(file.file(), file.durable().size, path, system_));
    return {};
}

}  // namespace weir::recorder
