// SPDX-License-Identifier: Apache-2.0
#include "weir/control/catalogue_keeper.hpp"

#include <gmock/gmock.h>

#include "weir/catalogue/run_record_file.hpp"
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
    Guid add_file(catalogue::Catalogue& into, const std::string& name, Sums sums = {{"adler32", "1"}}) {
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
    catalogue::RunRecord record{.weir = "1.2.3", .file = "/daq/p.toml", .text = "[data]\n", .sha256 = "ab"};
    std::map<Guid, catalogue::FileClose> closes;
};

TEST_F(CatalogueKeeperTest, ANumberIsAboveThoseOfTheCatalogueAndThoseGivenOut) {
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener()}}, OpenRun(directory / "run-open.json"), directory,
                           record);
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
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener()}}, OpenRun(directory / "run-open.json"), directory,
                           record);
    EXPECT_TRUE(keeper.keep(RunNumber{7}, {{"beam", "on"}}));
    ASSERT_TRUE((*made)->close_run(RunNumber{7}, "rec-1", {}));
    EXPECT_TRUE(keeper.keep(RunNumber{7}, {{"stop reason", "enough"}}));
    EXPECT_EQ(*(*made)->run_parameters(RunNumber{7}),
              (std::map<std::string, std::string>{{"beam", "on"}, {"stop reason", "enough"}}));
}

TEST_F(CatalogueKeeperTest, FilesOfARunAreHandedOverOrLeft) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    static_cast<void>(add_file(**made, "open"));
    const auto close = [&](const Guid& guid) {
        EXPECT_TRUE((*made)->file_closed(closes.at(guid)));
        return guid;
    };
    ASSERT_TRUE((*made)->file_transferred(close(add_file(**made, "a"))));
    close(add_file(**made, "b"));
    ASSERT_TRUE((*made)->set_file_health(close(add_file(**made, "damaged")), catalogue::FileHealth::quarantined));
    close(add_file(**made, "without a sum", {{"crc32c", "1"}}));  // another one than the hand-off needs
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener(), "adler32"}}, OpenRun(directory / "run-open.json"),
                           directory, record);
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
    ASSERT_TRUE((*made)->file_closed(closes.at(add_file(**made, "a"))));
    ASSERT_TRUE((*made_too)->file_closed(closes.at(add_file(**made_too, "b"))));
    const auto open_other = [other] { return catalogue::open_sqlite_catalogue(other); };
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener(), "adler32"}, {open_other, {}}},
                           OpenRun(directory / "run-open.json"), directory, record);
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
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{bad}, {opener()}}, OpenRun(directory / "run-open.json"),
                           directory, record);
    const auto kept = keeper.keep(RunNumber{7}, {{"stop reason", "enough"}, {"lost: why", "12-40"}});
    ASSERT_FALSE(kept);
    EXPECT_EQ(kept.error().context, "rec-1 has no catalogue");
    EXPECT_EQ(*(*made)->run_parameters(RunNumber{7}),
              (std::map<std::string, std::string>{{"stop reason", "enough"}, {"lost: why", "12-40"}}));
}

/// A mask at an event, as run control notes it.
RunChanges masked_in(RunNumber run) {
    return {run,
            WallTime{std::chrono::seconds{1'700'000'000}},
            {},
            {{WallTime{std::chrono::seconds{1'700'000'005}}, "mask", "0x420000", "ann", "", Level1Id{51}}},
            0};
}

TEST_F(CatalogueKeeperTest, ARunThatWasNotEndedIsFoundWithAllThatItsRecordHas) {
    CatalogueKeeper keeper(*RunNumbers::open(directory), {{opener()}}, OpenRun(directory / "run-open.json"), directory,
                           record);
    EXPECT_FALSE(*keeper.left());
    auto noted = masked_in(RunNumber{7});
    noted.parameters["beam"] = "on";
    ASSERT_TRUE(keeper.note(noted));
    ASSERT_TRUE(keeper.note(RunNumber{7}, {{"accepted", "12"}}));
    const auto left = keeper.left();
    ASSERT_TRUE(left) << left.error().message();
    ASSERT_TRUE(*left);
    const auto& changes = (*left)->changes;
    EXPECT_EQ(changes.run, noted.run);
    EXPECT_EQ(changes.started, noted.started);
    EXPECT_EQ(changes.parameters, noted.parameters);
    EXPECT_EQ(changes.list, noted.list);
    EXPECT_EQ((*left)->counts.at("accepted"), "12");
    keeper.over();
    EXPECT_FALSE(*keeper.left());
}

TEST_F(CatalogueKeeperTest, TheRecordOfARunIsInTheCatalogueAndInTheDirectoriesOfRunControlAndRecorder) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    const auto of_recorder = directory / "rec-1";
    std::filesystem::create_directory(of_recorder);
    CatalogueKeeper keeper(*RunNumbers::open(directory),
                           {{opener(), {}, of_recorder}, {opener(), {}, directory / "not there"}},
                           OpenRun(directory / "run-open.json"), directory, record);
    const auto changes = masked_in(RunNumber{7});
    ASSERT_TRUE(keeper.note(changes));
    auto expected = record;
    expected.run = RunNumber{7};
    expected.started = changes.started;
    expected.changes = changes.list;
    EXPECT_EQ(catalogue::read_run_record(catalogue::run_record_path(directory, RunNumber{7})), expected);
    EXPECT_FALSE(catalogue::kept_run_record(**made, RunNumber{7})->has_value());
    ASSERT_TRUE(keeper.keep(RunNumber{7}, {{"comment", "cosmics"}}));
    ASSERT_TRUE(keeper.keep(RunNumber{7}, {{"stop reason", "enough"}}));
    expected.parameters = {{"comment", "cosmics"}, {"stop reason", "enough"}};
    EXPECT_EQ(catalogue::kept_run_record(**made, RunNumber{7}), expected);
    for (const auto& place : {directory, of_recorder})
        EXPECT_EQ(catalogue::read_run_record(catalogue::run_record_path(place, RunNumber{7})), expected) << place;
    EXPECT_FALSE(std::filesystem::exists(directory / "not there"));
    ASSERT_TRUE(keeper.note(masked_in(RunNumber{8})));
    ASSERT_TRUE(keeper.keep(RunNumber{8}, {}));
    EXPECT_TRUE(catalogue::kept_run_record(**made, RunNumber{8}).value()->parameters.empty()) << "of the run before";
}

TEST_F(CatalogueKeeperTest, TheRecordOfARunThatWasNotEndedIsCompletedByTheNextRunControl) {
    const auto made = catalogue::open_sqlite_catalogue(catalogue());
    ASSERT_TRUE(made);
    const auto keeper = [&](const std::string& text) {
        auto other = record;
        other.text = text;
        return CatalogueKeeper(*RunNumbers::open(directory), {{opener()}}, OpenRun(directory / "run-open.json"),
                               directory, other);
    };
    ASSERT_TRUE(keeper("[data]\n").note(masked_in(RunNumber{7})));
    ASSERT_TRUE(keeper("[run]\n").keep(RunNumber{7}, {{"stop reason", "run control ended"}}));
    const auto kept = catalogue::kept_run_record(**made, RunNumber{7}).value();
    ASSERT_TRUE(kept);
    EXPECT_EQ(kept->text, "[data]\n");
    EXPECT_EQ(kept->changes, masked_in(RunNumber{7}).list);
    EXPECT_EQ(kept->parameters, (std::map<std::string, std::string>{{"stop reason", "run control ended"}}));
    ASSERT_TRUE(keeper("[run]\n").keep(RunNumber{6}, {{"beam", "on"}})) << "a run without a record";
    EXPECT_EQ(*(*made)->run_parameters(RunNumber{6}), (std::map<std::string, std::string>{{"beam", "on"}}));
}

}  // namespace
}  // namespace weir::control
