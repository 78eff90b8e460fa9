// SPDX-License-Identifier: Apache-2.0
#include "weir/service/alarm_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <system_error>

#include "weir/base/file.hpp"

namespace weir::service {
namespace {

constexpr std::string_view first_line = "weir alarms 1";
constexpr std::size_t columns = 8;
constexpr std::size_t person_size_max = 100;
constexpr Bytes file_size_max{16U << 20};

std::int64_t nanoseconds(WallTime time) {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}

template <class Number>
bool read(std::string_view text, Number& to) {
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), to);
    return failure == std::errc{} && end == text.data() + text.size();
}

bool read(std::string_view text, WallTime& to) {
    std::int64_t ns = 0;
    if (!read(text, ns)) return false;
    to = WallTime{std::chrono::duration_cast<WallTime::duration>(std::chrono::nanoseconds{ns})};
    return true;
}

bool read(std::string_view text, Severity& to) {
    const auto severity = parse_severity(text);
    if (severity) to = *severity;
    return severity.has_value();
}

bool parse(std::string_view line, Alarm& alarm) {
    std::array<std::string_view, columns> part;
    for (std::size_t i = 0; i < columns; ++i) {
        const auto tab = i + 1 < columns ? line.find('\t') : line.size();
        if (tab == line.npos) return false;
        part.at(i) = line.substr(0, tab);
        line.remove_prefix(std::min(tab + 1, line.size()));
    }
    WallTime acknowledged{};
    alarm.name = part[0];
    if (alarm.name.empty() || !read(part[1], alarm.report.severity) || !read(part[2], alarm.raised) ||
        !read(part[3], alarm.first) || !read(part[4], alarm.last) || !read(part[5], acknowledged))
        return false;
    if (!part[6].empty()) {
        alarm.acknowledged_by = part[6];
        alarm.acknowledged_at = acknowledged;
    }
    alarm.report.what = part[7];
    alarm.report.when = alarm.last;
    return true;
}

}  // namespace

std::string to_text(const std::vector<Alarm>& alarms) {
    auto text = fmt::format("{}\n", first_line);
    for (const auto& alarm : alarms) {
        text += fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}\t{}\n", on_one_line(alarm.name), name(alarm.report.severity),
                            alarm.raised, nanoseconds(alarm.first), nanoseconds(alarm.last),
                            nanoseconds(alarm.acknowledged_at.value_or(WallTime{})),
                            on_one_line(alarm.acknowledged_by.value_or(""), person_size_max), text_of(alarm.report));
    }
    return text;
}

Result<std::vector<Alarm>> alarms_from(std::string_view text) {
    std::vector<Alarm> alarms;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const auto end = text.find('\n');
        if (end == text.npos) return fail(Errc::truncated, fmt::format("line {} of the alarms has no end", number));
        const auto line = text.substr(0, end);
        text.remove_prefix(end + 1);
        if (number == 1) {
            if (line != first_line)
                return fail(Errc::unsupported, "these are not alarms of a version that is known here");
            continue;
        }
        Alarm alarm;
        if (!parse(line, alarm)) return fail(Errc::corrupt, fmt::format("line {} of the alarms is damaged", number));
        alarms.push_back(std::move(alarm));
    }
    return alarms;
}

Result<> save_alarms(const AlarmPlace& place, const std::vector<Alarm>& alarms) {
    const auto path = place.file();
    auto fresh = path;
    fresh += ".new";
    const auto text = to_text(alarms);
    auto file = WEIR_TRY(File::open(fresh, File::Mode::open_or_create));
    WEIR_TRY(file.truncate(0));
    WEIR_TRY(file.write_at(0, as_data(text)));
    WEIR_TRY(file.sync_data());
    WEIR_TRY(file.close());
    if (std::rename(fresh.c_str(), path.c_str()) != 0)
        return fail_errno(errno, fmt::format("cannot replace {}", path.native()));
    return sync_directory(place.directory);
}

Result<std::vector<Alarm>> load_alarms(const AlarmPlace& place) {
    std::error_code error;
    const auto path = place.file();
    if (!std::filesystem::exists(path, error) && !error) return std::vector<Alarm>{};
    const auto text = WEIR_TRY(read_text(path, file_size_max));
    auto alarms = alarms_from(text);
    if (!alarms) return fail(alarms.error().code, fmt::format("{}: {}", path.native(), alarms.error().context));
    return alarms;
}

bool valid_person(std::string_view person) noexcept {
    const auto plain = [](char c) { return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f; };
    return !person.empty() && person.size() <= person_size_max && std::ranges::all_of(person, plain);
}

}  // namespace weir::service
