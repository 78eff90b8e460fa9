// SPDX-License-Identifier: Apache-2.0
#include "workers/builtin_selection.hpp"

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "source_list.hpp"
#include "weir/base/bytes.hpp"
#include "weir/base/stoppable_sleep.hpp"

namespace weir::selection {
namespace {

/// Neighbouring ids have unrelated results (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t x) noexcept {
    x += 0x9e37'79b9'7f4a'7c15;
    x = (x ^ (x >> 30)) * 0xbf58'476d'1ce4'e5b9;
    x = (x ^ (x >> 27)) * 0x94d0'49bb'1331'11eb;
    return x ^ (x >> 31);
}

Result<std::optional<SelectCall>> fraction(std::string_view argument) {
    double part = -1;
    const auto [end, error] = std::from_chars(argument.data(), argument.data() + argument.size(), part);
    if (error != std::errc() || end != argument.data() + argument.size() || !(part >= 0 && part <= 1))
        return fail(Errc::usage,
                    fmt::format("\"fraction:{}\": give a number from 0 to 1, as in fraction:0.1", argument));
    constexpr double all = 18446744073709551616.0;  // 2^64
    return SelectCall([part](const Event& event, Decision& decision, const std::stop_token&) {
        if (part >= 1 || static_cast<double>(mixed(number(event.global_id))) < part * all) decision.accept();
    });
}

Result<std::optional<SelectCall>> size(std::string_view argument) {
    const auto least = parse_bytes(argument);
    if (!least) return std::unexpected(least.error());
    return SelectCall([least = least->count()](const Event& event, Decision& decision, const std::stop_token&) {
        if (event.bytes() >= least) decision.accept();
    });
}

Result<std::optional<SelectCall>> lasting(std::string_view argument, bool spins, const Clock& clock) {
    const auto time = parse_duration(argument);
    if (!time) return std::unexpected(time.error());
    return SelectCall([time = *time, spins, &clock](const Event&, Decision& decision, const std::stop_token& stop) {
        if (spins) {
            const auto until = clock.now() + time;
            while (clock.now() < until && !stop.stop_requested()) {
            }
        } else {
            static_cast<void>(stoppable_sleep(time, stop));
        }
        if (stop.stop_requested()) decision.trouble = "stopped before its time had passed";
        decision.accept();
    });
}

/// "0x1+0x2/0x3": one step, and then another.
Result<std::optional<SelectCall>> requesting(std::string_view argument) {
    std::vector<std::vector<SourceId>> steps;
    for (auto rest = argument;;) {
        const auto slash = rest.find('/');
        auto sources = parse_source_list(rest.substr(0, slash));
        if (!sources)
            return fail(Errc::usage, fmt::format("\"request:{}\": give sources, and a slash between steps, as in "
                                                 "request:0x420000+0x420001/0x430000",
                                                 argument));
        steps.push_back(std::move(*sources));
        if (slash == rest.npos) break;
        rest.remove_prefix(slash + 1);
    }
    return SelectCall([steps = std::move(steps)](const Event& event, Decision& decision, const std::stop_token&) {
        for (const auto& sources : steps) static_cast<void>(event.request(sources));
        decision.accept();
    });
}

}  // namespace

Result<std::optional<SelectCall>> builtin_selection(std::string_view text, const Clock& clock) {
    const auto colon = text.find(':');
    const auto word = text.substr(0, colon);
    const auto argument = colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1);
    if (text == "all")
        return SelectCall([](const Event&, Decision& decision, const std::stop_token&) { decision.accept(); });
    if (text == "none") return SelectCall([](const Event&, Decision&, const std::stop_token&) {});
    if (word == "fraction") return fraction(argument);
    if (word == "request") return requesting(argument);
    if (word == "size") return size(argument);
    if (word == "busy") return lasting(argument, true, clock);
    if (word == "sleep") return lasting(argument, false, clock);
    return std::optional<SelectCall>();
}

}  // namespace weir::selection
