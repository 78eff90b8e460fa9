// SPDX-License-Identifier: Apache-2.0
// A session: one sender process, one of its connections, one run. Sequences count within a session, from 1,
// and it is sessions that are made free of duplicates.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "weir/base/ids.hpp"

namespace weir::wire {

struct SessionKey {
    std::string sender{};           // valid_sender_name
    std::uint64_t incarnation = 0;  // new for every start of the sender's process
    std::uint32_t connection = 0;   // number among the sender's connections
    RunNumber run{};

    auto operator<=>(const SessionKey&) const = default;
};

struct SessionKeyHash {
    [[nodiscard]] std::size_t operator()(const SessionKey& key) const noexcept;
};

inline constexpr std::size_t sender_name_size_max = 128;

/// 1 to 128 letters, digits, '-', '_', '.', ':': names go into journals, tables and messages.
[[nodiscard]] bool valid_sender_name(std::string_view text) noexcept;

/// "farm-17/#9c0f/0 run 358395": for logs. The incarnation is a secret of the sender's; four digits that are made from
/// it distinguish two of them.
[[nodiscard]] std::string to_string(const SessionKey& key);

}  // namespace weir::wire
