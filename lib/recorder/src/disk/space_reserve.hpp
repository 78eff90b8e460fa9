// SPDX-License-Identifier: Apache-2.0
// Space of a volume that is taken and not used, in the file weir.reserve: when the disk is full it is released, and
// every open file can still be closed (its end, its index, the journal, the catalogue).
#pragma once

#include <filesystem>
#include <mutex>

#include "weir/base/bytes.hpp"
#include "weir/base/file.hpp"

namespace weir::recorder {

/// Any thread. It stays when the object goes: release() it before.
class SpaceReserve {
public:
    static constexpr const char* file_name = "weir.reserve";

    SpaceReserve(const std::filesystem::path& directory, Bytes size, FileSystem& system)
        : path_(directory / file_name), size_(size), system_(system) {}

    /// Takes the space; nothing changes when it is held already. ENOSPC, EDQUOT: there is none, and none is held.
    [[nodiscard]] Result<> make();
    /// True when it was held.
    bool release();
    [[nodiscard]] bool held() const;
    [[nodiscard]] Bytes size() const noexcept { return size_; }

private:
    const std::filesystem::path path_;
    const Bytes size_;
    FileSystem& system_;
    mutable std::mutex mutex_;
    bool held_ = false;
};

}  // namespace weir::recorder
