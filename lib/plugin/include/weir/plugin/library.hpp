// SPDX-License-Identifier: Apache-2.0
// A plug-in in a shared library: loaded once, never unloaded (its threads and statics may live on).
#pragma once

#include <filesystem>
#include <string_view>

#include "weir/base/result.hpp"

namespace weir::plugin {

/// What a library of one kind exports, and how it is named to its author.
struct LibraryKind {
    std::string_view name;   // "selection"
    const char* symbol;      // "weir_selection": the description that the macro defines
    std::string_view macro;  // "WEIR_SELECTION"
};

/// The description in the library `path`, not checked yet. Error: it cannot be loaded, or is no plug-in of this kind.
[[nodiscard]] Result<const void*> load_library(const std::filesystem::path& path, const LibraryKind& kind);

/// The error for a description with another layout.
[[nodiscard]] std::unexpected<Error> built_against_another_weir(const std::filesystem::path& path,
                                                                const LibraryKind& kind);

}  // namespace weir::plugin
