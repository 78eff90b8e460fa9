// SPDX-License-Identifier: Apache-2.0
// The files in the directory of run control that another run control, in a directory of its own, needs to go on with
// its run: partition file, numbers, and of an open run its record, peers and counts. No key and no certificate.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"

namespace weir::control {

/// The names of all that may be there now, in the order in which they are copied: the one that says that a run is open
/// comes last.
[[nodiscard]] std::vector<std::string> run_documents(const std::filesystem::path& directory);

/// Whether a file of this name is one of them.
[[nodiscard]] bool is_run_document(std::string_view name) noexcept;

/// Puts those of another directory in the place of what is there; numbers only grow. The directory is locked by the
/// caller. Errc::corrupt: a name that is none of a document; then nothing was changed.
[[nodiscard]] Result<> put_run_documents(const std::filesystem::path& directory,
                                         const std::map<std::string, std::string>& documents);

}  // namespace weir::control
