// SPDX-License-Identifier: Apache-2.0
#include "weir/page/history.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <cmath>
#include <limits>

#include "weir/json/parse.hpp"

namespace weir::page {
namespace {

constexpr float gap = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t coarse_step = 10;  // seconds
constexpr std::size_t history_names_max = 64;

float& in_ring(std::vector<float>& ring, std::int64_t at) { return ring[static_cast<std::size_t>(at) % ring.size()]; }

/// Forgets what stood in the places from `first` to `last`.
void clear_ring(std::vector<float>& ring, std::int64_t first, std::int64_t last) {
    const auto size = static_cast<std::int64_t>(ring.size());
    if (last - first >= size) first = last - size + 1;
    for (auto at = first; at <= last; ++at) in_ring(ring, at) = gap;
}

}  // namespace

History::History(const Clock& clock, HistoryLimits limits) : clock_(clock), limits_(limits), begin_(clock.now()) {}

void History::open_second(std::int64_t second) {
    const auto before = second_;
    if (second <= before) return;
    for (auto& [name, series] : series_) {
        clear_ring(series.fine, before + 1, second);
        if (second / coarse_step != before / coarse_step || before < 0) {
            clear_ring(series.coarse, before < 0 ? 0 : before / coarse_step + 1, second / coarse_step);
            series.sum = 0;
            series.count = 0;
        }
    }
    second_ = second;
}

void History::add(std::span<const std::pair<std::string_view, double>> values) {
    const std::scoped_lock lock(mutex_);
    const auto now = std::chrono::floor<std::chrono::seconds>(clock_.now() - begin_).count();
    open_second(now);
    for (const auto& [name, value] : values) {
        auto found = series_.find(name);
        if (found == series_.end()) {
            if (series_.size() >= limits_.series_max) {
                ++left_out_;
                continue;
            }
            found = series_.emplace(std::string(name), Series{}).first;
            found->second.fine.assign(limits_.fine, gap);
            found->second.coarse.assign(limits_.coarse, gap);
        }
        auto& series = found->second;
        auto& fine = in_ring(series.fine, second_);
        if (!std::isnan(fine)) {
            series.sum -= static_cast<double>(fine);
            --series.count;
        }
        fine = static_cast<float>(value);
        if (std::isnan(fine)) continue;
        series.sum += static_cast<double>(fine);
        ++series.count;
        in_ring(series.coarse, second_ / coarse_step) = static_cast<float>(series.sum / series.count);
    }
}

std::string History::to_json(std::chrono::seconds span, std::span<const std::string> names) const {
    const std::scoped_lock lock(mutex_);
    const bool fine = span.count() <= static_cast<std::int64_t>(limits_.fine);
    const std::int64_t step = fine ? 1 : coarse_step;
    const auto ring = static_cast<std::int64_t>(fine ? limits_.fine : limits_.coarse);
    const auto newest = second_ / step;
    const auto count = std::min({ring, span.count() / step, newest + 1});
    const auto since_begin = std::chrono::duration_cast<std::chrono::seconds>(clock_.now() - begin_).count();
    const auto end = std::chrono::duration<double>(clock_.wall().time_since_epoch()).count() -
                     static_cast<double>(since_begin - std::max<std::int64_t>(second_, 0));
    std::string out = fmt::format(R"({{"step":{},"end":{:.0f},"series":{{)", step, end);
    bool first = true;
    const auto append = [&](const std::string& name, const Series& series) {
        out += fmt::format("{}{}:[", std::exchange(first, false) ? "" : ",",
                           boost::json::serialize(boost::json::value(json::safe(name))));
        const auto& values = fine ? series.fine : series.coarse;
        for (auto at = newest - count + 1; second_ >= 0 && at <= newest; ++at) {
            const auto value = values[static_cast<std::size_t>(at) % values.size()];
            if (out.back() != '[') out += ',';
            if (std::isfinite(value)) fmt::format_to(std::back_inserter(out), "{:.5g}", value);
            else out += "null";
        }
        out += ']';
    };
    if (names.empty()) {
        for (const auto& [name, series] : series_) append(name, series);
    }
    for (const auto& name : names)
        if (const auto found = series_.find(name); found != series_.end()) append(name, found->second);
    return out += "}}";
}

std::size_t History::series() const {
    const std::scoped_lock lock(mutex_);
    return series_.size();
}

std::uint64_t History::left_out() const {
    const std::scoped_lock lock(mutex_);
    return left_out_;
}

std::size_t History::bytes() const {
    const std::scoped_lock lock(mutex_);
    std::size_t sum = 0;
    for (const auto& [name, series] : series_)
        sum += (series.fine.capacity() + series.coarse.capacity()) * sizeof(float);
    return sum;
}

std::string unescaped(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned byte = 0;
        const auto* const from = text.data() + i + 1;
        if (text[i] == '%' && i + 2 < text.size() && std::from_chars(from, from + 2, byte, 16).ptr == from + 2) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += text[i] == '+' ? ' ' : text[i];
        }
    }
    return out;
}

std::string query_value(std::string_view query, std::string_view key) {
    while (!query.empty()) {
        const auto item = query.substr(0, query.find('&'));
        if (item.starts_with(key) && item.substr(key.size()).starts_with('='))
            return unescaped(item.substr(key.size() + 1));
        query.remove_prefix(std::min(item.size() + 1, query.size()));
    }
    return {};
}

HistoryQuery parse_history_query(std::string_view query) {
    HistoryQuery parsed;
    const auto each = [](std::string_view all, char between, auto use) {
        while (!all.empty()) {
            const auto end = std::min(all.find(between), all.size());
            use(all.substr(0, end));
            all.remove_prefix(std::min(end + 1, all.size()));
        }
    };
    each(query, '&', [&](std::string_view item) {
        constexpr std::string_view seconds_key = "seconds=", series_key = "series=";
        if (item.starts_with(seconds_key)) {
            std::int64_t seconds = 0;
            const auto text = item.substr(seconds_key.size());
            std::from_chars(text.data(), text.data() + text.size(), seconds);
            if (seconds > 0 && seconds <= 86'400) parsed.span = std::chrono::seconds{seconds};
        } else if (item.starts_with(series_key)) {
            each(item.substr(series_key.size()), ',', [&](std::string_view name) {
                if (parsed.names.size() < history_names_max) parsed.names.push_back(unescaped(name));
            });
        }
    });
    return parsed;
}

}  // namespace weir::page
