// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target without libFuzzer: over every file of the folders named on the command line,
// over every prefix and single-byte change of the small ones, and over fixed pseudo-random bytes. So
// the ordinary test run (and its sanitizers) exercises each fuzz target, with g++ as well.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

std::size_t replay_mutations(std::vector<std::uint8_t> seed, std::mt19937_64& random) {
    std::size_t runs = 0;
    for (int round = 0; round < 300; ++round, ++runs) {
        auto bytes = seed;
        if (!bytes.empty()) {
            for (std::uint64_t edits = random() % 4 + 1; edits > 0; --edits)
                bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
            if (random() % 4 == 0) bytes.resize(random() % (bytes.size() + 1));
        }
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    return runs;
}

}  // namespace

int main(int argc, char** argv) {
    std::mt19937_64 random{20261121};
    std::size_t files = 0;
    std::size_t runs = 0;
    for (int i = 1; i < argc; ++i) {
        if (!std::filesystem::exists(argv[i])) continue;  // a target may live on pseudo-random bytes alone
        for (const auto& entry : std::filesystem::recursive_directory_iterator(argv[i])) {
            if (!entry.is_regular_file()) continue;
            std::ifstream in(entry.path(), std::ios::binary);
            const std::vector<char> text{std::istreambuf_iterator<char>(in), {}};
            std::vector<std::uint8_t> bytes(text.begin(), text.end());
            LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
            runs += 1 + replay_mutations(std::move(bytes), random);
            ++files;
        }
    }
    for (int round = 0; round < 2000; ++round, ++runs) {
        std::vector<std::uint8_t> bytes(random() % 512);
        for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random() % 3 == 0 ? random() % 8 : random());
        LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
    std::printf("replayed %zu inputs from %zu corpus files\n", runs, files);
    return 0;
}
