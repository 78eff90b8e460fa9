// SPDX-License-Identifier: Apache-2.0
#include "run/records/run_again.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>

#include "run/partition/run_settings.hpp"
#include "stations/frame/partition_settings.hpp"
#include "weir/digest/summer.hpp"

namespace weir::app {
namespace {

std::string shell_quoted(std::string_view text) {
    const auto plain = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               std::string_view("-_./:,=+").contains(c);
    };
    if (!text.empty() && std::ranges::all_of(text, plain)) return std::string(text);
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'') quoted += "'\\''";
        else quoted += c;
    }
    return quoted + "'";
}

std::vector<SourceId> ids_of(const std::vector<std::string>& texts) {
    std::vector<SourceId> ids;
    for (const auto& text : texts) {
        if (const auto id = parse_source_id(text)) ids.push_back(*id);
    }
    std::ranges::sort(ids);
    return ids;
}

}  // namespace

std::string sha256_of(std::string_view text) {
    return digest::sum(digest::Algorithm::sha256, std::as_bytes(std::span(text))).hex();
}

Result<catalogue::RunRecord> record_to_take(std::string text, const std::filesystem::path& file) {
    if (!text.starts_with('{')) {  // which no partition file does
        catalogue::RunRecord record;
        record.text = std::move(text);
        return record;
    }
    auto record = catalogue::parse_run_record(text);
    if (!record) return fail(record.error().code, fmt::format("{}: {}", file.native(), record.error().context));
    if (sha256_of(record->text) != record->sha256)
        return fail(Errc::corrupt, fmt::format("{}: the partition file in it was changed: its sha256 is not {}; take "
                                               "the partition file out, with its change, and run that",
                                               file.native(), record->sha256));
    return record;
}

std::string masked_option(const catalogue::RunRecord& record) {
    if (record.run == RunNumber{}) return {};  // a partition file alone
    const auto masked = record.masked_from_begin();
    const auto settings = read_run_settings(record.text, record.file);
    if (settings && ids_of(settings->masked) == ids_of(masked)) return {};
    return masked.empty() ? "none" : fmt::format("{}", fmt::join(masked, ","));
}

Result<std::vector<SourceId>> parse_masked_option(std::string_view text) {
    std::vector<SourceId> sources;
    if (text == "none") return sources;
    while (true) {
        const auto comma = text.find(',');
        const auto one = text.substr(0, comma);
        const auto source = parse_source_id(one);
        if (!source)
            return fail(Errc::usage,
                        fmt::format("--masked: \"{}\" is no source; write 0x420000,0x430000 or none", one));
        sources.push_back(*source);
        if (comma == text.npos) return sources;
        text.remove_prefix(comma + 1);
    }
}

std::string command_again(const catalogue::RunRecord& record, std::string_view file) {
    auto command = fmt::format("weir run {}", shell_quoted(file));
    for (const auto& source : record.sources) command += fmt::format(" --source {}", shell_quoted(source));
    if (record.events) command += fmt::format(" --events {}", *record.events);
    if (!record.duration.empty()) command += fmt::format(" --duration {}", shell_quoted(record.duration));
    if (const auto masked = masked_option(record); !masked.empty())
        command += fmt::format(" --masked {}", shell_quoted(masked));
    return command;
}

}  // namespace weir::app
