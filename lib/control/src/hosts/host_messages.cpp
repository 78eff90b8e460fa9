// SPDX-License-Identifier: Apache-2.0
#include "hosts/host_messages.hpp"

#include <fmt/format.h>

#include <boost/json/array.hpp>
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/serialize.hpp>

#include "weir/control/partition.hpp"
#include "weir/json/parse.hpp"

namespace weir::control {
namespace {

constexpr std::size_t name_max = 64;
constexpr std::size_t arguments_max = 1000;
constexpr std::size_t argument_size_max = 4096;
constexpr std::size_t partition_text_max = 1U << 20;
constexpr std::size_t log_text_max = 4096;
constexpr std::size_t lines_max = 10'000;
constexpr std::size_t announced_max = 8192;
constexpr json::Limits order_limits{.size = 8_MiB, .depth = 8};
constexpr json::Limits report_limits{.size = 256_MiB, .depth = 24};

/// Good text or the first error of a part goes to the whole.
void pass_on(const json::Fields& part, json::Fields& whole) {
    if (auto good = part.result(); !good) whole.fail_with(good.error().context);
}

std::optional<std::uint64_t> as_number(const json::value& value) {
    if (value.is_uint64()) return value.get_uint64();
    if (value.is_int64() && value.get_int64() >= 0) return static_cast<std::uint64_t>(value.get_int64());
    return std::nullopt;
}

HostedStatus read_process(const json::value& value, json::Fields& outer) {
    json::Fields fields(value, "a process");
    HostedStatus process;
    process.name = fields.text("name", std::nullopt, name_max);
    process.generation = fields.number("generation");
    process.pid = static_cast<std::int64_t>(fields.number("pid", 0, 1U << 31));
    {  // what a station said badly is its fault alone
        json::Fields said(value, "the announcement");
        auto line = said.text("announcement", "", announced_max);
        if (said.result() && !line.empty()) process.announcement = std::move(line);
    }
    if (fields.object("end") != nullptr) {
        json::Fields end(value.at("end"), "the end of a process");
        process.end = ProcessEnd{static_cast<int>(end.number("code", 0, 255)),
                                 static_cast<int>(end.number("signal", 0, 127)), end.text("why", "", log_text_max)};
        pass_on(end, fields);
    }
    if (fields.has("asked_in")) process.asked_in = fields.number("asked_in");
    if (fields.object("status") != nullptr) {
        auto report = service::read_station_report(value.at("status"));
        if (report) process.report = std::move(*report);
    }
    pass_on(fields, outer);
    return process;
}

LogLine read_line(const json::value& value, json::Fields& outer) {
    json::Fields fields(value, "a line of the log");
    LogLine line{fields.number("number"),
                 {},
                 fields.text("station", std::nullopt, name_max),
                 fields.text("text", std::nullopt, log_text_max)};
    pass_on(fields, outer);
    return line;
}

}  // namespace

json::object json_of(const Commander& commander) {
    json::object object{{"epoch", commander.epoch}, {"name", json::safe(commander.name)}};
    if (commander.take_over) object["take_over"] = true;
    return object;
}

Commander read_commander(const json::value& document, json::Fields& fields) {
    Commander commander;
    if (fields.object("commander") == nullptr) {
        fields.fail_with("the request has no \"commander\"");
        return commander;
    }
    json::Fields inner(document.at("commander"), "the commander");
    commander.epoch = inner.number("epoch");
    commander.name = inner.text("name", std::nullopt, 1000);
    commander.take_over = inner.flag("take_over", false);
    inner.no_others();
    pass_on(inner, fields);
    return commander;
}

std::string to_json(const ProcessOrder& order) {
    json::array arguments;
    for (const auto& argument : order.arguments) arguments.emplace_back(json::safe(argument));
    return json::serialize(json::object{{"commander", json_of(order.commander)},
                                        {"name", json::safe(order.name)},
                                        {"generation", order.generation},
                                        {"arguments", arguments},
                                        {"partition", json::safe(order.partition)}});
}

std::string to_json(const HostPoll& poll) {
    json::array kept;
    for (const auto generation : poll.kept) kept.emplace_back(generation);
    json::object object{{"commander", json_of(poll.commander)},
                        {"number", poll.number},
                        {"log_after", poll.log_after},
                        {"generation_last", poll.generation_last},
                        {"kept", kept}};
    if (poll.last) object["last"] = true;
    if (!poll.machine.empty()) object["machine"] = json::safe(poll.machine);
    if (!poll.instance.empty()) object["instance"] = json::safe(poll.instance);
    return json::serialize(object);
}

std::string to_json(const EndOrder& order) {
    return json::serialize(
        json::object{{"commander", json_of(order.commander)}, {"generation", order.generation}, {"kill", order.kill}});
}

std::string to_json(const HostReport& report) {
    json::array processes, lines;
    for (const auto& process : report.processes) {
        json::object object{
            {"name", json::safe(process.name)}, {"generation", process.generation}, {"pid", process.pid}};
        if (process.announcement) object["announcement"] = json::safe(*process.announcement);
        if (process.end)
            object["end"] = json::object{
                {"code", process.end->code}, {"signal", process.end->signal}, {"why", json::safe(process.end->why)}};
        if (process.asked_in) object["asked_in"] = *process.asked_in;
        if (process.report_json) object["status"] = *process.report_json;
        processes.push_back(std::move(object));
    }
    for (const auto& line : report.log)
        lines.push_back(json::object{{"number", line.number},
                                     {"station", json::safe(line.station)},
                                     {"text", json::safe(on_one_line(line.text))}});
    json::object object{{"host", json::safe(report.host)},
                        {"weir", json::safe(report.weir)},
                        {"instance", report.instance},
                        {"commander", nullptr},
                        {"commander_silent", report.commander_silent},
                        {"processes", std::move(processes)},
                        {"log_last", report.log_last},
                        {"log", std::move(lines)}};
    if (report.commander) object["commander"] = json_of(*report.commander);
    return json::serialize(object);
}

Result<ProcessOrder> parse_process_order(std::string_view text) {
    const auto document = WEIR_TRY(json::parse(text, order_limits));
    json::Fields fields(document, "the request");
    ProcessOrder order;
    order.commander = read_commander(document, fields);
    order.name = fields.text("name", std::nullopt, name_max);
    order.generation = fields.number("generation");
    if (!is_station_name(order.name)) fields.fail_with("\"name\" of the request is not the name of a station");
    if (const auto* arguments = fields.array("arguments", arguments_max)) {
        for (const auto& argument : *arguments) {
            if (!argument.is_string() || argument.get_string().size() > argument_size_max ||
                argument.get_string().find('\0') != json::string::npos) {
                fields.fail_with("an argument of the request is no text of 4096 bytes or less");
                break;
            }
            order.arguments.emplace_back(argument.get_string());
        }
    }
    if (document.is_object()) {  // with its line ends, which Fields::text() does not take
        const auto* partition = document.get_object().if_contains("partition");
        if (partition == nullptr || !partition->is_string() || partition->get_string().size() > partition_text_max)
            fields.fail_with("\"partition\" of the request is not a text of 1 MiB or less");
        else order.partition = std::string(partition->get_string());
    }
    if (order.arguments.size() < 2 || order.arguments.front() != "weir" || !parse_station_kind(order.arguments[1]))
        fields.fail_with("the arguments of the request do not start a station: they begin with \"weir\" and its kind");
    WEIR_TRY(fields.result());
    return order;
}

Result<HostPoll> parse_host_poll(std::string_view text) {
    const auto document = WEIR_TRY(json::parse(text, order_limits));
    json::Fields fields(document, "the request");
    HostPoll poll;
    poll.commander = read_commander(document, fields);
    poll.number = fields.number("number");
    poll.log_after = fields.number("log_after");
    poll.generation_last = fields.number("generation_last");
    if (const auto* kept = fields.array("kept", stations_max)) {
        for (const auto& value : *kept) {
            if (const auto generation = as_number(value)) poll.kept.insert(*generation);
            else fields.fail_with("a generation in \"kept\" of the request is no number");
        }
    } else {
        fields.fail_with("the request has no \"kept\"");  // else all would end
    }
    poll.last = fields.flag("last", false);
    poll.machine = fields.text("machine", "", name_max);
    poll.instance = fields.text("instance", "", name_max);
    WEIR_TRY(fields.result());
    return poll;
}

Result<EndOrder> parse_end_order(std::string_view text) {
    const auto document = WEIR_TRY(json::parse(text, order_limits));
    json::Fields fields(document, "the request");
    EndOrder order;
    order.commander = read_commander(document, fields);
    order.generation = fields.number("generation");
    order.kill = fields.flag("kill");
    WEIR_TRY(fields.result());
    return order;
}

Result<HostReport> parse_host_report(std::string_view text) {
    json::monotonic_resource memory(text.size());  // thousands of values each second, read here and thrown away
    const auto document = WEIR_TRY(json::parse(text, report_limits, &memory));
    json::Fields fields(document, "the answer");
    HostReport report;
    report.host = fields.text("host");
    report.weir = fields.text("weir", "");
    report.instance = fields.text("instance");
    WEIR_TRY(fields.result());
    if (report.weir != WEIR_VERSION) return report;  // the rest may be written otherwise
    if (fields.object("commander") != nullptr) report.commander = read_commander(document, fields);
    report.commander_silent = fields.real("commander_silent", 0);
    if (const auto* processes = fields.array("processes", stations_max)) {
        for (const auto& process : *processes) report.processes.push_back(read_process(process, fields));
    }
    report.log_last = fields.number("log_last", 0);
    if (const auto* lines = fields.array("log", lines_max)) {
        for (const auto& line : *lines) report.log.push_back(read_line(line, fields));
    }
    WEIR_TRY(fields.result());
    return report;
}

}  // namespace weir::control
