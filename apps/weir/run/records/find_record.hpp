// SPDX-License-Identifier: Apache-2.0
// Where the record of a run is looked for.
#pragma once

#include <filesystem>
#include <string>

#include "weir/base/result.hpp"
#include "weir/catalogue/run_record.hpp"

namespace weir::app {

struct RecordPlace {
    std::filesystem::path directory{"weir-run"};  // of a run control, or of a recorder
    std::string catalogue{};                      // a URI or file; empty: what is in the directory
};

/// In the catalogues and files of the directory and of those right below it: the one with the most in it, because what
/// run control has noted last may not have reached the others. Errc::refused: there is none.
[[nodiscard]] Result<catalogue::RunRecord> find_record(RunNumber run, const RecordPlace& place);

}  // namespace weir::app
