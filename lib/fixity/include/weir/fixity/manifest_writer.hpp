// SPDX-License-Identifier: Apache-2.0
// Writes manifests. A name that the form cannot hold is refused, so that no line is written that cannot
// be checked (or that would check another file).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "weir/fixity/manifest.hpp"

namespace weir::fixity {

/// The comment that a manifest of that form begins with.
inline constexpr std::string_view sfv_mark = "; made by weir sum";

class ManifestWriter {
public:
    struct Options {
        Format format = Format::bsd;
        std::vector<digest::Algorithm> algorithms;
        bool zero = false;      // lines end with NUL and names stand as they are
        std::string invoked;    // the command line, for hashdeep's header
        std::string directory;  // where it was given, for the same
    };

    /// Errc::usage: this form cannot hold these algorithms, or has no NUL lines.
    [[nodiscard]] static Result<ManifestWriter> make(Options options);

    /// The text before the first file.
    [[nodiscard]] std::string begin() const;
    /// Appends the file's lines. Errc::unsupported: the form cannot hold the name; nothing is appended.
    /// `more`: further fields of a JSON object, each with a comma before it.
    [[nodiscard]] Result<> add(const ManifestEntry& entry, std::string& to, std::string_view more = {});
    /// The text behind the last file. `more` as above, of the document.
    [[nodiscard]] std::string end(std::string_view more = {}) const;

private:
    explicit ManifestWriter(Options options) : options_(std::move(options)) {}
    void add_lines(const ManifestEntry& entry, std::string& to) const;
    void add_json(const ManifestEntry& entry, std::string& to, std::string_view more);
    void add_blocks(const BlockMap& blocks, std::string& to) const;
    [[nodiscard]] char line_end() const noexcept { return options_.zero ? '\0' : '\n'; }

    Options options_;
    bool first_ = true;
};

}  // namespace weir::fixity
