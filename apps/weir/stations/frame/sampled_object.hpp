// SPDX-License-Identifier: Apache-2.0
// An event that a station has sampled, as the object that its control port gives away.
#pragma once

#include <string>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/event/event_view.hpp"
#include "weir/service/monitoring_objects.hpp"

namespace weir::app {

/// Reads the whole event, unpacked when it is compressed. Error: it is none of this format, or damaged.
[[nodiscard]] Result<service::SampledEvent> sampled_event(ConstData bytes, event::Format format,
                                                          const std::string& station);

}  // namespace weir::app
