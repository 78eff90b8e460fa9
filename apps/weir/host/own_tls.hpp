// SPDX-License-Identifier: Apache-2.0
// What run control and the agents of machines show to the stations that they command.
#pragma once

#include <optional>
#include <string>

#include "weir/base/clock.hpp"
#include "weir/base/report.hpp"
#include "weir/service/control_access.hpp"
#include "weir/service/control_client.hpp"

namespace weir::app {

/// Nothing: plain. Errc::usage: the certificate has ended; one that soon will is an alarm.
[[nodiscard]] Result<std::optional<service::ControlTls>> own_tls(const std::optional<service::ControlAccess>& access,
                                                                 const Reporter& report, const Clock& clock);

/// Of this machine, without its domain.
[[nodiscard]] std::string system_name();

}  // namespace weir::app
