// SPDX-License-Identifier: Apache-2.0
// Reads vectors/known_answers.txt, whose sums were made by vectors/make_known_answers.py.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace weir::checksum::test {

struct KnownAnswer {
    std::string input;
    std::vector<std::byte> data;
    std::map<std::string, std::uint64_t> sums;  // by algorithm
};

inline std::vector<std::byte> data_of(const std::string& input) {
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
        ADD_FAILURE() << "unknown kind of input: " << input;
    }
    return data;
}

inline std::vector<KnownAnswer> known_answers() {
    std::ifstream in(WEIR_TEST_VECTORS "/known_answers.txt");
    std::vector<KnownAnswer> answers;
    std::vector<std::string> algorithms;
    const std::string columns = "# columns:";
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(columns)) {
            std::istringstream words(line.substr(columns.size()));
            for (std::string word; words >> word;) algorithms.push_back(word);
        }
        if (line.starts_with('#')) continue;
        KnownAnswer answer;
        std::istringstream words(line);
        words >> answer.input >> std::hex;
        for (const auto& algorithm : algorithms) words >> answer.sums[algorithm];
        EXPECT_TRUE(words) << line;
        answer.data = data_of(answer.input);
        answers.push_back(std::move(answer));
    }
    return answers;
}

}  // namespace weir::checksum::test
