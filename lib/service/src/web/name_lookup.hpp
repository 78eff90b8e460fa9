// SPDX-License-Identifier: Apache-2.0
// The addresses of a host by its name, within a time: a name service that does not answer keeps getaddrinfo() for half
// a minute and more.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "weir/base/result.hpp"
#include "weir/transport/address.hpp"

namespace weir::service {

/// In the resolver's order. Errc::limit: no answer came in time; Errc::refused: `given_up`, which is asked now and
/// then, was true; Errc::io: there is no such host.
[[nodiscard]] Result<std::vector<transport::Address>> look_up(const std::string& host, std::uint16_t port,
                                                              std::chrono::milliseconds deadline,
                                                              const std::function<bool()>& given_up);

}  // namespace weir::service
