// SPDX-License-Identifier: Apache-2.0
#include "run/records/show_and_diff.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <memory>

#include "cli/output.hpp"
#include "run/records/find_record.hpp"
#include "run/records/record_differences.hpp"
#include "run/records/run_again.hpp"

namespace weir::app {
namespace {

struct RecordOptions {
    RunNumber run{};
    RunNumber other{};
    RecordPlace place{};
    bool json = false;
};

std::string time_text(WallTime time) {
    const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
    const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(time - seconds).count();
    return fmt::format("{:%Y-%m-%d %H:%M:%S}.{:03} UTC", fmt::gmtime(std::chrono::system_clock::to_time_t(seconds)),
                       milliseconds);
}

std::string change_text(const catalogue::RunChange& change) {
    auto text = fmt::format("{} {}", time_text(change.when), change.what);
    if (!change.subject.empty()) text += " " + change.subject;
    if (change.from) text += fmt::format(" from event {} (level-1 id) on", number(*change.from));
    if (!change.who.empty()) text += ", " + change.who;
    if (!change.why.empty()) text += ": " + change.why;
    return text;
}

/// One line of the printed file: nothing in it ends the comment.
void print_comment(std::string_view text) { print("# {}\n", printable(text)); }

/// A partition file: the record as comments, then the text as it was in effect.
void print_as_partition_file(const catalogue::RunRecord& record) {
    print_comment(fmt::format("run {}, begun {}, weir {}", number(record.run), time_text(record.started), record.weir));
    print_comment(fmt::format("partition file {}, sha256 {}", record.file, record.sha256));
    if (!record.directory.empty()) print_comment(fmt::format("run control was started in {}", record.directory));
    for (const auto& [name, value] : record.parameters) print_comment(fmt::format("{} = {}", name, value));
    if (!record.changes.empty()) print_comment("changes:");
    for (const auto& change : record.changes) print_comment("  " + change_text(change));
    if (record.changes_left_out > 0)
        print_comment(fmt::format("  and {} more, which were not kept", with_commas(record.changes_left_out)));
    print_comment("taken again by: " + command_again(record, "FILE"));
    print_comment("the partition file as it was in effect:");
    print("{}", record.text);
    if (!record.text.empty() && !record.text.ends_with('\n')) print("\n");
}

int fail_to_find(std::string_view me, const Error& error) {
    return error.code == Errc::refused ? fail_missing(me, error.context) : fail_with(me, error);
}

int run_show(const RecordOptions& options) {
    constexpr const char* me = "weir run show";
    const auto record = find_record(options.run, options.place);
    if (!record) return fail_to_find(me, record.error());
    if (options.json) {
        print("{}", to_text(*record));
    } else {
        print_as_partition_file(*record);
    }
    if (const auto sum = sha256_of(record->text); sum != record->sha256) {
        complain(me, fmt::format("the partition file was changed after the run: its sha256 is {}, and was {}", sum,
                                 record->sha256));
        return exit_bad;
    }
    return exit_good;
}

/// A value of TOML, or "-".
std::string value_text(const RecordDifference& difference, const json::value& value) {
    if (value.is_null()) return "-";
    return difference.what.empty() ? "there" : json::serialize(value);
}

json::array changes_json(const catalogue::RunRecord& record) {
    json::array changes;
    for (const auto& change : record.changes) changes.push_back(catalogue::to_json(change));
    return changes;
}

/// What was changed after the begin.
void print_changes(const catalogue::RunRecord& record) {
    for (const auto& change : record.changes) {
        if (change.what == "stop" || (change.what == "mask" && !change.from)) continue;
        print("in run {}: {}\n", number(record.run), printable(change_text(change)));
    }
}

int run_diff(const RecordOptions& options) {
    constexpr const char* me = "weir run diff";
    const auto first = find_record(options.run, options.place);
    if (!first) return fail_to_find(me, first.error());
    const auto second = find_record(options.other, options.place);
    if (!second) return fail_to_find(me, second.error());
    const auto differences = differences_of(*first, *second);
    if (!differences) return fail_with(me, differences.error());
    if (options.json) {
        json::array all;
        for (const auto& d : *differences)
            all.push_back({{"section", d.section.empty() ? json::value() : json::value(json_text(d.section))},
                           {"what", d.what.empty() ? json::value() : json::value(json_text(d.what))},
                           {"first", d.first},
                           {"second", d.second}});
        print_json(json::object{{"first", number(first->run)},
                                {"second", number(second->run)},
                                {"same_text", first->text == second->text},
                                {"differences", std::move(all)},
                                {"changes_first", changes_json(*first)},
                                {"changes_second", changes_json(*second)}});
        return exit_good;
    }
    Table table({{"what"}, {fmt::format("run {}", number(first->run))}, {fmt::format("run {}", number(second->run))}});
    for (const auto& d : *differences) table.add({d.name(), value_text(d, d.first), value_text(d, d.second)});
    if (!table.empty()) print(table.text());
    else if (first->text == second->text)
        print("runs {} and {} were taken with the same\n", number(first->run), number(second->run));
    else
        print("runs {} and {} were taken with the same; only comments or the layout of their files differ\n",
              number(first->run), number(second->run));
    print_changes(*first);
    print_changes(*second);
    return exit_good;
}

void add_places(CLI::App& command, RecordOptions& options) {
    add_value(command, "--dir", options.place.directory, "D", "where weir run or a recorder works");
    add_value(command, "--catalogue", options.place.catalogue, "URI",
              "a catalogue instead: a file, or postgresql://...");
    add_json_flag(command, options.json);
}

}  // namespace

void add_run_records(CLI::App& run, Command& chosen) {
    auto options = std::make_shared<RecordOptions>();
    auto& show = add_command(run, more_options, "show", "with what a run was taken: a file for weir run",
                             "weir run show 12 --dir D > again.toml");
    add_value(show, "run", options->run, "N", "number of the run").required();
    add_places(show, *options);
    show.callback([options, &chosen] { chosen = [options] { return run_show(*options); }; });

    auto both = std::make_shared<RecordOptions>();
    auto& diff = add_command(run, more_options, "diff", "in what two runs were taken differently",
                             "weir run diff 12 13 --dir D");
    add_value(diff, "first", both->run, "N", "number of a run").required();
    add_value(diff, "second", both->other, "M", "number of another one").required();
    add_places(diff, *both);
    diff.callback([both, &chosen] { chosen = [both] { return run_diff(*both); }; });
}

}  // namespace weir::app
