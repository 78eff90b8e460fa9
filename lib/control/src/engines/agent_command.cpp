// SPDX-License-Identifier: Apache-2.0
#include "engines/agent_command.hpp"

#include <fmt/format.h>

namespace weir::control {

std::string shell_word(std::string_view text) {
    std::string word = "'";
    for (const char c : text) {
        if (c == '\'') word += "'\\''";
        else word += c;
    }
    return word + "'";
}

std::string agent_command(const HostEntry& host, bool in_background) {
    const auto& start = host.start;
    // Which node it will be is not known, and so neither is its address.
    const auto listen = host.address.starts_with(':') ? "0.0.0.0" + host.address : host.address;
    auto command = fmt::format("{} host --name {} --listen {} --dir {} --ends-with-run", shell_word(start.program),
                               shell_word(host.name), shell_word(listen), shell_word(start.directory));
    if (!start.certificates.empty()) command += " --certificates " + shell_word(start.certificates);
    if (!start.join.empty()) command += fmt::format(" --join {} --token-file -", shell_word(start.join));
    if (in_background) command += " --background";
    return command;
}

}  // namespace weir::control
