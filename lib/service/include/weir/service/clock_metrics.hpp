// SPDX-License-Identifier: Apache-2.0
// How well the clock of this machine is kept, as the kernel was told by chrony or ntpd: adjtimex(2), RFC 5905.
#pragma once

#include "weir/service/metrics.hpp"

namespace weir::service {

/// weir_clock_synchronized, weir_clock_offset_seconds, weir_clock_error_max_seconds: as the kernel has them when they
/// are scraped, for processes that stay. None where the kernel does not tell.
[[nodiscard]] Metrics::Collection collect_clock(Metrics& metrics);

}  // namespace weir::service
