// SPDX-License-Identifier: Apache-2.0
// Reads manifests of any form that we know, recognised by their contents, one file after the other:
// memory does not grow with their number. A line that cannot be understood hides nothing that follows it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "weir/base/data.hpp"
#include "weir/fixity/manifest.hpp"

namespace weir::fixity {

/// Something that is wrong with a manifest.
struct ManifestProblem {
    std::uint64_t line = 0;
    std::string text;
    bool malformed = true;  // false: understood all the same, and worth a warning
};

/// The bytes of a manifest: fills the buffer, with fewer only at the end.
using ByteSource = std::function<Result<std::size_t>(MutableData)>;

class ManifestParser;

class ManifestReader {
public:
    struct Options {
        std::optional<digest::Algorithm> algorithm;  // of lines that do not state it
        std::string name;   // of the manifest: "SHA256SUMS" and "x.md5" imply the algorithm of such lines
        bool zero = false;  // lines end with NUL, names stand as they are
        /// Called with each comment line and its number, to be kept; not with lines that are part of the form.
        std::function<void(std::uint64_t line, std::string_view text)> comment{};
    };

    ManifestReader(ByteSource source, Options options);
    ManifestReader(ManifestReader&&) noexcept;
    ~ManifestReader();

    using Item = std::variant<ManifestEntry, ManifestProblem>;
    /// The next file or problem; nothing at the end. Error: the source failed.
    [[nodiscard]] Result<std::optional<Item>> next();

    /// Once something was read; nothing when no line could be understood yet.
    [[nodiscard]] std::optional<Format> format() const noexcept;

private:
    std::unique_ptr<ManifestParser> parser_;  // lines or JSON, once the first bytes are seen
};

}  // namespace weir::fixity
