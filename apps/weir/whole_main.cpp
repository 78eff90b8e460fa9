// SPDX-License-Identifier: Apache-2.0
// weir as a whole: the commands in the order of `weir --help`; each has a file of its name. main.cpp starts it.
#include <array>
#include <span>
#include <string_view>

#include "bench.hpp"
#include "cli/program.hpp"
#include "demo/commands.hpp"
#include "files/commands.hpp"
#include "host/commands.hpp"
#include "run/commands.hpp"
#include "send/commands.hpp"
#include "stations/building/commands.hpp"
#include "stations/handoff/commands.hpp"
#include "stations/monitor/commands.hpp"
#include "stations/recorder/commands.hpp"
#include "stations/selection/commands.hpp"
#include "sums/commands.hpp"
#include "watch/commands.hpp"

namespace {

using namespace weir::app;

constexpr std::array commands{
    KnownCommand{"demo", add_demo},
    KnownCommand{"record", add_record},
    KnownCommand{"readout", add_readout},
    KnownCommand{"assign", add_assign},
    KnownCommand{"build", add_build},
    KnownCommand{"send", add_send},
    KnownCommand{"supervise", add_supervise},
    KnownCommand{"select", add_select},
    KnownCommand{"filter", add_filter},
    KnownCommand{"handoff", add_handoff},
    KnownCommand{"monitor", add_monitor},
    KnownCommand{"run", add_run},
    KnownCommand{"host", add_host},
    KnownCommand{"top", add_top},
    KnownCommand{"tap", add_tap},
    KnownCommand{"config", add_config},
    KnownCommand{"ls", add_ls},
    KnownCommand{"show", add_show},
    KnownCommand{"cat", add_cat},
    KnownCommand{"verify", add_verify},
    KnownCommand{"recover", add_recover},
    KnownCommand{"drain", add_drain},
    KnownCommand{"alarms", add_alarms},
    KnownCommand{"sum", add_sum},
    KnownCommand{"check", add_check},
    KnownCommand{"scrub", add_scrub},
    KnownCommand{"combine", add_combine},
    KnownCommand{"bench", add_bench},
};

}  // namespace

int main(int argc, char** argv) {
    const std::span arguments(argv, static_cast<std::size_t>(argc));
    if (argc > 1 && arguments[1] == std::string_view("bench")) return become_bench(arguments.subspan(2));
    return run_program(commands, argc, argv);
}
