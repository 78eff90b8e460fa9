// SPDX-License-Identifier: Apache-2.0
// Two recorders of one run, each with a catalogue of its own, as weir run makes them.
#include "files/complete_blocks.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>

#include "weir/catalogue/sqlite_catalogue.hpp"

namespace weir::app {
namespace {

using catalogue::Catalogue;

constexpr RunNumber run{7};
constexpr WallTime some_time{std::chrono::seconds{1'700'000'000}};

class TwoCatalogues : public testing::Test {
protected:
    TwoCatalogues() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-complete-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
        a_ = open("a");
        b_ = open("b");
    }
    ~TwoCatalogues() override {
        a_.reset();
        b_.reset();
        std::filesystem::remove_all(directory_);
    }

    std::unique_ptr<Catalogue> open(const std::string& recorder) const {
        auto opened = catalogue::open_sqlite_catalogue(directory_ / recorder);
        EXPECT_TRUE(opened.has_value()) << opened.error().message();
        EXPECT_TRUE((*opened)->open_run({run, recorder, "receipt", "", some_time, false}).has_value());
        return std::move(*opened);
    }
    /// One file, closed.
    static void record(Catalogue& catalogue, const std::string& recorder, std::uint32_t block) {
        catalogue::FileRow file;
        file.guid = Guid::random();
        file.volume = "/data";
        file.name = to_string(file.guid);
        file.run = run;
        file.recorder = recorder;
        file.stream_type = "physics";
        file.stream_name = "Main";
        file.lumi_block = LumiBlock{block};
        file.format = "raw-6";
        file.opened = some_time;
        ASSERT_TRUE(catalogue.file_opened(file).has_value());
        catalogue::FileClose close;
        close.guid = file.guid;
        close.volume = file.volume;
        close.name = file.name;
        close.events = 1;
        close.bytes = close.event_bytes = 1000;
        close.at = some_time;
        ASSERT_TRUE(catalogue.file_closed(close).has_value());
    }
    static void close_below(Catalogue& catalogue, const std::string& recorder, std::uint64_t below,
                            const std::vector<std::uint32_t>& blocks = {}) {
        catalogue::BlocksClosed closed{run, recorder, below, {}, some_time};
        for (const auto block : blocks) closed.blocks.push_back({"physics", "Main", LumiBlock{block}});
        ASSERT_TRUE(catalogue.lumi_blocks_closed(closed).has_value());
    }
    [[nodiscard]] bool complete(std::uint32_t block) const {
        CompleteBlocks blocks;
        for (auto* catalogue : {a_.get(), b_.get()}) EXPECT_TRUE(blocks.add(*catalogue, std::nullopt).has_value());
        return blocks.has(run, "physics", "Main", LumiBlock{block});
    }

    std::filesystem::path directory_;
    std::unique_ptr<Catalogue> a_, b_;
};

TEST_F(TwoCatalogues, ABlockOfWhichOneRecorderHasHadNothingIsCompleteWhenThatRecorderIsBeyondIt) {
    record(*a_, "a", 5);
    close_below(*a_, "a", 6, {5});
    close_below(*b_, "b", 5);
    EXPECT_FALSE(complete(5)) << "the other one may still get events of it";
    close_below(*b_, "b", 6);
    EXPECT_TRUE(complete(5));
    EXPECT_FALSE(complete(6)) << "no recorder has it";
}

TEST_F(TwoCatalogues, ABlockThatOneOfThemHasOpenIsNotComplete) {
    record(*a_, "a", 5);
    record(*b_, "b", 5);
    close_below(*a_, "a", 6, {5});
    close_below(*b_, "b", 6);
    EXPECT_FALSE(complete(5));
    close_below(*b_, "b", 6, {5});
    EXPECT_TRUE(complete(5));
}

TEST_F(TwoCatalogues, ABlockIsCompleteWhereTheOthersHaveClosedTheirRunAndBlockZeroOnlyThere) {
    record(*a_, "a", 0);
    record(*a_, "a", 5);
    ASSERT_TRUE(a_->close_run(run, "a", some_time).has_value());
    close_below(*b_, "b", 6);
    EXPECT_TRUE(complete(5));
    EXPECT_FALSE(complete(0)) << "the other run has no end yet";
    ASSERT_TRUE(b_->close_run(run, "b", some_time).has_value());
    EXPECT_TRUE(complete(0));
}

}  // namespace
}  // namespace weir::app
