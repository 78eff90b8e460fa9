// SPDX-License-Identifier: Apache-2.0
// The command that starts the agent of a machine there, as a shell reads it. There is nothing secret in it: files are
// named, and the agent reads them; a join token comes by stdin.
#pragma once

#include <string>
#include <string_view>

#include "weir/control/partition.hpp"

namespace weir::control {

/// One word for a shell, whatever is in it.
[[nodiscard]] std::string shell_word(std::string_view text);

/// "'weir' host --name 'h1' ...", for a machine that is complete (see set_engine()). The agent ends with its run
/// control. `in_background`: the command ends when the agent is there. Where the machine joins, it reads a token from
/// stdin. One of a group listens at all addresses of its node, or at that in the network that its group names.
[[nodiscard]] std::string agent_command(const HostEntry& host, bool in_background);

}  // namespace weir::control
