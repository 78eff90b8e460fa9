// SPDX-License-Identifier: Apache-2.0
// Data for tests, and the answers that others gave (vectors/known_answers.txt).
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "weir/base/testing/described_data.hpp"
#include "weir/digest/digest.hpp"

namespace weir::digest::test {

inline std::vector<std::byte> random_bytes(std::size_t size, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::byte> data(size);
    for (auto& byte : data) byte = static_cast<std::byte>(random());
    return data;
}

struct KnownAnswer {
    std::string input;
    std::vector<std::byte> data;
    std::vector<Digest> digests;  // one for each algorithm
};

inline std::vector<KnownAnswer> known_answers() {
    std::ifstream in(WEIR_TEST_VECTORS "/known_answers.txt");
    std::vector<KnownAnswer> answers;
    std::vector<Algorithm> columns;
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with('#')) continue;
        std::istringstream words(line);
        KnownAnswer answer;
        words >> answer.input;
        std::string word;
        if (columns.empty()) {
            while (words >> word) columns.push_back(parse_algorithm(word).value());
            continue;
        }
        answer.data = testing::described_data(answer.input);
        for (const auto algorithm : columns) {
            words >> word;
            answer.digests.push_back(Digest::parse(algorithm, word).value());
        }
        answers.push_back(std::move(answer));
    }
    return answers;
}

}  // namespace weir::digest::test
