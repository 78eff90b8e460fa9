// SPDX-License-Identifier: Apache-2.0
// weir verify: every byte of closed files is read and held against what was promised when it was
// recorded; damage is named by file, event and offset.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "cli/output.hpp"
#include "cli/progress.hpp"
#include "files/commands.hpp"
#include "files/verify_plan.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/postgres_catalogue.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/recovery/verification.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_verify = "weir verify";
constexpr unsigned threads_max = 256;
constexpr int exit_malformed = 4;

struct VerifyOptions {
    std::vector<std::filesystem::path> paths;
    std::optional<RunNumber> run;
    std::string catalogue;
    unsigned threads = std::clamp(std::thread::hardware_concurrency(), 1U, 4U);
    event::Depth depth = event::Depth::fragments;
    bool release = false;
    bool json = false;
};

/// Plan and proof as one.
struct Verdict {
    std::uint64_t files = 0;
    std::uint64_t good = 0;
    std::uint64_t without_index = 0;
    std::uint64_t events = 0;
    std::uint64_t bytes = 0;
    double seconds = 0;
    std::vector<recovery::Damage> damages;
    std::vector<std::filesystem::path> released;
    std::vector<recovery::Damage> malformed;  // stored as they were received, and badly made by their senders
};

Verdict verdict_of(const VerifyPlan& plan, const recovery::VerificationReport& report, double seconds) {
    Verdict verdict;
    verdict.files = plan.files().size() + plan.files_missing();
    verdict.seconds = seconds;
    verdict.damages = plan.damages();
    for (const auto& damage : report.damages)
        (damage.as_received ? verdict.malformed : verdict.damages).push_back(damage);
    std::set<std::filesystem::path> bad;
    for (const auto& damage : verdict.damages) bad.insert(damage.path);
    for (const auto& file : report.files) {
        verdict.good += bad.contains(file.path) ? 0U : 1U;
        verdict.without_index += file.has_index ? 0U : 1U;
        verdict.events += file.events;
        verdict.bytes += file.bytes;
    }
    return verdict;
}

std::string reasons_of(const catalogue::LedgerRow& row) {
    std::string text;
    for (const auto& [reason, copies] : row.rejected)
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, with_commas(copies));
    return text.empty() ? "none" : text;
}

/// copies received = stored + rejected, stream by stream.
void print_ledgers(const std::vector<VerifyPlan::LedgerProof>& ledgers) {
    if (ledgers.empty()) return;
    Table table({{"stream"},
                 {"recorder"},
                 {"received", Table::Align::right},
                 {"stored", Table::Align::right},
                 {"in files", Table::Align::right},
                 {"rejected"}});
    for (const auto& [row, in_files] : ledgers)
        table.add({fmt::format("{}_{}", row.stream_type, row.stream_name), row.recorder, with_commas(row.received),
                   with_commas(row.stored), with_commas(in_files), reasons_of(row)});
    print(table.text());
}

json::array json_of(const std::vector<VerifyPlan::LedgerProof>& ledgers) {
    json::array rows;
    for (const auto& [row, in_files] : ledgers) {
        json::object rejected;
        for (const auto& [reason, copies] : row.rejected) rejected[reason] = copies;
        rows.push_back(json::object{{"run", number(row.run)},
                                    {"recorder", json_text(row.recorder)},
                                    {"stream", json_text(fmt::format("{}_{}", row.stream_type, row.stream_name))},
                                    {"received", row.received},
                                    {"stored", row.stored},
                                    {"rejected", std::move(rejected)},
                                    {"in_files", in_files}});
    }
    return rows;
}

void print_damages(const std::vector<recovery::Damage>& damages, std::string_view mark) {
    for (const auto& damage : damages) {
        const auto event = damage.event ? fmt::format("event {}, ", *damage.event) : std::string();
        print("{}: {}offset {}: {}{}\n", printable(damage.path.native()), event, damage.offset, mark,
              printable(damage.reason));
    }
}

void print_report(const VerifyPlan& plan, const Verdict& verdict, bool by_run) {
    print_damages(verdict.damages, "");
    print_damages(verdict.malformed, "malformed, as it was received: ");
    if (by_run) print_ledgers(plan.ledgers());
    for (const auto& note : plan.notes()) print("note: {}\n", printable(note));
    for (const auto& reason : plan.empty()) print("note: {}\n", printable(reason));
    const auto& not_verified = plan.not_verified();
    if (not_verified.open > 0)
        print("not verified: {} open; they are being written, or their recorder died (weir recover)\n",
              counted(not_verified.open, "file"));
    for (const auto& path : verdict.released) print("released: {}\n", printable(path.native()));
    if (const auto held = plan.quarantined().size() - verdict.released.size(); held > 0)
        print(
            "{} of these in quarantine; the lines above name the damage, the alarms the cause, and --release releases "
            "those that are good\n",
            counted(held, "file is", "files are"));
    if (not_verified.deleted > 0)
        print("not verified: {} deleted after transfer\n", counted(not_verified.deleted, "file"));
    if (verdict.without_index > 0)
        print("{} without a whole index: structure and the checksums inside the events only\n",
              counted(verdict.without_index, "file"));
    print("{} of {} good, {}, {} in {:.2f} s ({:.2f} GB/s)\n", with_commas(verdict.good),
          counted(verdict.files, "file"), counted(verdict.events, "event"), human(Bytes{verdict.bytes}),
          verdict.seconds, gb_per_s(verdict.bytes, verdict.seconds));
    if (!verdict.damages.empty())
        print("DAMAGED: {}\n", counted(verdict.damages.size(), "thing is", "things are") + " not as recorded");
    if (!verdict.malformed.empty())
        print("MALFORMED: {} stored as received, and badly made by the sender\n",
              counted(verdict.malformed.size(), "event is", "events are"));
}

json::array json_of(const std::vector<recovery::Damage>& damages) {
    json::array all;
    for (const auto& damage : damages) {
        json::object object{{"path", json_text(damage.path.native())},
                            {"event", nullptr},
                            {"offset", damage.offset},
                            {"reason", json_text(damage.reason)}};
        if (damage.event) object["event"] = *damage.event;
        all.push_back(std::move(object));
    }
    return all;
}

json::object json_of(const VerifyPlan& plan, const Verdict& verdict) {
    json::array notes;
    for (const auto& note : plan.notes()) notes.emplace_back(json_text(note));
    for (const auto& reason : plan.empty()) notes.emplace_back(json_text(reason));
    json::array released;
    for (const auto& path : verdict.released) released.emplace_back(json_text(path.native()));
    return {
        {"files", verdict.files},
        {"ok", verdict.good},
        {"bad", json_of(verdict.damages)},
        {"malformed", json_of(verdict.malformed)},
        {"events", verdict.events},
        {"without_index", verdict.without_index},
        {"not_verified", json::object{{"open", plan.not_verified().open}, {"deleted", plan.not_verified().deleted}}},
        {"quarantined", plan.quarantined().size() - verdict.released.size()},
        {"released", std::move(released)},
        {"ledgers", json_of(plan.ledgers())},
        {"notes", std::move(notes)},
        {"bytes", verdict.bytes},
        {"seconds", verdict.seconds},
        {"gb_per_s", gb_per_s(verdict.bytes, verdict.seconds)}};
}

/// Files in quarantine of which every byte is as it was recorded: from now on TRUNCATED, which are handed over. Their
/// recorder may be running.
Result<> release(const VerifyPlan& plan, Verdict& verdict) {
    std::map<std::filesystem::path, std::unique_ptr<catalogue::Catalogue>> catalogues;
    for (const auto& file : plan.quarantined()) {
        if (std::ranges::any_of(verdict.damages, [&](const auto& damage) { return damage.path == file.path; }))
            continue;
        auto& catalogue = catalogues[file.catalogue];
        if (!catalogue) {
            catalogue = WEIR_TRY(catalogue::open_sqlite_catalogue(file.catalogue, {.create = false}));
        }
        WEIR_TRY(catalogue->set_file_health(file.guid, catalogue::FileHealth::truncated));
        verdict.released.push_back(file.path);
    }
    return {};
}

int run_verify(const VerifyOptions& options) {
    if (options.threads == 0 || options.threads > threads_max)
        return fail_usage(weir_verify, fmt::format("--jobs: choose 1 to {}", threads_max));
    if (options.release && !options.catalogue.empty())
        return fail_usage(weir_verify,
                          "--release changes the recorder's own catalogue, which carries it over; omit --catalogue");
    std::unique_ptr<catalogue::Catalogue> shared;
    if (!options.catalogue.empty()) {
        auto opened = catalogue::open_named_catalogue(options.catalogue);
        if (!opened) return fail_with(weir_verify, opened.error());
        shared = std::move(*opened);
    }
    VerifyPlan plan(options.run, shared.get());
    if (shared != nullptr) {
        if (auto added = plan.add_shared_ledgers(catalogue::printable_postgres_uri(options.catalogue)); !added)
            return fail_with(weir_verify, added.error());
    }
    for (const auto& path : options.paths) {
        if (auto added = plan.add(path); !added) return fail_with(weir_verify, added.error());
    }
    if (plan.empty().size() == options.paths.size()) return fail_missing(weir_verify, plan.empty().front());
    const SystemClock clock;
    ByteProgress progress(clock, "verify", plan.size());
    const auto begin = clock.now();
    recovery::VerificationOptions how;
    how.depth = options.depth;
    how.threads = options.threads;
    how.from_disk = options.release;
    how.progress = [&progress](std::uint64_t bytes) { progress.add(bytes); };
    const auto report = recovery::verify_files(plan.files(), how);
    const double seconds = std::chrono::duration<double>(clock.now() - begin).count();
    progress.clear();

    auto verdict = verdict_of(plan, report, seconds);
    if (options.release) {
        if (auto released = release(plan, verdict); !released) return fail_with(weir_verify, released.error());
    }
    if (options.json) {
        print_json(json_of(plan, verdict));
    } else {
        print_report(plan, verdict, options.run.has_value());
    }
    if (!verdict.damages.empty()) return exit_bad;
    return verdict.malformed.empty() ? exit_good : exit_malformed;
}

}  // namespace

void add_verify(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<VerifyOptions>();  // shared by the parser's callbacks and the command
    auto& command = add_command(parent, group_look, "verify", "proves that every stored byte is as it was recorded",
                                "weir verify data --run 7");
    add_value(command, "path", options->paths, "PATH",
              "directory of a recorder (its catalogue's closed files, and others there), or a raw file")
        .required();
    add_value(command, "--run", options->run, "N", "only files of this run");
    add_value(command, "--catalogue", options->catalogue, "URI",
              "that recorders share, postgresql://...: its rows and all its ledgers");
    add_value(command, "-j,--jobs", options->threads, "N", "files that are read side by side; 1 for a spinning disk");
    add_choice(command, "--depth", options->depth,
               {{"none", event::Depth::none}, {"header", event::Depth::header}, {"fragments", event::Depth::fragments}},
               "how deep each event is looked into, besides the checksums of its bytes");
    add_flag(command, "--release", options->release,
             "files in quarantine that are good are handed over again (TRUNCATED)");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_verify(*options); }; });
}

}  // namespace weir::app
