// SPDX-License-Identifier: Apache-2.0
// One try to bring a message to where a notifier sends it.
#pragma once

#include <functional>
#include <string>

#include "notify/notify_message.hpp"

namespace weir::control {

/// Waits up to `deadline`; then a command is killed with its process group, and a connection closed. What came of it:
/// "answered with status 200". Errc::refused: `given_up`, which is asked ten times a second, was true. Other errors are
/// one line for an operator, without secrets of the address.
[[nodiscard]] Result<std::string> deliver(const NotifierOptions& to, const NotifyMessage& message,
                                          const std::string& partition, std::uint64_t missed,
                                          std::chrono::milliseconds deadline, const std::function<bool()>& given_up,
                                          const Clock& clock);

}  // namespace weir::control
