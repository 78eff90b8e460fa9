// SPDX-License-Identifier: Apache-2.0
// weir drain: empties a volume (a disk that is to be taken out) into others, file by file, each proved
// on its new disk before it is removed from the old one.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "cli/process/signals.hpp"
#include "cli/progress.hpp"
#include "files/commands.hpp"
#include "weir/base/clock.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/recovery/drain.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* weir_drain = "weir drain";

struct DrainOptions {
    fs::path volume;
    std::vector<fs::path> targets;
    fs::path directory;  // of the catalogue
    bool json = false;
};

/// Where the recorder keeps its catalogue: as given, or the first of the directories that has one.
Result<fs::path> find_catalogue(const DrainOptions& options) {
    std::vector<fs::path> places{options.volume};
    places.insert(places.end(), options.targets.begin(), options.targets.end());
    if (!options.directory.empty()) places = {options.directory};
    for (const auto& place : places) {
        std::error_code error;
        if (auto path = catalogue::catalogue_path(place); fs::exists(path, error)) return path;
    }
    return fail_errno(ENOENT,
                      fmt::format("none of the directories has a catalogue; name the recorder's first directory "
                                  "with --dir ({} was looked at)",
                                  places.front().native()));
}

void print_report(const DrainOptions& options, const recovery::DrainResult& result, double seconds) {
    print("{} moved, {} in {:.2f} s ({:.2f} GB/s)\n", counted(result.files, "file"), human(Bytes{result.bytes}),
          seconds, gb_per_s(result.bytes, seconds));
    if (result.open > 0)
        print(
            "{} open there: a recorder writes them, or died (weir recover); remove the directory from its --dir, then "
            "drain again\n",
            counted(result.open, "file is", "files are"));
    if (result.unknown > 0)
        print("{} there that the catalogue does not know; weir recover --rebuild enters them\n",
              counted(result.unknown, "file is", "files are"));
    if (result.stopped) print("stopped; the same command goes on\n");
    const bool empty = result.failed.empty() && result.open == 0 && result.unknown == 0 && !result.stopped;
    if (empty) print("{} holds no file of events any more\n", printable(options.volume.native()));
}

json::object json_of(const recovery::DrainResult& result, double seconds) {
    json::array failed;
    for (const auto& error : result.failed) failed.emplace_back(json_text(error.message()));
    return {{"files", result.files},     {"bytes", result.bytes},
            {"open", result.open},       {"unknown", result.unknown},
            {"stopped", result.stopped}, {"failed", std::move(failed)},
            {"seconds", seconds},        {"gb_per_s", gb_per_s(result.bytes, seconds)}};
}

int run_drain(const DrainOptions& options) {
    Signals signals;
    const auto where = find_catalogue(options);
    if (!where) return fail_missing(weir_drain, where.error().message());
    const auto lock = catalogue::HandOffLock::take(*where);
    if (!lock) return fail_with(weir_drain, lock.error());
    const auto catalogue = catalogue::open_sqlite_catalogue(*where, {.create = false});
    if (!catalogue) return fail_with(weir_drain, catalogue.error());
    const auto size = recovery::drain_size(options.volume, **catalogue);
    if (!size) return fail_with(weir_drain, size.error());
    const SystemClock clock;
    ByteProgress progress(clock, "drain", *size);
    const auto begin = clock.now();
    const auto result = recovery::drain_volume({.volume = options.volume,
                                                .targets = options.targets,
                                                .progress = [&](std::uint64_t bytes) { progress.add(bytes); },
                                                .stop = [&] { return signals.wait(std::chrono::nanoseconds{0}); }},
                                               **catalogue);
    const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
    progress.clear();
    if (!result) return fail_with(weir_drain, result.error());
    if (options.json) {
        print_json(json_of(*result, seconds));
    } else {
        print_report(options, *result, seconds);
    }
    for (const auto& error : result->failed) complain(weir_drain, error.message());
    return result->failed.empty() && result->open == 0 && result->unknown == 0 && !result->stopped ? exit_good
                                                                                                   : exit_bad;
}

}  // namespace

void add_drain(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<DrainOptions>();  // shared by the parser's callbacks and the command
    auto& command =
        add_command(parent, group_look, "drain", "empties a volume into others, each file proved before it goes",
                    "weir drain /disk3/data --to /disk1/data /disk2/data");
    add_value(command, "volume", options->volume, "VOLUME", "directory to empty").required();
    add_value(command, "--to", options->targets, "DIR", "directories that take the files, the roomiest first")
        .required();
    add_value(command, "--dir", options->directory, "DIR",
              "first directory of the recorder, where its catalogue is (default: where one is found)");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_drain(*options); }; });
}

}  // namespace weir::app
