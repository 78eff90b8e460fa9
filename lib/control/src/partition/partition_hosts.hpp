// SPDX-License-Identifier: Apache-2.0
// The machines of a partition file, [hosts.NAME], and the stations that name one.
#pragma once

#include <string_view>
#include <vector>

#include "partition/partition_file.hpp"
#include "weir/control/partition.hpp"

namespace weir::control {

/// Fills in Partition::hosts and StationEntry::host. Errc::usage: one line with file and line.
[[nodiscard]] Result<> find_hosts(Partition& partition, const std::vector<FileSection>& sections,
                                  std::string_view text);

}  // namespace weir::control
