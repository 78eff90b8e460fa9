// SPDX-License-Identifier: Apache-2.0
#include "reports/catalogue_watch.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

#include "weir/catalogue/catalogue_place.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class CatalogueWatchTest : public ::testing::Test {
protected:
    CatalogueWatchTest() {
        std::string pattern = (std::filesystem::temp_directory_path() / "weir-catalogue-XXXXXX").string();
        directory_ = ::mkdtemp(pattern.data());
        path_ = catalogue::own_catalogue_path(directory_, {});
        catalogue_ = catalogue::open_own_catalogue(directory_, {}).value();
    }
    ~CatalogueWatchTest() override { std::filesystem::remove_all(directory_); }

    std::filesystem::path directory_, path_;
    std::unique_ptr<catalogue::Catalogue> catalogue_;
    std::string text_;
    OperatorReports reports_{[this](const Report& report) { text_ = text_of(report); }};
};

TEST_F(CatalogueWatchTest, ACatalogueThatWasRemovedIsWrittenAgainAndReportedAsInterference) {
    CatalogueWatch watch(*catalogue_, path_, reports_);
    SteadyTime now{1min};
    watch.step(now);
    EXPECT_EQ(reports_.interference().count, 0U);
    std::filesystem::remove(path_);
    watch.step(now += 999ms);  // not yet time
    EXPECT_FALSE(std::filesystem::exists(path_));
    watch.step(now += 1ms);
    EXPECT_TRUE(std::filesystem::exists(path_));
    EXPECT_EQ(reports_.interference().count, 1U);
    EXPECT_EQ(reports_.interference().first, "catalogue removed");
    EXPECT_TRUE(text_.contains("it was written again")) << text_;
    watch.step(now += 1s);
    EXPECT_EQ(reports_.interference().count, 1U);
    std::filesystem::remove(path_);
    watch.look();  // at the end, whatever the time
    EXPECT_EQ(reports_.interference().count, 2U);
}

TEST_F(CatalogueWatchTest, ACatalogueWhoseDirectoryIsGoneMayComeBack) {
    CatalogueWatch watch(*catalogue_, path_, reports_);
    const auto away = std::filesystem::path(directory_.native() + "-away");
    std::filesystem::rename(directory_, away);
    watch.look();
    EXPECT_EQ(reports_.interference().count, 0U);
    std::filesystem::rename(away, directory_);
    watch.look();
    EXPECT_EQ(reports_.interference().count, 0U);
}

}  // namespace
}  // namespace weir::recorder
