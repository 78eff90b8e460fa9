// SPDX-License-Identifier: Apache-2.0
// The catalogue of one of several recorders: a file of its own in its first directory, and the shared one in
// PostgreSQL. A change is made in the file, with a note of itself in the same transaction, and answered at once;
// a thread carries the notes over in their order, each exactly once. So the shared catalogue may be slow, stop,
// or be away for days: recording does not notice, nothing is lost, and the two agree again when it is back.
// A recorder that dies meanwhile finds everything in its file.
//
// What is read here is what this recorder knows. A new run needs the shared catalogue, which alone knows the
// numbers of all; a run that this recorder has left open can be continued without it.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "weir/base/report.hpp"
#include "weir/catalogue/postgres_catalogue.hpp"

namespace weir::catalogue {

struct QueuedCatalogueOptions {
    PostgresCatalogueOptions shared;
    std::chrono::milliseconds retry{2000};  // between attempts to reach the shared catalogue
    bool begin = true;                      // false: the file must be there and be shared already (Errc::refused)
    /// To the operator (it went away, it is back, it refused a change); called from any thread.
    Reporter report{};
};

/// `own` is made when it is not there. One that has runs and was never shared is refused: their numbers may be
/// others' in the shared catalogue. With an empty `uri` the file must have been shared before: its changes wait for
/// the next call that opens it with one. That the shared catalogue cannot be reached is no error.
[[nodiscard]] Result<std::unique_ptr<Catalogue>> open_queued_catalogue(const std::filesystem::path& own,
                                                                       const std::string& uri,
                                                                       QueuedCatalogueOptions options = {});

}  // namespace weir::catalogue
