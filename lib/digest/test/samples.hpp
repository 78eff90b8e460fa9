// SPDX-License-Identifier: Apache-2.0
// Data for tests, and the answers that others gave (vectors/known_answers.txt).
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

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

inline std::vector<std::byte> data_of(const std::string& input) {
    const auto colon = input.find(':');
    const auto kind = input.substr(0, colon);
    const auto value = input.substr(colon + 1);
    std::vector<std::byte> data;
    if (kind == "text") {
        for (const char c : value) data.push_back(static_cast<std::byte>(c));
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
        answer.data = data_of(answer.input);
        for (const auto algorithm : columns) {
            words >> word;
            answer.digests.push_back(Digest::parse(algorithm, word).value());
        }
        answers.push_back(std::move(answer));
    }
    return answers;
}

}  // namespace weir::digest::test
