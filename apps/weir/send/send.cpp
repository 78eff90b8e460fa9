// SPDX-License-Identifier: Apache-2.0
// `weir send`: events in. Replays raw files or makes a synthetic workload, sends it over any number of
// connections, and reports what became of every event.

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output.hpp"
#include "cli/process/open_files.hpp"
#include "cli/process/signals.hpp"
#include "cli/progress.hpp"
#include "send/commands.hpp"
#include "send/sending.hpp"
#include "weir/base/report.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/delivery/run_inquiry.hpp"
#include "weir/transport/address.hpp"
#include "weir/wire/session.hpp"
#include "weir/workload/replay_source.hpp"
#include "weir/workload/synthetic_source.hpp"

namespace weir::app {
namespace {

using namespace std::chrono_literals;

constexpr const char* weir_send = "weir send";
constexpr const char* default_profile = "atlas2018";

struct SendOptions {
    std::vector<transport::HostPort> to{};
    std::vector<std::filesystem::path> files{};
    std::optional<std::string> profile{};
    std::optional<std::uint64_t> events{};
    double rate_hz = 0;
    std::uint32_t connections = 1;
    std::uint64_t seed = 1;
    std::optional<RunNumber> run{};
    std::optional<std::string> name{};
    std::optional<std::string> stream{};
    std::optional<Bytes> window{};
    GlobalEventId first_id{1};
    bool keep_ids = false;
    std::chrono::milliseconds give_up_after{60'000};
    transport::TlsFiles tls{};
    bool json = false;
};

/// What no single option can check alone.
Result<> check(const SendOptions& options) {
    if (options.to.empty() || std::ranges::any_of(options.to, [](const auto& to) { return to.port == 0; }))
        return fail(Errc::usage, "no recorder to send to; name one with --to HOST:PORT");
    for (auto to = options.to.begin(); to != options.to.end(); ++to) {
        if (std::find(options.to.begin(), to, *to) != to)
            return fail(Errc::usage, fmt::format("--to names {} twice; name each recorder once", to_string(*to)));
    }
    if (!options.files.empty() && options.profile)
        return fail(Errc::usage, "--source and --profile cannot be used together; choose one");
    if (options.files.empty() && (options.stream || options.keep_ids))
        return fail(Errc::usage, "--stream and --keep-ids are for --source only; omit them");
    if (options.keep_ids && options.first_id != GlobalEventId{1})
        return fail(Errc::usage, "--keep-ids and --first-id cannot be used together; choose one");
    if (!std::isfinite(options.rate_hz) || options.rate_hz < 0)
        return fail(Errc::usage, "--rate is a number of events a second, or 0 for no limit");
    if (options.connections == 0 || options.connections > connections_max / options.to.size())
        return fail(Errc::usage, fmt::format("--connections is 1 to {}", connections_max / options.to.size()));
    if (options.name && !wire::valid_sender_name(*options.name))
        return fail(Errc::usage, fmt::format("--name is 1 to {} letters, digits and -_.:", wire::sender_name_size_max));
    if (options.window == Bytes{0}) return fail(Errc::usage, "--window is at least one byte; 64MiB is a good size");
    return {};
}

Result<std::unique_ptr<workload::EventSource>> open_replay(const SendOptions& options) {
    workload::ReplayOptions replay{
        .files = options.files, .run = options.run, .keep_ids = options.keep_ids, .first_id = options.first_id};
    if (options.stream) {
        replay.stream = WEIR_TRY(parse_stream_key(*options.stream));
    }
    auto source = WEIR_TRY(workload::ReplaySource::open(replay));
    if (!source->repeats() && options.events.value_or(0) > *source->events_once())
        return fail(Errc::usage,
                    fmt::format("--keep-ids sends each event once, and there are {}; give --events no more, or omit it",
                                *source->events_once()));
    return source;
}

Result<std::unique_ptr<workload::EventSource>> open_workload(const SendOptions& options, const Clock& clock) {
    auto profile = WEIR_TRY(workload::find_profile(options.profile.value_or(default_profile)));
    return std::make_unique<workload::SyntheticSource>(
        workload::SyntheticOptions{.profile = std::move(profile),
                                   .run = options.run.value_or(RunNumber{1}),
                                   .seed = options.seed,
                                   .first_id = options.first_id,
                                   .events = options.events,
                                   .begin = clock.wall()});
}

std::vector<std::string> addresses(const SendOptions& options) {
    std::vector<std::string> all;
    for (const auto& to : options.to) all.push_back(to_string(to));
    return all;
}

/// As messages name them.
std::string recorders(const SendOptions& options) { return fmt::format("{}", fmt::join(addresses(options), ", ")); }

std::string status_line(const SendOptions& options, const Sending& sending, std::optional<std::uint64_t> events) {
    const auto counts = sending.counts();
    if (counts.connected == 0 && !counts.last_problem.empty())
        return fmt::format("waiting for {}: {}", recorders(options), counts.last_problem);
    const double rate = counts.seconds > 0 ? static_cast<double>(counts.sent) / counts.seconds : 0;
    auto line = fmt::format("{}{} events sent  {} acknowledged  {:.0f} events/s  {:.2f} GB/s", with_commas(counts.sent),
                            events ? " of " + with_commas(*events) : "", with_commas(counts.acknowledged), rate,
                            gb_per_s(counts.bytes_answered, counts.seconds));
    if (counts.rejected > 0) line += fmt::format("  {} rejected", with_commas(counts.rejected));
    if (events && rate > 0 && *events > counts.sent)
        line += "  " + human(std::chrono::seconds{std::llround(static_cast<double>(*events - counts.sent) / rate)}) +
                " left";
    return line;
}

/// Until every event has its answer. The first signal stops the sending, the second the waiting too.
void watch(const SendOptions& options, Sending& sending, Signals& signals, std::optional<std::uint64_t> events,
           const Clock& clock) {
    ProgressLine line(clock);
    bool stopping = false;
    while (!sending.wait(100ms)) {
        if (signals.wait(0ns)) {
            if (std::exchange(stopping, true)) sending.abandon();
            else sending.stop();
        }
        if (line.due()) line.show(status_line(options, sending, events));
    }
}

json::object to_json(const AnswerTimes& times) {
    const auto seconds = [](std::chrono::nanoseconds time) { return std::chrono::duration<double>(time).count(); };
    return {{"median", seconds(times.quantile(0.5))},
            {"p99", seconds(times.quantile(0.99))},
            {"max", seconds(times.longest())}};
}

json::object to_json(const SendingCounts& counts, const AnswerTimes& times, RunNumber run) {
    json::object reasons;
    for (const auto reason : wire::reject_reasons) {
        if (const auto n = counts.rejected_by[wire::index(reason)]; n > 0) reasons[wire::name(reason)] = n;
    }
    if (counts.rejected_by[0] > 0) reasons["unknown"] = counts.rejected_by[0];
    return {{"run", number(run)},
            {"events",
             json::object{{"sent", counts.sent}, {"acknowledged", counts.acknowledged}, {"rejected", counts.rejected}}},
            {"unanswered", counts.unanswered},
            {"rejected_by_reason", std::move(reasons)},
            {"bytes", counts.bytes},
            {"seconds", counts.seconds},
            {"gb_per_s", gb_per_s(counts.bytes_answered, counts.seconds)},
            {"resent", counts.resent},
            {"reconnects", counts.reconnects},
            {"moved", counts.moved},
            {"in_doubt", counts.in_doubt},
            {"answer_seconds", to_json(times)}};
}

std::string reasons_text(const SendingCounts& counts) {
    std::string text;
    for (std::size_t i = 0; i < counts.rejected_by.size(); ++i) {
        if (counts.rejected_by[i] == 0) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
                            wire::name(wire::RejectReason{static_cast<std::uint16_t>(i)}), counts.rejected_by[i]);
    }
    return text;
}

/// The exit code, and one line with the reason when it is not 0.
int judge(const SendOptions& options, const Sending& sending, const SendingCounts& counts) {
    if (auto failure = sending.failure()) {
        const auto given =
            fmt::format("; {} of {} acknowledged", with_commas(counts.acknowledged), counted(counts.sent, "event"));
        failure->context += failure->os_errno == 0 ? given : "";
        complain(weir_send, failure->message());
        return exit_bad;
    }
    if (counts.rejected > 0) {
        complain(weir_send,
                 fmt::format(
                     "{} rejected {} of {} ({}); {}", recorders(options), with_commas(counts.rejected),
                     counted(counts.sent, "event"), reasons_text(counts),
                     counts.first_refusal.empty() ? "the log of the recorder has the reason" : counts.first_refusal));
        return exit_bad;
    }
    if (counts.unanswered > 0) {
        complain(weir_send,
                 fmt::format("{} has not answered {} of {}{}{}; whether it holds them is not known", recorders(options),
                             with_commas(counts.unanswered), counted(counts.sent, "event"),
                             counts.last_problem.empty() ? "" : ": ", counts.last_problem));
        return exit_bad;
    }
    return exit_good;
}

/// With TLS a sender may only have a name of its certificate, so that is the one it has by itself.
Result<std::string> find_name(const SendOptions& options) {
    if (options.name) return *options.name;
    if (!options.tls.any()) return "send";
    const auto tls = WEIR_TRY(transport::TlsContext::for_client(options.tls));
    auto name = tls.certificate_name();
    if (!wire::valid_sender_name(name))
        return fail(Errc::usage, fmt::format("{} has no name that a sender can have; give one with --name",
                                             options.tls.certificate.native()));
    return name;
}

/// The run that is being recorded. Nothing: a signal came first.
Result<std::optional<RunNumber>> ask_for_run(const SendOptions& options, const std::string& name, Signals& signals,
                                             const Clock& clock) {
    auto inquiry = WEIR_TRY(delivery::RunInquiry::begin(
        {.name = name, .give_up_after = options.give_up_after, .tls = options.tls}, addresses(options)));
    ProgressLine line(clock);
    while (!signals.wait(0ns)) {
        const auto run = inquiry.wait(100ms);
        if (!run || *run) return run;
        if (line.due()) line.show(fmt::format("waiting for {}: {}", recorders(options), inquiry.last_problem()));
    }
    return std::nullopt;
}

int run_send(const SendOptions& options) {
    if (auto checked = check(options); !checked) return fail_with(weir_send, checked.error());
    const auto name = find_name(options);
    if (!name) return fail_with(weir_send, name.error());
    allow_open_files(3 * options.connections * options.to.size() + 64);  // a connection takes three
    Signals signals;                                                     // before any thread begins
    const SystemClock clock;
    auto source = options.files.empty() ? open_workload(options, clock) : open_replay(options);
    if (!source) return fail_with(weir_send, source.error());
    for (const auto& report : (*source)->reports()) complain(weir_send, report);

    if (!options.run && !options.keep_ids) {  // ids are kept in the run that they are of
        const auto run = ask_for_run(options, *name, signals, clock);
        if (!run) return fail_with(weir_send, run.error());
        if (!*run)
            return fail_with(weir_send,
                             {Errc::io, 0, fmt::format("ended by a signal before {} answered", recorders(options))});
        (*source)->set_run(**run);
    }
    const auto events = options.events ? options.events : (*source)->events_once();
    auto sending = Sending::start({.to = addresses(options),
                                   .name = *name,
                                   .connections = options.connections,
                                   .events = events,
                                   .rate_hz = options.rate_hz,
                                   .window = options.window.value_or(Bytes{0}),
                                   .give_up_after = options.give_up_after,
                                   .tls = options.tls,
                                   .report = [](const Report& report) { complain(weir_send, text_of(report)); }},
                                  **source, clock);
    if (!sending) return fail_with(weir_send, sending.error());
    watch(options, **sending, signals, events, clock);

    const auto counts = (*sending)->counts();
    if (options.json) {
        print_json(to_json(counts, (*sending)->answer_times(), (*source)->run()));
    } else {
        print("{} sent to run {}: {} acknowledged, {} rejected; {} in {:.2f} s, {:.2f} GB/s\n",
              counted(counts.sent, "event"), number((*source)->run()), with_commas(counts.acknowledged),
              with_commas(counts.rejected), human(Bytes{counts.bytes}), counts.seconds,
              gb_per_s(counts.bytes_answered, counts.seconds));
        const auto milliseconds = [](std::chrono::nanoseconds time) {
            return std::chrono::duration<double, std::milli>(time).count();
        };
        const auto& times = (*sending)->answer_times();
        if (times.count() > 0)
            print("answered after {:.1f} ms (median), {:.1f} ms (99 %), {:.1f} ms (the longest)\n",
                  milliseconds(times.quantile(0.5)), milliseconds(times.quantile(0.99)), milliseconds(times.longest()));
    }
    return judge(options, **sending, counts);
}

}  // namespace

void add_send(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<SendOptions>();
    auto& command =
        add_command(parent, group_record, "send", "sends events to recorders: raw files again, or a synthetic workload",
                    "weir send --to localhost:9000 --run 7 --events 10000 --connections 8");
    add_value(command, "--to", options->to, "H:P", "address and port of a recorder; several share the events");
    add_value(command, "--source", options->files, "FILE", "raw files to replay; repeated, with new ids");
    add_value(command, "--profile", options->profile, "NAME",
              "synthetic workload instead: atlas2018 (without --source)");
    add_value(command, "--events", options->events, "N", "how many; else the files once, a workload until stopped");
    add_value(command, "--rate", options->rate_hz, "EVENTS/S", "over all connections; 0: as fast as they are taken");
    add_value(command, "--connections", options->connections, "K", "to each recorder, 1 to 1000");
    add_value(command, "--seed", options->seed, "S", "of the workload: the same seed, the same events");
    add_value(command, "--run", options->run, "N", "run number; else the one that is being recorded");
    add_value(command, "--name", options->name, "SENDER", "name that the recorder knows this sender by");
    add_value(command, "--stream", options->stream, "TYPE_NAME", "for replayed events that name no stream");
    add_flag(command, "--keep-ids", options->keep_ids, "replay each event once, unchanged");
    add_value(command, "--first-id", options->first_id, "N", "global id of the first event").group(more_options);
    add_value(command, "--window", options->window, "SIZE", "kept unanswered by a connection").group(more_options);
    add_value(command, "--give-up-after", options->give_up_after, "TIME", "without any connection; 0s: never")
        .group(more_options);
    add_value(command, "--tls-certificate", options->tls.certificate, "F", "PEM; uses TLS, as the recorder must")
        .group(more_options);
    add_value(command, "--tls-key", options->tls.key, "F", "PEM: the key of that certificate").group(more_options);
    add_value(command, "--tls-ca", options->tls.authority, "F", "PEM: the authority of the recorder's certificate")
        .group(more_options);
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_send(*options); }; });
}

}  // namespace weir::app
