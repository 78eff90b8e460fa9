// SPDX-License-Identifier: Apache-2.0
#include "run/partition/run_settings.hpp"

#include "stations/frame/partition_settings.hpp"

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
        .add(
            "run", "hanging_after", o.hanging_after,
            "a filter or unit with a selection, or a readout with a front-end, that has hung for so long is killed and "
            "started again")
        .at_least(1s);
    settings.add("run", "launch_deadline", o.launch_deadline, "for a station's process to be there").at_least(100ms);
    settings.add("run", "hosts_deadline", o.hosts_deadline, "for the machine of a station, [hosts.NAME], to be there")
        .at_least(100ms);
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
    settings.add("run", "begin_again", o.begin_again,
                 "a run that ended because its supervisor or DFM died is followed by another one");
    settings.add(
        "run", "lease", lease,
        "the PostgreSQL database with what another run control needs to go on, postgresql://...; empty: the one "
        "that all recorders share, if they do; \"none\"");
    settings
        .add("run", "incomplete_max", incomplete_max,
             "more incomplete events make a run a bad one: a share of the events, a number, or the larger of the two")
        .or_number()
        .each([](const std::string& text) -> Result<> {
            WEIR_TRY(control::parse_incomplete_limit(text));
            return {};
        });
    settings
        .add("run", "source_silent_after", o.source_silent_after,
             "a source that sends nothing for so long, while others do or events are built without it, has an alarm")
        .at_least(100ms);
    settings
        .add("run", "mask_after", mask_after,
             "a source is masked when so many events were built without it, or when it was silent for so long: \"100 "
             "events\" or \"30s\"; empty: never")
        .each([](const std::string& text) -> Result<> {
            WEIR_TRY(control::parse_mask_rule(text));
            return {};
        });
    settings.add("run", "masked", masked, "sources that are masked from the begin of each run on")
        .each([](const std::string& text) -> Result<> {
            if (!parse_source_id(text)) return fail(Errc::usage, "is no source; write \"0x420000\"");
            return {};
        });
}

Result<RunSettings> read_run_settings(std::string_view text, const std::filesystem::path& partition) {
    RunSettings run;
    service::Settings settings;
    run.declare(settings);
    for (const auto* section : {"partition", "data", "network", "security", "hosts", "engine", "notify"})
        settings.ignore_section(section);
    for (const auto kind : station_kinds) settings.ignore_section(name(kind));
    WEIR_TRY(settings.read_text(text, partition.native()));
    run.options.incomplete_max = WEIR_TRY(control::parse_incomplete_limit(run.incomplete_max));
    run.options.mask_after = WEIR_TRY(control::parse_mask_rule(run.mask_after));
    for (const auto& source : run.masked) run.options.masked.push_back(parse_source_id(source).value_or(SourceId{}));
    return run;
}

}  // namespace weir::app
