// SPDX-License-Identifier: Apache-2.0
// A look at machines: what their agents say of themselves, asked once.
#pragma once

#include <optional>
#include <vector>

#include "hosts/host_messages.hpp"
#include "weir/control/partition.hpp"
#include "weir/service/control_calls.hpp"

namespace weir::control {

/// How each machine is, in the order given; nothing of those that do not answer within two seconds. Waits for them.
[[nodiscard]] std::vector<std::optional<HostReport>> look_at_hosts(const std::vector<HostEntry>& hosts,
                                                                   service::ControlCalls& calls);

}  // namespace weir::control
