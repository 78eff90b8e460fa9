// SPDX-License-Identifier: Apache-2.0
#include "found_files.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "weir/datafile/journal_writer.hpp"

namespace weir::recovery {
namespace {

namespace fs = std::filesystem;

Result<> find_files(const fs::path& directory, FoundFiles& found) {
    std::set<RunAtRecorder> here;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        const auto name = event::parse_raw_file_name(it->path().filename().native());
        if (!name) continue;
        const RunAtRecorder run{name->name.run, name->name.application};
        if (name->rest == ".data") found.closed.push_back({it->path(), name->name});
        else if (name->rest == ".writing") found.interrupted.insert(run);
        else continue;
        here.insert(run);
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    const auto journals = WEIR_TRY(datafile::JournalWriter::find(directory));
    // A clean stop removes the journal: where one is, the last run has not ended.
    if (!journals.empty() && !here.empty()) found.interrupted.insert(*std::ranges::max_element(here));
    found.runs.merge(here);
    return {};
}

}  // namespace

Result<std::vector<fs::path>> files_ending(const fs::path& directory, std::string_view ending) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        if (it->path().native().ends_with(ending)) found.push_back(it->path());
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    std::ranges::sort(found);
    return found;
}

Result<fs::path> one_spelling(const fs::path& directory) {
    std::error_code error;
    auto place = fs::canonical(directory, error);
    if (error) return fail_errno(error.value(), fmt::format("cannot find directory {}", directory.native()));
    return place;
}

Result<std::vector<fs::path>> one_spelling(std::span<const fs::path> directories) {
    std::vector<fs::path> places;
    for (const auto& directory : directories) {
        auto place = WEIR_TRY(one_spelling(directory));
        places.push_back(std::move(place));
    }
    return places;
}

Result<FoundFiles> find_files(std::span<const fs::path> places) {
    FoundFiles found;
    for (const auto& place : places) {
        WEIR_TRY(find_files(place, found));
    }
    return found;
}

}  // namespace weir::recovery
