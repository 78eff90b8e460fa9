// SPDX-License-Identifier: Apache-2.0
// The sources that a Python with ROOT builds and runs, as they lie in peers/: inside this program, which may be
// installed without them.
#pragma once

#include <string_view>

namespace weir::app {

struct EmbeddedFile {
    std::string_view name, text;
};

/// root.py, root.cpp and the headers that it includes.
inline constexpr std::size_t root_source_files = 7;
extern const EmbeddedFile root_sources[root_source_files];

}  // namespace weir::app
