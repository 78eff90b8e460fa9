// SPDX-License-Identifier: Apache-2.0
// Makes room: deletes files here that are safe elsewhere, the longest safe first, as long as their volume is
// fuller than its water mark, and none before its age. Before the bytes go, the catalogue is read once more, and
// each destination whether the copy is still there in its full length: what was lost over there is kept here.
//
// A copy may be this very file, seen through another door: a symbolic link, a mount, a server that exports the
// recorder's directory. So the data has another name first (leaving_file.hpp), the destinations are asked once
// more, and only what is still there is a copy. Else the file has its name back and is kept.
//
// The order: data, index, directory synced, catalogue DELETED. A crash in between leaves a TRANSFERRED file
// that has no bytes; the next pass finishes it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "weir/base/clock.hpp"
#include "weir/base/file.hpp"
#include "weir/catalogue/catalogue.hpp"
#include "weir/handoff/destination.hpp"
#include "weir/handoff/hand_off_options.hpp"

namespace weir::handoff {

struct DeletionOutcome {
    std::uint64_t files = 0;
    std::uint64_t bytes = 0;
    std::vector<std::string> kept;  // why a file that was due is still here; one line each, the first few
};

class Deletion {
public:
    /// How many percent of a volume are in use; for tests a function of theirs.
    using Usage = std::function<Result<double>(const std::string& volume)>;
    [[nodiscard]] static Result<double> usage_of(const std::string& volume);

    /// All of them must outlive it. `where` gives the place of a file at a destination.
    Deletion(catalogue::Catalogue& catalogue, std::span<const std::unique_ptr<Destination>> destinations,
             std::function<Result<std::string>(std::size_t destination, const catalogue::FileRow&)> where,
             std::optional<std::string> recorder, const DeletionOptions& options, std::chrono::milliseconds answer,
             const Clock& clock, Usage usage = &usage_of, FileSystem& system = real_file_system());

    /// One pass over all volumes. One thread.
    [[nodiscard]] Result<DeletionOutcome> step(const std::stop_token& stop);

    /// Files that an earlier process was about to delete when it died have their names back, on every volume of a
    /// recorder in the catalogue. One line for each volume where that failed.
    [[nodiscard]] Result<std::vector<std::string>> restore_names();

private:
    [[nodiscard]] Result<std::optional<std::string>> reason_to_keep(const catalogue::FileRow& file,
                                                                    const std::stop_token& stop);
    struct Missing {
        std::string why;
        bool answered = false;  // by the destination
    };
    /// Nothing: every destination has it, in its full length.
    [[nodiscard]] std::optional<Missing> missing_copy(const catalogue::FileRow& file, const std::stop_token& stop);
    /// Nothing: it is gone. Text: why it is kept. An Error is one of the catalogue.
    [[nodiscard]] Result<std::optional<std::string>> erase(const catalogue::FileRow& file, const std::stop_token& stop);

    catalogue::Catalogue& catalogue_;
    const std::span<const std::unique_ptr<Destination>> destinations_;
    const std::function<Result<std::string>(std::size_t destination, const catalogue::FileRow&)> where_;
    const std::optional<std::string> recorder_;
    const DeletionOptions options_;
    const std::chrono::milliseconds answer_;
    const Clock& clock_;
    const Usage usage_;
    FileSystem& system_;
    std::map<Guid, std::string> no_copies_;  // why: what a destination called a copy was the file itself
};

}  // namespace weir::handoff
