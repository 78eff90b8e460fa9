// SPDX-License-Identifier: Apache-2.0
// Which catalogue a word of the user names: none, the file in the recorder's first directory; the URI of a
// PostgreSQL database, that file too, its changes carried over into the database; anything else, another file.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "weir/base/report.hpp"
#include "weir/catalogue/catalogue.hpp"

namespace weir::catalogue {

/// Where the catalogue of a recorder lies: in its first directory.
[[nodiscard]] std::filesystem::path catalogue_path(const std::filesystem::path& directory);

/// For a program that changes what is in `directory`. It is made when it is not there. `report` (how it goes with the
/// shared catalogue) may be called from any thread until the catalogue is gone.
[[nodiscard]] Result<std::unique_ptr<Catalogue>> open_own_catalogue(const std::filesystem::path& directory,
                                                                    const std::string& place, Reporter report = {});

/// The file that is meant by `place`: another one, or for no word and for a URI that of the recorder.
[[nodiscard]] std::filesystem::path own_catalogue_path(const std::filesystem::path& directory,
                                                       const std::string& place);

/// For a program that works beside the recorder of `directory`. Nothing is made, and nothing begins to be shared: with
/// a URI the file must be shared already, and what waits in it is carried over.
[[nodiscard]] Result<std::unique_ptr<Catalogue>> open_catalogue_beside_recorder(const std::filesystem::path& directory,
                                                                                const std::string& place,
                                                                                Reporter report = {});

/// For a program that reads: `place` is a URI or a file, and is not made.
[[nodiscard]] Result<std::unique_ptr<Catalogue>> open_named_catalogue(const std::string& place);

/// Waits for what was changed to reach the shared catalogue. Nothing, or the text of a report when it did not.
[[nodiscard]] std::optional<std::string> carried_over(Catalogue& catalogue, std::chrono::milliseconds deadline);

}  // namespace weir::catalogue
