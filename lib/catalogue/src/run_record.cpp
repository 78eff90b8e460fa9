// SPDX-License-Identifier: Apache-2.0
#include "weir/catalogue/run_record.hpp"

#include <fmt/format.h>

#include <boost/json/serialize.hpp>
#include <chrono>

#include "weir/base/bytes.hpp"
#include "weir/json/parse.hpp"

namespace weir::catalogue {
namespace {

constexpr std::uint64_t record_version = 1;
constexpr Bytes record_size_max = 64_MiB;
constexpr std::size_t partition_file_max = 1U << 20U;
constexpr std::size_t path_max = 4096;
constexpr std::size_t parameter_max = 4U << 20U;  // as in the catalogue
constexpr std::size_t items_max = 100'000;        // changes, sources, parameters

/// To a microsecond: a double has no more of the seconds since 1970, and so it is written again as it was read.
double seconds_of(WallTime time) {
    return static_cast<double>(std::chrono::floor<std::chrono::microseconds>(time.time_since_epoch()).count()) / 1e6;
}

/// Times that no clock has are an error.
std::optional<WallTime> time_of(double seconds) {
    if (!(seconds >= 0 && seconds < 9e9)) return std::nullopt;
    return WallTime{std::chrono::microseconds{static_cast<std::int64_t>(seconds * 1e6 + 0.5)}};
}

WallTime time_field(json::Fields& fields, std::string_view name) {
    const auto time = time_of(fields.real(name));
    if (!time) fields.fail_with(fmt::format("\"{}\" of the record is no time", name));
    return time.value_or(WallTime{});
}

/// Unlike Fields::text() it may have several lines.
std::string long_text(json::Fields& fields, const json::value* value, std::string_view name, std::size_t size_max) {
    const auto* text = value != nullptr ? value->if_string() : nullptr;
    if (text != nullptr && text->size() <= size_max && text->find('\0') == text->npos) return std::string(*text);
    fields.fail_with(fmt::format("\"{}\" of the record is not a text of at most {} bytes", name, size_max));
    return {};
}

RunChange change_of(json::Fields& record, const json::value& value) {
    json::Fields fields(value, "a change of the record");
    RunChange change;
    change.when = time_field(fields, "time");
    change.what = fields.text("what");
    change.subject = fields.text("subject", "");
    const auto* object = value.if_object();
    if (object != nullptr) {
        change.who = long_text(fields, object->if_contains("who"), "who", path_max);
        change.why = long_text(fields, object->if_contains("why"), "why", parameter_max);
    }
    if (object != nullptr && object->contains("from_level1_id") && !object->at("from_level1_id").is_null())
        change.from = Level1Id{static_cast<std::uint32_t>(fields.number("from_level1_id", std::nullopt, UINT32_MAX))};
    if (auto good = fields.result(); !good) record.fail_with(good.error().context);
    return change;
}

}  // namespace

std::vector<std::string> RunRecord::masked_from_begin() const {
    std::vector<std::string> masked;
    for (const auto& change : changes)
        if (change.what == "mask" && !change.from) masked.push_back(change.subject);
    return masked;
}

json::object to_json(const RunChange& change) {
    json::value from;
    if (change.from) from = number(*change.from);
    return {{"time", seconds_of(change.when)}, {"what", change.what},           {"subject", json::safe(change.subject)},
            {"who", json::safe(change.who)},   {"why", json::safe(change.why)}, {"from_level1_id", std::move(from)}};
}

std::string to_text(const RunRecord& record) {
    json::array sources;
    for (const auto& source : record.sources) sources.emplace_back(json::safe(source));
    json::value events;
    if (record.events) events = *record.events;
    json::object parameters;
    for (const auto& [name, value] : record.parameters) parameters[json::safe(name)] = json::safe(value);
    json::array changes;
    for (const auto& change : record.changes) changes.push_back(to_json(change));
    return json::serialize(json::object{{"weir_run_record", record_version},
                                        {"run", number(record.run)},
                                        {"weir", json::safe(record.weir)},
                                        {"file", json::safe(record.file)},
                                        {"directory", json::safe(record.directory)},
                                        {"sha256", record.sha256},
                                        {"partition_file", json::safe(record.text)},
                                        {"sources", std::move(sources)},
                                        {"events", std::move(events)},
                                        {"duration", json::safe(record.duration)},
                                        {"started", seconds_of(record.started)},
                                        {"parameters", std::move(parameters)},
                                        {"changes", std::move(changes)},
                                        {"changes_left_out", record.changes_left_out}}) +
           "\n";
}

Result<RunRecord> parse_run_record(std::string_view text) {
    const auto document = json::parse(text, {.size = record_size_max, .depth = 4});
    if (!document) return fail(Errc::corrupt, "no record of a run: " + document.error().context);
    json::Fields fields(*document, "the record");
    const auto version = fields.number("weir_run_record");
    if (fields.result() && version != record_version)
        return fail(Errc::unsupported,
                    fmt::format("a record of version {}; this program reads version {}", version, record_version));
    RunRecord record;
    record.run = RunNumber{static_cast<std::uint32_t>(fields.number("run", std::nullopt, UINT32_MAX))};
    record.weir = fields.text("weir");
    record.file = fields.text("file", std::nullopt, path_max);
    record.directory = fields.text("directory", "", path_max);
    record.sha256 = fields.text("sha256");
    record.duration = fields.text("duration", "");
    record.started = time_field(fields, "started");
    record.changes_left_out = fields.number("changes_left_out", 0);
    const auto* object = document->if_object();
    if (object != nullptr) {
        record.text = long_text(fields, object->if_contains("partition_file"), "partition_file", partition_file_max);
        if (object->contains("events") && !object->at("events").is_null()) record.events = fields.number("events");
    }
    if (const auto* sources = fields.array("sources", items_max)) {
        for (const auto& source : *sources) record.sources.push_back(long_text(fields, &source, "sources", path_max));
    }
    if (const auto* parameters = fields.object("parameters");
        parameters != nullptr && parameters->size() <= items_max) {
        for (const auto& [name, value] : *parameters)
            record.parameters[std::string(name)] = long_text(fields, &value, name, parameter_max);
    }
    if (const auto* changes = fields.array("changes", items_max)) {
        for (const auto& change : *changes) record.changes.push_back(change_of(fields, change));
    }
    if (auto good = fields.result(); !good) return fail(Errc::corrupt, good.error().context);
    return record;
}

}  // namespace weir::catalogue
