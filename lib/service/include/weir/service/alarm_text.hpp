// SPDX-License-Identifier: Apache-2.0
// The text of an alarm, where its station, severity and name stand beside it.
#pragma once

#include <string>
#include <string_view>

namespace weir::service {

/// Without "error rec-1: ", without "ALARM name: ", and without a first part that is the name, or the name in words
/// ("monitor threw: " of monitor_threw). Empty: the name is all that there is.
[[nodiscard]] std::string_view alarm_text(std::string_view name, std::string_view text);

}  // namespace weir::service
