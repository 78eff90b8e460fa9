// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_archive.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <array>
#include <boost/json/serialize.hpp>
#include <set>

#include "weir/base/file.hpp"
#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/run_record_file.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t runs_shown = 200;
constexpr std::size_t records_known_max = 20'000;
constexpr std::size_t files_shown = 200;
constexpr std::size_t parameters_shown = 300;
constexpr std::size_t parameters_in_list = 60;  // of one of many runs
constexpr std::size_t text_in_list = 200;
constexpr std::size_t searched_max = 32U << 10;  // bytes of a run's texts
constexpr std::size_t text_shown = 4096;  // of a parameter; the partition file is shown whole up to its own limit
constexpr std::size_t partition_file_shown = 1U << 20;

json::string cut_text(std::string_view text, std::size_t most = text_shown) {
    auto shown = json::safe(text.substr(0, most));
    if (text.size() > most) shown += fmt::format("... ({} bytes)", text.size());
    return shown;
}

double archive_seconds(WallTime time) { return std::chrono::duration<double>(time.time_since_epoch()).count(); }

std::string lower_case(std::string_view text) {
    std::string lower(text);
    for (auto& c : lower)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return lower;
}

/// Parameters that say that not all is well; run control writes them at the end of a run.
bool is_problem(std::string_view name) {
    return name == "problems" || name.starts_with("lost: ") || name == "recorded twice" ||
           name == "recorded, never accepted";
}

/// Parameters that a list of runs shows; the others follow as long as there is room.
bool is_listed(std::string_view name) {
    constexpr std::array listed{"comment", "stop reason", "recorded", "incomplete"};
    return std::ranges::find(listed, name) != listed.end();
}

json::object summary_of(const catalogue::RunRecord& record, std::size_t most = parameters_shown,
                        std::size_t text_most = text_shown) {
    json::object parameters, problems;
    for (const auto& [name, value] : record.parameters) {
        auto& into = is_problem(name) ? problems : parameters;
        if (into.size() < most || is_listed(name)) into[cut_text(name, 200)] = cut_text(value, text_most);
    }
    return {{"run", number(record.run)},
            {"started", archive_seconds(record.started)},
            {"ended", record.parameters.contains("stop reason")},
            {"weir", cut_text(record.weir, 100)},
            {"parameters", std::move(parameters)},
            {"problems", std::move(problems)}};
}

struct StreamSum {
    std::uint64_t files = 0, open = 0, handed_over = 0, deleted = 0, quarantined = 0, events = 0, bytes = 0;
};

json::object file_json(const catalogue::FileRow& file, catalogue::Catalogue& books) {
    json::object sums;
    for (const auto& sum : file.sums) sums[json::safe(sum.algorithm)] = json::safe(sum.value);
    json::array copies;
    if (const auto rows = books.transfers({.guid = file.guid})) {
        for (const auto& row : *rows)
            copies.push_back({{"destination", cut_text(row.destination)},
                              {"state", catalogue::name(row.state)},
                              {"attempts", row.attempts},
                              {"error", cut_text(row.error)}});
    }
    return {{"name", cut_text(file.name)},
            {"volume", cut_text(file.volume)},
            {"stream", cut_text(fmt::format("{}_{}", file.stream_type, file.stream_name))},
            {"recorder", cut_text(file.recorder)},
            {"lumi_block", number(file.lumi_block)},
            {"events", file.events},
            {"bytes", file.bytes},
            {"sums", std::move(sums)},
            {"state", catalogue::name(file.file_state)},
            {"transfer", catalogue::name(file.transfer_state)},
            {"health", catalogue::name(file.file_health)},
            {"opened", archive_seconds(file.opened)},
            {"copies", std::move(copies)}};
}

/// `device`: the same of directories that share their space.
json::value volume_json(const std::string& volume) {
    struct ::statvfs space{};
    if (real_file_system().statvfs(volume.c_str(), &space) != 0)
        return json::object{{"volume", cut_text(volume)}, {"bytes", nullptr}, {"free", nullptr}};
    struct ::stat place{};
    const bool there = ::stat(volume.c_str(), &place) == 0;
    return json::object{{"volume", cut_text(volume)},
                        {"device", there ? json::value(static_cast<std::uint64_t>(place.st_dev)) : json::value()},
                        {"bytes", static_cast<std::uint64_t>(space.f_blocks) * space.f_frsize},
                        {"free", static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize}};
}

}  // namespace

Result<json::object> RunArchive::runs(std::string_view text) {
    auto paths = WEIR_TRY(catalogue::run_record_files(place_.directory));
    if (paths.size() > records_known_max) paths.erase(paths.begin(), paths.end() - records_known_max);
    const auto wanted = lower_case(text);
    json::array runs;
    std::size_t matching = 0;
    for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
        std::error_code failed;
        const auto changed = fs::last_write_time(*path, failed);
        auto& known = known_[*path];
        if (known.summary.empty() || known.changed != changed) {
            const auto record = catalogue::read_run_record(*path);
            if (!record) {
                known.summary = {{"file", cut_text(path->filename().native())},
                                 {"error", cut_text(record.error().message())}};
                known.text = {};
            } else {
                known.summary = summary_of(*record, parameters_in_list, text_in_list);
                known.text = lower_case(json::serialize(known.summary) + json::serialize(summary_of(*record)));
                known.text.resize(std::min(known.text.size(), searched_max));
                known.text.shrink_to_fit();
            }
            known.changed = changed;
        }
        if (!wanted.empty() && known.text.find(wanted) == known.text.npos) continue;
        if (++matching <= runs_shown) runs.emplace_back(known.summary);
    }
    std::erase_if(known_, [&](const auto& one) { return !std::ranges::binary_search(paths, one.first); });
    return json::object{{"runs", std::move(runs)}, {"matching", matching}, {"all", paths.size()}};
}

Result<json::object> RunArchive::run(RunNumber number) const {
    const auto path = catalogue::run_record_path(place_.directory, number);
    std::error_code unknown;
    if (!fs::exists(path, unknown))
        return fail(Errc::refused, fmt::format("there is no record of run {}", weir::number(number)));
    const auto record = WEIR_TRY(catalogue::read_run_record(path));
    auto document = summary_of(record);
    json::array changes;
    for (const auto& change : record.changes) {
        if (changes.size() >= runs_shown) break;
        changes.push_back(catalogue::to_json(change));
    }
    document["changes"] = std::move(changes);
    document["changes_all"] = record.changes.size() + record.changes_left_out;
    document["file"] = cut_text(record.file);
    document["sha256"] = cut_text(record.sha256);
    document["text"] = cut_text(record.text, partition_file_shown);
    return document;
}

Result<json::object> RunArchive::files(std::optional<RunNumber> number) const {
    json::array files, troubles;
    std::map<std::string, StreamSum> streams;
    std::set<std::string> volumes;
    std::size_t left_out = 0;
    std::vector<std::unique_ptr<catalogue::Catalogue>> all_books;
    for (const auto& path : place_.catalogues) {
        std::error_code unknown;
        if (const auto parent = path.parent_path(); fs::is_directory(parent, unknown))
            volumes.insert(fs::weakly_canonical(parent, unknown).native());
        if (!fs::exists(path, unknown)) continue;
        auto books = catalogue::open_named_catalogue(path.native());
        if (books) all_books.push_back(std::move(*books));
        else troubles.emplace_back(cut_text(books.error().message()));
    }
    if (!number) {
        for (const auto& books : all_books) {
            const auto rows = books->runs();
            if (!rows) continue;
            for (const auto& row : *rows) number = number ? std::max(*number, row.run) : row.run;
        }
    }
    std::vector<std::pair<catalogue::FileRow, catalogue::Catalogue*>> newest;
    for (const auto& books : all_books) {
        auto rows = books->files({.run = number});
        if (!rows) {
            troubles.emplace_back(cut_text(rows.error().message()));
            continue;
        }
        for (auto& row : *rows) {
            auto& sum = streams[fmt::format("{}_{}", row.stream_type, row.stream_name)];
            ++sum.files;
            sum.open += row.file_state == catalogue::FileState::opened ? 1U : 0U;
            sum.deleted += row.file_state == catalogue::FileState::deleted ? 1U : 0U;
            sum.handed_over += row.transfer_state == catalogue::TransferState::transferred ? 1U : 0U;
            sum.quarantined += row.file_health == catalogue::FileHealth::sane ? 0U : 1U;
            sum.events += row.events;
            sum.bytes += row.bytes;
            volumes.insert(row.volume);
            newest.emplace_back(std::move(row), books.get());
        }
        std::ranges::sort(newest, std::greater{}, [](const auto& one) { return one.first.opened; });
        if (newest.size() <= files_shown) continue;
        left_out += newest.size() - files_shown;
        newest.resize(files_shown);
    }
    for (const auto& [row, books] : newest) files.push_back(file_json(row, *books));
    json::array by_stream, by_volume;
    for (const auto& [name, sum] : streams)
        by_stream.push_back({{"stream", cut_text(name)},
                             {"files", sum.files},
                             {"open", sum.open},
                             {"handed_over", sum.handed_over},
                             {"deleted", sum.deleted},
                             {"not_sane", sum.quarantined},
                             {"events", sum.events},
                             {"bytes", sum.bytes}});
    for (const auto& volume : volumes) by_volume.push_back(volume_json(volume));
    json::value run;
    if (number) run = weir::number(*number);
    return json::object{{"run", std::move(run)},  {"streams", std::move(by_stream)}, {"files", std::move(files)},
                        {"left_out", left_out},   {"volumes", std::move(by_volume)}, {"troubles", std::move(troubles)},
                        {"silent", json::array{}}};
}

}  // namespace weir::control
