// SPDX-License-Identifier: Apache-2.0
#include "weir/selection/trigger_spec.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "weir/base/source_id.hpp"
#include "weir/base/suggest.hpp"

namespace weir::selection {
namespace {

constexpr double rate_min = 1e-3, rate_max = 1e7;

std::unexpected<Error> no_rate(std::string_view text) {
    return fail(Errc::usage,
                fmt::format("\"{}\" is no rate of triggers; write 100Hz, 2.5kHz or 1MHz, from 1 mHz to 10 MHz: "
                            "periodic:100Hz",
                            text));
}

/// "100Hz", "2.5 kHz", "1MHz"
Result<double> parse_rate(std::string_view text) {
    double value = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (wrong != std::errc{}) return no_rate(text);
    auto unit = text.substr(static_cast<std::size_t>(end - text.data()));
    if (unit.starts_with(' ')) unit.remove_prefix(1);
    constexpr std::array<std::pair<std::string_view, double>, 4> units{
        {{"mHz", 1e-3}, {"Hz", 1}, {"kHz", 1e3}, {"MHz", 1e6}}};
    for (const auto& [name, factor] : units) {
        if (unit != name) continue;
        const auto rate = value * factor;
        if (!(rate >= rate_min && rate <= rate_max)) return no_rate(text);
        return rate;
    }
    return no_rate(text);
}

}  // namespace

Result<TriggerSpec> parse_trigger_spec(std::string_view text) {
    const auto colon = text.find(':');
    const auto word = text.substr(0, colon);
    const auto behind = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
    if (text == "made") return TriggerSpec{.kind = TriggerKind::made};
    if (text == "file") return TriggerSpec{.kind = TriggerKind::file};
    if (text == "network") return TriggerSpec{.kind = TriggerKind::network};
    if (word == "plug-in") {
        if (behind.empty())
            return fail(Errc::usage,
                        fmt::format("\"{}\" names no file; write plug-in:NAME.so or plug-in:NAME.py", text));
        return TriggerSpec{.kind = TriggerKind::plug_in, .file = std::string(behind)};
    }
    if (text.ends_with(".so") || text.ends_with(".py"))
        return fail(Errc::usage, fmt::format("\"{0}\" is no source of triggers; write plug-in:{0}", text));
    if (word == "first") {
        const auto source = parse_source_id(behind);
        if (!source) return fail(Errc::usage, fmt::format("\"{}\" names no source; write first:0x420000", text));
        return TriggerSpec{.kind = TriggerKind::first, .source = *source};
    }
    if (word == "periodic" || word == "random")
        return TriggerSpec{.kind = word == "random" ? TriggerKind::random : TriggerKind::periodic,
                           .rate = WEIR_TRY(parse_rate(behind))};
    const std::array words{std::string("made"),    std::string("file"),     std::string("network"),
                           std::string("plug-in"), std::string("periodic"), std::string("first"),
                           std::string("random")};
    return fail(Errc::usage,
                fmt::format("\"{}\" is no source of triggers; there are made, file, network, plug-in:NAME.py, "
                            "first:0x420000, periodic:100Hz and random:1kHz{}",
                            text, did_you_mean(std::string(word), words)));
}

}  // namespace weir::selection
