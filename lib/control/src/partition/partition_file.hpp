// SPDX-License-Identifier: Apache-2.0
// The sections of a partition file: which of them are stations, and that all of them are known.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/service/configuration_sections.hpp"
#include "weir/wire/peer.hpp"

namespace weir::control {

struct FileSection {
    struct Station {
        StationKind kind;
        std::string name;
    };
    service::ConfigurationSection section;
    std::optional<Station> station;
};

/// The sections that are no stations.
[[nodiscard]] const std::vector<std::string>& shared_sections();

/// In the order of the file.
[[nodiscard]] Result<std::vector<FileSection>> read_sections(std::string_view text, std::string_view file_name);

}  // namespace weir::control
