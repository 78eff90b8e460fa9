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

    using Sums = std::vector<catalogue::FileSum>;
    /// A file of run 7 that is open; `closes` has what closes it.
    Guid record(catalogue::Catalogue& into, const std::string& name, Sums sums = {{"adler32", "1"}}) {
        EXPECT_TRUE(
            into.open_run({.run = RunNumber{7}, .recorder = "rec-1", .mode = "receipt", .relaxations = "", .at = {}}));
        catalogue::FileRow file;
        file.guid = Guid::random();
        file.volume = directory.native();
        file.name = name;
        file.run = RunNumber{7};
        file.recorder = "rec-1";
        file.stream_type = "physics";
        file.stream_name = "Main";
        file.format = "raw-6";
        const auto opened = into.file_opened(file);
        EXPECT_TRUE(opened) << opened.error().message();
        auto& close = closes[file.guid];
        close.guid = file.guid;
        close.volume = file.volume;
        close.name = name;
        close.sums = std::move(sums);
        return file.guid;
    }

    std::filesystem::path directory;
    std::map<Guid, catalogue::FileClose> closes;
};

TEST_F(CatalogueKeeperTest, ANumberIsAboveThoseOfTheCatalogueAndThoseGivenOut) {
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener()}}, OpenRun(directory / "run-open.json"));
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
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener()}}, OpenRun(directory / "run-open.json"));
    EXPECT_TRUE(keeper.keep(RunNumber{7}, {{"beam", "on"}}));
    ASSERT_TRUE((*made)->close_run(RunNumber{7}, "rec-1", {}));
    EXPECT_TRUE(keeper.keep(RunNumber{7}, {{"stop reason", "enough"}}));
    EXPECT_EQ(*(*made)->run_parameters(RunNumber{7}),
              (std::map<std::string, std::string>{{"beam", "on"}, {"stop reason", "enough"}}));
}

TEST_F(CatalogueKeeperTest, FilesOfARunAreHandedOverOrLeft) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    static_cast<void>(record(**made, "open"));
    const auto close = [&](const Guid& guid) {
        EXPECT_TRUE((*made)->file_closed(closes.at(guid)));
        return guid;
    };
    ASSERT_TRUE((*made)->file_transferred(close(record(**made, "a"))));
    close(record(**made, "b"));
    ASSERT_TRUE((*made)->set_file_health(close(record(**made, "damaged")), catalogue::FileHealth::quarantined));
    close(record(**made, "without a sum", {{"crc32c", "1"}}));  // another one than the hand-off needs
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener(), "adler32"}}, OpenRun(directory / "run-open.json"));
    const auto account = keeper.hand_off(RunNumber{7}).value();
    EXPECT_EQ(std::tuple(account.closed, account.handed_over, account.left), std::tuple(4U, 1U, 3U));
    EXPECT_EQ(std::tuple(account.quarantined, account.without_sum), std::tuple(1U, 1U));
    EXPECT_THAT(account.names, testing::ElementsAre("b"));
    EXPECT_THAT(account.names_kept, testing::UnorderedElementsAre("damaged", "without a sum"));
    EXPECT_EQ(keeper.hand_off(RunNumber{8})->closed, 0U);
}

TEST_F(CatalogueKeeperTest, FilesOfARecorderWithoutAHandOffAreNotCounted) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    const auto other = directory / "other.catalogue";
    const auto made_too = catalogue::open_sqlite_catalogue(other);
    ASSERT_TRUE(made_too);
    ASSERT_TRUE((*made)->file_closed(closes.at(record(**made, "a"))));
    ASSERT_TRUE((*made_too)->file_closed(closes.at(record(**made_too, "b"))));
    const auto open_other = [other] { return catalogue::open_sqlite_catalogue(other); };
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener(), "adler32"}, {open_other, {}}},
                           OpenRun(directory / "run-open.json"));
    const auto account = keeper.hand_off(RunNumber{7}).value();
    EXPECT_EQ(std::tuple(account.closed, account.left), std::tuple(1U, 1U));
    EXPECT_THAT(account.names, testing::ElementsAre("a"));
}

TEST_F(CatalogueKeeperTest, ABadCatalogueKeepsNothingFromTheOthers) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    const OpenCatalogue bad = []() -> Result<std::unique_ptr<catalogue::Catalogue>> {
        return fail(Errc::corrupt, "rec-1 has no catalogue");
    };
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{bad}, {opener()}}, OpenRun(directory / "run-open.json"));
    const auto kept = keeper.keep(RunNumber{7}, {{"stop reason", "enough"}, {"lost: why", "12-40"}});
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().context, "rec-1 has no catalogue");
    EXPECT_EQ(*(*made)->run_parameters(RunNumber{7}),
              (std::map<std::string, std::string>{{"stop reason", "enough"}, {"lost: why", "12-40"}}));
}

}  // namespace
}  // namespace weir::control
