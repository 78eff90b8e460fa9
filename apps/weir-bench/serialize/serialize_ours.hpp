// SPDX-License-Identifier: Apache-2.0
// weir's candidates: both forms of the wire, the flag of the talk stored in every way, and the same records by each
// implementation of the kernel, the portable one first.
#pragma once

#include "peers/job.hpp"

namespace weir::app {

inline constexpr const char* ours_object_wise = "weir object-wise";
inline constexpr const char* ours_member_wise = "weir member-wise";
inline constexpr const char* ours_portable = "weir kernel portable";
inline constexpr const char* ours_old_flag = "weir, flag stored (seq_cst) per element";
inline constexpr const char* root_object_wise = "ROOT object-wise";

void add_serialize_ours(jobs::Jobs& jobs);

}  // namespace weir::app
