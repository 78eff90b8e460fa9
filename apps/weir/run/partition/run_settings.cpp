// SPDX-License-Identifier: Apache-2.0
#include "run/partition/run_settings.hpp"

namespace weir::app {

using namespace std::chrono_literals;

void RunSettings::declare(service::Settings& settings) {
    auto& o = options;
    settings.add("run", "poll", o.poll, "how often each station is asked how it is").at_least(10ms).at_most(10s);
    settings
        .add("run", "silent_after", o.silent_after,
             "a station that answers nothing for so long is killed and started again")
        .at_least(1s);
    settings
        .add("run", "silent_after_single", o.silent_after_single,
             "the same for the supervisor and the DFM, whose end costs the run")
        .at_least(1s);
    settings
        .add("run", "hanging_after", o.hanging_after,
             "a filter or unit with a selection that has hung for so long is killed and started again")
        .at_least(1s);
    settings.add("run", "launch_deadline", o.launch_deadline, "for a station's process to be there").at_least(100ms);
    settings.add("run", "configure_deadline", o.configure_deadline, "for a station to take its configuration")
        .at_least(100ms);
    settings.add("run", "connect_deadline", o.connect_deadline, "for a station to know the others").at_least(100ms);
    settings
        .add("run", "start_deadline", o.start_deadline, "for a station to start; a recorder recovers what a crash left")
        .at_least(100ms);
    settings.add("run", "pause_deadline", o.pause_deadline, "for the supervisor to pause, and to go on")
        .at_least(100ms);
    settings
        .add("run", "stop_deadline", o.stop_deadline,
             "for the stop of a run; an operator's stop abandons what is not final after 0.6 of it")
        .at_least(1s);
    settings
        .add("run", "exit_deadline", o.exit_deadline, "for a station's process to end; a hand-off has 25 s at least")
        .at_least(100ms);
    settings
        .add("run", "restarts_max", o.restarts_max, "how often a station may be started again within restarts_window")
        .at_most(1000);
    settings.add("run", "restarts_window", o.restarts_window, "time of restarts_max").at_least(1s);
    settings.add("run", "stop_when_finished", o.stop_when_finished,
                 "the run stops when the supervisor has no more events");
}

Result<RunSettings> read_run_settings(const std::filesystem::path& partition) {
    RunSettings run;
    service::Settings settings;
    run.declare(settings);
    for (const auto* section : {"partition", "data", "network"}) settings.ignore_section(section);
    for (const auto kind : station_kinds) settings.ignore_section(name(kind));
    WEIR_TRY(settings.read_file(partition));
    return run;
}

}  // namespace weir::app
