// SPDX-License-Identifier: Apache-2.0
// The members of TH1D, TH2D and what they are made of, as they stand in each file (TStreamerInfo): readers that have
// never seen these classes, and later versions of ROOT, know by them what the bytes are.
#pragma once

#include "root/root_bytes.hpp"

namespace weir::monitor {

/// Appends a TList of them.
void append_root_classes(RootBytes& to);

}  // namespace weir::monitor
