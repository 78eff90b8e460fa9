// SPDX-License-Identifier: Apache-2.0
// A port of weir run where machines join with a token and get a certificate of the partition's own authority.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "run/authority/own_authority.hpp"
#include "stations/frame/partition_settings.hpp"
#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/service/http_server.hpp"
#include "weir/service/join_service.hpp"

namespace weir::app {

/// None: the partition file does not ask for it. `directory`: of run control, locked.
[[nodiscard]] Result<std::optional<OwnAuthority>> own_authority(const PartitionSettings& shared,
                                                                const std::filesystem::path& directory);

/// `clock` outlives what uses the parts.
[[nodiscard]] service::JoinParts join_parts_of(const OwnAuthority& own, const PartitionSettings& shared,
                                               const Reporter& report, const Clock& clock);

/// A port of its own, where no certificate is asked for.
[[nodiscard]] Result<service::HttpServer> serve_joins(const std::string& listen, const service::ControlAccess& access,
                                                      const service::JoinParts& parts,
                                                      const std::function<void(const service::HttpRefusal&)>& refused);

}  // namespace weir::app
