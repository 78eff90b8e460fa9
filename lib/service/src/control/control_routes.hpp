// SPDX-License-Identifier: Apache-2.0
// What a station's control port answers (docs/formats/control-protocol.md).
#pragma once

#include <functional>
#include <vector>

#include "station/frame_loop.hpp"
#include "weir/service/http_server.hpp"

namespace weir::service {

/// The loop and the services outlive the server that answers.
[[nodiscard]] std::vector<HttpRoute> control_routes(FrameLoop& loop, const StationServices& services,
                                                    const StationFrameOptions& options);

}  // namespace weir::service
