// SPDX-License-Identifier: Apache-2.0
// The processor time of the processes that this one has started and that run now: workers of plug-ins.
#pragma once

namespace weir::app {

/// In seconds, to the tick of 10 ms. Workers that ended do not count.
[[nodiscard]] double worker_seconds();

}  // namespace weir::app
