// SPDX-License-Identifier: Apache-2.0
// A catalogue that was lost, damaged or is too old comes back from the files.
#include "weir/recovery/rebuild.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "weir/catalogue/catalogue_place.hpp"
#include "weir/catalogue/hand_off_lock.hpp"
#include "weir/catalogue/run_record_file.hpp"
#include "weir/catalogue/sqlite_catalogue.hpp"
#include "weir/datafile/stored_index.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"
#include "weir/recovery/run_holdings.hpp"

namespace weir::recovery {
namespace {

using namespace std::chrono_literals;

class RebuildTest : public testing::RecordingFixture {
protected:
    RebuildTest() { options_.file_events_max = 4; }

    /// Events 1 to `last`, the odd ones in two streams; what the recorder does then is the caller's.
    std::unique_ptr<recorder::Recorder> record(std::uint64_t last) {
        auto recorder = start();
        const auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= last; ++id) {
            std::vector<StreamTag> tags{stream("physics_Main")};
            if (id % 2 == 1) tags.push_back(stream("express_express"));
            EXPECT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, tags}, event(id, 2000)).has_value());
        }
        EXPECT_TRUE(flushed(*sender));
        return recorder;
    }

    std::filesystem::path path() const { return catalogue::catalogue_path(directory_); }
    void lose_catalogue() const {
        for (const auto* ending : {"", "-wal", "-shm"}) std::filesystem::remove(path().native() + ending);
    }
    Result<RebuildResult> rebuild(catalogue::Catalogue& catalogue) {
        return rebuild_catalogue(options_.directories, catalogue, clock_);
    }

    /// All but what is not in the files: times, how it was recorded, first and last event.
    struct Known {
        std::vector<catalogue::FileRow> files;
        std::vector<catalogue::LedgerRow> ledgers;
        std::vector<catalogue::SessionMark> marks;
        std::vector<std::pair<RunNumber, catalogue::OpenState>> runs;

        bool operator==(const Known&) const = default;
    };
    Known known() const {
        Known all;
        const auto catalogue = this->catalogue();
        all.files = catalogue->files().value();
        for (auto& file : all.files) {
            file.opened = {};
            file.closed.reset();
            file.first_event.reset();
            file.last_event.reset();
        }
        all.ledgers = catalogue->ledgers(*options_.run).value();
        all.marks = catalogue->marks(*options_.run).value();
        const auto runs = catalogue->runs().value();
        for (const auto& run : runs) all.runs.emplace_back(run.run, run.state);
        return all;
    }
};

TEST_F(RebuildTest, ALostCatalogueComesBackAsItWasAndTwiceIsTheSameAsOnce) {
    ASSERT_TRUE(record(10)->stop(60s).has_value());
    const auto before = known();
    ASSERT_EQ(before.files.size(), 5U);
    lose_catalogue();
    for (const std::uint64_t files_added : {5U, 0U}) {
        const auto rebuilt = rebuild(*catalogue()).value();
        EXPECT_EQ(rebuilt.files, 5U);
        EXPECT_EQ(rebuilt.files_added, files_added);
        EXPECT_TRUE(rebuilt.failed.empty());
        EXPECT_EQ(known(), before);
    }
    expect_all_good(5);
}

TEST_F(RebuildTest, TheRecordOfARunComesBackFromTheFileBesideItsFiles) {
    ASSERT_TRUE(record(2)->stop(60s).has_value());
    catalogue::RunRecord record{.run = *options_.run, .weir = "1.2.3", .text = "[data]\n", .sha256 = "ab"};
    record.parameters = {{"comment", "cosmics"}, {"beam", "on"}};
    record.changes = {{WallTime{std::chrono::seconds{1'700'000'000}}, "mask", "0x420000", "ann", "", Level1Id{51}}};
    ASSERT_TRUE(catalogue::write_run_record(directory_, record, Synced::yes));
    lose_catalogue();
    for (const std::uint64_t entered : {1U, 0U}) {
        const auto rebuilt = rebuild(*catalogue()).value();
        EXPECT_EQ(rebuilt.run_records, entered);
        EXPECT_TRUE(rebuilt.failed.empty());
    }
    EXPECT_EQ(catalogue::kept_run_record(*catalogue(), *options_.run), record);
    EXPECT_EQ(catalogue()->run_parameters(*options_.run)->at("comment"), "cosmics");
    std::ofstream(catalogue::run_record_path(directory_, RunNumber{99})) << "{";
    EXPECT_EQ(rebuild(*catalogue())->failed.size(), 1U) << "one that is cut is named, and keeps nothing else back";
}

TEST_F(RebuildTest, ARecordThatTheCatalogueDoesNotTakeIsNamedAndKeepsNothingElseBack) {
    ASSERT_TRUE(record(2)->stop(60s).has_value());
    catalogue::RunRecord large{
        .run = RunNumber{3}, .weir = "1.2.3", .text = std::string(5U << 20, '#'), .sha256 = "ab"};
    ASSERT_TRUE(catalogue::write_run_record(directory_, large, Synced::yes));
    const catalogue::RunRecord small{.run = *options_.run, .weir = "1.2.3", .text = "[data]\n", .sha256 = "ab"};
    ASSERT_TRUE(catalogue::write_run_record(directory_, small, Synced::yes));
    lose_catalogue();
    const auto rebuilt = rebuild(*catalogue()).value();
    EXPECT_EQ(rebuilt.failed.size(), 1U);
    EXPECT_EQ(rebuilt.run_records, 1U);
    EXPECT_EQ(catalogue::kept_run_record(*catalogue(), *options_.run), small);
}

TEST_F(RebuildTest, ARecorderWhoseCatalogueWasLostBringsItBackAndRefusesTheRunThatEnded) {
    ASSERT_TRUE(record(10)->stop(60s).has_value());
    const auto before = known();
    lose_catalogue();
    const auto refused = recorder::Recorder::open(options_, {}, clock_);
    ASSERT_FALSE(refused.has_value());
    EXPECT_NE(refused.error().message().find("next free"), std::string::npos) << refused.error().message();
    EXPECT_EQ(known(), before);
    options_.run.reset();
    EXPECT_EQ(recorder::Recorder::open(options_, {}, clock_).value()->run(), RunNumber{18});
}

TEST_F(RebuildTest, AFileThatMayHaveLostWhatWasNotAcknowledgedStaysTruncatedInACatalogueThatComesBack) {
    record(10).reset();  // no stop(): as after a crash
    ASSERT_TRUE(start()->stop(60s).has_value());
    const auto before = known();
    ASSERT_EQ(std::ranges::count(before.files, catalogue::FileHealth::truncated, &catalogue::FileRow::file_health), 2);
    lose_catalogue();
    ASSERT_TRUE(rebuild(*catalogue()).has_value());
    EXPECT_EQ(known().files, before.files);
}

TEST_F(RebuildTest, BlockNumbersGoOnBehindTheLastFileWhenTheCatalogueKnowsNoneBeforeIt) {
    options_.file_events_max = 2;
    {
        auto recorder = start();
        const auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= 5; ++id)
            ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 2000))
                            .has_value());
        ASSERT_TRUE(flushed(*sender));
        while (data_files().size() < 2) std::this_thread::sleep_for(1ms);
        recorder.reset();  // no stop(): as after a crash
    }
    auto files = data_files();
    std::ranges::sort(files);
    std::filesystem::remove(files.front());
    std::filesystem::remove(files.front().replace_extension(".index"));
    for (const auto& entry : std::filesystem::directory_iterator(directory_))  // the journal would miss that file
        if (entry.path().filename().native().starts_with("weir.journal.")) std::filesystem::remove(entry.path());
    lose_catalogue();

    const auto recorder = start();
    EXPECT_TRUE(recorder->continued());
    const auto sender = connect(*recorder);
    for (std::uint64_t id = 6; id <= 7; ++id)
        ASSERT_TRUE(
            sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 2000)).has_value());
    ASSERT_TRUE(flushed(*sender));
    ASSERT_TRUE(recorder->stop(60s).has_value());
    expect_all_good(3);
}

TEST_F(RebuildTest, ACrashedRunWhoseCatalogueWasLostIsContinuedAndKnowsWhatItHolds) {
    options_.receiver.listen = port_.address();
    auto recorder = start();
    const auto sender = connect(*recorder);
    const auto tags = std::vector{stream("physics_Main"), stream("express_express")};
    const auto send = [&](std::uint64_t first, std::uint64_t last) {
        for (std::uint64_t id = first; id <= last; ++id)
            ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, tags}, event(id, 2000)).has_value());
        ASSERT_TRUE(flushed(*sender));
    };
    send(1, 6);
    recorder.reset();  // it dies
    lose_catalogue();
    recorder = start();
    EXPECT_TRUE(recorder->continued());
    send(7, 8);
    auto again = sender_options_for(recorder->port());
    again.incarnation = sender->session().incarnation;
    again.connection = sender->session().connection;
    const auto duplicate = delivery::Sender::open(again).value();  // the recorder would take its events for old ones
    const auto sent = duplicate->send({GlobalEventId{1}, {}, LumiBlock{1}, tags}, event(1, 2000));
    const auto refused = duplicate->flush(30s);
    EXPECT_TRUE(!sent || !refused);
    ASSERT_TRUE(recorder->stop(60s).has_value());
    std::map<std::string, std::multiset<std::uint64_t>> stored;
    for (const auto& path : data_files()) {
        const auto index = datafile::StoredIndex::read(datafile::index_path_of(path)).value();
        for (const auto& copy : index.copies) stored[index.opened.stream_name].insert(number(copy.event));
    }
    const std::multiset<std::uint64_t> each_once{1, 2, 3, 4, 5, 6, 7, 8};
    EXPECT_EQ(stored["Main"], each_once);
    EXPECT_EQ(stored["express"], each_once);
}

TEST_F(RebuildTest, AnOlderCopyOfTheCatalogueLearnsWhatCameSinceAndKeepsWhatOnlyItKnows) {
    ASSERT_TRUE(record(10)->stop(60s).has_value());
    const auto transferred = catalogue()->files().value().front().guid;
    ASSERT_TRUE(catalogue()->file_transferred(transferred).has_value());
    {
        auto closed = catalogue();
    }
    const auto copy = directory_ / "copy";
    std::filesystem::copy_file(path(), copy);
    options_.run = RunNumber{18};
    ASSERT_TRUE(record(4)->stop(60s).has_value());
    const auto before = known();
    lose_catalogue();
    std::filesystem::rename(copy, path());
    const auto rebuilt = rebuild(*catalogue()).value();
    EXPECT_EQ(rebuilt.files_added, 2U);
    EXPECT_EQ(rebuilt.runs_added, 1U);
    EXPECT_EQ(known(), before);
    EXPECT_EQ(catalogue()->file(transferred).value()->transfer_state, catalogue::TransferState::transferred);
}

TEST_F(RebuildTest, ADamagedCatalogueIsSetAsideNeverOverwritten) {
    ASSERT_TRUE(record(10)->stop(60s).has_value());
    const auto before = known();
    lose_catalogue();
    std::ofstream(path()) << "not a database, whatever it was before";
    {
        const auto hand_off =
            catalogue::HandOffLock::take(catalogue::catalogue_path(directory_));  // it has the catalogue open
        EXPECT_EQ(open_to_rebuild(path()).error().code, Errc::refused);
    }
    auto opened = open_to_rebuild(path()).value();
    EXPECT_FALSE(catalogue::HandOffLock::take(catalogue::catalogue_path(directory_)).has_value());
    EXPECT_EQ(opened.set_aside, path().native() + ".damaged-1");
    EXPECT_TRUE(std::filesystem::exists(opened.set_aside));
    ASSERT_TRUE(rebuild(*opened.catalogue).has_value());
    opened.catalogue.reset();
    EXPECT_EQ(known(), before);
}

TEST_F(RebuildTest, AFileWithoutIndexIsReadAndAFileThatIsNoneIsNamed) {
    ASSERT_TRUE(record(3)->stop(60s).has_value());
    const auto before = known();
    lose_catalogue();
    const auto files = data_files();
    ASSERT_EQ(files.size(), 2U);
    std::filesystem::remove(datafile::index_path_of(files[0]));
    std::filesystem::remove(datafile::index_path_of(files[1]));
    std::filesystem::resize_file(files[1], 100);
    const auto rebuilt = rebuild(*catalogue()).value();
    EXPECT_EQ(rebuilt.files, 1U);
    ASSERT_EQ(rebuilt.failed.size(), 1U);
    EXPECT_NE(rebuilt.failed[0].message().find(files[1].native()), std::string::npos);
    const auto rows = known().files;
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].events, before.files[0].events);
    EXPECT_EQ(rows[0].sums.front(), before.files[0].sums.front());  // adler32
}

TEST_F(RebuildTest, WhatADamagedCatalogueStillSaysOfTheHealthOfFilesAndOfItsReadersIsKept) {
    options_.recorder = "Recorder-of-the-marks";
    ASSERT_TRUE(record(10)->stop(120s).has_value());
    std::vector<catalogue::ReaderState> readers;
    {
        const auto healthy = catalogue();
        const auto files = healthy->files().value();
        const auto& file = files.front();
        readers = {{file.run, file.recorder, "", "", {}, {}, "SEEN"},
                   {file.run, file.recorder, file.stream_type, file.stream_name, file.lumi_block, {}, "RUNNING"},
                   {file.run, file.recorder, file.stream_type, file.stream_name, {}, file.guid, "DONE"}};
        ASSERT_TRUE(healthy->set_file_health(files[0].guid, catalogue::FileHealth::truncated).has_value());
        ASSERT_TRUE(healthy->set_file_health(files[1].guid, catalogue::FileHealth::quarantined).has_value());
        for (const auto& state : readers) ASSERT_TRUE(healthy->set_reader_state(state).has_value());
        auto mark = healthy->marks(*options_.run).value().front();
        mark.sender = "the-damaged-one";
        ASSERT_TRUE(healthy->set_marks({&mark, 1}).has_value());
    }
    const auto before = known().files;
    constexpr std::size_t page = 4096;
    std::string bytes = read_text(path(), 64_MiB).value();
    for (auto at = bytes.find("the-damaged-one"); at != std::string::npos; at = bytes.find("the-damaged-one"))
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(at / page * page), page, '\xff');
    std::ofstream(path(), std::ios::binary) << bytes;
    auto opened = open_to_rebuild(path()).value();
    ASSERT_FALSE(opened.set_aside.empty());
    EXPECT_EQ(read_text(opened.set_aside, 64_MiB).value(), bytes);
    EXPECT_EQ(opened.remains.not_sane.size(), 2U);
    ASSERT_TRUE(rebuild_catalogue(options_.directories, *opened.catalogue, clock_, opened.remains).has_value());
    EXPECT_EQ(opened.catalogue->reader_states().value(), readers);
    opened.catalogue.reset();
    EXPECT_EQ(known().files, before);
}

TEST_F(RebuildTest, ACopyThatWasLostStaysInTheLedger) {
    ASSERT_TRUE(record(3)->stop(120s).has_value());
    auto row = catalogue()->ledgers(*options_.run).value().front();
    row.received += 1;
    ASSERT_TRUE(catalogue()->set_ledger(row).has_value());
    const auto before = known();
    ASSERT_TRUE(rebuild(*catalogue()).has_value());
    EXPECT_EQ(known(), before);
}

TEST_F(RebuildTest, AFileThatIsDeletedWhileItsDirectoryIsReadIsNoFault) {
    ASSERT_TRUE(record(3)->stop(120s).has_value());
    const auto before = known();
    const auto gone = data_files().front().native();
    const auto name = gone.substr(0, gone.rfind("._0001"));
    for (const auto* ending : {"._0077.data", "._0077.index"})  // listed, and not there when it is opened
        std::filesystem::create_symlink(directory_ / "deleted", name + ending);
    const auto rebuilt = rebuild(*catalogue()).value();
    EXPECT_TRUE(rebuilt.failed.empty());
    EXPECT_EQ(known(), before);
    EXPECT_TRUE(run_holdings(*options_.run, options_.directories, *catalogue(), options_.recorder).has_value());
}

TEST_F(RebuildTest, TheVolumesOfADeadRecorderAreTakenOverWithWhatItsCatalogueKnew) {
    options_.recorder = "SFO-1";
    auto recorder = record(10);
    recorder.reset();  // it dies and does not come back
    std::string pattern = (std::filesystem::temp_directory_path() / "weir-successor-XXXXXX").string();
    const std::filesystem::path successor_directory = ::mkdtemp(pattern.data());
    {
        const auto successor = catalogue::open_sqlite_catalogue(catalogue::catalogue_path(successor_directory)).value();
        for (int again = 0; again < 2; ++again) {
            const auto adopted = adopt_volumes(options_.directories, *successor, clock_).value();
            EXPECT_EQ(adopted.files, 5U);
            EXPECT_TRUE(adopted.failed.empty());
        }
        const auto runs = successor->runs().value();
        ASSERT_EQ(runs.size(), 1U);
        EXPECT_EQ(runs[0].recorder, "SFO-1");
        EXPECT_EQ(runs[0].state, catalogue::OpenState::closed);
        EXPECT_EQ(runs[0].mode, "receipt");
        EXPECT_EQ(successor->marks(*options_.run).value().size(), 1U);
        std::uint64_t stored = 0;
        const auto ledgers = successor->ledgers(*options_.run).value();
        for (const auto& ledger : ledgers) {
            EXPECT_EQ(ledger.received, ledger.stored);
            stored += ledger.stored;
        }
        EXPECT_EQ(stored, 15U);
        const auto files = successor->files().value();
        for (const auto& file : files) EXPECT_EQ(file.file_state, catalogue::FileState::closed);
    }
    EXPECT_FALSE(std::filesystem::exists(path()));  // no program goes on with it
    std::filesystem::remove_all(successor_directory);
}

}  // namespace
}  // namespace weir::recovery
