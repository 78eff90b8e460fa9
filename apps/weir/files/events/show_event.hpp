// SPDX-License-Identifier: Apache-2.0
// One event in full: its header word by word, its stream tags, its ROBs as a table.
#pragma once

#include "cli/output.hpp"
#include "files/events/event_summary.hpp"
#include "files/events/file_walk.hpp"

namespace weir::app {

/// `bytes` is the event at `block` of the file. False when something in it is damaged; that is printed too.
bool show_event(const FileWalk& walk, const FileWalk::Block& block, ConstData bytes, bool json);

}  // namespace weir::app
