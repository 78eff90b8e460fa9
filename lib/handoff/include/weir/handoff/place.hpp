// SPDX-License-Identifier: Apache-2.0
// Where a file goes below its destination: "/raw/{run}/{stream}" becomes a directory, the file keeps its
// name. While it is being copied it has a temporary name that shows whose it is: the file's GUID and the
// number of the attempt. So no two attempts ever write to the same file, not even when a server that hung
// carries out later an earlier request; and what we clean up can only be ours.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/result.hpp"
#include "weir/catalogue/rows.hpp"

namespace weir::handoff {

/// A destination as the user writes it: "root://host:1094//raw/{run}", "/mnt/backup/{stream}".
struct Target {
    std::string name;     // in the catalogue
    std::string root;     // what comes before the first directory with a variable
    std::string pattern;  // directories below it, with {run} and {stream}; may be empty

    bool operator==(const Target&) const = default;
};

/// "NAME=URL" or "URL", which is then its own name, without slashes at its end. Errc::usage: empty, an unknown
/// {variable}, a name too long.
[[nodiscard]] Result<Target> parse_target(std::string_view text);

/// An XRootD server, not a directory.
[[nodiscard]] bool is_xrootd(const Target& target) noexcept;

/// One text for all ways to write the same place, as far as that can be seen from here: symbolic links, "..", doubled
/// slashes, a port that goes without saying.
[[nodiscard]] std::string spelling_of(const Target& target);

/// The path of the file below the root. Errc::refused: a part of its name cannot be a part of a path there.
[[nodiscard]] Result<std::string> place_of(const catalogue::FileRow& file, std::string_view pattern);

/// The name that attempt `attempt` writes to; in the same directory. Without the file's own name, which may be as long
/// as a name can be.
[[nodiscard]] std::string temporary_place(const std::string& place, const Guid& guid, std::uint32_t attempt);

}  // namespace weir::handoff
