// SPDX-License-Identifier: Apache-2.0
// weir recover: closes the files that were open when a recorder died. A recorder does the same when it starts;
// this is for those that do not start again, for files of other recorders, and for a catalogue that was lost.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "files/commands.hpp"
#include "files/recover.hpp"
#include "weir/base/clock.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/datafile/directory_lock.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/event/raw_file_name.hpp"
#include "weir/recovery/rebuild.hpp"
#include "weir/recovery/recovery.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace weir::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* weir_recover = "weir recover";

struct RecoverOptions {
    std::vector<fs::path> paths;
    std::string recorder = "weir";
    std::vector<fs::path> adopt;  // volumes of a recorder that does not come back
    bool rebuild = false;
    std::string catalogue;
    bool json = false;
};

/// The locks of all of them: no recorder uses them, and none begins to.
Result<std::vector<datafile::DirectoryLock>> lock_all(const std::vector<fs::path>& directories) {
    std::vector<datafile::DirectoryLock> locks;
    for (const auto& directory : directories) {
        auto lock = WEIR_TRY(datafile::DirectoryLock::take(directory));
        locks.push_back(std::move(lock));
    }
    return locks;
}

/// Whether there is work for a recovery: open files, or a journal; or a file that a hand-off was about to delete.
Result<bool> needs_recovery(const fs::path& directory) {
    const auto journals = WEIR_TRY(datafile::JournalWriter::find(directory));
    if (!journals.empty()) return true;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        if (it->path().extension() == ".writing" || it->path().extension() == ".leaving") return true;
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    return false;
}

void append(recovery::RecoveryResult& all, recovery::RecoveryResult one) {
    for (auto& file : one.files) all.files.push_back(std::move(file));
    for (auto& path : one.removed) all.removed.push_back(std::move(path));
    for (auto& error : one.failed) all.failed.push_back(std::move(error));
    for (auto& error : one.doubts) all.doubts.push_back(std::move(error));
}

constexpr std::chrono::seconds carry_deadline{60};  // for changes that wait since an absence of the shared catalogue

void complain_of_waiting(catalogue::Catalogue& catalogue) {
    if (const auto waiting = catalogue::carried_over(catalogue, carry_deadline)) complain(weir_recover, *waiting);
}

/// All directories of a recorder; the catalogue is in the first.
Result<recovery::RecoveryResult> recover_directories(const RecoverOptions& options, const Clock& clock) {
    const auto locks = WEIR_TRY(lock_all(options.paths));
    bool anything = false;
    for (const auto& directory : options.paths) {
        const auto one = WEIR_TRY(needs_recovery(directory));
        anything = anything || one;
    }
    recovery::RecoveryResult all;
    // A catalogue may wait for files that are gone; where there is none and nothing else, none is made.
    const auto where = catalogue::catalogue_path(options.paths.front());
    std::error_code error;
    if (!anything && !fs::exists(where, error)) return all;
    const auto catalogue = WEIR_TRY(catalogue::open_own_catalogue(options.paths.front(), options.catalogue));
    for (const auto& directory : options.paths) {
        auto one = WEIR_TRY(recovery::recover_and_record(directory, options.recorder, *catalogue, clock));
        append(all, std::move(one));
    }
    WEIR_TRY(recovery::keep_marks(options.paths, *catalogue));
    complain_of_waiting(*catalogue);
    return all;
}

/// One file, by walking it. Where a journal stands beside it, only that knows what was acknowledged.
Result<recovery::RecoveryResult> recover_file(const fs::path& path, const RecoverOptions& options, const Clock& clock) {
    const auto directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (path.extension() != ".writing" || path.stem().extension() == ".index")
        return fail(Errc::usage,
                    fmt::format("{} is not an open raw file; its name has to end in .writing", path.native()));
    const auto lock = WEIR_TRY(datafile::DirectoryLock::take(directory));
    const auto journals = WEIR_TRY(datafile::JournalWriter::find(directory));
    if (!journals.empty())
        return fail(Errc::usage,
                    fmt::format("{} has a journal beside it, which knows better what was acknowledged; run "
                                "weir recover {}",
                                path.native(), directory.native()));
    auto file = WEIR_TRY(recovery::recover_file_by_walking(directory / path.filename(), clock));
    recovery::RecoveryResult result;
    result.files.push_back(std::move(file));
    std::error_code error;
    if (const auto where = catalogue::catalogue_path(directory); fs::exists(where, error)) {
        const auto catalogue = WEIR_TRY(catalogue::open_own_catalogue(directory, options.catalogue));
        WEIR_TRY(recovery::record_recovery(result, options.recorder, *catalogue, clock));
        complain_of_waiting(*catalogue);
    }
    return result;
}

json::object json_of(const recovery::RecoveryResult& result) {
    json::array files, removed, failed, doubts;
    for (const auto& file : result.files)
        files.push_back(
            json::object{{"path", json_text(file.path.native())},
                         {"events", file.closed.events},
                         {"bytes", file.closed.size},
                         {"bytes_cut", file.bytes_cut},
                         {"adler32", file.opened.has_adler32 ? json::value(fmt::format("{:08x}", file.closed.adler32))
                                                             : json::value(nullptr)},
                         {"without_journal", file.without_journal},
                         {"rest", file.rest ? json::value(json_text(file.rest->native())) : json::value(nullptr)},
                         {"not_in_journal", file.not_in_journal},
                         {"senders_unknown", file.walked},
                         {"was_closed", file.closed_by_recorder}});
    for (const auto& path : result.removed) removed.emplace_back(json_text(path.native()));
    for (const auto& error : result.failed) failed.emplace_back(json_text(error.message()));
    for (const auto& error : result.doubts) doubts.emplace_back(json_text(error.message()));
    return {{"files", std::move(files)},
            {"removed", std::move(removed)},
            {"failed", std::move(failed)},
            {"doubts", std::move(doubts)}};
}

void print_files(const recovery::RecoveryResult& result) {
    for (const auto& file : result.files) {
        print("{}: {} kept, {} cut{}{}{}{}\n", printable(file.path.native()), counted(file.closed.events, "event"),
              counted(file.bytes_cut, "byte"),
              file.not_in_journal > 0
                  ? fmt::format("; {} of the events are in no journal", with_commas(file.not_in_journal))
                  : "",
              file.without_journal ? "; no journal, found by walking the file" : "",
              file.rest ? fmt::format("; what was cut is kept as {}", printable(file.rest->filename().native())) : "",
              file.closed_by_recorder ? "; it was closed already, the catalogue may not have known" : "");
    }
    for (const auto& path : result.removed)
        print("{}: removed, it never held an acknowledged event\n", printable(path.native()));
}

/// What an operator has to know, and whether it was all good.
int conclude(const recovery::RecoveryResult& result) {
    for (const auto& error : result.doubts) complain(weir_recover, error.message());
    for (const auto& error : result.failed) complain(weir_recover, error.message());
    return result.failed.empty() && result.doubts.empty() ? exit_good : exit_bad;
}

void print_report(const recovery::RecoveryResult& result) {
    print_files(result);
    if (result.files.empty() && result.removed.empty() && result.failed.empty() && result.doubts.empty())
        print("nothing to do\n");
}

/// With --rebuild and --adopt: the whole catalogue, not only what was open.
int run_rebuild(const RecoverOptions& options) {
    const SystemClock clock;
    const auto where = catalogue::catalogue_path(options.paths.front());
    const auto locks = lock_all(options.adopt.empty() ? options.paths : options.adopt);
    if (!locks) return fail_with(weir_recover, locks.error());
    recovery::CatalogueToRebuild opened;
    if (options.adopt.empty()) {
        auto ready = recovery::open_to_rebuild(where);
        if (!ready) return fail_with(weir_recover, ready.error());
        opened = std::move(*ready);
    } else {
        auto successor = catalogue::open_own_catalogue(options.paths.front(), "");
        if (!successor) return fail_with(weir_recover, successor.error());
        opened.catalogue = std::move(*successor);
    }
    auto rebuilt = options.adopt.empty()
                       ? recovery::rebuild_catalogue(options.paths, *opened.catalogue, clock, opened.remains)
                       : recovery::adopt_volumes(options.adopt, *opened.catalogue, clock);
    if (!rebuilt) return fail_with(weir_recover, rebuilt.error());
    for (auto& error : rebuilt->failed) rebuilt->recovery.failed.push_back(std::move(error));
    if (options.json) {
        auto document = json_of(rebuilt->recovery);
        document["catalogue"] =
            json::object{{"path", json_text(where.native())},
                         {"set_aside", opened.set_aside.empty() ? json::value(nullptr)
                                                                : json::value(json_text(opened.set_aside.native()))},
                         {"files", rebuilt->files},
                         {"files_added", rebuilt->files_added},
                         {"runs_added", rebuilt->runs_added},
                         {"run_records", rebuilt->run_records}};
        print_json(document);
    } else {
        if (!opened.set_aside.empty()) print("the damaged catalogue is {} now\n", printable(opened.set_aside.native()));
        print_files(rebuilt->recovery);
        print("{}: {} read, {} and {} entered\n", printable(where.native()), counted(rebuilt->files, "file"),
              counted(rebuilt->files_added, "file"), counted(rebuilt->runs_added, "run"));
    }
    return conclude(rebuilt->recovery);
}

int run_recover(const RecoverOptions& options) {
    std::size_t files = 0;
    for (const auto& path : options.adopt) {
        std::error_code error;
        if (!fs::is_directory(path, error))
            return fail_missing(weir_recover, fmt::format("--adopt: {} is not a directory", path.native()));
    }
    for (const auto& path : options.paths) {
        std::error_code error;
        const auto status = fs::status(path, error);
        if (!fs::exists(status))
            return fail_missing(
                weir_recover,
                fmt::format("{} is not there; name the directories of a recorder, or a .writing file", path.native()));
        files += fs::is_directory(status) ? 0U : 1U;
    }
    if (files != 0 && files != options.paths.size())
        return fail_usage(weir_recover, "directories and files cannot be mixed; recover the directories first");
    if (files != 0 && (options.rebuild || !options.adopt.empty()))
        return fail_usage(weir_recover,
                          "--rebuild and --adopt are of directories; name the one with the catalogue first");
    if (!options.catalogue.empty() && (options.rebuild || !options.adopt.empty()))
        return fail_usage(weir_recover,
                          "--rebuild and --adopt are of a recorder's own catalogue; a shared one knows all files: "
                          "omit --catalogue, "
                          "or recover the dead recorder's directories with it");
    if (options.rebuild && !options.adopt.empty())
        return fail_usage(weir_recover, "--rebuild and --adopt are two things; adopt first, then rebuild if need be");
    if (options.rebuild || !options.adopt.empty()) return run_rebuild(options);

    if (!event::valid_name_part(options.recorder))
        return fail_usage(
            weir_recover,
            fmt::format("--recorder: \"{}\" is not a recorder's name; use letters, digits, - and _", options.recorder));
    const SystemClock clock;
    recovery::RecoveryResult result;
    if (files == 0) {
        auto recovered = recover_directories(options, clock);
        if (!recovered) return fail_with(weir_recover, recovered.error());
        result = std::move(*recovered);
    } else {
        for (const auto& path : options.paths) {
            auto recovered = recover_file(path, options, clock);
            if (!recovered && recovered.error().code == Errc::usage) return fail_with(weir_recover, recovered.error());
            if (recovered) {
                append(result, std::move(*recovered));
            } else {
                result.failed.push_back(recovered.error());
            }
        }
    }
    if (options.json) {
        print_json(json_of(result));
    } else {
        print_report(result);
    }
    return conclude(result);
}

}  // namespace

int recover_directories_of(const std::vector<fs::path>& directories, const std::string& recorder,
                           const std::string& catalogue, bool json) {
    RecoverOptions options;
    options.paths = directories;
    options.recorder = recorder;
    options.catalogue = catalogue;
    options.json = json;
    return run_recover(options);
}

void add_recover(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<RecoverOptions>();  // shared by the parser's callbacks and the command
    auto& command = add_command(parent, group_look, "recover", "closes the files that were open when a recorder died",
                                "weir recover data");
    add_value(
        command, "path", options->paths, "PATH",
        "all directories of the recorder, the one with the catalogue first; or .writing files that have no journal")
        .required();
    add_flag(command, "--rebuild", options->rebuild,
             "bring the catalogue back from the files: lost, damaged (it is set aside) or too old");
    add_value(command, "--adopt", options->adopt, "VOLUME",
              "take over directories of a recorder that does not come back, into the catalogue of PATH");
    add_value(command, "--recorder", options->recorder, "NAME", "recorder of files that the catalogue does not know");
    add_value(command, "--catalogue", options->catalogue, "URI",
              "that recorders share, postgresql://...: what waits for it is carried over");
    add_json_flag(command, options->json);
    command.callback([options, &chosen] { chosen = [options] { return run_recover(*options); }; });
}

}  // namespace weir::app
