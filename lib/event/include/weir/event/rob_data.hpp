// SPDX-License-Identifier: Apache-2.0
// A whole ROB fragment and the source it comes from.
#pragma once

#include "weir/base/data.hpp"
#include "weir/base/ids.hpp"

namespace weir::event {

struct RobData {
    SourceId source{};
    ConstData bytes{};  // of the ROB, header included; the caller keeps the memory
};

}  // namespace weir::event
