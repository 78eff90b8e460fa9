// SPDX-License-Identifier: Apache-2.0
// Options that are addresses, "host:port".
#include "cli/command_line.hpp"
#include "weir/transport/address.hpp"

namespace weir::app {

Result<> read_value(std::string_view text, transport::HostPort& to) {
    auto value = WEIR_TRY(transport::parse_host_port(text));
    return to = std::move(value), Result<>{};
}

std::string shown_value(const transport::HostPort& value) {
    return value == transport::HostPort{} ? std::string{} : to_string(value);
}

}  // namespace weir::app
