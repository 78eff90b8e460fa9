// SPDX-License-Identifier: Apache-2.0
// The inputs that the tables of known answers name: "text:abc", "hex:00ff", "repeat:ff*1000" (a byte and how often),
// "lcg:1000" (bytes of a linear congruential generator that begins with 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::testing {

/// Throws std::invalid_argument for a kind that it does not know.
[[nodiscard]] inline std::vector<std::byte> described_data(const std::string& input) {
    const auto colon = input.find(':');
    const auto kind = input.substr(0, colon);
    const auto value = input.substr(colon + 1);
    std::vector<std::byte> data;
    if (kind == "text") {
        for (const char c : value) data.push_back(static_cast<std::byte>(c));
    } else if (kind == "hex") {
        for (std::size_t i = 0; i + 1 < value.size(); i += 2)
            data.push_back(static_cast<std::byte>(std::stoul(value.substr(i, 2), nullptr, 16)));
    } else if (kind == "repeat") {
        data.assign(std::stoul(value.substr(3)), static_cast<std::byte>(std::stoul(value.substr(0, 2), nullptr, 16)));
    } else if (kind == "lcg") {
        std::uint32_t state = 1;
        data.resize(std::stoul(value));
        for (auto& byte : data) byte = static_cast<std::byte>((state = state * 1664525 + 1013904223) >> 24);
    } else {
        throw std::invalid_argument("unknown kind of input: " + input);
    }
    return data;
}

}  // namespace weir::testing
