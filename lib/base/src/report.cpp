// SPDX-License-Identifier: Apache-2.0
#include "weir/base/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir {
namespace {

constexpr std::array<std::string_view, 4> severity_names{"information", "warning", "error", "fatal"};

bool control(char c) noexcept { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

}  // namespace

std::string_view name(Severity severity) noexcept { return severity_names.at(static_cast<std::size_t>(severity)); }

std::optional<Severity> parse_severity(std::string_view text) noexcept {
    const auto* const found = std::ranges::find(severity_names, text);
    if (found == severity_names.end()) return std::nullopt;
    return static_cast<Severity>(found - severity_names.begin());
}

Report report_of(Severity severity, std::string what, const Error& error) {
    return {.severity = severity, .what = std::move(what), .why = error.message()};
}

Report alarm_of(std::string alarm, std::string why) {
    return {.severity = Severity::error, .what = "ALARM " + alarm, .why = std::move(why), .alarm = std::move(alarm)};
}

std::string text_of(const Report& report) {
    auto text = on_one_line(report.what);
    for (const auto* part : {&report.where, &report.why}) {
        if (!part->empty()) text.append(": ").append(on_one_line(*part));
    }
    if (!report.advice.empty()) text.append("; ").append(on_one_line(report.advice));
    return text;
}

std::string on_one_line(std::string_view text, std::size_t size_max) {
    std::string line;
    for (const char c : text.substr(0, size_max)) {
        if (c == '\n') {
            line += "\\n";
        } else if (c == '\t') {
            line += "\\t";
        } else if (control(c)) {
            line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
        } else {
            line += c;
        }
    }
    if (text.size() > size_max) line += "...";
    return line;
}

}  // namespace weir
