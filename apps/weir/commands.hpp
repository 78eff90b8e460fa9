// SPDX-License-Identifier: Apache-2.0
// The commands of weir, one file each. Every add_ declares a command with its options below `parent`;
// when the user names it, `chosen` becomes what is to be run, and its result the exit code.
#pragma once

#include "cli/command_line.hpp"

namespace weir::app {

void add_demo(CLI::App& parent, Command& chosen);     // demo.cpp
void add_record(CLI::App& parent, Command& chosen);   // record.cpp
void add_readout(CLI::App& parent, Command& chosen);  // readout.cpp
void add_assign(CLI::App& parent, Command& chosen);   // assign.cpp
void add_build(CLI::App& parent, Command& chosen);    // build.cpp
void add_send(CLI::App& parent, Command& chosen);     // send.cpp
void add_supervise(CLI::App& parent, Command& chosen);  // supervise.cpp
void add_select(CLI::App& parent, Command& chosen);   // select.cpp
void add_filter(CLI::App& parent, Command& chosen);   // filter.cpp
void add_handoff(CLI::App& parent, Command& chosen);  // handoff.cpp
void add_run(CLI::App& parent, Command& chosen);      // run.cpp
void add_config(CLI::App& parent, Command& chosen);   // config.cpp
void add_ls(CLI::App& parent, Command& chosen);       // ls.cpp
void add_show(CLI::App& parent, Command& chosen);     // show.cpp
void add_cat(CLI::App& parent, Command& chosen);      // cat.cpp
void add_verify(CLI::App& parent, Command& chosen);   // verify.cpp
void add_recover(CLI::App& parent, Command& chosen);  // recover.cpp
void add_drain(CLI::App& parent, Command& chosen);    // drain.cpp
void add_alarms(CLI::App& parent, Command& chosen);   // alarms.cpp
void add_sum(CLI::App& parent, Command& chosen);      // sum.cpp
void add_check(CLI::App& parent, Command& chosen);    // check.cpp
void add_scrub(CLI::App& parent, Command& chosen);    // scrub.cpp
void add_combine(CLI::App& parent, Command& chosen);  // combine.cpp
void add_bench(CLI::App& parent, Command& chosen);    // bench.cpp

}  // namespace weir::app
