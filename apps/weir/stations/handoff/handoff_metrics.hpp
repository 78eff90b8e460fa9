// SPDX-License-Identifier: Apache-2.0
// weir_handoff_*: what Prometheus reads of a hand-off.
#pragma once

#include "weir/handoff/hand_off.hpp"
#include "weir/service/metrics.hpp"

namespace weir::app {

/// All of them must outlive the collection. `catalogue` is the one that the hand-off works in.
[[nodiscard]] service::Metrics::Collection collect_handoff(service::Metrics& metrics, const handoff::HandOff& hand_off,
                                                           catalogue::Catalogue& catalogue, const Clock& clock);

}  // namespace weir::app
