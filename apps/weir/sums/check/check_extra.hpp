// SPDX-License-Identifier: Apache-2.0
// Files that no manifest names. They are looked for below the deepest directory that holds all files of a manifest,
// for each manifest its own: of data/a and data/run7/b that is data, of a name without a directory the one where we
// are.
#pragma once

#include <array>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "weir/fixity/file_sum.hpp"
#include "weir/fixity/tree_walk.hpp"

namespace weir::app {

class ExtraFiles {
public:
    /// `base`: where relative names begin; absolute.
    explicit ExtraFiles(std::filesystem::path base) : base_(std::move(base)) {}

    /// A file of manifest number `manifest`; its names come one after the other. 16 bytes of it are kept.
    void add_named(std::string_view name, std::size_t manifest);
    /// Not to be reported, whatever its name: a manifest itself, what is written meanwhile.
    void exclude(const fixity::FileStamp& stamp) { excluded_.push_back(stamp); }

    /// Once all names are there. Gives to `sink` what no manifest names (Status::extra), what is no file (skipped) and
    /// what could not be looked at (error), until `stop` returns true. Symbolic links are not followed; how many there
    /// were.
    [[nodiscard]] std::uint64_t find(const std::function<void(fixity::FileSum)>& sink,
                                     const std::function<bool()>& stop);

    /// How a file is opened that find() names.
    [[nodiscard]] std::string path_of(const std::string& name) const { return (base_ / name).native(); }
    /// Where find() looks, as names in a manifest are written.
    [[nodiscard]] std::vector<std::string> directories() const;

private:
    using Key = std::array<std::byte, 16>;  // of an absolute path: the first bytes of its BLAKE3

    [[nodiscard]] static Key key_of(std::string_view path);
    [[nodiscard]] std::optional<fixity::FileSum> look_at(fixity::WalkItem item) const;
    [[nodiscard]] bool is_excluded(const fixity::FileStamp& stamp) const noexcept;
    [[nodiscard]] std::string name_of(const std::filesystem::path& path) const;

    const std::filesystem::path base_;
    std::deque<Key> named_;
    std::vector<std::filesystem::path> roots_;  // by manifest
    std::size_t manifest_ = 0;
    std::vector<fixity::FileStamp> excluded_;
};

}  // namespace weir::app
