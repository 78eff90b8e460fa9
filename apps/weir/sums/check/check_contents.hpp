// SPDX-License-Identifier: Apache-2.0
// What the files of manifests contain, by their sums: a file that no manifest names may be one of them that was moved,
// or another copy of it. A name and its sums are kept of each file, so memory grows with their number.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "weir/fixity/file_sum.hpp"

namespace weir::app {

class KnownContents {
public:
    /// A file of a manifest, and its result: it is at its place when it is as in the manifest.
    void add(const fixity::FileSum& file);
    /// Every algorithm that a manifest has: the sums to make of the others.
    [[nodiscard]] const std::vector<digest::Algorithm>& algorithms() const noexcept { return algorithms_; }
    /// Of a file that no manifest names, with those sums: moved, duplicate or extra. Of several copies of a file that
    /// is not at its place the first is the moved one.
    void judge(fixity::FileSum& file);

private:
    struct Known {
        std::string name;
        std::vector<digest::Digest> sums;  // all of them
        std::optional<std::uint64_t> size;
        bool at_its_place;
    };

    [[nodiscard]] bool is(const Known& known, const fixity::FileSum& file) const;

    std::vector<digest::Algorithm> algorithms_;
    std::multimap<std::string, Known> known_;  // by the first sum's algorithm and value
};

}  // namespace weir::app
