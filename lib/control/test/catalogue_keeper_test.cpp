// SPDX-License-Identifier: Apache-2.0
#include "weir/control/catalogue_keeper.hpp"

#include <gmock/gmock.h>

#include "weir/catalogue/sqlite_catalogue.hpp"

namespace weir::control {
namespace {

class CatalogueKeeperTest : public testing::Test {
protected:
    CatalogueKeeperTest() {
        std::string pattern = testing::TempDir() + "keeper-XXXXXX";
        directory = ::mkdtemp(pattern.data());
    }
    ~CatalogueKeeperTest() override { std::filesystem::remove_all(directory); }

    [[nodiscard]] std::filesystem::path catalogue() const { return directory / "weir.catalogue"; }
    [[nodiscard]] OpenCatalogue opener() const {
        return [path = catalogue()]() -> Result<std::unique_ptr<catalogue::Catalogue>> {
            if (!std::filesystem::exists(path)) return nullptr;
            return catalogue::open_sqlite_catalogue(path);
        };
    }

    std::filesystem::path directory;
};

TEST_F(CatalogueKeeperTest, ANumberIsAboveThoseOfTheCatalogueAndThoseGivenOut) {
    CatalogueKeeper keeper(*RunNumbers::open(directory), {opener()}, OpenRun(directory / "run-open.json"));
    EXPECT_EQ(keeper.next_run(), RunNumber{1});  // there is no catalogue yet
    {
        const auto made = catalogue::open_sqlite_catalogue(catalogue());
        ASSERT_TRUE(made);
        ASSERT_TRUE((*made)->open_run(
            {.run = RunNumber{40}, .recorder = "rec-1", .mode = "receipt", .relaxations = "", .at = {}}));
    }
    EXPECT_EQ(keeper.next_run(), RunNumber{41});
    EXPECT_EQ(keeper.next_run(), RunNumber{42}) << "41 was given out, and never recorded";
}

TEST_F(CatalogueKeeperTest, ParametersOfARunAreInTheCatalogueAlsoWhenItIsClosed) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    ASSERT_TRUE(
        (*made)->open_run({.run = RunNumber{7}, .recorder = "rec-1", .mode = "receipt", .relaxations = "", .at = {}}));
    CatalogueKeeper keeper(*RunNumbers::open(directory), {opener()}, OpenRun(directory / "run-open.json"));
    EXPECT_TRUE(keeper.keep(RunNumber{7}, {{"beam", "on"}}));
    ASSERT_TRUE((*made)->close_run(RunNumber{7}, "rec-1", {}));
    EXPECT_TRUE(keeper.keep(RunNumber{7}, {{"stop reason", "enough"}}));
    EXPECT_EQ(*(*made)->run_parameters(RunNumber{7}),
              (std::map<std::string, std::string>{{"beam", "on"}, {"stop reason", "enough"}}));
}

TEST_F(CatalogueKeeperTest, FilesOfARunAreHandedOverOrLeft) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    ASSERT_TRUE(
        (*made)->open_run({.run = RunNumber{7}, .recorder = "rec-1", .mode = "receipt", .relaxations = "", .at = {}}));
    for (const std::string name : {"a", "b", "open"}) {
        catalogue::FileRow file;
        file.guid = Guid::random();
        file.volume = directory.native();
        file.name = name;
        file.run = RunNumber{7};
        file.recorder = "rec-1";
        file.stream_type = "physics";
        file.stream_name = "Main";
        file.format = "raw-6";
        const auto opened = (*made)->file_opened(file);
        ASSERT_TRUE(opened) << opened.error().message();
        if (name == "open") continue;
        catalogue::FileClose close;
        close.guid = file.guid;
        close.volume = file.volume;
        close.name = name;
        ASSERT_TRUE((*made)->file_closed(close));
        if (name == "a") {
            ASSERT_TRUE((*made)->file_transferred(file.guid));
        }
    }
    CatalogueKeeper keeper(*RunNumbers::open(directory), {opener()}, OpenRun(directory / "run-open.json"));
    const auto account = keeper.hand_off(RunNumber{7}).value();
    EXPECT_EQ(std::tuple(account.closed, account.handed_over, account.left), std::tuple(2U, 1U, 1U));
    EXPECT_THAT(account.names, testing::ElementsAre("b"));
    EXPECT_EQ(keeper.hand_off(RunNumber{8})->closed, 0U);
}

TEST_F(CatalogueKeeperTest, ABadCatalogueKeepsNothingFromTheOthers) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    const OpenCatalogue bad = []() -> Result<std::unique_ptr<catalogue::Catalogue>> {
        return fail(Errc::corrupt, "rec-1 has no catalogue");
    };
    CatalogueKeeper keeper(*RunNumbers::open(directory), {bad, opener()}, OpenRun(directory / "run-open.json"));
    const auto kept = keeper.keep(RunNumber{7}, {{"stop reason", "enough"}, {"lost: why", "12-40"}});
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().context, "rec-1 has no catalogue");
    EXPECT_EQ(*(*made)->run_parameters(RunNumber{7}),
              (std::map<std::string, std::string>{{"stop reason", "enough"}, {"lost: why", "12-40"}}));
}

}  // namespace
}  // namespace weir::control
