// SPDX-License-Identifier: Apache-2.0
// Every way in which an event is settled, without a file, a disk or a thread.
#include "settlement/settlement.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "answers.hpp"
#include "weir/base/stream_tag.hpp"

namespace weir::recorder {
namespace {

using Lines = std::vector<std::string>;
constexpr std::uint64_t id_of_sequence = 1000;  // the event of sequence n has this global id and n
constexpr std::array<std::uint16_t, 2> both{0, 1};

class SettlementTest : public ::testing::Test {
protected:
    explicit SettlementTest(bool unique = false)
        : settlement_(
              {.recorder = "test", .copies_in_hand_max = 4, .unique_events = unique, .unique_memory_max = 1_MiB},
              answers_, reports_) {
        settlement_.begin_run(RunNumber{17}, 0, {});
        for (std::uint32_t session = 1; session <= 2; ++session)
            settlement_.declare(delivery::SessionId{session}, {"sender", session, 0, RunNumber{17}});
    }

    /// An event of two streams.
    static delivery::IncomingEvent event(std::uint64_t sequence, std::uint32_t session = 1) {
        delivery::IncomingEvent event;
        event.session = delivery::SessionId{session};
        event.meta.sequence = Sequence{sequence};
        event.meta.global_id = GlobalEventId{id_of_sequence + sequence};
        event.meta.tags = {parse_stream_key("physics_Main").value(), parse_stream_key("express_express").value()};
        return event;
    }
    std::optional<Settlement::Taking> begin(std::uint64_t sequence, std::uint32_t session = 1) {
        auto incoming = event(sequence, session);
        return settlement_.begin(incoming, ledgers_);
    }
    PlacedCopy place(const Settlement::Taking& taking, std::uint16_t copy) {
        settlement_.placed(*ledgers_[copy]);
        PlacedCopy placed{.entry = {}, .ticket = taking.state.ticket, .ledger = ledgers_[copy]};
        placed.entry.copy = copy;
        placed.entry.length = 10;
        return placed;
    }
    void end(const Settlement::Taking& taking) {
        delivery::CreditHold credit;
        settlement_.end(taking, credit);
    }
    /// Both copies have their places.
    std::vector<PlacedCopy> take(std::uint64_t sequence, std::uint32_t session = 1) {
        const auto taking = begin(sequence, session).value();
        std::vector<PlacedCopy> placed{place(taking, 0), place(taking, 1)};
        end(taking);
        return placed;
    }
    void durable(const PlacedCopy& copy) { settlement_.durable({&copy, 1}); }
    void lost(const PlacedCopy& copy) { settlement_.lost({&copy, 1}); }
    /// As a sync round does.
    Lines after_commit() {
        auto round = settlement_.held().take();
        settlement_.answer(round);
        return answers_.take();
    }

    Answers answers_;
    OperatorReports reports_{{}};
    Ledger physics_{"physics", "Main"}, express_{"express", "express"};
    const std::array<Ledger*, 2> ledgers_{&physics_, &express_};
    Settlement settlement_;
};

TEST_F(SettlementTest, AnEventIsAcknowledgedWhenItsLastCopyIsDurable) {
    const auto copies = take(1);
    EXPECT_EQ(physics_.counts().in_hand(), 1U);
    durable(copies[1]);
    EXPECT_EQ(answers_.take(), Lines{});
    durable(copies[0]);
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 1/1"});
    EXPECT_EQ(physics_.counts().stored, 1U);
    EXPECT_EQ(physics_.counts().in_hand(), 0U);
    EXPECT_EQ(settlement_.take_changed_marks().size(), 1U);
    EXPECT_TRUE(settlement_.take_changed_marks().empty());
}

TEST_F(SettlementTest, AnEventIsNotAcknowledgedWhileItIsBeingTaken) {
    const auto taking = begin(1).value();
    for (const auto copy : both) durable(place(taking, copy));
    EXPECT_EQ(answers_.take(), Lines{});
    end(taking);
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 1/1"});
}

TEST_F(SettlementTest, AnEventWithALateCopyIsAcknowledgedWhenThatIsCountedForGood) {
    const auto taking = begin(1).value();
    const auto copy = place(taking, 0);
    settlement_.late(express_, *taking.state.ticket, 1);
    end(taking);
    durable(copy);
    EXPECT_EQ(answers_.take(), Lines{});
    EXPECT_FALSE(settlement_.held().pass_over());
    EXPECT_EQ(after_commit(), Lines{"acknowledged 1/1"});
    EXPECT_EQ(settlement_.counted(express_)[wire::index(wire::RejectReason::late)], 1U);
}

TEST_F(SettlementTest, AnEventWhoseCopiesAreAllLateIsRejectedWhenThatIsCountedForGood) {
    const auto taking = begin(1).value();
    for (const auto copy : both) settlement_.late(*ledgers_[copy], *taking.state.ticket, copy);
    end(taking);
    EXPECT_EQ(answers_.take(), Lines{});
    EXPECT_EQ(after_commit(), Lines{"rejected 1/1: late"});
    EXPECT_EQ(physics_.counts().in_hand(), 0U);
    EXPECT_TRUE(settlement_.take_changed_marks().empty());
}

TEST_F(SettlementTest, OfAnEventThatIsReturnedOnlyWhatIsMissingIsStoredWhenItComesAgain) {
    const auto copies = take(1);
    durable(copies[0]);
    lost(copies[1]);
    EXPECT_EQ(answers_.take(), Lines{"returned 1/1"});
    EXPECT_EQ(express_.counts().returned, 1U);
    const auto again = begin(1).value();
    EXPECT_FALSE(again.needs(0));
    EXPECT_TRUE(again.needs(1));
    const auto copy = place(again, 1);
    end(again);
    durable(copy);
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 1/1"});
    EXPECT_EQ(physics_.counts().received, 1U);
    EXPECT_EQ(express_.counts().received, 2U);
}

TEST_F(SettlementTest, AnEventThatFoundNoMemoryGoesOnWhereItStopped) {
    auto taking = begin(1).value();
    const auto first = place(taking, 0);
    taking.state.taken |= 1;
    settlement_.stop(std::move(taking));
    durable(first);
    EXPECT_EQ(answers_.take(), Lines{});  // the other copy is missing
    const auto again = begin(1).value();
    EXPECT_EQ(again.state.ticket, first.ticket);
    EXPECT_FALSE(again.needs(0));
    const auto second = place(again, 1);
    end(again);
    durable(second);
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 1/1"});
}

TEST_F(SettlementTest, ACopyThatWasLateIsInNoFileWhenTheRestOfItsEventComesAgain) {
    auto taking = begin(1).value();
    settlement_.late(physics_, *taking.state.ticket, 0);
    taking.state.taken |= 1;
    settlement_.stop(std::move(taking));
    const auto again = begin(1).value();
    EXPECT_FALSE(again.needs(0));
    EXPECT_EQ(again.stored(), 0U);
    const auto copy = place(again, 1);
    end(again);
    lost(copy);
    EXPECT_EQ(answers_.take(), Lines{"returned 1/1"});
    const auto once_more = begin(1).value();
    EXPECT_FALSE(once_more.needs(0));
    EXPECT_EQ(once_more.stored(), 0U);
}

TEST_F(SettlementTest, ARejectionIsAnsweredWhenItIsCountedForGood) {
    auto incoming = event(1);
    const std::array<Ledger*, 2> ledgers{&physics_, &settlement_.unplaced()};
    settlement_.reject(incoming, ledgers, wire::RejectReason::malformed_event, "why");
    EXPECT_EQ(answers_.take(), Lines{});
    EXPECT_EQ(settlement_.last_rejected(), id_of_sequence + 1);
    EXPECT_EQ(physics_.counts().rejected_total(), 1U);
    EXPECT_EQ(settlement_.unplaced().counts().rejected_total(), 1U);
    auto round = settlement_.held().take();
    EXPECT_EQ(round.counts.size(), 2U);
    settlement_.held().not_written(std::move(round));  // its journal could not be written
    EXPECT_EQ(answers_.take(), Lines{});
    EXPECT_EQ(after_commit(), Lines{std::string("rejected 1/1: ") + wire::name(wire::RejectReason::malformed_event)});
}

TEST_F(SettlementTest, AnEventWithoutStreamsIsCountedForGoodAsOneCopy) {
    auto incoming = event(1);
    settlement_.reject(incoming, {}, wire::RejectReason::no_tags, "why");
    EXPECT_EQ(after_commit().size(), 1U);
    EXPECT_EQ(settlement_.unplaced().counts().received, 0U);
    EXPECT_EQ(settlement_.counted(settlement_.unplaced())[wire::index(wire::RejectReason::no_tags)], 1U);
}

TEST_F(SettlementTest, WhatTheReceiverDoesNotPassOnIsAnsweredWhenItIsCountedForGood) {
    delivery::CreditHold credit;
    settlement_.not_passed_on({delivery::SessionId{1}, Sequence{3}}, GlobalEventId{8}, ledgers_,
                              wire::RejectReason::duplicate, credit);
    EXPECT_EQ(answers_.take(), Lines{});
    EXPECT_EQ(settlement_.last_rejected(), 0U);  // duplicates are nothing to report
    EXPECT_EQ(after_commit(), Lines{"not passed on 1/3"});
    EXPECT_EQ(physics_.counts().rejected[wire::index(wire::RejectReason::duplicate)], 1U);
}

TEST_F(SettlementTest, TooManyCopiesInHandHoldUpTheNextEventUntilOneIsSettled) {
    const auto first = take(1), second = take(2);
    EXPECT_FALSE(settlement_.has_room());
    durable(first[0]);
    EXPECT_EQ(answers_.take(), Lines{"retry"});
    EXPECT_TRUE(settlement_.has_room());
    durable(first[1]);
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 1/1"});  // no event waits
    for (const auto& copy : second) lost(copy);
    EXPECT_EQ(answers_.take(), Lines{"returned 1/2"});
}

TEST_F(SettlementTest, WhatIsRestoredIsStoredAlready) {
    settlement_.restore({delivery::SessionId{1}, Sequence{5}}, 0b10);
    const auto taking = begin(5).value();
    EXPECT_TRUE(taking.needs(0));
    EXPECT_FALSE(taking.needs(1));
}

class UniqueSettlementTest : public SettlementTest {
protected:
    UniqueSettlementTest() : SettlementTest(true) {}
};

TEST_F(UniqueSettlementTest, ADuplicateWaitsUntilTheEventIsDurableAndIsRejectedThen) {
    const auto copies = take(1, 1);
    EXPECT_FALSE(begin(1, 2).has_value());
    EXPECT_EQ(after_commit(), Lines{});
    for (const auto& copy : copies) durable(copy);
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 1/1"});
    EXPECT_EQ(after_commit(), Lines{"rejected 2/1: duplicate"});
    EXPECT_FALSE(begin(1, 2).has_value());  // and one that comes afterwards at once
    EXPECT_EQ(after_commit(), Lines{"rejected 2/1: duplicate"});
    EXPECT_EQ(physics_.counts().stored, 1U);
    EXPECT_EQ(physics_.counts().in_hand(), 0U);
}

TEST_F(UniqueSettlementTest, ADuplicateOfAnEventThatIsReturnedIsReturnedTooAndTheFirstToComeIsTaken) {
    const auto copies = take(1, 1);
    EXPECT_FALSE(begin(1, 2).has_value());
    durable(copies[0]);
    lost(copies[1]);
    EXPECT_EQ(answers_.take(), (Lines{"returned 2/1", "returned 1/1"}));
    const auto again = begin(1, 2).value();
    EXPECT_FALSE(again.needs(0));
    const auto copy = place(again, 1);
    end(again);
    durable(copy);
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 2/1"});
}

TEST_F(UniqueSettlementTest, ADuplicateGoesOnWithAnEventThatStopped) {
    auto taking = begin(1, 1).value();
    const auto first = place(taking, 0);
    taking.state.taken |= 1;
    settlement_.stop(std::move(taking));
    const auto duplicate = begin(1, 2).value();
    EXPECT_FALSE(duplicate.needs(0));
    const auto second = place(duplicate, 1);
    end(duplicate);
    durable(first);
    durable(second);
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 2/1"});
}

TEST_F(UniqueSettlementTest, ADuplicateGoesOnWithAnEventThatStoppedWhileAnotherThreadHasTheCopyThatWasPlaced) {
    auto taking = begin(1, 1).value();
    const auto first = place(taking, 0);
    taking.state.taken |= 1;
    settlement_.stop(std::move(taking));
    std::jthread syncing([&] { durable(first); });  // nothing puts it before or behind the begin
    const auto duplicate = begin(1, 2).value();
    const auto second = place(duplicate, 1);
    end(duplicate);
    durable(second);
    syncing.join();
    EXPECT_EQ(answers_.take(), Lines{"acknowledged 2/1"});
}

}  // namespace
}  // namespace weir::recorder
