// SPDX-License-Identifier: Apache-2.0
#include "weir/datafile/index_writer.hpp"

#include <fcntl.h>

#include <utility>

#include "weir/datafile/journal_writer.hpp"
#include "weir/datafile/open_name.hpp"

namespace weir::datafile {

std::filesystem::path IndexWriter::path_of(const std::filesystem::path& directory, const std::string& name) {
    return directory / (name + ".index");
}

Result<IndexWriter> IndexWriter::create(const std::filesystem::path& directory, const FileOpened& opened,
                                        SessionNames session_names, FileSystem& system, std::string_view ending) {
    auto target = path_of(directory, opened.name);
    std::filesystem::path made = target.native() + std::string(ending);
    auto file = WEIR_TRY(File::open(made, File::Mode::open_or_create, system, O_TRUNC));
    IndexWriter writer(std::move(target), std::move(made), std::move(file), std::move(session_names), system);
    encode(JournalBegins{.run = opened.run, .boot = system_boot()}, writer.pending_);
    encode(opened, writer.pending_);
    return writer;
}

void IndexWriter::add(const StoredCopy& copy) {
    if (declared_sessions_.insert(copy.session).second) encode(session_names_(copy.session), pending_);
    encode(copy, pending_);
}

Result<> IndexWriter::write() {
    if (pending_.empty()) return {};
    if (!std::exchange(round_begun_, true)) {
        std::vector<std::byte> head;
        encode(JournalCommit{end_}, head);
        pending_.insert(pending_.begin(), head.begin(), head.end());
    }
    WEIR_TRY(file_.write_at(end_, pending_));
    end_ += pending_.size();
    pending_.clear();
    round_begun_ = false;
    return {};
}

Result<> IndexWriter::complete(const FileClosed& closed) {
    if (!std::exchange(complete_, true)) encode(closed, pending_);
    return write();
}

Result<> IndexWriter::sync() {
    WEIR_TRY(file_.sync_data());
    return file_.close();
}

Result<> IndexWriter::rename() { return rename_new(made_, target_, *system_); }

Result<> IndexWriter::restore_name() {
    file_ = WEIR_TRY(write_again(file_, end_, made_, *system_));
    return {};
}

Result<> IndexWriter::close(const FileClosed& closed) {
    WEIR_TRY(complete(closed));
    WEIR_TRY(sync());
    WEIR_TRY(rename());
    return sync_directory(target_.parent_path(), *system_);
}

}  // namespace weir::datafile
