// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/run_record_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <system_error>

#include "weir/base/file.hpp"

namespace weir::catalogue {
namespace {

namespace fs = std::filesystem;

constexpr Bytes file_size_max = 64_MiB;
constexpr std::string_view name_begin = "weir.run.", name_end = ".json";

}  // namespace

fs::path run_record_path(const fs::path& directory, RunNumber run) {
    return directory / fmt::format("{}{:08}{}", name_begin, number(run), name_end);
}

Result<std::vector<fs::path>> run_record_files(const fs::path& directory) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
        const auto name = it->path().filename().native();
        if (name.starts_with(name_begin) && name.ends_with(name_end)) found.push_back(it->path());
    }
    if (error) return fail_errno(error.value(), fmt::format("cannot read directory {}", directory.native()));
    std::ranges::sort(found, [](const fs::path& a, const fs::path& b) {
        return std::pair(a.native().size(), a.native()) < std::pair(b.native().size(), b.native());
    });
    return found;
}

Result<> write_run_record(const fs::path& directory, const RunRecord& record, Synced synced) {
    return replace_text(run_record_path(directory, record.run), to_text(record), synced);
}

Result<RunRecord> read_run_record(const fs::path& file) {
    const auto text = WEIR_TRY(read_text(file, file_size_max));
    auto record = parse_run_record(text);
    if (!record) return fail(record.error().code, fmt::format("{}: {}", file.native(), record.error().context));
    return record;
}

Result<> keep_run_record(Catalogue& catalogue, const RunRecord& record) {
    return catalogue.set_run_parameter(record.run, run_record_parameter, to_text(record));
}

Result<std::optional<RunRecord>> kept_run_record(Catalogue& catalogue, RunNumber run) {
    const auto parameters = WEIR_TRY(catalogue.run_parameters(run));
    const auto found = parameters.find(run_record_parameter);
    if (found == parameters.end()) return std::nullopt;
    auto record = WEIR_TRY(parse_run_record(found->second));
    return record;
}

}  // namespace weir::catalogue
