// SPDX-License-Identifier: Apache-2.0
// What no codec can beat on this machine: a count and a copy of the ints, or the ints with their bytes turned over.
#pragma once

#include "peers/job.hpp"

namespace weir::app {

inline constexpr const char* memcpy_limit = "limit: memcpy";

void add_serialize_limits(jobs::Jobs& jobs);

}  // namespace weir::app
