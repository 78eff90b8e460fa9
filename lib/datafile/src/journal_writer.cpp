// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/journal_writer.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "weir/datafile/disk_fault.hpp"
#include "weir/datafile/open_name.hpp"
#include "weir/event/raw_file.hpp"

namespace weir::datafile {
namespace {

constexpr std::string_view prefix = "weir.journal.";

}  // namespace

Guid system_boot() {
    const auto text = read_text("/proc/sys/kernel/random/boot_id", 64_B);
    if (!text || text->size() < Guid::text_size) return {};
    return parse_guid(std::string_view(*text).substr(0, Guid::text_size)).value_or(Guid{});
}

std::optional<std::uint32_t> JournalWriter::number_of(const std::filesystem::path& path) {
    const auto name = path.filename().native();
    if (!name.starts_with(prefix)) return std::nullopt;
    std::uint32_t number = 0;
    const auto* begin = name.data() + prefix.size();
    const auto* end = name.data() + name.size();
    const auto read = std::from_chars(begin, end, number);
    return read.ec == std::errc{} && read.ptr == end ? std::optional(number) : std::nullopt;
}

std::filesystem::path JournalWriter::path_of(const std::filesystem::path& directory, std::uint32_t number) {
    return directory / fmt::format("{}{:06}", prefix, number);
}

Result<std::vector<std::filesystem::path>> JournalWriter::find(const std::filesystem::path& directory) {
    std::vector<std::pair<std::uint32_t, std::filesystem::path>> found;
    std::error_code error;
    for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        if (const auto number = number_of(it->path())) found.emplace_back(*number, it->path());
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    std::ranges::sort(found);
    std::vector<std::filesystem::path> paths;
    for (auto& [number, path] : found) paths.push_back(std::move(path));
    return paths;
}

Result<JournalWriter> JournalWriter::open(std::filesystem::path directory, SessionNames session_names,
                                          FileSystem& system, std::uint64_t begin_anew_at, JournalOwner owner) {
    const auto earlier = WEIR_TRY(find(directory));
    const auto last = earlier.empty() ? 0 : number_of(earlier.back()).value_or(0);
    JournalWriter writer(std::move(directory), std::move(session_names), system, begin_anew_at, std::move(owner));
    WEIR_TRY(writer.begin(last + 1));
    return writer;
}

Result<> JournalWriter::begin(std::uint32_t number) {
    // With its head on stable storage before it has its name: an empty or headless journal is damaged, never young.
    const auto made = directory_ / fmt::format("{}new", prefix);
    const auto path = path_of(directory_, number);
    std::vector<std::byte> head;
    encode(JournalBegins{number, owner_.run, system_boot(), owner_.volume, owner_.recorder}, head);
    for (const auto& [stream, total] : rejected_) encode(total, head);  // the one before may be removed
    auto file = WEIR_TRY(File::open(made, File::Mode::open_or_create, *system_, O_TRUNC));
    const auto named = [&]() -> Result<> {
        WEIR_TRY(file.write_at(0, head));
        WEIR_TRY(file.sync_data());
        WEIR_TRY(rename_new(made, path, *system_));
        if (auto synced = sync_directory(directory_, *system_); !synced) {
            static_cast<void>(remove_file(path, *system_));  // so that it can be tried again
            return synced;
        }
        return {};
    }();
    if (!named) {
        static_cast<void>(remove_file(made, *system_));
        return named;
    }
    file.set_path(path);
    if (file_.is_open()) full_ = Full{std::move(file_), end_};
    file_ = std::move(file);
    number_ = number;
    end_ = head_size_ = head.size();
    declared_sessions_.clear();
    needed_by_[number];
    repeat_open_files();
    return {};
}

void JournalWriter::repeat_open_files() {
    for (const auto& [guid, open] : open_files_) {
        encode(open.opened, pending_);
        if (open.progress.events > 0) encode(open.progress, pending_);
        needed_by_[number_].insert(guid);
    }
}

void JournalWriter::require(const Guid& guid) { needed_by_[number_].insert(guid); }

void JournalWriter::add(const FileOpened& opened) {
    encode(opened, pending_);
    open_files_.insert_or_assign(opened.guid, OpenFile{opened, {opened.guid, 0, opened.start.size()}});
    require(opened.guid);
}

void JournalWriter::add(const StoredCopy& copy) {
    if (declared_sessions_.insert(copy.session).second) encode(session_names_(copy.session), pending_);
    encode(copy, pending_);
    const auto open = open_files_.find(copy.guid);
    if (open == open_files_.end()) return;
    auto& progress = adding_.try_emplace(copy.guid, open->second.progress).first->second;
    ++progress.events;
    progress.end = copy.offset + event::separator_size_bytes + copy.length;
}

void JournalWriter::add(const RejectedCopies& total) {
    encode(total, pending_);
    rejected_.insert_or_assign({total.stream_type, total.stream_name}, total);
}

Result<> JournalWriter::commit(bool sync) {
    if (pending_.empty()) return {};
    if (!std::exchange(commit_begun_, true)) {
        std::vector<std::byte> head;
        encode(JournalCommit{end_}, head);
        pending_.insert(pending_.begin(), head.begin(), head.end());
    }
    WEIR_TRY(file_.write_at(end_, pending_));
    if (sync) {
        if (auto synced = file_.sync_data(); !synced) {
            sync_failed_ = true;
            return synced;
        }
    }
    end_ += pending_.size();
    pending_.clear();
    commit_begun_ = false;
    for (const auto& [guid, progress] : adding_) {
        if (const auto open = open_files_.find(guid); open != open_files_.end()) open->second.progress = progress;
    }
    adding_.clear();
    return {};
}

Result<> JournalWriter::discard() {
    pending_.clear();
    commit_begun_ = false;
    adding_.clear();
    declared_sessions_.clear();  // some may have been in what is discarded; twice does no harm
    if (end_ == head_size_) repeat_open_files();
    return file_.truncate(end_);
}

Result<> JournalWriter::roll() {
    if (end_ < begin_anew_at_) return {};
    auto begun = begin(number_ + 1);  // what it must repeat is written with the next commit
    if (!begun && may_pass(disk_fault_of(begun.error()))) return {};
    if (!begun) return begun;
    // The next is there first; then the one before names it, before anything is promised in it.
    std::vector<std::byte> last;
    encode(JournalContinues{number_}, last);
    auto full = std::move(*full_);
    full_.reset();
    if (auto written = full.file.write_at(full.end, last); !written)
        return may_pass(disk_fault_of(written.error())) ? Result<>{} : written;  // without room it stays unsaid
    WEIR_TRY(full.file.sync_data());
    static_cast<void>(remove_unneeded());  // else with the next one, or the next file that is released
    return {};
}

Result<> JournalWriter::release(const Guid& guid) {
    open_files_.erase(guid);
    for (auto& [number, files] : needed_by_) files.erase(guid);
    return remove_unneeded();
}

/// The lowest first, and none before it is gone: a gap in the numbers means that one was lost.
Result<> JournalWriter::remove_unneeded() {
    while (needed_by_.begin()->first != number_ && needed_by_.begin()->second.empty()) {
        WEIR_TRY(remove_file(path_of(directory_, needed_by_.begin()->first), *system_));
        needed_by_.erase(needed_by_.begin());
        WEIR_TRY(sync_directory(directory_, *system_));
    }
    return {};
}

Result<> JournalWriter::restore_name() {
    file_ = WEIR_TRY(write_again(file_, end_, file_.path(), *system_));
    return {};
}

Result<> JournalWriter::remove_if_unneeded() {
    if (!rejected_.empty() || !open_files_.empty() || !pending_.empty() || !needed_by_[number_].empty()) return {};
    WEIR_TRY(file_.close());
    return remove_file(path_of(directory_, number_), *system_);
}

}  // namespace weir::datafile
