// SPDX-License-Identifier: Apache-2.0
// Parts of control messages that stand in several documents.
#pragma once

#include <boost/json/object.hpp>

#include "weir/service/control_messages.hpp"

namespace weir::service {

[[nodiscard]] boost::json::object json_of(const Peer& peer);
[[nodiscard]] boost::json::object json_of(const StationReport::LatchedAlarm& alarm);

}  // namespace weir::service
