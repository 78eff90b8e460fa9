// SPDX-License-Identifier: Apache-2.0
// The mistakes of authors that the plug-ins of the tests can be told to make, front-ends and trigger plug-ins, in C++
// and in Python (plug_in_faults.py reads them here): the number of a run is one of these.
#pragma once

#include <cstdint>

namespace weir::plugin {

enum Fault : std::uint32_t {
    none,
    begin_throws,
    begin_hangs,
    begin_crashes,
    poll_throws,
    read_out_throws,
    hangs,
    crashes,
    exits,
    sends_garbage,
    sends_for_ever,
    end_throws,
    end_hangs,
    // Of front-ends.
    wrong_fragments,
    runs_freely,
    stamps,
    // Of trigger plug-ins.
    wrong_ids,
    wrong_id_then_crashes,
    too_many_words,
    looks_for_busy,
    rests_briefly,
};

}  // namespace weir::plugin
