// SPDX-License-Identifier: Apache-2.0
#include "stations/building/readout_settings.hpp"

#include <fmt/format.h>

#include "stations/frame/setting_checks.hpp"
#include "weir/transport/address.hpp"

namespace weir::app {

void ReadoutSettings::declare(service::Settings& settings, const std::string& section) {
    auto& o = options_;
    settings
        .add(section, "source", source_,
             "what fills it: generator, made ROBs; file, those of a raw file, again and again; network, fragments from "
             "programs outside; level2, what the second level found (a pseudo-ROS); or a front-end: NAME.so (C++) or "
             "NAME.py (Python)")
        .each(check_readout_source);
    settings.add(section, "file", file_, "source = \"file\": the raw file; empty: the one that --source names");
    settings
        .add(section, "part", part_, "source = \"file\": which share of the file's sources, 2/6 for the second of six")
        .each(check_part);
    settings
        .add(section, "sources", sources_,
             "its sources, [\"0x420000\", ...]; needed when they come from the network or a front-end")
        .each(check_source);
    settings.add(section, "robs", o.generator.robs, "source = \"generator\": sources, counted from first_source on")
        .at_least(1)
        .at_most(4096);
    settings.add(section, "first_source", first_source_, "source = \"generator\": the first of them")
        .each(check_source);
    settings.add(section, "rob_size", o.generator.rob_size, "source = \"generator\": of each ROB")
        .at_most(Bytes{16ULL << 20});
    settings.add(section, "seed", o.generator.seed, "source = \"generator\": the same seed, the same words");
    settings
        .add(section, "runs_in", runs_in_,
             "of a front-end NAME.so: thread, of the readout, or process, of its own, in which it may crash or hang; "
             "Python runs in a process")
        .one_of({"thread", "process"});
    settings
        .add(section, "time_limit", o.front_end.time_limit, "for one call of a front-end; one that takes longer hangs")
        .at_least(std::chrono::seconds(2));  // beyond the longest poll_interval
    settings.add(section, "start_limit", o.front_end.start_limit, "for a front-end to be loaded, and for its begin_run")
        .at_least(std::chrono::milliseconds(10));
    settings
        .add(section, "poll_interval", o.front_end.poll_interval,
             "of a front-end: the pause after a poll that sent nothing")
        .at_least(std::chrono::microseconds(1))
        .at_most(std::chrono::seconds(1));
    settings.add(section, "python", python_, "the Python that runs a front-end NAME.py");
    settings.add(section, "latency", latency_,
                 "simulation: data come so long after they were asked for; 0s: on their own");
    settings.add(section, "events_max", o.store.events_max, "events held at once").at_least(1).at_most(1 << 22);
    settings.add(section, "memory", o.store.bytes_max, "for their ROBs").at_least(Bytes{1ULL << 20});
    settings
        .add(section, "lost_after", o.store.lost_after,
             "a ROB does not come any more when its source has sent one so many "
             "events newer; 0: it is waited for, or with input_udp and match = \"time:...\" events_max")
        .at_most(1 << 30);
    settings
        .add(section, "handlers", o.handlers.handlers,
             "request handlers: threads that wait for data; 0: what is not here is "
             "answered \"not yet\" at once")
        .at_most(256);
    settings
        .add(section, "wait", strategy_,
             "how they wait: asleep until woken, giving the processor away again and again, or keeping it")
        .one_of({"park", "yield", "spin"});
    settings
        .add(section, "wait_max", o.handlers.wait_max, "for the data of one request; then the answer is \"not yet\"")
        .at_most(std::chrono::seconds(10));
    settings
        .add(section, "requests_max", o.handlers.requests_max,
             "that wait for a handler; more are discarded and counted, and will be re-requested")
        .at_least(1)
        .at_most(1 << 20);
    settings.add(section, "direct", o.direct,
                 "what is here is answered by the thread that receives, without a handler");
    settings
        .add(section, "busy_high", busy_high_,
             "source = \"network\" or a front-end: above so many percent of its buffers the readout is busy, and the "
             "supervisor holds triggers by the clock")
        .at_least(1)
        .at_most(100);
    settings.add(section, "busy_low", busy_low_, "and below so many it is not busy again").at_least(1).at_most(100);
    input_.declare(settings, section, "fragments");
    udp_.declare(settings, section);
    match_.declare(settings, section);
    loop_.declare(settings, section);
}

void ReadoutSettings::declare_options(CLI::App& command, std::vector<CLI::Option*>& given) {
    given.push_back(&add_value(command, "--part", part_, "I/N", "which share of the file's sources"));
    given.push_back(&add_value(command, "--handlers", options_.handlers.handlers, "N", "request handlers"));
    given.push_back(&add_value(command, "--wait", strategy_, "HOW", "how they wait for data: park, yield or spin"));
}

Result<readout::ReadoutStationOptions> ReadoutSettings::options(const StationPlace& place) const {
    auto o = options_;
    o.name = place.name;
    o.id = place.id;
    o.feed = readout::parse_feed_kind(source_).value_or(readout::FeedKind::front_end);
    o.front_end.file = source_;
    o.front_end.runs = runs_in_ == "process" ? readout::FrontEndRuns::process : readout::FrontEndRuns::thread;
    o.front_end.python = python_;
    o.format = place.partition.format();
    o.rules = place.partition.rules();
    for (const auto& text : sources_) {
        const auto source = parse_source_id(text);
        if (!source) return fail(Errc::usage, fmt::format("sources: \"{}\" is no source; write 0x420001", text));
        o.sources.push_back(*source);
    }
    const auto first = parse_source_id(first_source_);
    if (!first)
        return fail(Errc::usage, fmt::format("first_source: \"{}\" is no source; write 0x420000", first_source_));
    o.generator.first_source = *first;
    o.replay.part = WEIR_TRY(workload::parse_part(part_));
    if (!file_.empty()) o.replay.file = file_;
    if (!place.sources.empty()) o.replay.file = place.sources.front();
    if (o.feed == readout::FeedKind::file && place.sources.size() > 1)
        return fail(Errc::usage, "a readout replays one file; name one --source");
    if (o.feed == readout::FeedKind::network && o.sources.empty())
        return fail(Errc::usage, "source = \"network\" needs to know what may come: sources = [\"0x420000\", ...]");
    if (o.feed == readout::FeedKind::front_end && o.sources.empty())
        return fail(Errc::usage, fmt::format("source = \"{}\" needs the sources that it reads out: sources = "
                                             "[\"0x420000\", ...]",
                                             source_));
    if (latency_.count() > 0) o.latency = latency_;
    const auto port = WEIR_TRY(input_.port());
    if (port) o.input = readout::FragmentInput{.listen = port->listen, .name = place.name, .tls = port->tls};
    o.datagrams = WEIR_TRY(udp_.input(input_.plain()));
    if (o.datagrams && o.datagrams->header.fixed_source &&
        std::ranges::find(o.sources, *o.datagrams->header.fixed_source) == o.sources.end())
        return fail(Errc::usage, fmt::format("udp_fixed_source = \"0x{:06x}\" is not among sources; add it there",
                                             number(*o.datagrams->header.fixed_source)));
    if (o.feed == readout::FeedKind::network && !port && !o.datagrams)
        return fail(Errc::usage,
                    "source = \"network\" needs a port to take fragments at: input = \"127.0.0.1:9100\", or input_udp");
    if (o.feed != readout::FeedKind::network && (port || o.datagrams))
        return fail(Errc::usage,
                    "input and input_udp take fragments when source = \"network\"; set that, or leave them out");
    o.matching = WEIR_TRY(match_.matching(input_.tls()));
    if (o.matching && o.feed != readout::FeedKind::network && o.feed != readout::FeedKind::front_end)
        return fail(Errc::usage,
                    "match = \"time:...\" is for fragments from outside; set source = \"network\" or a front-end, or "
                    "leave it out");
    if (!o.matching && o.datagrams && !o.datagrams->header.own && o.datagrams->header.counter.size == 0)
        return fail(
            Errc::usage,
            "datagrams without udp_counter bring no level-1 id; add it, or match by udp_time: match = \"time:200ns\"");
    o.busy_high = busy_high_ / 100.0;
    o.busy_low = busy_low_ / 100.0;
    if (o.busy_low > o.busy_high)
        return fail(Errc::usage, fmt::format("busy_low = {} is above busy_high = {}", busy_low_, busy_high_));
    o.first = Level1Id{place.partition.data.first_level1_id};
    const auto strategy = readout::parse_wait_strategy(strategy_);
    if (!strategy)
        return fail(Errc::usage, fmt::format("\"{}\" is no way to wait; choose park, yield or spin", strategy_));
    o.handlers.strategy = *strategy;
    o.loop = WEIR_TRY(loop_.options(place));
    o.link = loop_.link(place);
    return o;
}

Result<> ReadoutSettings::check(const StationPlace& place) const {
    const auto made = WEIR_TRY(options(place));
    if (made.format == event::Format::opaque)
        return fail(Errc::usage, "a readout serves fragments; [data] format must be event-5.0 or event-3.0");
    if (made.feed == readout::FeedKind::file && made.replay.file.empty())
        return fail(Errc::usage, "source = \"file\" needs a file: give --source FILE, or set file = \"...\"");
    if (std::error_code error; made.feed == readout::FeedKind::file && !file_.empty() && !place.elsewhere &&
                               !std::filesystem::exists(file_, error))
        return fail(Errc::usage, fmt::format("file = \"{}\" is not there", file_));
    if (made.feed == readout::FeedKind::front_end && !place.elsewhere)
        WEIR_TRY(readout::FrontEndSpec::check(made.front_end.file));
    const auto robs = made.sources.empty() ? made.generator.robs : made.sources.size();
    if (made.feed == readout::FeedKind::generator &&
        robs * made.generator.rob_size.count() > made.store.bytes_max.count())
        return fail(Errc::usage, fmt::format("{} ROBs of {} are more than its memory of {}; raise memory", robs,
                                             to_string(made.generator.rob_size), to_string(made.store.bytes_max)));
    return {};
}

Result<std::unique_ptr<service::Station>> ReadoutSettings::make(const StationPlace& place,
                                                                const service::StationServices& services) {
    auto made = WEIR_TRY(options(place));
    made.loop.report = services.reports.reporter();
    return std::make_unique<readout::ReadoutStation>(std::move(made), services.reports.reporter(), services.clock);
}

}  // namespace weir::app
