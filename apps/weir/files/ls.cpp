// SPDX-License-Identifier: Apache-2.0
// weir ls: what the catalogues of some directories know of their files.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/output.hpp"
#include "files/commands.hpp"
#include "files/complete_blocks.hpp"
#include "files/recorder_directories.hpp"
#include "weir/base/stream_tag.hpp"
#include "weir/catalogue/catalogue_place.hpp"

namespace weir::app {
namespace {

constexpr const char* weir_ls = "weir ls";

struct LsOptions {
    std::vector<std::filesystem::path> directories{"."};
    bool directories_given = false;
    std::string catalogue;
    std::optional<RunNumber> run;
    std::string stream;
    std::optional<catalogue::FileState> state;
    bool complete = false;
    bool json = false;
};

std::string adler32_of(const catalogue::FileRow& row) {
    for (const auto& sum : row.sums) {
        if (sum.algorithm == "adler32") return sum.value;
    }
    return "-";
}

/// The state, and what is not as usual for it.
std::string state_of(const catalogue::FileRow& row) {
    std::string text(name(row.file_state));
    if (row.transfer_state != catalogue::TransferState::on_disk) text += fmt::format(" {}", name(row.transfer_state));
    if (row.file_health != catalogue::FileHealth::sane) text += fmt::format(" {}", name(row.file_health));
    return text;
}

json::object json_of(const catalogue::FileRow& row) {
    json::object sums;
    for (const auto& sum : row.sums) sums[sum.algorithm] = sum.value;
    return {{"path", json_text((std::filesystem::path(row.volume) / row.name).native())},
            {"run", number(row.run)},
            {"stream", json_text(row.stream_type + "_" + row.stream_name)},
            {"lumi_block", number(row.lumi_block)},
            {"sequence", row.sequence},
            {"events", row.events},
            {"bytes", row.bytes},
            {"first_event", row.first_event ? json::value(number(*row.first_event)) : json::value(nullptr)},
            {"last_event", row.last_event ? json::value(number(*row.last_event)) : json::value(nullptr)},
            {"guid", to_string(row.guid)},
            {"sums", std::move(sums)},
            {"file_state", std::string(name(row.file_state))},
            {"transfer_state", std::string(name(row.transfer_state))},
            {"file_health", std::string(name(row.file_health))}};
}

void print_table(const std::vector<catalogue::FileRow>& rows) {
    using enum Table::Align;
    Table table({{"run", right},
                 {"stream"},
                 {"block", right},
                 {"seq", right},
                 {"events", right},
                 {"size", right},
                 {"adler32"},
                 {"state"},
                 {"file"}});
    std::uint64_t events = 0, bytes = 0;
    for (const auto& row : rows) {
        events += row.events;
        bytes += row.bytes;
        table.add({fmt::to_string(number(row.run)), row.stream_type + "_" + row.stream_name,
                   fmt::to_string(number(row.lumi_block)), fmt::to_string(row.sequence), with_commas(row.events),
                   human(Bytes{row.bytes}), adler32_of(row), state_of(row),
                   (std::filesystem::path(row.volume) / row.name)
                       .lexically_proximate(std::filesystem::current_path())
                       .native()});
    }
    if (!table.empty()) print(table.text());
    print("{}, {}, {}\n", counted(rows.size(), "file"), counted(events, "event"), human(Bytes{bytes}));
}

int run_ls(const LsOptions& options) {
    catalogue::FileQuery query{.run = options.run, .file_state = options.state};
    if (!options.stream.empty()) {
        const auto key = parse_stream_key(options.stream);
        if (!key) return fail_with(weir_ls, key.error());
        query.stream_type = key->type;
        query.stream_name = key->name;
    }
    if (!options.catalogue.empty() && options.directories_given)
        return fail_usage(weir_ls, "--catalogue and directories name catalogues in two ways; give one of them");
    std::vector<std::string> places;
    for (const auto& directory : options.directories) {
        const auto with_catalogue = directories_with_catalogue(directory);
        if (options.catalogue.empty() && with_catalogue.empty())
            return fail_missing(
                weir_ls,
                fmt::format("{} has no catalogue ({}), nor has a directory in it; name the first directory of a "
                            "recorder, or that of a run",
                            directory.native(), catalogue::catalogue_path(directory).filename().native()));
        for (const auto& one : with_catalogue) places.push_back(catalogue::catalogue_path(one).native());
    }
    if (!options.catalogue.empty()) places = {options.catalogue};
    std::vector<catalogue::FileRow> rows;
    CompleteBlocks complete;
    for (const auto& place : places) {
        const auto catalogue = catalogue::open_named_catalogue(place);
        if (!catalogue) return fail_with(weir_ls, catalogue.error());
        if (options.complete) {
            if (!(*catalogue)->knows_other_recorders())
                return fail_with(weir_ls,
                                 {Errc::refused, 0,
                                  fmt::format("{} is carried over into a shared catalogue, which alone knows the "
                                              "other recorders of its runs; name that one with --catalogue",
                                              place)});
            if (auto added = complete.add(**catalogue, options.run); !added) return fail_with(weir_ls, added.error());
        }
        auto found = (*catalogue)->files(query);
        if (!found) return fail_with(weir_ls, found.error());
        rows.insert(rows.end(), std::make_move_iterator(found->begin()), std::make_move_iterator(found->end()));
    }
    if (options.complete) {
        std::erase_if(rows, [&](const catalogue::FileRow& row) {
            return !complete.has(row.run, row.stream_type, row.stream_name, row.lumi_block);
        });
    }
    if (!options.json) return print_table(rows), exit_good;
    json::array files;
    for (const auto& row : rows) files.push_back(json_of(row));
    print_json(json::object{{"files", std::move(files)}});
    return exit_good;
}

}  // namespace

void add_ls(CLI::App& parent, Command& chosen) {
    auto options = std::make_shared<LsOptions>();  // shared by the parser's callbacks and the command
    auto& command = add_command(parent, group_look, "ls", "lists the files that were recorded, from the catalogue",
                                "weir ls data --run 7 --stream physics_Main");
    auto& directories = add_value(command, "dir", options->directories, "DIR",
                                  "first directory of a recorder: its catalogue is there; or of a run with several");
    add_value(command, "--catalogue", options->catalogue, "URI",
              "instead: the one that recorders share, postgresql://...");
    add_value(command, "--run", options->run, "N", "only files of this run");
    add_value(command, "--stream", options->stream, "TYPE_NAME", "only files of this stream");
    add_choice(command, "--state", options->state,
               {{"opened", catalogue::FileState::opened},
                {"closed", catalogue::FileState::closed},
                {"deleted", catalogue::FileState::deleted}},
               "only files in this state");
    add_flag(
        command, "--complete", options->complete,
        "only files of lumi blocks that every recorder of the run has closed; name the directories of all of them");
    add_json_flag(command, options->json);
    command.callback([options, &directories, &chosen] {
        options->directories_given = directories.count() > 0;
        chosen = [options] { return run_ls(*options); };
    });
}

}  // namespace weir::app
