// SPDX-License-Identifier: Apache-2.0
// The files below a directory, in the order of their names as bytes, so that two runs give the same list.
// Memory grows with the largest directory, not with the tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weir/fixity/reading.hpp"

namespace weir::fixity {

/// An entry that a walk meets.
struct WalkItem {
    enum class Kind { file, link, special, failure };
    Kind kind = Kind::file;
    std::string path;
    std::uint64_t device = 0;
    Failure failure;  // of `failure`: the reason; of `link` and `special`: the kind, as text
};

class TreeWalk {
public:
    /// `follow`: symbolic links are followed; one that leads into a directory above itself is a failure.
    TreeWalk(std::string root, bool follow);

    [[nodiscard]] std::optional<WalkItem> next();

private:
    struct Directory {
        std::string path;
        std::uint64_t device = 0, inode = 0;
        std::string names;                 // type byte, name, NUL
        std::vector<std::uint32_t> order;  // where in `names`, sorted
        std::size_t at = 0;
    };
    [[nodiscard]] std::optional<WalkItem> enter(std::string path);
    [[nodiscard]] std::optional<WalkItem> classify(unsigned char type, std::string path, std::uint64_t device);

    const bool follow_;
    std::string root_;
    bool begun_ = false;
    std::vector<Directory> stack_;
};

}  // namespace weir::fixity
