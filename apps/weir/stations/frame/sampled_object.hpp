// SPDX-License-Identifier: Apache-2.0
// An event that a station has sampled, as the object that its control port gives away.
#pragma once

#include <string>

#include "weir/base/data.hpp"
#include "weir/base/result.hpp"
#include "weir/event/event_view.hpp"
#include "weir/service/event_tap.hpp"
#include "weir/service/monitoring_objects.hpp"

namespace weir::app {

/// Reads the whole event, unpacked when it is compressed. Error: it is none of this format, or damaged.
[[nodiscard]] Result<service::SampledEvent> sampled_event(ConstData bytes, event::Format format,
                                                          const std::string& station);

/// The event has the stream and the source that are wished for. False also for an event that cannot be read.
[[nodiscard]] bool tap_matches(ConstData bytes, event::Format format, const service::TapWish& wish);

}  // namespace weir::app
