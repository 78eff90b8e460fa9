// SPDX-License-Identifier: Apache-2.0
#include "weir/control/run_documents.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "weir/base/file.hpp"
#include "weir/base/report.hpp"
#include "weir/catalogue/run_record_file.hpp"
#include "weir/control/open_run.hpp"

namespace weir::control {
namespace {

constexpr std::array number_documents{"run-number", "run-epoch"};
constexpr std::array text_documents{"run-partition.toml", "run-control.json", "run-counts.json", "run-peers.json",
                                    "run-machines.json"};
constexpr const char* open_run = "run-open.json";

bool is_number_document(std::string_view name) noexcept {
    return std::ranges::find(number_documents, name) != number_documents.end();
}

bool is_record(std::string_view name) noexcept {
    constexpr std::string_view begin = "weir.run.", end = ".json";
    if (!name.starts_with(begin) || !name.ends_with(end) || name.size() <= begin.size() + end.size()) return false;
    const auto number = name.substr(begin.size(), name.size() - begin.size() - end.size());
    return std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
}

std::uint64_t number_in(std::string_view text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

bool is_smaller(const std::filesystem::path& path, const std::string& text) {
    const auto here = read_text(path, 1_KiB);
    return here && number_in(text) <= number_in(*here);
}

}  // namespace

bool is_run_document(std::string_view name) noexcept {
    return is_number_document(name) || std::ranges::find(text_documents, name) != text_documents.end() ||
           name == open_run || is_record(name);
}

std::vector<std::string> run_documents(const std::filesystem::path& directory) {
    std::vector<std::string> names(number_documents.begin(), number_documents.end());
    names.insert(names.end(), text_documents.begin(), text_documents.end());
    if (const auto run = OpenRun(directory).number_left(); run && *run)
        names.push_back(catalogue::run_record_path(directory, **run).filename().native());
    names.emplace_back(open_run);
    return names;
}

Result<> put_run_documents(const std::filesystem::path& directory,
                           const std::map<std::string, std::string>& documents) {
    for (const auto& [name, text] : documents)
        if (!is_run_document(name))
            return fail(Errc::corrupt, fmt::format("\"{}\" is no document of a run control", on_one_line(name, 100)));
    // Without it the others are of no run, should this end here.
    std::error_code absent;
    std::filesystem::remove(directory / open_run, absent);
    for (const auto* name : text_documents)
        if (!documents.contains(name)) std::filesystem::remove(directory / name, absent);
    WEIR_TRY(sync_directory(directory));
    for (const auto& [name, text] : documents) {
        if (name == open_run || (is_number_document(name) && is_smaller(directory / name, text))) continue;
        WEIR_TRY(replace_text(directory / name, text, Synced::yes));
    }
    if (const auto open = documents.find(open_run); open != documents.end())
        return replace_text(directory / open_run, open->second, Synced::yes);
    return {};
}

}  // namespace weir::control
