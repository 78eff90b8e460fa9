// SPDX-License-Identifier: Apache-2.0
// Date and time as decimal numbers that read like the date and time.
#include <time.h>

#include "weir/event/raw_file.hpp"

namespace weir::event {

CalendarTime CalendarTime::from_words(std::uint32_t date, std::uint32_t time) noexcept {
    return {.year = date % 10000,
            .month = date / 10000 % 100,
            .day = date / 1'000'000,
            .hour = time / 10000,
            .minute = time / 100 % 100,
            .second = time % 100};
}

CalendarTime CalendarTime::local(std::chrono::system_clock::time_point time) {
    const auto seconds = std::chrono::system_clock::to_time_t(time);
    std::tm parts{};
    ::localtime_r(&seconds, &parts);
    const auto part = [](int value) { return static_cast<std::uint32_t>(value); };
    return {.year = part(parts.tm_year + 1900),
            .month = part(parts.tm_mon + 1),
            .day = part(parts.tm_mday),
            .hour = part(parts.tm_hour),
            .minute = part(parts.tm_min),
            .second = part(parts.tm_sec)};
}

std::uint32_t CalendarTime::date_word() const noexcept { return day * 1'000'000 + month * 10000 + year; }
std::uint32_t CalendarTime::time_word() const noexcept { return hour * 10000 + minute * 100 + second; }

}  // namespace weir::event
