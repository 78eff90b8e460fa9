// SPDX-License-Identifier: Apache-2.0
// What the ledger in the catalogue counts of copies that no file holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <map>
#include <memory>
#include <thread>

#include "accounts/ledger_change.hpp"
#include "recording.hpp"
#include "ruled_file_system.hpp"
#include "settlement/held_answers.hpp"
#include "settlement/ledger.hpp"
#include "weir/checksum/crc32c.hpp"
#include "weir/datafile/journal.hpp"
#include "weir/datafile/journal_content.hpp"
#include "weir/datafile/journal_writer.hpp"
#include "weir/recorder/recorder.hpp"
#include "weir/recorder/testing/recording_fixture.hpp"
#include "weir/recovery/ledger_rows.hpp"
#include "weir/recovery/recovery.hpp"

namespace weir::recorder {
namespace {

using namespace std::chrono_literals;

class RecorderLedger : public testing::RecordingFixture {
protected:
    catalogue::LedgerRow row_of(const std::string& stream_name) const {
        const auto rows = catalogue()->ledgers(*options_.run).value();
        const auto row = std::ranges::find(rows, stream_name, &catalogue::LedgerRow::stream_name);
        return row == rows.end() ? catalogue::LedgerRow{} : *row;
    }
};

TEST_F(RecorderLedger, ACopyThatWasReceivedAndHasNoFateIsWrittenAsReceived) {
    Ledger ledger;
    ledger.received(5);
    ledger.stored(100);
    ledger.stored(100);
    ledger.rejected(wire::RejectReason::late);
    ledger.returned();
    const auto counts = ledger.counts();
    const auto meanwhile = ledger_change(counts, {}, 0).value();  // one is in hand
    EXPECT_EQ(meanwhile.received, 2U);
    EXPECT_EQ(meanwhile.stored, 0U);  // it comes with its file
    const std::map<std::string, std::uint64_t> rejected{{"late", 1}, {Ledger::returned_name, 1}};
    EXPECT_EQ(meanwhile.rejected, rejected);
    EXPECT_FALSE(ledger_change(counts, counts, 0));
    const auto at_the_end = ledger_change(counts, counts, counts.in_hand()).value();
    EXPECT_EQ(at_the_end.received, 1U);
    EXPECT_TRUE(at_the_end.rejected.empty());
    ledger.stored(100);
    EXPECT_FALSE(ledger_change(ledger.counts(), counts, ledger.counts().in_hand()));
}

TEST_F(RecorderLedger, WhatWasRejectedBeforeACrashIsInTheLedgerOnce) {
    const auto send_bad = [&](const Recorder& recorder, std::uint64_t id) {
        const auto sender = connect(recorder);
        ASSERT_TRUE(
            sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {stream("physics_Main")}}, event(id, 3000)).has_value());
        auto bytes = event(id + 1, 3000);
        bytes[0] ^= std::byte{1};
        ASSERT_TRUE(
            sender->send({GlobalEventId{id + 1}, {}, LumiBlock{1}, {stream("physics_Main")}}, bytes).has_value());
        ASSERT_TRUE(sender->send({GlobalEventId{id + 2}, {}, LumiBlock{1}, {}}, event(id + 2, 3000)).has_value());
        ASSERT_TRUE(flushed(*sender));
    };
    {
        const auto recorder = start();
        send_bad(*recorder, 1);
    }  // as after a crash, the very moment that the last answer came
    const auto recorder = start();
    EXPECT_EQ(row_of("Main").rejected.size(), 1U);
    send_bad(*recorder, 4);
    ASSERT_TRUE(recorder->stop(120s).has_value());
    EXPECT_TRUE(datafile::JournalWriter::find(directory_).value().empty());
    const std::map<std::string, std::uint64_t> no_tags{{"no_tags", 2}};
    EXPECT_EQ(row_of("unplaced").rejected, no_tags);
    EXPECT_EQ(row_of("unplaced").received, 2U);
    const auto row = row_of("Main");
    const std::map<std::string, std::uint64_t> rejected{{"malformed_event", 2}};
    EXPECT_EQ(row.rejected, rejected);
    EXPECT_EQ(row.stored, 2U);
    EXPECT_EQ(row.received, 4U);
}

TEST_F(RecorderLedger, RejectionsAreWrittenToTheCatalogueWhileItRecords) {
    const auto recorder = start();
    const auto sender = connect(*recorder);
    ASSERT_TRUE(sender->send({GlobalEventId{1}, {}, LumiBlock{1}, {}}, event(1, 3000)).has_value());
    ASSERT_TRUE(flushed(*sender));
    const auto end = clock_.now() + 60s;
    while (row_of("unplaced").rejected.empty() && clock_.now() < end) std::this_thread::sleep_for(10ms);
    EXPECT_EQ(row_of("unplaced").rejected.count("no_tags"), 1U);
}

TEST_F(RecorderLedger, RejectedCopiesAreCountedWhereNoEventIsStored) {
    for (int process = 0; process < 3; ++process) {
        const auto recorder = start();
        const auto sender = connect(*recorder);
        for (std::uint64_t id = 1; id <= 10; ++id)
            ASSERT_TRUE(sender->send({GlobalEventId{id}, {}, LumiBlock{1}, {}}, event(id, 3000)).has_value());
        ASSERT_TRUE(flushed(*sender));
        while (recorder->summary().sync_rounds == 0)
            std::this_thread::sleep_for(1ms);  // it is counted behind the answers
        EXPECT_LE(recorder->summary().sync_rounds, 10U) << "no more than one sync for an event";
    }
    ASSERT_FALSE(recovery::recover_and_record(directory_, options_.recorder, *catalogue(), clock_)
                     .value()
                     .rejected.empty());  // a record a round
    ASSERT_TRUE(
        recovery::recover_and_record(directory_, options_.recorder, *catalogue(), clock_).value().rejected.empty());
    EXPECT_EQ(row_of("unplaced").rejected.at("no_tags"), 30U);
}

TEST_F(RecorderLedger, TheCreditOfALateEventComesBackWhenItsRejectionIsInTheJournal) {
    struct Account final : delivery::CreditHold::Account {
        void return_credit(std::uint64_t bytes) noexcept override { returned.set_value(bytes); }
        std::promise<std::uint64_t> returned;
    };
    options_.late = LatePolicy::reject;
    options_.lumi_blocks_open_max = 1;
    for (const auto mode : {Mode::receipt, Mode::original}) {
        options_.mode = mode;
        memory::BufferPool pool{1_MiB};
        Faulty disk;
        auto recording = Recording::open(options_, {}, clock_, disk).value();
        ASSERT_FALSE(recording->hello(delivery::SessionId{1}, {.session = {"test", 1, 0, *options_.run}}).has_value());
        std::uint64_t sent = 0;
        const auto take = [&](std::uint32_t block, delivery::CreditHold credit) {
            const auto bytes = event(++sent, 3000);
            delivery::IncomingEvent incoming{.session = delivery::SessionId{1},
                                             .format = wire::EventFormat::event_5_0,
                                             .payload = pool.try_take(bytes.size()).value(),
                                             .payload_crc = checksum::crc32c(bytes),
                                             .credit = std::move(credit)};
            std::ranges::copy(bytes, incoming.payload.data().begin());
            incoming.meta.sequence = Sequence{sent};
            incoming.meta.global_id = GlobalEventId{sent};
            incoming.meta.lumi_block = LumiBlock{block};
            incoming.meta.tags = {stream("physics_Main")};
            EXPECT_EQ(recording->take(incoming), delivery::Taken::yes);
        };
        take(1, {});
        take(2, {});  // closes block 1
        std::promise<void> journal_goes_on;
        disk.before(Call::pwrite, "weir.journal", [&] { journal_goes_on.get_future().wait(); });
        const auto account = std::make_shared<Account>();
        auto returned = account->returned.get_future();
        take(1, {account, 3000});
        while (!recording->summary().copies_rejected.contains("late")) std::this_thread::sleep_for(1ms);
        EXPECT_EQ(returned.wait_for(0s), std::future_status::timeout);
        journal_goes_on.set_value();
        ASSERT_EQ(returned.wait_for(60s), std::future_status::ready);
        EXPECT_EQ(returned.get(), 3000U);
        recording.reset();
        options_.run = RunNumber{number(*options_.run) + 1};
    }
}

TEST_F(RecorderLedger, AJournalThatFollowsAnotherBeginsWithItsTotalsAndReplacesOneThatNoOpenFileNeeds) {
    std::filesystem::create_directories(directory_);
    auto writer = datafile::JournalWriter::open(directory_, {}, real_file_system(), 1).value();
    const datafile::RejectedCopies first{RunNumber{17}, "weir", "physics", "Main", {{"late", 3}}};
    const datafile::RejectedCopies second{RunNumber{17}, "weir", "none", "unplaced", {{"no_tags", 5}}};
    writer.add(first);
    writer.add(second);
    ASSERT_TRUE(writer.commit(true).has_value());
    ASSERT_TRUE(writer.roll().has_value());
    const auto journals = datafile::JournalWriter::find(directory_).value();
    ASSERT_EQ(journals.size(), 1U);
    const auto content = datafile::read_journals(journals).value();
    EXPECT_TRUE(content.damages.empty());
    EXPECT_EQ(content.rejected, (std::vector{second, first}));
    datafile::FileOpened opened;
    opened.guid = Guid::random();
    writer.add(opened);
    ASSERT_TRUE(writer.commit(true).has_value());
    ASSERT_TRUE(writer.roll().has_value());
    EXPECT_EQ(datafile::JournalWriter::find(directory_).value().size(), 2U) << "a file that is open needs the first";
    ASSERT_TRUE(writer.commit(true).has_value());
    ASSERT_TRUE(writer.release(opened.guid).has_value());
    EXPECT_EQ(datafile::JournalWriter::find(directory_).value().size(), 1U);
    ASSERT_TRUE(writer.remove_if_unneeded().has_value());
    EXPECT_EQ(datafile::JournalWriter::find(directory_).value().size(), 1U) << "the catalogue may not know them";
    writer.clear_rejected();
    ASSERT_TRUE(writer.remove_if_unneeded().has_value());
    EXPECT_TRUE(datafile::JournalWriter::find(directory_).value().empty());
}

TEST_F(RecorderLedger, TotalsOfSeveralJournalsAreEnteredOnceTheHighestCounts) {
    std::filesystem::create_directories(directory_);
    const auto known = catalogue();
    for (const auto* recorder : {"weir", "other"})
        ASSERT_TRUE(known->open_run({RunNumber{17}, recorder, "receipt", "", clock_.wall()}).has_value());
    ASSERT_TRUE(known->add_to_ledger({RunNumber{17}, "weir", "physics", "Main", 12, 10, {{"late", 2}}}).has_value());
    const std::vector<datafile::RejectedCopies> totals{
        {RunNumber{17}, "weir", "physics", "Main", {{"late", 5}, {"duplicate", 1}}},
        {RunNumber{17}, "weir", "physics", "Main", {{"late", 4}}},
        {RunNumber{17}, "other", "physics", "Main", {{"late", 9}}},
        {RunNumber{18}, "weir", "physics", "Main", {{"late", 9}}}};
    for (int again = 0; again < 2; ++again) ASSERT_TRUE(recovery::enter_rejected(totals, *known).has_value());
    const auto rows = known->ledgers(RunNumber{17}).value();
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_TRUE(known->ledgers(RunNumber{18}).value().empty()) << "that run is unknown";
    EXPECT_EQ(rows[1], (catalogue::LedgerRow{
                           RunNumber{17}, "weir", "physics", "Main", 16, 10, {{"duplicate", 1}, {"late", 5}}}));
}

TEST(HeldAnswers, AnAnswerWaitsForTheTotalsOfEveryRoundThatIsNotWrittenYet) {
    HeldAnswers held;
    const catalogue::LedgerRow before{RunNumber{17}, "weir", "physics", "Main", 7, 0, {{"late", 7}}};
    held.begin(RunNumber{17}, "weir", 1, {&before, 1});
    const Ledger ledger("physics", "Main");
    EXPECT_TRUE(held.pass_over());
    held.count(ledger, wire::RejectReason::late, 2);
    auto counted = held.take();  // by one journal
    ASSERT_EQ(counted.counts.size(), 1U);
    held.hold({.event = {}, .kind = HeldAnswers::Kind::acknowledge});
    EXPECT_TRUE(held.pass_over()) << "passed over once";
    EXPECT_FALSE(held.pass_over());
    auto answered = held.take();  // by another, before the first is written
    EXPECT_EQ(answered.answers.size(), 1U);
    ASSERT_EQ(answered.counts.size(), 1U);
    EXPECT_EQ(answered.counts[0].copies.at("late"), 9U);
    held.written(counted);
    held.not_written(std::move(answered));
    held.count(ledger, wire::RejectReason::duplicate);
    const auto again = held.take();
    EXPECT_EQ(again.answers.size(), 1U);
    ASSERT_EQ(again.counts.size(), 1U);
    const std::map<std::string, std::uint64_t> all{{"duplicate", 1}, {"late", 9}};
    EXPECT_EQ(again.counts[0].copies, all);
    held.written(again);
    EXPECT_TRUE(held.take().counts.empty());
    EXPECT_EQ(held.taken(ledger)[wire::index(wire::RejectReason::late)], 2U);
}

}  // namespace
}  // namespace weir::recorder
