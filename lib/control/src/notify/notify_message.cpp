// SPDX-License-Identifier: Apache-2.0
#include "notify/notify_message.hpp"

#include <fmt/format.h>

#include <array>
#include <boost/json/serialize.hpp>

#include "weir/json/parse.hpp"
#include "weir/service/log_entry.hpp"

namespace weir::control {
namespace {

constexpr std::array<std::string_view, notify_events> notify_event_names{"start", "stop",         "bad_run",
                                                                         "alarm", "acknowledged", "test"};
constexpr std::array<std::string_view, notify_events> notify_plurals{
    "starts of runs", "ends of runs", "bad runs", "alarms", "acknowledged alarms", "tests"};
constexpr std::size_t notify_others_max = 20;
constexpr std::size_t notify_text_max = 1500;  // bytes

bool of_alarm(NotifyEvent event) { return event == NotifyEvent::alarm || event == NotifyEvent::acknowledged; }

}  // namespace

std::string_view name(NotifyEvent event) noexcept { return notify_event_names.at(static_cast<std::size_t>(event)); }

std::optional<NotifyEvent> parse_notify_event(std::string_view text) noexcept {
    for (std::size_t i = 0; i + 1 < notify_events; ++i)
        if (text == notify_event_names.at(i)) return static_cast<NotifyEvent>(i);
    return std::nullopt;
}

std::string NotifyMessage::name() const {
    return of_alarm(event) ? fmt::format("{}: {}", station, alarm) : fmt::format("run {}", number(run));
}

void sum_up(NotifyMessage& into, const NotifyMessage& other) {
    into.more += 1 + other.more;
    const auto add = [&](std::string text) {
        if (into.others.size() < notify_others_max) into.others.push_back(std::move(text));
    };
    add(other.name());
    for (const auto& further : other.others) add(further);
}

std::string text_of(const NotifyMessage& message, const std::string& partition) {
    auto text = fmt::format("{}: {}", on_one_line(partition),
                            on_one_line(on_one_line(message.text, notify_text_max), notify_text_max));
    if (message.more > 0)
        text +=
            fmt::format("; and {} more {}", message.more, notify_plurals.at(static_cast<std::size_t>(message.event)));
    return text;
}

std::string document_of(const NotifyMessage& message, const std::string& partition, std::uint64_t missed) {
    json::object document{{"event", name(message.event)},
                          {"partition", json::safe(partition)},
                          {"time", service::log_time(message.when)},
                          {"text", json::safe(text_of(message, partition))},
                          {"run", number(message.run)}};
    if (of_alarm(message.event)) {
        document["station"] = json::safe(message.station);
        document["alarm"] = json::safe(message.alarm);
        document["severity"] = name(message.severity);
    }
    for (const auto& [key, value] : message.details) document[key] = value;
    document["more"] = message.more;
    json::array others;
    for (const auto& other : message.others) others.push_back(json::safe(on_one_line(other)));
    document["others"] = std::move(others);
    document["missed"] = missed;
    return json::serialize(document);
}

std::vector<std::string> variables_of(const NotifyMessage& message, const std::string& partition) {
    std::vector<std::string> variables{
        fmt::format("WEIR_EVENT={}", name(message.event)), fmt::format("WEIR_PARTITION={}", on_one_line(partition)),
        fmt::format("WEIR_RUN={}", number(message.run)), fmt::format("WEIR_TEXT={}", text_of(message, partition))};
    if (of_alarm(message.event)) {
        variables.push_back(fmt::format("WEIR_STATION={}", on_one_line(message.station)));
        variables.push_back(fmt::format("WEIR_ALARM={}", on_one_line(message.alarm)));
        variables.push_back(fmt::format("WEIR_SEVERITY={}", name(message.severity)));
    }
    return variables;
}

}  // namespace weir::control
