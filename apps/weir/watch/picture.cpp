// SPDX-License-Identifier: Apache-2.0
#include "watch/picture.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

#include "weir/service/alarm_text.hpp"

namespace weir::app {
namespace {

constexpr std::size_t list_max = 20'000;
constexpr std::size_t counters_max = 1'000;  // of one station
constexpr std::size_t metrics_max = 20'000;
constexpr std::size_t picture_text_max = 16'384;

const json::value* field(const json::value& of, std::string_view key) {
    const auto* object = of.if_object();
    return object != nullptr ? object->if_contains(key) : nullptr;
}

std::string text_in(const json::value& of, std::string_view key) {
    const auto* value = field(of, key);
    const auto* text = value != nullptr ? value->if_string() : nullptr;
    return text != nullptr ? std::string(std::string_view(*text).substr(0, picture_text_max)) : std::string{};
}

double real_in(const json::value& value) {
    boost::system::error_code wrong;
    const auto real = value.to_number<double>(wrong);
    return wrong ? 0 : real;
}

double real_in(const json::value& of, std::string_view key) {
    const auto* value = field(of, key);
    return value != nullptr ? real_in(*value) : 0;
}

std::uint64_t count_in(const json::value& value) {
    boost::system::error_code wrong;
    const auto count = value.to_number<std::uint64_t>(wrong);
    return wrong ? 0 : count;
}

std::uint64_t count_in(const json::value& of, std::string_view key) {
    const auto* value = field(of, key);
    return value != nullptr ? count_in(*value) : 0;
}

bool flag_in(const json::value& of, std::string_view key) {
    const auto* value = field(of, key);
    return value != nullptr && value->is_bool() && value->get_bool();
}

/// Calls `use` for each of a list, up to a limit.
template <class Use>
void for_each_in(const json::value& of, std::string_view key, const Use& use) {
    const auto* value = field(of, key);
    const auto* list = value != nullptr ? value->if_array() : nullptr;
    if (list == nullptr) return;
    for (std::size_t i = 0; i < std::min(list->size(), list_max); ++i) use((*list)[i]);
}

StationPicture one_station(const json::value& document, std::string_view name_key) {
    StationPicture station;
    station.name = text_in(document, name_key);
    station.kind = text_in(document, "kind");
    station.state = text_in(document, "state");
    station.host = text_in(document, "host");
    station.control = text_in(document, "control");
    station.error = text_in(document, "error");
    station.restarts = count_in(document, "restarts");
    station.rate = real_in(document, "rate");
    station.silent_seconds = real_in(document, "silent_seconds");
    if (const auto* ledger = field(document, "ledger")) {
        station.what = text_in(*ledger, "what");
        station.received = count_in(*ledger, "received");
        station.stored = count_in(*ledger, "stored");
        station.in_hand = count_in(*ledger, "in_hand");
        const auto* rejected = field(*ledger, "rejected");
        if (rejected != nullptr && rejected->is_object()) {
            for (const auto& [reason, count] : rejected->get_object())
                if (station.rejected.size() < counters_max) station.rejected.emplace_back(reason, count_in(count));
        }
    }
    if (const auto* counters = field(document, "counters"); counters != nullptr && counters->is_object()) {
        for (const auto& [counter, value] : counters->get_object())
            if (station.counters.size() < counters_max) station.counters.emplace(counter, real_in(value));
    }
    for_each_in(document, "alarms", [&](const json::value&) { ++station.alarms; });
    return station;
}

}  // namespace

double StationPicture::counter(std::string_view counter_name) const {
    const auto found = counters.find(counter_name);
    return found != counters.end() ? found->second : 0;
}

std::uint64_t StationPicture::rejected_in_all() const {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : rejected) sum += count;
    return sum;
}

bool StationPicture::in_trouble() const {
    return alarms > 0 || !error.empty() || state == "gone" || state == "launching" || does_not_answer();
}

double PartitionPicture::sum_of(std::string_view kind, std::string_view counter) const {
    double sum = 0;
    for (const auto& station : stations)
        if (station.kind == kind) sum += station.counter(counter);
    return sum;
}

PartitionPicture partition_picture(const json::value& document) {
    PartitionPicture picture;
    picture.name = text_in(document, "partition");
    picture.state = text_in(document, "state");
    picture.comment = text_in(document, "comment");
    picture.stop_reason = text_in(document, "stop_reason");
    picture.failure = text_in(document, "failure");
    picture.run = count_in(document, "run");
    picture.seconds = real_in(document, "seconds");
    if (const auto* events = field(document, "events")) {
        picture.triggers = count_in(*events, "triggers");
        picture.accepted = count_in(*events, "accepted");
        picture.rejected = count_in(*events, "rejected");
        picture.built = count_in(*events, "built");
        picture.incomplete = count_in(*events, "incomplete");
        picture.recorded = count_in(*events, "recorded");
    }
    for_each_in(document, "sources", [&](const json::value& source) {
        ++picture.sources;
        if (flag_in(source, "masked")) ++picture.masked;
        if (flag_in(source, "silent")) ++picture.silent;
        if (count_in(source, "missing") > 0) ++picture.missing;
    });
    for_each_in(document, "stations",
                [&](const json::value& station) { picture.stations.push_back(one_station(station, "name")); });
    for_each_in(document, "hosts", [&](const json::value& host) {
        picture.hosts.push_back({text_in(host, "name"), text_in(host, "state"), text_in(host, "trouble")});
    });
    return picture;
}

PartitionPicture station_picture(const json::value& document) {
    PartitionPicture picture;
    picture.single = true;
    picture.stations.push_back(one_station(document, "station"));
    picture.name = picture.stations.front().name;
    picture.state = picture.stations.front().state;
    picture.run = count_in(document, "run");
    return picture;
}

std::vector<AlarmPicture> alarm_pictures(const json::value& document, const std::string& station) {
    std::vector<AlarmPicture> alarms;
    for_each_in(document, "alarms", [&](const json::value& alarm) {
        AlarmPicture one{
            text_in(alarm, "station"), text_in(alarm, "name"), text_in(alarm, "text"), text_in(alarm, "severity"), true,
            count_in(alarm, "raised")};
        if (one.station.empty()) one.station = station;
        // As in a log the text begins with severity, place and name; these are shown beside it.
        one.text = std::string(service::alarm_text(one.name, one.text));
        if (const auto* latched = field(alarm, "latched")) one.latched = latched->is_bool() && latched->get_bool();
        else one.latched = text_in(alarm, "acknowledged_by").empty();
        alarms.push_back(std::move(one));
    });
    std::vector<AlarmPicture> sorted;  // latched ones first, each kind as it was
    for (const bool latched : {true, false})
        std::ranges::copy_if(alarms, std::back_inserter(sorted), [&](const auto& a) { return a.latched == latched; });
    alarms = std::move(sorted);
    return alarms;
}

std::vector<LogPicture> log_pictures(const json::value& document) {
    std::vector<LogPicture> lines;
    for_each_in(document, "lines", [&](const json::value& line) {
        lines.push_back(
            {count_in(line, "number"), real_in(line, "time"), text_in(line, "station"), text_in(line, "text")});
    });
    return lines;
}

std::vector<HistogramPicture> histogram_pictures(const json::value& document) {
    std::vector<HistogramPicture> all;
    for_each_in(document, "histograms", [&](const json::value& one) {
        all.push_back({.name = text_in(one, "name"),
                       .entries = real_in(one, "entries"),
                       .mean_x = real_in(one, "mean_x"),
                       .rms_x = real_in(one, "rms_x"),
                       .two_axes = count_in(one, "axes") == 2,
                       .mean_y = real_in(one, "mean_y"),
                       .rms_y = real_in(one, "rms_y")});
    });
    for_each_in(document, "counters", [&](const json::value& one) {
        all.push_back({.name = text_in(one, "name"), .counter = true, .entries = real_in(one, "value")});
    });
    return all;
}

std::vector<MetricPicture> metric_pictures(std::string_view text) {
    std::vector<MetricPicture> metrics;
    while (!text.empty() && metrics.size() < metrics_max) {
        const auto line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(text.size(), line.size() + 1));
        const auto space = line.rfind(' ');
        if (line.starts_with('#') || space == line.npos) continue;
        MetricPicture metric;
        const auto head = line.substr(0, space);
        const auto value = line.substr(space + 1);
        if (std::from_chars(value.data(), value.data() + value.size(), metric.value).ec != std::errc{}) continue;
        const auto brace = head.find('{');
        metric.name = head.substr(0, brace);
        if (brace != head.npos && head.ends_with('}')) metric.labels = head.substr(brace + 1, head.size() - brace - 2);
        metrics.push_back(std::move(metric));
    }
    return metrics;
}

std::string label_of(const MetricPicture& metric, std::string_view label) {
    const auto key = std::string(label) + "=\"";
    const std::string_view labels = metric.labels;
    for (auto at = labels.find(key); at != labels.npos; at = labels.find(key, at + 1)) {
        if (at > 0 && labels[at - 1] != ',') continue;
        std::string value;
        for (auto i = at + key.size(); i < labels.size() && labels[i] != '"'; ++i) {
            if (labels[i] == '\\' && i + 1 < labels.size()) ++i;
            value += labels[i];
        }
        return value;
    }
    return {};
}

}  // namespace weir::app
