// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "catalogue_fixture.hpp"

namespace weir::catalogue {
namespace {

using testing::HasSubstr;

class CatalogueFiles : public CatalogueTest {
protected:
    std::unique_ptr<Catalogue> catalogue_with_run(std::uint32_t run) {
        auto catalogue = open();
        EXPECT_TRUE(catalogue->open_run(start(run)).has_value());
        return catalogue;
    }
};

TEST_F(CatalogueFiles, ChangesMadeTogetherAreAllThereOrNone) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    const auto refused = catalogue->together([&]() -> Result<> {
        WEIR_TRY(catalogue->file_opened(file));
        return catalogue->file_opened(file);  // a second time
    });
    EXPECT_EQ(refused.error().code, Errc::refused);
    EXPECT_FALSE(catalogue->file(file.guid).value().has_value());
    ASSERT_TRUE(catalogue
                    ->together([&]() -> Result<> {
                        WEIR_TRY(catalogue->file_opened(file));
                        return catalogue->file_closed(close_of(file));
                    })
                    .has_value());
    EXPECT_EQ(catalogue->file(file.guid).value()->file_state, FileState::closed);
}

TEST_F(CatalogueFiles, AFileThatWasClosedIsReadBackAsItWasWritten) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    EXPECT_EQ(catalogue->file(file.guid).value(), file);

    const auto close = close_of(file);
    ASSERT_TRUE(catalogue->file_closed(close).has_value());
    auto expected = file;
    expected.name = close.name;
    expected.events = close.events;
    expected.bytes = close.bytes;
    expected.event_bytes = close.event_bytes;
    expected.first_event = close.first_event;
    expected.last_event = close.last_event;
    expected.sums = {{"adler32", "00000abc"}, {"crc32c", "0badcafe"}};
    expected.file_state = FileState::closed;
    expected.closed = close.at;
    EXPECT_EQ(open()->file(file.guid).value(), expected);
}

TEST_F(CatalogueFiles, AFileOfAnUnknownOrClosedRunIsRefused) {
    auto catalogue = catalogue_with_run(17);
    EXPECT_EQ(code_of(catalogue->file_opened(file_of(18))), Errc::refused);
    EXPECT_EQ(code_of(catalogue->file_opened(file_of(17, 1, "recorder-2"))), Errc::refused);
    ASSERT_TRUE(catalogue->close_run(RunNumber{17}, "recorder-1", time_of(1)).has_value());
    const auto late = catalogue->file_opened(file_of(17));
    ASSERT_FALSE(late.has_value());
    EXPECT_EQ(late.error().code, Errc::refused);
    EXPECT_TRUE(catalogue->files().value().empty());
}

TEST_F(CatalogueFiles, NeitherAGuidNorANameIsTakenTwice) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    auto same_name = file;
    same_name.guid = Guid::random();
    EXPECT_EQ(code_of(catalogue->file_opened(same_name)), Errc::refused);
    auto same_guid = file;
    same_guid.name = "another";
    EXPECT_EQ(code_of(catalogue->file_opened(same_guid)), Errc::refused);
    EXPECT_EQ(catalogue->files().value(), std::vector<FileRow>{file});
}

TEST_F(CatalogueFiles, MarksAndLedgersAreWrittenWithTheClose) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    const std::vector<SessionMark> marks{mark_of(17, 0, "1-100"), mark_of(17, 1, "1-7,9")};
    const std::vector<LedgerRow> ledgers{ledger_of(17, 5, 3, {{"malformed", 2}})};
    ASSERT_TRUE(catalogue->file_closed(close_of(file), marks, ledgers).has_value());
    EXPECT_EQ(catalogue->marks(RunNumber{17}).value(), marks);
    EXPECT_EQ(catalogue->ledgers(RunNumber{17}).value(), ledgers);
}

TEST_F(CatalogueFiles, AMarkThatIsRefusedTakesTheWholeCloseBack) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    const std::vector<SessionMark> marks{mark_of(17, 0, "1-100"), mark_of(99, 1, "1-7")};  // run 99 is unknown
    const auto closed = catalogue->file_closed(close_of(file), marks);
    ASSERT_FALSE(closed.has_value());
    EXPECT_EQ(closed.error().code, Errc::refused);
    EXPECT_EQ(catalogue->file(file.guid).value(), file);
    EXPECT_TRUE(catalogue->marks(RunNumber{17}).value().empty());
}

TEST_F(CatalogueFiles, ClosingAgainWithTheSameContentIsTheSameAsOnce) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    const std::vector<LedgerRow> ledgers{ledger_of(17, 3, 3)};
    auto close = close_of(file);
    ASSERT_TRUE(catalogue->file_closed(close, {}, ledgers).has_value());
    ASSERT_TRUE(catalogue->file_closed(close, {}, ledgers).has_value());
    EXPECT_EQ(catalogue->ledgers(RunNumber{17}).value(), ledgers);
    close.sums[1].value = "abd";
    const auto changed = catalogue->file_closed(close);
    ASSERT_FALSE(changed.has_value());
    EXPECT_EQ(changed.error().code, Errc::refused);
}

TEST_F(CatalogueFiles, ASumOrASizeThatCannotBeIsRefused) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    auto close = close_of(file);
    close.sums = {{"adler32", "not hex"}};
    EXPECT_EQ(code_of(catalogue->file_closed(close)), Errc::usage);
    close.sums = {{"adler32", "1"}, {"adler32", "2"}};
    EXPECT_EQ(code_of(catalogue->file_closed(close)), Errc::usage);
    close = close_of(file);
    close.bytes = 0x8000'0000'0000'0000;
    EXPECT_EQ(code_of(catalogue->file_closed(close)), Errc::limit);
    EXPECT_EQ(catalogue->file(file.guid).value()->file_state, FileState::opened);
}

TEST_F(CatalogueFiles, NothingIsDeletedBeforeItWasHandedOver) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    EXPECT_EQ(code_of(catalogue->file_transferred(file.guid)), Errc::refused);
    ASSERT_TRUE(catalogue->file_closed(close_of(file)).has_value());
    const auto early = catalogue->file_deleted(file.guid, file.volume, file.name);
    ASSERT_FALSE(early.has_value());
    EXPECT_EQ(early.error().code, Errc::refused);
    EXPECT_THAT(early.error().context, HasSubstr("no copy of it was verified"));
    ASSERT_TRUE(catalogue->file_transferred(file.guid).has_value());
    const auto closed = close_of(file);
    ASSERT_TRUE(catalogue->file_deleted(file.guid, closed.volume, closed.name).has_value());
    const auto row = catalogue->file(file.guid).value().value();
    EXPECT_EQ(row.file_state, FileState::deleted);
    EXPECT_EQ(row.transfer_state, TransferState::transferred);
    EXPECT_EQ(row.sums.size(), 2U);
    EXPECT_EQ(code_of(catalogue->file_deleted(Guid::random(), closed.volume, closed.name)), Errc::refused);
}

TEST_F(CatalogueFiles, AQuarantinedFileIsNotHandedOver) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    ASSERT_TRUE(catalogue->file_closed(close_of(file)).has_value());
    ASSERT_TRUE(catalogue->set_file_health(file.guid, FileHealth::quarantined).has_value());
    EXPECT_EQ(code_of(catalogue->file_transferred(file.guid)), Errc::refused);
    EXPECT_EQ(code_of(catalogue->set_file_health(Guid::random(), FileHealth::sane)), Errc::refused);
}

TEST_F(CatalogueFiles, AFileThatACrashCutShortIsHandedOver) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    auto close = close_of(file);
    close.file_health = FileHealth::truncated;
    ASSERT_TRUE(catalogue->file_closed(close).has_value());
    EXPECT_TRUE(catalogue->file_transferred(file.guid).has_value());
    EXPECT_EQ(catalogue->file(file.guid).value()->file_health, FileHealth::truncated);
}

TEST_F(CatalogueFiles, QueriesNameWhatMustMatch) {
    auto catalogue = catalogue_with_run(17);
    ASSERT_TRUE(catalogue->open_run(start(18)).has_value());
    const auto a = file_of(17, 1);
    const auto b = file_of(17, 2);
    auto c = file_of(18, 1);
    c.stream_type = "calibration";
    c.stream_name = "TLA";
    c.volume = "/data/2";
    for (const auto& file : {c, b, a}) ASSERT_TRUE(catalogue->file_opened(file).has_value());
    ASSERT_TRUE(catalogue->file_closed(close_of(b)).has_value());

    const auto names = [&](const FileQuery& query) {
        std::vector<Guid> guids;
        for (const auto& row : good(catalogue->files(query))) guids.push_back(row.guid);
        return guids;
    };
    EXPECT_EQ(names({}), (std::vector<Guid>{a.guid, b.guid, c.guid}));
    EXPECT_EQ(names({.run = RunNumber{17}}), (std::vector<Guid>{a.guid, b.guid}));
    EXPECT_EQ(names({.stream_type = "calibration", .stream_name = "TLA"}), std::vector<Guid>{c.guid});
    EXPECT_EQ(names({.volume = "/data/2"}), std::vector<Guid>{c.guid});
    EXPECT_EQ(names({.file_state = FileState::closed}), std::vector<Guid>{b.guid});
    EXPECT_EQ(names({.run = RunNumber{17}, .file_state = FileState::opened}), std::vector<Guid>{a.guid});
    EXPECT_EQ(names({.transfer_state = TransferState::transferred}), std::vector<Guid>{});
    EXPECT_EQ(names({.lumi_block = LumiBlock{7}, .file_health = FileHealth::sane}).size(), 3U);
    EXPECT_EQ(names({.recorder = "recorder-2"}), std::vector<Guid>{});
}

TEST_F(CatalogueFiles, OddNamesAreReadBackByteForByte) {
    auto catalogue = open();
    std::string odd = "o'dd \"name\" \\ %s ;-- ? $1 \n\t\x01 \xc3\xa9";
    if (uri_.empty()) odd += "\xff\xfe";  // PostgreSQL keeps UTF-8
    ASSERT_TRUE(catalogue->open_run(start(1, odd)).has_value());
    auto file = file_of(1);
    file.recorder = file.volume = file.name = file.stream_name = file.stream_type = file.format = odd;
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    EXPECT_EQ(catalogue->file(file.guid).value(), file);
    EXPECT_EQ(catalogue->files({.stream_name = odd}).value(), std::vector<FileRow>{file});
    EXPECT_TRUE(catalogue->check().has_value());
}

TEST_F(CatalogueFiles, AFileCanMoveToAFreeNameOnly) {
    auto catalogue = catalogue_with_run(17);
    const auto a = file_of(17, 1);
    const auto b = file_of(17, 2);
    ASSERT_TRUE(catalogue->file_opened(a).has_value());
    ASSERT_TRUE(catalogue->file_opened(b).has_value());
    EXPECT_EQ(code_of(catalogue->file_moved(a.guid, "/data/3", "moved")), Errc::refused) << "it is open";
    ASSERT_TRUE(catalogue->file_closed(close_of(a)).has_value());
    EXPECT_EQ(code_of(catalogue->file_moved(a.guid, b.volume, b.name)), Errc::refused);
    ASSERT_TRUE(catalogue->file_moved(a.guid, "/data/3", "moved").has_value());
    EXPECT_EQ(catalogue->file(a.guid).value()->volume, "/data/3");
    EXPECT_EQ(catalogue->file(a.guid).value()->name, "moved");
}

TEST_F(CatalogueFiles, AFileThatMovedIsNotDeletedWhereItWasAndOneThatIsDeletedDoesNotMove) {
    auto catalogue = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(catalogue->file_opened(file).has_value());
    ASSERT_TRUE(catalogue->file_closed(close_of(file)).has_value());
    ASSERT_TRUE(catalogue->file_transferred(file.guid).has_value());
    ASSERT_TRUE(catalogue->file_moved(file.guid, "/data/3", file.name).has_value());
    EXPECT_EQ(code_of(catalogue->file_deleted(file.guid, file.volume, file.name)), Errc::refused);
    EXPECT_EQ(catalogue->file(file.guid).value()->file_state, FileState::closed);
    ASSERT_TRUE(catalogue->file_deleted(file.guid, "/data/3", file.name).has_value());
    EXPECT_EQ(code_of(catalogue->file_moved(file.guid, "/data/4", file.name)), Errc::refused);
    EXPECT_EQ(catalogue->file(file.guid).value()->volume, "/data/3");
}

TEST_F(CatalogueFiles, OnlyAFileThatWasNeverClosedCanBeForgotten) {
    auto catalogue = catalogue_with_run(17);
    const auto a = file_of(17, 1);
    const auto b = file_of(17, 2);
    ASSERT_TRUE(catalogue->file_opened(a).has_value());
    ASSERT_TRUE(catalogue->file_opened(b).has_value());
    ASSERT_TRUE(catalogue->file_closed(close_of(b)).has_value());
    ASSERT_TRUE(catalogue->remove_opened_file(a.guid).has_value());
    EXPECT_EQ(catalogue->file(a.guid).value(), std::nullopt);
    EXPECT_EQ(code_of(catalogue->remove_opened_file(b.guid)), Errc::refused);
}

TEST_F(CatalogueFiles, ARebuiltCatalogueEqualsTheFirstHoweverOftenItIsRebuilt) {
    auto first = catalogue_with_run(17);
    const auto file = file_of(17);
    ASSERT_TRUE(first->file_opened(file).has_value());
    ASSERT_TRUE(first->file_closed(close_of(file)).has_value());
    ASSERT_TRUE(first->close_run(RunNumber{17}, "recorder-1", time_of(80)).has_value());

    auto rebuilt = open_sqlite_catalogue(directory_ / "rebuilt.sqlite").value();
    for (int round = 0; round < 2; ++round) {
        for (const auto& run : good(first->runs())) ASSERT_TRUE(rebuilt->put_run(run).has_value());
        for (const auto& row : good(first->files())) ASSERT_TRUE(rebuilt->put_file(row).has_value());
    }
    EXPECT_EQ(rebuilt->runs().value(), first->runs().value());
    EXPECT_EQ(rebuilt->files().value(), first->files().value());
    EXPECT_EQ(rebuilt->streams(RunNumber{17}).value(), first->streams(RunNumber{17}).value());
    EXPECT_EQ(rebuilt->lumi_blocks(RunNumber{17}).value(), first->lumi_blocks(RunNumber{17}).value());
    EXPECT_EQ(code_of(rebuilt->put_file(file_of(99))), Errc::refused);
}

TEST_F(CatalogueFiles, AnAnswerTooLargeForMemoryIsAnErrorNotACut) {
    {
        auto catalogue = catalogue_with_run(17);
        for (std::uint32_t i = 1; i <= 3; ++i) ASSERT_TRUE(catalogue->file_opened(file_of(17, i)).has_value());
    }
    const auto files = try_to_open(2).value()->files();
    ASSERT_FALSE(files.has_value());
    EXPECT_EQ(files.error().code, Errc::limit);
}

}  // namespace
}  // namespace weir::catalogue
