// SPDX-License-Identifier: Apache-2.0
#include "run/session/taken_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <filesystem>
#include <utility>

#include "run/partition/partition_change.hpp"
#include "run/partition/partition_check.hpp"
#include "run/records/run_again.hpp"
#include "weir/base/file.hpp"

namespace weir::app {

using namespace std::chrono_literals;

Result<catalogue::RunRecord> read_partition(RunOptions& options) {
    auto text = WEIR_TRY(read_text(options.partition, 64_MiB));
    auto record = WEIR_TRY(record_to_take(std::move(text), options.partition));
    if (options.sources.empty()) options.sources.assign(record.sources.begin(), record.sources.end());
    if (!options.events) options.events = record.events;
    if (options.duration == 0ms && !record.duration.empty()) {
        const auto duration = WEIR_TRY(parse_duration(record.duration));
        options.duration = std::chrono::duration_cast<std::chrono::milliseconds>(duration);
    }
    if (options.masked.empty()) options.masked = masked_option(record);
    return record;
}

catalogue::RunRecord record_of(const RunOptions& options, const std::string& text) {
    std::error_code unknown;
    catalogue::RunRecord record;
    record.weir = WEIR_VERSION;
    record.file = options.partition.native();
    record.directory = std::filesystem::current_path(unknown).native();
    record.text = text;
    record.sha256 = sha256_of(text);
    for (const auto& source : options.sources) record.sources.push_back(source.native());
    record.events = options.events;
    if (options.duration > 0ms) record.duration = to_string(options.duration);
    return record;
}

Result<RunSettings> settings_with(const RunOptions& options, const std::string& text) {
    auto settings = WEIR_TRY(read_run_settings(text, options.partition));
    if (!options.masked.empty()) settings.options.masked = WEIR_TRY(parse_masked_option(options.masked));
    return settings;
}

Result<control::AppliedFile> ChangedFile::apply() {
    auto file = WEIR_TRY(read_text(options_.partition, 64_MiB));
    const auto record = WEIR_TRY(record_to_take(std::move(file), options_.partition));
    WEIR_TRY(check_partition(record.text, options_.partition, options_.sources));
    const auto settings = WEIR_TRY(settings_with(options_, record.text));
    const auto change = WEIR_TRY(change_of_partition(text_, record.text));
    if (!change.impossible.empty())
        return fail(Errc::refused, fmt::format("nothing was applied: {}; end weir run and start it again for it",
                                               fmt::join(change.impossible, "; ")));
    const auto put = [&]() -> Result<> {
        WEIR_TRY(directory_.write_partition_file(record.text));
        keeper_.take_with(record_of(options_, record.text));
        return {};
    };
    WEIR_TRY(control_.apply(settings.options, change.anew, put));
    text_ = record.text;
    return control::AppliedFile{change.at_once, change.anew};
}

}  // namespace weir::app
