// SPDX-License-Identifier: Apache-2.0
// The catalogue, brought back from the files: when it was lost, is older than the files, or was never
// there (volumes of a dead recorder). Files contain everything but transfers, rejections and the marks of
// deleted files; what the catalogue still knows of those stays. Doing it twice is the same as once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::recovery {

struct RebuildResult {
    RecoveryResult recovery;        // of what was open
    std::uint64_t files = 0;        // closed ones that were read
    std::uint64_t files_added = 0;  // of them: the catalogue did not know them, or as open
    std::uint64_t runs_added = 0;
    std::uint64_t sessions = 0;     // their marks were written
    std::uint64_t run_records = 0;  // that the catalogue did not have
    std::vector<Error> failed;      // files that could not be read, and stay out of the catalogue
};

/// What a catalogue that was lost still contains, and the files do not.
struct CatalogueRemains {
    std::vector<catalogue::FileRow> not_sane;  // closed files that are TRUNCATED or QUARANTINED
    std::vector<catalogue::ReaderState> reader_states;
};

/// Of all directories together. The caller holds their locks. Files are entered under the recorder that their name
/// gives. A run that was unknown is closed, unless its recorder died in it: then the next continues it.
/// What remains of a catalogue that was lost stays.
[[nodiscard]] Result<RebuildResult> rebuild_catalogue(std::span<const std::filesystem::path> directories,
                                                      catalogue::Catalogue& catalogue, const Clock& clock,
                                                      const CatalogueRemains& remains = {});

/// Opens the catalogue at `path`, or makes one. A damaged one is set aside under another name, which is
/// returned; Errc::refused while a hand-off or a drain works with it.
struct CatalogueToRebuild {
    std::unique_ptr<catalogue::Catalogue> catalogue;
    std::filesystem::path set_aside;             // empty: it was sound, or not there
    std::optional<catalogue::HandOffLock> lock;  // when it was set aside
    CatalogueRemains remains;                    // what can still be read of it
};
[[nodiscard]] Result<CatalogueToRebuild> open_to_rebuild(const std::filesystem::path& path);

/// Takes over the volumes of a recorder that does not come back: recovers them, enters their files and ends its runs in
/// `catalogue`. What its own catalogue knew besides (transfers, rejections, marks, parameters), when it lies in one of
/// them, comes along; it is then renamed, so that no program goes on with it. Errc::refused, and nothing is written,
/// when `catalogue` has another run of the same number and recorder, or a hand-off works with the old one.
[[nodiscard]] Result<RebuildResult> adopt_volumes(std::span<const std::filesystem::path> volumes,
                                                  catalogue::Catalogue& catalogue, const Clock& clock);

/// Whether files of this recorder are there of a run that the catalogue does not know at all: it was lost, or is an old
/// copy.
[[nodiscard]] Result<bool> catalogue_misses_runs(std::span<const std::filesystem::path> directories,
                                                 const std::string& recorder, catalogue::Catalogue& catalogue);

}  // namespace weir::recovery
