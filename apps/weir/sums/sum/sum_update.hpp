// SPDX-License-Identifier: Apache-2.0
// A manifest that is brought up to date: what it has stays, files that it does not name are added. It is held in
// memory.
#pragma once

#include <deque>
#include <filesystem>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "weir/fixity/file_sum.hpp"
#include "weir/fixity/manifest.hpp"

namespace weir::app {

/// What becomes of the files that it names.
enum class UpdateKind {
    add,      // they are not read; those that are not there any more are named
    replace,  // they are read, and the sums of those with other bytes made anew
};

class ManifestUpdate {
public:
    /// Reads all of it. Errc::usage: it has lines that are not understood, no sums, several forms or no form that can
    /// be written again; Errc::io: it cannot be read. Files of a JSON document that have no sums are not taken over.
    [[nodiscard]] static Result<ManifestUpdate> read(const std::filesystem::path& path, UpdateKind kind,
                                                     std::optional<digest::Algorithm> algorithm, bool zero);

    [[nodiscard]] fixity::Format format() const noexcept { return format_; }
    /// In the order in which they stand there.
    [[nodiscard]] const std::vector<digest::Algorithm>& algorithms() const noexcept { return algorithms_; }
    /// The files that it names, one after the other, each with its entry as what is expected.
    [[nodiscard]] std::optional<fixity::Job> next();
    /// Its comments that stand before that line (of an entry) and were not read yet; at the end, all that
    /// remain.
    [[nodiscard]] std::string comments_before(std::uint64_t line = std::numeric_limits<std::uint64_t>::max());
    /// Names are the same when they lead to the same place: data/a and ./data/a.
    [[nodiscard]] bool names(const std::string& path) const { return places_.contains(place_of(path)); }

private:
    explicit ManifestUpdate(UpdateKind kind);
    [[nodiscard]] std::string place_of(const std::string& name) const {
        return (base_ / name).lexically_normal().native();
    }
    [[nodiscard]] Result<> add(fixity::ManifestEntry entry);
    void remove_header();

    UpdateKind kind_;
    std::filesystem::path base_;
    fixity::Format format_ = fixity::Format::bsd;
    std::vector<digest::Algorithm> algorithms_;
    std::vector<fixity::ManifestEntry> entries_;
    std::set<std::string> places_;
    std::deque<std::pair<std::uint64_t, std::string>> comments_;  // by their lines
    char line_end_ = '\n';
    std::size_t at_ = 0;
};

}  // namespace weir::app
