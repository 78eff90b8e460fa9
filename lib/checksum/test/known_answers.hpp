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

#include "weir/base/testing/described_data.hpp"

namespace weir::checksum::test {

struct KnownAnswer {
    std::string input;
    std::vector<std::byte> data;
    std::map<std::string, std::uint64_t> sums;  // by algorithm
};

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
        answer.data = testing::described_data(answer.input);
        answers.push_back(std::move(answer));
    }
    return answers;
}

}  // namespace weir::checksum::test
