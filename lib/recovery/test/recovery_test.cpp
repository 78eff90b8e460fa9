// SPDX-License-Identifier: Apache-2.0
// What recovery makes of a directory in which more is broken than a crash breaks.
#include "weir/recovery/recovery.hpp"

#include "long_recording.hpp"
#include "recovery_fixture.hpp"
#include "weir/base/leaving_file.hpp"
#include "weir/base/testing/faulty_file_system.hpp"
#include "weir/datafile/raw_file_reader.hpp"

namespace weir::recovery {
namespace {

using namespace std::chrono_literals;

TEST_F(RecoveryTest, AJournalThatEndsInsideARecordHasEverythingThatWasAcknowledged) {
    crash();
    auto bytes = bytes_of(journal());
    const auto copy = encoded(all_of<datafile::StoredCopy>(bytes).back());
    bytes.insert(bytes.end(), copy.begin(), copy.end() - 1);
    write(journal(), bytes);
    expect_all_kept();
}

TEST_F(RecoveryTest, AFileOfWhichOnlyTheStartIsDurableIsGoneAndTheCatalogueForgetsIt) {
    crash();
    // A round found its first event still being copied: it made the start durable, and named the file.
    auto opened = datafile::read_journals({journal()}).value().opened.begin()->second;
    opened.guid = Guid::random();
    opened.stream_name = "Rare";
    opened.name.replace(opened.name.find("Main"), 4, "Rare");
    write(directory_ / (opened.name + ".writing"), opened.start);
    auto bytes = bytes_of(journal());
    encode(datafile::JournalCommit{bytes.size()}, bytes);
    encode(opened, bytes);
    write(journal(), bytes);
    {
        const auto known = catalogue();
        catalogue::FileRow row = known->files().value().front();
        row.guid = opened.guid;
        row.stream_name = "Rare";
        row.name = opened.name + ".writing";
        ASSERT_TRUE(known->put_file(row).has_value());
        const auto result = recover_and_record(directory_, options_.recorder, *known, clock_).value();
        EXPECT_TRUE(result.failed.empty());
        EXPECT_TRUE(result.doubts.empty());
        EXPECT_EQ(result.removed.size(), 1U);
        ASSERT_EQ(known->files().value().size(), 1U);
        EXPECT_EQ(known->files().value().front().events, events_sent);
    }
    expect_all_kept();
}

TEST_F(RecoveryTest, AFileThatAHandOffWasAboutToDeleteWhenItDiedHasItsNameBack) {
    crash();
    ASSERT_TRUE(start()->stop(120s).has_value());
    const auto file = data_files().front();
    std::filesystem::rename(file, leaving_name(file));
    const auto result = recover_directory(directory_, clock_);
    ASSERT_TRUE(result.has_value() && result->failed.empty());
    EXPECT_EQ(data_files().front(), file);
}

TEST_F(RecoveryTest, ADamagedRecordBeforeOthersCostsNoEventAndIsSaid) {
    crash();
    auto damaged = bytes_of(journal());
    damaged[last_rounds(damaged, 3)] ^= std::byte{4};
    write(journal(), damaged);
    expect_all_kept_and_reported("journal.000001 is damaged");
    EXPECT_EQ(bytes_of(journal().native() + ".damaged-1"), damaged);  // for inspection
    EXPECT_TRUE(datafile::JournalWriter::find(directory_).value().empty());
}

TEST_F(RecoveryTest, AnEmptyJournalIsDamagedAndNeverYoung) {
    crash();
    write(journal(), {});
    expect_all_kept_and_reported("journal.000001 is empty");
}

TEST_F(RecoveryTest, AJournalThatIsGoneCostsNoEventAndIsSaid) {
    crash();
    ASSERT_TRUE(std::filesystem::remove(journal()));
    expect_all_kept_and_reported("its journal is gone");
}

TEST_F(RecoveryTest, AJournalThatWasCutBetweenRoundsCostsNoEventAndIsSaid) {
    crash();
    cut_journal(3);
    expect_all_kept_and_reported("3 events of 3 rounds are not in the journal");
}

TEST_F(RecoveryTest, ARoundThatIsInTheIndexAndNotInTheJournalIsKeptWithoutAlarm) {
    crash();
    cut_journal(1);  // as when the recorder is killed between the two
    EXPECT_TRUE(doubts_at_start().empty());
    expect_all_good(1);
    EXPECT_EQ(datafile::StoredIndex::read(datafile::index_path_of(data_files().front()))->copies.size(), events_sent);
}

TEST_F(RecoveryTest, WithoutJournalAndIndexWholeEventsAreKeptAndNobodySaysWhoSentThem) {
    crash();
    write(journal(), {});
    for (const auto& [path, bytes] : open_files()) {
        if (path.native().ends_with(".index.writing")) std::filesystem::remove(path);
    }
    const auto result = recover_directory(directory_, clock_).value();
    ASSERT_EQ(result.files.size(), 1U);
    EXPECT_EQ(result.files.front().closed.events, events_sent);
    EXPECT_FALSE(result.doubts.empty());
    const auto index = datafile::StoredIndex::read(datafile::index_path_of(data_files().front())).value();
    EXPECT_EQ(index.closed.content.first_event, std::nullopt);  // also for a catalogue that is rebuilt from the files
    EXPECT_EQ(index.closed.content.last_event, std::nullopt);
}

TEST_F(RecoveryTest, AnEmptyFileWithoutJournalAndIndexHoldsNothingAndIsGone) {
    const auto empty = directory_ / "data_test.00000017.physics_Main.daq.RAW._lb0001._weir._0009.writing";
    write(empty, {});
    const auto result = recover_directory(directory_, clock_).value();
    EXPECT_TRUE(result.failed.empty());
    EXPECT_FALSE(std::filesystem::exists(empty));
}

TEST_F(RecoveryTest, TheIndexOfAFileThatIsGoneIsKeptUntilTheFileIsPutBack) {
    crash();
    write(journal(), {});
    std::filesystem::path vanished;
    for (const auto& [path, bytes] : open_files()) {
        if (!path.native().ends_with(".index.writing")) vanished = path;
    }
    const auto elsewhere = directory_ / "elsewhere";
    std::filesystem::rename(vanished, elsewhere);
    const auto doubts = doubts_at_start();
    EXPECT_TRUE(std::ranges::any_of(doubts, [&](const auto& doubt) { return doubt.contains(".index.writing"); }))
        << fmt::format("{}", fmt::join(doubts, "; "));
    std::filesystem::rename(elsewhere, vanished);
    const auto recovered = recover_and_record(directory_, options_.recorder, *catalogue(), clock_);
    ASSERT_TRUE(recovered.has_value() && recovered->failed.empty());
    ASSERT_EQ(data_files().size(), 1U);
    const auto index = datafile::StoredIndex::read(datafile::index_path_of(data_files().front())).value();
    EXPECT_EQ(index.copies.size(), events_sent);
    for (const auto& copy : index.copies) EXPECT_TRUE(wire::valid(copy.sequence));
    EXPECT_TRUE(recover_and_record(directory_, options_.recorder, *catalogue(), clock_).value().doubts.empty());
    expect_all_good(1);
}

TEST_F(RecoveryTest, AFileThatIsGoneIsInDoubtAlsoWhenTheJournalWasCutBeforeAllOfItsRounds) {
    crash();
    options_.run_again = true;  // each of the starts below closes the run
    cut_journal(events_sent);   // nothing shows that it is not whole and young
    std::filesystem::path gone;
    for (const auto& [path, content] : open_files()) {
        if (!path.native().ends_with(".index.writing")) gone = path;
    }
    const auto elsewhere = directory_ / "elsewhere";
    std::filesystem::rename(gone, elsewhere);
    for (int again = 0; again < 2; ++again) {
        const auto doubts = doubts_at_start();
        ASSERT_EQ(doubts.size(), 1U) << fmt::format("{}", fmt::join(doubts, "; "));
        EXPECT_TRUE(doubts[0].contains(fmt::format("index.writing names {} events", events_sent))) << doubts[0];
        const auto rows = catalogue()->files().value();
        ASSERT_EQ(rows.size(), 1U);
        EXPECT_EQ(rows[0].file_state, catalogue::FileState::closed);
        EXPECT_EQ(rows[0].file_health, catalogue::FileHealth::quarantined);
    }
    std::filesystem::rename(elsewhere, gone);
    const auto recovered = recover_and_record(directory_, options_.recorder, *catalogue(), clock_);
    ASSERT_TRUE(recovered.has_value() && recovered->failed.empty());
    EXPECT_TRUE(recover_and_record(directory_, options_.recorder, *catalogue(), clock_).value().doubts.empty());
    expect_all_kept();
}

TEST_F(RecoveryTest, AFileThatIsDamagedIsSetAsideAlsoWhenTheJournalWasCutBeforeAllOfItsRounds) {
    crash();
    const auto start_size = datafile::read_journals({journal()}).value().opened.begin()->second.start.size();
    cut_journal(events_sent);
    for (const auto& [path, content] : open_files()) {
        if (path.native().ends_with(".index.writing")) continue;
        auto damaged = content;
        damaged.at(start_size) ^= std::byte{1};  // the first event is none any more
        write(path, damaged);
    }
    const auto result = recover_directory(directory_, clock_).value();
    EXPECT_TRUE(result.removed.empty());
    ASSERT_FALSE(result.doubts.empty());
    EXPECT_TRUE(result.doubts[0].message().contains(".cut-1")) << result.doubts[0].message();
}

TEST_F(RecoveryTest, AnIndexThatIsLeftOfAFileThatWasHandedOverGoesWithoutAWord) {
    crash();
    const auto open = open_files();
    expect_all_kept();
    const auto data = data_files().front();
    for (const auto& [path, bytes] : open) {  // could not be removed when the file was closed
        if (path.native().ends_with(".index.writing")) write(path, bytes);
    }
    std::filesystem::remove(datafile::index_path_of(data));
    std::filesystem::remove(data);
    const auto result = recover_and_record(directory_, options_.recorder, *catalogue(), clock_).value();
    EXPECT_TRUE(result.doubts.empty());
    EXPECT_EQ(result.removed.size(), 1U);
}

TEST_F(RecoveryTest, AnIndexThatIsShortCutsNoEventWhereTheJournalIsDamaged) {
    options_.direct = recorder::DirectIo::off;
    crash();
    write(journal(), {});
    for (const auto& [path, bytes] : open_files()) {  // as when the disk had no room for the index of two rounds
        if (path.native().ends_with(".index.writing")) std::filesystem::resize_file(path, last_rounds(bytes, 2));
    }
    const auto result = recover_directory(directory_, clock_).value();
    ASSERT_EQ(result.files.size(), 1U);
    const auto& file = result.files.front();
    EXPECT_EQ(file.closed.events, events_sent - 2);
    ASSERT_TRUE(file.rest);
    EXPECT_GE(bytes_of(*file.rest).size(), 2U * event_size);
    EXPECT_TRUE(std::ranges::any_of(
        result.doubts, [&](const Error& doubt) { return doubt.message().contains(file.rest->filename().native()); }));
}

TEST_F(RecoveryTest, AFileThatIsClosedAnewKeepsItsIndexUntilTheNextOneIsWholeSoThatADamagedJournalCostsNoEvent) {
    crash();
    const auto opened = datafile::read_journals({journal()}).value().opened.begin()->second;
    const auto size = std::filesystem::file_size(directory_ / (opened.name + ".writing"));
    testing::FaultyFileSystem faults;
    faults.set({.call = testing::Call::pwrite, .error = EIO, .path_part = ".index"});
    EXPECT_FALSE(close_up(directory_, opened, size, events_sent, clock_, faults).has_value());
    cut_journal(2);
    const auto result = recover_directory(directory_, clock_).value();
    ASSERT_EQ(result.files.size(), 1U);
    EXPECT_EQ(result.files.front().closed.events, events_sent);
}

TEST_F(RecoveryTest, ARecoveryThatIsCutShortBetweenTwoIndexesLeavesOneOfThemToTheNext) {
    crash();
    cut_journal(2);                                     // only the index names these events
    for (const auto& [path, content] : open_files()) {  // a close got as far as this
        if (path.native().ends_with(".index.writing")) std::filesystem::rename(path, path.parent_path() / path.stem());
    }
    testing::FaultyFileSystem faults;
    faults.set({.call = testing::Call::rename_new, .error = EIO, .path_part = ".index"});
    EXPECT_FALSE(recover_directory(directory_, clock_, {}, {}, faults).value().failed.empty());
    EXPECT_TRUE(recover_directory(directory_, clock_, {}, {}, faults).value().failed.empty());
    ASSERT_EQ(data_files().size(), 1U);
    EXPECT_EQ(datafile::StoredIndex::read(datafile::index_path_of(data_files().front()))->copies.size(), events_sent);
}

TEST_F(RecoveryTest, OnAFullDiskTheIndexOfAFileThatIsClosedAnewTakesThePlaceOfTheOneBefore) {
    crash();
    const auto opened = datafile::read_journals({journal()}).value().opened.begin()->second;
    const auto size = std::filesystem::file_size(directory_ / (opened.name + ".writing"));
    testing::FaultyFileSystem faults;
    faults.set({.call = testing::Call::pwrite, .error = ENOSPC, .path_part = ".index.recovering"});
    EXPECT_FALSE(close_up(directory_, opened, size, events_sent, clock_, faults).has_value());
    const auto closed = close_up(directory_, opened, size, events_sent, clock_, faults, IndexPlace::over);
    ASSERT_TRUE(closed.has_value()) << closed.error().message();
    EXPECT_EQ(datafile::StoredIndex::read(datafile::index_path_of(closed->path))->copies.size(), events_sent);
    EXPECT_FALSE(std::filesystem::exists(directory_ / (opened.name + ".index.recovering")));
    expect_all_kept();
}

TEST_F(RecoveryTest, WhatStandsBehindAJournalThatWasCutIsSetAsideWhereTheIndexIsGoneToo) {
    options_.direct = recorder::DirectIo::off;
    crash();
    cut_journal(2);
    for (const auto& [path, content] : open_files()) {
        if (path.native().ends_with(".index.writing")) std::filesystem::remove(path);
    }
    const auto result = recover_directory(directory_, clock_).value();
    ASSERT_EQ(result.files.size(), 1U);
    const auto& file = result.files.front();
    EXPECT_EQ(file.closed.events, events_sent - 2);
    ASSERT_TRUE(file.rest);
    EXPECT_GE(bytes_of(*file.rest).size(), 2U * event_size);
    ASSERT_EQ(result.doubts.size(), 1U);
    EXPECT_NE(result.doubts.front().message().find(file.rest->filename().native()), std::string::npos);
}

TEST_F(RecoveryTest, AFileThatHasBothItsNamesIsOneAndKeepsTheFinalOne) {
    crash();
    ASSERT_TRUE(start()->stop(60s).has_value());
    const auto data = data_files().front();
    auto writing = data;
    writing.replace_extension(".writing");  // killed between link and unlink, where no rename keeps what is there
    std::filesystem::create_hard_link(data, writing);
    const auto result = recover_directory(directory_, clock_);
    ASSERT_TRUE(result.has_value() && result->failed.empty());
    EXPECT_FALSE(std::filesystem::exists(writing));
    expect_all_good(1);
}

TEST_F(RecoveryTest, AWriteOfWhichOnlyTheEndReachedTheDiskWasNeverAcknowledged) {
    crash();
    auto bytes = bytes_of(journal());
    const auto copy = encoded(all_of<datafile::StoredCopy>(bytes).back());
    auto torn = encoded(datafile::JournalCommit{bytes.size()});  // a round of three copies
    const auto lost = torn.size() + copy.size() / 2;
    for (int i = 0; i < 3; ++i) torn.insert(torn.end(), copy.begin(), copy.end());
    std::fill_n(torn.begin(), lost, std::byte{0});
    bytes.insert(bytes.end(), torn.begin(), torn.end());
    write(journal(), bytes);
    expect_all_kept();
}

TEST_F(RecoveryTest, AJournalThatIsMissingBetweenTwoCostsNoEventAndIsSaid) {
    crash();
    // As if the journal had been begun anew twice: what each repeats, and its share of the copies. The last has
    // none yet, so without the second nothing but the numbers shows that copies are missing.
    const auto bytes = bytes_of(journal());
    const auto copies = all_of<datafile::StoredCopy>(bytes);
    ASSERT_EQ(copies.size(), events_sent);
    std::vector<std::byte> repeated;
    for (const auto& file : all_of<datafile::FileOpened>(bytes)) encode(file, repeated);
    for (const auto& session : all_of<datafile::SessionDeclared>(bytes)) encode(session, repeated);
    auto first = repeated;
    for (std::size_t i = 0; i < 2; ++i) encode(copies[i], first);
    write(journal(1), first);
    write(journal(3), repeated);
    expect_all_kept_and_reported("journal.000002 is missing");
}

TEST_F(RecoveryTest, AFileThatVanishedIsNamedAndTheOthersAreRecovered) {
    crash({stream("physics_Main"), stream("express_express")});
    std::filesystem::path vanished;
    for (const auto& [path, bytes] : open_files()) {
        if (path.native().ends_with("express_express.daq.RAW._lb0001._weir._0001.writing")) vanished = path;
    }
    ASSERT_FALSE(vanished.empty());
    auto index = vanished;
    index.replace_extension(".index.writing");
    const auto elsewhere = directory_ / "elsewhere";
    std::filesystem::rename(vanished, elsewhere);
    for (int again = 0; again < 2; ++again) {
        const auto refused = recorder::Recorder::open(options_, {}, clock_);
        ASSERT_FALSE(refused.has_value());
        EXPECT_NE(refused.error().message().find(vanished.filename().native()), std::string::npos)
            << refused.error().message();
        EXPECT_EQ(data_files().size(), 1U);
        EXPECT_TRUE(std::filesystem::exists(journal()));  // for when the file is restored
        EXPECT_TRUE(std::filesystem::exists(index));
    }
    const auto rows = catalogue()->files({.file_state = catalogue::FileState::closed}).value();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].stream_name, "Main");
    EXPECT_EQ(rows[0].file_health, catalogue::FileHealth::truncated);
    std::filesystem::rename(elsewhere, vanished);
    expect_all_kept(2);
    const auto all = catalogue()->files().value();
    for (const auto& row : all) EXPECT_EQ(row.file_health, catalogue::FileHealth::truncated) << row.name;
    const auto ledgers = catalogue()->ledgers(*options_.run).value();
    EXPECT_EQ(ledgers.size(), 2U);
    for (const auto& ledger : ledgers) EXPECT_EQ(ledger.stored, events_sent);
}

TEST_F(RecoveryTest, NoEventIsReadThatTheJournalVouchesFor) {
    const LongRecording recording{
        .run = *options_.run, .files = 3, .events = 500, .event_size = 20'000'000, .sessions = 300};
    const auto made = make_dead_recorder(directory_, recording);  // 30 GB, with holes instead of events
    ASSERT_TRUE(made.has_value()) << made.error().message();
    const auto bytes_read = [] {  // by this process, with read calls of any kind
        std::ifstream io("/proc/self/io");
        std::string name;
        std::uint64_t count = 0;
        io >> name >> count;
        EXPECT_EQ(name, "rchar:");
        return count;
    };
    const auto before = bytes_read();
    const auto recovered = recover_directory(directory_, clock_);
    const auto after = bytes_read();
    ASSERT_TRUE(recovered.has_value()) << recovered.error().message();
    EXPECT_TRUE(recovered->failed.empty());
    ASSERT_EQ(recovered->files.size(), recording.files);
    for (const auto& file : recovered->files) {
        EXPECT_EQ(file.closed.events, recording.events);
        EXPECT_EQ(file.bytes_cut, recording.tail);
    }
    EXPECT_LT(after - before, 2U << 20);  // the journal, and the start of each file
}

}  // namespace
}  // namespace weir::recovery
