// SPDX-License-Identifier: Apache-2.0
#include "weir/storage/index_writer.hpp"

#include <fcntl.h>

#include <utility>

namespace weir::storage {

std::filesystem::path IndexWriter::path_of(const std::filesystem::path& directory, const std::string& name) {
    return directory / (name + ".index");
}

Result<IndexWriter> IndexWriter::create(const std::filesystem::path& directory, const FileOpened& opened,
                                        LaneNames lane_names, FileSystem& system) {
    auto target = path_of(directory, opened.name);
    auto file = File::open(target.native() + ".writing", File::Mode::open_or_create, system, O_TRUNC);
    if (!file) return std::unexpected(file.error());
    IndexWriter writer(std::move(target), std::move(*file), std::move(lane_names), system);
    encode(opened, writer.pending_);
    return writer;
}

void IndexWriter::add(const StoredCopy& copy) {
    if (declared_lanes_.insert(copy.lane).second) encode(lane_names_(copy.lane), pending_);
    encode(copy, pending_);
}

Result<> IndexWriter::write() {
    if (auto written = file_.write_at(end_, pending_); !written) return written;
    end_ += pending_.size();
    pending_.clear();
    return {};
}

Result<> IndexWriter::complete(const FileClosed& closed) {
    if (!std::exchange(complete_, true)) encode(closed, pending_);
    return write();
}

Result<> IndexWriter::sync() {
    if (auto synced = file_.sync_data(); !synced) return synced;
    return file_.close();
}

Result<> IndexWriter::rename() {
    return rename_new(target_.native() + ".writing", target_, *system_);
}

Result<> IndexWriter::close(const FileClosed& closed) {
    if (auto written = complete(closed); !written) return written;
    if (auto synced = sync(); !synced) return synced;
    if (auto renamed = rename(); !renamed) return renamed;
    return sync_directory(target_.parent_path(), *system_);
}

}  // namespace weir::storage
