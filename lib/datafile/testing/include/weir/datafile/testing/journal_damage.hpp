// SPDX-License-Identifier: Apache-2.0
// What can become of a journal: emptied, cut, zeroed, bytes put in or taken out, an older copy, the last round gone.
#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "weir/base/file.hpp"

namespace weir::testing {

/// Makes one damage, drawn; returns what it was. `older`: an earlier state of the file; may be empty.
[[nodiscard]] std::string damage_journal(const std::filesystem::path& journal, ConstData older, std::mt19937_64& random,
                                         FileSystem& system = real_file_system());

}  // namespace weir::testing
