// SPDX-License-Identifier: Apache-2.0
#include "stations/handoff/handoff_settings.hpp"

#include <fmt/format.h>

#include <map>

#include "weir/handoff/directory_destination.hpp"
#include "weir/handoff/place.hpp"
#include "weir/handoff/xrootd_destination.hpp"

namespace weir::app {
namespace {

Result<> check_target(const std::string& text) {
    WEIR_TRY(handoff::parse_target(text));
    return {};
}

}  // namespace

void HandOffSettings::declare(service::Settings& settings, const std::string& section) {
    auto& o = options;
    if (section == alone) {
        settings.add(section, "directory", directory, "first directory of the recorder: its catalogue is there");
        settings.add(section, "catalogue", catalogue,
                     "as its recorder has it; postgresql://...: its own file, carried over; a path: another file; "
                     "empty: only the one in its first directory");
        settings.add(section, "recorder", recorder, "only files of this recorder; empty: of all in the catalogue");
        settings.add(section, "metrics", metrics, "address and port for Prometheus; port 0: any free one; empty: none");
        settings.add(section, "plain", plain,
                     "true: metrics also on an address that other machines reach, for any of them");
        settings
            .add(section, "tries", o.tries,
                 "with --once: of one file, and in sequence of a destination, before they are abandoned")
            .at_least(1);
    } else {  // in a partition directory and catalogue are those of its recorder
        settings.add(section, "recorder", partition_recorder,
                     "NAME of the [record.NAME] whose files go; empty: of the only one");
    }
    settings
        .add(section, "destinations", destinations,
             "where files go, each one of them to all: NAME=URL or URL; root://HOST:PORT//PATH "
             "or a directory, with {run} and {stream}")
        .each(check_target);
    settings.add(section, "priorities", priorities,
                 "PATTERN=NUMBER of streams; the first that matches counts, the smaller goes first; else 100");
    settings.add(section, "concurrency", o.concurrency, "files at once, to each destination").at_least(1).at_most(64);
    settings.add(section, "rate", o.rate, "bytes a second of all copies together; 0B: no limit");
    settings.add(section, "checksum", checksum,
                 "what is compared; the recorder made it of every file, and the destination is asked for it");
    settings
        .add(section, "verify", verify,
             "a copy counts by the destination's own sum of what it stored, by reading it back, or by both")
        .one_of({"sum", "read", "both"});
    settings.add(section, "read", read, "how files are read here: past the page cache, or through it")
        .one_of({"direct", "cache"});
    settings.add(section, "sync", sync, "an XRootD server syncs each file before its sum is asked for");
    settings.add(section, "answer", o.transfer.answer, "longest wait for one answer of a destination")
        .at_least(std::chrono::seconds{1});
    settings.add(section, "retry_first", o.retry_first, "wait after a failure; doubled after each further one")
        .at_least(std::chrono::milliseconds{1});
    settings.add(section, "retry_most", o.retry_most, "longest wait after a failure")
        .at_least(std::chrono::milliseconds{1});
    settings.add(section, "poll", o.poll, "how often the catalogue is looked at")
        .at_least(std::chrono::milliseconds{10});
    settings.add(section, "alarm_age", o.alarm_age,
                 "a file that was closed this long ago and is not handed over is an alarm");
    settings
        .add(section, "delete_above", o.deletion.above_percent,
             "percent of a volume in use above which files are deleted that are handed "
             "over; 100: never")
        .at_most(100);
    settings.add(section, "delete_age", o.deletion.age, "no file is deleted earlier than this after it was verified");
}

Result<handoff::HandOffOptions> HandOffSettings::to_options() const {
    auto to = options;
    to.priorities = WEIR_TRY(handoff::Priorities::parse(priorities));
    if (!recorder.empty()) to.recorder = recorder;
    const auto algorithm = digest::parse_algorithm(checksum);
    if (!algorithm)
        return fail(Errc::usage,
                    fmt::format("\"{}\" is no checksum; there are {}", checksum, digest::algorithm_names()));
    to.transfer.algorithm = *algorithm;
    using handoff::Verification;
    if (verify != "sum" && verify != "read" && verify != "both")
        return fail(Errc::usage, fmt::format("\"{}\" is no way to verify; choose sum, read or both", verify));
    to.transfer.verification = verify == "sum"    ? Verification::sum
                               : verify == "read" ? Verification::read
                                                  : Verification::both;
    if (read != "direct" && read != "cache")
        return fail(Errc::usage, fmt::format("\"{}\" is no way to read; choose direct or cache", read));
    to.transfer.read = read == "direct" ? fixity::Cache::direct : fixity::Cache::keep;
    return to;
}

Result<std::vector<handoff::Target>> HandOffSettings::targets() const {
    std::vector<handoff::Target> all;
    std::map<std::string, std::string> places;  // two names for one place would count as two copies
    for (const auto& text : destinations) {
        auto target = WEIR_TRY(handoff::parse_target(text));
        if (const auto [same, is_new] = places.emplace(handoff::spelling_of(target), text); !is_new)
            return fail(Errc::usage, fmt::format("destinations \"{}\" and \"{}\" are one place, and would be one copy; "
                                                 "name it once",
                                                 same->second, text));
        all.push_back(std::move(target));
    }
    return all;
}

Result<std::vector<std::unique_ptr<handoff::Destination>>> HandOffSettings::open_destinations(
    handoff::HandOffOptions& to) const {
    std::vector<std::unique_ptr<handoff::Destination>> opened;
    to.patterns.clear();
    for (const auto& target : WEIR_TRY(targets())) {
        to.patterns.push_back(target.pattern);
        if (!handoff::is_xrootd(target)) {
            WEIR_TRY(handoff::refuse_recorder_directory(target.root));
            opened.push_back(handoff::directory_destination(target.name, std::filesystem::absolute(target.root)));
            continue;
        }
        auto server = WEIR_TRY(
            handoff::xrootd_destination(target.name, target.root, {.answer = to.transfer.answer, .sync = sync}));
        opened.push_back(std::move(server));
    }
    return opened;
}

}  // namespace weir::app
