// SPDX-License-Identifier: Apache-2.0
#include "engines/slurm_output.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "weir/base/report.hpp"

namespace weir::control {
namespace {

constexpr std::size_t name_size_max = 255;
constexpr std::size_t state_size_max = 200;
constexpr std::uint32_t loopback_net = 127;

std::string_view take_word(std::string_view& rest) {
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    const auto word = rest.substr(0, rest.find(' '));
    rest.remove_prefix(word.size());
    return word;
}

}  // namespace

std::string without_line_end(std::string text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) text.pop_back();
    return text;
}

bool is_job_number(std::string_view text) noexcept {
    return !text.empty() && text.size() <= 20 &&
           std::ranges::all_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}

bool is_node_name(std::string_view text) noexcept {
    return !text.empty() && text.size() <= name_size_max && std::isalnum(static_cast<unsigned char>(text[0])) != 0 &&
           std::ranges::all_of(
               text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; });
}

JobState parse_job_state(std::string_view line) {
    auto rest = line.substr(0, line.find('\n'));
    const auto state = take_word(rest);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    JobState job;
    if (!rest.starts_with('(')) job.node = take_word(rest);
    rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
    job.text = on_one_line(std::string(state) + (rest.empty() ? "" : " " + std::string(rest)), state_size_max);
    return job;
}

bool JobState::has_ended() const {
    constexpr std::array ends{"BOOT_FAIL", "CANCELLED", "COMPLETED",     "DEADLINE", "FAILED",
                              "NODE_FAIL", "PREEMPTED", "OUT_OF_MEMORY", "REVOKED",  "TIMEOUT"};
    return std::ranges::any_of(ends, [this](std::string_view end) { return text.starts_with(end); });
}

bool is_address_for_others(const std::string& text) {
    in_addr four{};
    if (::inet_pton(AF_INET, text.c_str(), &four) == 1)
        return four.s_addr != 0 && ntohl(four.s_addr) >> 24U != loopback_net;
    in6_addr six{};
    return ::inet_pton(AF_INET6, text.c_str(), &six) == 1 && !IN6_IS_ADDR_LOOPBACK(&six) &&
           !IN6_IS_ADDR_LINKLOCAL(&six) && !IN6_IS_ADDR_UNSPECIFIED(&six);
}

std::optional<std::string> parse_node_address(std::string_view printed) {
    constexpr std::string_view key = "NodeAddr=";
    for (auto rest = printed; !rest.empty();) {
        const auto word = rest.substr(0, rest.find_first_of(" \n\t"));
        rest.remove_prefix(std::min(word.size() + 1, rest.size()));
        if (!word.starts_with(key)) continue;
        const std::string value(word.substr(key.size(), name_size_max + 1));
        if (is_address_for_others(value)) return value;
        in_addr numeric{};
        if (is_node_name(value) && ::inet_pton(AF_INET, value.c_str(), &numeric) != 1) return value;
        return std::nullopt;
    }
    return std::nullopt;
}

std::optional<std::string> parse_resolved(std::string_view printed) {
    while (!printed.empty()) {
        auto line = printed.substr(0, printed.find('\n'));
        printed.remove_prefix(std::min(line.size() + 1, printed.size()));
        const std::string address(take_word(line));
        if (is_address_for_others(address)) return address;
    }
    return std::nullopt;
}

std::string with_port(const std::string& address, std::string_view port) {
    const bool six = address.find(':') != address.npos;
    return (six ? "[" + address + "]" : address) + std::string(port);
}

}  // namespace weir::control
