// SPDX-License-Identifier: Apache-2.0
// The frame of the file, byte by byte; test/objects/root_histograms_test.py has it read by uproot and ROOT.
#include "root/root_file.hpp"

#include <gtest/gtest.h>

#include <string>

#include "sample_histograms.hpp"
#include "weir/base/endian.hpp"

namespace weir::monitor {
namespace {

std::vector<std::byte> sample_file() {
    static const auto histograms = test::sample_histograms();
    std::vector<const Histogram*> all;
    for (const auto& histogram : histograms) all.push_back(&histogram);
    return root_file_of("sample.root", all, WallTime{std::chrono::seconds{1'800'000'000}}).value();
}

TEST(RootFile, RecordsFollowEachOtherFromTheFirstToTheEnd) {
    const auto file = sample_file();
    const auto word = [&](std::size_t at) { return load_big<std::uint32_t>(file, at); };
    EXPECT_EQ(as_text(ConstData(file).first(4)), "root");
    EXPECT_EQ(word(8), 100U);
    EXPECT_EQ(word(12), file.size());
    std::vector<std::string> classes;
    std::size_t at = 100;
    std::size_t of_names = 0, of_free = 0;
    while (at < file.size()) {
        const std::size_t size = word(at), key = load_big<std::uint16_t>(file, at + 14);
        ASSERT_GT(size, key);
        ASSERT_EQ(size, key + word(at + 6));
        ASSERT_EQ(word(at + 18), at) << "a record says where it is";
        const auto name_size = std::to_integer<std::size_t>(file[at + 26]);
        classes.emplace_back(as_text(ConstData(file).subspan(at + 27, name_size)));
        if (classes.back() == "TList") of_names = at;
        of_free = at;
        at += size;
    }
    EXPECT_EQ(at, file.size());
    EXPECT_EQ(classes, (std::vector<std::string>{"TFile", "TH1D", "TH1D", "TH2D", "TH2D", "TFile", "TList", "TFile"}));
    EXPECT_EQ(word(37), of_names) << "the descriptions of the classes";
    EXPECT_EQ(word(16), of_free) << "what is free";
}

}  // namespace
}  // namespace weir::monitor
